"""Scans of tables made for one hard thing each."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import CorruptTable, NotAllowed, RequestError, StorageError, UnsupportedFeature
from explorer.spark.engine.file_addresses import FileAddress
from explorer.spark.engine.session import Engine
from explorer.spark.scan import plan
from explorer.spark.scan.scan import scan
from tests.support.logs.spark_tables import DataFile, column, struct, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=6)]

ODD_NAMES = [
    "a b.parquet",
    "p%41.parquet",
    "h#x?.parquet",
    "br[1]{2}*.parquet",
    "q\"'\\.parquet",
    "a+b=c;d&e,f.parquet",
    "ü€😀.parquet",
    "co:lon.parquet",
    "_hidden.parquet",
    ".dot.parquet",
    "_x=1.parquet",
    "~!()$@^`|<>.parquet",
    "nb\u00a0sp\u2028.parquet",
    "cafe\u0301.parquet",
    "x._COPYING_",
    "no-extension",
    "k=a%3Ab/part.parquet",
    "_k=1/co:lon/part.parquet",
]


def _rows(root: Path, where: str | None = None) -> list[dict[str, object]]:
    table = explorer.open_table(root)
    found: list[dict[str, object]] = scan(table, table.snapshot(), where=where).to_arrow().to_pylist()
    return found


@pytest.mark.parametrize("masked", [(), (0,)])
@pytest.mark.conformance("DV-001", "DV-002", "LOG-017", "PATH-001")
def test_files_of_any_name_are_read_each_once(tmp_path: Path, masked: tuple[int, ...]) -> None:
    files = [
        DataFile(name, pa.table({"id": [2 * i, 2 * i + 1]}), {"p": str(i)}, masked) for i, name in enumerate(ODD_NAMES)
    ]
    root = write_table(tmp_path / "t a%20ble", [column("id", "long"), column("p", "integer")], files, ["p"])
    kept = [(2 * i + j, i) for i in range(len(ODD_NAMES)) for j in (0, 1) if j not in masked]
    assert kept == sorted((row["id"], row["p"]) for row in _rows(root))


@pytest.mark.conformance("PATH-003")
@pytest.mark.parametrize("scheme", ["file://", ""])
def test_absolute_paths_are_read_and_held_to_the_allowed_roots(tmp_path: Path, scheme: str) -> None:
    outside = tmp_path / "else where" / "f.parquet"
    rows = pa.table({"id": [1]})
    root = write_table(
        tmp_path / "t",
        [column("id", "long")],
        [DataFile(f"../else where/{outside.name}", rows, logged=f"{scheme}{quote(str(outside))}")],
    )
    assert _rows(root) == [{"id": 1}]
    with pytest.raises(NotAllowed):
        explorer.open_table(root, roots=[str(root)]).rows()


def test_a_path_that_climbs_out_of_the_table_is_held_to_the_allowed_roots(tmp_path: Path) -> None:
    root = write_table(tmp_path / "t", [column("id", "long")], [DataFile("../x.parquet", pa.table({"id": [1]}))])
    with pytest.raises(NotAllowed):
        explorer.open_table(root, roots=[str(root)]).rows()


@pytest.mark.conformance("DV-001", "DV-019")
def test_masks_hold_over_split_files_row_groups_and_filters(tmp_path: Path, spark_engine: Engine) -> None:
    count, masked = 200_000, [0, 1, 63, 64, 65_535, 65_536, 131_071, 131_072, 150_000, 199_999]
    rows = pa.table({"id": pa.array(range(count), pa.int64()), "s": [f"text {i}" for i in range(count)]})
    file = DataFile("f.parquet", rows, masked=masked, options={"row_group_size": 10_000})
    table = explorer.open_table(write_table(tmp_path, [column("id", "long"), column("s", "string")], [file]))
    session = spark_engine.session()
    # Compiled, as for so many rows it pays.
    settings = {"spark.sql.files.maxPartitionBytes": "200000", "spark.sql.codegen.wholeStage": "true"}
    settings |= {"spark.sql.codegen.factoryMode": "FALLBACK"}
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        frame = table.rows()
        if not spark_engine.connected_remotely:
            assert frame.rdd.getNumPartitions() > 3
        assert count - len(masked) == frame.count()
        assert [i for i in range(65_530, 65_540) if i not in masked] == sorted(
            row["id"] for row in table.rows(where="id BETWEEN 65530 AND 65539").collect()
        )
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


@pytest.mark.conformance("PART-001", "PART-003", "PART-005", "PART-014")
def test_partition_values_are_typed_come_from_the_log_and_an_empty_one_is_null(tmp_path: Path) -> None:
    kinds = {
        "s": ("string", "__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__"),
        "i": ("integer", "-7", -7),
        "d": ("date", "2024-02-29", date(2024, 2, 29)),
        "m": ("decimal(10,3)", "1.5", Decimal("1.500")),
        "b": ("boolean", "true", True),
        "bin": ("binary", "\u0001\u0002", b"\x01\x02"),
        "f": ("double", "NaN", None),
        "ts": ("timestamp", "2024-01-01 12:00:00.25", datetime(2024, 1, 1, 12, 0, 0, 250_000, UTC)),
        "iso": ("timestamp", "2024-01-01T12:00:00.000001Z", datetime(2024, 1, 1, 12, 0, 0, 1, UTC)),
        "ntz": ("timestamp_ntz", "2024-01-01 12:00:00", datetime(2024, 1, 1, 12)),  # noqa: DTZ001 - it has no zone
    }
    rows = pa.table({"id": [1], "i": pa.array([99], pa.int32())})
    files = [
        DataFile("i=5/a.parquet", rows, {name: text for name, (_, text, _) in kinds.items()}),
        DataFile("i=6/b.parquet", rows, dict.fromkeys(kinds, "")),
        DataFile("i=7/c.parquet", rows, dict.fromkeys(kinds, None)),
    ]
    fields = [*(column(name, kind) for name, (kind, _, _) in kinds.items()), column("id", "long")]
    found = _rows(write_table(tmp_path, fields, files, list(kinds)))
    nothing = dict.fromkeys(kinds, None) | {"id": 1}
    typed = {name: value for name, (_, _, value) in kinds.items()} | {"id": 1}
    first = next(row for row in found if row["s"] is not None)
    assert str(first.pop("f")) == "nan"
    typed.pop("f")
    assert typed == first
    assert [nothing, nothing] == [row for row in found if row is not first]


@pytest.mark.parametrize(
    ("values", "words"), [({"p": "twelve"}, "'twelve'"), ({}, "no value"), ({"p": "99999999999"}, "99999999999")]
)
@pytest.mark.conformance("PART-001", "PART-011")
def test_a_partition_value_that_is_absent_or_wrong_names_file_and_column(
    tmp_path: Path, values: dict[str, str], words: str
) -> None:
    file = DataFile("f.parquet", pa.table({"id": [1]}), values)
    table = explorer.open_table(write_table(tmp_path, [column("id", "long"), column("p", "integer")], [file], ["p"]))
    with pytest.raises(CorruptTable, match=words) as caught:
        table.rows()
    assert (caught.value.path, caught.value.column, caught.value.version) == ("f.parquet", "p", 0)


@pytest.mark.conformance("SCHEMA-014")
def test_rows_are_counted_where_no_column_comes_from_a_file(tmp_path: Path) -> None:
    files = [DataFile(f"{p}.parquet", pa.table({"x": [1, 2, 3]}), {"p": p}, (1,)) for p in "ab"]
    root = write_table(tmp_path, [column("p", "string"), column("v", "void")], files, ["p"])
    assert sorted((r["p"], r["v"]) for r in _rows(root)) == [("a", None), ("a", None), ("b", None), ("b", None)]
    only_void = write_table(tmp_path / "v", [column("v", "void")], [DataFile("f.parquet", pa.table({"x": [1, 2]}))])
    assert _rows(only_void) == [{"v": None}] * 2
    assert explorer.open_table(only_void).rows().count() == 2


@pytest.mark.conformance("SCHEMA-014")
def test_void_fields_inside_structs_are_null_and_inside_arrays_refused(tmp_path: Path) -> None:
    fields = [column("s", struct(column("a", "long"), column("v", "void")))]
    rows = pa.table({"s": [{"a": 1}, None]})
    assert _rows(write_table(tmp_path, fields, [DataFile("f.parquet", rows)])) == [
        {"s": {"a": 1, "v": None}},
        {"s": None},
    ]
    array = {"type": "array", "elementType": "void", "containsNull": True}
    refused = write_table(tmp_path / "a", [column("a", array)], [DataFile("f.parquet", pa.table({"x": [1]}))])
    with pytest.raises(UnsupportedFeature, match="void"):
        explorer.open_table(refused).rows()
    others = [column("a", array), column("s", struct(column("v", "void"))), column("x", "long"), *fields]
    kept = pa.table({"x": [1], "s2": [None]})
    fields[0]["name"] = "t"
    root = write_table(tmp_path / "o", others, [DataFile("f.parquet", kept)])
    assert _rows(root) == [{"x": 1, "t": None}]


def test_an_empty_table_has_no_rows_and_the_right_schema(tmp_path: Path) -> None:
    map_type = {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}
    fields = [column("a b", "long"), column("m", map_type), column("v", "variant"), column("p", "date")]
    frame = explorer.open_table(write_table(tmp_path, fields, [], ["p"])).rows()
    assert frame.schema.simpleString() == "struct<a b:bigint,m:map<string,double>,v:variant,p:date>"
    assert frame.count() == 0


def _mapped(name: str, kind: object, number: int, physical: str | None = None) -> dict[str, object]:
    keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical or f"col-{number}"}
    return column(name, kind, **keys)


@pytest.mark.conformance("CM-005", "CM-006", "PART-012", "SCHEMA-011")
def test_name_mode_renames_at_every_depth_and_fills_missing_columns(tmp_path: Path) -> None:
    inner = struct(_mapped("x.y", "long", 2), _mapped("new", "string", 3))
    element = struct(_mapped("x.y", "long", 7), _mapped("new", "string", 8))
    fields = [
        _mapped("a`b", inner, 1),
        _mapped("list", {"type": "array", "elementType": element, "containsNull": True}, 4),
        _mapped("col-1", "string", 5, "col-99"),
        _mapped("p p", "string", 6),
    ]
    rows = pa.table({"col-1": [{"col-2": 7}], "col-4": [[{"col-7": 8}, None]], "x.y": ["not asked for"]})
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "8"}
    root = write_table(tmp_path, fields, [DataFile("f.parquet", rows, {"col-6": "v"})], ["p p"], configuration)
    expected = {
        "a`b": {"x.y": 7, "new": None},
        "list": [{"x.y": 8, "new": None}, None],
        "col-1": None,
        "p p": "v",
    }
    assert [expected] == _rows(root)
    assert [expected] == _rows(root, "`a``b`.`x.y` = 7 AND `p p` = 'v'")


@pytest.mark.conformance("CM-002")
def test_mapping_left_in_the_metadata_is_ignored_when_the_mode_is_none(tmp_path: Path) -> None:
    root = write_table(tmp_path, [_mapped("id", "long", 1)], [DataFile("f.parquet", pa.table({"id": [4]}))])
    assert _rows(root) == [{"id": 4}]


@pytest.mark.conformance("CM-003", "CM-004")
def test_id_mode_reads_by_field_id_and_refuses_a_file_without_ids_by_name(tmp_path: Path) -> None:
    configuration = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "2"}
    fields = [_mapped("a", "long", 1), _mapped("b", "long", 2)]
    with_id = pa.schema([pa.field("whatever", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    good = DataFile("good.parquet", pa.table({"whatever": [5]}).cast(with_id))
    assert _rows(write_table(tmp_path / "g", fields, [good], configuration=configuration)) == [{"a": 5, "b": None}]
    bad = DataFile("no ids.parquet", pa.table({"col-1": [5]}))
    with pytest.raises(CorruptTable, match="no Parquet field ids") as caught:
        _rows(write_table(tmp_path / "b", fields, [bad], configuration=configuration))
    assert caught.value.path == "no%20ids.parquet"


def test_columns_that_differ_only_by_case_are_kept_apart(tmp_path: Path) -> None:
    files = [DataFile("f.parquet", pa.table({"id": [1], "ID": [2]}), {"p": "x", "P": "y"}, (9,))]
    fields = [column("id", "long"), column("ID", "long"), column("p", "string"), column("P", "string")]
    root = write_table(tmp_path, fields, files, ["p", "P"])
    assert _rows(root) == [{"id": 1, "ID": 2, "p": "x", "P": "y"}]
    assert _rows(root, "id = 2") == []


def test_column_names_of_our_own_and_of_spark_do_not_collide(tmp_path: Path) -> None:
    names = ["__explorer_row", "__explorer_file", "__explorer_c0", "_metadata", "file_path"]
    rows = pa.table({name: [i] for i, name in enumerate(names)})
    files = [DataFile("f.parquet", rows, {"__explorer_path": "x"}, (5,))]
    fields = [*(column(name, "long") for name in names), column("__explorer_path", "string")]
    root = write_table(tmp_path, fields, files, ["__explorer_path"])
    assert [{**{name: i for i, name in enumerate(names)}, "__explorer_path": "x"}] == _rows(root)


@pytest.mark.conformance("TYPEWIDEN-001")
def test_integers_widened_to_a_decimal_too_narrow_for_spark_are_read(tmp_path: Path) -> None:
    changes = [{"fromType": "byte", "toType": "decimal(4,1)", "tableVersion": 1}]
    fields = [column("d", "decimal(4,1)", **{"delta.typeChanges": changes})]
    files = [
        DataFile("old.parquet", pa.table({"d": pa.array([5], pa.int8())})),
        DataFile("new.parquet", pa.table({"d": pa.array([Decimal("12.5")], pa.decimal128(4, 1))})),
    ]
    assert [Decimal("5.0"), Decimal("12.5")] == sorted(row["d"] for row in _rows(write_table(tmp_path, fields, files)))


def test_a_missing_file_is_named_with_its_version_before_spark_starts_work(tmp_path: Path) -> None:
    root = write_table(tmp_path, [column("id", "long")], [DataFile("gone now.parquet", pa.table({"id": [1]}))])
    (root / "gone now.parquet").unlink()
    with pytest.raises(StorageError, match="does not exist") as caught:
        explorer.open_table(root).rows()
    assert (caught.value.path, caught.value.version) == ("gone%20now.parquet", 0)
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_file_that_vanishes_after_planning_is_named_too(tmp_path: Path) -> None:
    root = write_table(tmp_path, [column("id", "long")], [DataFile("f x.parquet", pa.table({"id": [1]}))])
    table = explorer.open_table(root)
    planned = scan(table, table.snapshot())
    (root / "f x.parquet").unlink()
    with pytest.raises(StorageError, match="does not exist") as caught:
        planned.to_arrow()
    assert (caught.value.path, caught.value.version) == ("f%20x.parquet", 0)


def test_a_file_of_another_size_than_logged_is_named(tmp_path: Path) -> None:
    root = write_table(tmp_path, [column("id", "long")], [DataFile("f.parquet", pa.table({"id": [1]}))])
    with (root / "f.parquet").open("ab") as file:
        file.write(b"more")
    with pytest.raises(CorruptTable, match="the log says") as caught:
        explorer.open_table(root).rows()
    assert caught.value.found == caught.value.expected + 4


@pytest.mark.parametrize("content", [b"", b"PAR1 but not really PAR1", b"x" * 100])
def test_a_file_that_is_no_parquet_is_named(tmp_path: Path, content: bytes) -> None:
    root = write_table(tmp_path, [column("id", "long")], [DataFile("f.parquet", pa.table({"id": [1]}))])
    size = (root / "f.parquet").stat().st_size
    (root / "f.parquet").write_bytes(content.ljust(size, b" "))
    with pytest.raises(CorruptTable, match="cannot be read") as caught:
        _rows(root)
    assert caught.value.path == "f.parquet"


def test_a_file_whose_types_disagree_is_named_with_the_column(tmp_path: Path) -> None:
    root = write_table(tmp_path, [column("id", "long")], [DataFile("f.parquet", pa.table({"id": ["text"]}))])
    with pytest.raises(CorruptTable, match=r"f\.parquet.*\[id\]"):
        _rows(root)


def test_a_file_that_spark_names_otherwise_raises_and_drops_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [DataFile(f"{i}.parquet", pa.table({"id": [i]}), {"p": "x"}) for i in range(2)]
    root = write_table(tmp_path, [column("id", "long"), column("p", "string")], files, ["p"])
    addresses = plan.addresses_of

    def mistaken(table: explorer.Table, files: pa.Table) -> list[FileAddress]:
        # The fault: the name that Spark will give one file is taken for another.
        right = addresses(table, files)
        return [replace(address, metadata_path=address.metadata_path.replace("0.", "9.")) for address in right]

    monkeypatch.setattr(plan, "addresses_of", mistaken)
    with pytest.raises(StorageError, match="matches no entry"):
        _rows(root)


@pytest.mark.conformance("VARIANT-001")
def test_variants_with_nulls_and_inside_arrays_come_out(tmp_path: Path) -> None:
    from explorer.spark.engine.session import engine

    source = engine().session().sql("SELECT parse_json(j) AS v FROM VALUES ('{\"a\":1}'), (NULL), ('[2]') AS t(j)")
    source.coalesce(1).write.parquet(str(tmp_path / "data"))
    (written,) = (tmp_path / "data").glob("*.parquet")
    root = write_table(tmp_path / "t", [column("v", "variant")], [DataFile("f.parquet", pa.table({"x": [1]}))])
    log = root / "_delta_log" / f"{0:020}.json"
    size = (root / "f.parquet").stat().st_size
    (root / "f.parquet").write_bytes(written.read_bytes())
    log.write_text(log.read_text().replace(f'"size":{size}', f'"size":{written.stat().st_size}'))
    table = explorer.open_table(root)
    assert table.rows().schema["v"].dataType.typeName() == "variant"
    planned = scan(table, table.snapshot())
    assert planned.to_arrow(readable=True).column("v").to_pylist() == ['{"a":1}', None, "[2]"]
    binaries = planned.to_arrow().column("v").to_pylist()
    assert [v and list(v) for v in binaries] == [["metadata", "value"], None, ["metadata", "value"]]


def test_only_rows_for_which_the_predicate_is_true_are_kept(tmp_path: Path) -> None:
    root = write_table(tmp_path, [column("n", "long")], [DataFile("f.parquet", pa.table({"n": [1, None, 3]}))])
    assert _rows(root, "n > 1") == [{"n": 3}]
    assert _rows(root, "NOT (n > 1) -- and a comment") == [{"n": 1}]


def test_a_predicate_that_fails_on_a_row_is_the_requests_fault(tmp_path: Path) -> None:
    root = write_table(tmp_path, [column("s", "string")], [DataFile("f.parquet", pa.table({"s": ["1", "x"]}))])
    with pytest.raises(RequestError, match="fails on some row"):
        _rows(root, "cast(s AS int) = 1")
