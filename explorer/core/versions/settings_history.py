"""The history of a table's settings: who changed what, when and why, in its columns, properties and features.

Protocol sections: Change Metadata, Protocol Evolution, Domain Metadata, Commit Provenance Information. Invariants: a
change is one that a version ends with and that differs from the version before; writing the same again is none. A
column is followed through renames by its physical path. Settings of the first version of the record were set there if
that version created the table; else they were set there or earlier, and their author is unknown. Counters that writers
store in the metadata (the highest column id, high-water marks) are not settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import Final

import msgspec
import pyarrow as pa

from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import CommitInfo, DomainMetadata, Metadata, Protocol
from explorer.core.protocol.arrow.arrays import bools, int64s, strings
from explorer.core.protocol.clustering import DOMAIN as CLUSTERING
from explorer.core.protocol.clustering import clustering_columns
from explorer.core.protocol.json_values import JsonValue, encode_json
from explorer.core.protocol.row_tracking import DOMAIN as ROW_IDS
from explorer.core.protocol.schema.data_types import StructField, StructType, format_column, parse_schema, type_outline
from explorer.core.protocol.schema.field_metadata import CHAR_VARCHAR, CURRENT_DEFAULT, GENERATION_EXPRESSION
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.protocol.table_features import supported_features
from explorer.core.protocol.table_properties.registry import MAX_COLUMN_ID
from explorer.core.protocol.table_properties.values import constraint_name
from explorer.core.versions.column_lineage import ColumnIdentities
from explorer.core.versions.provenance import CommitRecord, Provenance

SETTING_TEXTS: Final = ("name", "before", "after", "reason")
"""The columns of changes that a text is searched in."""

KINDS: Final = (
    "table",
    "column",
    "name",
    "type",
    "nullability",
    "comment",
    "default",
    "generation",
    "order",
    "partitioning",
    "clustering",
    "property",
    "constraint",
    "feature",
    "protocol",
    "description",
    "domain",
)
"""Subjects of a change, in the order in which those of one version are listed."""

_COMMENT: Final = "comment"
_HIGH_WATER_MARK: Final = "rowIdHighWaterMark"
# Facts of a column, and how each is shown; type and nullability are one entry when it is added.
_OF_COLUMN: Final = ("name", "type", "nullability", "comment", "default", "generation")


class SettingChange(msgspec.Struct, frozen=True, gc=False):
    """One setting that differs from a version on.

    Attributes:
        version: The version.
        kind: One of `KINDS`.
        name: Its name from that version on: a dotted column, a property, a constraint, a feature, a domain; of a
            removed one, its last name.
        before, after: As text; None if it did not exist before, or was removed.
        column: The identity of a column through all versions; None for other settings.
        initial: True if it came with the first version of the record.
        known: False if it was set in that version or before it, by an unknown author.
    """

    version: int
    kind: str
    name: str
    before: str | None
    after: str | None
    column: str | None = None
    initial: bool = False
    known: bool = True


def setting_changes(history: Provenance) -> tuple[SettingChange, ...]:
    """Return every change of a setting, oldest first.

    Raises:
        TableError: A schema or a property cannot be read.
        UnsupportedFeature: A schema has a type that this program does not know.
    """
    states = list(_states(history))
    if not states:
        return ()
    first, start = states[0]
    created = first == 0 and bool(history.commits) and history.commits[0].version == 0
    empty = _State("", {}, {}, {}, {})
    initial = [msgspec.structs.replace(change, initial=True, known=created) for change in _changes(first, empty, start)]
    later = (_changes(version, before, after) for (_, before), (version, after) in pairwise(states))
    return (*initial, *chain.from_iterable(later))


def settings_table(history: Provenance, changes: Iterable[SettingChange]) -> pa.Table:
    """Return changes with the provenance of their commits, newest first.

    Returns:
        version; timestamp (ms, UTC); kind, name, before, after, column, initial, known as in `SettingChange`;
        user_name, operation, reason (in the author's words), engine_info. Unknown values are null: all of
        the last four where ``known`` is false.
    """
    chosen = sorted(changes, key=lambda change: -change.version)
    records = {record.version: record for record in history.commits}
    known = [records.get(change.version) if change.known else None for change in chosen]
    infos = [CommitInfo() if record is None or record.info is None else record.info for record in known]
    times = [history.timestamp(change.version) for change in chosen]
    return pa.table(
        {
            "version": int64s([change.version for change in chosen]),
            "timestamp": int64s(times).view(pa.timestamp("ms", "UTC")),
            "kind": strings([change.kind for change in chosen]),
            "name": strings([change.name for change in chosen]),
            "before": strings([change.before for change in chosen]),
            "after": strings([change.after for change in chosen]),
            "column": strings([change.column for change in chosen]),
            "initial": bools([change.initial for change in chosen]),
            "known": bools([change.known for change in chosen]),
            "user_name": strings([info.user_name for info in infos]),
            "operation": strings([info.operation for info in infos]),
            "reason": strings([_reason(info.user_metadata) for info in infos]),
            "engine_info": strings([info.engine_info for info in infos]),
        }
    )


class _Column(msgspec.Struct, frozen=True):
    """A column of one version: its facts, by `_OF_COLUMN`."""

    path: Path
    facts: dict[str, str | None]

    @property
    def name(self) -> str:
        return format_column(self.path)

    @property
    def declaration(self) -> str:
        required = " not null" if self.facts["nullability"] == "not null" else ""
        return f"{self.facts['type']}{required}"


class _State(msgspec.Struct, frozen=True):
    """The settings of one version.

    Attributes:
        table: The table's id.
        columns: By identity, in the order of the schema.
        named: Columns that other settings name, as text: partitioning and clustering, and a value that shows whether
            these changed, whatever the columns are called.
        settings: All others, by kind and name.
        domains: Configurations in force.
    """

    table: str
    columns: dict[Path, _Column]
    named: dict[str, tuple[str | None, object]]
    settings: dict[tuple[str, str], str]
    domains: dict[str, str]


def _states(history: Provenance) -> Iterator[tuple[int, _State]]:
    """Yield the settings at the first readable version, and at each one that wrote some."""
    identities = ColumnIdentities()
    first = history.first_readable
    domains = {name: each.configuration for name, each in history.base_domains.items() if not each.removed}
    records = {record.version: record for record in history.commits if record.version >= first}
    wrote = {version for version, record in records.items() if record.metadata or record.protocol}
    wrote.update(_domain_versions(records.values(), ROW_IDS in domains))
    schema, mode = StructType(), "none"
    columns_by_identity: dict[Path, _Column] = {}
    read: tuple[object, object] | None = None
    for version in sorted({first, *wrote}):
        record = records.get(version)
        domains = _with_domains(domains, () if record is None else record.domains)
        metadata, protocol = history.metadata_at(version), history.protocol_at(version)
        if metadata is None:
            continue
        mapping = "none" if protocol is None else history.mapping_mode(version)
        if read != (metadata.schema_string, mapping):
            read = metadata.schema_string, mapping
            schema = StructType() if metadata.schema_string is None else parse_schema(metadata.schema_string)
            columns, mode = identities.take(schema, mapping, version), mapping
            columns_by_identity = {
                identity: _Column(path, _column_facts(field)) for identity, path, _, field in columns
            }
        yield (
            version,
            _State(
                metadata.id,
                columns_by_identity,
                {
                    "partitioning": _partitioning(metadata, columns_by_identity),
                    "clustering": _clustering(schema, mode, domains),
                },
                dict(_settings(metadata, protocol)),
                domains,
            ),
        )


def _domain_versions(records: Iterable[CommitRecord], has_row_ids: bool) -> Iterator[int]:
    """Yield the versions that wrote a domain, other than the counter of row ids alone."""
    for record in records:
        for domain in record.domains:
            if domain.domain != ROW_IDS or domain.removed == has_row_ids:
                has_row_ids = not domain.removed if domain.domain == ROW_IDS else has_row_ids
                yield record.version


def _with_domains(before: dict[str, str], actions: Iterable[DomainMetadata]) -> dict[str, str]:
    domains = dict(before)
    for domain in actions:
        if domain.removed:
            domains.pop(domain.domain, None)
        else:
            domains[domain.domain] = domain.configuration
    return domains


def _column_facts(field: StructField) -> dict[str, str | None]:
    metadata = field.metadata
    declared = metadata.get(CHAR_VARCHAR)
    return {
        "type": declared if isinstance(declared, str) else type_outline(field.type),
        "nullability": "nullable" if field.nullable else "not null",
        "comment": _as_text(metadata.get(_COMMENT)),
        "default": _as_text(metadata.get(CURRENT_DEFAULT)),
        "generation": _as_text(metadata.get(GENERATION_EXPRESSION)),
    }


def _as_text(value: JsonValue) -> str | None:
    return value if value is None or isinstance(value, str) else encode_json(value).decode()


def _settings(metadata: Metadata, protocol: Protocol | None) -> Iterator[tuple[tuple[str, str], str]]:
    for key, value in metadata.configuration.items():
        if (name := constraint_name(key)) is not None:
            yield ("constraint", name), value
        elif key != MAX_COLUMN_ID.key:
            yield ("property", key), value
    if metadata.description:
        yield ("description", "description"), metadata.description
    if metadata.name:
        yield ("description", "name"), metadata.name
    if protocol is not None:
        reader, writer = protocol.min_reader_version, protocol.min_writer_version
        yield ("protocol", "protocol"), f"reader {reader}, writer {writer}"
        for feature in supported_features(protocol):
            yield ("feature", feature), "supported"


def _partitioning(metadata: Metadata, columns: Mapping[Path, _Column]) -> tuple[str | None, object]:
    """Return the partition columns as text, and their identities: a rename does not change the partitioning."""
    names = metadata.partition_columns
    by_name = {column.path: identity for identity, column in columns.items()} if names else {}
    return ", ".join(names) or None, tuple(by_name.get((name,), (name,)) for name in names)


def _clustering(schema: StructType, mode: str, domains: Mapping[str, str]) -> tuple[str | None, object]:
    """Return the same of the clustering columns; one that cannot be read is the text that was recorded."""
    recorded = domains.get(CLUSTERING)
    try:
        paths = clustering_columns(schema, "none" if mode == "none" else "name", domains)
    except CorruptTable:
        return recorded, recorded
    return ", ".join(map(format_column, paths)) or None, recorded if paths else None


def _changes(version: int, before: _State, after: _State) -> list[SettingChange]:
    """Return the differences, in the order of `KINDS`."""
    changes: list[SettingChange] = []
    if before.table and before.table != after.table:
        changes.append(SettingChange(version, "table", "table", before.table, after.table))
    if before.columns is not after.columns:
        changes += _column_changes(version, before, after)
    for kind, (text, same) in after.named.items():
        old, known = before.named.get(kind, (None, None))
        if (text is not None or old is not None) and same != known:
            changes.append(SettingChange(version, kind, kind, old, text))
    for kind, name in {**before.settings, **after.settings}:
        old, new = before.settings.get((kind, name)), after.settings.get((kind, name))
        if old != new:
            changes.append(SettingChange(version, kind, name, old, new))
    for name in {**before.domains, **after.domains}:
        old, new = (_configuration(name, domains.get(name)) for domains in (before.domains, after.domains))
        if old != new and name != CLUSTERING:
            changes.append(SettingChange(version, "domain", name, old, new))
    return sorted(changes, key=lambda change: KINDS.index(change.kind))


def _configuration(name: str, text: str | None) -> str | None:
    """Return a domain's configuration without the counter of row ids, which nearly every commit moves."""
    if text is None or name != ROW_IDS:
        return text
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    if not isinstance(value, dict):
        return text
    return msgspec.json.encode({key: item for key, item in value.items() if key != _HIGH_WATER_MARK}).decode()


def _column_changes(version: int, before: _State, after: _State) -> Iterator[SettingChange]:
    for identity, column in after.columns.items():
        old, key = before.columns.get(identity), format_column(identity)
        if old is None:
            yield SettingChange(version, "column", column.name, None, column.declaration, key)
            for kind in ("comment", "default", "generation"):
                if column.facts[kind] is not None:
                    yield SettingChange(version, kind, column.name, None, column.facts[kind], key)
            continue
        if old.path != column.path and _is_renamed(identity, before, after):
            yield SettingChange(version, "name", column.name, old.name, column.name, key)
        for kind, fact in () if column.facts == old.facts else column.facts.items():
            if fact != old.facts[kind]:
                yield SettingChange(version, kind, column.name, old.facts[kind], fact, key)
    for identity, column in before.columns.items():
        if identity not in after.columns:
            yield SettingChange(version, "column", column.name, column.declaration, None, format_column(identity))
    yield from _moves(version, before, after)


def _is_renamed(identity: Path, before: _State, after: _State) -> bool:
    """Return whether the column itself has another name, not one that it is inside of."""
    return before.columns[identity].path[-1] != after.columns[identity].path[-1]


def _moves(version: int, before: _State, after: _State) -> Iterator[SettingChange]:
    """Yield structs whose fields are in another order; added and removed fields move no others."""
    stayed = before.columns.keys() & after.columns.keys()
    if [each for each in before.columns if each in stayed] == [each for each in after.columns if each in stayed]:
        return
    old, new = (_siblings(state, stayed) for state in (before, after))
    for parent, fields in new.items():
        if fields != old.get(parent, fields):
            was, now = (_in_words(state, order) for state, order in ((before, old[parent]), (after, fields)))
            path = after.columns[fields[0]].path[:-1]
            yield SettingChange(version, "order", format_column(path) if path else "columns", was, now)


def _in_words(state: _State, columns: Iterable[Path]) -> str:
    return ", ".join(format_column((state.columns[each].path[-1],)) for each in columns)


def _siblings(state: _State, chosen: Iterable[Path]) -> dict[Path, list[Path]]:
    """Return the chosen fields of each struct, by its identity, in their order."""
    wanted = set(chosen)
    siblings: dict[Path, list[Path]] = {}
    for identity in state.columns:
        if identity in wanted:
            siblings.setdefault(identity[:-1], []).append(identity)
    return siblings


def _reason(text: str | None) -> str | None:
    """Return the author's reason; some writers store it as a JSON string."""
    if not text or not text.startswith('"'):
        return text or None
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return text
