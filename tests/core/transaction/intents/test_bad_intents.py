"""Intents that make no sense: each field of each kind missing, foreign, of another type, out of range, not writable."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from explorer.core.errors import InvalidIntent, RequestError, VersionNotFound
from explorer.core.transaction.intents.documents import intent_fields, intent_kinds, parse_intent
from explorer.core.transaction.intents.records import (
    AddConstraint,
    Intent,
    SetDescription,
    SetProperties,
    SetTransaction,
)
from explorer.new_table import new_table
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, table

RECORDS = {str(record.__struct_config__.tag): record for record in get_args(Intent)}
WRONG: tuple[Any, ...] = (None, True, 3, 1.5, "text", ["text"], [3], {"key": "text"}, {"key": [3]}, object(), b"text")


def _nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def _valid(kind: str) -> dict[str, Any]:
    """An intent of a kind whose fields have the right types, whatever they mean to a table."""
    examples: dict[Any, Any] = {str: "text", int: 1}
    found = {}
    for field in msgspec.structs.fields(RECORDS[kind]):
        if not field.required:
            continue
        origin = getattr(field.type, "__origin__", None)
        members = {dict: {"key": "text"}, tuple: ["text"]}.get(origin)
        if field.encode_name == "fields":
            members = [{"name": "text"}]
        found[field.encode_name] = members if members is not None else examples.get(field.type, "text")
    if kind == "restore":
        found["version"] = 1
    if kind == "merge":
        found["matched"] = [{"delete": True}]
    return {"kind": kind, **found}


def _refusal(value: Any) -> InvalidIntent:
    with pytest.raises(InvalidIntent) as caught:
        parse_intent(value)
    msgspec.json.encode(caught.value.facts())  # what is refused can be told as JSON, however odd it was
    return caught.value


def _refused(value: Any) -> InvalidIntent | None:
    try:
        parse_intent(value)
    except InvalidIntent as error:
        return error
    return None


@pytest.mark.parametrize("kind", intent_kinds())
def test_a_field_that_is_missing_or_foreign_is_named(kind: str) -> None:
    whole = _valid(kind)
    parse_intent(whole)
    assert list(intent_fields(kind)) == _refusal({**whole, "colour": "red"}).allowed
    assert _refusal({**whole, "colour": "red"}).field == "colour"
    assert _refusal({**whole, "\ud800": "red"}).facts()["field"] == "\\ud800"
    for field in msgspec.structs.fields(RECORDS[kind]):
        if field.required:
            refused = _refusal({name: item for name, item in whole.items() if name != field.encode_name})
            assert (refused.field, refused.allowed) == (field.encode_name, list(intent_fields(kind)))


@pytest.mark.parametrize("kind", [kind for kind in intent_kinds() if intent_fields(kind)])
def test_a_value_of_another_type_names_the_field_and_what_may_stand_there(kind: str) -> None:
    whole = _valid(kind)
    for name in at_least_one(intent_fields(kind)):
        refusals = [error for wrong in WRONG if (error := _refused({**whole, name: wrong})) is not None]
        # Restore wants one of two fields, and is told of the first; a batch wants both, and is told of the missing one.
        names = {name, "version"} if kind == "restore" else {name}
        names |= {"txnAppId", "txnVersion"} if name in {"txnAppId", "txnVersion"} else set()
        assert {error.field for error in refusals} <= names
        assert all(error.allowed for error in refusals)
        assert len(refusals) >= len(WRONG) // 2
        for unwritable in ("\ud800", ["a\udfffb"], {"\udfff": "x"}, _nested(3_000)):
            assert _refusal({**whole, name: unwritable}).field == name


@pytest.mark.parametrize("kind", [None, 3, [], {}, _nested(3_000), "\ud800", "x" * 100_000, b"checkpoint"])
def test_a_kind_that_is_none_lists_those_there_are(kind: Any) -> None:
    refused = _refusal({"kind": kind})
    assert (refused.field, refused.allowed) == ("kind", list(intent_kinds()))
    assert len(refused.message) < 10_000


@pytest.mark.parametrize("text", ["", "3", "[]", "null", '"x"', "{", '{"kind":', "[" * 100_000, b"\xff\xfe", "{}\n{}"])
def test_text_that_is_no_json_object_is_no_intent(text: str | bytes) -> None:
    with pytest.raises(InvalidIntent):
        parse_intent(text)


def test_a_record_made_in_the_program_is_checked_like_its_json() -> None:
    found = table({0: (PROTOCOL, METADATA, add("a"))})
    bad: list[tuple[Any, str]] = [
        (SetDescription(description="\ud800"), "description"),
        (SetDescription(description=b"bytes"), "description"),  # type: ignore[arg-type]  # what a caller may do
        (SetProperties(properties={}), "properties"),
        (SetProperties(properties={"a": ["b"]}), "properties"),  # type: ignore[dict-item]  # what a caller may do
        (AddConstraint(name=None, expression="a > 0"), "name"),  # type: ignore[arg-type]  # what a caller may do
        (SetTransaction(app_id="a", version="1"), "version"),  # type: ignore[arg-type]  # what a caller may do
    ]
    for intent, field in bad:
        with pytest.raises(InvalidIntent) as caught:
            found.plan(intent)
        assert caught.value.field == field
    as_numbers = SetProperties(properties={"delta.checkpointInterval": 20})  # type: ignore[dict-item]  # as in JSON
    assert found.plan(as_numbers).intent == SetProperties(properties={"delta.checkpointInterval": "20"})
    with pytest.raises(InvalidIntent):
        new_table("memory:///nowhere").plan(SetDescription(description="x"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("delta.checkpointInterval", "9" * 5_000),
        ("delta.checkpointInterval", 10**5_000),
        ("delta.logRetentionDuration", "interval " + "9" * 100_000),
        ("delta.logRetentionDuration", "interval 99999999999999999999 days"),
        ("delta.deletedFileRetentionDuration", "interval 1e9 weeks"),
    ],
    ids=["many digits", "great number", "long interval", "great interval", "power"],
)
def test_numbers_beyond_all_bounds_are_refused_by_name(key: str, value: object) -> None:
    found = table({0: (PROTOCOL, METADATA, add("a"))})
    with pytest.raises(InvalidIntent) as caught:
        found.plan({"kind": "set-properties", "properties": {key: value}})
    assert caught.value.field in {key, "properties"}
    assert caught.value.allowed


@pytest.mark.parametrize("kind", ["clean-log", "vacuum"])
@pytest.mark.parametrize(
    "age", ["interval 99999999999999999999 days", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "some day"]
)
def test_ages_beyond_all_times_are_refused_by_name(kind: str, age: str) -> None:
    found = table({0: (PROTOCOL, METADATA, add("a"))})
    with pytest.raises(InvalidIntent) as caught:
        found.plan({"kind": kind, "olderThan": age})
    assert caught.value.field == "olderThan"
    assert caught.value.allowed


@pytest.mark.parametrize("kind", ["clean-log", "vacuum"])
def test_the_longest_age_there_is_lets_nothing_go(kind: str) -> None:
    found = table({0: (PROTOCOL, METADATA, add("a"))})
    plan = found.plan({"kind": kind, "olderThan": "interval 999999999 days"})
    assert plan.files == ()


def test_a_version_or_time_to_restore_that_is_not_there_names_the_field_and_the_nearest() -> None:
    found = table({0: (PROTOCOL, METADATA, add("a"))})
    with pytest.raises(VersionNotFound) as missing:
        found.plan({"kind": "restore", "version": 7})
    assert (missing.value.field, missing.value.nearest) == ("version", 0)
    for time in ("0001-01-01T00:00:00+23:59", "1970-01-01T00:00:00Z", "noon"):
        with pytest.raises(RequestError) as caught:
            found.plan({"kind": "restore", "timestamp": time})
        assert caught.value.field == "timestamp"
