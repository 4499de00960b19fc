"""Files that cannot hold a row asked for are not given to Spark; what the log cannot tell is."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExpressionRefused
from explorer.spark.engine.session import Engine
from explorer.spark.rows.preview import preview
from explorer.spark.scan.compared import needed_files
from explorer.spark.scan.scan import scan
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=5)]


def _days(root: Path) -> explorer.Table:
    fields = [column("id", "long"), column("day", "date")]
    days = ["2026-01-01", "2026-01-02", None]
    files = [DataFile(f"f{i}.parquet", pa.table({"id": [i, i + 10]}), {"day": day}) for i, day in enumerate(days)]
    return explorer.open_table(write_table(root, fields, files, ["day"]))


@pytest.mark.parametrize(
    ("where", "files", "rows"),
    [
        ("day = '2026-01-02'", [1], 2),
        ("day IS NULL AND id > 5", [2], 1),
        ("NOT day = '2026-01-02'", [0], 2),
        ("day > '2030-01-01'", [], 0),
        ("id > 11", [0, 1, 2], 1),
        ("date_add(day, 1) = '2026-01-02'", [0, 1, 2], 2),
        ("day = current_date()", [0, 1, 2], 0),
    ],
)
def test_only_files_that_may_match_are_read(tmp_path: Path, where: str, files: list[int], rows: int) -> None:
    table = _days(tmp_path)
    planned = scan(table, table.snapshot(), where=where)
    assert [f"f{number}.parquet" for number in files] == [address.raw_path for address in planned.addresses]
    assert rows == planned.to_arrow().num_rows
    shown = preview(table, table.snapshot(), 10, where).result(60)
    assert (rows, True) == (shown.table.num_rows, shown.complete)


def test_a_bad_predicate_is_told_even_where_no_file_could_match(tmp_path: Path) -> None:
    with pytest.raises(ExpressionRefused, match="nope"):
        _days(tmp_path).rows(where="day > '2030-01-01' AND nope > 1")


def test_in_another_time_zone_nothing_is_left_out(tmp_path: Path, spark_engine: Engine) -> None:
    table = _days(tmp_path)
    # The two kinds of sessions have no call for this in common.
    session = getattr(spark_engine.session(), "cloneSession" if spark_engine.connected_remotely else "newSession")()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    snapshot = table.snapshot()
    assert needed_files(session, snapshot, snapshot.logical_files, "day = '2026-01-02'").num_rows == 3


@pytest.mark.whole("test_only_files_that_may_match_are_read")
@pytest.mark.reference
def test_rows_found_are_the_same_as_without_statistics() -> None:
    table = explorer.open_table(reference_root() / "tables" / "partition-types")
    snapshot = table.snapshot()
    everything = scan(table, snapshot)
    spared = 0
    for field in snapshot.schema.fields[:6]:
        where = f"`{field.name}` IS NOT NULL"
        pruned = scan(table, snapshot, where=where)
        spared += len(everything.addresses) - len(pruned.addresses)
        assert everything.frame.where(where).count() == pruned.frame.count(), where
    assert spared > 0


@pytest.mark.whole("tests/core/protocol/statistics/test_skipping.py")
@pytest.mark.conformance("STATS-016")
def test_no_row_with_nan_or_the_other_zero_is_lost(tmp_path: Path) -> None:
    numbers = [-0.0, 0.0, 1.0, float("nan"), None]
    fields = [
        column("x", "double"),
        column("f", "float"),
        column("s", {"type": "struct", "fields": [column("y", "double")]}),
    ]
    files = []
    for place, value in enumerate(numbers):
        rows = pa.table(
            {
                "x": pa.array([value] * 3, pa.float64()),
                "f": pa.array([value] * 3, pa.float32()),
                "s": pa.array([{"y": value}] * 3, pa.struct([("y", pa.float64())])),
            }
        )
        files.append(DataFile(f"{place}.parquet", rows))
    table = explorer.open_table(write_table(tmp_path / "table", fields, files))
    # Files by another writer, whose bounds leave NaN out.
    deltalake.write_deltalake(str(tmp_path / "other"), pa.table({"x": [1.0, float("nan")]}))
    other = explorer.open_table(tmp_path / "other")
    # Three rows of each number; SQL takes the two zeros for equal and NaN for the greatest.
    wanted = {
        "{} = 0": 6,
        "{} = -0.0": 6,
        "{} >= 0": 12,
        "{} > 5": 3,
        "NOT ({} <= 5)": 3,
        "{} <> 1": 9,
        "{} IN (0.0D, double('NaN'))": 9,
    }
    for where, count in wanted.items():
        for name in ("x", "f", "s.y"):
            condition = where.format(name)
            assert table.rows(where=condition).count() == count, condition
            assert table.rows().where(condition).count() == count, condition
    assert other.rows(where="x > 5").count() == 1


@pytest.mark.golden
@pytest.mark.parametrize("where", ["= 3.4000000953674316", "BETWEEN 3.40000001 AND 3.5", "IN (3.4000000953674316)"])
def test_a_float_that_became_a_double_is_found_though_the_log_states_fewer_digits_of_it(where: str) -> None:
    table = explorer.open_table(golden_root() / "tables" / "delta__type-widening")
    rows = scan(table, table.snapshot(), where=f"float_double {where}").to_arrow()
    assert rows.column("float_double").to_pylist() == [3.4000000953674316]
