"""Schemas for tests about columns."""

from __future__ import annotations

import json
from typing import Any

import explorer
from explorer.core.protocol.schema.data_types import StructField, StructType, parse_schema, type_name
from explorer.core.protocol.schema.edit import find_column
from explorer.core.transaction.proposal import GuardResult, Proposal
from tests.support.logs.small_proposals import protocol, snapshot

MAPPED = protocol(2, 7, w="columnMapping invariants appendOnly")
NAME = {"delta.columnMapping.mode": "name"}
IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 2, "delta.identity.allowExplicitInsert": False}


def field(name: str, kind: Any = "integer", *, nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    """A field as in schemaString; keys of metadata come with dots."""
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata.pop("metadata", metadata)}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    """A struct type."""
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> dict[str, Any]:
    """An array type."""
    return {"type": "array", "elementType": element, "containsNull": True}


def mapping(key: Any, value: Any) -> dict[str, Any]:
    """A map type."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


NESTED = struct(
    field("id", "long", comment="the key", kept=7),
    field("s", struct(field("x"), field("y", "string"))),
    field("l", array(struct(field("q")))),
    field("m", mapping("string", struct(field("k"))), nullable=False),
    field("p", "date"),
)


def mapped(kind: dict[str, Any], first: int = 1) -> dict[str, Any]:
    """The same struct with ids in order, and physical names ``col-ID``."""
    numbers = iter(range(first, 1000))

    def walk(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if value["type"] == "struct":
            return struct(*(numbered(item) for item in value["fields"]))
        return {key: walk(item) if key.endswith("Type") else item for key, item in value.items()}

    def numbered(item: dict[str, Any]) -> dict[str, Any]:
        own = next(numbers)
        ids = {"delta.columnMapping.id": own, "delta.columnMapping.physicalName": f"col-{own}"}
        return {**item, "metadata": {**item["metadata"], **ids}, "type": walk(item["type"])}

    found: dict[str, Any] = walk(kind)
    return found


def plain_table(kind: dict[str, Any] = NESTED, **more: Any) -> explorer.Snapshot:
    """A table without column mapping."""
    return snapshot(schema=json.dumps(kind), **more)


def mapped_table(
    kind: dict[str, Any] = NESTED, properties: dict[str, str] | None = None, **more: Any
) -> explorer.Snapshot:
    """A table with column mapping by name and room for ids above 20."""
    configuration = {**NAME, "delta.columnMapping.maxColumnId": "20", **(properties or {})}
    return snapshot(schema=json.dumps(mapped(kind)), properties=configuration, **{"rules": MAPPED, **more})


def schema_of(made: Proposal) -> StructType:
    """The schema that a proposal gives the table."""
    assert made.metadata is not None
    assert made.metadata.schema_string is not None
    return parse_schema(made.metadata.schema_string)


def shape(made: Proposal | explorer.Snapshot) -> str:
    """The schema as one text, without metadata."""
    return type_name(schema_of(made) if isinstance(made, Proposal) else made.schema)


def column(made: Proposal, name: str) -> StructField:
    """A field of the new schema."""
    found = find_column(schema_of(made), name).field
    assert found is not None
    return found


def configuration(made: Proposal) -> dict[str, str]:
    """The properties that a proposal gives the table."""
    assert made.metadata is not None
    return made.metadata.configuration


def guard(made: Proposal, name: str) -> GuardResult:
    """One of a proposal's own guards."""
    return next(item for item in made.guards if item.name == name)


def failed(made: Proposal) -> list[str]:
    """Names of the proposal's own guards that fail."""
    return [item.name for item in made.guards if item.status == "fail"]
