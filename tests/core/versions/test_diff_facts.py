"""What a diff says of each file, column, property and attribute, every member of it, in both directions."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from explorer.core.errors import UnsupportedFeature
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.versions.diff import (
    ColumnChange,
    DiffTotals,
    PropertyChange,
    ProtocolChange,
    diff_metadata,
    diff_properties,
    diff_protocols,
)
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, remove, table, vector

V = vector("v", 2)
COMMITS: dict[int, list[Any]] = {
    0: [MASKED, METADATA, add("a%20b", 10, size=100), add("b", 20, size=200), add("c", None, size=300)],
    1: [msgspec.structs.replace(remove("c"), data_change=False), add("d", 4, size=40, data_change=False)],
    2: [remove("b"), add("b", 20, size=201, vector=V, partition_values={"p": "1"})],
    3: [remove("a%20b")],
    4: [],
}
NAMES = (
    *("change", "path", "raw_path", "partition_values", "size", "num_records"),
    *("dv_cardinality_before", "dv_cardinality_after", "data_change", "version"),
)


def _protocol(reader: int, writer: int, **features: tuple[str, ...]) -> Protocol:
    return Protocol(min_reader_version=reader, min_writer_version=writer, **features)


def _row(*values: Any) -> dict[str, Any]:
    return dict(zip(NAMES, values, strict=True))


def test_each_file_that_differs_has_a_row_with_all_that_is_known_of_it() -> None:
    found = table(COMMITS).diff(0, 4)
    assert found.files.to_pylist() == [
        _row("added", "d", "d", [], 40, 4, None, 0, False, 1),
        _row("removed", "a b", "a%20b", [], 100, 10, 0, None, True, 3),
        _row("removed", "c", "c", [], 300, None, 0, None, False, 1),
        _row("remasked", "b", "b", [("p", "1")], 201, 20, 0, 2, True, 2),
    ]
    assert found.files.schema.names == [*NAMES]
    assert [found.files.schema.field(name).type for name in ("version", "dv_cardinality_after", "data_change")] == [
        pa.int64(),
        pa.int64(),
        pa.bool_(),
    ]
    totals = DiffTotals(1, 2, 1, 40, 400, 4, None, 2)
    assert (found.from_version, found.to_version, found.totals) == (0, 4, totals)
    assert repr(found) == f"SnapshotDiff(from_version=0, to_version=4, totals={totals})"
    assert (found.schema, found.protocol, found.properties, found.attributes) == ((), None, (), ())


def test_the_other_way_the_version_is_the_one_that_is_undone() -> None:
    found = table(COMMITS).diff(4, 0)
    assert found.files.to_pylist() == [
        _row("added", "a b", "a%20b", [], 100, 10, None, 0, True, 3),
        _row("added", "c", "c", [], 300, None, None, 0, True, 1),
        _row("removed", "d", "d", [], 40, 4, 0, None, True, 1),
        _row("remasked", "b", "b", [], 200, 20, 2, 0, True, 2),
    ]
    assert found.totals == DiffTotals(2, 1, 1, 400, 40, None, 4, -2)


def test_a_version_does_not_differ_from_itself() -> None:
    found = table(COMMITS).diff(2, 2)
    assert (found.files.num_rows, found.totals) == (0, DiffTotals(0, 0, 0, 0, 0, 0, 0, 0))


def _field(name: str, kind: Any = "long", *, nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def _mapped(place: int, name: str, kind: Any = "long", *, nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    mapping = {"delta.columnMapping.id": place, "delta.columnMapping.physicalName": f"c{place}"}
    return _field(name, kind, nullable=nullable, **mapping, **metadata)


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": [*fields]}


def _metadata(*fields: dict[str, Any], mode: str = "name", **more: Any) -> Metadata:
    configuration = {"delta.columnMapping.mode": mode} if mode != "none" else {}
    return msgspec.structs.replace(
        METADATA, schema_string=json.dumps(_struct(*fields)), configuration=configuration, **more
    )


BEFORE = _metadata(
    _mapped(1, "a", "integer", nullable=False, comment="old", gone=True, kept="same"),
    _mapped(2, "b", "string"),
    _mapped(3, "s", _struct(_mapped(4, "x"), _mapped(5, "y"))),
)
AFTER = _metadata(
    _mapped(6, "n.w", "date"),
    _mapped(3, "t", _struct(_mapped(4, "x"), _mapped(7, "z", "double"))),
    _mapped(1, "a", "long", comment="new", kept="same", order=[1, {"k": None}]),
)
CHANGES = (
    ColumnChange("added", "`n.w`", None, "date", 6),
    ColumnChange("renamed", "t", "s", "t", 3),
    ColumnChange("added", "t.z", None, "double", 7),
    ColumnChange("retyped", "a", "integer", "long", 1),
    ColumnChange("nullability", "a", "not null", "nullable", 1),
    ColumnChange("metadata", "a", "comment = old", "comment = new", 1),
    ColumnChange("metadata", "a", "gone = true", None, 1),
    ColumnChange("metadata", "a", None, 'order = [1,{"k":null}]', 1),
    ColumnChange("dropped", "b", "string", None, 2),
    ColumnChange("dropped", "s.y", "long", None, 5),
)


def test_columns_are_told_in_the_order_of_the_later_schema_and_drops_last() -> None:
    assert diff_metadata(BEFORE, AFTER, ("name", "name")) == CHANGES
    mapped = Protocol(min_reader_version=2, min_writer_version=5)
    found = table({0: [mapped, BEFORE], 1: [AFTER]})
    assert found.diff(0, 1).schema == CHANGES
    back = {(change.kind, change.column) for change in found.diff(1, 0).schema}
    assert back == {
        *(("added", "b"), ("added", "s.y"), ("dropped", "`n.w`"), ("dropped", "t.z"), ("renamed", "s")),
        *(("retyped", "a"), ("nullability", "a"), ("metadata", "a")),
    }


def test_without_a_mapping_a_column_is_its_name() -> None:
    before, after = (_metadata(_field(name), mode="none") for name in ("a", "b"))
    assert diff_metadata(before, after, ("none", "none")) == (
        ColumnChange("added", "b", None, "long", None),
        ColumnChange("dropped", "a", "long", None, None),
    )
    assert diff_metadata(before, before, ("none", "none")) == ()
    assert diff_metadata(msgspec.structs.replace(before, schema_string=None), after, ("none", "none")) == (
        ColumnChange("added", "b", None, "long", None),
    )


def test_properties_attributes_and_the_protocol_are_compared_key_by_key() -> None:
    first = msgspec.structs.replace(METADATA, configuration={"b": "1", "c": "2", "e": "5"}, name="n", description="d")
    second = msgspec.structs.replace(
        first, id="other", configuration={"a": "3", "b": "4", "e": "5"}, name=None, partition_columns=("id",)
    )
    newer = _protocol(1, 4)
    found = table({0: [PROTOCOL, first], 1: [newer, second]}).diff(0, 1)
    assert found.properties == (
        PropertyChange("a", None, "3"),
        PropertyChange("b", "1", "4"),
        PropertyChange("c", "2", None),
    )
    assert found.attributes == (
        PropertyChange("id", METADATA.id, "other"),
        PropertyChange("name", "n", None),
        PropertyChange("partitionColumns", None, "id"),
    )
    came = ("checkConstraints", "changeDataFeed", "generatedColumns")
    assert found.protocol is not None
    assert (found.protocol.before, found.protocol.after) == (PROTOCOL, newer)
    assert sorted(found.protocol.features_added) == sorted(came)
    assert found.protocol.features_removed == ()
    both = msgspec.structs.replace(first, partition_columns=("id", "p"))
    (columns,) = table({0: [PROTOCOL, first], 1: [both]}).diff(0, 1).attributes
    assert columns == PropertyChange("partitionColumns", None, "id, p")
    (described,) = (
        table({0: [PROTOCOL, first], 1: [msgspec.structs.replace(first, description="e")]}).diff(0, 1).attributes
    )
    assert described == PropertyChange("description", "d", "e")


def test_a_protocol_that_went_back_tells_what_went() -> None:
    newer = _protocol(3, 7, reader_features=("deletionVectors",), writer_features=("deletionVectors", "appendOnly"))
    older = _protocol(1, 7, writer_features=("appendOnly", "domainMetadata"))
    assert diff_protocols(newer, older) == ProtocolChange(newer, older, ("domainMetadata",), ("deletionVectors",))
    assert (diff_protocols(newer, newer), diff_protocols(None, newer), diff_protocols(newer, None)) == (None,) * 3
    assert diff_properties({}, {}) == ()


def test_files_of_a_log_without_metadata_are_compared_and_nothing_else() -> None:
    found = table({0: [PROTOCOL, add("a", 1, size=5)], 1: [_protocol(1, 3), add("b", 2, size=7)]}).diff(0, 1)
    assert (found.from_version, found.to_version, found.totals.bytes_added) == (0, 1, 7)
    assert found.files.column("path").to_pylist() == ["b"]
    assert (found.schema, found.properties, found.attributes) == ((), (), ())
    assert found.protocol is not None
    assert found.protocol.after.min_writer_version == 3


def test_a_version_before_the_first_metadata_is_compared_by_its_files() -> None:
    found = table({0: [PROTOCOL, add("a")], 1: [METADATA, add("b")]})
    for versions in at_least_one(((0, 1), (1, 0))):
        diff = found.diff(*versions)
        assert (diff.files.column("path").to_pylist(), diff.schema, diff.properties, diff.attributes) == (
            ["b"],
            (),
            (),
            (),
        )


@pytest.mark.parametrize("versions", [(0, 1), (1, 0), (1, 1)])
def test_a_version_that_cannot_be_read_is_not_compared(versions: tuple[int, int]) -> None:
    unknown = _protocol(3, 7, reader_features=("zeta",), writer_features=("zeta",))
    found = table({0: [PROTOCOL, METADATA, add("a")], 1: [unknown], 2: [PROTOCOL]})
    with pytest.raises(UnsupportedFeature, match="zeta") as error:
        found.diff(*versions)
    assert error.value.version == 1
    assert found.diff(0, 2).files.num_rows == 0


@pytest.mark.parametrize("lacking", ["size", "rows"])
def test_a_sum_is_unknown_if_one_of_its_files_is(lacking: str) -> None:
    files = [add("a", 3, size=30), add("b", 4, size=40)]
    if lacking == "size":
        line = b'{"add":{"path":"c","modificationTime":1,"dataChange":true,"stats":"{\\"numRecords\\":5}"}}'
    else:
        line = b'{"add":{"path":"c","size":50,"modificationTime":1,"dataChange":true}}'
    found = table({0: [PROTOCOL, METADATA], 1: [*files, line]})
    totals, back = found.diff(0, 1).totals, found.diff(1, 0).totals
    expected = (None, 12) if lacking == "size" else (120, None)
    assert (totals.bytes_added, totals.rows_added) == (back.bytes_removed, back.rows_removed) == expected
    assert (totals.bytes_removed, totals.rows_removed, back.bytes_added, back.rows_added) == (0, 0, 0, 0)
