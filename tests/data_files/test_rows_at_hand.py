"""Rows made into files: bytes under physical names, statistics that bound every value, actions that say it all."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.schema.data_types import StructType, parse_schema
from explorer.core.protocol.statistics.collect import indexed_fields
from explorer.core.transaction.new_files.file_facts import NewFileFacts
from explorer.core.transaction.new_files.layout import FileLayout, compression_codec
from explorer.data_files.file_plan import file_plan
from explorer.data_files.in_memory_rows import write_rows
from explorer.storage import open_store
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import protocol


def _schema(columns: list[tuple[str, Any]]) -> StructType:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    return parse_schema(json.dumps({"type": "struct", "fields": fields}))


def layout(
    schema: StructType, partitions: tuple[str, ...] = (), rules: Protocol = small_logs.PROTOCOL, **properties: str
) -> FileLayout:
    metadata = Metadata(
        id="x", schema_string=schema.to_json(), partition_columns=partitions, configuration=dict(properties)
    )
    return FileLayout.of(small_logs.table({0: [rules, metadata]}).snapshot())


def written(asked: FileLayout, rows: pa.Table, **options: Any) -> list[tuple[NewFileFacts, bytes]]:
    """The files of some rows, and their bytes."""
    store = open_store("memory://rows/table")
    made = write_rows(store, asked, file_plan(asked, **options), rows)
    return [(facts, store.read(facts.location)) for facts in made.files]


def _statistics(schema: StructType, rows: pa.Table) -> dict[str, Any]:
    asked = layout(schema)
    ((facts, _),) = written(asked, rows)
    found: dict[str, Any] = json.loads(asked.add_of(facts).stats or "", parse_float=Decimal)
    return found


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
MAPPED = layout(NESTED, (), protocol(2, 5), **{"delta.columnMapping.mode": "name"})
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
@given(st.lists(_ROW, min_size=1, max_size=12), st.integers(0, 4))
def test_nested_rows_are_stored_under_physical_names_and_read_back(rows: list[dict[str, Any]], skipped: int) -> None:
    whole = pa.Table.from_pylist(rows, schema=arrow_schema(NESTED))
    table = whole.slice(min(skipped, whole.num_rows - 1))
    ((_, data),) = written(MAPPED, table)
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
    values = data.draw(st.lists(st.none() | _VALUES[kind], min_size=1, max_size=8))
    schema = _schema([("c", kind)])
    table = pa.table({"c": pa.array(values, arrow_schema(schema).field(0).type)})
    stats = _statistics(schema, table)
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
    stats = _statistics(schema, pa.table({"c": values}))
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


@pytest.mark.conformance("PATH-002", "PATH-006", "PART-002", "PART-004", "WRITER-003", "FILE-001")
def test_files_of_partitions_have_names_of_their_own_and_true_sizes() -> None:
    schema = _schema([("id", "long"), ("p", "string")])
    rows = pa.table({"id": [1, 2, 3, 4], "p": ["a/b=c %20", "", None, "ä"]})
    asked = layout(schema, ("p",))
    files = written(asked, rows)
    adds = [asked.add_of(facts) for facts, _ in files]
    assert [add.partition_values for add in adds] == [{"p": "a/b=c %20"}, {"p": None}, {"p": "ä"}]
    assert len({add.path for add in adds}) == len(files)
    for add, (facts, data) in zip(adds, files, strict=True):
        assert len(data) == add.size
        wire = add.to_wire()
        assert {"path", "partitionValues", "size", "modificationTime", "dataChange"} <= wire.keys()
        assert wire["dataChange"] is True
        # The folder is escaped as Hive does; the log's path escapes that name once more and decodes to it.
        assert unquote(add.path) == facts.location
        assert not add.path.startswith("/")
    assert files[0][0].location.startswith("p=a%2Fb%3Dc %2520/")
    assert adds[0].path.startswith("p=a%252Fb%253Dc%20%252520/")
    assert files[1][0].location.startswith("p=__HIVE_DEFAULT_PARTITION__/")
    read = pq.read_table(BytesIO(files[1][1]))
    assert read.to_pydict() == {"id": [2, 3]}


_BOUND = protocol(1, 7, w="materializePartitionColumns")


@pytest.mark.conformance("MATPART-001", "MATPART-002")
@pytest.mark.parametrize(
    ("wish", "rules", "stored"),
    [
        ("true", small_logs.PROTOCOL, ["id", "p"]),
        ("false", small_logs.PROTOCOL, ["id"]),
        (None, small_logs.PROTOCOL, ["id"]),
        *((wish, _BOUND, ["id", "p"]) for wish in ("true", "false", None)),
    ],
)
def test_files_hold_the_partition_columns_if_the_table_wishes_it_or_must(
    wish: str | None, rules: Protocol, stored: list[str]
) -> None:
    schema = _schema([("p", "integer"), ("id", "long")])
    properties = {} if wish is None else {"delta.writePartitionColumnsToParquet": wish}
    rows = pa.table({"p": pa.array([7, 7, None], pa.int32()), "id": [1, 2, 3]})
    asked = layout(schema, ("p",), rules, **properties)
    files = written(asked, rows)
    adds = [asked.add_of(facts) for facts, _ in files]
    assert [add.partition_values for add in adds] == [{"p": "7"}, {"p": None}]
    read = [pq.read_table(BytesIO(data)) for _, data in files]
    assert [table.schema.names for table in read] == [stored] * 2
    assert [row.get("p", 7) for row in read[0].to_pylist()] == [7, 7]
    for add in adds:
        assert json.loads(add.stats or "{}")["nullCount"].keys() == {"id"}


@pytest.mark.conformance("SCHEMA-020")
def test_the_codec_is_the_one_that_the_table_asks_for() -> None:
    schema = _schema([("id", "long")])
    ((facts, data),) = written(layout(schema, **{"delta.parquet.compression.codec": "zstd"}), pa.table({"id": [1]}))
    assert facts.location.endswith(".zstd.parquet")
    metadata = pq.ParquetFile(BytesIO(data)).metadata
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    with pytest.raises(InvalidIntent, match="brotli9"):
        compression_codec({"delta.parquet.compression.codec": "brotli9"})


@pytest.mark.conformance("CDF-003", "CDF-004")
def test_change_files_hold_the_rows_and_say_what_happened() -> None:
    schema = _schema([("id", "long"), ("p", "string")])
    asked = layout(schema, ("p",))
    changed = pa.table({"id": [1, 2], "p": ["x", "x"], "_change_type": ["delete", "delete"]})
    ((facts, data),) = written(asked, changed, changes=True)
    assert facts.location.startswith("_change_data/p=x/")
    assert asked.change_of(facts).to_wire() == {
        "path": facts.location,
        "partitionValues": {"p": "x"},
        "size": len(data),
        "dataChange": False,
    }
    rows = pq.read_table(BytesIO(data)).to_pydict()
    assert rows == {"id": [1, 2], "_change_type": ["delete", "delete"]}


@pytest.mark.conformance("STATS-017")
def test_of_a_variant_only_the_nulls_are_counted() -> None:
    schema = _schema([("v", "variant")])
    variant = pa.array([None, {"metadata": b"\1", "value": b"\0"}], arrow_schema(schema).field("v").type)
    stats = _statistics(schema, pa.table({"v": variant}))
    assert (stats["minValues"], stats["maxValues"], stats["nullCount"]) == ({}, {}, {"v": 1})


def test_only_values_that_repeat_get_a_dictionary() -> None:
    inner = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}]}
    nested: list[tuple[str, Any]] = [
        ("s", inner),
        ("l", {"type": "array", "elementType": inner, "containsNull": True}),
        ("m", {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}),
    ]
    schema = _schema([("id", "long"), ("name", "string"), *nested])
    count = 20_000
    rows = pa.table(
        {
            "id": range(count),
            "name": [f"name {row % 7}" for row in range(count)],
            "s": [{"x": row % 5} for row in range(count)],
            "l": [[{"x": row % 5}] for row in range(count)],
            "m": [[("k", row % 5)] for row in range(count)],
        },
        schema=arrow_schema(schema),
    )
    ((_, data),) = written(layout(schema), rows)
    group = pq.ParquetFile(BytesIO(data)).metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    assert {column.path_in_schema for column in columns if not column.has_dictionary_page} == {"id"}
    assert len(columns) == 6
    assert pq.read_table(BytesIO(data)).to_pydict() == rows.to_pydict()


_HALF_VOID = {"x": "long", "v": "void"}


@pytest.mark.conformance("SCHEMA-015")
def test_void_columns_are_left_out_of_files() -> None:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _HALF_VOID.items()]
    inner = {"type": "struct", "fields": fields}
    schema = _schema([("id", "long"), ("v", "void"), ("s", inner)])
    rows = pa.Table.from_pylist([{"id": 1, "v": None, "s": {"x": 1, "v": None}}], arrow_schema(schema))
    asked = layout(schema)
    ((facts, data),) = written(asked, rows)
    assert pq.read_table(BytesIO(data)).to_pylist() == [{"id": 1, "s": {"x": 1}}]
    assert set(json.loads(asked.add_of(facts).stats or "")["nullCount"]) == {"id", "s"}


@pytest.mark.conformance("STATS-013", "STATS-015", "STATS-017")
def test_statistics_cover_leaves_of_structs_under_physical_names_and_only_count_nulls_of_collections() -> None:
    inner = [_field(f"x{number}", "long", 10 + number) for number in range(20)]
    others = [_field(f"x{number}'", "long", 40 + number) for number in range(20)]
    collections = [
        _field("l", {"type": "array", "elementType": "long", "containsNull": True}, 3),
        _field("m", {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}, 4),
    ]
    structs = [
        _field("s", {"type": "struct", "fields": inner}, 5),
        _field("t", {"type": "struct", "fields": others}, 6),
    ]
    schema = parse_schema(json.dumps({"type": "struct", "fields": [*collections, *structs]}))
    row = {"l": [1], "m": None, "s": {f"x{number}": number for number in range(20)}, "t": None}
    asked = layout(schema, (), protocol(2, 5), **{"delta.columnMapping.mode": "name"})
    ((facts, data),) = written(asked, pa.Table.from_pylist([row, row], arrow_schema(schema)))
    stats = json.loads(asked.add_of(facts).stats or "")
    bounded = {"col-5": {f"col-{10 + number}": number for number in range(20)}}
    assert (stats["minValues"], stats["maxValues"]) == (bounded, bounded)
    # 2 and 20 leaves leave room for 10 of the second struct; what it holds is null.
    assert stats["nullCount"] == {
        "col-3": 0,
        "col-4": 2,
        "col-5": dict.fromkeys(bounded["col-5"], 0),
        "col-6": {f"col-{40 + number}": 2 for number in range(10)},
    }
    assert pq.read_schema(BytesIO(data)).names == ["col-3", "col-4", "col-5", "col-6"]
    named = indexed_fields(schema.fields, {"delta.dataSkippingStatsColumns": "s.x3, t"})
    assert [path for path, _ in named][:2] == [("col-5", "col-13"), ("col-6", "col-40")]
    assert len(named) == 21
