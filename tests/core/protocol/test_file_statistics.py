"""Statistics of a table's files by column: ranges, coverage, problems, one long table, and the counts of their rows."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from explorer.core.errors import CorruptTable, LimitExceeded
from explorer.core.protocol import limits
from explorer.core.protocol.arrow.arrays import Int64s
from explorer.core.protocol.arrow.text_spans import TextSpans
from explorer.core.protocol.logical_files import LineSource, LogicalFiles
from explorer.core.protocol.partition_values import ZoneWarning
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.record_counts import (
    _leading_counts,
    count_of_line,
    count_of_text,
    counts_of_column,
    counts_of_lines,
)
from explorer.core.protocol.schema.data_types import ArrayType, PrimitiveType, StructField, StructType
from explorer.core.protocol.statistics.file_statistics import (
    FileStatistics,
    StatisticsColumn,
    StatisticsProblem,
    column_ranges,
    coverage,
    statistics_columns,
    statistics_table,
)

LONG, TEXT, DATE, TIME = (PrimitiveType(name) for name in ("long", "string", "date", "timestamp"))
ID = StatisticsColumn(("id",), ("col-1",), LONG, False)
NAME = StatisticsColumn(("s", "na.me"), ("s", "n"), TEXT, False)
DAY = StatisticsColumn(("day",), ("d",), DATE, True)
AT = StatisticsColumn(("at",), ("at",), TIME, True)
PLAIN = StatisticsColumn(("n",), ("n",), LONG, False)


def line(path: str, stats: dict[str, Any] | None = None, **values: str | None) -> AddLine:
    told = {} if stats is None else {"stats": json.dumps(stats)}
    return msgspec.json.decode(json.dumps({"path": path, "partitionValues": values, **told}), type=AddLine)


def stats(low: int, high: int, nulls: int = 0, name: str = "x", **more: Any) -> dict[str, Any]:
    least, greatest = ({"col-1": value, "s": {"n": name}} for value in (low, high))
    return {"numRecords": 4, "minValues": least, "maxValues": greatest, "nullCount": {"col-1": nulls}, **more}


LINES = [
    line("a%20b", stats(1, 5, 2), d="2024-02-29", at="2020-01-01 00:00:00"),
    line("c", None, d=None, at="2020-01-01 00:00:00Z"),
    line("d", stats(7, 7, tightBounds=False), d=""),
    line("e", {"numRecords": 4, "nullCount": {"col-1": 4}}, d="1970-01-01", at="2020-06-01 12:00:00"),
]
ALL = [ID, NAME, DAY, AT, PLAIN]


def statistics(zone: tzinfo = UTC) -> FileStatistics:
    """Of four files of two sources."""
    return FileStatistics(LogicalFiles([LineSource(LINES[:1]), LineSource(LINES[1:])]), ALL, zone)


def test_the_columns_of_a_schema_that_may_have_statistics_are_its_simple_leaves() -> None:
    inner = StructType((StructField("na.me", TEXT), StructField("list", ArrayType(LONG)), StructField("day", DATE)))
    schema = StructType(
        (StructField("id", LONG), StructField("s", inner), StructField("day", DATE), StructField("l", ArrayType(inner)))
    )
    physical = {("id",): ("col-1",), ("s", "na.me"): ("s", "n"), ("s", "day"): ("s", "d2"), ("day",): ("d",)}
    found = statistics_columns(schema, physical, ["day"])
    assert found == (ID, NAME, StatisticsColumn(("s", "day"), ("s", "d2"), DATE, False), DAY)
    assert [column.name for column in found] == ["id", "s.`na.me`", "s.day", "day"]


RANGES: dict[StatisticsColumn, list[tuple[Any, ...]]] = {
    ID: [(1, 5, 2), (None, None, None), (7, 7, 0), (None, None, 4)],
    NAME: [("x", "x", None), (None, None, None), ("x", "x", None), (None, None, None)],
    DAY: [(date(2024, 2, 29),) * 2 + (0,), (None,) * 3, (None, None, 4), (date(1970, 1, 1),) * 2 + (0,)],
    PLAIN: [(None,) * 3] * 4,
}
COUNTED = [("null_count", pa.int64()), ("num_records", pa.int64()), ("tight", pa.bool_())]
PATHS = ["a b", "c", "d", "e"]
TIGHT = [True, None, False, True]


def ranges(column: StatisticsColumn) -> list[dict[str, Any]]:
    rows = []
    for path, (low, high, nulls), tight in zip(PATHS, RANGES[column], TIGHT, strict=True):
        told = {"min": low, "max": high, "null_count": nulls, "num_records": None if path == "c" else 4}
        rows.append({"path": path, **told, "tight": True if column.partition else tight})
    return rows


@pytest.mark.parametrize("column", RANGES)
def test_the_ranges_of_a_column_are_a_row_for_each_file(column: StatisticsColumn) -> None:
    found = column_ranges(statistics(), column)
    assert found.to_pylist() == ranges(column)
    kind = {LONG: pa.int64(), TEXT: pa.string(), DATE: pa.date32()}[column.type]
    assert found.schema == pa.schema([("path", pa.string()), ("min", kind), ("max", kind), *COUNTED])


def test_statistics_are_the_same_in_whatever_order_they_are_asked_for() -> None:
    found = statistics()
    assert found.num_files == 4
    assert found.tight().to_pylist() == TIGHT
    assert found.tight(DAY).to_pylist() == [True] * 4
    assert found.tight(ID).to_pylist() == TIGHT
    assert found.num_records.to_pylist() == [4, None, 4, 4]
    assert found.num_masked.to_pylist() == [None] * 4
    assert found.bounds(ID).low.to_pylist() == [1, None, 7, None]
    first = found.bounds(ID)
    found.load([ID, DAY, NAME, ID])
    assert found.bounds(ID) is first
    assert found.bounds(DAY) is found.bounds(DAY)
    assert found.num_records is found.num_records
    assert column_ranges(found, NAME).to_pylist() == ranges(NAME)


def test_coverage_counts_files_with_bounds_or_with_nothing_but_nulls() -> None:
    assert coverage(statistics(), ALL).to_pylist() == [
        {"column": name, "type": kind, "files": files, "files_total": 4, "tight": tight}
        for name, kind, files, tight in (
            ("id", "long", 3, 2),
            ("s.`na.me`", "string", 2, 1),
            ("day", "date", 3, 3),
            ("at", "timestamp", 4, 4),
            ("n", "long", 0, 0),
        )
    ]


def test_the_long_table_has_one_type_or_a_union_of_types() -> None:
    whole = statistics_table(statistics(), [ID, PLAIN])
    assert (whole.column("min").type, whole.column("max").type) == (pa.int64(), pa.int64())
    expected = [{"column": column.name, **row} for column in (ID, PLAIN) for row in ranges(column)]
    assert whole.to_pylist() == expected
    assert whole.schema.names == ["path", "column", "min", "max", "null_count", "num_records", "tight"]
    mixed = statistics_table(statistics(), [ID, DAY, PLAIN, NAME])
    mixed.validate(full=True)
    assert mixed.column("column").to_pylist()[12:] == ["s.`na.me`"] * 4
    assert mixed.to_pylist() == [
        {"column": column.name, **row} for column in (ID, DAY, PLAIN, NAME) for row in ranges(column)
    ]
    for side in ("min", "max"):
        kind = mixed.column(side).type
        assert [(each.name, each.type) for each in kind] == [
            ("int64", pa.int64()),
            ("date32[day]", pa.date32()),
            ("string", pa.string()),
        ]
        assert (kind.mode, kind.type_codes) == ("dense", [0, 1, 2])
        assert mixed.column(side).num_chunks == 4


def test_a_table_without_files_or_columns_has_an_empty_long_table() -> None:
    for found, columns in ((FileStatistics(LogicalFiles([]), ALL), ALL), (statistics(), [])):
        empty = statistics_table(found, columns)
        assert empty.num_rows == 0
        bounds = [("min", pa.null()), ("max", pa.null())]
        assert empty.schema == pa.schema([("path", pa.string()), ("column", pa.string()), *bounds, *COUNTED])


def test_the_name_of_a_column_may_have_no_room_beside_every_file(monkeypatch: pytest.MonkeyPatch) -> None:
    column = StatisticsColumn(("n" * 10,), ("n",), LONG, False)
    found = FileStatistics(LogicalFiles([LineSource([line("p")] * 1_200)]), [column])
    assert statistics_table(found, [column]).column("column").to_pylist() == ["n" * 10] * 1_200
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", 12_000)
    assert statistics_table(found, [column]).num_rows == 1_200
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", 11_999)
    with pytest.raises(LimitExceeded, match=r"^1,200 times the name of a column together have 12,000 bytes; "):
        statistics_table(found, [column])


def test_what_could_not_be_used_is_told_by_file_in_the_order_of_the_files() -> None:
    files = [
        line("ok", stats(1, 2)),
        line("z%20", {"minValues": {"col-1": "x"}}),
        line("a", {"maxValues": {"col-1": 1.5}}),
    ]
    found = FileStatistics(LogicalFiles([LineSource(files[:2]), LineSource([]), LineSource([files[0], files[2]])]), ALL)
    found.bounds(ID)
    expected = (
        StatisticsProblem("z ", "'x' is not a valid long, the type of col-1"),
        StatisticsProblem("a", "'1.5' is not a valid long, the type of col-1"),
    )
    assert found.problems() == expected
    assert found.problems() == expected
    assert statistics().problems() == ()


def test_a_partition_value_of_another_type_names_its_file() -> None:
    files = [line("a", d="2024-01-01"), line("b"), line("c%20", d="noon"), line("d", d="noon")]
    found = FileStatistics(LogicalFiles([LineSource(files[:2]), LineSource(files[2:])]), [DAY])
    with pytest.raises(CorruptTable) as refused:
        found.bounds(DAY)
    error = refused.value
    assert (error.path, error.column, error.found, error.expected) == ("c ", "day", "noon", "date")
    assert str(error).startswith("The partition value 'noon' of column 'day' is not of type date.")


def test_times_without_a_zone_are_read_in_the_one_given_and_told() -> None:
    east = timezone(timedelta(hours=2))
    assert statistics().zone_doubts() == (ZoneWarning("at", "UTC", 2, "2020-01-01 00:00:00"),)
    found = statistics(east)
    assert found.zone_doubts() == (ZoneWarning("at", "UTC+02:00", 2, "2020-01-01 00:00:00"),)
    assert found.bounds(AT).low.to_pylist() == [
        datetime(2019, 12, 31, 22, tzinfo=UTC),
        datetime(2020, 1, 1, tzinfo=UTC),
        None,
        datetime(2020, 6, 1, 10, tzinfo=UTC),
    ]
    plain = StatisticsColumn(("at",), ("at",), TIME, False)
    assert FileStatistics(LogicalFiles([LineSource(LINES)]), [plain, DAY]).zone_doubts() == ()
    zoned = [line("a", at="2020-01-01 00:00:00Z")]
    assert FileStatistics(LogicalFiles([LineSource(zoned)]), [AT]).zone_doubts() == ()


# --- counts of rows ---------------------------------------------------------------------------------------------------

COUNTS: list[tuple[str, int | None]] = [
    ('{"numRecords":0}', 0),
    ('{"numRecords":7,"minValues":{}}', 7),
    ('{"numRecords":10}', 10),
    ('{"numRecords":999999999999999999}', 10**18 - 1),
    ('{"numRecords":1000000000000000000}', 10**18),
    ('{"numRecords":9223372036854775807}', 2**63 - 1),
    ('{"numRecords":9223372036854775808}', None),
    ('{"numRecords":-1}', None),
    ('{"numRecords":12 }', 12),
    (' {"numRecords":12}', 12),
    ('{"minValues":{"numRecords":3},"numRecords":4}', 4),
    ('{"numRecords":}', None),
    ('{"numRecords":,"a":1}', None),
    ('{"numRecords":"5"}', None),
    ('{"numRecords":1.5}', None),
    ('{"numRecords":null}', None),
    ('{"numRecords":5', None),
    ('{"numRecords":5]', None),
    ('{"numRecords":12x}', None),
    ('{"numrecords":5}', None),
    ("{}", None),
    ("[]", None),
    ("", None),
    ("}", None),
    ('{"a":' + "[" * 100_000, None),
]
"""Each text with its count; what follows an open text must not close it."""


@pytest.mark.parametrize(("text", "count"), COUNTS)
def test_the_count_of_rows_is_taken_out_of_statistics(text: str, count: int | None) -> None:
    quoted = json.dumps(text).encode()
    assert count_of_text(text) == count
    assert count_of_line(msgspec.Raw(quoted)) == count
    for raw in (quoted, quoted + b" " * 40):
        values, known = counts_of_lines(TextSpans.of_bytes([msgspec.Raw(raw)]))
        assert (values.tolist(), known.tolist()) == ([count or 0], [count is not None])
    for texts in ([text], [text, " " * 40], [None, text, None]):
        expected = [count if each == text else None for each in texts]
        assert counts_of_column(pa.array(texts)).equals(pa.array(expected, pa.int64()))


@pytest.mark.parametrize(
    ("raw", "count"), [(b"", None), (b"null", None), (b"5", None), (b'"{', None), (b'"\xff"', None), (b'"{}"', None)]
)
def test_what_is_no_text_of_statistics_has_no_count(raw: bytes, count: int | None) -> None:
    assert count_of_line(msgspec.Raw(raw)) is count
    values, known = counts_of_lines(TextSpans.of_bytes([msgspec.Raw(raw), msgspec.Raw(b'"{\\"numRecords\\":3}"')]))
    assert (values.tolist(), known.tolist()) == ([0, 3], [False, True])


def test_the_counts_of_many_files_are_those_of_each() -> None:
    texts: list[str | None] = [text for text, _ in COUNTS]
    expected = [count for _, count in COUNTS]
    values, known = counts_of_lines(TextSpans.of_bytes([msgspec.Raw(json.dumps(text).encode()) for text in texts]))
    assert [str(each.dtype) for each in (values, known)] == ["int64", "bool"]
    assert values.tolist() == [count or 0 for count in expected]
    assert known.tolist() == [count is not None for count in expected]
    texts[1] = texts[10] = expected[1] = expected[10] = None
    for start in (0, 2, 5):
        found = counts_of_column(pa.array(texts)[start:20])
        found.validate(full=True)
        assert found.equals(pa.array(expected[start:20], pa.int64()))
    whole = counts_of_column(pa.array(['{"numRecords":4,"x":"long enough to be read at once"}'] * 3))
    assert (whole.to_pylist(), whole.buffers()[0]) == ([4, 4, 4], None)


def test_no_statistics_have_no_counts() -> None:
    assert [each.tolist() for each in counts_of_lines(TextSpans.of_bytes([]))] == [[], []]
    assert counts_of_column(pa.array([], pa.string())).equals(pa.array([], pa.int64()))
    assert counts_of_column(pa.nulls(3, pa.string())).equals(pa.nulls(3, pa.int64()))
    assert count_of_text('{"numRecords":5,"a":"\ud800"}') is None


def spans(data: bytes, offsets: Int64s) -> TextSpans:
    return TextSpans(np.frombuffer(data, np.uint8), offsets[:-1], offsets[1:])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('{"numRecords":0}', 0),
        ('{"numRecords":19}', 19),
        ('{"numRecords":999999999999999999,', 10**18 - 1),
        ('{"numRecords":102938475610293847}', 102938475610293847),
        ('{"numRecords":1000000000000000000}', None),
        ('{"numRecords":5]', None),
        ('{"numRecords":}', None),
        ('{"numRecords":7', None),
        ('{"numRecordz":7}', None),
    ],
)
def test_counts_that_come_first_are_read_of_all_texts_at_once(text: str, count: int | None) -> None:
    """What follows an open text here would close it; the digits are told from those of the text before."""
    head = b'{"numRecords":'
    parts = [b'{"numRecords":8}', text.encode(), b"}", b'{"numRecords":4,', b" " * 40]
    offsets = np.cumsum([0, *map(len, parts)])
    values, found = _leading_counts(spans(b"".join(parts), offsets), head)
    assert values.tolist() == [8, count or 0, 0, 4, 0]
    assert found.tolist() == [True, count is not None, False, True, False]
    assert [each.tolist() for each in _leading_counts(spans(parts[0], offsets[:2]), head)] == [[8], [True]]
    assert [each.tolist() for each in _leading_counts(spans(b"", offsets[:1]), head)] == [[], []]


@pytest.mark.parametrize("room", [0, 1, 24, 25, 40])
@pytest.mark.parametrize(("text", "count"), [('{"numRecords":6}', 6), ('{"numRecords":5}x', 5), ('{"numRecords":', 0)])
def test_a_count_is_the_same_wherever_in_its_buffer_the_text_is(room: int, text: str, count: int) -> None:
    data = text.encode()
    values, found = _leading_counts(spans(data.ljust(len(data) + room), np.array([0, len(data)])), b'{"numRecords":')
    assert (values.tolist(), found.tolist()) == ([count], [count > 0])
