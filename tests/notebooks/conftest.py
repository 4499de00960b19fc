"""A Jupyter that knows no setting of whoever runs the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebooks.places import jupyter_places


@pytest.fixture
def jupyter_home(tmp_path: Path, demo_warehouse: Path) -> Iterator[Path]:
    """A folder with Jupyter's own places; kernels started from here on find this repository and the warehouse."""
    with jupyter_places(tmp_path, demo_warehouse):
        yield tmp_path
