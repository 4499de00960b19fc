"""What is written is read back the same: actions, paths, Z85, bitmaps, schemas, the hint; unknown members are kept."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.errors import CorruptDeletionVector, MalformedAction
from explorer.core.log.commit import Commit, decode_commit, parse_commit_info
from explorer.core.log.last_checkpoint import canonical_form, digests, parse_last_checkpoint
from explorer.core.protocol.actions import (
    Action,
    Add,
    AddCDCFile,
    CheckpointMetadata,
    CommitInfo,
    DeletionVectorDescriptor,
    DeletionVectorId,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    Remove,
    Sidecar,
    TransactionAction,
    encode_line,
)
from explorer.core.protocol.deletion_vectors import decode_bitmap, encode_bitmap, unframe, z85_decode, z85_encode
from explorer.core.protocol.file_paths import canonical_key, decode_path, encode_path
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    format_column,
    parse_column,
    parse_schema,
)
from tests.support.logs.small_logs import METADATA, PROTOCOL, table

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LONG = st.integers(-(2**63), 2**63 - 1)
INT = st.integers(-(2**31), 2**31 - 1)
VALUES = st.dictionaries(TEXT, st.none() | TEXT, max_size=3)
LEAF = st.none() | st.booleans() | LONG | TEXT
JSON = LEAF | st.lists(LEAF | st.lists(LEAF, max_size=2), max_size=3) | st.dictionaries(TEXT, LEAF, max_size=2)
JSON_OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
DESCRIPTORS = st.builds(
    DeletionVectorDescriptor, st.sampled_from("upi"), TEXT, INT, LONG, st.none() | INT, st.none() | LONG
)
MAYBE: dict[str, st.SearchStrategy[Any]] = {
    "tags": st.none() | VALUES,
    "deletion_vector": st.none() | DESCRIPTORS,
    "base_row_id": st.none() | LONG,
    "default_row_commit_version": st.none() | LONG,
    "stats": st.none() | TEXT,
}


def _records(kind: type[Any], **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Records of a kind, also with fields that it does not know."""
    known = set(kind.__struct_encode_fields__)
    unknown = JSON_OBJECT.map(lambda value: {name: item for name, item in value.items() if name not in known})
    return st.builds(kind, unknown=unknown, **members)


ACTIONS: dict[str, st.SearchStrategy[Any]] = {
    "add": _records(
        Add,
        path=TEXT,
        partition_values=VALUES,
        size=LONG,
        modification_time=LONG,
        data_change=st.booleans(),
        clustering_provider=st.none() | TEXT,
        **MAYBE,
    ),
    "remove": _records(
        Remove,
        path=TEXT,
        deletion_timestamp=st.none() | LONG,
        data_change=st.booleans(),
        extended_file_metadata=st.none() | st.booleans(),
        partition_values=st.none() | VALUES,
        size=st.none() | LONG,
        **MAYBE,
    ),
    "cdc": _records(AddCDCFile, path=TEXT, partition_values=VALUES, size=LONG, tags=st.none() | VALUES),
    "txn": _records(TransactionAction, app_id=TEXT, version=LONG, last_updated=st.none() | LONG),
    "domainMetadata": _records(DomainMetadata, domain=TEXT, configuration=TEXT, removed=st.booleans()),
    "protocol": _records(
        Protocol,
        min_reader_version=INT,
        min_writer_version=INT,
        reader_features=st.none() | st.lists(TEXT, max_size=3).map(tuple),
        writer_features=st.none() | st.lists(TEXT, max_size=3).map(tuple),
    ),
    "metaData": _records(
        Metadata,
        id=TEXT,
        name=st.none() | TEXT,
        description=st.none() | TEXT,
        format=st.builds(Format, TEXT, st.dictionaries(TEXT, TEXT, max_size=2)),
        schema_string=st.none() | TEXT,
        partition_columns=st.lists(TEXT, max_size=3).map(tuple),
        configuration=st.dictionaries(TEXT, TEXT, max_size=3),
        created_time=st.none() | LONG,
    ),
    "commitInfo": _records(
        CommitInfo,
        timestamp=st.none() | LONG,
        in_commit_timestamp=st.none() | LONG,
        operation=st.none() | TEXT,
        operation_parameters=st.none() | JSON_OBJECT,
        is_blind_append=st.none() | st.booleans(),
        txn_id=st.none() | TEXT,
    ),
    "checkpointMetadata": _records(CheckpointMetadata, version=LONG, tags=st.none() | VALUES),
    "sidecar": _records(Sidecar, path=TEXT, size_in_bytes=LONG, modification_time=LONG, tags=st.none() | VALUES),
}


@pytest.mark.conformance("LOG-008", "DV-004")
@pytest.mark.parametrize("name", ACTIONS)
@given(data=st.data())
def test_every_action_is_read_back_as_it_was_written(name: str, data: st.DataObject) -> None:
    action: Action = data.draw(ACTIONS[name])
    line = encode_line(action)
    assert b"\n" not in line
    assert list(json.loads(line)) == [name]
    assert type(action).decode(msgspec.json.decode(line, type=dict[str, msgspec.Raw])[name]) == action


@given(commit=st.lists(st.sampled_from(sorted(ACTIONS)).flatmap(lambda name: ACTIONS[name]), max_size=6))
def test_a_commit_is_read_back_action_by_action(commit: list[Action]) -> None:
    data = b"".join(encode_line(action) + b"\n" for action in commit)
    found = decode_commit(data, 3, "x.json")
    assert len(found.lines) == len(commit)
    assert found.transactions() == [action for action in commit if isinstance(action, TransactionAction)]
    assert found.domains() == [action for action in commit if isinstance(action, DomainMetadata)]
    assert found.change_files() == [action for action in commit if isinstance(action, AddCDCFile)]
    for line, action in zip(found.lines, commit, strict=True):
        match action:
            case Add():
                assert line.add is not None
                assert (line.add.path, line.add.size) == (action.path, action.size)
                assert line.add.deletion_vector == action.deletion_vector
            case Remove():
                assert line.remove is not None
                assert (line.remove.path, line.remove.data_change) == (action.path, action.data_change)
                assert line.remove.deletion_vector == action.deletion_vector
            case CommitInfo():
                # History reads provenance in bulk and leaves aside what it has no use for.
                assert msgspec.structs.replace(parse_commit_info(line.commitInfo), unknown=action.unknown) == action


@pytest.mark.parametrize("before", [b"", b'{"commitInfo":{"pad":"%s"}}\n' % (b"x" * 70_000)], ids=["small", "large"])
@given(
    data=st.binary(max_size=60)
    | st.lists(st.sampled_from(['{"add":', '{"a":{}}', "{}", "\n", "}", '"', " ", "[1]"])).map("".join)
)
@example(data="\n{}{}")
@example(data='{"a":{}}\n\n{"a":{}}{"a":{}}')
@example(data='{"a":\n{}}{"a":{}}')
def test_any_bytes_are_a_commit_or_a_typed_error(before: bytes, data: bytes | str) -> None:
    data = before + (data.encode() if isinstance(data, str) else data)
    line = 0
    try:
        found: Commit | None = decode_commit(data, 1, "x.json")
    except MalformedAction as error:
        found, line = None, error.line
    if found is None:
        assert 1 <= line <= data.count(b"\n") + 1
    else:
        assert len(found.lines) == sum(bool(line.strip()) for line in data.split(b"\n"))


@pytest.mark.conformance("PATH-001")
@given(location=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_a_path_is_decoded_to_the_location_it_was_encoded_from(location: str) -> None:
    relative = location.lstrip("/") or "x"
    encoded = encode_path(relative)
    assert encoded.isascii()
    assert decode_path(encoded) == relative == canonical_key(encoded)
    absolute = f"file:///{encoded}"
    assert decode_path(absolute) == f"/{relative}" == canonical_key(absolute)


@given(path=TEXT)
def test_any_path_is_decoded_or_refused(path: str) -> None:
    try:
        key = canonical_key(path)
    except MalformedAction:
        with pytest.raises(MalformedAction):
            decode_path(path)
    else:
        assert key == decode_path(path)


NO_VECTOR = DeletionVectorId("i", "")


@pytest.mark.conformance("DV-025")
@given(data=st.binary(max_size=64))
def test_z85_gives_the_bytes_back_up_to_its_padding(data: bytes) -> None:
    text = z85_encode(data)
    assert len(text) == 5 * -(-len(data) // 4)
    decoded = z85_decode(text, NO_VECTOR)
    assert decoded[: len(data)] == data
    assert not any(decoded[len(data) :])


ROWS = st.lists(st.integers(0, 300) | st.integers(0, 2**34) | st.integers(0, 2**63 - 1), unique=True, max_size=40)


@pytest.mark.conformance("DV-015")
@given(rows=ROWS)
def test_a_bitmap_gives_its_rows_back_ascending(rows: list[int]) -> None:
    data = encode_bitmap(np.array(sorted(rows), np.uint64))
    assert data[:4].hex() == "d1d33964"
    assert decode_bitmap(data, NO_VECTOR).tolist() == sorted(rows)


@pytest.mark.conformance("DV-013", "DV-014")
@given(rows=ROWS, place=st.integers(0), bit=st.integers(0, 7))
def test_a_frame_is_read_back_and_any_flipped_bit_is_noticed(rows: list[int], place: int, bit: int) -> None:
    data = encode_bitmap(np.array(sorted(rows), np.uint64))
    frame = struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    descriptor = DeletionVectorDescriptor("u", "ab", len(data), len(rows), 1)
    assert unframe(frame, descriptor) == data
    broken = bytearray(frame)
    broken[place % len(frame)] ^= 1 << bit
    with pytest.raises(CorruptDeletionVector):
        unframe(bytes(broken), descriptor)


@pytest.mark.conformance("DV-015", "DV-018")
@given(data=st.binary(max_size=40), magic=st.sampled_from(["d1d33964", "d0d33964", ""]))
def test_any_bytes_are_a_bitmap_or_a_typed_error(data: bytes, magic: str) -> None:
    try:
        rows = decode_bitmap(bytes.fromhex(magic) + data, NO_VECTOR)
    except CorruptDeletionVector:
        return
    assert magic
    assert (np.diff(rows.astype(np.int64)) > 0).all()


def _types(depth: int = 2) -> st.SearchStrategy[DataType]:
    names = ["string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary", "date", "timestamp"]
    plain = st.sampled_from([*names, "timestamp_ntz", "variant", "void"]).map(PrimitiveType)
    decimals = st.tuples(st.integers(1, 38), st.integers(0, 38)).map(
        lambda pair: PrimitiveType("decimal", pair[0], min(pair))
    )
    if not depth:
        return plain | decimals
    inner = _types(depth - 1)
    return (
        plain
        | decimals
        | st.builds(ArrayType, inner, st.booleans())
        | st.builds(MapType, inner, inner, st.booleans())
        | _structs(inner)
    )


def _structs(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[StructType]:
    fields = st.builds(StructField, TEXT, inner, st.booleans(), JSON_OBJECT)
    return st.lists(fields, max_size=3).map(lambda found: StructType(tuple(found)))


@pytest.mark.conformance("SCHEMA-001", "SCHEMA-007")
@given(schema=_structs(_types()))
def test_a_schema_is_read_back_as_it_was_written(schema: StructType) -> None:
    assert parse_schema(schema.to_json()) == schema


@given(path=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_dotted_column_is_read_back_to_its_parts(path: list[str]) -> None:
    assert parse_column(format_column(tuple(path))) == tuple(path)


def _numbers(value: Any) -> Any:
    """The canonical form as an object: a leaf for each path."""
    found: dict[tuple[str | int, ...], Any] = {}

    def walk(item: Any, path: tuple[str | int, ...]) -> None:
        if isinstance(item, dict):
            for key, inner in item.items():
                walk(inner, (*path, key))
        elif isinstance(item, list):
            for place, inner in enumerate(item):
                walk(inner, (*path, place))
        else:
            found[path] = item

    walk(value, ())
    return found


@pytest.mark.conformance("LASTCKPT-008", "LASTCKPT-009", "LASTCKPT-012")
@given(value=JSON_OBJECT)
def test_the_canonical_form_holds_every_leaf_once_in_the_order_of_its_path(value: dict[str, Any]) -> None:
    form = canonical_form(value)
    assert form.isascii()
    pairs = [pair.partition("=") for pair in form.split(",")] if form else []
    names = [name.encode() for name, _, _ in pairs]
    assert names == sorted(names)
    read = {tuple(_read(part) for part in name.split("+")): _read(leaf) for name, _, leaf in pairs}
    assert read == _numbers(value)


def _read(text: str) -> Any:
    """A key, a position or a leaf of the canonical form, read by another way than it was written."""
    if text.startswith('"'):
        raw, place = bytearray(), 1
        while place < len(text) - 1:
            if text[place] == "%":
                raw.append(int(text[place + 1 : place + 3], 16))
                place += 3
            else:
                raw += text[place].encode()
                place += 1
        return raw.decode()
    return json.loads(text)


@pytest.mark.conformance("LASTCKPT-007", "LASTCKPT-010", "LASTCKPT-012")
@given(extra=JSON_OBJECT, version=st.integers(0, 2**62), indent=st.sampled_from([None, 1]), data=st.data())
def test_a_hint_with_its_own_digest_is_taken_and_with_another_is_not(
    extra: dict[str, Any], version: int, indent: int | None, data: st.DataObject
) -> None:
    known = {"version", "size", "parts", "sizeInBytes", "numOfAddFiles", "checksum"}
    body = {name: item for name, item in extra.items() if name not in known} | {"version": version}
    right = data.draw(st.sampled_from(digests(body)))
    names = data.draw(st.permutations([*body, "checksum"]))
    for checksum, taken in ((right, True), (right[::-1], right == right[::-1])):
        whole = body | {"checksum": checksum}
        text = json.dumps({name: whole[name] for name in names}, indent=indent).encode()
        hint = parse_last_checkpoint(text)
        assert (hint is not None) is taken
        assert hint is None or hint.version == version


@given(commit=st.lists(st.sampled_from(["add", "txn", "domainMetadata"]).flatmap(lambda n: ACTIONS[n]), max_size=4))
def test_what_a_table_was_told_is_what_it_says(commit: list[Action]) -> None:
    files = [action for action in commit if isinstance(action, Add)]
    rest = [action for action in commit if not isinstance(action, Add)]
    try:
        expected = {canonical_key(file.path): file for file in files}
    except MalformedAction:
        return
    snapshot = table({0: (PROTOCOL, METADATA, *expected.values(), *rest)}).snapshot()
    found = {row["path"]: row for row in snapshot.files().to_pylist(maps_as_pydicts="strict")}
    assert found.keys() == expected.keys()
    for path, file in expected.items():
        row = found[path]
        assert (row["raw_path"], row["size"], row["modification_time"]) == (
            file.path,
            file.size,
            file.modification_time,
        )
        assert (row["partition_values"], row["tags"]) == (file.partition_values, file.tags)
        assert row["base_row_id"] == file.base_row_id
    domains = {action.domain: action for action in rest if isinstance(action, DomainMetadata)}
    assert snapshot.domain_metadata == {name: d.configuration for name, d in domains.items() if not d.removed}
