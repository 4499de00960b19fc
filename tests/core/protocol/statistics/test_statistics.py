"""Statistics -> typed bounds: every type and form, and whatever is wrong with them is unknown, never an error."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.log.log_path import checkpoint_name
from explorer.core.protocol.actions import Add, Metadata
from explorer.core.protocol.schema.data_types import PrimitiveType, parse_type
from explorer.core.protocol.statistics.collect import loosened
from explorer.core.protocol.statistics.json_statistics import StatisticsLeaf, parse_texts
from tests.support.logs.small_logs import PROTOCOL, lines, new_store, table

Field = tuple[str, Any]


def schema_text(fields: Sequence[Field], physical: dict[str, str] | None = None) -> str:
    """A schemaString of (name, type) pairs."""
    return json.dumps({"type": "struct", "fields": [_field(name, kind, physical or {}) for name, kind in fields]})


def _field(name: str, kind: Any, physical: dict[str, str]) -> dict[str, Any]:
    metadata = {}
    if name in physical:
        ids = {"delta.columnMapping.id": list(physical).index(name) + 1}
        metadata = {"delta.columnMapping.physicalName": physical[name], **ids}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def snapshot(
    fields: Sequence[Field],
    stats: Sequence[str | None],
    *,
    partition_values: Sequence[dict[str, str | None]] = (),
    partition_columns: tuple[str, ...] = (),
    **more: Any,
) -> explorer.Snapshot:
    """A table with a file per text of statistics."""
    metadata = Metadata(id="x", schema_string=schema_text(fields), partition_columns=partition_columns, **more)
    values = [*partition_values, *({} for _ in stats)]
    adds = [
        Add(path=f"f{row}", size=1, modification_time=1, stats=text, partition_values=values[row])
        for row, text in enumerate(stats)
    ]
    return table({0: [PROTOCOL, metadata, *adds]}).snapshot()


def bounds(kind: Any, low: str, high: str, **more: str) -> tuple[Any, Any]:
    """The bounds of one file whose statistics hold these JSON texts."""
    stats = f'{{"numRecords":2,"minValues":{{"c":{low}}},"maxValues":{{"c":{high}}},"nullCount":{{"c":0}}}}'
    ranges = snapshot([("c", kind)], [stats]).column_ranges("c")
    return ranges.column("min")[0].as_py(), ranges.column("max")[0].as_py()


LONG_DECIMAL = "12345678901234567890123456789012345.678"


@pytest.mark.conformance("STATS-004", "SCHEMA-002", "SCHEMA-003", "SCHEMA-017")
@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [
        ("byte", "-128", "127", (-128, 127)),
        ("short", "-32768", "32767", (-32768, 32767)),
        ("integer", "-2147483648", "2147483647", (-(2**31), 2**31 - 1)),
        ("long", "-9223372036854775808", "9223372036854775807", (-(2**63), 2**63 - 1)),
        ("double", "-0.1", "1e300", (-0.1, 1e300)),
        ("float", "0.5", "2", (0.5, 2.0)),
        ("decimal(38,3)", f"-{LONG_DECIMAL}", LONG_DECIMAL, (Decimal("-" + LONG_DECIMAL), Decimal(LONG_DECIMAL))),
        ("decimal(5,2)", '"1.5"', "1E+2", (Decimal("1.50"), Decimal("100.00"))),
        ("string", '"a\\u0000"', '"ä\U0010ffff"', ("a\0", "ä\U0010ffff")),
        ("boolean", "false", "true", (False, True)),
        ("date", '"0001-01-01"', '"9999-12-31"', (date(1, 1, 1), date(9999, 12, 31))),
        (
            "timestamp",
            '"0001-01-01T00:00:00.000Z"',
            '"9999-12-31T23:59:59.999Z"',
            (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)),
        ),
        (
            "timestamp",
            '"1969-12-31T16:00:00.000-08:00"',
            '"1969-12-31T23:59:59.123456789Z"',
            (datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 123456, tzinfo=UTC)),
        ),
        (
            "timestamp_ntz",
            '"1969-12-31T23:59:59.999"',
            '"2020-01-01 00:00:00"',
            (datetime.fromisoformat("1969-12-31T23:59:59.999"), datetime.fromisoformat("2020-01-01")),
        ),
    ],
)
def test_bounds_of_every_type_are_exact(kind: str, low: str, high: str, expected: tuple[Any, Any]) -> None:
    assert bounds(kind, low, high) == expected


@pytest.mark.conformance("STATS-002", "STATS-016")
@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [
        ("double", '"NaN"', '"Infinity"', (None, float("inf"))),
        ("double", "NaN", "NaN", (None, None)),
        ("double", "-0.0", "1e999", (0.0, None)),
        ("double", '"x"', "true", (None, None)),
        ("byte", "128", "-129", (None, None)),
        ("integer", "1.0", "1.5", (1, None)),
        ("long", '"1"', "9223372036854775808", (None, None)),
        ("date", '"2020-02-30"', '"2020-03-01T00:00:00Z"', (None, date(2020, 3, 1))),
        ("date", '"2020-W01-1"', '"20200101"', (None, None)),
        ("timestamp", "5", '"nonsense"', (None, None)),
        ("timestamp", '"2020-W01-1T00:00:00Z"', '"20200101T000000Z"', (None, None)),
        ("timestamp_ntz", '"2020-W01-1T00:00:00"', '"20200101T000000"', (None, None)),
        ("double", '"1_0"', '"\u0661"', (None, None)),
        ("decimal(5,2)", '"1_0"', '"\u0661"', (None, None)),
        ("string", "1", '"\\ud800"', (None, None)),
        ("decimal(5,2)", "1.005", "1.005", (Decimal("1.00"), Decimal("1.01"))),
        ("decimal(5,2)", "1234.5", "999.999", (None, None)),
        ("decimal(5,2)", "-1234.5", "-999.999", (None, Decimal("-999.99"))),
        ("binary", '"a"', '"b"', (None, None)),
        ("variant", '"x"', '"y"', (None, None)),
    ],
)
def test_a_bound_that_is_none_of_its_type_is_unknown(kind: str, low: str, high: str, expected: tuple[Any, Any]) -> None:
    assert bounds(kind, low, high) == expected


GOOD = '{"numRecords":3,"minValues":{"c":1},"maxValues":{"c":2},"nullCount":{"c":1}}'


@pytest.mark.conformance("STATS-002")
@pytest.mark.parametrize(
    "bad",
    [
        "",
        " ",
        "{",
        "[]",
        "null",
        "{}{}",
        '{"minValues":{"c":1},"minValues":{"c":5}}',
        '{"a":1} x',
        '{"numRecords":1,"minValues":{"c":1}',
        ',"x":1}',
        '{"a":' + "[" * 100_000,
        '"text"',
        '{"minValues":{"c":' + "9" * 5000 + "}}",
    ],
)
@pytest.mark.parametrize("copies", [1, 40])
def test_malformed_statistics_cost_only_their_own_file_and_are_reported(bad: str, copies: int) -> None:
    found = snapshot([("c", "long")], [GOOD, bad, None, GOOD] * copies)
    ranges = found.column_ranges("c").to_pylist()
    good = {"min": 1, "max": 2, "null_count": 1, "num_records": 3, "tight": True}
    nothing = dict.fromkeys(good)
    assert [{name: row[name] for name in good} for row in ranges] == [good, nothing, nothing, good] * copies
    assert {problem.path for problem in found.statistics_problems()} == {f"f{4 * i + 1}" for i in range(copies)}


@pytest.mark.conformance("STATS-002")
def test_texts_that_together_have_as_many_objects_are_not_taken_for_each_other() -> None:
    split, other = '{"minValues":{"c":7}}{}', '{"minValues":{"c":8}'
    found = snapshot([("c", "long")], [GOOD, split, other, "{}", '{"minValues":\n{"c":9}}', " " + GOOD + "\n"])
    assert found.column_ranges("c").column("min").to_pylist() == [1, None, None, None, 9, 1]


@pytest.mark.conformance("STATS-005", "STATS-006")
def test_tight_is_true_where_absent_and_unknown_without_statistics() -> None:
    texts = ['{"tightBounds":false}', '{"tightBounds":true}', "{}", None, '{"tightBounds":"false"}']
    assert snapshot([("c", "long")], texts).column_ranges("c").column("tight").to_pylist() == [
        False,
        True,
        True,
        None,
        False,
    ]


def test_both_spellings_of_the_null_counter_are_read_for_every_type() -> None:
    fields = [("b", "boolean"), ("x", "binary"), ("s", {"type": "struct", "fields": [_field("a.b", "long", {})]})]
    texts = [f'{{"{name}":{{"b":1,"x":2,"s":{{"a.b":3}}}}}}' for name in ("nullCount", "nullCounts")]
    texts.append('{"nullCount":{"b":-1,"x":"2","s":4}}')
    found = snapshot(fields, texts)
    for column, count in (("b", 1), ("x", 2), ("s.`a.b`", 3)):
        assert found.column_ranges(column).column("null_count").to_pylist() == [count, count, None]


@pytest.mark.conformance("STATS-018")
def test_bounds_of_a_variant_are_left_alone_but_its_nulls_count() -> None:
    stats = '{"numRecords":3,"nullCount":{"v":2},"minValues":{"v":"0rJua1Qj@b"},"maxValues":{"v":{"a":1}}}'
    row = snapshot([("v", "variant")], [stats]).column_ranges("v").to_pylist()[0]
    assert (row["min"], row["max"], row["null_count"], row["tight"]) == (None, None, 2, True)


@pytest.mark.conformance("STATS-013", "CM-006")
@pytest.mark.parametrize("mode", ["name", "id"])
def test_statistics_go_by_physical_names_with_dots_in_them(mode: str) -> None:
    metadata = Metadata(
        id="x",
        schema_string=schema_text([("logical", "long"), ("a.b", "long")], {"logical": "a.b", "a.b": "logical"}),
        configuration={"delta.columnMapping.mode": mode},
    )
    mapped = explorer.core.protocol.actions.Protocol(min_reader_version=2, min_writer_version=5)
    stats = '{"minValues":{"a.b":1,"logical":2,"a":{"b":3}}}'
    found = table({0: [mapped, metadata, Add(path="f", size=1, modification_time=1, stats=stats)]}).snapshot()
    assert found.column_ranges("logical").column("min").to_pylist() == [1]
    assert found.column_ranges("`a.b`").column("min").to_pylist() == [2]


@pytest.mark.conformance("CM-006")
@pytest.mark.parametrize("mode", ["name", "id"])
def test_partition_values_go_by_physical_names(mode: str) -> None:
    metadata = Metadata(
        id="x",
        schema_string=schema_text([("day", "string"), ("id", "long")], {"day": "col-1", "id": "day"}),
        partition_columns=("day",),
        configuration={"delta.columnMapping.mode": mode},
    )
    mapped = explorer.core.protocol.actions.Protocol(min_reader_version=2, min_writer_version=5)
    values = ({"col-1": "mon", "day": "tue"}, {"col-1": "tue", "day": "mon"}, {"col-1": None})
    adds = [
        Add(path=f"f{place}", size=1, modification_time=1, partition_values=dict(each))
        for place, each in enumerate(values)
    ]
    found = table({0: [mapped, metadata, *adds]}).snapshot()
    for where, kept in (
        ("day = 'mon'", [True, False, False]),
        ("day = 'tue'", [False, True, False]),
        ("day IS NULL", [False, False, True]),
    ):
        assert found.skipping(where).files.sort_by("path").column("kept").to_pylist() == kept


@pytest.mark.conformance("STATS-014", "PART-001", "PART-003", "PART-005", "PART-006", "PART-007", "PART-010")
@pytest.mark.parametrize(
    ("kind", "texts", "expected"),
    [
        ("string", ["a", "", None, "__HIVE_DEFAULT_PARTITION__"], ["a", None, None, "__HIVE_DEFAULT_PARTITION__"]),
        ("integer", ["7", "-7", "", None], [7, -7, None, None]),
        ("boolean", ["true", "false", "", None], [True, False, None, None]),
        ("date", ["0001-01-01", "1969-12-31", "", None], [date(1, 1, 1), date(1969, 12, 31), None, None]),
        ("decimal(38,2)", ["123456789012345678901234567890123456.78", "-0.01", "", None], None),
        (
            "timestamp",
            ["1970-01-01 00:00:00", "1970-01-01 00:00:00.123456", "1970-01-01T00:00:00.123456Z", None],
            [
                datetime(1970, 1, 1, tzinfo=UTC),
                datetime(1970, 1, 1, 0, 0, 0, 123456, tzinfo=UTC),
                datetime(1970, 1, 1, 0, 0, 0, 123456, tzinfo=UTC),
                None,
            ],
        ),
        ("binary", ["\u0001\u0002\u0003", "\u00ff", "", None], [b"\1\2\3", b"\xff", None, None]),
        ("double", ["1.5", "-0.0", "", None], [1.5, 0.0, None, None]),
    ],
)
def test_bounds_of_a_partition_column_are_its_value(kind: str, texts: list[str | None], expected: Any) -> None:
    if expected is None:
        expected = [None if not text else Decimal(text) for text in texts]
    stats = '{"numRecords":4,"minValues":{"p":5},"maxValues":{"p":6}}'
    found = snapshot(
        [("c", "long"), ("p", kind)],
        [stats] * 4,
        partition_values=[{"other": "1", "p": text} for text in texts],
        partition_columns=("p",),
    )
    ranges = found.column_ranges("p")
    assert ranges.column("min").to_pylist() == ranges.column("max").to_pylist() == expected
    assert ranges.column("null_count").to_pylist() == [4 if value is None else 0 for value in expected]


@pytest.mark.conformance("PART-011")
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "x"),
        ("integer", "1_0"),
        ("long", "\u0661"),
        ("byte", "128"),
        ("double", "1_0.5"),
        ("float", "x"),
        ("decimal(5,2)", "1_0"),
        ("decimal(5,2)", "NaN"),
        ("decimal(5,2)", "1000"),
        ("decimal(5,2)", "1.005"),
        ("date", "2020-13-01"),
        ("date", "2020-W01-1"),
        ("date", "20200101"),
        ("timestamp", "noon"),
        ("timestamp", "2020-01-01 24:00:00"),
        ("timestamp", "2020-01-01 00:00:00+18:01"),
        ("timestamp", "2020-01-01 00:00:00+01:60"),
        ("timestamp_ntz", "10000-01-01 00:00:00"),
        ("boolean", "1"),
    ],
)
def test_a_partition_value_that_is_none_of_its_type_is_an_error(kind: str, text: str) -> None:
    values: list[dict[str, str | None]] = [{"p": None}, {"p": ""}, {"p": text}]
    found = snapshot([("c", "long"), ("p", kind)], ["{}"] * 3, partition_values=values, partition_columns=("p",))
    with pytest.raises(explorer.core.errors.CorruptTable, match="'p'") as caught:
        found.column_ranges("p")
    assert (caught.value.path, caught.value.column, caught.value.found) == ("f2", "p", text)


def test_the_long_table_holds_every_column_of_every_file() -> None:
    found = snapshot([("a", "long"), ("b", "string")], ['{"minValues":{"a":1,"b":"x"}}', None])
    whole = found.statistics()
    assert whole.column("column").to_pylist() == ["a", "a", "b", "b"]
    assert whole.column("path").to_pylist() == ["f0", "f1"] * 2
    assert whole.column("min").to_pylist() == [1, None, "x", None]
    assert found.statistics(["b"]).column("min").type == pa.string()
    assert snapshot([("a", "long")], []).statistics().num_rows == 0
    covered = found.statistics_coverage().to_pylist()
    assert [(row["column"], row["files"], row["files_total"], row["tight"]) for row in covered] == [
        ("a", 1, 2, 1),
        ("b", 1, 2, 1),
    ]


STRUCT = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("tightBounds", pa.bool_()),
        ("minValues", pa.struct([("i", pa.int32()), ("t", pa.timestamp("us", "UTC")), ("s.t", pa.string())])),
        ("maxValues", pa.struct([("i", pa.int32()), ("t", pa.timestamp("us", "UTC")), ("s.t", pa.string())])),
        ("nullCount", pa.struct([("i", pa.int64()), ("t", pa.int64()), ("s.t", pa.int64())])),
    ]
)


@pytest.mark.conformance("CKPT-019")
def test_statistics_in_struct_form_are_read_and_texts_where_the_struct_is_null() -> None:
    moment = datetime(1600, 1, 1, tzinfo=UTC)
    values = {"i": 3, "t": moment, "s.t": "z"}
    parsed = {"numRecords": 9, "tightBounds": False, "minValues": values, "maxValues": values, "nullCount": {"i": 1}}
    adds = [
        {"path": "struct", "size": 1, "modificationTime": 1, "stats_parsed": parsed},
        {"path": "text", "size": 1, "modificationTime": 1, "stats": '{"numRecords":5,"minValues":{"i":7}}'},
        {"path": "none", "size": 1, "modificationTime": 1},
    ]
    kind = pa.struct(
        [
            ("path", pa.string()),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("stats", pa.string()),
            ("stats_parsed", STRUCT),
        ]
    )
    fields: list[Field] = [("i", "long"), ("t", "timestamp"), ("s.t", "string")]
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    metadata = {"id": "x", "schemaString": schema_text(fields)}
    columns = {
        "add": pa.array([None, None, *adds], kind),
        "protocol": pa.array([protocol, *[None] * 4]),
        "metaData": pa.array([None, metadata, *[None] * 3]),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    store = new_store()
    store.put_if_absent(checkpoint_name(4), sink.getvalue())
    store.put_if_absent("_delta_log/00000000000000000005.json", lines([Add(path="new", size=1, modification_time=1)]))
    found = explorer.Table(store).snapshot()
    ranges = found.column_ranges("i").to_pylist()
    names = ("path", "min", "max", "null_count", "num_records", "tight")
    assert [tuple(row[name] for name in names) for row in ranges] == [
        ("struct", 3, 3, 1, 9, False),
        ("text", 7, None, None, 5, True),
        ("none", None, None, None, None, None),
        ("new", None, None, None, None, None),
    ]
    assert found.column_ranges("t").column("min").to_pylist()[0] == moment
    assert found.column_ranges("`s.t`").column("max").to_pylist()[0] == "z"


@pytest.mark.conformance("STATS-009", "STATS-010")
def test_statistics_of_a_file_that_masks_rows_count_all_rows_and_are_wide() -> None:
    told = '{"numRecords":3,"minValues":{"a":1},"maxValues":{"a":9},"nullCount":{"a":0},"tightBounds":true,"mine":1.50}'
    found = json.loads(loosened(told, 5))
    assert found == {
        "numRecords": 5, "minValues": {"a": 1}, "maxValues": {"a": 9}, "nullCount": {"a": 0}, "tightBounds": False,
        "mine": 1.5,
    }  # fmt: skip
    assert json.loads(loosened(None, 5)) == {"numRecords": 5, "tightBounds": False}


@pytest.mark.conformance("STATS-005", "STATS-010")
def test_bounds_keep_all_their_digits_where_a_vector_hides_rows() -> None:
    """A least value that is rounded up lies above a row, and readers would leave out its file."""
    low, high = "1234567890123456789.990", LONG_DECIMAL
    told = f'{{"numRecords":2,"minValues":{{"c":{low}}},"maxValues":{{"c":{high}}},"nullCount":{{"c":0}}}}'
    loose = loosened(told, 2)
    written = json.loads(loose, parse_float=Decimal)
    assert (written["minValues"], written["maxValues"]) == ({"c": Decimal(low)}, {"c": Decimal(high)})
    (row,) = snapshot([("c", "decimal(38,3)")], [loose]).column_ranges("c").to_pylist()
    assert (row["min"], row["max"], row["tight"]) == (Decimal(low), Decimal(high), False)


@pytest.mark.conformance("STATS-002", "STATS-009")
@pytest.mark.parametrize(
    ("stats", "kept"),
    [
        ("", {}),
        ("{", {}),
        ("[]", {}),
        ("null", {}),
        ('{"minValues":{"c":1},"minValues":{"c":5}}', {}),
        ('{"maxValues":{"c":"\\ud83d"}}', {}),
        ('{"deep":' + "[" * 100_000 + "]" * 100_000 + "}", {}),
        ('{"numRecords":-1,"maxValues":{"c":NaN}}', {"maxValues": {"c": None}}),
    ],
)
def test_statistics_that_cannot_be_used_say_nothing_where_a_vector_hides_rows(stats: str, kept: dict[str, Any]) -> None:
    assert json.loads(loosened(stats, 5)) == {"numRecords": 5, "tightBounds": False} | kept


def test_a_bound_that_is_no_value_of_its_type_is_told_with_its_file_and_column() -> None:
    long = "x" * 150
    texts = [
        {"numRecords": 1, "minValues": {"s": {"d": "2024-02-30"}}, "maxValues": {"s": {"d": "2024-02-29"}}},
        {"numRecords": 1, "minValues": {"s": {"d": None}}, "maxValues": {"s": {}}},
        {"numRecords": 1, "minValues": {"s": {"d": "2024-01-01"}}, "maxValues": {"s": {"d": long}}},
    ]
    leaf = StatisticsLeaf(("s", "d"), PrimitiveType("date"))
    found = parse_texts(pa.array([json.dumps(text) for text in texts]), [leaf])
    assert found.problems == (
        (0, "'2024-02-30' is not a valid date, the type of s.d"),
        (2, f"{long[:100]!r} is not a valid date, the type of s.d"),
    )
    bounds = found.bounds[leaf]
    assert bounds.low.to_pylist() == [None, None, date(2024, 1, 1)]
    assert bounds.high.to_pylist() == [date(2024, 2, 29), None, None]


@pytest.mark.parametrize("odd", ["1.005", 1.005, "abc"])
def test_a_number_that_is_cut_to_its_type_still_bounds(odd: object) -> None:
    kind = parse_type("decimal(5,2)")
    assert isinstance(kind, PrimitiveType)
    leaf = StatisticsLeaf(("d",), kind)
    texts = [{"numRecords": 1, "minValues": {"d": value}, "maxValues": {"d": value}} for value in ("1.50", odd, 1.005)]
    found = parse_texts(pa.array([json.dumps(text) for text in texts]), [leaf]).bounds[leaf]
    low, high = (None, None) if odd == "abc" else (Decimal("1.00"), Decimal("1.01"))
    assert found.low.to_pylist() == [Decimal("1.50"), low, Decimal("1.00")]
    assert found.high.to_pylist() == [Decimal("1.50"), high, Decimal("1.01")]
