"""Rows, changes and row differences in the widget: what stands before Spark is asked, and answers it gives.

Expected rows are those that the reference engine found in its own tables.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import EngineUnavailable
from explorer.core.protocol.actions import Protocol
from explorer.spark.engine.java import find_java
from tests.jupyter.conftest import shown
from tests.support.page_elements import Elements
from tests.support.row_content import content_hash
from tests.support.shared_tables import reference_root
from tests.support.small_logs import add, commit_info, metadata, write_log

ROOT = reference_root()
EXPECTED = {
    name: json.loads((ROOT / "expected" / f"{name}.json").read_text("utf-8"))
    for name in ("change-feed", "deletion-vectors")
}
KINDS = {"update, before": "update_preimage", "update, after": "update_postimage"}


def visible(widget: Any) -> bool:
    return bool(widget.layout.display != "none")


def settled(panel: Any, until: Callable[[], bool]) -> None:
    """Wait for what the threads of the work draw."""
    end = time.monotonic() + 90
    while not until() or visible(panel.stop):
        assert time.monotonic() < end, panel.progress.value
        time.sleep(0.05)


def cells(markup: str) -> list[str]:
    """Text of each cell of the body."""
    return [Elements(f"<td{part}").text for part in str(markup).partition("<tbody>")[2].split("<td")[1:]]


@pytest.fixture
def spark() -> None:
    try:
        find_java()
    except EngineUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def feed(tmp_path: Path) -> explorer.Table:
    """A table whose feed was off, then on for v3 and v4, then off; v2 changed no row."""
    columns = {"id": "long", "v": "string"}
    on = {"delta.enableChangeDataFeed": "true"}
    commits = [
        [commit_info("CREATE TABLE"), Protocol(min_reader_version=1, min_writer_version=4), metadata(columns)],
        [commit_info("WRITE"), add("a.parquet", 3, size=1_000)],
        [commit_info("SET TBLPROPERTIES"), metadata(columns, configuration={"team": "a"})],
        [commit_info("SET TBLPROPERTIES"), metadata(columns, configuration=on)],
        [commit_info("WRITE"), add("b.parquet", 5, size=1_000)],
        [commit_info("SET TBLPROPERTIES"), metadata(columns)],
    ]
    folder = write_log(tmp_path / "feed", commits)
    for name in ("a", "b"):
        (folder / f"{name}.parquet").write_bytes(b"there")
    return explorer.open_table(folder)


def test_the_parts_are_turned_to_by_buttons_and_by_the_trait(feed: explorer.Table) -> None:
    widget = feed.explore(version=4)
    assert [visible(widget.panel(name)) for name in ("diff", "data", "changes")] == [True, False, False]
    assert visible(widget.panel("diff").rows)
    assert "v3 \u2192 v4" in shown(widget)
    widget.tab = "data"
    assert "Rows at v4" in shown(widget)
    assert "v3 \u2192 v4" not in shown(widget)
    tabs = next(child for child in widget.children if getattr(child, "options", None) is not None)
    tabs.value = "changes"
    assert widget.tab == "changes"
    assert "Rows that changed in v4" in shown(widget)
    assert feed.explore(tab="changes").tab == "changes"


def test_nothing_is_read_before_it_is_asked_for_and_the_cost_is_said(feed: explorer.Table) -> None:
    widget = feed.explore(version=5, compare_version=0, tab="data")
    assert "All 8 rows come from 2 files" in widget.panel("data").progress.value
    assert not visible(widget.panel("data").stop)
    assert not visible(widget.panel("data").masked)
    widget.tab = "diff"
    assert "2 files, 2.0 kB, are read." in widget.panel("diff").rows.progress.value
    assert widget.panel("diff").rows.key_columns.options == ("id", "v")


def test_every_version_of_the_range_has_its_source_or_its_hole(feed: explorer.Table) -> None:
    panel = feed.explore(version=5, compare_version=0, tab="changes").panel("changes")
    assert "1 file, 1.0 kB, holds the changes." in panel.progress.value
    assert panel.strip.value.count('class="dte-from-off dte-hole"') == 4  # v1 and v2, and v5; on the strip and below
    assert "not recorded: the change feed was off" in panel.strip.value
    panel.source.value = "inferred"
    assert "dte-hole" not in panel.strip.value
    assert "2 files, 2.0 kB, hold the changes." in panel.progress.value


def test_a_range_without_changes_says_so_and_offers_nothing_to_read(feed: explorer.Table) -> None:
    widget = feed.explore(version=3, tab="changes")
    assert "No row changed in these versions." in widget.panel("changes").progress.value
    assert not visible(widget.panel("changes").begin)
    widget.version = 1
    assert "The change feed was off here, so changes are inferred." in widget.panel("changes").progress.value
    assert visible(widget.panel("changes").begin)
    widget.panel("changes").source.value = "recorded"
    assert "Choose \u201crecorded or inferred\u201d" in widget.panel("changes").progress.value
    assert not visible(widget.panel("changes").begin)
    widget.tab = "diff"
    widget.go(4, 1)
    assert visible(widget.panel("diff").rows.begin)
    widget.go(3, 2)
    assert "No file differs, so no row does." in widget.panel("diff").rows.progress.value
    assert not visible(widget.panel("diff").rows.begin)


def test_a_version_without_files_has_no_rows_to_ask_for(feed: explorer.Table) -> None:
    panel = feed.explore(version=0, tab="data").panel("data")
    assert "v0 has no live file: there are no rows to read." in panel.progress.value
    assert not visible(panel.begin)


def test_a_table_that_cannot_be_read_offers_no_rows_and_one_without_a_schema_says_why(tmp_path: Path) -> None:
    (tmp_path / "broken" / "_delta_log").mkdir(parents=True)
    (tmp_path / "broken" / "_delta_log" / f"{0:020}.json").write_text("{")
    widget = explorer.open_table(tmp_path / "broken").explore(tab="data")
    assert 'role="alert"' in shown(widget)
    widget.close()
    bare = explorer.open_table(write_log(tmp_path / "bare", [[commit_info()]])).explore(tab="data")
    assert 'role="alert"' in bare.panel("data").progress.value
    assert not visible(bare.panel("data").asking)
    bare.close()


@pytest.mark.reference
@pytest.mark.spark
def test_rows_are_shown_under_a_condition_and_masked_ones_on_request(spark: None) -> None:
    widget = explorer.open_table(ROOT / "tables" / "deletion-vectors").explore(version=6, tab="data")
    panel = widget.panel("data")
    panel.masked.value = True
    panel.begin.click()
    assert visible(panel.stop)
    settled(panel, lambda: visible(panel.list))
    marks = panel.list.listing.matching().column("mark").to_pylist()
    assert marks.count("") == EXPECTED["deletion-vectors"]["versions"][6]["row_count"]
    assert cells(panel.list.rows.value).count("~") == marks.count("~") > 0
    panel.masked.value = False
    panel.where.value = "id % 2 = 0"
    panel.where._handle_custom_msg({"event": "submit"}, [])  # what the browser's half sends at Enter
    listed_when_announced: list[bool] = []
    panel.note.observe(lambda _: listed_when_announced.append(visible(panel.list)), "value")
    settled(panel, lambda: "that match" in panel.note.value)
    assert listed_when_announced == [True]
    ids = panel.list.listing.matching().column("id").to_pylist()
    assert ids
    assert all(number % 2 == 0 for number in ids)
    widget.version = 5
    assert "not the v5 chosen above" in panel.note.value
    panel.where.value = "idd > 0"
    panel.ask()
    settled(panel, lambda: "cannot be resolved" in panel.progress.value)
    assert not visible(panel.list)


@pytest.mark.reference
@pytest.mark.spark
def test_changes_and_differences_are_those_the_reference_wrote(spark: None) -> None:
    expected = EXPECTED["change-feed"]
    widget = explorer.open_table(ROOT / "tables" / "change-feed").explore(version=10, compare_version=1, tab="changes")
    widget.panel("changes").begin.click()
    settled(widget.panel("changes"), lambda: visible(widget.panel("changes").list))
    found = widget.panel("changes").list.listing.matching()
    kinds = pa.array([KINDS.get(word, word) for word in found.column("change").to_pylist()])
    told = found.select(["id", "v", "p"]).append_column("_change_type", kinds)
    told = told.append_column("_commit_version", found.column("version"))
    recorded = next(change for change in expected["changes"] if (change["from"], change["to"]) == (2, 10))
    assert (told.num_rows, content_hash(told)) == (recorded["row_count"], recorded["content_hash"])
    assert f"All {recorded['row_count']} changes of versions 2 to 10." in widget.panel("changes").counts.value

    widget.tab = "diff"
    widget.go(4, 3)
    widget.panel("diff").rows.key_columns.value = "id"
    widget.panel("diff").rows.begin.click()
    settled(widget.panel("diff").rows, lambda: widget.panel("diff").rows.figures.value != "")
    updated = expected["describe_history"][4]["operationMetrics"]["numUpdatedRows"]
    assert f"\u0394{updated}updated" in Elements(widget.panel("diff").rows.figures.value).text
    # What there is none of has no colour.
    assert '<b class="dte-zero">+0</b>' in widget.panel("diff").rows.figures.value
    assert Elements(widget.panel("diff").rows.rows.value).names.count("s") == int(updated)
    widget.version = 2
    assert widget.panel("diff").rows.rows.value == ""


@pytest.mark.spark
@pytest.mark.reference
def test_inferred_updates_are_paired_by_the_key_columns_of_the_widget(spark: None) -> None:
    widget = explorer.open_table(ROOT / "tables" / "change-feed").explore(version=12, compare_version=11, tab="changes")
    panel = widget.panel("changes")
    panel.source.value = "recorded"
    assert not visible(panel.key_columns)
    panel.source.value = "inferred"
    assert visible(panel.key_columns)
    assert "id" in panel.key_columns.options
    panel.key_columns.value = "id"
    panel.begin.click()
    settled(panel, lambda: visible(panel.list))
    changes = panel.list.listing.matching().column("change").to_pylist()
    assert changes == ["update, before", "update, after"] * (len(changes) // 2)
    assert "only rewritten" in panel.counts.value


@pytest.mark.reference
@pytest.mark.spark
def test_a_read_is_cancelled_within_a_second_and_a_file_that_is_gone_is_named(spark: None, tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "tables" / "change-feed", tmp_path / "feed")
    panel = explorer.open_table(folder).explore(tab="data").panel("data")
    panel.begin.click()
    panel.stop.click()
    began = time.monotonic()
    settled(panel, lambda: "Cancelled" in panel.progress.value)
    assert time.monotonic() - began < 2
    for file in folder.glob("*.parquet"):
        file.unlink()
    panel.begin.click()
    settled(panel, lambda: 'role="alert"' in panel.progress.value and "Cancelled" not in panel.progress.value)
    assert ".parquet" in Elements(panel.progress.value).text
