"""How versions are read so that their rows can be compared, whole: columns side by side, and files that hold a key."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

import explorer
from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.schema.data_types import (
    VOID,
    ArrayType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    type_name,
)
from explorer.core.versions.change_feed.key_files import KeyFiles, key_condition, live_between
from explorer.core.versions.column_matching import ColumnComparison, ComparedSide, UncomparedColumn, compare_columns
from tests.support.logs.checkpoint_shapes import begun_late
from tests.support.logs.small_logs import MASKED, PROTOCOL, add, metadata, remove, table, vector
from tests.support.logs.small_proposals import protocol
from tests.support.logs.small_schemas import array, field, mapping, struct

MAPPED = protocol(3, 7, r="columnMapping typeWidening", w="columnMapping typeWidening")
ID, PHYSICAL = "delta.columnMapping.id", "delta.columnMapping.physicalName"
LONG, INTEGER, STRING = PrimitiveType("long"), PrimitiveType("integer"), PrimitiveType("string")


def version(*fields: dict[str, Any], mode: str = "none", partitions: tuple[str, ...] = ()) -> Metadata:
    return Metadata(
        id="t",
        schema_string=json.dumps(struct(*fields)),
        partition_columns=partitions,
        configuration={"delta.columnMapping.mode": mode},
    )


def stored(name: str, number: int, physical: str, kind: Any = "long", **more: Any) -> dict[str, Any]:
    return field(name, kind, metadata={ID: number, PHYSICAL: physical, **more})


def compared(*versions: Metadata, before: int = 0, after: int | None = None) -> ColumnComparison:
    found = table({place: [MAPPED, each] if place == 0 else [each] for place, each in enumerate(versions)})
    last = len(versions) - 1 if after is None else after
    return compare_columns(found.history_record(), found.snapshot(before), found.snapshot(last))


def side(number: int, *fields: StructField, by_id: bool = False, partitions: tuple[str, ...] = ()) -> ComparedSide:
    return ComparedSide(number, StructType(fields), by_id, partitions)


def read_as(name: str, kind: Any, physical: str, number: int | None = None, **more: Any) -> StructField:
    return StructField(name, kind, True, {PHYSICAL: physical} | ({} if number is None else {ID: number}) | more)


def test_two_versions_of_a_table_without_a_mapping_are_read_by_their_names() -> None:
    first = version(field("k", "long", nullable=False, comment="x"), field("gone", "date"), partitions=("gone", "k"))
    second = version(field("k", "long"), field("new", "string", comment="y"), field("p.q"), partitions=("new", "k"))
    found = compared(first, second)
    kept = read_as("k", LONG, "k")
    assert found == ColumnComparison(
        side(0, kept, StructField("new", VOID), StructField("p.q", VOID), partitions=("k",)),
        side(
            1,
            kept,
            StructField("new", STRING, True, {"comment": "y"}),
            StructField("p.q", INTEGER, True, {}),
            partitions=("new", "k"),
        ),
        StructType((kept, StructField("new", STRING, True, {"comment": "y"}), StructField("p.q", INTEGER, True, {}))),
        (UncomparedColumn("gone", 0, "version 1 has no such column"),),
    )
    back = compared(first, second, before=1, after=0)
    assert back == ColumnComparison(found.after, found.before, found.schema, found.left_out)
    assert type(back.before.partition_columns) is tuple


def test_a_mapped_version_keeps_the_names_and_ids_of_its_files() -> None:
    first = version(field("a", "long"), field("p", "string"), partitions=("p",))
    second = version(
        stored("b", 1, "a", comment="z"),
        stored("q", 2, "p", "string"),
        stored("new", 3, "c3", struct(stored("in", 4, "c4"))),
        mode="id",
        partitions=("q",),
    )
    found = compared(first, second)
    new = StructField(
        "new",
        StructType((StructField("in", LONG, True, {ID: 4, PHYSICAL: "c4"}),)),
        True,
        {ID: 3, PHYSICAL: "c3"},
    )
    assert found.before == side(
        0, read_as("b", LONG, "a"), read_as("q", STRING, "p"), StructField("new", VOID), partitions=("q",)
    )
    assert found.after == side(
        1, read_as("b", LONG, "a", 1), read_as("q", STRING, "p", 2), new, by_id=True, partitions=("q",)
    )
    assert [list(each.metadata) for each in found.after.schema.fields[:2]] == [[PHYSICAL, ID]] * 2


def test_a_column_that_is_no_longer_mapped_is_read_without_the_marks_of_the_mapping() -> None:
    first = version(stored("k", 1, "c1"), mode="name")
    second = version(stored("k", 1, "c1"), stored("new", 2, "c2", comment="w"), partitions=("k",))
    found = compared(first, second)
    assert found.before == side(0, read_as("k", LONG, "c1", 1), StructField("new", VOID))
    assert found.after == side(
        1, read_as("k", LONG, "k"), StructField("new", LONG, True, {"comment": "w"}), partitions=("k",)
    )


WIDENED: dict[str, Any] = {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}


@pytest.mark.parametrize(("first", "last"), [(0, 1), (1, 0)])
def test_a_widened_column_is_read_in_the_wider_type_with_the_record_of_it(first: int, last: int) -> None:
    versions = version(field("n", "integer")), version(field("n", "long", metadata=WIDENED))
    found = compared(versions[first], versions[last])
    wide = StructField("n", LONG, True, {PHYSICAL: "n", **WIDENED})
    assert found == ColumnComparison(side(0, wide), side(1, wide), StructType((wide,)), ())


def test_a_narrow_type_with_a_record_of_its_own_takes_that_of_the_wider_one() -> None:
    short = {"delta.typeChanges": [{"fromType": "short", "toType": "integer"}]}
    found = compared(version(field("n", "integer", metadata=short)), version(field("n", "long")))
    assert found.schema == StructType((StructField("n", LONG, True, {PHYSICAL: "n"}),))


def test_types_inside_types_are_compared_part_by_part() -> None:
    def shape(number: str, text: str) -> dict[str, Any]:
        return mapping(number, array(struct(field("d", "date"), field(text, number))))

    found = compared(version(field("m", shape("integer", "x"))), version(field("m", shape("long", "x"))))
    element = StructType((read_as("d", PrimitiveType("date"), "d"), read_as("x", LONG, "x")))
    whole = read_as("m", MapType(LONG, ArrayType(element)), "m")
    assert found == ColumnComparison(side(0, whole), side(1, whole), StructType((whole,)), ())
    back = compared(version(field("m", shape("long", "x"))), version(field("m", shape("integer", "x"))))
    assert back.schema == found.schema


def test_fields_inside_maps_and_arrays_keep_the_names_of_their_files() -> None:
    inner = struct(field("x", "long"))
    first = version(field("m", mapping(inner, array(inner))))
    renamed = mapping(struct(stored("y", 2, "x")), array(struct(stored("z", 3, "x"))))
    found = compared(first, version(stored("m", 1, "m", renamed), mode="name"))

    def whole(y: int | None, z: int | None) -> MapType:
        key, item = StructType((read_as("y", LONG, "x", y),)), StructType((read_as("z", LONG, "x", z),))
        return MapType(key, ArrayType(item))

    assert found.before == side(0, read_as("m", whole(None, None), "m"))
    assert found.after == side(1, read_as("m", whole(2, 3), "m", 1))


def test_a_field_that_only_one_version_has_is_read_where_it_is() -> None:
    first = version(stored("s", 1, "s", struct(stored("a", 2, "in"), stored("gone", 3, "new"))), mode="name")
    second = version(field("s", struct(field("new.er", "date", comment="c"), field("a", "long"))))
    found = compared(first, second)
    absent = StructField("new.er", PrimitiveType("date"), True, {PHYSICAL: "explorer-absent-8c1f2a60-s.`new.er`"})
    old = StructType((absent, read_as("a", LONG, "in", 2)))
    new = StructType((StructField("new.er", PrimitiveType("date"), True, {"comment": "c"}), read_as("a", LONG, "a")))
    assert found.before == side(0, read_as("s", old, "s", 1))
    assert found.after == side(1, read_as("s", new, "s"))
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("string", "double", "c"),
        (array("string"), array("double"), "c.element"),
        (mapping("string", "long"), mapping("double", "long"), "c.key"),
        (mapping("long", "string"), mapping("long", "double"), "c.value"),
        (struct(field("x y", "string")), struct(field("x y", "double")), "c.`x y`"),
        (
            array(mapping("date", struct(field("u", "string")))),
            array(mapping("date", struct(field("u", "double")))),
            "",
        ),
        ("long", array("long"), "c"),
        (array("long"), mapping("long", "long"), "c"),
    ],
)
def test_types_without_a_common_form_are_named_with_their_place(old: Any, new: Any, place: str) -> None:
    first, second = version(field("k", "long"), field("c", old)), version(field("c", new), field("k", "long"))
    found = compared(first, first, second, before=1)
    was, now = ("string", "double") if "string" in json.dumps(old) else ("long", type_name(parsed(new)))
    if place == "c" and isinstance(old, dict):
        was = "array<long>"
    where = place or "c.element.value.u"
    reason = f"{where} is {was} at version 1 and {now} at version 2"
    assert found.left_out == (UncomparedColumn("c", 2, reason),)
    assert [each.name for each in found.schema.fields] == ["k"]


def parsed(kind: Any) -> Any:
    return table({0: [PROTOCOL, version(field("c", kind))]}).snapshot().schema.fields[0].type


def test_what_came_back_and_what_is_gone_are_left_out_in_that_order() -> None:
    both = version(stored("k", 1, "k"), stored("v.w", 2, "v"), mode="name")
    one = version(stored("k", 1, "k"), stored("x.y", 3, "x"), mode="name")
    found = compared(both, one, both, before=1)
    back = "version 1 has no such column but earlier ones had: retained files may hold values of it"
    assert found.left_out == (
        UncomparedColumn("`v.w`", 2, back),
        UncomparedColumn("`x.y`", 1, "version 2 has no such column"),
    )
    later = compared(one, both)
    assert [each.column for each in later.left_out] == ["`x.y`"]
    assert [each.name for each in later.schema.fields] == ["k", "v.w"]


def lived() -> explorer.Table:
    one = vector("one")
    return begun_late(
        {
            0: [MASKED, metadata({"p": "string", "x": "long"}, ["p"])],
            1: [add("a")],
            2: [add("brief", 1, partition_values={"p": "1"}), add("gone")],
            3: [remove("brief"), remove("gone"), add("b", 4, bounds={"x": (5, 9)}, partition_values={"p": "1"})],
            4: [remove("a"), add("a", 8, vector=one, bounds={"x": (1, 3)}, partition_values={"p": "2"})],
            5: [remove("b"), add("c", 2, bounds={"x": (7, 7)}, partition_values={"p": "1"})],
            6: [remove("c")],
        },
        1,
        [MASKED, metadata({"p": "string", "x": "long"}, ["p"]), add("a", 8, bounds={"x": (1, 3)})],
        gone=2,
    )


@pytest.mark.parametrize(
    ("first", "last", "files"),
    [
        (1, 1, {"a": (1, 1, 1)}),
        (
            1,
            6,
            {"a": (1, 3, 1), "brief": (2, 2, 2), "gone": (2, 2, 2), "b": (3, 4, 3), "a+": (4, 6, 4), "c": (5, 5, 5)},
        ),
        (2, 3, {"a": (2, 3, 2), "brief": (2, 2, 2), "gone": (2, 2, 2), "b": (3, 3, 3)}),
        (3, 4, {"a": (3, 3, 3), "b": (3, 4, 3), "a+": (4, 4, 4)}),
        (4, 5, {"b": (4, 4, 4), "a+": (4, 5, 4), "c": (5, 5, 5)}),
        (6, 6, {"a+": (6, 6, 6)}),
    ],
)
def test_files_of_a_range_say_at_which_of_its_versions_they_were_live(
    first: int, last: int, files: dict[str, tuple[int, int, int]]
) -> None:
    found = live_between(lived().history_record().lifetimes, first, last)
    vectors = found.column("dv_unique_id").to_pylist()
    names = [f"{path}+" if mask else path for path, mask in zip(found.column("path").to_pylist(), vectors, strict=True)]
    spans = zip(*(found.column(name).to_pylist() for name in ("first", "last", "added")), strict=True)
    assert dict(zip(names, spans, strict=True)) == files
    assert found.column_names == [
        *("first", "last", "added", "path", "raw_path", "partition_values", "size", "num_records", "base_row_id"),
        *("dv_unique_id", "dv_storage_type", "dv_cardinality", "dv_path_or_inline", "dv_offset", "dv_size_in_bytes"),
    ]
    assert {str(found.schema.field(name).type) for name in ("first", "last", "added")} == {"int64"}


NOON = datetime(2026, 3, 2, 12, 30, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "IS NULL"),
        (True, "= TRUE"),
        (False, "= FALSE"),
        (1, "= 1"),
        (-7, "= -7"),
        (Decimal("1E+3"), "= 1000"),
        (Decimal("-0.050"), "= -0.050"),
        (Decimal("NaN"), None),
        (Decimal("Infinity"), None),
        ("", "= ''"),
        ("a b", "= 'a b'"),
        ("it's", None),
        ("a\\b", None),
        (NOON, "= TIMESTAMP '2026-03-02 10:30:00+00:00'"),
        (NOON.replace(tzinfo=None, microsecond=5), "= TIMESTAMP_NTZ '2026-03-02 12:30:00.000005'"),
        (NOON.astimezone(UTC), "= TIMESTAMP '2026-03-02 10:30:00+00:00'"),
        (date(2026, 3, 2), "= DATE '2026-03-02'"),
        (1.5, None),
        (b"x", None),
    ],
)
def test_a_value_of_a_key_is_a_condition_where_statistics_can_answer_it(value: Any, text: str | None) -> None:
    assert key_condition({"k": value}) == (None if text is None else f"k {text}")
    beside = "" if text is None else f" AND `a.b` {text}"
    assert key_condition({"one": 1, "a.b": value, "last": "z"}) == f"one = 1{beside} AND last = 'z'"


def test_a_key_of_nothing_that_can_be_answered_has_no_condition() -> None:
    assert key_condition({}) is None
    assert key_condition({"a": 0.5, "b": b""}) is None


@pytest.mark.parametrize(
    ("where", "by_partition", "kept"),
    [
        ("x = 2", True, ["a 1", "brief 2", "gone 2", "a 4"]),
        ("x = 7", True, ["brief 2", "gone 2", "b 3", "c 5"]),
        ("x = 9", True, ["brief 2", "gone 2", "b 3"]),
        ("p = '1'", True, ["a 1", "brief 2", "gone 2", "b 3", "c 5"]),  # a and gone lack the value that they must have
        ("p = '1'", False, ["a 1", "brief 2", "gone 2", "b 3", "a 4", "c 5"]),
        ("p = '2' AND x = 1", True, ["a 1", "gone 2", "a 4"]),
        ("p IS NULL", True, ["a 1", "gone 2"]),
    ],
)
def test_files_are_left_out_where_statistics_or_partitions_prove_that_they_lack_the_key(
    where: str, by_partition: bool, kept: list[str]
) -> None:
    found = lived()
    shown = found.snapshot(1)
    files = live_between(found.history_record().lifetimes, 1, 6)
    known = KeyFiles(shown.file_columns, 1, found.commits(2, 6))
    seen = ComparedSide(6, shown.schema, False, ("p",))
    left = known.candidates(files, seen, where, by_partition=by_partition)
    assert left.schema == files.schema
    paths, added = (left.column(name).to_pylist() for name in ("path", "added"))
    assert sorted(f"{path} {version}" for path, version in zip(paths, added, strict=True)) == sorted(kept)
