"""Rows that the protocol asks of a reader, each in a table made for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.spark.engine.session import Engine
from explorer.spark.scan.scan import scan
from tests.support.logs.spark_tables import DataFile, column, struct, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

Rows = list[dict[str, Any]]


def _rows(root: Path, **options: Any) -> Rows:
    table = explorer.open_table(root)
    found: Rows = scan(table, table.snapshot()).to_arrow(**options).to_pylist()
    return found


def _swap_in(root: Path, name: str, written: Path) -> None:
    """Put a file that Spark wrote in the place of one of the table, with its size in the log."""
    log = root / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    (root / name).write_bytes(written.read_bytes())
    for action in actions:
        if action.get("add", {}).get("path") == name:
            action["add"]["size"] = written.stat().st_size
    log.write_text("".join(json.dumps(action) + "\n" for action in actions), "utf-8")


@contextmanager
def _settings(engine: Engine, settings: Mapping[str, str]) -> Iterator[None]:
    session = engine.session()
    before = {key: session.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old)


@pytest.mark.conformance("DV-001")
def test_masked_rows_are_in_no_count_no_list_and_no_filter(tmp_path: Path) -> None:
    files = [DataFile("a.parquet", pa.table({"id": [0, 1, 2, 3]}), masked=(1, 3)), DataFile("b", pa.table({"id": [1]}))]
    table = explorer.open_table(write_table(tmp_path, [column("id", "long")], files))
    assert table.rows().count() == 3
    assert sorted(row["id"] for row in table.rows().collect()) == [0, 1, 2]
    assert table.rows(where="id IN (1, 3)").count() == 1
    snapshot = table.snapshot()
    assert (snapshot.num_records, snapshot.num_deleted_records) == (5, 2)


@pytest.mark.conformance("FILE-013", "FILE-017")
def test_removed_files_are_not_opened_and_another_time_than_logged_is_no_fault(tmp_path: Path) -> None:
    files = [DataFile(f"{name}.parquet", pa.table({"id": [number]})) for number, name in enumerate("ab")]
    root = write_table(tmp_path, [column("id", "long")], files)
    tombstone = {"remove": {"path": "a.parquet", "deletionTimestamp": 1, "dataChange": True}}
    (root / "_delta_log" / f"{1:020}.json").write_text(json.dumps(tombstone) + "\n", "utf-8")
    (root / "a.parquet").unlink()
    assert (root / "b.parquet").stat().st_mtime * 1000 != 1_700_000_000_000
    assert _rows(root) == [{"id": 1}]


@pytest.mark.conformance("PART-013")
def test_partition_columns_stand_where_the_schema_has_them(tmp_path: Path) -> None:
    rows = pa.table({"a": [1], "c": [3]})
    fields = [column("p", "string"), column("a", "long"), column("q", "integer"), column("c", "long")]
    root = write_table(tmp_path, fields, [DataFile("f", rows, {"q": "2", "p": "x"})], ["q", "p"])
    assert explorer.open_table(root).rows().columns == ["p", "a", "q", "c"]
    assert [list(row.items()) for row in _rows(root)] == [[("p", "x"), ("a", 1), ("q", 2), ("c", 3)]]


def _mapped(name: str, number: int, physical: str) -> dict[str, Any]:
    keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return column(name, "long", **keys)


def _with_ids(**ids: int) -> pa.Schema:
    fields = [pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(number)}) for name, number in ids.items()]
    return pa.schema(fields)


@pytest.mark.conformance("CM-005")
def test_in_name_mode_field_ids_are_ignored_even_if_they_are_wrong(tmp_path: Path) -> None:
    rows = pa.table({"x": [1], "y": [2]}).cast(_with_ids(x=2, y=1))
    fields = [_mapped("a", 1, "x"), _mapped("b", 2, "y"), _mapped("c", 3, "z")]
    root = write_table(tmp_path, fields, [DataFile("f", rows)], configuration={"delta.columnMapping.mode": "name"})
    assert _rows(root) == [{"a": 1, "b": 2, "c": None}]


@pytest.mark.conformance("CM-003")
def test_in_id_mode_names_are_ignored_even_if_they_are_another_columns(tmp_path: Path) -> None:
    rows = pa.table({"x": [1], "y": [2]}).cast(_with_ids(x=2, y=1))
    fields = [_mapped("a", 1, "x"), _mapped("b", 2, "y"), _mapped("c", 3, "z")]
    root = write_table(tmp_path, fields, [DataFile("f", rows)], configuration={"delta.columnMapping.mode": "id"})
    assert _rows(root) == [{"a": 2, "b": 1, "c": None}]


@pytest.mark.conformance("SCHEMA-011", "DEFCOL-003")
def test_what_an_old_file_lacks_is_null_even_if_the_column_has_a_default(tmp_path: Path) -> None:
    fields = [column("id", "long"), column("note", "string", CURRENT_DEFAULT="'none'", EXISTS_DEFAULT="'none'")]
    files = [
        DataFile("old", pa.table({"id": [1]})),
        DataFile("new", pa.table({"id": [2], "note": ["x"]})),
    ]
    found = sorted(_rows(write_table(tmp_path, fields, files)), key=lambda row: int(row["id"]))
    assert found == [{"id": 1, "note": None}, {"id": 2, "note": "x"}]


@pytest.mark.conformance("GENCOL-004")
def test_a_generation_expression_is_not_evaluated_on_reading(tmp_path: Path) -> None:
    fields = [column("id", "long"), column("double", "long", **{"delta.generationExpression": "no_such_function(id)"})]
    root = write_table(tmp_path, fields, [DataFile("f", pa.table({"id": [1], "double": [7]}))])
    assert _rows(root) == [{"id": 1, "double": 7}]


@pytest.mark.conformance("CDF-014")
def test_columns_of_the_change_feed_in_a_data_file_are_not_shown(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2], "_change_type": ["insert", "delete"], "_commit_version": [3, 3]})
    root = write_table(tmp_path, [column("id", "long")], [DataFile("f", rows)])
    assert sorted(row["id"] for row in _rows(root)) == [1, 2]
    assert explorer.open_table(root).rows().columns == ["id"]


@pytest.mark.conformance("ROWTRACK-007")
def test_columns_with_materialised_row_ids_are_not_shown(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "_row-id-col-x": [70], "_row-commit-version-col-x": [4]})
    configuration = {
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-x",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-x",
    }
    root = write_table(tmp_path, [column("id", "long")], [DataFile("f", rows)], configuration=configuration)
    assert _rows(root) == [{"id": 1}]


def _widened(name: str, before: str, after: str) -> dict[str, Any]:
    return column(name, after, **{"delta.typeChanges": [{"fromType": before, "toType": after}]})


@pytest.mark.conformance("TYPEWIDEN-001")
def test_old_files_are_read_in_the_wider_types(tmp_path: Path) -> None:
    cases = {
        "i": ("byte", "long", pa.int8(), 5, pa.int64(), 2**40, 5),
        "f": ("float", "double", pa.float32(), 0.5, pa.float64(), 0.1, 0.5),
        "d": ("integer", "double", pa.int32(), 7, pa.float64(), 0.25, 7.0),
        "m": (
            "decimal(4,2)",
            "decimal(10,4)",
            pa.decimal128(4, 2),
            Decimal("1.25"),
            pa.decimal128(10, 4),
            Decimal("123456.0001"),
            Decimal("1.2500"),
        ),
        "t": (
            "date",
            "timestamp_ntz",
            pa.date32(),
            date(2024, 2, 29),
            pa.timestamp("us"),
            datetime(2024, 1, 1, 12),  # noqa: DTZ001 - it has no zone
            datetime(2024, 2, 29),  # noqa: DTZ001 - it has no zone
        ),
    }
    fields = [_widened(name, before, after) for name, (before, after, *_) in cases.items()]
    old = pa.table({name: pa.array([case[3]], case[2]) for name, case in cases.items()})
    new = pa.table({name: pa.array([case[5]], case[4]) for name, case in cases.items()})
    found = _rows(write_table(tmp_path, fields, [DataFile("old", old), DataFile("new", new)]))
    expected = [{name: case[place] for name, case in cases.items()} for place in (5, 6)]
    assert sorted(found, key=lambda row: str(row["i"])) == sorted(expected, key=lambda row: str(row["i"]))


INSTANT = datetime(2024, 3, 31, 1, 30, 0, 123456, UTC)


@pytest.mark.conformance("SCHEMA-017", "SCHEMA-018")
@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns"])
def test_an_instant_is_the_same_in_every_encoding_and_every_zone(
    tmp_path: Path, spark_engine: Engine, zone: str
) -> None:
    rows = pa.table({"t": pa.array([INSTANT], pa.timestamp("us", "UTC"))})
    files = [
        DataFile("int64", rows),
        DataFile("int96", rows, options={"use_deprecated_int96_timestamps": True}),
        DataFile("ms", rows, options={"coerce_timestamps": "ms", "allow_truncated_timestamps": True}),
    ]
    root = write_table(tmp_path, [column("t", "timestamp")], files)
    with _settings(spark_engine, {"spark.sql.session.timeZone": zone}):
        found = sorted(row["t"] for row in _rows(root))
    assert found == [INSTANT.replace(microsecond=123000), INSTANT, INSTANT]


@pytest.mark.conformance("NTZ-001")
@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns"])
def test_a_time_without_a_zone_is_the_same_on_every_wall(tmp_path: Path, spark_engine: Engine, zone: str) -> None:
    wall = INSTANT.replace(tzinfo=None)
    files = [DataFile("f", pa.table({"t": pa.array([wall], pa.timestamp("us"))}))]
    root = write_table(tmp_path, [column("t", "timestamp_ntz")], files)
    with _settings(spark_engine, {"spark.sql.session.timeZone": zone}):
        assert _rows(root) == [{"t": wall}]
        assert explorer.open_table(root).rows(where="t = TIMESTAMP_NTZ '2024-03-31 01:30:00.123456'").count() == 1


@pytest.mark.conformance("SCHEMA-018")
def test_small_integers_and_decimals_of_every_storage_are_read(tmp_path: Path) -> None:
    fields = [
        column("b", "byte"),
        column("s", "short"),
        column("small", "decimal(5,2)"),
        column("middle", "decimal(15,2)"),
        column("large", "decimal(30,2)"),
    ]
    value = Decimal("-123.45")
    rows = pa.table(
        {
            "b": pa.array([-128], pa.int8()),
            "s": pa.array([32767], pa.int16()),
            "small": pa.array([value], pa.decimal128(5, 2)),
            "middle": pa.array([value], pa.decimal128(15, 2)),
            "large": pa.array([value], pa.decimal128(30, 2)),
        }
    )
    files = [DataFile("fixed", rows), DataFile("integers", rows, options={"store_decimal_as_integer": True})]
    root = write_table(tmp_path, fields, files)
    stored = {
        name: [pq.ParquetFile(root / name).schema.column(place).physical_type for place in (2, 3, 4)]
        for name in ("fixed", "integers")
    }
    assert stored == {"fixed": ["FIXED_LEN_BYTE_ARRAY"] * 3, "integers": ["INT32", "INT64", "FIXED_LEN_BYTE_ARRAY"]}
    expected = {"b": -128, "s": 32767, "small": value, "middle": value, "large": value}
    assert _rows(root) == [expected] * 2


@pytest.mark.conformance("SCHEMA-018")
@pytest.mark.parametrize("legacy", ["true", "false"])
def test_lists_of_two_and_three_levels_and_maps_are_read(tmp_path: Path, spark_engine: Engine, legacy: str) -> None:
    session = spark_engine.session()
    text = "SELECT array(1L, 2L) AS l, map('k', array('v')) AS m, array(named_struct('x', 1L)) AS s"
    with _settings(spark_engine, {"spark.sql.parquet.writeLegacyFormat": legacy}):
        session.sql(text).coalesce(1).write.parquet(str(tmp_path / "data"))
    (written,) = (tmp_path / "data").glob("*.parquet")
    levels = {path.split(".")[1] for path in (pq.ParquetFile(written).schema.column(i).path for i in range(4))}
    assert ("list" in levels) is (legacy == "false")
    array = {"type": "array", "elementType": "long", "containsNull": True}
    texts = {"type": "array", "elementType": "string", "containsNull": True}
    structs = {"type": "array", "elementType": struct(column("x", "long")), "containsNull": True}
    of_lists = {"type": "map", "keyType": "string", "valueType": texts, "valueContainsNull": True}
    fields = [column("l", array), column("m", of_lists), column("s", structs)]
    root = write_table(tmp_path / "t", fields, [DataFile("f.parquet", pa.table({"l": [[0]]}))])
    _swap_in(root, "f.parquet", written)
    assert _rows(root) == [{"l": [1, 2], "m": [("k", ["v"])], "s": [{"x": 1}]}]


@pytest.mark.conformance("SCHEMA-019")
@pytest.mark.parametrize("page", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["NONE", "SNAPPY", "GZIP", "LZ4", "ZSTD"])
def test_every_codec_is_read_from_both_kinds_of_page(tmp_path: Path, codec: str, page: str) -> None:
    rows = pa.table({"id": list(range(500)), "s": ["text"] * 500})
    file = DataFile("f", rows, options={"compression": codec, "data_page_version": page})
    root = write_table(tmp_path, [column("id", "long"), column("s", "string")], [file])
    found = _rows(root)
    assert sorted(row["id"] for row in found) == list(range(500))
    assert {row["s"] for row in found} == {"text"}


@pytest.mark.conformance("SCHEMA-019")
def test_the_older_lz4_frame_is_read_too(tmp_path: Path, spark_engine: Engine) -> None:
    frame = spark_engine.session().range(500).coalesce(1)
    frame.write.option("compression", "lz4").parquet(str(tmp_path / "data"))
    (written,) = (tmp_path / "data").glob("*.parquet")
    assert "lz4hadoop" in written.name
    assert "lz4hadoop" in written.name
    # Arrow has no name for this codec.
    assert pq.ParquetFile(written).metadata.row_group(0).column(0).compression == "UNKNOWN"
    root = write_table(tmp_path / "t", [column("id", "long")], [DataFile("f.parquet", pa.table({"id": [1]}))])
    _swap_in(root, "f.parquet", written)
    assert sorted(row["id"] for row in _rows(root)) == list(range(500))


@pytest.mark.conformance("VARIANT-001", "VARIANT-003")
def test_shredded_and_whole_variants_of_one_table_are_read_alike(tmp_path: Path, spark_engine: Engine) -> None:
    session = spark_engine.session()
    values = ['{"a":1,"b":"x"}', '{"a":"no number","c":[1,null]}', "7"]
    listed = ", ".join(f"('{value}')" for value in values)
    source = session.sql(f"SELECT parse_json(j) AS v FROM VALUES {listed}, (NULL) AS t(j)").coalesce(1)
    source.write.parquet(str(tmp_path / "whole"))
    shredding = {
        "spark.sql.variant.writeShredding.enabled": "true",
        "spark.sql.variant.forceShreddingSchemaForTest": "a int, b string",
    }
    with _settings(spark_engine, shredding):
        source.write.parquet(str(tmp_path / "shredded"))
    files = [DataFile(f"{name}.parquet", pa.table({"x": [1]})) for name in ("whole", "shredded")]
    root = write_table(tmp_path / "t", [column("v", "variant")], files)
    for name in ("whole", "shredded"):
        (written,) = (tmp_path / name).glob("*.parquet")
        paths = {pq.ParquetFile(written).schema.column(i).path for i in range(len(pq.ParquetFile(written).schema))}
        assert any("typed_value" in path for path in paths) is (name == "shredded")
        _swap_in(root, f"{name}.parquet", written)
    found = sorted(str(row["v"]) for row in _rows(root, readable=True))
    assert found == sorted([*values, "None"] * 2)
