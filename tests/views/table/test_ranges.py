"""Ranges of a column: which files can be drawn, and why the others cannot; the same count as the coverage has."""

import json
from pathlib import Path
from typing import Any

import msgspec
import plotly.graph_objects as go

import explorer
from explorer.core.protocol.actions import Add
from explorer.views import TableFacts, TableView
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log


def _file(path: str, rows: int, **stats: Any) -> Add:
    return msgspec.structs.replace(add(path), stats=json.dumps({"numRecords": rows, **stats}))


def _view(folder: Path, kind: str, *files: Add) -> TableView:
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata({"v": kind})]
    return TableView(TableFacts(explorer.open_table(write_log(folder / "t", [created, list(files)]))), column="v")


def test_files_without_a_range_are_counted_by_why_and_agree_with_the_coverage(tmp_path: Path) -> None:
    view = _view(
        tmp_path,
        "double",
        _file("range", 3, minValues={"v": 1.0}, maxValues={"v": 2.0}, nullCount={"v": 0}),
        _file("nulls", 3, nullCount={"v": 3}),
        _file("half", 3, minValues={"v": 1.0}, nullCount={"v": 0}),
        _file("silent", 3),
    )
    ranges = view.facts.ranges(1, "v")
    assert (len(ranges.paths), ranges.only_nulls, ranges.unplaced, ranges.missing) == (1, 1, 1, 1)
    (covered,) = view.facts.coverage(1).to_pylist()
    assert covered["files"] == covered["files_total"] - ranges.missing == 3


def test_an_axis_of_texts_is_labelled_with_texts(tmp_path: Path) -> None:
    bounds = [("apple", "fig"), ("fig", "<b>")]
    files = [
        _file(str(place), 3, minValues={"v": low}, maxValues={"v": high}, nullCount={"v": 0})
        for place, (low, high) in enumerate(bounds)
    ]
    figure = json.loads(go.Figure(_view(tmp_path, "string", *files).ranges()).to_json())
    axis = figure["layout"]["xaxis"]
    assert (axis["tickmode"], axis["tickvals"]) == ("array", [0, 1, 2])
    assert axis["ticktext"] == ["&lt;b&gt;", "apple", "fig"]


def test_an_axis_of_times_names_the_day_before_the_month(tmp_path: Path) -> None:
    bounds = {"minValues": {"v": "2026-03-02"}, "maxValues": {"v": "2026-04-02"}, "nullCount": {"v": 0}}
    figure = json.loads(go.Figure(_view(tmp_path, "date", _file("x", 3, **bounds)).ranges()).to_json())
    axis = figure["layout"]["xaxis"]
    assert axis["type"] == "date"
    labels = [stop["value"] for stop in axis["tickformatstops"]]
    assert "%-d %b\n%Y" in labels
    assert not any(label.startswith("%b %") for label in labels)
