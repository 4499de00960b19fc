"""A proposal to make a table, whole: its protocol, its schema in the files, its provenance, and what makes no table."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.transaction.intents.records import CreateTable
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal
from explorer.core.transaction.proposals.create_table import create_table
from tests.support.logs.small_proposals import compact, protocol
from tests.support.logs.small_schemas import array, field, struct

MODE, HIGHEST = "delta.columnMapping.mode", "delta.columnMapping.maxColumnId"
USED = "delta.columnMapping.hasDroppedOrRenamed"
TRACKING = "delta.enableRowTracking"
ROW_IDS = "delta.rowTracking.materializedRowIdColumnName"
ROW_VERSIONS = "delta.rowTracking.materializedRowCommitVersionColumnName"


def made(*fields: dict[str, Any], **asked: Any) -> Proposal:
    letters = iter("abcdefghijkl")
    intent = CreateTable(schema=struct(*fields), **asked)
    return create_table(intent, Circumstances(now=5, new_id=lambda: next(letters)))


def refused(*fields: dict[str, Any], **asked: Any) -> InvalidIntent:
    with pytest.raises(InvalidIntent) as caught:
        made(*fields, **asked)
    return caught.value


def numbered(name: str, kind: Any, number: int, physical: str) -> dict[str, Any]:
    ids = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return field(name, kind, metadata=ids)


@pytest.mark.parametrize(("given", "description"), [(None, "said"), ("given", "given"), ("", "")])
def test_a_new_table_is_said_whole(given: str | None, description: str) -> None:
    properties = {MODE: "name", "comment": "said", "own": "1", TRACKING: "true"}
    fields = field("Day", "date"), field("s", struct(field("a b")))
    found = made(*fields, partition_columns=("`DAY`",), properties=properties, name="n", description=given)
    inner = struct(numbered("a b", "integer", 3, "col-b"))
    schema = struct(numbered("Day", "date", 1, "col-a"), numbered("s", inner, 2, "col-c"))
    configuration = {
        MODE: "name",
        "own": "1",
        TRACKING: "true",
        HIGHEST: "3",
        ROW_IDS: "_row-id-col-d",
        ROW_VERSIONS: "_row-commit-version-col-e",
    }
    names = {
        "columns": ["Day", "s", "s.`a b`"],
        "detail": "The names are free, valid and unique ignoring case.",
    }
    assert found == Proposal(
        operation="CREATE TABLE",
        parameters={
            "partitionBy": '["Day"]',
            "clusterBy": "[]",
            "description": description,
            "isManaged": "false",
            "properties": compact(configuration),
        },
        metadata=Metadata(
            id="f",
            name="n",
            description=description,
            schema_string=compact(schema),
            partition_columns=("Day",),
            configuration=configuration,
            created_time=5,
        ),
        protocol=protocol(2, 7, w="appendOnly invariants columnMapping domainMetadata rowTracking"),
        guards=(GuardResult("column-names", "pass", names),),
        undo="Delete the folder of the table.",
    )


def test_names_in_files_are_plain_where_usage_is_tracked_and_there_are_none_without_mapping() -> None:
    tracked = {MODE: "name", "delta.feature.columnMappingUsageTracking": "supported"}
    found = made(field("a"), properties=tracked).metadata
    assert found is not None
    assert found.configuration == {MODE: "name", USED: "false", HIGHEST: "1"}
    assert found.schema_string == compact(struct(numbered("a", "integer", 1, "a")))
    plain = made(field("a"), properties={MODE: "none"})
    assert plain.metadata is not None
    assert (plain.metadata.configuration, plain.metadata.schema_string) == ({MODE: "none"}, compact(struct(field("a"))))
    assert plain.parameters["description"] is None


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, protocol(1, 2)),
        ({"delta.minWriterVersion": "4"}, protocol(1, 4)),
        ({"delta.minReaderVersion": "1"}, protocol(1, 2)),
        ({"delta.minReaderVersion": "1", "delta.minWriterVersion": "1"}, protocol(1, 1)),
        ({"delta.minWriterVersion": "7"}, protocol(1, 7, w="appendOnly invariants")),
        ({"delta.minReaderVersion": "2", "delta.minWriterVersion": "6"}, protocol(2, 6)),
        (
            {"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"},
            protocol(3, 7, r="", w="appendOnly invariants"),
        ),
        (
            {"delta.feature.vacuumProtocolCheck": "supported", "delta.enableDeletionVectors": "true"},
            protocol(
                3,
                7,
                r="vacuumProtocolCheck deletionVectors",
                w="appendOnly invariants vacuumProtocolCheck deletionVectors",
            ),
        ),
    ],
)
def test_a_new_table_has_the_versions_that_are_asked_for(properties: dict[str, str], expected: Protocol) -> None:
    assert made(field("a"), properties=properties).protocol == expected


@pytest.mark.parametrize(("asked", "pair"), [({"Reader": "2"}, (2, 2)), ({"Reader": "3", "Writer": "6"}, (3, 6))])
def test_versions_of_a_new_table_that_cannot_be_are_told_with_those_that_can(
    asked: dict[str, str], pair: tuple[int, int]
) -> None:
    error = refused(field("a"), properties={f"delta.min{side}Version": value for side, value in asked.items()})
    legal = [[1, 1], [1, 2], [1, 3], [1, 4], [2, 5], [2, 6], [1, 7], [2, 7], [3, 7]]
    said = ", ".join(f"({reader}, {writer})" for reader, writer in legal)
    assert str(error) == f"Reader version {pair[0]} with writer version {pair[1]} is not a legal pair. Legal: {said}."
    assert (error.field, error.allowed) == ("delta.minWriterVersion", legal)


def test_what_is_computed_is_left_to_an_engine_to_check() -> None:
    computed = {"delta.generationExpression": "a + 1"}
    found = made(field("a"), field("g", "long", metadata=computed), field("h", metadata=computed))
    assert found.guards[1:] == (
        GuardResult(
            "generated-types",
            "unknown",
            {
                "expressions": {"g": "a + 1", "h": "a + 1"},
                "detail": "Nothing has checked that the expressions give the types of their columns.",
            },
            "Let Spark check them, or accept this guard by name.",
        ),
    )


NO_STRUCT = (
    'The schema must be a struct as in schemaString: {"type": "struct", "fields": [{"name": ..., "type": ...}]}.'
)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (None, "A table needs a schema, or a source with rows whose schema it takes."),
        ({"type": "array", "fields": [field("a")]}, NO_STRUCT),
        ({"type": "struct", "fields": "a"}, NO_STRUCT),
        ({"type": "struct"}, NO_STRUCT),
        ({"type": "struct", "fields": [field("a")], "more": 1}, NO_STRUCT),
        (struct(), "A table needs at least one column."),
        (struct(field("a", "void"), field("b", "void")), "A table needs a column that is not void."),
        (
            struct(field("a"), field("A")),
            "The table already has a column 'A'; names must differ in more than case. Choose another name.",
        ),
        (
            struct(field("a", array(struct(field("b", nullable=False))))),
            "a.element.b cannot be NOT NULL: no writer enforces that inside an array or a map.",
        ),
    ],
)
def test_what_is_no_schema_of_a_table_says_why(schema: Any, said: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        create_table(CreateTable(schema=schema), Circumstances(now=5, new_id=lambda: "i"))
    assert (str(caught.value), caught.value.field) == (said, "schema")


def test_a_column_that_is_not_void_is_enough() -> None:
    found = made(field("a", "void"), field("b", nullable=False))
    assert found.protocol == protocol(1, 2)
    strict = made(field("b", nullable=False), properties={"delta.minWriterVersion": "1"})
    assert strict.protocol == protocol(1, 7, w="invariants")
