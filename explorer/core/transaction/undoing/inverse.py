"""The inverse of a commit that changed no row: the intents that take back what it did to metadata and protocol.

Protocol sections: Change Metadata, Column Mapping, Protocol Evolution, Domain Metadata. Invariants: the inverse of a
change is offered only where nothing changed the same thing again; a column is followed through later renames by its
lineage; what no intent takes back (a dropped column, a wider type, a raised version) is a reason and never left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.clustering import DOMAIN as CLUSTERING
from explorer.core.protocol.protocol_evolution import with_closure
from explorer.core.protocol.schema.data_types import StructField, StructType, format_column, parse_schema
from explorer.core.protocol.schema.field_metadata import COLUMN_MAPPING_PREFIX, IDENTITY_PREFIX
from explorer.core.protocol.schema.nested_types import Path, walk
from explorer.core.protocol.table_features import supported_features
from explorer.core.protocol.table_properties.registry import (
    COLUMN_MAPPING_MODE,
    PROPERTIES,
    STATS_COLUMNS,
    property_of,
)
from explorer.core.protocol.table_properties.values import constraint_name
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.proposals.features import DROPPABLE
from explorer.core.versions.diff import ColumnChange, PropertyChange, diff_metadata, diff_properties, diff_protocols
from explorer.core.versions.provenance import Provenance

_COMMENT: Final = "comment"
_SYSTEM_DOMAIN: Final = "delta."
Columns = Mapping[str, tuple[Path, StructField]]


class Inverse(msgspec.Struct, frozen=True):
    """What takes back the changes of metadata and protocol of one commit.

    Attributes:
        steps: The intents, in the order in which they are made; none if nothing is left to take back.
        refused: Why there is no inverse, one sentence each; without any, the steps take back all that the commit did.
    """

    steps: tuple[Intent, ...] = ()
    refused: tuple[str, ...] = ()


def inverse(record: Provenance, version: int) -> Inverse:
    """Return the inverse of the changes of metadata, protocol and domains of a version.

    Args:
        record: The small actions of the log.
        version: A version after the first readable one.

    Raises:
        CorruptTable: A schema or a property cannot be read.
    """
    before, after, now = (record.metadata_at(each) for each in (version - 1, version, record.latest))
    if before is None or after is None or now is None:
        return Inverse(refused=("The log does not hold the metadata before this commit.",))
    steps_or_reasons: list[Intent | str] = []
    columns = list(_of_columns(record, version, (before, after, now)))
    renames = any(isinstance(step, intents.RenameColumn) for step in columns)
    steps_or_reasons += _of_constraints(record, version, (before, after, now))
    steps_or_reasons += columns
    steps_or_reasons += _of_properties(record, version, (before, after, now), renames=renames)
    steps_or_reasons += _of_attributes(before, after, now, renames=renames)
    steps_or_reasons += _of_domains(record, version)
    protocols = record.protocol_at(version - 1), record.protocol_at(version), record.protocol_at(record.latest)
    if not steps_or_reasons:
        steps_or_reasons += _of_protocol(*protocols)
    steps = tuple(step for step in steps_or_reasons if not isinstance(step, str))
    return Inverse(steps, tuple(text for text in steps_or_reasons if isinstance(text, str)))


def _of_columns(
    record: Provenance, version: int, metadata: tuple[Metadata, Metadata, Metadata]
) -> Iterator[Intent | str]:
    before, after, now = metadata
    if before.schema_string == after.schema_string:
        return
    modes = record.mapping_mode(version - 1), record.mapping_mode(version)
    changes = diff_metadata(before, after, modes)
    current = _names_now(record, version)
    was, then, present = map(_columns, (before, after, now))
    mapped = record.mapping_mode(record.latest) != "none"
    names_before = {change.column: change.before or "" for change in changes if change.kind == "renamed"}
    added = [change.column for change in changes if change.kind == "added" and change.column in current]
    added = [name for name in added if not any(name != outer and name.startswith(f"{outer}.") for outer in added)]
    if added and not mapped:
        yield f"Without column mapping {_joined(added)} cannot be dropped again."
    elif added:
        yield intents.DropColumns(columns=tuple(current[name] for name in added))
    for change in changes:
        name = current.get(change.column)
        if change.kind == "dropped":
            yield f"{change.column} was dropped, and a column that is added again is a new one without values."
        elif change.kind == "added" or name is None or name not in present:
            continue  # dropped since
        else:
            _, field_then = then[change.column]
            _, field_before = was.get(names_before.get(change.column, change.column), (None, field_then))
            yield from _of_field(change, present[name], field_then, field_before)
    moved = _moved(before, after, now) if not changes else None
    if moved is not None:
        yield moved


def _of_field(
    change: ColumnChange, present: tuple[Path, StructField], then: StructField, before: StructField
) -> Iterator[Intent | str]:
    """Yield the inverse of one change of one column.

    Args:
        present: The column's path and field in the newest version.
        then, before: The field with the change, and before it.
    """
    path, field = present
    name = format_column(path)
    match change.kind:
        case "renamed" if field.name == then.name:
            yield intents.RenameColumn(column=name, to=before.name)
        case "renamed" if field.name != before.name:
            yield f"{before.name} was renamed to {then.name} and later to {field.name}."
        case "nullability" if field.nullable == then.nullable:
            yield intents.DropNotNull(column=name) if before.nullable else intents.SetNotNull(column=name)
        case "retyped":
            yield f"The type of {name} cannot be narrowed again."
        case "metadata":
            yield from _of_field_metadata(name, field, then, before)


def _of_field_metadata(name: str, field: StructField, then: StructField, before: StructField) -> Iterator[Intent | str]:
    keys = {*then.metadata, *before.metadata}
    kept = (IDENTITY_PREFIX, COLUMN_MAPPING_PREFIX)
    changed = {key for key in keys if then.metadata.get(key) != before.metadata.get(key) and not key.startswith(kept)}
    if _COMMENT in changed and field.metadata.get(_COMMENT) == then.metadata.get(_COMMENT):
        text = before.metadata.get(_COMMENT)
        yield intents.SetColumnComment(column=name, comment=None if text is None else str(text))
    elif _COMMENT in changed and field.metadata.get(_COMMENT) != before.metadata.get(_COMMENT):
        yield f"The comment of {name} was changed again later."
    if others := sorted(changed - {_COMMENT}):
        yield f"No change sets {_joined(others)} of {name} back."


def _moved(before: Metadata, after: Metadata, now: Metadata) -> Intent | str | None:
    """Return what moves a column of the table back; None if the order did not change."""
    was, then, present = ([field.name for field in _schema(each).fields] for each in (before, after, now))
    if was in (then, present):
        return None
    if present != then:
        return "Later commits changed the columns beside the one that moved."
    for name in then:
        others = [each for each in then if each != name]
        place = was.index(name) if name in was else -1
        if place >= 0 and [*others[:place], name, *others[place:]] == was:
            return intents.MoveColumn(column=format_column((name,)), at=place)
    return "Several columns moved."


def _names_now(record: Provenance, version: int) -> dict[str, str]:
    """Return what the columns of a version are called in the newest one; those dropped since are left out."""
    lineage = record.lineage(version, record.latest)
    now = {line: name for name, line in lineage.lines_at(record.latest).items()}
    return {name: now[line] for name, line in lineage.lines_at(version).items() if line in now}


def _of_constraints(
    record: Provenance, version: int, metadata: tuple[Metadata, Metadata, Metadata]
) -> Iterator[Intent | str]:
    for change, name in _constraint_changes(metadata):
        if (again := _changed_again(record, version, change, metadata[2])) is not None:
            yield from again
            continue
        if change.after is not None:
            yield intents.DropConstraint(name=name)
        if change.before is not None:
            yield intents.AddConstraint(name=name, expression=change.before)


def _constraint_changes(metadata: tuple[Metadata, Metadata, Metadata]) -> Iterator[tuple[PropertyChange, str]]:
    for change in diff_properties(metadata[0].configuration, metadata[1].configuration):
        name = constraint_name(change.key)
        if name is not None:
            yield change, name


def _of_properties(
    record: Provenance, version: int, metadata: tuple[Metadata, Metadata, Metadata], *, renames: bool
) -> Iterator[Intent | str]:
    """Yield the inverse of changed properties; those that cannot be set by hand stay."""
    values: dict[str, str] = {}
    unset: list[str] = []
    for change in diff_properties(metadata[0].configuration, metadata[1].configuration):
        key = change.key
        if constraint_name(key) is not None or _stays(key) or (renames and key == STATS_COLUMNS.key):
            continue
        if (again := _changed_again(record, version, change, metadata[2])) is not None:
            yield from again
        elif key == COLUMN_MAPPING_MODE.key:
            yield intents.SetColumnMapping(mode=change.before or "none")
        elif change.before is None:
            unset.append(key)
        else:
            values[key] = change.before
    if values:
        yield intents.SetProperties(properties=values)
    if unset:
        yield intents.UnsetProperties(keys=tuple(unset))


def _changed_again(record: Provenance, version: int, change: PropertyChange, now: Metadata) -> tuple[str, ...] | None:
    """Return why a property cannot be set back alone, nothing if it is back already; None if it can be."""
    present = now.configuration.get(change.key)
    if present == change.after:
        return None
    if present == change.before:
        return ()
    later = (at for at, other in record.metadata_changes() if at > version and _differs(other, change))
    return (f"v{next(later, record.latest)} changed {change.key} again.",)


def _differs(metadata: Metadata, change: PropertyChange) -> bool:
    return metadata.configuration.get(change.key) != change.after


def _stays(key: str) -> bool:
    """Return whether a property cannot be set by hand."""
    known = property_of(key)
    return known.why_fixed is not None if known is not None else key.lower() in PROPERTIES


def _of_attributes(before: Metadata, after: Metadata, now: Metadata, *, renames: bool) -> Iterator[Intent | str]:
    if before.id != after.id:
        yield "The commit made a new table."
    if before.description not in (after.description, now.description):
        if now.description == after.description:
            yield intents.SetDescription(description=before.description)
        else:
            yield "The description was changed again later."
    if before.partition_columns != after.partition_columns and not renames:
        yield "The commit changed the partition columns."


def _of_domains(record: Provenance, version: int) -> Iterator[Intent | str]:
    written = next((each.domains for each in record.commits if each.version == version), ())
    for action in written:
        if action.domain == CLUSTERING:
            yield "The commit changed the clustering columns, which no change here sets."
        if action.domain.startswith(_SYSTEM_DOMAIN):
            continue
        before, after, now = (_domain(record, action.domain, at) for at in (version - 1, version, record.latest))
        if before == now:
            continue
        if now != after:
            yield f"The domain {action.domain} was changed again later."
        elif before is None:
            yield intents.RemoveDomain(domain=action.domain)
        else:
            yield intents.SetDomain(domain=action.domain, configuration=before)


def _domain(record: Provenance, name: str, version: int) -> str | None:
    """Return the configuration of a domain at a version; None if it has none."""
    last = record.base_domains.get(name)
    for commit in record.commits:
        if commit.version <= version:
            last = next((each for each in commit.domains if each.domain == name), last)
    return None if last is None or last.removed else last.configuration


def _of_protocol(before: Protocol | None, after: Protocol | None, now: Protocol | None) -> Iterator[Intent | str]:
    """Yield the inverse of a commit that changed the protocol alone."""
    change = diff_protocols(before, after)
    if change is None or now is None:
        return
    have = supported_features(now)
    came = [name for name in change.features_added if name in have]
    went = [name for name in change.features_removed if name not in have]
    stuck = [name for name in came if name not in DROPPABLE]
    if stuck:
        yield f"This program cannot drop {_joined(stuck)}."
    elif not came and not went:
        yield "Versions of the protocol never fall."
    for name in sorted(came, key=lambda name: (-len(with_closure([name])), name)):
        if not stuck:
            yield intents.DropFeature(feature=name)
    for name in went:
        yield intents.EnableFeature(feature=name)


def _columns(metadata: Metadata) -> Columns:
    return {format_column(path): (path, field) for path, field in walk(_schema(metadata))}


def _schema(metadata: Metadata) -> StructType:
    return StructType() if metadata.schema_string is None else parse_schema(metadata.schema_string)


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
