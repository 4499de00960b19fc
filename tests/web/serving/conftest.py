"""Small tables, and servers of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.raw_pages import Pages, served_here


@pytest.fixture(scope="package")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table."""
    root = tmp_path_factory.mktemp("served") / "w"
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(root / "orders", [created, [small_logs.add("1.parquet", 3)]])
    return root


@pytest.fixture(scope="package")
def reading(tables: Path) -> Iterator[Pages]:
    """Serve it for reading alone."""
    with served_here(tables) as pages:
        yield pages


@pytest.fixture(scope="package")
def committing(tables: Path) -> Iterator[Pages]:
    """Serve it with commits."""
    with served_here(tables, allow_commits=True) as pages:
        yield pages
