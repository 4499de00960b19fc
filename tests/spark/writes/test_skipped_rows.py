"""Rows in files that statistics wrongly skip, in tables of many files: changes find them, or say what they left out."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.transaction.proposal import GuardResult
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

FILES: Final = 203
"""More than a change reads of the files that it cannot tell anything of."""
OLD: Final = datetime(1850, 1, 1, 0, 7, 33, tzinfo=UTC)
_TYPES: Final = {
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
}
LONG: Final = "a" * 31


def _table(root: Path, kind: str, values: list[Any], low: Any, high: Any, **options: Any) -> explorer.Table:
    """Files of one row each, of which the log says the same bounds and no null."""
    root.mkdir()
    stats = json.dumps({"numRecords": 1, "minValues": {"v": low}, "maxValues": {"v": high}, "nullCount": {"v": 0}})
    written: dict[Any, bytes] = {}
    lines = []
    for number, value in enumerate(values):
        path = root / f"{number}.parquet"
        if value not in written:
            pq.write_table(pa.table({"v": pa.array([value], _TYPES[kind])}), path, **options)
            written[value] = path.read_bytes()
        path.write_bytes(written[value])
        lines.append(msgspec.structs.replace(add(path.name, size=len(written[value])), stats=stats))
    write_log(root, [[PROTOCOL, metadata({"v": kind}), *lines]])
    return explorer.open_table(root)


def _guard(plan: Any) -> GuardResult | None:
    return next((guard for guard in plan.guards if guard.name == "statistics-right"), None)


CASES: Final = {
    "long": ([5] * (FILES - 1) + [12], 5, 9, "v = 12"),
    "double": ([1.0] * (FILES - 1) + [-7.5], -0.0, 1.0, "v < -1"),
    "string": (["a"] * (FILES - 1) + [LONG + "\U0001f600"], "a", LONG + "\ufffd", f"v > '{LONG}\ufffd'"),
    "timestamp": (
        [datetime(2026, 1, 1, tzinfo=UTC)] * (FILES - 1) + [OLD],
        "1850-01-01T01:01:01.000+00:53", "2026-01-01T00:00:00.000Z", "v < '1850-01-01T00:08:00Z'",
    ),
}  # fmt: skip


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("kind", CASES)
def test_a_delete_finds_the_row_that_an_erasure_finds_in_a_table_of_many_files(tmp_path: Path, kind: str) -> None:
    values, low, high, where = CASES[kind]
    table = _table(tmp_path / "t", kind, values, low, high)
    assert table.rows(where=where).count() == 0
    plan = table.plan({"kind": "delete", "where": where})
    guard = _guard(plan)
    assert guard is not None
    assert (guard.status, guard.evidence["numFiles"], guard.evidence["numUnchecked"]) == ("warn", 1, 0)
    assert f"{FILES - 1}.parquet" in str(guard.evidence["detail"])
    assert table.commit(plan).outcome == "committed"
    assert table.erasure(where).totals["live"] == 0


@pytest.mark.whole(
    "test_a_delete_finds_the_row_that_an_erasure_finds_in_a_table_of_many_files, of one kind "
    "of bounds; tests/core/transaction/row_preparation/test_skipped_files.py tries every kind without rows"
)
def test_an_update_and_an_overwrite_find_it_too(tmp_path: Path) -> None:
    values, low, high, where = CASES["long"]
    source = tmp_path / "new.parquet"
    pq.write_table(pa.table({"v": pa.array([12, 12], pa.int64())}), source)
    intents = (
        {"kind": "update", "where": where, "set": {"v": "13"}},
        {"kind": "overwrite", "where": where, "source": str(source)},
    )
    for number, intent in enumerate(at_least_one(intents)):
        table = _table(tmp_path / str(number), "long", values, low, high)
        plan = table.plan(intent)
        assert _guard(plan) is not None
        assert table.commit(plan).outcome == "committed"
        left = sorted(row["v"] for row in table.rows().collect())[FILES - 1 :]
        assert left == ([13] if number == 0 else [12, 12]), "the row that was there is replaced"


def test_files_that_no_footer_tells_of_are_counted_where_they_are_too_many_to_read(tmp_path: Path) -> None:
    moments = [datetime(2026, 1, 1, tzinfo=UTC)] * FILES
    bounds = "2026-01-01T00:00:00.000Z"
    table = _table(tmp_path / "t", "timestamp", moments, bounds, bounds, use_deprecated_int96_timestamps=True)
    guard = _guard(table.plan({"kind": "delete", "where": "v < '2020-01-01T00:00:00Z'"}))
    assert guard is not None
    assert (guard.status, guard.evidence["numSkipped"], guard.evidence["numUnchecked"]) == ("warn", FILES, 3)
    assert f"skips {FILES} files by statistics, and 3 of them were not checked" in str(guard.evidence["detail"])
    assert guard.remedy.startswith("To be sure, plan recompute-statistics first")


@pytest.mark.whole(
    "tests/core/transaction/row_preparation/test_skipped_files.py::test_a_file_that_its_footer_excludes_too_stays_skipped"
)
def test_sound_statistics_of_many_files_say_nothing(tmp_path: Path) -> None:
    table = _table(tmp_path / "t", "long", [5] * FILES, 5, 5)
    assert _guard(table.plan({"kind": "delete", "where": "v > 5"})) is None
