"""What every proposal is made with: the entry of its intent, and columns as commitInfo records them.

Protocol section: Commit Provenance Information. Invariants: an entry is made in the module that holds the function;
`explorer.core.transaction.proposals` lists the modules. In ``operationParameters`` a nested name is dotted, and a part
is in backticks only if it holds a dot; for a nested type only its kind is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from explorer.core.protocol.json_values import JsonObject, encode_json
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    type_name,
)
from explorer.core.protocol.schema.edit import Column
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.versions.snapshot import Snapshot

Asked = TypeVar("Asked", bound=Intent)


class ProposalEntry(msgspec.Struct, frozen=True):
    """An intent's record, and what makes its proposal."""

    intent: type[msgspec.Struct]
    propose: Callable[[Intent, Snapshot, Circumstances], Proposal]


def proposes(intent: type[Asked], function: Callable[[Asked, Snapshot, Circumstances], Proposal]) -> ProposalEntry:
    """Make the entry of an intent whose proposal needs the time or fresh identifiers."""

    def propose(given: Intent, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
        assert isinstance(given, intent)
        return function(given, snapshot, circumstances)

    return ProposalEntry(intent, propose)


def proposes_alone(intent: type[Asked], function: Callable[[Asked, Snapshot], Proposal]) -> ProposalEntry:
    """Make the entry of an intent whose proposal follows from the version alone."""
    return proposes(intent, lambda given, snapshot, _: function(given, snapshot))


def attribute_name(path: tuple[str, ...]) -> str:
    """Return a path as one text."""
    return ".".join(f"`{part}`" if "." in part else part for part in path)


def column_document(path: tuple[str, ...], kind: DataType | str, *, nullable: bool, metadata: JsonObject) -> JsonObject:
    """Return a column as an object: name, type, nullable, metadata."""
    text = kind if isinstance(kind, str) else _kind_name(kind)
    return {"name": attribute_name(path), "type": text, "nullable": nullable, "metadata": metadata}


def change_parameters(column: Column, field: StructField) -> JsonObject:
    """Return the parameters of a commit that changes one column."""
    document = column_document(column.path, field.type, nullable=field.nullable, metadata=field.metadata)
    return {"column": parameter_text(document)}


def parameter_text(value: object) -> str:
    """Return a parameter's value: JSON as text."""
    return encode_json(value).decode()


def _kind_name(kind: DataType) -> str:
    match kind:
        case PrimitiveType():
            return type_name(kind)
        case ArrayType():
            return "array"
        case MapType():
            return "map"
        case StructType():
            return "struct"
