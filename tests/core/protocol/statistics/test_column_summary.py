"""A column over all live files by their statistics, beside what the files themselves hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import Add
from explorer.core.protocol.arrow.python_dates import value_in_python
from explorer.core.protocol.statistics.column_summary import ColumnSummary
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import MASKED, PROTOCOL, add, commit_info, metadata, vector, write_log


def summary(folder: Path, *files: Add, kind: str = "long", partition: bool = False) -> ColumnSummary:
    """The summary of a table's one column ``v``."""
    columns = {"v": kind, "other": "long"}
    created = [commit_info("CREATE TABLE"), MASKED, metadata(columns, ["v"] if partition else [])]
    table = explorer.open_table(write_log(folder / "t", [created, list(files)]))
    return table.snapshot().column_summaries(["v"])[0]


def file(path: str, rows: int | None, *, hidden: int = 0, **stats: Any) -> Add:
    """A file with statistics, of which a deletion vector hides some rows."""
    text = json.dumps(stats if rows is None else {"numRecords": rows, **stats})
    descriptor = vector(path, hidden) if hidden else None
    return msgspec.structs.replace(add(path), stats=text, deletion_vector=descriptor)


def bounded(low: Any, high: Any, nulls: int = 0, **more: Any) -> dict[str, Any]:
    """Statistics of ``v``."""
    return {"minValues": {"v": low}, "maxValues": {"v": high}, "nullCount": {"v": nulls}, **more}


def test_statistics_of_all_files_give_exact_nulls_and_tight_ends(tmp_path: Path) -> None:
    made = summary(tmp_path, file("a", 10, **bounded(5, 9, 2)), file("b", 10, **bounded(-3, 7, 1)))
    assert (made.rows, made.least_nulls, made.most_nulls, made.nulls_exact) == (20, 3, 3, True)
    assert (made.min, made.max, made.min_tight, made.max_tight) == (-3, 9, True, True)
    assert (made.files, made.files_bounded, made.files_counted, made.wide_files) == (2, 2, 2, 0)


def test_an_end_is_wide_only_where_no_tight_file_has_it(tmp_path: Path) -> None:
    wide = file("a", 10, hidden=3, **bounded(1, 99, tightBounds=False))
    made = summary(tmp_path, wide, file("b", 10, **bounded(1, 50)))
    assert (made.min, made.max, made.min_tight, made.max_tight) == (1, 99, True, False)
    assert made.rows == 17
    assert made.wide_files == 1


@pytest.mark.conformance("STATS-007")
def test_a_null_count_of_wide_statistics_counts_where_it_is_none_or_all(tmp_path: Path) -> None:
    half = file("a", 10, hidden=3, **bounded(1, 2, 4, tightBounds=False))
    every = file("b", 10, hidden=2, nullCount={"v": 10}, tightBounds=False)
    none = file("c", 10, hidden=1, **bounded(1, 2, 0, tightBounds=False))
    made = summary(tmp_path, half, every, none)
    assert (made.rows, made.least_nulls, made.most_nulls) == (24, 8, 15)
    assert not made.nulls_exact


@pytest.mark.conformance("STATS-002")
def test_what_is_absent_is_unknown_and_counted(tmp_path: Path) -> None:
    silent, unsized = file("a", 10), file("b", None)
    made = summary(tmp_path, silent, unsized, file("c", 5, nullCount={"v": 5}), file("d", 5, **bounded(3, 1)))
    assert (made.files, made.files_bounded, made.files_counted) == (4, 1, 2)
    assert (made.min, made.max, made.min_tight) == (None, None, None)
    assert (made.rows, made.least_nulls, made.most_nulls) == (10, 5, 5)


def test_a_file_without_a_live_row_says_nothing(tmp_path: Path) -> None:
    empty = file("a", 4, hidden=4, **bounded(-100, 100, 2, tightBounds=False))
    made = summary(tmp_path, empty, file("b", 3, **bounded(1, 2)))
    assert (made.files, made.min, made.max, made.rows, made.most_nulls) == (1, 1, 2, 3, 0)


def test_partition_values_are_exact_and_null_is_one_of_them(tmp_path: Path) -> None:
    def part(path: str, value: str | None, rows: int, hidden: int = 0) -> Add:
        return msgspec.structs.replace(file(path, rows, hidden=hidden), partition_values={"v": value})

    files = part("a", "7", 3), part("b", "12", 4, 1), part("c", None, 5, 2)
    made = summary(tmp_path, *files, kind="integer", partition=True)
    assert made.partition
    assert (made.min, made.max, made.min_tight, made.max_tight) == (7, 12, True, True)
    assert (made.rows, made.least_nulls, made.most_nulls, made.files_bounded) == (9, 3, 3, 3)


@pytest.mark.parametrize("kind", ["binary", "void"])
def test_types_without_bounds_have_null_counts_alone(tmp_path: Path, kind: str) -> None:
    made = summary(tmp_path, file("a", 10, nullCount={"v": 4}), kind=kind)
    assert (made.min, made.max, made.files_bounded, made.least_nulls) == (None, None, 0, 4)


def test_booleans_and_not_a_number_partitions_do_no_harm(tmp_path: Path) -> None:
    made = summary(tmp_path, file("a", 2, **bounded(False, True)), kind="boolean")
    assert (made.min, made.max) == (False, True)
    nan = msgspec.structs.replace(file("a", 2), partition_values={"v": "NaN"})
    made = summary(tmp_path / "nan", nan, kind="double", partition=True)
    assert (made.min, made.max, made.files_bounded) == (None, None, 0)


def test_an_unknown_column_is_refused_by_name(tmp_path: Path) -> None:
    table = explorer.open_table(write_log(tmp_path / "t", [[PROTOCOL, metadata({"v": "long"})]]))
    with pytest.raises(RequestError, match="nope"):
        table.snapshot().column_summaries(["nope"])


def test_summaries_equal_what_another_reader_counts_in_the_files(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "n": pa.array([5, None, 3, 8, None, 2], pa.int64()),
            "f": pa.array([0.5, float("nan"), None, -1.5, 7.0, 2.0]),
            "s": pa.array(["b", "a", None, "zz", "", "é"]),
            "d": pa.array([1, 2, 3, None, 40_000, -5], pa.int32()).cast(pa.date32()),
            "b": pa.array([True, False, None, True, True, True]),
            "inner": pa.array(
                [{"x": 1}, {"x": None}, None, {"x": 9}, {"x": 4}, {"x": 5}], pa.struct([("x", pa.int32())])
            ),
        }
    )
    for part in at_least_one((rows.slice(0, 4), rows.slice(4))):
        deltalake.write_deltalake(tmp_path / "t", part, mode="append")
    # Not a number is in no statistics.
    numbers = "(CASE WHEN isnan(f) THEN NULL ELSE f END)"
    queries = {"n": "n", "s": "s", "d": "d", "inner.x": '"inner".x', "f": numbers}
    names = list(queries)
    made = {each.column: each for each in explorer.open_table(tmp_path / "t").snapshot().column_summaries(names)}
    for name, sql in at_least_one(queries.items()):
        nulls = "f" if name == "f" else sql
        counted = duckdb.sql(
            f"SELECT count(*) - count({nulls}), min({sql}), max({sql}) FROM read_parquet('{tmp_path}/t/*.parquet')"
        ).fetchone()
        assert counted is not None
        assert made[name].least_nulls == made[name].most_nulls == counted[0], name
        assert (made[name].min, made[name].max) == counted[1:], name
        assert made[name].rows == 6


def test_times_are_summarized_without_pandas_and_beyond_the_years_of_python(tmp_path: Path) -> None:
    ends = bounded("2026-01-02T03:04:05.678Z", "2026-01-03T00:00:00Z")
    made = summary(tmp_path, file("a", 2, **ends), kind="timestamp")
    assert str(made.min) == "2026-01-02 03:04:05.678000+00:00"
    code = (
        "import sys, explorer; print(explorer.open_table(sys.argv[1]).snapshot().column_summaries()[0].rows); "
        "sys.exit('pandas' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "t")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, "2"), run.stderr
    far = pa.array([5_000_000], pa.int32()).cast(pa.date32())
    # 13,600 years after 2059-07-15, as the calendar repeats every 400 years of 146,097 days.
    assert value_in_python(far, 0) == "15659-07-15"
