"""Where a version uses a column: partitioning and clustering, constraints, generated columns, defaults, identity.

Invariant: an expression that cannot be split counts as one that reads the column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError
from explorer.core.protocol.schema.data_types import StructField, format_column
from explorer.core.protocol.schema.field_metadata import (
    CHAR_VARCHAR,
    CURRENT_DEFAULT,
    GENERATION_EXPRESSION,
    IDENTITY_HIGH_WATER_MARK,
    IDENTITY_PREFIX,
    IDENTITY_START,
    IDENTITY_STEP,
)
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.protocol.sql.stored_expressions import mentions
from explorer.core.transaction.new_files.row_constraints import row_rules
from explorer.core.versions.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """One use of a column.

    Attributes:
        kind: What uses it: ``constraint``, ``generated as``, ``partitioning``, ...
        text: How, for people.
        feature: The table feature that clients need for it; empty if they need none.
    """

    kind: str
    text: str
    feature: str = ""


def column_uses(snapshot: Snapshot, path: Path, field: StructField) -> Iterator[ColumnUse]:
    """Yield the uses of a column: what it is part of, what it is made from, what reads it."""
    metadata = field.metadata
    if (path[0],) == path and path[0] in snapshot.partition_columns:
        others = len(snapshot.partition_columns) - 1
        also = f" and {fmt.plural(others, 'other column')}" if others else ""
        yield ColumnUse("partitioning", f"The table is partitioned by it{also}.")
    if format_column(path) in snapshot.clustering_columns:
        yield ColumnUse("clustering", "The table is clustered by it.", "clustering")
    if any(key.startswith(IDENTITY_PREFIX) for key in metadata):
        yield ColumnUse("identity", ", ".join(_identity(metadata)), "identityColumns")
    if CHAR_VARCHAR in metadata:
        yield ColumnUse("length", str(metadata[CHAR_VARCHAR]))
    if CURRENT_DEFAULT in metadata:
        yield ColumnUse("default", str(metadata[CURRENT_DEFAULT]), "allowColumnDefaults")
    if GENERATION_EXPRESSION in metadata:
        yield ColumnUse("generated as", str(metadata[GENERATION_EXPRESSION]), "generatedColumns")
    if not field.nullable:
        yield ColumnUse("constraint", "NOT NULL", "invariants")
    yield from _readers(snapshot, path)


_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "check": ("constraint", "checkConstraints"),
    "invariant": ("invariant", "invariants"),
    "generated": ("generates", "generatedColumns"),
}


def _identity(metadata: Mapping[str, object]) -> Iterator[str]:
    for key, what in ((IDENTITY_START, "starts at"), (IDENTITY_STEP, "step"), (IDENTITY_HIGH_WATER_MARK, "last value")):
        if key in metadata:
            yield f"{what} {metadata[key]}"


def _readers(snapshot: Snapshot, path: Path) -> Iterator[ColumnUse]:
    """Yield the constraints, and the generated columns, whose expressions read a column."""
    try:
        rules = row_rules(snapshot)
    except ExplorerError as error:
        yield ColumnUse("constraints", f"They cannot be read: {error}")
        return
    name = format_column(path)
    for rule in rules:
        own = rule.name == name and rule.kind != "check"
        if rule.stored is None or (own and rule.kind == "generated"):
            continue
        if own or mentions(rule.stored.text, path, snapshot.schema):
            kind, feature = _KINDS[rule.kind]
            yield ColumnUse(kind, f"{rule.name}: {rule.stored.text}", feature)
