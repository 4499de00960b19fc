"""Actions and the numbers in them as a log holds them: each written and read back exactly, and how much is read."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec
import pytest

from explorer.core.errors import LimitExceeded
from explorer.core.protocol import limits
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
from explorer.core.protocol.json_values import decode_json, encode_json, exact_number, plain_number
from explorer.core.protocol.raw_actions import (
    AddLine,
    CommitLine,
    FullAddLine,
    FullRemoveLine,
    RemoveLine,
    unknown_members,
)

VECTOR = DeletionVectorDescriptor("u", "ab^", 40, 6, 4, 9)
WIRE = {"storageType": "u", "pathOrInlineDv": "ab^", "sizeInBytes": 40, "cardinality": 6, "offset": 4, "maxRowIndex": 9}


@pytest.mark.parametrize(
    ("action", "line"),
    [
        (Protocol(min_reader_version=1, min_writer_version=2), {"minReaderVersion": 1, "minWriterVersion": 2}),
        (
            Protocol(min_reader_version=3, min_writer_version=7, reader_features=(), writer_features=("a",)),
            {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": ["a"]},
        ),
        (
            Metadata(id="x"),
            {"id": "x", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [], "configuration": {}},
        ),
        (
            Add(path="a", size=1, modification_time=2, deletion_vector=VECTOR),
            {
                "path": "a",
                "partitionValues": {},
                "size": 1,
                "modificationTime": 2,
                "dataChange": True,
                "deletionVector": WIRE,
            },
        ),
        (
            Remove(path="a", deletion_vector=DeletionVectorDescriptor("i", "x", 1, 2)),
            {
                "path": "a",
                "dataChange": True,
                "deletionVector": {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 2},
            },
        ),
        (AddCDCFile(path="c", size=3), {"path": "c", "partitionValues": {}, "size": 3, "dataChange": False}),
        (TransactionAction(app_id="a", version=4), {"appId": "a", "version": 4}),
        (DomainMetadata(domain="d"), {"domain": "d", "configuration": "", "removed": False}),
        (
            CommitInfo(in_commit_timestamp=5, is_blind_append=False, operation_parameters={"n": Decimal("1e400")}),
            {"inCommitTimestamp": 5, "operationParameters": {"n": Decimal("1e400")}, "isBlindAppend": False},
        ),
        (CheckpointMetadata(version=6, tags={"a": None}), {"version": 6, "tags": {"a": None}}),
        (
            Sidecar(path="s", size_in_bytes=1, modification_time=2),
            {"path": "s", "sizeInBytes": 1, "modificationTime": 2},
        ),
    ],
)
def test_an_action_is_written_in_the_names_of_the_protocol_and_read_back(action: Action, line: dict[str, Any]) -> None:
    names = {Protocol: "protocol", Metadata: "metaData", AddCDCFile: "cdc", TransactionAction: "txn"}
    name = names.get(type(action), f"{type(action).__name__[0].lower()}{type(action).__name__[1:]}")
    assert decode_json(encode_json(action.to_wire())) == line
    assert decode_json(encode_line(action)) == {name: line}
    assert type(action).decode(encode_json(line)) == action
    odd = {**line, "odd": None, "Path": [1], "unknown": {"a": 1}}
    kept = type(action).from_wire(odd)
    assert kept == msgspec.structs.replace(action, unknown={"odd": None, "Path": [1], "unknown": {"a": 1}})
    assert decode_json(encode_json(kept.to_wire())) == odd


def test_a_member_that_is_null_counts_as_absent() -> None:
    stated: dict[str, Any] = {
        "id": "x",
        "name": None,
        "format": {"provider": None, "options": {"k": "v"}},
        "configuration": None,
    }
    assert Metadata.from_wire(stated) == Metadata(id="x", format=Format("parquet", {"k": "v"}))
    assert Metadata.from_wire({"id": "x", "format": None}) == Metadata(id="x")
    for value, kind in (([], "list"), (None, "NoneType"), (1, "int")):
        for record in (Metadata, Protocol):
            with pytest.raises(msgspec.ValidationError, match=f"^Expected `object`, got `{kind}`$"):
                record.from_wire(value)


def test_a_vector_is_named_by_its_place() -> None:
    assert (VECTOR.unique_id, VECTOR.id) == ("uab^@4", DeletionVectorId("u", "ab^", 4))
    assert VECTOR.id.unique_id == "uab^@4"
    whole, first = DeletionVectorDescriptor("i", "xy", 1, 2), DeletionVectorDescriptor("p", "f", 1, 2, 0)
    assert [(each.unique_id, each.id.unique_id) for each in (whole, first)] == [("ixy", "ixy"), ("pf@0", "pf@0")]
    for kind in (AddLine, RemoveLine):
        assert [kind("a").vector_id, kind("a", deletion_vector=VECTOR).vector_id] == [None, "uab^@4"]


def test_members_of_a_file_action_are_absent_null_or_raw_and_unknown_ones_kept_where_the_line_is_whole() -> None:
    text = b'{"add":{"path":"a","stats":null,"tags":{"k":"v"},"odd":1}}'
    line = msgspec.json.decode(text, type=CommitLine).add
    assert line is not None
    assert [bytes(raw) for raw in (line.partition_values, line.stats, line.tags)] == [b"", b"null", b'{"k":"v"}']
    assert unknown_members(line) == unknown_members(RemoveLine("a")) == unknown_members(FullAddLine("a")) == {}
    assert unknown_members(FullAddLine("a", unknown={"odd": 1})) == {"odd": 1}
    assert unknown_members(FullRemoveLine("a", unknown={"odd": 2})) == {"odd": 2}


@pytest.mark.parametrize("text", ["1_0", "\u0661", "1\u00b2", "_", "é"])
def test_a_number_that_only_python_reads_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a number$") as refused:
        plain_number(text)
    assert str(refused.value) == f"{text!r} is not a number"
    assert [plain_number(plain) for plain in ("10", "-1.5e3", "")] == ["10", "-1.5e3", ""]


def test_a_number_out_of_range_is_shown_by_its_beginning() -> None:
    text = "1e" + "9" * 60
    with pytest.raises(ValueError, match=r"is out of range$") as refused:
        exact_number(text)
    assert str(refused.value) == f"the number {text[:40]} is out of range"


def said(check: Callable[[], object]) -> dict[str, object]:
    with pytest.raises(LimitExceeded) as refused:
        check()
    return refused.value.facts()


def test_a_size_at_its_limit_passes_and_one_beyond_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    limits.check_file("a", 4 * 1024**3)
    assert said(lambda: limits.check_file("a", 4 * 1024**3 + 1)) == {
        "error": "LimitExceeded",
        "path": "a",
        "found": 4294967297,
        "allowed": 4294967296,
        "message": "The file a has 4,294,967,297 bytes; at most 4,294,967,296 are read. Check which program wrote it: "
        "a log file of this size is probably corrupt. If it is not, raise "
        "explorer.core.protocol.limits.MAX_FILE_BYTES.",
    }
    monkeypatch.setattr(limits, "MAX_CHECKPOINT_BYTES", 1000)
    limits.check_checkpoint(7, 1000)
    assert said(lambda: limits.check_checkpoint(7, 1001)) == {
        "error": "LimitExceeded",
        "version": 7,
        "found": 1001,
        "allowed": 1000,
        "message": "The checkpoint of version 7 has 1,001 bytes; one process replays at most 1,000. Let Spark "
        "replay it: delta-explorer snapshot, files or statistics TABLE --spark MASTER (local[*] is this machine), or "
        "Table.files_frame() in Python. If you have enough memory, raise DELTA_EXPLORER_MAX_CHECKPOINT_BYTES.",
    }
    limits.check_column(2**31 - 1, "3 texts")
    assert said(lambda: limits.check_column(2**31, "3 texts")) == {
        "error": "LimitExceeded",
        "found": 2147483648,
        "allowed": 2147483647,
        "message": "3 texts together have 2,147,483,648 bytes; a string column holds at most 2,147,483,647. Select "
        "other columns of the files, let Spark list them (delta-explorer files TABLE --spark MASTER), or compact the "
        "table's small files first.",
    }


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", None),
        (b"x" * 1000, None),
        (b"x" * 1000 + b"\n" + b"y" * 1000 + b"\n" + b"z" * 1000, None),
        (b"x" * 1001, 1),
        (b"x" * 1001 + b"\n", 1),
        (b"x" * 1000 + b"\n\n" + b"y" * 1001 + b"\nz", 3),
        (b"\n" * 1000 + b"y" * 1001, 1001),
    ],
)
def test_a_line_beyond_its_limit_is_told_with_its_number(
    data: bytes, line: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 1000)
    if line is None:
        limits.check_lines(data, 4, "c.json")
        assert max(map(len, data.split(b"\n"))) <= 1000
        return
    assert said(lambda: limits.check_lines(data, 4, "c.json")) == {
        "error": "LimitExceeded",
        "version": 4,
        "path": "c.json",
        "line": line,
        "found": 1001,
        "allowed": 1000,
        "message": f"Line {line} of c.json (version 4) has 1,001 bytes; at most 1,000 are read. If it is a real "
        "action, raise explorer.core.protocol.limits.MAX_LINE_BYTES.",
    }


def test_three_hundred_objects_and_arrays_inside_each_other_are_read_and_no_more() -> None:
    value: Any = {"a": 1, "b": []}
    for _ in range(149):
        value = [1, {"x": "y", "z": value}]
    limits.check_nesting(value, "It")
    limits.check_nesting([[]] * 400, "It")
    limits.check_nesting("x", "It")
    for deeper in ([value], {"k": value}):
        assert said(partial(limits.check_nesting, deeper, "It")) == {
            "error": "LimitExceeded",
            "allowed": 300,
            "message": "It is nested deeper than 300 objects and arrays, the deepest nesting that is read. Real "
            "schemas are much flatter; the log is probably corrupt.",
        }
