"""A Jupyter that knows no setting of whoever runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.shared_tables import REPOSITORY


@pytest.fixture
def jupyter_home(tmp_path: Path, demo_warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with Jupyter's own places; kernels started from here on find this repository and the warehouse."""
    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name.lower()))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("DELTA_DEMO", str(demo_warehouse))
    inherited = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(REPOSITORY)] + ([inherited] if inherited else [])))
    return tmp_path
