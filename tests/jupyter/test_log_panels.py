"""The parts of the widget that the log answers: what they show, when they are drawn, and what stays when one fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plotly.graph_objects import FigureWidget

import explorer
from explorer.core.protocol.actions import Protocol
from explorer.jupyter.widget import TableExplorer
from explorer.table import Table
from tests.jupyter.conftest import shown
from tests.support.hostile_tables import HOSTILE
from tests.support.page_elements import assert_harmless
from tests.support.small_logs import MASKED, PROTOCOL, add, commit_info, metadata, vector, write_log


@pytest.fixture
def masked(tmp_path: Path) -> Table:
    """v1 has two files with bounds, v2 masks rows of one of them; the names are hostile."""
    created = [commit_info("CREATE TABLE"), MASKED, metadata({"amount": "long", HOSTILE: "string"}, comment=HOSTILE)]
    loaded = [commit_info("WRITE", user_name=HOSTILE)]
    loaded += [add(f"{n}.parquet", 10, bounds={"amount": (n * 100, n * 100 + 50)}) for n in (1, 2)]
    hidden = [commit_info("DELETE"), add("1.parquet", 10, bounds={"amount": (100, 150)}, vector=vector("a", 4))]
    return explorer.open_table(write_log(tmp_path / "t", [created, loaded, hidden]))


def charts(widget: Any) -> int:
    """How many figures the widget shows besides the timeline."""
    if getattr(widget.layout, "display", None) == "none":
        return 0
    return isinstance(widget, FigureWidget) + sum(charts(child) for child in getattr(widget, "children", ()))


def test_each_part_shows_its_facts_and_nothing_of_the_table_is_markup(masked: Table) -> None:
    widget = masked.explore()
    expected = {
        "overview": ("16 live rows", "reader 3, writer 7"),
        "columns": ("amount",),
        "deletion-vectors": ("4 rows", "1.parquet"),
        "statistics": ("1.parquet", "100"),
        "audit": ("found nothing", "delta-spark"),
    }
    for tab, texts in expected.items():
        widget.tab = tab
        html = shown(widget)
        for text in texts:
            assert text in html, tab
        assert_harmless(html)
    assert charts(masked.explore(tab="deletion-vectors")) == 2


def test_a_part_follows_the_version_and_only_the_open_one_is_drawn(masked: Table) -> None:
    widget = masked.explore(version=1, tab="deletion-vectors")
    assert "No live file of v1 masks a row." in shown(widget)
    widget.version = 2
    assert "4 rows" in shown(widget)
    widget.tab = "diff"
    assert "4 rows</b> masked" not in shown(widget)


def test_a_condition_says_which_files_it_reads(masked: Table) -> None:
    widget = masked.explore(tab="statistics")
    widget.panel("statistics").where.value = "amount > 160"
    html = shown(widget)
    assert "read: it may hold a matching row" in html
    assert "dropped by its least and greatest values" in html
    widget.panel("statistics").where.value = "nope > 1"
    assert "no column nope" in shown(widget)
    widget.panel("statistics").where.value = ""
    assert "no column nope" not in shown(widget)


def test_a_part_that_fails_says_why_and_works_again_at_another_version(tmp_path: Path) -> None:
    future = Protocol(min_reader_version=99, min_writer_version=99)
    commits = [[commit_info(), PROTOCOL, metadata({"amount": "long"})], [commit_info("UPGRADE"), future]]
    widget: TableExplorer = explorer.open_table(write_log(tmp_path / "t", commits)).explore(tab="overview")
    assert "dte-problem" in shown(widget)
    widget.version = 0
    assert "dte-problem" not in shown(widget)
    assert "amount" in shown(widget)
