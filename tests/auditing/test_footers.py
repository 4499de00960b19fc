"""Statistics of the log against Parquet files that PyArrow wrote, and against those of the reference and golden tables.

What a file holds is known from the rows that were given to PyArrow, and what the log says is written beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.auditing import Audit, Finding
from explorer.core.errors import ExplorerError
from explorer.core.transaction.intents.records import RecomputeStatistics
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import MASKED, PROTOCOL, add, metadata, write_log
from tests.support.logs.spark_tables import masking
from tests.support.rule_findings import finding_of
from tests.support.shared_tables import golden_root, reference_root

pytestmark = pytest.mark.sampled(tests=8)

TRUE: dict[str, Any] = {
    "numRecords": 4,
    "minValues": {"id": -5, "name": "ana", "day": "2026-01-01", "price": 1.25, "amount": 0.01},
    "maxValues": {"id": 9, "name": "eve", "day": "2026-03-01", "price": 8.5, "amount": 12.5},
    "nullCount": {"id": 1, "name": 0, "day": 0, "price": 0, "amount": 0},
}
KINDS = {"id": "long", "name": "string", "day": "date", "price": "double", "amount": "decimal(9,2)"}


def _rows() -> pa.Table:
    return pa.table(
        {
            "id": pa.array([None, -5, 9, 3], pa.int64()),
            "name": ["ana", "ben", "eve", "eve"],
            "day": [date(2026, 1, 1), date(2026, 3, 1), date(2026, 2, 1), date(2026, 2, 2)],
            "price": [1.25, 8.5, 2.0, 3.0],
            "amount": pa.array(
                [Decimal("0.01"), Decimal("12.50"), Decimal("1.00"), Decimal("2.00")], pa.decimal128(9, 2)
            ),
        }
    )


def _table(root: Path, stats: Mapping[str, Any], masked: list[int] | None = None, **options: Any) -> explorer.Table:
    root.mkdir()
    pq.write_table(_rows(), root / "a.parquet", row_group_size=2, **options)
    action = add("a.parquet", size=(root / "a.parquet").stat().st_size, vector=masking(masked) if masked else None)
    stated = type(action)(
        path=action.path,
        partition_values={},
        size=action.size,
        modification_time=1,
        stats=json.dumps(stats),
        deletion_vector=action.deletion_vector,
    )
    write_log(root, [[MASKED if masked else PROTOCOL, metadata(KINDS), stated]])
    return explorer.open_table(root)


def _audit(table: explorer.Table) -> Audit:
    return table.audit(NOW, check_footers=True)


def _found(table: explorer.Table, rule: str) -> Finding:
    return finding_of(_audit(table), rule)


def _with(kind: str, column: str, value: Any) -> dict[str, Any]:
    return {**TRUE, kind: {**TRUE[kind], column: value}}


@pytest.mark.parametrize("options", [{}, {"store_decimal_as_integer": True}, {"write_statistics": ["id"]}])
def test_true_statistics_are_no_finding(tmp_path: Path, options: dict[str, Any]) -> None:
    table = _audit(_table(tmp_path / "t", TRUE, **options))
    assert "wrong-statistics" in {rule.id for rule in table.silent}
    assert table.basis == ("log", "footers")


def test_two_columns_of_one_dotted_name_are_not_taken_for_each_other(tmp_path: Path) -> None:
    """Parquet names the leaf of a column `a.b` as it names the field b of a struct a."""
    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(pa.table({"a.b": [1_000], "a": [{"b": 1}], "x": [1]}), root / "a.parquet")
    low = {"a.b": 1_000, "a": {"b": 1}, "x": 2}
    action = add("a.parquet", size=(root / "a.parquet").stat().st_size)
    stats = json.dumps({"numRecords": 1, "minValues": low, "maxValues": low, "nullCount": {}})
    action = msgspec.structs.replace(action, stats=stats)
    columns = metadata({"a.b": "long", "a": {"type": "struct", "fields": [_field("b")]}, "x": "long"})
    write_log(root, [[PROTOCOL, columns, action]])
    finding = _found(explorer.open_table(root), "wrong-statistics")
    assert [each.text for each in finding.evidence] == [
        "a.parquet: minValues of x is 2 in the log, 1 in the file",
        "1 footer read",
    ]


def test_statistics_that_contradict_themselves_and_the_file_are_two_findings(tmp_path: Path) -> None:
    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(pa.table({"x": [1]}), root / "a.parquet")
    stats = json.dumps({"numRecords": 1, "minValues": {"x": 2}, "maxValues": {"x": 1}, "nullCount": {"x": 0}})
    action = add("a.parquet", size=(root / "a.parquet").stat().st_size)
    write_log(root, [[PROTOCOL, metadata({"x": "long"}), msgspec.structs.replace(action, stats=stats)]])
    findings = _audit(explorer.open_table(root)).findings
    texts = [each.evidence[0].text for each in findings if each.rule == "wrong-statistics"]
    assert texts == [
        "a.parquet: x has minimum 2, maximum 1",
        "a.parquet: minValues of x is 2 in the log, 1 in the file",
    ]


def _field(name: str) -> dict[str, Any]:
    return {"name": name, "type": "long", "nullable": True, "metadata": {}}


@pytest.mark.parametrize(
    ("stats", "said"),
    [
        ({**TRUE, "numRecords": 3}, "numRecords is 3 in the log, 4 in the file"),
        (_with("nullCount", "id", 0), "nullCount of id is 0 in the log, 1 in the file"),
        (_with("nullCount", "id", 4), "nullCount of id is 4 in the log, 1 in the file"),
        (_with("minValues", "id", -4), "minValues of id is -4 in the log, -5 in the file"),
        (_with("maxValues", "id", 8), "maxValues of id is 8 in the log, 9 in the file"),
        (_with("minValues", "name", "b"), "minValues of name is b in the log, ana in the file"),
        (_with("maxValues", "day", "2026-02-02"), "maxValues of day is 2026-02-02 in the log, 2026-03-01 in the file"),
        (_with("minValues", "price", 1.5), "minValues of price is 1.5 in the log, 1.25 in the file"),
        (_with("maxValues", "amount", 12.49), "maxValues of amount is 12.49 in the log, 12.50 in the file"),
    ],
)
def test_statistics_by_which_a_query_would_miss_rows_are_wrong(
    tmp_path: Path, stats: dict[str, Any], said: str
) -> None:
    finding = _found(_table(tmp_path / "t", stats), "wrong-statistics")
    assert (finding.severity, finding.files) == ("error", 1)
    assert finding.evidence[0].text == f"a.parquet: {said}"
    assert finding.remedy is not None
    assert finding.remedy.intent == RecomputeStatistics()


@pytest.mark.parametrize(
    "stats",
    [
        _with("minValues", "id", -50),
        _with("maxValues", "name", "zoe"),
        _with("nullCount", "id", 2),
        {"numRecords": 4},
    ],
)
def test_bounds_around_the_rows_cost_time_and_no_row(tmp_path: Path, stats: dict[str, Any]) -> None:
    assert "wrong-statistics" in {rule.id for rule in _audit(_table(tmp_path / "t", stats)).silent}


def test_bounds_of_the_visible_rows_of_a_masked_file_are_right(tmp_path: Path) -> None:
    narrow = {**_with("minValues", "id", 3), "numRecords": 4}
    assert "wrong-statistics" in {rule.id for rule in _audit(_table(tmp_path / "t", narrow, masked=[1])).silent}


def test_times_are_compared_as_exactly_as_the_log_writes_them(tmp_path: Path) -> None:
    at = datetime(2026, 1, 1, 0, 0, 0, 123_456, UTC)
    for name, greatest, wrong in (
        ("cut", "2026-01-01T00:00:00.123Z", False),
        ("less", "2026-01-01T00:00:00.122Z", True),
    ):
        root = tmp_path / name
        root.mkdir()
        pq.write_table(pa.table({"at": pa.array([at], pa.timestamp("us", "UTC"))}), root / "a.parquet")
        bounds = {"at": ("2026-01-01T00:00:00.000Z", greatest)}
        write_log(root, [[PROTOCOL, metadata({"at": "timestamp"}), add("a.parquet", 1, bounds=bounds)]])
        table = _audit(explorer.open_table(root)).findings
        assert ("wrong-statistics" in {each.rule for each in table}) is wrong


def test_a_footer_that_cannot_be_read_leaves_the_question_open(tmp_path: Path) -> None:
    table = _table(tmp_path / "t", TRUE)
    (tmp_path / "t" / "a.parquet").write_bytes(b"PAR1 nothing PAR1")
    (open_,) = (each for each in _audit(table).not_answered if each.rule.id == "wrong-statistics")
    assert "a.parquet cannot be read" in open_.not_answered
    (tmp_path / "t" / "a.parquet").unlink()
    (open_,) = (each for each in _audit(table).not_answered if each.rule.id == "wrong-statistics")
    assert "it is not there" in open_.not_answered


@pytest.mark.whole("test_true_statistics_are_no_finding")
@pytest.mark.golden
@pytest.mark.reference
def test_no_table_of_other_writers_is_said_to_have_wrong_statistics() -> None:
    folders = [*(golden_root() / "tables").iterdir(), *(reference_root() / "tables").iterdir()]
    result, read = {}, 0
    for folder in sorted(folders):
        try:
            audited = explorer.open_table(folder).audit(NOW, check_footers=True)
        except ExplorerError:
            continue
        read += "wrong-statistics" in {rule.id for rule in audited.silent}
        wrong = [each for each in audited.findings if each.rule == "wrong-statistics"]
        if wrong:
            result[folder.name] = [piece.text for piece in wrong[0].evidence]
    # The writer cut the greatest value of a float; since its column is a double, the file holds more than the log says.
    text = "maxValues of float_double is 3.4 in the log, 3.4000000953674316 in the file"
    assert {name: [each.partition(": ")[2] for each in texts[:1]] for name, texts in result.items()} == {
        "delta__type-widening": [text],
        "kernelrs__type-widening": [text],
    }
    assert read > 100
