"""When two protocols or two metadata actions say the same, and what a checksum file that is none is refused with."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from explorer.core.log.table_state import decode_checksum, same_metadata, same_protocol
from explorer.core.protocol.actions import Format, Metadata, Protocol

PROTOCOL = Protocol(
    min_reader_version=3, min_writer_version=7, reader_features=("a", "b"), writer_features=("a", "b", "c")
)
SCHEMA = '{"type":"struct","fields":[{"name":"a"}]}'
METADATA = Metadata(id="x", name="n", description="d", schema_string=SCHEMA, partition_columns=("a",), created_time=5)


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"reader_features": ("b", "a")}, True),
        ({"writer_features": ("c", "b", "a")}, True),
        ({"min_reader_version": 2}, False),
        ({"min_writer_version": 6}, False),
        ({"reader_features": ("a",)}, False),
        ({"writer_features": ("a", "b")}, False),
        ({"reader_features": None}, False),
        ({"writer_features": None}, False),
    ],
)
def test_protocols_are_the_same_whatever_the_order_of_features(changed: dict[str, Any], same: bool) -> None:
    assert same_protocol(PROTOCOL, msgspec.structs.replace(PROTOCOL, **changed)) is same


def test_no_features_and_none_at_all_are_the_same() -> None:
    none, empty = (
        Protocol(min_reader_version=1, min_writer_version=2, reader_features=some, writer_features=some)
        for some in (None, ())
    )
    assert same_protocol(none, empty)


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"schema_string": '{ "fields": [{"name": "a"}], "type": "struct" }'}, True),
        ({"schema_string": SCHEMA.replace("a", "b")}, False),
        ({"schema_string": "no JSON"}, False),
        ({"schema_string": None}, False),
        ({"id": "y"}, False),
        ({"name": "m"}, False),
        ({"description": None}, False),
        ({"partition_columns": ()}, False),
        ({"created_time": 6}, False),
        ({"configuration": {"a": "b"}}, False),
        ({"format": Format(provider="orc")}, False),
    ],
)
def test_metadata_is_the_same_if_each_member_is_and_schemas_are_as_json(changed: dict[str, Any], same: bool) -> None:
    assert same_metadata(METADATA, msgspec.structs.replace(METADATA, **changed)) is same


def test_schemas_that_are_no_json_are_compared_as_texts() -> None:
    one, other, third = (
        msgspec.structs.replace(METADATA, schema_string=text, id=text[:1]) for text in ("{a", "{a", "{b")
    )
    assert same_metadata(one, other)
    assert not same_metadata(one, third)
    nothing, null = (msgspec.structs.replace(METADATA, schema_string=text) for text in (None, ""))
    assert same_metadata(nothing, null)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"numFiles":1}', b'{"numFiles":"1"}', b"\xff", b"[" * 100_000])
def test_what_is_no_checksum_is_refused_as_a_value(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\S") as error:
        decode_checksum(data)
    assert type(error.value) is ValueError


def test_a_checksum_has_what_its_file_has() -> None:
    found = decode_checksum(b'{"tableSizeBytes":5,"numFiles":2,"numMetadata":1,"numProtocol":1,"more":1.5,"txnId":"t"}')
    assert (found.table_size_bytes, found.num_files, found.txn_id, found.all_files) == (5, 2, "t", None)
