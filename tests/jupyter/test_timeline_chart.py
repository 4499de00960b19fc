"""What the timeline widget adds to the figure of the views: places to point at, and the version under a click."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import explorer
from explorer.core.versions.commits.summary import CommitSummary
from explorer.jupyter.panels import signs
from explorer.views.table.commits import commit_sentence
from tests.jupyter.conftest import figure_of
from tests.support.small_logs import PROTOCOL, add, metadata, write_log


def test_every_version_can_be_pointed_at_though_it_drew_no_bar(orders: explorer.Table) -> None:
    targets = next(trace for trace in figure_of(orders.explore()).data if trace.name == "versions")
    assert [int(x) for x in targets.x] == [0, 1, 2, 3, 4, 5]
    low, high = figure_of(orders.explore()).layout.yaxis.range
    assert (targets.base, list(targets.base + targets.y)) == (low, pytest.approx([high] * 6))


def test_long_history_is_drawn_in_bins_whose_last_version_a_click_chooses(tmp_path: Path) -> None:
    first = [PROTOCOL, metadata({"a": "long"})]
    commits = [first, *[[add(f"part-{n}.parquet", 1)] for n in range(1, 1_200)]]
    widget = explorer.open_table(write_log(tmp_path / "long", commits)).explore()
    chart = widget._chart
    assert chart is not None
    bars = {trace.name: trace for trace in figure_of(widget).data}
    assert len(bars["largest added"].x) == 240
    timeline = widget._view.bars()
    assert [timeline.version_at(place) for place in (-0.6, 0.0, 1.0, 4.4, 4.6, 1_199.0, 1_199.6)] == [
        None, 4, 4, 4, 9, 1_199, None,
    ]  # fmt: skip


def test_a_zoom_draws_the_versions_that_are_on_show_and_their_lanes(tmp_path: Path) -> None:
    commits = [[PROTOCOL, metadata({"a": "long"})], *[[add(f"part-{n}.parquet", 1)] for n in range(1, 1_200)]]
    widget = explorer.open_table(write_log(tmp_path / "long", commits)).explore()
    figure = figure_of(widget)
    assert (figure._config["scrollZoom"], figure.layout.xaxis.fixedrange) == (True, False)
    # What the browser says after a turn of the wheel.
    figure.layout.xaxis.range = (299.7, 420.2)
    bars = {trace.name: trace for trace in figure.data}
    assert list(bars["versions"].x) == list(range(300, 421))
    assert (bars["readable"].base[0], bars["readable"].x[0]) == (299.5, 121)
    assert tuple(figure.layout.xaxis.range) == (299.5, 420.5)
    widget.go(310)
    assert widget._view.shown == (300, 420)
    figure.layout.xaxis.range = (-80, 1_300)
    assert (widget._view.window, widget._view.shown) == (None, (0, 1_199))


def test_few_versions_are_not_zoomed(orders: explorer.Table) -> None:
    figure = figure_of(orders.explore())
    assert (figure._config["scrollZoom"], figure.layout.xaxis.fixedrange) == (False, True)


def test_updated_rows_have_the_sign_of_the_page() -> None:
    updated = commit_sentence(CommitSummary(3, None, "UPDATE", "", "", rows_updated=2))
    assert f"{updated[0]} updated" in signs(many=False)


@pytest.mark.parametrize("width", [330, 470, 670, 820, 1_230])
def test_labels_have_room_at_the_width_that_the_page_tells(orders: explorer.Table, width: int) -> None:
    widget = orders.explore()
    figure = figure_of(widget)
    widget._host.width = width
    fresh = widget._view.timeline(left=78)
    assert fresh["layout"]["width"] == width
    words = {trace.name: trace for trace in figure.data if trace.type == "scatter" and trace.mode == "text"}
    slot = (width - 78 - 12) / 6
    if slot < 76:
        assert "names" not in words
        numbers = words["version ticks"].x
        assert all(after - before >= 56 / slot for before, after in pairwise(numbers))
    else:
        assert "names" in words
    assert [label.text for label in figure.layout.annotations] == [
        label["text"] for label in fresh["layout"]["annotations"]
    ]  # fmt: skip
    assert (figure.layout.autosize, figure.layout.width, figure.height) == (True, None, fresh["layout"]["height"])


def test_a_narrower_strip_keeps_no_label_of_the_wider_one(tmp_path: Path) -> None:
    commits = [[PROTOCOL, metadata({"a": "long"})]]
    commits += [[add(f"part-{n}.parquet", 9_000 if n % 50 == 0 else 1)] for n in range(1, 200)]
    widget = explorer.open_table(write_log(tmp_path / "lonely", commits)).explore()
    labels = figure_of(widget).layout.annotations
    widget._host.width = 400
    assert 0 < len(figure_of(widget).layout.annotations) < len(labels)
