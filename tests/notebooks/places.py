"""Where a Jupyter of the tests keeps its things, and what its kernels find."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.shared_tables import REPOSITORY


@contextmanager
def jupyter_places(folder: Path, warehouse: Path) -> Iterator[None]:
    """Give what Jupyter starts its own places in a folder, this repository, and the demo warehouse."""
    inherited = os.environ.get("PYTHONPATH")
    with pytest.MonkeyPatch.context() as environment:
        for name in ("CONFIG", "DATA", "RUNTIME"):
            environment.setenv(f"JUPYTER_{name}_DIR", str(folder / name.lower()))
        environment.setenv("JUPYTER_PLATFORM_DIRS", "1")
        environment.setenv("IPYTHONDIR", str(folder / "ipython"))
        environment.setenv("DELTA_DEMO", str(warehouse))
        environment.setenv("PYTHONPATH", os.pathsep.join([str(REPOSITORY)] + ([inherited] if inherited else [])))
        yield
