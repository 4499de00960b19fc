"""The demo warehouse for the notebooks, and a Jupyter that knows no setting of whoever runs the tests."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from explorer.demo import build_warehouse
from tests.support.shared_tables import REPOSITORY

Written = dict[str, dict[int, pa.Table]]


@pytest.fixture(scope="session")
def warehouse_and_rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Written]:
    """A demo warehouse, and for each table the rows that its writer put into each version."""
    folder = tmp_path_factory.mktemp("notebooks") / "warehouse"
    return folder, build_warehouse(folder, datetime.now(UTC).date())


@pytest.fixture
def jupyter_home(tmp_path: Path, warehouse_and_rows: tuple[Path, Written], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with Jupyter's own places; kernels started from here on find this repository and the warehouse."""
    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name.lower()))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("DELTA_DEMO", str(warehouse_and_rows[0]))
    inherited = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(REPOSITORY)] + ([inherited] if inherited else [])))
    return tmp_path
