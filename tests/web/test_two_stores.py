"""Two stores with tables at one address: what is read of one is never shown as that of the other."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.storage.served_root import ServedRoot
from explorer.web.served_tables import Catalog
from tests.support.folder_s3 import folder_s3
from tests.support.logs import small_logs
from tests.support.pages.open_windows import Window

MINE, OTHER = "?t=lake/orders", "?t=lake~2/orders"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """Two S3 servers with one log under one address, whose files have other rows; one file is missing on the second."""
    first, second = tmp_path / "first" / "lake" / "orders", tmp_path / "second" / "lake" / "orders"
    first.mkdir(parents=True)
    for name, word in (("1.parquet", "mine-row"), ("2.parquet", "mine-two")):
        _file(first / name, word)
    size = (first / "1.parquet").stat().st_size
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"word": "string"})]
    added = [[small_logs.commit_info("WRITE"), small_logs.add(f"{each}.parquet", 1, size=size)] for each in (1, 2)]
    small_logs.write_log(first, [created, *added])
    shutil.copytree(first, second)  # with the times of its files, so nothing in the log tells the two apart
    _file(second / "1.parquet", "else-row")
    assert (second / "1.parquet").stat().st_size == size
    (second / "2.parquet").unlink()
    with folder_s3(tmp_path / "first") as one, folder_s3(tmp_path / "second") as two:
        yield Catalog([ServedRoot("s3://lake", storage_options=each.options) for each in (one, two)])


def _file(path: Path, word: str) -> None:
    pq.write_table(pa.table({"word": [word]}), path)


def shown(window: Window) -> str:
    return json.dumps(window.session.shown.regions)


def go(window: Window, query: str) -> str:
    """Open an address; return the page, once it is drawn."""
    window.ask("go", query=query)
    turn_until(window, lambda: window.session.drawn == window.session.query)
    return shown(window.settle())


def read(window: Window, query: str) -> str:
    """Open a tab that reads rows by itself, and wait for them."""
    go(window, query)
    turn_until(window, lambda: bool(re.search("(mine|else)-row", shown(window))))
    return shown(window)


def turn_until(window: Window, holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < ends
        window.turn()


def audited(window: Window, table: str) -> str:
    """Check the files of a table; return the address that shares the result."""
    go(window, f"{table}&tab=audit&checks=files")
    window.ask("audit-run")
    window.settle()
    return str(window.ask("audit-share")["query"])


def test_a_shared_audit_is_shown_for_the_store_that_it_is_of_alone(catalog: Catalog) -> None:
    link = audited(Window(catalog, OTHER).settle(), OTHER)
    assert "2.parquet" in go(Window(catalog, OTHER).settle(), link), "a file is missing there"
    here = go(Window(catalog, MINE).settle(), link.replace("lake~2/orders", "lake/orders"))
    assert "2.parquet" not in here
    assert "The shared result is not kept here any more." in here


def test_a_window_that_goes_on_to_the_other_store_takes_no_result_along(catalog: Catalog) -> None:
    window = Window(catalog, OTHER).settle()
    audited(window, OTHER)
    assert "2.parquet" in shown(window)
    assert "2.parquet" not in go(window, f"{MINE}&tab=audit&checks=files")


def test_rows_are_those_of_the_store_in_the_address(catalog: Catalog) -> None:
    window = Window(catalog, OTHER).settle()
    assert "else-row" in read(window, f"{OTHER}&v=1&tab=data")
    there = read(window, f"{MINE}&v=1&tab=data")
    assert ("mine-row" in there, "else-row" in there) == (True, False)
