"""Renaming and dropping columns: only the logical name, or the schema, changes; files keep their bytes.

Protocol section: Column Mapping (Writer Requirements). Invariants: ids and physical names never change (CM-007) and the
highest id never falls (CM-009); both need column mapping, and nothing may depend on the column (CM-013); the flag of
usage tracking is set by the first of them (CMUSAGE-001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from explorer.core.compatibility.my_clients import MyClient
from explorer.core.compatibility.releases import OWN_ENGINE
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.counted import counted
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.schema.data_types import VOID, StructField, StructType, format_column
from explorer.core.protocol.schema.edit import children, edit_fields, first_names, replace_field, struct_field
from explorer.core.protocol.schema.field_metadata import IDENTITY_PREFIX
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.protocol.table_features import active_features
from explorer.core.protocol.table_properties.registry import HAS_DROPPED_OR_RENAMED, STATS_COLUMNS
from explorer.core.transaction.guards.column_traces import LoggedOperation, traces_guard, values_guard
from explorer.core.transaction.guards.columns import (
    char_guard,
    check_free,
    clustering_guard,
    constraint_guard,
    generated_guard,
    mapping_guard,
    names_guard,
    partition_guard,
)
from explorer.core.transaction.intents.property_settings import statistics_column, statistics_columns_of
from explorer.core.transaction.intents.records import DropColumns, RenameColumn
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.column_mapping import USAGE_TRACKING
from explorer.core.transaction.proposals.entry import attribute_name, parameter_text, proposes_alone
from explorer.core.versions.snapshot import Snapshot


def rename_column(intent: RenameColumn, snapshot: Snapshot) -> Proposal:
    """Give a column another name.

    Raises:
        InvalidIntent: There is no such column, or the name is empty or taken.
    """
    column, field = struct_field(snapshot.schema, intent.column)
    before, after = column.path, (*column.path[:-1], intent.to)
    check_free(intent.to, [other.name for other in children(snapshot.schema, before[:-1])], "to")
    schema = replace_field(snapshot.schema, before, lambda _: msgspec.structs.replace(field, name=intent.to))
    guards = (
        mapping_guard(snapshot),
        names_guard([after], mapped=True, configuration=snapshot.metadata.configuration),
        constraint_guard(snapshot, [before]),
        generated_guard(snapshot, [before]),
        char_guard(snapshot.schema, [before]),
    )
    return Proposal(
        operation="RENAME COLUMN",
        parameters={"oldColumnPath": attribute_name(before), "newColumnPath": attribute_name(after)},
        metadata=_renamed(snapshot, schema, before, after),
        guards=tuple(guard for guard in guards if guard is not None),
        undo=f"Rename {format_column(after)} to {before[-1]} again.",
    )


def drop_columns(intent: DropColumns, snapshot: Snapshot) -> Proposal:
    """Drop columns from the schema.

    Raises:
        InvalidIntent: There is no such column, or one is named twice or is inside another.
    """
    fields = [struct_field(snapshot.schema, name) for name in intent.columns]
    paths = [column.path for column, _ in fields]
    _check_apart(paths)
    schema = snapshot.schema
    for parent, names in _by_parent(paths).items():
        schema = edit_fields(schema, parent, _without(names))
    guards = (
        mapping_guard(snapshot),
        _remaining_guard(schema, snapshot, paths),
        partition_guard(snapshot, paths),
        constraint_guard(snapshot, paths),
        generated_guard(snapshot, paths),
        clustering_guard(snapshot, paths),
        char_guard(snapshot.schema, paths),
        values_guard(snapshot, paths),
        _identity_guard([format_column(column.path) for column, field in fields if _is_identity(field.metadata)]),
    )
    return Proposal(
        operation="DROP COLUMNS",
        parameters={"columns": parameter_text([attribute_name(path) for path in paths])},
        metadata=_dropped(snapshot, schema, paths),
        guards=tuple(guard for guard in guards if guard is not None),
        undo="Restore an earlier version: the files still hold the columns, but rows written since have none. Columns "
        "added later under the same names are new columns and start empty.",
    )


def column_traces_guard(
    intent: RenameColumn | DropColumns, snapshot: Snapshot, operations: Iterable[LoggedOperation]
) -> GuardResult:
    """Say what else names the columns of an intent.

    Args:
        operations: The recorded operations of the log, oldest first.

    Raises:
        InvalidIntent: There is no such column.
    """
    renamed = isinstance(intent, RenameColumn)
    names = [intent.column] if isinstance(intent, RenameColumn) else intent.columns
    paths = [struct_field(snapshot.schema, name)[0].path for name in names]
    return traces_guard(snapshot, paths, operations, renamed=renamed)


def readers_guard(intent: RenameColumn | DropColumns, clients: Sequence[MyClient]) -> GuardResult | None:
    """Name the clients in use whose queries may name the columns; None if none is known.

    Args:
        clients: Those that a file names, and those that wrote the table.
    """
    others = [each for each in clients if not each.client.startswith(OWN_ENGINE)]
    if not others:
        return None
    names = [intent.column] if isinstance(intent, RenameColumn) else intent.columns
    what = f"do not find {first_names(names)}"
    if isinstance(intent, RenameColumn):
        what = f"have to say {intent.to} instead of {intent.column}"
    listed = [
        {"client": each.client, "version": each.version, "owner": each.owner, "role": each.role} for each in others
    ]
    client_names = [
        f"{each.client} {each.version}".strip() + (f" ({each.owner})" if each.owner else "") for each in others
    ]
    detail = f"Queries {what} afterwards. In use: {first_names(client_names)}. The log does not record their queries."
    remedy = "Ask the owners of these clients which of their queries name it, before you commit."
    return GuardResult("readers-by-name", "warn", {"clients": listed, "detail": detail}, remedy)


def _by_parent(paths: Sequence[Path]) -> dict[Path, set[str]]:
    """Return the names of columns by the path of the struct that they are in."""
    names: dict[Path, set[str]] = {}
    for path in paths:
        names.setdefault(path[:-1], set()).add(path[-1])
    return names


def _without(names: set[str]) -> Callable[[tuple[StructField, ...]], list[StructField]]:
    return lambda fields: [field for field in fields if field.name not in names]


def _check_apart(paths: Sequence[Path]) -> None:
    named: set[Path] = set()
    around: dict[Path, Path] = {}
    for path in paths:
        other = next((outer for outer in _prefixes(path) if outer in named), around.get(path))
        if other is not None:
            what = "is named twice" if path == other else f"and {format_column(other)} are inside one another"
            raise InvalidIntent(f"{format_column(path)} {what}.", field="columns")
        named.add(path)
        around |= dict.fromkeys(_prefixes(path), path)


def _prefixes(path: Path) -> Iterator[Path]:
    """Return the paths of the columns that a column is in, and its own."""
    return (path[:length] for length in range(1, len(path) + 1))


def _renamed(snapshot: Snapshot, schema: StructType, before: Path, after: Path) -> Metadata:
    def renamed(path: Path) -> Path:
        return (*after, *path[len(before) :]) if _folded(path)[: len(before)] == _folded(before) else path

    partition = tuple(renamed((name,))[0] for name in snapshot.partition_columns)
    return _changed(snapshot, schema, renamed, partition)


def _dropped(snapshot: Snapshot, schema: StructType, paths: Sequence[Path]) -> Metadata:
    dropped = {_folded(path) for path in paths}

    def remaining(path: Path) -> Path | None:
        return path if dropped.isdisjoint(_prefixes(_folded(path))) else None

    return _changed(snapshot, schema, remaining, tuple(snapshot.partition_columns))


def _changed(
    snapshot: Snapshot, schema: StructType, follow: Callable[[Path], Path | None], partition: tuple[str, ...]
) -> Metadata:
    """Return the metadata with the schema, and with the properties that name columns following it."""
    configuration = dict(snapshot.metadata.configuration)
    named = configuration.get(STATS_COLUMNS.key)
    if named is not None and named.strip():
        columns = [path for path in map(follow, statistics_columns_of(named)) if path is not None]
        configuration[STATS_COLUMNS.key] = ",".join(map(statistics_column, columns))
        if not columns:
            del configuration[STATS_COLUMNS.key]
    if USAGE_TRACKING in active_features(snapshot.protocol):
        configuration[HAS_DROPPED_OR_RENAMED.key] = "true"
    return msgspec.structs.replace(
        snapshot.metadata, schema_string=schema.to_json(), configuration=configuration, partition_columns=partition
    )


def _remaining_guard(schema: StructType, snapshot: Snapshot, paths: Sequence[Path]) -> GuardResult:
    """Check that every struct, and the table besides its partition columns, keeps a column that holds values.

    A column of type void holds none (META-007, SCHEMA-015).
    """
    parents = dict.fromkeys(path[:-1] for path in paths if path[:-1])
    emptied = [path for path in parents if all(field.type == VOID for field in children(schema, path))]
    partition = {name.lower() for name in snapshot.partition_columns}
    evidence = {"columns": [format_column(path) for path in paths]}
    if emptied:
        names = ", ".join(format_column(path) for path in emptied)
        detail = f"Nothing that holds a value would be left inside {names}."
        return GuardResult("columns-left", "fail", evidence | {"detail": detail}, "Drop the outer column instead.")
    left = [field for field in schema.fields if field.name.lower() not in partition]
    if all(field.type == VOID for field in left):
        what = "columns of type void, which hold no value," if left else "the partition columns"
        detail = f"Only {what} would be left."
        return GuardResult("columns-left", "fail", evidence | {"detail": detail}, "Keep at least one more column.")
    detail = counted(len(schema.fields), "column is left.", "columns are left.")
    return GuardResult("columns-left", "pass", evidence | {"detail": detail})


def _identity_guard(names: Sequence[str]) -> GuardResult | None:
    if not names:
        return None
    detail = f"{', '.join(names)} gave every row its number; its high-water mark is lost with it."
    remedy = "Drop it only if nothing relies on its numbers."
    return GuardResult("identity-columns", "warn", {"columns": list(names), "detail": detail}, remedy)


def _is_identity(metadata: JsonObject) -> bool:
    return any(key.startswith(IDENTITY_PREFIX) for key in metadata)


def _folded(path: Path) -> Path:
    return tuple(part.lower() for part in path)


PROPOSALS: Final = (proposes_alone(RenameColumn, rename_column), proposes_alone(DropColumns, drop_columns))
"""What the intents of this module propose."""
