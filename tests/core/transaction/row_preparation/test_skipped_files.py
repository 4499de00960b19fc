"""Files that statistics skip, held against the footers that PyArrow wrote: a change of rows reads the doubted ones."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.transaction.row_preparation.matched_files import SkippedFiles, skipped_files
from tests.support.logs.small_logs import MASKED, PROTOCOL, add, metadata, write_log
from tests.support.logs.spark_tables import masking

_TYPES: Final = {
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "decimal(20,3)": pa.decimal128(20, 3),
}
LONG: Final = "a" * 31
OLD: Final = datetime(1850, 1, 1, 0, 7, 33, tzinfo=UTC)


def _stats(low: Any, high: Any, nulls: int = 0, rows: int = 2) -> dict[str, Any]:
    bounds = {} if low is None else {"minValues": {"v": low}, "maxValues": {"v": high}}
    return {"numRecords": rows, **bounds, "nullCount": {"v": nulls}}


def _table(
    root: Path,
    kind: str,
    values: list[Any],
    stats: Mapping[str, Any],
    *,
    copies: int = 1,
    writer: str = "",
    more: Mapping[str, str] | None = None,
    **options: Any,
) -> explorer.Table:
    """A table of equal files with one column, and what the log says of each; columns of ``more`` are in no file."""
    root.mkdir()
    rows = pa.table({"v": pa.array(values, _TYPES[kind])}).replace_schema_metadata(
        {"org.apache.spark.version": writer} if writer else None
    )
    pq.write_table(rows, root / "0.parquet", **options)
    data = (root / "0.parquet").read_bytes()
    lines = []
    for number in range(copies):
        (root / f"{number}.parquet").write_bytes(data)
        line = add(f"{number}.parquet", size=len(data))
        lines.append(msgspec.structs.replace(line, stats=json.dumps(stats)))
    write_log(root, [[PROTOCOL, metadata({"v": kind, **(more or {})}), *lines]])
    return explorer.open_table(root)


def _skipped(table: explorer.Table, where: str, **limits: int) -> SkippedFiles:
    return skipped_files(table.snapshot(), table.store, where, **limits)


WRONG: Final = {
    "a maximum that is too low": ("long", [5, 12], _stats(5, 9), "v = 12"),
    "a minimum that is too high": ("long", [-5, 12], _stats(1, 12), "v < 0"),
    "a null that is not counted": ("long", [5, None], _stats(5, 5), "v IS NULL"),
    "values that are counted as nulls": ("long", [5, 6], _stats(None, None, 2), "v = 5"),
    "rows that are not counted": ("long", [5, 6], _stats(5, 6, rows=0), "v = 5"),
    "a string that was cut off with U+FFFD": (
        "string", ["a", LONG + "\U0001f600"], _stats("a", LONG + "\ufffd"), f"v > '{LONG}\ufffd'"),
    "a time whose zone has lost its seconds": (
        "timestamp", [OLD, OLD], _stats("1850-01-01T01:01:01.000+00:53", "1850-01-01T01:01:01.000+00:53"),
        "v < '1850-01-01T00:08:00Z'"),
    "a time before 1900 that was cut to seconds": (
        "timestamp", [OLD, datetime(1890, 5, 1, 0, 0, 0, 999_999, tzinfo=UTC)],
        _stats("1850-01-01T00:07:33.000Z", "1890-05-01T00:00:00.000Z"), "v > '1890-05-01T00:00:00.5Z'"),
    "a decimal that was cut off": (
        "decimal(20,3)", [Decimal("1.000"), Decimal("2.501")], _stats(1, 2.5), "v > 2.5"),
    "an infinity that bounds leave out": ("double", [1.0, -math.inf], _stats(1.0, 1.0), "v < 0"),
    "a day in another year": ("date", [date(2026, 1, 1), date(1826, 1, 1)], _stats("2026-01-01", "2026-01-01"),
                              "v < DATE '1900-01-01'"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_file_whose_footer_does_not_exclude_the_row_is_to_be_read(tmp_path: Path, name: str) -> None:
    kind, values, stats, where = WRONG[name]
    table = _table(tmp_path / "t", kind, values, stats)
    assert table.snapshot().skipping(where).counts.after_statistics == 0
    assert _skipped(table, where) == SkippedFiles(1, frozenset({"0.parquet"}), 0)


RIGHT: Final = {
    "long": ("long", [5, 9], _stats(5, 9), "v > 10"),
    "no nulls": ("long", [5, 9], _stats(5, 9), "v IS NULL"),
    "nulls alone": ("long", [None, None], _stats(None, None, 2), "v = 1 OR v < 0"),
    "zero of either sign": ("double", [-0.0, 0.0], _stats(-0.0, 0.0), "v < 0"),
    "NaN, which is above all": ("double", [1.0, 2.0], _stats(1.0, 2.0), "v < 1"),
    "string": ("string", ["a", LONG + "\U0001f600" * 3], _stats("a", LONG + "\U0010ffff"), "v > 'b'"),
    "date": ("date", [date(1500, 1, 1), date(1501, 1, 1)], _stats("1500-01-01", "1501-01-01"), "v > '1600-01-01'"),
    "timestamp": ("timestamp", [OLD, OLD], _stats("1850-01-01T00:07:33.000Z", "1850-01-01T00:07:33.000Z"),
                  "v > '1900-01-01T00:00:00Z'"),
    "decimal": ("decimal(20,3)", [Decimal("0.001"), Decimal("2.5")], _stats(0.001, 2.5), "v > 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_file_that_its_footer_excludes_too_stays_skipped(tmp_path: Path, name: str) -> None:
    kind, values, stats, where = RIGHT[name]
    table = _table(tmp_path / "t", kind, values, stats)
    assert table.snapshot().skipping(where).counts.after_statistics == 0
    assert _skipped(table, where) == SkippedFiles(1, frozenset(), 0)


def test_a_footer_without_bounds_confirms_nothing(tmp_path: Path) -> None:
    without = _table(tmp_path / "a", "long", [5, 9], _stats(5, 9), write_statistics=False)
    old_times = _table(
        tmp_path / "b", "timestamp", [OLD, OLD], _stats("1850-01-01T00:07:33.000Z", "1850-01-01T00:07:33.000Z"),
        use_deprecated_int96_timestamps=True,
    )  # fmt: skip
    assert _skipped(without, "v > 10").doubted == {"0.parquet"}
    assert _skipped(old_times, "v > '1900-01-01T00:00:00Z'").doubted == {"0.parquet"}


def test_days_of_the_julian_calendar_confirm_nothing(tmp_path: Path) -> None:
    stats = _stats("1500-01-10", "1500-01-10", rows=1)
    days = [date(1500, 1, 1)]
    old = _table(tmp_path / "old", "date", days, stats, writer="2.4.8")
    new = _table(tmp_path / "new", "date", [date(1500, 1, 10)], stats, writer="4.1.0")
    assert _skipped(old, "v < '1400-01-01'").doubted == {"0.parquet"}
    assert _skipped(new, "v < '1400-01-01'").doubted == frozenset()


def test_a_column_that_a_file_lacks_is_null_in_it(tmp_path: Path) -> None:
    stats = {"numRecords": 2, "nullCount": {"v": 0, "w": 2}}
    table = _table(tmp_path / "t", "long", [5, 9], stats, more={"w": "long"})
    assert _skipped(table, "w = 1") == SkippedFiles(1, frozenset(), 0)
    assert _skipped(table, "w = 1 OR v IS NULL") == SkippedFiles(1, frozenset(), 0)
    wrong = _table(tmp_path / "u", "long", [5, 9], {"numRecords": 2, "nullCount": {"w": 0}}, more={"w": "long"})
    assert _skipped(wrong, "w IS NULL").doubted == {"0.parquet"}


def test_masked_rows_leave_the_bounds_of_the_footer_wide(tmp_path: Path) -> None:
    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(pa.table({"v": pa.array([1, 50], pa.int64())}), root / "a.parquet")
    line = add("a.parquet", size=(root / "a.parquet").stat().st_size, vector=masking([1]))
    line = msgspec.structs.replace(line, stats=json.dumps(_stats(1, 1)))
    write_log(root, [[MASKED, metadata({"v": "long"}), line]])
    table = explorer.open_table(root)
    assert _skipped(table, "v = 50").doubted == {"a.parquet"}, "its footer does not tell which rows are visible"
    assert _skipped(table, "v = 51").doubted == frozenset()


def test_a_file_that_is_missing_has_no_row_and_one_that_was_changed_is_not_trusted(tmp_path: Path) -> None:
    table = _table(tmp_path / "t", "long", [5, 9], _stats(5, 9), copies=3)
    (tmp_path / "t" / "0.parquet").unlink()
    (tmp_path / "t" / "1.parquet").write_bytes(b"PAR1")
    with (tmp_path / "t" / "2.parquet").open("r+b") as file:
        file.truncate(20)
    assert _skipped(table, "v > 10") == SkippedFiles(3, frozenset(), 2)


def test_what_is_more_than_a_plan_waits_for_is_counted(tmp_path: Path) -> None:
    table = _table(tmp_path / "t", "long", [5, 12], _stats(5, 9), copies=7)
    assert _skipped(table, "v = 12", most_footers=5, most_read=3) == SkippedFiles(
        7, frozenset({"0.parquet", "1.parquet", "2.parquet"}), 4
    )


def test_a_condition_that_statistics_cannot_answer_skips_nothing(tmp_path: Path) -> None:
    table = _table(tmp_path / "t", "long", [5, 9], _stats(5, 9))
    assert _skipped(table, "abs(v) > 10") == SkippedFiles(0, frozenset(), 0)
    assert _skipped(table, "v >") == SkippedFiles(0, frozenset(), 0)
