"""What the timeline widget adds to the figure of the views: places to point at, and the version under a click."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
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
    assert len(figure_of(widget).data[0].x) == 240
    assert [chart.version_at(place) for place in (-0.6, 0.0, 1.0, 4.4, 4.6, 1_199.0, 1_199.6)] == [
        None, 4, 4, 4, 9, 1_199, None,
    ]  # fmt: skip
