"""The list of files is filtered, sorted and paged in the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.jupyter.tabs.file_list import PAGE_SIZE, FileList
from tests.support.page_elements import Elements
from tests.support.small_logs import PROTOCOL, add, metadata, remove, write_log

FILES = 20_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> explorer.Table:
    """v1 adds files 0 to 19,999 with 1 to 20,000 rows, half of them in region eu; v2 removes files 0 to 4."""
    regions = ("eu", "us")
    added = [
        add(f"region={regions[n % 2]}/part-{n:05}.parquet", n + 1, partition_values={"region": regions[n % 2]})
        for n in range(FILES)
    ]
    commits = [
        [PROTOCOL, metadata({"a": "long", "region": "string"}, ["region"])],
        added,
        [remove(f"region={regions[n % 2]}/part-{n:05}.parquet") for n in range(5)] + [add("one-more.parquet", 3)],
    ]
    return explorer.open_table(write_log(tmp_path_factory.mktemp("large") / "large", commits))


def files_of(widget: Any) -> FileList:
    found: FileList = widget.panel("diff").files
    return found


def rows(files: FileList) -> int:
    return Elements(files.rows.value).names.count("tr") - 1


def test_only_one_page_reaches_the_browser(large: explorer.Table) -> None:
    files = files_of(large.explore(version=1))
    assert rows(files) == PAGE_SIZE
    assert len(files.rows.value) < 10_000
    assert f"1 to {PAGE_SIZE} of 20,000" in files.place.value
    assert files.before.disabled


def test_pages_turn_and_stop(large: explorer.Table) -> None:
    files = files_of(large.explore(version=1))
    files.after.click()
    assert f"{PAGE_SIZE + 1} to {2 * PAGE_SIZE} of" in files.place.value
    files.before.click()
    files.find.value = "part-1999"
    assert "1 to 10 of 10" in files.place.value
    assert files.after.disabled


def test_filter_looks_in_path_and_partition(large: explorer.Table) -> None:
    files = files_of(large.explore(version=1))
    files.find.value = "region=EU"
    assert "of 10,000" in files.place.value
    files.find.value = "no such file"
    assert "Nothing among the files that differ matches" in files.rows.value


def test_order_is_chosen(large: explorer.Table) -> None:
    files = files_of(large.explore(version=1))
    files.order.value = "num_records descending"
    assert "part-19999.parquet" in files.rows.value
    files.order.value = "num_records ascending"
    assert "part-00000.parquet" in files.rows.value


def test_one_kind_of_change_is_chosen_and_kept_where_it_applies(large: explorer.Table) -> None:
    widget = large.explore(version=2)
    files = files_of(widget)
    assert files.change.options == (("all 6", "all"), ("+ added 1", "added"), ("\u2212 removed 5", "removed"))
    files.change.value = "removed"
    assert rows(files) == 5
    widget.version = 1
    assert files.change.value == "all"
    assert rows(files) == PAGE_SIZE


def test_list_is_away_where_no_file_differs(large: explorer.Table) -> None:
    assert files_of(large.explore(version=0)).layout.display == "none"


def test_a_long_path_is_whole_and_gives_way_where_there_is_no_room(tmp_path: Path) -> None:
    path = f"region=eu/part-00000-{'f' * 90}.parquet"
    commits = [[PROTOCOL, metadata({"a": "long"})], [add(path, 1)]]
    shown = files_of(explorer.open_table(write_log(tmp_path / "t", commits)).explore(version=1)).rows.value
    assert 'class="dte-mid"' in shown
    assert path in Elements(shown).text.replace("\n", "")
