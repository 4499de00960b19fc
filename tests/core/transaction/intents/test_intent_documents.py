"""Intents as JSON and as records: what is read and shown again, and what is refused in which words, field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.transaction.intents.documents import (
    intent_document,
    intent_fields,
    intent_kind,
    intent_kinds,
    parse_intent,
)
from explorer.core.transaction.intents.records import (
    AddColumns,
    Append,
    Checkpoint,
    CleanLog,
    CompactLog,
    CreateTable,
    Delete,
    DropColumns,
    Intent,
    Merge,
    MergeClause,
    MoveColumn,
    Optimize,
    Overwrite,
    Restore,
    SetDescription,
    SetProperties,
    SetTransaction,
    Update,
    check_batch,
    merge_clauses,
)

KINDS = (
    *("create-table", "set-properties", "unset-properties", "set-description", "set-column-comment"),
    *("add-constraint", "drop-constraint", "set-not-null", "drop-not-null", "add-columns", "rename-column"),
    *("drop-columns", "move-column", "widen-type", "set-column-mapping", "upgrade-protocol", "enable-feature"),
    *("drop-feature", "set-domain", "remove-domain", "set-transaction", "sync-identity", "restore", "append"),
    *("delete", "purge", "update", "overwrite", "merge", "optimize", "recompute-statistics"),
    *("checkpoint", "compact-log", "clean-log", "vacuum"),
)
SHOWN: tuple[tuple[Intent, dict[str, Any]], ...] = (
    (SetDescription(description=None), {"kind": "set-description", "description": None}),
    (CompactLog(from_=1, to=2), {"kind": "compact-log", "from": 1, "to": 2}),
    (Checkpoint(), {"kind": "checkpoint"}),
    (CleanLog(), {"kind": "clean-log"}),
    (CleanLog(older_than="interval 1 day"), {"kind": "clean-log", "olderThan": "interval 1 day"}),
    (AddColumns(fields=({"name": "a"},), at=0), {"kind": "add-columns", "fields": [{"name": "a"}], "at": 0}),
    (MoveColumn(column="a", at="first"), {"kind": "move-column", "column": "a", "at": "first"}),
    (CreateTable(schema={}), {"kind": "create-table", "schema": {}}),
    (
        Append(source="s", merge_schema=True, txn_app_id="a", txn_version=0),
        {"kind": "append", "source": "s", "mergeSchema": True, "txnAppId": "a", "txnVersion": 0},
    ),
    (Update(set={"a": "b"}, where="c"), {"kind": "update", "set": {"a": "b"}, "where": "c"}),
    (Optimize(z_order_by=("a", "b")), {"kind": "optimize", "zOrderBy": ["a", "b"]}),
    (DropColumns(columns=("a",)), {"kind": "drop-columns", "columns": ["a"]}),
)


def refusal(value: Any) -> InvalidIntent:
    with pytest.raises(InvalidIntent) as caught:
        parse_intent(value)
    return caught.value


def test_kinds_and_their_fields_have_their_names_and_order() -> None:
    assert intent_kinds() == KINDS
    fields = ("txnAppId", "txnVersion", "source", "where", "partitions", "mergeSchema")
    assert sorted(intent_fields("overwrite")) == sorted(fields)
    assert intent_fields("compact-log") == ("from", "to")
    assert intent_fields("checkpoint") == ()
    assert intent_fields("recompute-statistics") == ("columns", "where")
    with pytest.raises(InvalidIntent):
        intent_fields("Checkpoint")


@pytest.mark.parametrize(("intent", "document"), SHOWN, ids=[each["kind"] for _, each in SHOWN])
def test_an_intent_is_shown_as_it_was_written(intent: Intent, document: dict[str, Any]) -> None:
    assert json.loads(json.dumps(intent_document(intent))) == document
    assert next(iter(intent_document(intent))) == "kind"
    assert intent_kind(intent) == document["kind"]
    assert parse_intent(document) == intent
    assert parse_intent(intent) == intent
    assert type(parse_intent(intent)) is type(intent)


def test_an_intent_is_read_from_text_and_bytes() -> None:
    text = '{"to": "b", "kind": "rename-column", "column": "ä"}'
    found = parse_intent(text)
    assert parse_intent(text.encode()) == found
    assert intent_document(found) == {"kind": "rename-column", "column": "ä", "to": "b"}


@pytest.mark.parametrize("text", ["{", b"\xff", "[" * 100_000])
def test_text_that_is_not_json_is_refused_with_an_example(text: str | bytes) -> None:
    error = refusal(text)
    assert str(error).startswith("The intent is not JSON: ")
    assert str(error).endswith('. Write it like {"kind": "set-description", "description": "..."}.')
    assert (error.field, error.allowed) == (None, None)
    assert error.__cause__ is not None


@pytest.mark.parametrize("value", ["[]", "3", b"null", [1]])
def test_what_is_no_object_is_no_intent(value: Any) -> None:
    error = refusal(value)
    assert str(error) == 'An intent is a JSON object with the field kind, such as {"kind": "checkpoint"}.'
    assert (error.field, error.allowed) == ("kind", list(KINDS))


@pytest.mark.parametrize(
    ("kind", "shown", "near"),
    [
        ({"kind": "drop-column"}, "no intent of kind 'drop-column'", "drop-columns"),
        ({"kind": "zzz"}, "no intent of kind 'zzz'", None),
        ({"kind": None}, "no text in the intent's field kind", None),
        ({}, "no text in the intent's field kind", None),
        ({"kind": 3}, "no text in the intent's field kind", None),
        ({"kind": ["checkpoint"]}, "no text in the intent's field kind", None),
    ],
)
def test_a_kind_that_does_not_exist_is_refused_with_the_nearest(
    kind: dict[str, Any], shown: str, near: str | None
) -> None:
    error = refusal(kind)
    hint = f" Did you mean {near}?" if near else ""
    assert str(error) == f"There is {shown}.{hint} Kinds: {', '.join(KINDS)}."
    assert (error.field, error.allowed, error.nearest) == ("kind", list(KINDS), near)


@pytest.mark.parametrize(
    ("document", "said", "field", "near"),
    [
        (
            {"kind": "rename-column", "column": "a", "too": "b"},
            "The intent rename-column has no field 'too'; its fields are: column, to.",
            "too", "to",
        ),
        (
            {"kind": "checkpoint", "version": 3},
            "The intent checkpoint has no field 'version'; its fields are: none.",
            "version", None,
        ),
        (
            {"kind": "rename-column", 3: "b"},
            "The intent rename-column has no field 3; its fields are: column, to.",
            "3", None,
        ),
        (
            {"kind": "rename-column", "column": "a"},
            "The intent rename-column needs the field 'to'; its fields are: column, to.",
            "to", None,
        ),
        (
            {"kind": "rename-column"},
            "The intent rename-column needs the field 'column'; its fields are: column, to.",
            "column", None,
        ),
        (
            {"kind": "compact-log", "to": 3},
            "The intent compact-log needs the field 'from'; its fields are: from, to.",
            "from", None,
        ),
    ],
)  # fmt: skip
def test_a_field_that_is_foreign_or_missing_is_told_with_those_there_are(
    document: dict[Any, Any], said: str, field: str, near: str | None
) -> None:
    error = refusal(document)
    assert (str(error), error.field, error.nearest) == (said, field, near)
    assert error.allowed == list(intent_fields(document["kind"]))


@pytest.mark.parametrize(
    ("document", "field", "allowed"),
    [
        ({"kind": "set-description", "description": 3}, "description", ["text", "null"]),
        ({"kind": "add-constraint", "name": None, "expression": "a"}, "name", ["text"]),
        ({"kind": "unset-properties", "keys": "a"}, "keys", ["a list of texts"]),
        ({"kind": "add-columns", "fields": ["a"]}, "fields", ["a list of objects"]),
        ({"kind": "move-column", "column": "a", "at": 1.5}, "at", ["an integer", "text"]),
        ({"kind": "add-columns", "fields": [{}], "at": []}, "at", ["an integer", "text", "null"]),
        ({"kind": "set-properties", "properties": "a"}, "properties", ["an object of texts"]),
        ({"kind": "set-properties", "properties": {"a": None}}, "properties", ["an object of texts"]),
        ({"kind": "update", "set": {"a": True}}, "set", ["an object of texts"]),
        ({"kind": "create-table", "schema": "a"}, "schema", ["an object", "null"]),
        ({"kind": "append", "source": "a", "mergeSchema": "true"}, "mergeSchema", ["true or false"]),
        ({"kind": "compact-log", "from": "1", "to": 2}, "from", ["an integer"]),
        ({"kind": "compact-log", "from": 1, "to": object()}, "to", ["an integer"]),
    ],
)
def test_a_value_of_a_wrong_type_is_told_what_it_must_be(
    document: dict[str, Any], field: str, allowed: list[str]
) -> None:
    error = refusal(document)
    assert error.field == field
    assert isinstance(error.allowed, list)
    assert sorted(error.allowed) == sorted(allowed)
    words = " or ".join(str(word) for word in error.allowed)
    assert str(error) == f"The field {field} of the intent {document['kind']} must be {words}."


def test_numbers_and_booleans_among_properties_become_their_text() -> None:
    given: dict[str, Any] = {"a": True, "b": False, "c": 3, "d": 1.5, "e": "True", "f": 2**4_000 - 1}
    texts = {"a": "true", "b": "false", "c": "3", "d": "1.5", "e": "True", "f": str(2**4_000 - 1)}
    assert parse_intent({"kind": "set-properties", "properties": given}) == SetProperties(properties=texts)
    assert refusal({"kind": "set-properties", "properties": {"a": 2**4_000}}).field == "properties"
    assert refusal({"kind": "set-domain", "domain": True, "configuration": "x"}).field == "domain"


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"kind": "set-properties", "properties": {}}, "properties"),
        ({"kind": "unset-properties", "keys": []}, "keys"),
        ({"kind": "add-columns", "fields": []}, "fields"),
        ({"kind": "drop-columns", "columns": []}, "columns"),
        ({"kind": "update", "set": {}}, "set"),
    ],
)
def test_an_empty_list_of_wishes_asks_for_nothing(document: dict[str, Any], field: str) -> None:
    error = refusal(document)
    assert (str(error), error.field) == (f"The field {field} is empty. Give at least one value.", field)


def batched(kind: str, **more: Any) -> dict[str, Any]:
    own: dict[str, dict[str, Any]] = {
        "update": {"set": {"a": "1"}},
        "delete": {"where": "a"},
        "merge": {"on": "a", "matched": [{"delete": True}]},
    }
    source = {"source": "s"} if kind in ("append", "overwrite", "merge") else {}
    return {"kind": kind, **source, **own.get(kind, {}), **more}


@pytest.mark.parametrize("kind", ["append", "delete", "update", "overwrite", "merge"])
def test_a_batch_has_an_application_and_a_version(kind: str) -> None:
    for given, missing in (({"txnAppId": "a"}, "txnVersion"), ({"txnVersion": 0}, "txnAppId")):
        error = refusal(batched(kind, **given))
        assert str(error) == f"A batch is known by the application and its version: give {missing} too."
        assert (error.field, error.allowed) == (missing, ["txnAppId", "txnVersion"])
    error = refusal(batched(kind, txnAppId="", txnVersion=1))
    assert (str(error), error.field) == ("The application needs a name.", "txnAppId")
    error = refusal(batched(kind, txnAppId="a", txnVersion=2**63))
    assert (error.field, error.found) == ("txnVersion", 2**63)
    for version in (-(2**63), 0, 2**63 - 1):
        assert parse_intent(batched(kind, txnAppId="a", txnVersion=version)) is not None


def test_a_version_of_a_batch_fits_into_64_bits() -> None:
    for version in (-(2**63), 2**63 - 1):
        assert SetTransaction(app_id="a", version=version).version == version
        check_batch("a", version, "app", "number")
    for version in (-(2**63) - 1, 2**63):
        with pytest.raises(InvalidIntent) as caught:
            check_batch("a", version, "app", "number")
        assert str(caught.value) == "The version is not a 64-bit integer."
        assert (caught.value.field, caught.value.found) == ("number", version)
    with pytest.raises(InvalidIntent) as caught:
        check_batch("", 1, "app", "number")
    assert (str(caught.value), caught.value.field) == ("The application needs a name.", "app")


@pytest.mark.parametrize(
    ("document", "said", "field", "allowed"),
    [
        ({"kind": "restore"}, "Restore to a version or to a timestamp: give one of the two.", "version",
         ["version", "timestamp"]),
        ({"kind": "restore", "version": 0, "timestamp": "x"},
         "Restore to a version or to a timestamp: give one of the two.", "version", ["version", "timestamp"]),
        ({"kind": "overwrite", "source": "s", "where": "a", "partitions": True},
         "Overwrite by a condition or by partitions: give one of the two.", "where", ["where", "partitions"]),
        ({"kind": "merge", "source": "s", "on": "a"},
         "The merge has no clauses. Add at least one for matched or unmatched rows.", "matched", None),
        ({"kind": "optimize", "orderBy": ["a"], "zOrderBy": ["b"]},
         "Order by columns or along a curve: give one of the two.", "orderBy", ["orderBy", "zOrderBy"]),
        ({"kind": "optimize", "targetSize": 0}, "The size of files must be at least one byte, not 0.", "targetSize",
         None),
    ],
)  # fmt: skip
def test_two_wishes_at_once_or_none_are_refused(
    document: dict[str, Any], said: str, field: str, allowed: list[str] | None
) -> None:
    error = refusal(document)
    assert (str(error), error.field, error.allowed) == (said, field, allowed)


@pytest.mark.parametrize(
    "intent",
    [
        Restore(version=0),
        Restore(timestamp="x"),
        Overwrite(source="s", where="a"),
        Overwrite(source="s", partitions=True),
        Optimize(target_size=1),
        Optimize(order_by=("a",)),
        Delete(where="a"),
        Merge(source="s", on="a", not_matched=({"insert": "*"},)),
        Merge(source="s", on="a", not_matched_by_source=({"delete": True},)),
    ],
)
def test_one_wish_is_taken(intent: Intent) -> None:
    assert parse_intent(intent_document(intent)) == intent


def test_clauses_of_a_merge_are_in_the_order_in_which_they_are_tried() -> None:
    merge = Merge(
        source="s",
        on="a",
        matched=({"when": "b", "update": {"x": "1", "y": "2"}}, {"update": "*"}, {"delete": True}),
        not_matched=({"insert": "*"}, {"when": None, "insert": {"x": "z"}}),
        not_matched_by_source=({"delete": True, "when": "c"}, {"update": {"x": "3"}}),
    )
    assert merge_clauses(merge) == (
        MergeClause("matched", "b", "update", {"x": "1", "y": "2"}),
        MergeClause("matched", None, "update", None),
        MergeClause("matched", None, "delete", {}),
        MergeClause("notMatched", None, "insert", None),
        MergeClause("notMatched", None, "insert", {"x": "z"}),
        MergeClause("notMatchedBySource", "c", "delete", {}),
        MergeClause("notMatchedBySource", None, "update", {"x": "3"}),
    )


VALUES = 'an object of columns and SQL expressions, or "*"'


@pytest.mark.parametrize(
    ("group", "clause", "actions", "wanted"),
    [
        ("matched", {"insert": "*"}, ["update", "delete"], None),
        ("matched", {}, ["update", "delete"], None),
        ("matched", {"when": "a"}, ["update", "delete"], None),
        ("matched", {"when": 3, "delete": True}, ["update", "delete"], None),
        ("matched", {"update": "*", "delete": True}, ["update", "delete"], None),
        ("notMatched", {"update": "*"}, ["insert"], None),
        ("notMatchedBySource", {"insert": "*"}, ["update", "delete"], None),
        ("matched", {"delete": False}, ["delete"], "true"),
        ("matched", {"delete": "true"}, ["delete"], "true"),
        ("matched", {"update": {}}, ["update"], VALUES),
        ("matched", {"update": {"x": 3, "y": "z"}}, ["update"], VALUES),
        ("notMatched", {"insert": "x"}, ["insert"], VALUES),
        ("notMatchedBySource", {"update": "*"}, ["update"], VALUES),
    ],
)
def test_a_clause_that_says_nothing_or_too_much_is_named_by_its_place(
    group: str, clause: dict[str, Any], actions: list[str], wanted: str | None
) -> None:
    first = {"insert": "*"} if group == "notMatched" else {"delete": True}
    error = refusal({"kind": "merge", "source": "s", "on": "a", group: [first, clause]})
    name = f"{group}[1]"
    if wanted is None:
        said = f"The clause {name} must have one of {', '.join(actions)}, and may have when, a condition as text."
        assert (str(error), error.field, error.allowed) == (said, name, [*actions, "when"])
        return
    assert (str(error), error.field) == (f"The field {actions[0]} of the clause {name} must be {wanted}.", name)
    assert error.allowed is None
