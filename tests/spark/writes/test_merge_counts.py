"""A merge counts each row of the table once, however many rows of the source match it, and never below 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.writes.sources.test_changing_sources import MERGE, new_table, planned
from tests.support.counted_words import disagreeing

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

UPDATE: dict[str, Any] = {"update": {"v": "source.v"}}


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize(
    ("ids", "matched", "detail", "is_ambiguous"),
    [
        ([3, 3, 3], [UPDATE], "Rows: 1 updated in 1 file.", True),
        ([3, 3, 4, 200], [UPDATE], "Rows: 2 updated in 1 file, 1 inserted.", True),
        ([3, 3, 60], [{"delete": True}], "Rows: 2 deleted in 2 files.", False),
        (
            [3, 3, 4],
            [{"when": "source.v > 1", "delete": True}, UPDATE],
            "Rows: 1 updated and 2 deleted in 1 file.",
            True,
        ),
        ([200, 201], [UPDATE], "Rows: 2 inserted.", False),
    ],
)
def test_rows_that_several_rows_match_are_counted_once(
    tmp_path: Path, ids: list[int], matched: list[dict[str, Any]], detail: str, is_ambiguous: bool
) -> None:
    rows = pa.table({"id": pa.array(ids, pa.int64()), "v": [1.0 + place for place in range(len(ids))]})
    plan = planned(new_table(tmp_path / "t"), {**MERGE, "matched": matched}, rows=rows)
    guards = {guard.name: guard for guard in plan.guards}
    assert guards["rows-found"].evidence["detail"] == detail
    assert disagreeing(detail) == []
    assert ("one-match-each" in guards) is is_ambiguous
    assert min(int(number) for name, number in plan.proposal.metrics.items() if "Rows" in name) >= 0
