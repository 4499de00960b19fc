"""Values that all clients cast alike are read; those that no reader can use are found from the log alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.compatibility.access import verdict_of
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.errors import CorruptDeletionVector, CorruptTable, IncompleteCheckpoint
from explorer.core.log.log_path import checkpoint_name
from explorer.core.log.verify.integrity import verify
from explorer.core.protocol.actions import DeletionVectorDescriptor
from explorer.core.protocol.deletion_vectors import encode_bitmap, z85_encode
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.partition_values import parse_partition_value
from explorer.core.protocol.schema.data_types import PrimitiveType
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, metadata, new_store, write

PARTITIONED = metadata({"id": "long", "p": "string"}, ("p",))
GOOD = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}


def _raw(**members: Any) -> dict[str, Any]:
    written = {"path": "f", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True} | members
    return {"add": {name: value for name, value in written.items() if value is not ...}}


def _store(line: dict[str, Any], **more: Any) -> LogStore:
    store = new_store()
    write(store, {0: (more.get("rules", PROTOCOL), more.get("said", METADATA)), 1: (line,)})
    return store


def _kinds(store: LogStore) -> list[tuple[str, int | None]]:
    return [(each.kind, each.version) for each in verify(store).problems]


def _errors(store: LogStore) -> set[str]:
    return {each.rule for each in explorer.Table(store).audit().findings if each.severity == "error"}


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (True, "true"), (1.5, "1.5"), (12345678901234567890, "12345678901234567890"), (-0.0, "-0.0")],
)
def test_a_number_or_a_boolean_for_a_text_is_taken_as_its_text(value: object, text: str) -> None:
    """As delta-spark 4.4.0, deltalake 1.6.6 and DuckDB take it, in partition values and in tags."""
    store = _store(_raw(partitionValues={"p": value}, tags={"x": value, "y": None}), said=PARTITIONED)
    files = explorer.Table(store).snapshot().files(["partition_values", "tags"]).to_pylist(maps_as_pydicts="strict")
    assert files == [{"partition_values": {"p": text}, "tags": {"x": text, "y": None}}]
    assert _kinds(store) == []


@pytest.mark.parametrize("value", [[1], {"a": 1}])
def test_what_has_no_text_is_found_by_verify_and_by_the_audit(value: object) -> None:
    for name in ("partitionValues", "tags"):
        store = _store(_raw(**{name: {"p": value}}), said=METADATA)
        assert _kinds(store) == [("invalid-file-values", 1)]
        assert _errors(store) == {"unreadable-log"}


@pytest.mark.parametrize(
    ("members", "cause"),
    [
        ({"size": ...}, "It has no size"),
        ({"size": None}, "It has no size"),
        ({"size": -5}, "Its size is -5 bytes"),
        ({"path": ""}, "Its path is empty"),
        ({"deletionVector": {**GOOD, "sizeInBytes": 40, "cardinality": 2}}, "cannot be used"),
        ({"deletionVector": {**GOOD, "pathOrInlineDv": "!!!", "sizeInBytes": 4, "cardinality": 2}}, "not Z85"),
        ({"deletionVector": {**GOOD, "sizeInBytes": 400, "cardinality": 6}}, "the inline bytes are"),
        ({"deletionVector": {**GOOD, "sizeInBytes": -1, "cardinality": 6}}, "its sizeInBytes is -1"),
        ({"deletionVector": {**GOOD, "sizeInBytes": 40, "cardinality": -6}}, "its cardinality is -6"),
    ],
)
def test_a_file_that_no_reader_can_give_is_found_from_the_log_alone(members: dict[str, Any], cause: str) -> None:
    store = _store(_raw(**members), rules=MASKED)
    (problem,) = (each for each in verify(store).problems if each.breaking)
    assert (problem.kind, problem.version, cause in problem.detail) == ("invalid-file-values", 1, True)
    assert "unreadable-log" in _errors(store)


def test_a_file_that_a_checkpoint_lists_twice_is_found() -> None:
    store = new_store()
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("a"), add("b"), add("a")], "classic")
    assert _kinds(store) == [("invalid-file-values", 3)]
    assert "listed more than once" in verify(store).problems[0].detail
    assert _errors(store) == {"unreadable-log"}


def _rewritten(store: LogStore, member: str, kind: pa.DataType | None, *, action: str = "add") -> LogStore:
    """A copy of a checkpoint of version 3 in which one member has another type, or is absent."""
    table = pq.read_table(pa.BufferReader(store.read(checkpoint_name(3))))
    place = table.schema.get_field_index(action)
    struct = table.column(place).combine_chunks()
    names = [field.name for field in struct.type]
    arrays = dict(zip(names, struct.flatten(), strict=True))
    if kind is None:
        arrays.pop(member)
    else:
        arrays[member] = arrays[member].cast(kind)
    changed = pa.StructArray.from_arrays(list(arrays.values()), list(arrays), mask=struct.is_null())
    sink = pa.BufferOutputStream()
    pq.write_table(table.set_column(place, action, changed), sink)
    copied = new_store()
    copied.put_if_absent(checkpoint_name(3), sink.getvalue().to_pybytes())
    return copied


@pytest.mark.parametrize(
    ("member", "kind", "action"),
    [
        ("size", pa.float64(), "add"),
        ("size", pa.uint64(), "add"),
        ("size", pa.string(), "add"),
        ("modificationTime", pa.timestamp("ms"), "add"),
        ("dataChange", pa.int32(), "add"),
        ("dataChange", None, "add"),
        ("path", pa.binary(), "add"),
        ("minReaderVersion", pa.int64(), "protocol"),
    ],
)
def test_a_checkpoint_of_types_that_other_clients_refuse_is_named(
    member: str, kind: pa.DataType | None, action: str
) -> None:
    store = new_store()
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("a")], "classic")
    assert _kinds(store) == []
    changed = _rewritten(store, member, kind, action=action)
    assert explorer.Table(changed).snapshot().num_files == 1
    (problem,) = verify(changed).problems
    assert (problem.kind, f"{action}" in problem.detail, member in problem.detail) == ("checkpoint-types", True, True)
    assert "write a checkpoint" in problem.next_step


def test_a_checkpoint_whose_actions_are_in_columns_of_another_case_loses_no_file_silently() -> None:
    store = new_store()
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("a")], "classic")
    table = pq.read_table(pa.BufferReader(store.read(checkpoint_name(3))))
    sink = pa.BufferOutputStream()
    pq.write_table(table.rename_columns(["ADD" if name == "add" else name for name in table.column_names]), sink)
    other = new_store()
    other.put_if_absent(checkpoint_name(3), sink.getvalue().to_pybytes())
    with pytest.raises(IncompleteCheckpoint, match="its column 'ADD' is 'add'"):
        explorer.Table(other).snapshot().files(["path"])
    assert _kinds(other) == [("unreadable-checkpoint", 3)]


def test_a_checkpoint_whose_partition_values_are_no_map_is_a_problem_and_no_error_of_verify() -> None:
    store = new_store()
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("a")], "classic")
    table = pq.read_table(pa.BufferReader(store.read(checkpoint_name(3))))
    place = table.schema.get_field_index("add")
    struct = table.column(place).combine_chunks()
    arrays = dict(zip([field.name for field in struct.type], struct.flatten(), strict=True))
    arrays["partitionValues"] = pa.array([None] * len(struct), pa.struct([("p", pa.string())]))
    changed = pa.StructArray.from_arrays(list(arrays.values()), list(arrays), mask=struct.is_null())
    sink = pa.BufferOutputStream()
    pq.write_table(table.set_column(place, "add", changed), sink)
    other = new_store()
    other.put_if_absent(checkpoint_name(3), sink.getvalue().to_pybytes())
    assert _kinds(other) == [("unreadable-checkpoint", 3)]
    assert "unreadable-log" in _errors(other)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2024-01-05 10:00:00 Europe/Berlin", 9),
        ("2024-07-05 10:00:00 Europe/Berlin", 8),
        ("2024-01-05 10:00:00+02:00:00", 8),
        ("2024-01-05 10:00:00 UTC+2", 8),
        ("2024-01-05 10:00:00GMT-01:00", 11),
        ("2024-01-05T10:00 UT+1", 9),
        ("2026-03-29 02:30:00 Europe/Berlin", 1),
    ],
)
def test_a_time_with_a_zone_is_read_as_spark_casts_it(text: str, hour: int) -> None:
    found = parse_partition_value(text, PrimitiveType("timestamp"), "p")
    assert isinstance(found, datetime)
    assert (found.hour, found.tzinfo) == (hour, UTC)


def test_a_time_without_a_zone_keeps_its_clock_whatever_zone_is_stated() -> None:
    for zone in ("+02:00", " Europe/Berlin", "Z"):
        found = parse_partition_value(f"2024-01-05 10:00:00{zone}", PrimitiveType("timestamp_ntz"), "p")
        assert isinstance(found, datetime)
        assert (found.hour, found.tzinfo) == (10, None)


@pytest.mark.parametrize(
    "text", ["2024-01-05 10:00:00 Europe/Nowhere", "2024-01-05 Europe/Berlin", "2024-01-05 10:00:00 PM"]
)
def test_a_zone_that_does_not_exist_is_refused(text: str) -> None:
    for kind in ("timestamp", "timestamp_ntz"):
        with pytest.raises(CorruptTable, match="is not of type"):
            parse_partition_value(text, PrimitiveType(kind), "p")


@pytest.mark.parametrize(("text", "value"), [("t", True), ("Yes", True), ("y", True), ("F", False), ("no", False)])
def test_a_boolean_in_words_is_read_as_spark_casts_it(text: str, value: bool) -> None:
    assert parse_partition_value(text, PrimitiveType("boolean"), "p") is value


def _reads(store: LogStore, client: str) -> str:
    facts = client_facts()
    return verdict_of(explorer.Table(store).requirements(), facts, client, facts.versions[client][-1]).read


@pytest.mark.parametrize(
    ("column", "spark", "deltalake"),
    [
        ({"name": "id", "type": "long", "metadata": {}}, "no", "no"),
        ({"name": "id", "type": "long", "nullable": "true", "metadata": {}}, "no", "no"),
        ({"name": "id", "type": "long", "nullable": True, "metadata": None}, "no", "no"),
        (
            {"name": "id", "type": {"type": "array", "elementType": "long"}, "nullable": True, "metadata": {}},
            "no",
            "no",
        ),
        ({"name": "id", "type": "long", "nullable": True, "metadata": {}, "extra": 1}, "no", "yes"),
        ({"name": "id", "type": "long", "nullable": True, "metadata": {}}, "yes", "yes"),
    ],
)
def test_a_schema_in_another_form_decides_who_reads_the_table(
    column: dict[str, Any], spark: str, deltalake: str
) -> None:
    """Each was tried on a table: delta-spark 4.4.0 and deltalake 1.6.6 refuse it, or read it."""
    said = metadata({"id": "long"})
    schema = json.dumps({"type": "struct", "fields": [column]})
    store = new_store()
    write(store, {0: (PROTOCOL, {"metaData": {**said.to_wire(), "schemaString": schema}}, add("a"))})
    assert _reads(store, "delta-spark") == spark
    assert _reads(store, "delta-rs (python deltalake)") == deltalake


@pytest.mark.parametrize("identifier", [1.5, True])
def test_a_column_id_that_is_no_integer_is_a_problem(identifier: object) -> None:
    mapping = {"delta.columnMapping.id": identifier, "delta.columnMapping.physicalName": "id"}
    schema = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": mapping}]}
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    said = {**METADATA.to_wire(), "schemaString": json.dumps(schema), "configuration": configuration}
    store = new_store()
    rules = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    write(store, {0: (rules, {"metaData": said}, add("a"))})
    assert _kinds(store) == [("invalid-metadata", 0)]


def test_a_newest_checkpoint_of_such_types_is_an_error_of_the_audit_unasked() -> None:
    store = new_store()
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("a")], "classic")
    changed = explorer.Table(_rewritten(store, "dataChange", pa.int32(), action="add"))
    found = [each for each in changed.audit().findings if each.rule == "log-faults"]
    assert [each.severity for each in found] == ["error"]
    assert "log-faults" not in {each.rule for each in explorer.Table(store).audit().findings}


_BITMAP = encode_bitmap(np.array([3, 29], np.uint64))
_INLINE = {
    "storageType": "i",
    "pathOrInlineDv": z85_encode(_BITMAP),
    "sizeInBytes": len(_BITMAP),
    "cardinality": 2,
}
_STORED = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 34, "cardinality": 2}


@pytest.mark.parametrize(
    ("vector", "records", "said"),
    [
        (_INLINE, 29, "it masks row 29, but the file's statistics count 29 rows"),
        (_INLINE, 1, "it masks row 29, but the file's statistics count 1 row"),
        (_STORED | {"offset": 0}, 9, "its offset is 0, and the first is 1"),
        (_STORED, 9, "its offset is missing, and the first is 1"),
    ],
)
@pytest.mark.parametrize("shape", ["", "classic"])
def test_vectors_that_the_reader_refuses_by_the_log_alone_are_found(
    vector: dict[str, Any], records: int, said: str, shape: str
) -> None:
    masked = add("f", records, vector=msgspec.convert(vector, DeletionVectorDescriptor))
    store = new_store()
    if shape:
        write_checkpoint(store, 1, [MASKED, METADATA, masked], "classic")
    else:
        write(store, {0: (MASKED, METADATA), 1: (masked,)})
    (problem,) = verify(store).problems
    assert (problem.kind, problem.version, problem.breaking) == ("invalid-file-values", 1, True)
    assert said in problem.detail
    with pytest.raises(CorruptDeletionVector):
        explorer.Table(store).snapshot().deletion_vector_rows("f")


@pytest.mark.parametrize("records", [30, None])
def test_a_vector_of_rows_that_the_file_may_have_is_no_problem(records: int | None) -> None:
    masked = add("f", records, vector=msgspec.convert(_INLINE, DeletionVectorDescriptor))
    store = new_store()
    write(store, {0: (MASKED, METADATA), 1: (masked,)})
    assert verify(store).problems == ()
