"""Table properties, and all that comes with them: features, versions, row ids.

Protocol sections: Change Metadata, Protocol Evolution, Row Tracking, In-Commit Timestamps. Invariants: the protocol is
raised in the commit that sets a property which needs it (WRITER-006); row tracking is enabled only when every file has
row ids (ROWTRACK-005); the names of its columns are chosen once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.protocol_evolution import LEGAL_VERSIONS, is_legal_upgrade, with_features, with_versions
from explorer.core.protocol.row_tracking import row_tracking
from explorer.core.protocol.schema.data_types import DataType, PrimitiveType, StructType, format_column, type_name
from explorer.core.protocol.schema.nested_types import walk, walk_structs
from explorer.core.protocol.statistics.bounds import SKIPPING_TYPES
from explorer.core.protocol.table_features import active_features, features_switched_on, missing_features
from explorer.core.protocol.table_properties.registry import (
    CHANGE_DATA_FEED,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    ENABLED_FORMATS,
    FEATURE_PREFIX,
    ICT_ENABLEMENT_TIMESTAMP,
    ICT_ENABLEMENT_VERSION,
    IN_COMMIT_TIMESTAMPS,
    MAX_COLUMN_ID,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
    PROPERTIES,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
    STATS_COLUMNS,
    SYMLINK_FORMAT_MANIFEST,
    property_of,
)
from explorer.core.protocol.table_properties.values import constraint_name
from explorer.core.transaction.guards.columns import names_guard
from explorer.core.transaction.intents.property_settings import (
    RequestedProperties,
    check_formats,
    check_properties,
    requested_properties,
    statistics_columns_of,
    true_key,
)
from explorer.core.transaction.intents.records import SetColumnMapping, SetProperties, UnsetProperties
from explorer.core.transaction.new_files.file_actions import adds, number_rows
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal
from explorer.core.transaction.proposals.column_mapping import set_column_mapping, with_usage_mark
from explorer.core.transaction.proposals.entry import proposes, proposes_alone
from explorer.core.versions.snapshot import Snapshot

_SHOWN_TO_OTHERS: Final = (ENABLED_FORMATS, SYMLINK_FORMAT_MANIFEST, DELETION_VECTORS)


def set_properties(
    intent: SetProperties, snapshot: Snapshot, circumstances: Circumstances, named: Mapping[str, str] | None = None
) -> Proposal:
    """Set properties, and raise the protocol as far as they need.

    Args:
        intent: The properties; ``comment`` is the description, ``delta.minReaderVersion``, ``delta.minWriterVersion``
            and ``delta.feature.NAME`` raise the protocol.
        named: The properties as the provenance shows them, if that differs from how they were given.

    Raises:
        InvalidIntent: A property is unknown or cannot have its value, or the versions are not a legal pair.
    """
    checked = check_properties(intent.properties)
    requested = requested_properties(checked)
    check_statistics_columns(requested.configuration, snapshot.schema, snapshot.partition_columns)
    parameters = {"properties": msgspec.json.encode(named or checked).decode()}
    mode = requested.configuration.get(COLUMN_MAPPING_MODE.key)
    if mode is not None and mode.lower() == "none" and snapshot.column_mapping_mode != "none":
        return _unmapped(checked, snapshot)
    base = _mapped(requested, snapshot)
    before = base.metadata or snapshot.metadata
    metadata = msgspec.structs.replace(before, configuration={**before.configuration, **requested.configuration})
    if any(row.is_set(requested.configuration) for row in _SHOWN_TO_OTHERS):
        check_formats(metadata.configuration)
    _check_manifests(requested.configuration, snapshot)
    if requested.comments:
        metadata = msgspec.structs.replace(metadata, description=requested.description)
    protocol, guards = _raised(base.protocol or snapshot.protocol, requested)
    metadata = with_usage_mark(metadata, protocol, snapshot)
    changed = msgspec.structs.replace(
        base,
        operation="SET TBLPROPERTIES",
        parameters=parameters,
        metadata=metadata,
        protocol=None if protocol == snapshot.protocol else protocol,
        guards=(*base.guards, *guards, *_feed_names(snapshot, metadata)),
    )
    proposal = _tracked(snapshot, changed, protocol, metadata, circumstances)
    return msgspec.structs.replace(proposal, undo=_undo(snapshot, proposal.metadata or metadata, base.undo))


def unset_properties(intent: UnsetProperties, snapshot: Snapshot) -> Proposal:
    """Remove properties; the protocol does not change.

    Raises:
        InvalidIntent: A key is not a property that can be removed by hand.
    """
    keys = tuple(dict.fromkeys(_removable(key, snapshot) for key in intent.keys))
    if COLUMN_MAPPING_MODE.key in keys and snapshot.column_mapping_mode != "none":
        return _unmapped(keys, snapshot)
    left = {key: value for key, value in snapshot.metadata.configuration.items() if key not in keys}
    metadata = msgspec.structs.replace(snapshot.metadata, configuration=left)
    if "comment" in keys:
        metadata = msgspec.structs.replace(metadata, description=None)
    return Proposal(
        operation="UNSET TBLPROPERTIES",
        parameters={"properties": msgspec.json.encode(keys).decode(), "ifExists": True},
        metadata=metadata,
        undo=_undo(snapshot, metadata) or "Nothing changes.",
    )


def changed_properties(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """Return the keys whose value changes: before and after, None where it is not set."""
    keys = dict.fromkeys((*before, *after))
    return {key: (before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)}


def _removable(key: str, snapshot: Snapshot) -> str:
    """Return the true key of a property that may be removed; an unknown key that is set may be removed too."""
    if key in snapshot.metadata.configuration and property_of(key) is None and constraint_name(key) is None:
        return key
    name = true_key(key)
    known = PROPERTIES.get(name.lower())
    if name.startswith(FEATURE_PREFIX):
        raise InvalidIntent(f"{key} is a feature of the protocol, not a property. Use drop-feature.", field=key)
    if name in (MIN_READER_VERSION.key, MIN_WRITER_VERSION.key):
        raise InvalidIntent(f"{name} is in the protocol, and its versions never fall.", field=key)
    if known is not None and known.why_fixed is not None:
        raise InvalidIntent(f"The property {name} cannot be removed by hand: {known.why_fixed}.", field=key)
    return name


def check_statistics_columns(
    configuration: Mapping[str, str], schema: StructType, partition_columns: Collection[str]
) -> None:
    """Check that the columns of ``delta.dataSkippingStatsColumns`` exist and can have statistics.

    Spark checks the list in every change of the metadata: with a wrong one the table could not be changed any more.

    Raises:
        InvalidIntent: A column does not exist, is a partition column, or has a type that files are not skipped by.
    """
    key = STATS_COLUMNS.key
    value = configuration.get(key)
    folders = {name.lower() for name in partition_columns}
    for path in () if value is None else statistics_columns_of(value):
        kind: DataType = schema
        names: tuple[str, ...] = ()
        for part in path:
            field = kind.field(part) if isinstance(kind, StructType) else None
            if field is None:
                raise InvalidIntent(
                    f"{key} names {format_column(path)}, which the table does not have.",
                    field=key,
                    column=format_column(path),
                )
            kind, names = field.type, (*names, field.name)
        column = format_column(names)
        if names[0].lower() in folders:
            problem = f"{column}, a partition column. Files have no statistics of those. Leave it out."
        elif not _skips(kind):
            problem = f"{column} of the type {type_name(kind)}, for which files cannot be skipped. Leave it out."
        else:
            continue
        raise InvalidIntent(f"{key} names {problem}", field=key, column=column, found=value)


def _skips(kind: DataType) -> bool:
    """Return True if files can be skipped by bounds of the type, or by those of a field of it."""
    if isinstance(kind, StructType):
        return any(_skips(field.type) for _, _, field in walk_structs(kind) if not isinstance(field.type, StructType))
    return isinstance(kind, PrimitiveType) and kind.name in SKIPPING_TYPES


def _check_manifests(wanted: Mapping[str, str], snapshot: Snapshot) -> None:
    """Check that manifests, which list files with all rows, are not enabled while vectors remove rows of files."""
    if not SYMLINK_FORMAT_MANIFEST.of(wanted) or "deletionVectors" not in active_features(snapshot.protocol):
        return
    if masked := snapshot.num_deleted_records:
        raise InvalidIntent(
            f"{SYMLINK_FORMAT_MANIFEST} cannot be true while deletion vectors mask rows of the table ({masked} now): "
            "a manifest lists whole files. Purge the deletion vectors first.",
            field=SYMLINK_FORMAT_MANIFEST.key,
        )


def _mapped(requested: RequestedProperties, snapshot: Snapshot) -> Proposal:
    """Propose the new schema if the mapping mode changes; an empty proposal if it stays."""
    mode = requested.configuration.get(COLUMN_MAPPING_MODE.key)
    if mode is None or mode.lower() == snapshot.column_mapping_mode:
        return Proposal(operation="", parameters={})
    return set_column_mapping(SetColumnMapping(mode=mode), snapshot)


def _unmapped(keys: Mapping[str, str] | tuple[str, ...], snapshot: Snapshot) -> Proposal:
    """Propose to remove the mapping, alone: that rewrites every file."""
    if len(keys) > 1:
        message = "Removing the column mapping rewrites the table. Ask for that alone."
        raise InvalidIntent(message, field=COLUMN_MAPPING_MODE.key)
    return set_column_mapping(SetColumnMapping(mode="none"), snapshot)


def _raised(protocol: Protocol, requested: RequestedProperties) -> tuple[Protocol, tuple[GuardResult, ...]]:
    guards: tuple[GuardResult, ...] = ()
    if requested.min_reader_version is not None or requested.min_writer_version is not None:
        reader = requested.min_reader_version or protocol.min_reader_version
        writer = requested.min_writer_version or protocol.min_writer_version
        guards = (_upgrade_guard(protocol, reader, writer),)
        if guards[0].status == "pass":
            protocol = with_versions(protocol, reader, writer)
    switched = missing_features(features_switched_on(requested.configuration), protocol)
    return with_features(protocol, (*requested.features, *switched)), guards


def _feed_names(snapshot: Snapshot, metadata: Metadata) -> tuple[GuardResult, ...]:
    """Return the columns of the change data feed must be free when it is switched on (CDF-016)."""
    before, after = snapshot.metadata.configuration, metadata.configuration
    if before.get(CHANGE_DATA_FEED.key) == after.get(CHANGE_DATA_FEED.key) or not CHANGE_DATA_FEED.of(after):
        return ()
    paths = [path for path, _ in walk(snapshot.schema)]
    return (names_guard(paths, mapped=True, configuration=metadata.configuration),)


def _upgrade_guard(protocol: Protocol, reader: int, writer: int) -> GuardResult:
    before = (protocol.min_reader_version, protocol.min_writer_version)
    evidence = {"before": list(before), "after": [reader, writer]}
    if is_legal_upgrade(protocol, reader, writer):
        detail = f"The versions go from {before} to {(reader, writer)}."
        return GuardResult("protocol-upgrade", "pass", evidence | {"detail": detail})
    above = [pair for pair in LEGAL_VERSIONS if pair[0] >= before[0] and pair[1] >= before[1] and pair != before]
    steps = ", ".join(f"({low}, {high})" for low, high in above) or "none: it is the newest"
    if reader < before[0] or writer < before[1]:
        detail = f"Versions never fall; the table is at {before}."
    else:
        detail = f"Reader version {reader} with writer version {writer} is not a legal pair."
    return GuardResult("protocol-upgrade", "fail", evidence | {"detail": detail}, f"Legal versions from here: {steps}.")


def _tracked(
    snapshot: Snapshot, proposal: Proposal, protocol: Protocol, metadata: Metadata, circumstances: Circumstances
) -> Proposal:
    """Give row tracking its columns when it is added, and every file its row ids when it is enabled.

    The reference makes three commits, so that many files can be numbered in batches while others write; in one
    commit there is no version in which ids are promised but missing, or given but not promised.
    """
    if "rowTracking" not in active_features(protocol):
        return proposal
    configuration = dict(metadata.configuration)
    if "rowTracking" not in active_features(snapshot.protocol) or ROW_TRACKING.of(configuration):
        configuration.setdefault(ROW_ID_COLUMN.key, f"_row-id-col-{circumstances.new_id()}")
        configuration.setdefault(ROW_COMMIT_VERSION_COLUMN.key, f"_row-commit-version-col-{circumstances.new_id()}")
    metadata = msgspec.structs.replace(metadata, configuration=configuration)
    proposal = msgspec.structs.replace(proposal, metadata=metadata)
    if not ROW_TRACKING.of(configuration) or snapshot.row_tracking.enabled:
        return proposal
    files = snapshot.logical_files
    bare_files = files.filter(files.column("base_row_id").is_null())
    if not bare_files.num_rows:
        return _tagged(snapshot, proposal, metadata)
    bare = adds(bare_files, data_change=False, unknown=circumstances.unknown(snapshot))
    tracking = row_tracking(protocol, metadata, snapshot.domain_metadata)
    numbered, mark, faults = number_rows(bare, tracking, snapshot.version + 1)
    return msgspec.structs.replace(
        proposal,
        adds=numbered,
        domains=mark,
        is_blind_append=False,
        reads_files=True,
        isolation="SnapshotIsolation",
        guards=(*proposal.guards, *faults),
    )


def _tagged(snapshot: Snapshot, proposal: Proposal, metadata: Metadata) -> Proposal:
    """Mark a commit that only enables row tracking: in the reference it does not conflict with writers that race it."""
    changed = changed_properties(snapshot.metadata.configuration, metadata.configuration).keys()
    alone = msgspec.structs.replace(metadata, configuration=snapshot.metadata.configuration) == snapshot.metadata
    enabling = {ROW_TRACKING.key, ROW_ID_COLUMN.key, ROW_COMMIT_VERSION_COLUMN.key}
    if not alone or proposal.protocol is not None or changed - enabling:
        return proposal
    return msgspec.structs.replace(proposal, tags={"rowTrackingEnablementOnly": "true"})


def _undo(snapshot: Snapshot, metadata: Metadata, of_mapping: str = "") -> str:
    """Return how to give the properties and the description their earlier values back, and which ones stay."""
    changes = changed_properties(snapshot.metadata.configuration, metadata.configuration)
    by_hand = {key: was for key, (was, _) in changes.items() if not (of_mapping and key == COLUMN_MAPPING_MODE.key)}
    by_hand = {key: was for key, was in by_hand.items() if not _is_fixed(key) and not _is_respelled(key)}
    steps = [f"set {key} to {was!r}" for key, was in by_hand.items() if was is not None]
    unset = [key for key, was in by_hand.items() if was is None]
    steps += [f"unset {', '.join(unset)}"] if unset else []
    before = snapshot.metadata.description
    if metadata.description != before:
        steps.append(f"set the description to {before!r}" if before else "remove the description")
    text = "; ".join(steps)
    sentences = [f"{text[:1].upper()}{text[1:]}."] if text else []
    sentences += [of_mapping] if of_mapping else []
    return " ".join([*sentences, *_left_behind(changes, of_mapping)])


def _left_behind(changes: Mapping[str, tuple[str | None, str | None]], of_mapping: str) -> Iterator[str]:
    """Yield what no undo takes away: properties that cannot be set by hand."""
    fixed = [key for key in changes if _is_fixed(key) and not (of_mapping and key == MAX_COLUMN_ID.key)]
    if IN_COMMIT_TIMESTAMPS.key in changes and IN_COMMIT_TIMESTAMPS.of(_after(changes)):
        fixed += [key for key in (ICT_ENABLEMENT_VERSION.key, ICT_ENABLEMENT_TIMESTAMP.key) if key not in fixed]
    if respelled := [key for key, (_, value) in changes.items() if value is None and _is_respelled(key)]:
        yield f"{', '.join(respelled)} cannot be set again, and did nothing."
    if fixed:
        yield f"{', '.join(fixed)} {'stays' if len(fixed) == 1 else 'stay'} set."


def _is_respelled(key: str) -> bool:
    """Return whether a key is one of Delta's in another case: nothing can set it again, and it has no effect."""
    return property_of(key) is None and key.lower() in PROPERTIES


def _after(changes: Mapping[str, tuple[str | None, str | None]]) -> dict[str, str]:
    return {key: value for key, (_, value) in changes.items() if value is not None}


def _is_fixed(key: str) -> bool:
    known = property_of(key)
    return known is not None and known.why_fixed is not None


PROPOSALS: Final = (proposes(SetProperties, set_properties), proposes_alone(UnsetProperties, unset_properties))
"""What the intents of this module propose."""
