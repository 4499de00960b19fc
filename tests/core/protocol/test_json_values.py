"""Numbers of JSON that this program keeps for others are the same numbers when they are written again."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

import msgspec
import pytest

from explorer.core.errors import MalformedAction
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Metadata, encode_line
from explorer.core.protocol.json_values import decode_json, encode_json, exact_number
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import parse_schema
from tests.support.logs.small_logs import METADATA, PROTOCOL, new_store, table

NUMBERS: Final = {
    "beyond doubles": "9007199254740993",
    "beyond longs": "12345678901234567890123",
    "negative": "-9223372036854775809",
    "whole, with a point": "1.0",
    "without one": "1",
    "minus nothing": "-0.0",
    "greater than doubles": "1E+400",
    "smaller than doubles": "-1E-400",
    "longer than doubles": "0.1234567890123456789",
    "whole, longer than doubles": "9007199254740993.0",
}
MEMBERS: Final = "{" + ",".join(f"{json.dumps(name)}:{number}" for name, number in NUMBERS.items()) + "}"
NEW_COLUMN: Final = {
    "kind": "add-columns",
    "fields": [{"name": "b", "type": "integer", "nullable": True, "metadata": {}}],
}


def texts(data: str | bytes) -> Any:
    """JSON with each number as the text that it is."""
    return json.loads(data, parse_float=str, parse_int=str)


def schema_with(metadata: str) -> str:
    field = f'{{"name":"id","type":"long","nullable":true,"metadata":{metadata}}}'
    return f'{{"type":"struct","fields":[{field}]}}'


def last_commit(store: LogStore, version: int) -> list[Any]:
    lines: list[Any] = [texts(line) for line in store.read(commit_name(version)).splitlines()]
    return lines


def test_a_number_is_the_same_after_decoding_and_encoding() -> None:
    assert encode_json(decode_json(MEMBERS)).decode() == MEMBERS
    assert decode_json(MEMBERS)["whole, with a point"] == 1.0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((text, float) for text in ("1.0", "1E5", "0.1", "1e22", "0.10", "-0.0")),
        *((text, Decimal) for text in ("1e400", "1e-400", "0.1234567890123456789", "1.00000000000000001")),
    ],
)
def test_a_number_is_a_double_only_where_that_says_the_same(text: str, kind: type) -> None:
    number = exact_number(text)
    assert type(number) is kind
    assert Decimal(str(number)) == Decimal(text)


def test_a_number_without_sense_is_no_json_and_says_where() -> None:
    with pytest.raises(msgspec.DecodeError, match=r"1e9999999999999999999999 is out of range - at `\$\[\.\.\.\]`"):
        decode_json('{"a":1e9999999999999999999999}')
    raw = b'{"id":"x","format":{"provider":"parquet"},"schemaString":"{}","odd":1e9999999999999999999999}'
    with pytest.raises(MalformedAction, match="is out of range") as caught:
        table({0: (PROTOCOL, b'{"metaData":' + raw + b"}")}).snapshot()
    assert caught.value.version == 0


@pytest.mark.conformance("META-009")
def test_numbers_in_unknown_fields_of_metadata_are_written_as_they_are() -> None:
    raw = encode_line(METADATA).removeprefix(b'{"metaData":').removesuffix(b"}}") + f',"odd":{MEMBERS}}}'.encode()
    again = encode_line(Metadata.decode(raw))
    assert texts(again)["metaData"] == texts(raw)
    store = new_store()
    changed = table({0: (PROTOCOL, b'{"metaData":' + raw + b"}")}, store)
    assert changed.commit(changed.plan(NEW_COLUMN)).version == 1
    [written] = [line["metaData"] for line in last_commit(store, 1) if "metaData" in line]
    assert list(written["odd"].values()) == list(NUMBERS.values())


def test_numbers_in_the_metadata_of_a_field_are_written_as_they_are() -> None:
    text = schema_with(MEMBERS)
    assert parse_schema(text).to_json() == text
    store = new_store()
    changed = table({0: (PROTOCOL, msgspec.structs.replace(METADATA, schema_string=text))}, store)
    assert changed.commit(changed.plan(NEW_COLUMN)).version == 1
    [written] = [line["metaData"] for line in last_commit(store, 1) if "metaData" in line]
    [kept, new] = texts(written["schemaString"])["fields"]
    assert list(kept["metadata"].values()) == list(NUMBERS.values())
    assert new["name"] == "b"


def test_numbers_of_a_new_field_are_written_as_they_are_given() -> None:
    store = new_store()
    changed = table({0: (PROTOCOL, METADATA)}, store)
    field = {"name": "b", "type": "integer", "nullable": True, "metadata": {"a": 2**63, "b": Decimal("1e400")}}
    changed.commit(changed.plan({"kind": "add-columns", "fields": [field]}))
    info, written = (next(iter(line.values())) for line in last_commit(store, 1))
    assert texts(written["schemaString"])["fields"][1]["metadata"] == {"a": str(2**63), "b": "1E+400"}
    [column] = texts(info["operationParameters"]["columns"])
    assert column["column"]["metadata"] == {"a": str(2**63), "b": "1E+400"}


def test_a_number_beyond_doubles_in_a_commits_provenance_stops_nobody() -> None:
    info = b'{"commitInfo":{"timestamp":1,"operation":"WRITE","operationMetrics":{"n":1e400},"odd":1e400}}'
    named = table({0: (info, PROTOCOL, METADATA)}).history().column("operation")
    assert named.to_pylist() == ["WRITE"]


def test_text_that_no_file_can_hold_is_refused_when_it_is_written() -> None:
    schema = parse_schema(schema_with('{"comment":"\\ud800","n":1e400}'))
    assert json.loads(schema.to_json())["fields"][0]["metadata"]["comment"] == "\ud800"
