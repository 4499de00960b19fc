"""Files that enter a table: bytes under physical names, statistics that bound every value, actions that say it all."""

from __future__ import annotations

import json
import math
import struct
import uuid
import zlib
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any
from urllib.parse import unquote

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.deletion_vectors import decode_bitmap, encode_vectors, unframe, vector_file_name
from explorer.core.protocol.partition_values import format_partition_value, parse_partition_value
from explorer.core.protocol.schema.data_types import StructType, parse_schema, parse_type
from explorer.core.protocol.statistics.collect import collect_statistics, indexed_fields
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.new_files.parquet import (
    compression_codec,
    encode_rows,
    physical_rows,
    stored_fields,
)
from tests.support.small_proposals import circumstances


def _field(name: str, kind: Any, number: int, *, nullable: bool = True) -> dict[str, Any]:
    mapped = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return {"name": name, "type": kind, "nullable": nullable, "metadata": mapped}


NESTED = parse_schema(
    json.dumps(
        {
            "type": "struct",
            "fields": [
                _field("id", "long", 1),
                _field("s", {"type": "struct", "fields": [_field("a b", "integer", 3), _field("t", "string", 4)]}, 2),
                _field(
                    "l",
                    {
                        "type": "array",
                        "elementType": {"type": "struct", "fields": [_field("x", "double", 6)]},
                        "containsNull": True,
                    },
                    5,
                ),
                _field(
                    "m",
                    {"type": "map", "keyType": "string", "valueType": "date", "valueContainsNull": True},
                    7,
                ),
            ],
        }
    )
)
_SOME = st.none() | st.integers(-5, 5)
_NUMBERS = st.none() | st.floats(width=64, allow_nan=False)
_ROW = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(-(2**63), 2**63 - 1),
        "s": st.none() | st.fixed_dictionaries({"a b": _SOME, "t": st.none() | st.text(max_size=40)}),
        "l": st.none()
        | st.lists(
            st.none() | st.fixed_dictionaries({"x": st.none() | st.floats(width=64, allow_nan=False)}), max_size=3
        ),
        "m": st.none() | st.dictionaries(st.text(max_size=3), st.none() | st.dates(), max_size=3),
    }
)


@pytest.mark.conformance("CM-008", "SCHEMA-012", "SCHEMA-013")
@given(st.lists(_ROW, max_size=12), st.integers(0, 4))
def test_nested_rows_are_stored_under_physical_names_and_read_back(rows: list[dict[str, Any]], skipped: int) -> None:
    whole = pa.Table.from_pylist(rows, schema=arrow_schema(NESTED))
    table = whole.slice(min(skipped, whole.num_rows))
    fields = stored_fields(NESTED, ())
    data = encode_rows(physical_rows(table, fields, {}))
    found = pq.read_table(BytesIO(data))
    assert found.schema.names == ["col-1", "col-2", "col-5", "col-7"]
    assert [found.schema.field(i).metadata[b"PARQUET:field_id"] for i in range(4)] == [b"1", b"2", b"5", b"7"]
    assert _plain(found.to_pylist()) == _plain(table.to_pylist())
    assert found.schema.field("col-2").type.field(0).name == "col-3"
    assert [found.schema.field(name).type for name in ("col-1", "col-7")] == [
        pa.int64(),
        pa.map_(pa.string(), pa.date32()),
    ]
    assert [field.type for field in found.schema.field("col-2").type] == [pa.int32(), pa.string()]
    (item,) = found.schema.field("col-5").type.value_type
    assert (item.name, item.type) == ("col-6", pa.float64())
    nested = [*found.schema.field("col-2").type, item]
    assert [field.metadata[b"PARQUET:field_id"] for field in nested] == [b"3", b"4", b"6"]


def _plain(value: Any) -> Any:
    """Values without the names of struct members, whose order is the same."""
    match value:
        case dict():
            return [_plain(item) for item in value.values()]
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.text("a\U0010ffff😀", max_size=60)
_VALUES = {
    "long": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(width=64),
    "string": _TEXTS,
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(UTC)),
    "decimal(20,4)": st.decimals(-(10**12), 10**12, places=4),
    "boolean": st.booleans(),
    "binary": st.binary(max_size=5),
}


@pytest.mark.conformance("STATS-012", "STATS-015", "STATS-017")
@given(st.data(), st.sampled_from(list(_VALUES)))
def test_statistics_bound_every_value_and_count_the_nulls(data: st.DataObject, kind: str) -> None:
    values = data.draw(st.lists(st.none() | _VALUES[kind], max_size=8))
    schema = _schema([("c", kind)])
    table = pa.table({"c": pa.array(values, arrow_schema(schema).field(0).type)})
    stats = json.loads(collect_statistics(table, indexed_fields(schema.fields, {})), parse_float=Decimal)
    assert stats["numRecords"] == len(values)
    assert stats["nullCount"] == {"c": values.count(None)}
    present = [value for value in values if value is not None]
    if kind in ("boolean", "binary") or not present:
        assert stats["minValues"] == stats["maxValues"] == {}
        return
    if kind == "double" and not all(map(math.isfinite, present)):
        assert stats["minValues"] == {}
        return
    low, high = stats["minValues"].get("c"), stats["maxValues"].get("c")
    if low is None:
        assert kind == "timestamp"  # a bound rounded beyond the year 9999
        return
    low, high = _typed(low, kind), _typed(high, kind)
    assert all(_key(low) <= _key(value) <= _key(high) for value in present)


@pytest.mark.conformance("STATS-012")
@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        (["a" * 32], "a" * 32, "a" * 32),
        (["a" * 33], "a" * 32, "a" * 32 + "\U0010ffff"),
        (["b", "a" * 40], "a" * 32, "b"),
        (["😀" * 33], "😀" * 32, "😀" * 32 + "\U0010ffff"),
        # What is cut off must not sort above the character put in its place.
        (["a" * 32 + "\U0010ffff" * 2 + "b"], "a" * 32, "a" * 32 + "\U0010ffff" * 3),
        (["a" * 32 + "\U0010ffff"], "a" * 32, "a" * 32 + "\U0010ffff"),
        (["a" * 32 + "\U0010fffe"], "a" * 32, "a" * 32 + "\U0010ffff"),
    ],
)
def test_a_long_text_is_cut_between_characters_and_its_bound_stays_above(
    values: list[str], low: str, high: str
) -> None:
    schema = _schema([("c", "string")])
    stats = json.loads(collect_statistics(pa.table({"c": values}), indexed_fields(schema.fields, {})))
    assert (stats["minValues"], stats["maxValues"]) == ({"c": low}, {"c": high})
    assert all(low.encode() <= value.encode() <= high.encode() for value in values)


def _typed(value: Any, kind: str) -> Any:
    match kind:
        case "date":
            return date.fromisoformat(value)
        case "timestamp":
            return datetime.fromisoformat(value)
        case "double":
            return float(value)
        case _:
            return value


def _key(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _schema(columns: list[tuple[str, Any]]) -> StructType:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    return parse_schema(json.dumps({"type": "struct", "fields": fields}))


def _layout(schema: StructType, partitions: tuple[str, ...] = (), **properties: str) -> FileLayout:
    metadata = Metadata(
        id="x", schema_string=schema.to_json(), partition_columns=partitions, configuration=dict(properties)
    )
    fixed = circumstances()
    return FileLayout(schema, metadata, "none", (), fixed.now, fixed.new_id)


@pytest.mark.conformance("PATH-002", "PATH-006", "PATH-007", "PART-002", "PART-004", "WRITER-003", "FILE-001")
def test_files_of_partitions_have_names_of_their_own_and_true_sizes() -> None:
    schema = _schema([("id", "long"), ("p", "string")])
    rows = pa.table({"id": [1, 2, 3, 4], "p": ["a/b=c %20", "", None, "ä"]})
    files = list(_layout(schema, ("p",)).files(rows))
    assert [file.add.partition_values for file in files] == [{"p": "a/b=c %20"}, {"p": None}, {"p": "ä"}]
    assert len({file.add.path for file in files}) == len(files)
    for file in files:
        assert file.staged.data is not None
        assert len(file.staged.data) == file.add.size
        # The folder is escaped as Hive does; the log's path escapes that name once more and decodes to it.
        assert unquote(file.add.path) == file.staged.path
        assert not file.add.path.startswith("/")
    assert files[0].staged.path.startswith("p=a%2Fb%3Dc %2520/")
    assert files[0].add.path.startswith("p=a%252Fb%253Dc%20%252520/")
    assert files[1].staged.path.startswith("p=__HIVE_DEFAULT_PARTITION__/")
    read = pq.read_table(BytesIO(files[1].staged.data or b""))
    assert read.to_pydict() == {"id": [2, 3]}


@pytest.mark.conformance("MATPART-002")
@pytest.mark.parametrize(("wish", "stored"), [("true", ["p", "id"]), ("false", ["id"]), (None, ["id"])])
def test_files_hold_the_partition_columns_if_the_table_wishes_it(wish: str | None, stored: list[str]) -> None:
    schema = _schema([("p", "integer"), ("id", "long")])
    properties = {} if wish is None else {"delta.writePartitionColumnsToParquet": wish}
    rows = pa.table({"p": pa.array([7, 7, None], pa.int32()), "id": [1, 2, 3]})
    files = list(_layout(schema, ("p",), **properties).files(rows))
    assert [file.add.partition_values for file in files] == [{"p": "7"}, {"p": None}]
    read = [pq.read_table(BytesIO(file.staged.data or b"")) for file in files]
    assert [table.schema.names for table in read] == [stored] * 2
    assert [row.get("p", 7) for row in read[0].to_pylist()] == [7, 7]
    for file in files:
        assert json.loads(file.add.stats or "{}")["nullCount"].keys() == {"id"}


_NAIVE = datetime(2021, 1, 2, 3, 4, 5, tzinfo=UTC).replace(tzinfo=None)


@pytest.mark.conformance("NTZ-002", "PART-006", "PART-009", "PART-010")
@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("timestamp_ntz", _NAIVE, "2021-01-02 03:04:05"),
        ("timestamp_ntz", _NAIVE.replace(microsecond=60), "2021-01-02 03:04:05.000060"),
        ("timestamp", datetime(1970, 1, 1, 0, 0, 0, 123456, UTC), "1970-01-01T00:00:00.123456Z"),
        ("date", date(1, 1, 1), "0001-01-01"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
        ("integer", -5, "-5"),
        ("long", -(2**63), "-9223372036854775808"),
        ("decimal(10,3)", Decimal("-9999999.999"), "-9999999.999"),
        ("decimal(38,20)", Decimal("1E-20"), "0.00000000000000000001"),
        ("decimal(5,0)", Decimal("1E+3"), "1000"),
        ("string", "a/b=c é%20+", "a/b=c é%20+"),
        ("binary", b"\x01\x02", "\x01\x02"),
        ("double", 1.5, "1.5"),
        ("string", "", None),
    ],
)
def test_partition_values_are_written_as_they_are_read(kind: str, value: Any, text: str | None) -> None:
    assert format_partition_value(value, kind) == text
    assert parse_partition_value(text, parse_type(kind), "p") == (None if value == "" else value)


@pytest.mark.conformance("SCHEMA-015")
@pytest.mark.parametrize(
    "columns",
    [
        [("v", "void")],
        [("id", "long"), ("a", {"type": "array", "elementType": "void", "containsNull": True})],
        [("id", "long"), ("m", {"type": "map", "keyType": "string", "valueType": "void", "valueContainsNull": True})],
        [
            ("id", "long"),
            ("s", {"type": "struct", "fields": [{"name": "v", "type": "void", "nullable": True, "metadata": {}}]}),
        ],
    ],
)
def test_void_that_cannot_be_left_out_is_refused(columns: list[tuple[str, Any]]) -> None:
    with pytest.raises(InvalidIntent):
        stored_fields(_schema(columns), ())


@pytest.mark.conformance("SCHEMA-015")
def test_void_columns_are_left_out_of_files() -> None:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _HALF_VOID.items()]
    inner = {"type": "struct", "fields": fields}
    items = {"type": "array", "elementType": inner, "containsNull": True}
    schema = _schema([("id", "long"), ("v", "void"), ("s", inner), ("l", items)])
    rows = pa.Table.from_pylist(
        [{"id": 1, "v": None, "s": {"x": 1, "v": None}, "l": [{"x": 2, "v": None}]}], arrow_schema(schema)
    )
    (file,) = _layout(schema).files(rows)
    found = pq.read_table(BytesIO(file.staged.data or b""))
    assert found.to_pylist() == [{"id": 1, "s": {"x": 1}, "l": [{"x": 2}]}]
    assert set(json.loads(file.add.stats or "")["nullCount"]) == {"id", "s", "l"}


_HALF_VOID = {"x": "long", "v": "void"}


@pytest.mark.conformance("SCHEMA-020")
def test_the_codec_is_the_one_that_the_table_asks_for() -> None:
    schema = _schema([("id", "long")])
    (file,) = _layout(schema, **{"delta.parquet.compression.codec": "zstd"}).files(pa.table({"id": [1]}))
    assert file.add.path.endswith(".zstd.parquet")
    metadata = pq.ParquetFile(BytesIO(file.staged.data or b"")).metadata
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    with pytest.raises(InvalidIntent, match="brotli9"):
        compression_codec({"delta.parquet.compression.codec": "brotli9"})


@pytest.mark.conformance("STATS-015", "CLUSTER-002", "STATS-019")
def test_statistics_cover_the_columns_that_the_table_asks_for() -> None:
    schema = _schema([(f"c{i}", "long") for i in range(40)] + [("v", "variant")])
    names = lambda found: [path[0] for path, _ in found]  # noqa: E731 - local shorthand
    assert names(indexed_fields(schema.fields, {})) == [f"c{i}" for i in range(32)]
    assert names(indexed_fields(schema.fields, {"delta.dataSkippingNumIndexedCols": "2"}, [("c39",)])) == [
        "c0",
        "c1",
        "c39",
    ]
    assert names(indexed_fields(schema.fields, {"delta.dataSkippingStatsColumns": "c5, `v`"})) == ["c5", "v"]
    assert names(indexed_fields(schema.fields, {"delta.dataSkippingStatsColumns": "C5, `V`"})) == ["c5", "v"]
    assert names(indexed_fields(schema.fields, {"delta.dataSkippingStatsColumns": ""})) == []
    assert len(indexed_fields(schema.fields, {"delta.dataSkippingNumIndexedCols": "-1"})) == 41
    variant = pa.array([None, {"metadata": b"\1", "value": b"\0"}], arrow_schema(schema).field("v").type)
    stats = json.loads(collect_statistics(pa.table({"v": variant}), [(("v",), schema.fields[-1])]))
    assert (stats["minValues"], stats["maxValues"], stats["nullCount"]) == ({}, {}, {"v": 1})


@pytest.mark.conformance("STATS-013", "STATS-015", "STATS-017")
def test_statistics_cover_leaves_of_structs_under_physical_names_and_only_count_nulls_of_collections() -> None:
    inner = [_field(f"x{number}", "long", 10 + number) for number in range(20)]
    collections = [
        _field("l", {"type": "array", "elementType": "long", "containsNull": True}, 3),
        _field("m", {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}, 4),
    ]
    structs = [
        _field("s", {"type": "struct", "fields": inner}, 5),
        _field("t", {"type": "struct", "fields": [{**each, "name": each["name"] + "'"} for each in inner]}, 6),
    ]
    schema = parse_schema(json.dumps({"type": "struct", "fields": [*collections, *structs]}))
    row = {"l": [1], "m": None, "s": {f"x{number}": number for number in range(20)}, "t": None}
    (file,) = _layout(schema).files(pa.Table.from_pylist([row, row], arrow_schema(schema)))
    stats = json.loads(file.add.stats or "")
    bounded = {"col-5": {f"col-{10 + number}": number for number in range(20)}}
    assert (stats["minValues"], stats["maxValues"]) == (bounded, bounded)
    # 2 and 20 leaves leave room for 10 of the second struct; what it holds is null.
    counted = dict.fromkeys(bounded["col-5"], 0)
    assert stats["nullCount"] == {
        "col-3": 0,
        "col-4": 2,
        "col-5": counted,
        "col-6": dict.fromkeys(list(counted)[:10], 2),
    }
    assert pq.read_schema(BytesIO(file.staged.data or b"")).names == ["col-3", "col-4", "col-5", "col-6"]
    named = indexed_fields(schema.fields, {"delta.dataSkippingStatsColumns": "s.x3, t"})
    assert [path for path, _ in named][:2] == [("col-5", "col-13"), ("col-6", "col-10")]
    assert len(named) == 21


@pytest.mark.conformance("CDF-003", "CDF-004")
def test_change_files_hold_the_rows_and_say_what_happened() -> None:
    schema = _schema([("id", "long"), ("p", "string")])
    ((staged, action),) = _layout(schema, ("p",)).change_files(pa.table({"id": [1, 2], "p": ["x", "x"]}), "delete")
    assert staged.path.startswith("_change_data/p=x/")
    assert action.to_wire() == {
        "path": staged.path,
        "partitionValues": {"p": "x"},
        "size": len(staged.data or b""),
        "dataChange": False,
    }
    rows = pq.read_table(BytesIO(staged.data or b"")).to_pydict()
    assert rows == {"id": [1, 2], "_change_type": ["delete", "delete"]}


@pytest.mark.conformance("DV-021", "DV-023")
@given(st.lists(st.sets(st.integers(0, 2**40), min_size=1, max_size=20), min_size=1, max_size=4))
def test_one_file_holds_a_vector_for_each_data_file(masks: list[set[int]]) -> None:
    identity = uuid.UUID("11111111-2222-3333-4444-555555555555")
    rows = [np.array(sorted(mask), np.uint64) for mask in masks]
    data, descriptors = encode_vectors(identity, rows)
    assert vector_file_name(identity) == f"deletion_vector_{identity}.bin"
    for wanted, descriptor in zip(rows, descriptors, strict=True):
        frame = data[descriptor.offset or 0 :]
        # The size and the checksum with the highest byte first, all between them with the lowest.
        size, magic = struct.unpack_from(">i", frame)[0], struct.unpack_from("<i", frame, 4)[0]
        assert (size, magic) == (descriptor.size_in_bytes, 1_681_511_377)
        assert struct.unpack_from(">I", frame, 4 + size)[0] == zlib.crc32(frame[4 : 4 + size])
        assert BitMap64.deserialize(frame[8 : 4 + size]) == BitMap64(wanted.tolist())
        assert decode_bitmap(unframe(frame, descriptor), descriptor.id).tolist() == wanted.tolist()
        assert descriptor.cardinality == len(wanted)
        assert msgspec.to_builtins(descriptor)["storageType"] == "u"
