"""What the figure draws, against row counts that the reference engine found at every version."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.views import TableFacts, TableView
from explorer.views.figures.plotly import plain_json
from tests.support.shared_tables import reference_root

ROOT = reference_root()
EXPECTED = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "expected").glob("*.json"))}


def figure_of(table: explorer.Table) -> Any:
    """The strip as its script draws it, in the browser and in the notebook."""
    return plain_json(TableView(TableFacts(table)).drawn_timeline())


def heights(figure: Any, name: str) -> dict[int, float]:
    trace = next(trace for trace in figure["data"] if trace["name"] == name)
    return {round(x): float(y) for x, y in zip(trace["x"], trace["y"], strict=True) if y is not None and np.isfinite(y)}


@pytest.mark.sampled(cases=12)
@pytest.mark.reference
@pytest.mark.parametrize("name", EXPECTED)
def test_bars_add_up_to_the_rows_the_reference_counts(name: str) -> None:
    table = explorer.open_table(ROOT / "tables" / name)
    counts = {v["version"]: v["row_count"] for v in EXPECTED[name]["versions"] if "row_count" in v}
    history = {row["version"]: row for row in table.history().to_pylist()}
    figure = figure_of(table)
    low, high = figure["layout"]["yaxis"]["range"]
    # What is not zero has a least height, so that it can be seen: each of three bars may be that much too long.
    slack = 3 * 0.025 * (high - low)
    drawn = {kind: heights(figure, kind) for kind in ("added", "removed", "masked")}
    checked = 0
    for before, version in pairwise(sorted(counts)):
        row = history.get(version)
        if version != before + 1 or row is None or _unknown(row):
            continue
        total = sum(bars.get(version, 0.0) for bars in drawn.values())
        change = counts[version] - counts[before]
        if _is_linear(figure):
            assert total == pytest.approx(change, abs=slack), f"v{version}"
        elif change:
            assert np.sign(total) == np.sign(change), f"v{version}"
        checked += 1
    assert checked or len(counts) < 2 or all(_unknown(row) for row in history.values())


@pytest.mark.reference
def test_diamonds_stand_where_schema_protocol_or_properties_change() -> None:
    table = explorer.open_table(ROOT / "tables" / "deletion-vectors")
    log = ROOT / "tables" / "deletion-vectors" / "_delta_log"
    expected = [
        int(path.stem)
        for path in sorted(log.glob("*.json"))
        if any({"metaData", "protocol"} & set(json.loads(line)) for line in path.read_text("utf-8").splitlines())
    ]
    marks = next(trace for trace in figure_of(table)["data"] if trace["name"] == "schema, protocol or properties")
    assert [int(x) for x in marks["x"]] == expected


def _is_linear(figure: Any) -> bool:
    values = [float(text) for text in figure["layout"]["yaxis"]["ticktext"] if text.replace(".", "").isdigit()]
    ticks = [abs(value) for value in figure["layout"]["yaxis"]["tickvals"]]
    return len(values) == len(ticks) and values == pytest.approx(ticks)


def _unknown(row: dict[str, Any]) -> bool:
    return row["rows_added"] is None or row["rows_removed"] is None
