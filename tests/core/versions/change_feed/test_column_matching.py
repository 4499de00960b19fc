"""Which columns of two versions are the same ones, and under what names and types each version is read."""

from __future__ import annotations

import json
from typing import Any

from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.schema.data_types import type_name
from explorer.core.versions.change_feed.sources import difference_table, read_estimate
from explorer.core.versions.column_matching import ColumnComparison, compare_columns
from tests.support.logs import small_logs

MAPPED = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("columnMapping", "deletionVectors"),
    writer_features=("columnMapping", "deletionVectors"),
)


def _column(name: str, kind: Any, stored: tuple[int, str] | None = None, **metadata: Any) -> dict[str, Any]:
    if stored is not None:
        metadata |= {"delta.columnMapping.id": stored[0], "delta.columnMapping.physicalName": stored[1]}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def _metadata(*fields: dict[str, Any], mode: str = "none", partitions: tuple[str, ...] = ()) -> Metadata:
    return Metadata(
        id="0e8a4c6e-2d0b-4f4c-9a3e-6a1f9a3b7c55",
        schema_string=json.dumps(_struct(*fields)),
        partition_columns=partitions,
        configuration={"delta.columnMapping.mode": mode},
    )


def _compared(*versions: Metadata, before: int = 0, after: int = -1) -> ColumnComparison:
    table = small_logs.table({v: [MAPPED, metadata] if v == 0 else [metadata] for v, metadata in enumerate(versions)})
    after = after % len(versions)
    return compare_columns(table.history_record(), table.snapshot(before), table.snapshot(after))


def _read(comparison: ColumnComparison) -> list[tuple[str, str, str, str]]:
    """Name and type of each compared column, and the names under which the two versions have it stored."""
    pairs = zip(comparison.before.schema.fields, comparison.after.schema.fields, strict=True)
    return [(new.name, type_name(new.type), old.physical_name, new.physical_name) for old, new in pairs]


def test_a_renamed_column_is_read_by_the_name_that_its_files_have() -> None:
    plain = _metadata(_column("a", "long"), _column("p", "string"), partitions=("p",))
    mapped = [_column("b", "long", (1, "a")), _column("q", "string", (2, "p"))]
    found = _compared(plain, _metadata(*mapped, mode="name", partitions=("q",)))
    assert _read(found) == [("b", "long", "a", "a"), ("q", "string", "p", "p")]
    assert (found.before.partition_columns, found.after.partition_columns) == (("q",), ("q",))
    assert (found.left_out, found.before.by_id) == ((), False)


def test_swapped_names_are_told_apart_and_the_order_asked_does_not_matter() -> None:
    before = _metadata(_column("a", "long", (1, "c1")), _column("b", "long", (2, "c2")), mode="id")
    after = _metadata(_column("b", "long", (1, "c1")), _column("a", "long", (2, "c2")), mode="id")
    there, back = _compared(before, after), _compared(before, after, before=1, after=0)
    assert _read(there) == [("b", "long", "c1", "c1"), ("a", "long", "c2", "c2")]
    assert (back.before, back.after) == (there.after, there.before)
    assert [field.field_id for field in there.before.schema.fields] == [1, 2]


def test_a_mapping_taken_off_and_put_on_again_keeps_its_columns() -> None:
    """In between, the files were rewritten under logical names, which became the stored ones of the new mapping."""
    first = _metadata(_column("x", "string", (1, "b")), _column("b", "string", (2, "c2")), mode="name")
    off = _metadata(_column("x", "string"), _column("b", "string"))
    again = _metadata(_column("x", "string", (3, "x")), _column("b", "string", (4, "b")), mode="name")
    assert _read(_compared(first, off)) == [("x", "string", "b", "x"), ("b", "string", "c2", "b")]
    assert _read(_compared(first, off, again)) == [("x", "string", "b", "x"), ("b", "string", "c2", "b")]


def test_types_are_compared_in_the_wider_one_whichever_version_has_it() -> None:
    narrow = _metadata(_column("n", "integer"), _column("s", _struct(_column("d", "decimal(10,2)"))))
    wide = _metadata(_column("n", "long"), _column("s", _struct(_column("d", "decimal(12,4)"))))
    for versions in ((narrow, wide), (wide, narrow)):
        found = _compared(*versions)
        assert [(name, kind) for name, kind, _, _ in _read(found)] == [("n", "long"), ("s", "struct<d:decimal(12,4)>")]
        assert found.before.schema.fields[0].type == found.after.schema.fields[0].type


def test_what_cannot_be_compared_is_left_out_with_its_reason() -> None:
    first = _metadata(_column("k", "long"), _column("gone", "long"), _column("t", _struct(_column("u", "string"))))
    second = _metadata(_column("k", "long"), _column("t", _struct(_column("u", "double"))), _column("new", "long"))
    found = _compared(first, second)
    assert [field.name for field in found.schema.fields] == ["k", "new"]
    assert type_name(found.before.schema.fields[1].type) == "void"
    assert {(c.column, c.version) for c in found.left_out} == {("t", 1), ("gone", 0)}
    assert "t.u is string at version 0 and double at version 1" in found.left_out[0].reason


def test_a_column_that_came_back_is_left_out_as_kept_files_hold_values_of_it() -> None:
    both = _metadata(_column("k", "long", (1, "k")), _column("v", "long", (2, "v")), mode="name")
    one = _metadata(_column("k", "long", (1, "k")), mode="name")
    found = _compared(both, one, both, before=1)
    assert [field.name for field in found.schema.fields] == ["k"]
    assert ["earlier ones had" in column.reason for column in found.left_out] == [True]


def test_a_field_added_to_a_struct_is_asked_of_older_files_by_a_name_that_none_has() -> None:
    old = _metadata(_column("s", _struct(_column("a", "long", (2, "b"))), (1, "s")), mode="name")
    new = _metadata(_column("s", _struct(_column("a", "long"), _column("b", "long"))))
    found = _compared(old, new)
    inner: Any = found.before.schema.fields[0].type
    names = [field.physical_name for field in inner.fields]
    assert names[0] == "b"
    assert names[1].startswith("explorer-absent")


def test_the_files_of_a_difference_are_those_that_differ_whatever_lies_between() -> None:
    one, two = small_logs.vector("one", 3), small_logs.vector("two", 1)
    table = small_logs.table(
        {
            0: [
                small_logs.MASKED,
                small_logs.METADATA,
                small_logs.add("kept"),
                small_logs.add("gone"),
                small_logs.add("masked", records=9),
            ],
            1: [
                small_logs.remove("gone"),
                small_logs.remove("masked"),
                small_logs.add("masked", records=9, vector=one),
                small_logs.add("brief"),
            ],
            2: [small_logs.remove("brief"), small_logs.add("new"), small_logs.remove("masked", vector=one)],
            3: [small_logs.add("masked", records=9, vector=two)],
        }
    )
    life = table.history_record().lifetimes
    files = difference_table(life, 0, 3)
    rows = sorted(zip(*(files.column(name).to_pylist() for name in ("kind", "path", "version")), strict=True))
    assert rows == [("delete", "gone", 0), ("difference", "masked", 3), ("insert", "new", 3)]
    (again,) = [row for row in difference_table(life, 3, 0).to_pylist() if row["kind"] == "difference"]
    assert (again["dv_unique_id"], again["before_dv_unique_id"]) == (None, two.unique_id)
    assert read_estimate(files).files == 3
    assert read_estimate(files).bytes == 300
    assert difference_table(life, 2, 2).num_rows == 0
    totals = table.diff(0, 3).totals
    assert (totals.files_added, totals.files_removed, totals.files_remasked) == (1, 1, 1)


def test_a_version_against_itself_compares_every_column() -> None:
    inner = {"type": "map", "keyType": "string", "valueType": _struct(_column("z", "long")), "valueContainsNull": True}
    found = _compared(_metadata(_column("a", "long"), _column("m", inner)))
    assert [name for name, *_ in _read(found)] == ["a", "m"]
    assert found.left_out == ()


def test_a_comparison_of_versions_follows_columns_through_a_mapping_that_came_and_went() -> None:
    inner = _struct(_column("u", "string", (4, "u")))
    swapped = (_column("b", "long", (1, "a")), _column("a", "long", (2, "b")))
    versions = [
        _metadata(_column("a", "long"), _column("b", "long"), _column("k", "long")),
        _metadata(*swapped, _column("k", "long", (3, "k")), mode="name"),
        _metadata(_column("b", "long"), _column("a", "long"), _column("k", _struct(_column("u", "string")))),
        _metadata(
            _column("c", "long", (1, "b")), _column("a", "long", (2, "a")), _column("k", inner, (3, "k")), mode="id"
        ),
    ]
    table = small_logs.table({v: [MAPPED, metadata] if v == 0 else [metadata] for v, metadata in enumerate(versions)})
    told = {
        (first, last): [
            (change.kind, change.before, change.column)
            for change in table.diff(first, last).schema
            if change.kind != "metadata"
        ]
        for first, last in ((0, 1), (0, 2), (2, 0), (1, 3), (0, 3))
    }
    widened = [("retyped", "long", "k"), ("added", None, "k.u")]
    assert told == {
        (0, 1): [("renamed", "a", "b"), ("renamed", "b", "a")],
        (0, 2): [("renamed", "a", "b"), ("renamed", "b", "a"), *widened],
        (2, 0): [
            ("renamed", "b", "a"),
            ("renamed", "a", "b"),
            ("retyped", "struct<u:string>", "k"),
            ("dropped", "string", "k.u"),
        ],
        (1, 3): [("renamed", "b", "c"), *widened],
        (0, 3): [("renamed", "a", "c"), ("renamed", "b", "a"), *widened],
    }
