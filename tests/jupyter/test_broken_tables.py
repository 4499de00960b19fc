"""What cannot be shown is said: what failed, where, what to do; never a traceback, never a blank."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import EngineUnavailable, TableNotFound, VersionGap
from explorer.table import Table
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log
from tests.support.pages.page_elements import Elements
from tests.support.pages.widget_view import View


def said(table: Table) -> str:
    return Elements(View(table.explore()).html).text


def test_truncated_line_is_named_by_version_file_and_line(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "cut", [[PROTOCOL, metadata({"a": "long"})], [add("a.parquet")]])
    last = folder / "_delta_log" / f"{1:020}.json"
    last.write_text(json.dumps({"commitInfo": {}}) + "\n" + last.read_text()[:40])
    text = said(explorer.open_table(folder))
    assert "MalformedAction" in text
    assert f"{1:020}.json" in text
    assert "line2" in text
    assert "Restore the file" in text


def test_missing_commit_is_named_and_setting_a_version_raises_the_same_error(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "gap", [[PROTOCOL, metadata({"a": "long"})], [add("a.parquet")], [add("b.parquet")]])
    (folder / "_delta_log" / f"{1:020}.json").unlink()
    widget = explorer.open_table(folder).explore()
    assert "A commit is missing" in View(widget).html
    assert widget.version is None
    with pytest.raises(VersionGap):
        widget.version = 0
    assert widget.version is None


@pytest.mark.parametrize("version", [0, 1])
def test_version_that_needs_an_unknown_feature_is_refused_in_words(tmp_path: Path, version: int) -> None:
    unknown = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timeMachine"],
            "writerFeatures": ["timeMachine"],
        }
    }
    commits = [[unknown, metadata({"a": "long"})]]
    if version:
        commits = [[PROTOCOL, metadata({"a": "long"})], [unknown]]
    text = said(explorer.open_table(write_log(tmp_path / "unknown", commits)))
    assert "UnsupportedFeature" in text
    assert "timeMachine" in text


def test_a_version_that_cannot_be_shown_is_said_and_the_others_work(tmp_path: Path) -> None:
    unknown = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timeMachine"],
            "writerFeatures": ["timeMachine"],
        }
    }
    back = [PROTOCOL, metadata({"a": "long"}), add("c.parquet")]
    commits = [[PROTOCOL, metadata({"a": "long"})], [unknown, add("b.parquet")], back]
    widget = explorer.open_table(write_log(tmp_path / "between", commits)).explore(tab="files")
    view = View(widget)
    widget.version = 1
    assert view.shows("timeMachine")
    widget.go(2, 0)
    assert view.shows("c.parquet")
    assert "timeMachine" not in view.regions["lead"]


def test_a_table_that_is_gone_is_said_and_is_a_typed_error_in_code(orders: Table) -> None:
    widget = orders.explore()
    view = View(widget)
    shutil.rmtree(Path(orders.location.removeprefix("file://")))
    with pytest.raises(TableNotFound):
        widget.refresh()
    assert widget.version == 5, "what was shown stays"
    view.go(view.query)
    text = Elements(view.html).text
    assert "No Delta table here" in text
    assert "Check the path" in text


def test_a_table_that_was_replaced_shows_its_newest_version(orders: Table, tmp_path: Path) -> None:
    widget = orders.explore(version=2, selected_files=["part-1.parquet"])
    view = View(widget)
    folder = Path(orders.location.removeprefix("file://"))
    shutil.rmtree(folder)
    other = [[PROTOCOL, metadata({"a": "long"})], *([add(f"{name}.parquet")] for name in "abcd")]
    shutil.copytree(write_log(tmp_path / "other", other), folder)
    widget.refresh()
    assert (widget.version, widget.selected_files) == (4, ())
    assert view.shows("d.parquet")


def test_a_table_that_only_went_on_keeps_the_chosen_version(orders: Table) -> None:
    widget = orders.explore(version=2)
    view = View(widget)
    orders.commit(orders.plan({"kind": "set-description", "description": "more"}), reason="so")
    widget.refresh()
    assert widget.version == 2
    assert view.shows("Go to newest, </span>v6</span>")


def test_missing_package_is_named_with_what_to_install(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(EngineUnavailable, match="ipywidgets") as refused:
        orders.explore()
    assert refused.value.install == 'pip install "delta-table-explorer[jupyter]"'
