"""Restoring: the files and the metadata of an earlier version become the table again.

Protocol sections: Add File and Remove File, Protocol Evolution. Invariants: the protocol is never lowered (PROTO-006);
files that come back keep their row ids (ROWTRACK-003), no other row has these (ROWTRACK-001), and the mark is not below
them (ROWTRACK-002); a table with row tracking keeps names for the columns that hold them, and where it is enabled every
file has ids (ROWTRACK-005); the highest column id only grows (CM-009); that a column was dropped or renamed stays
recorded (CMUSAGE-001); checkpoints that were protected stay so (CKPTPROT-001); the files of the restored version must
exist; from when commits have in-commit timestamps is never recorded as earlier than it was (ICT-003).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import Add, DomainMetadata, Metadata, Protocol
from explorer.core.protocol.clustering import DOMAIN as CLUSTERING
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.protocol_evolution import with_features
from explorer.core.protocol.row_tracking import RowTracking, row_tracking
from explorer.core.protocol.schema.column_mapping import mapping_mode, physical_paths
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.protocol.schema.field_metadata import IDENTITY_HIGH_WATER_MARK, IDENTITY_STEP
from explorer.core.protocol.table_features import supported_features
from explorer.core.protocol.table_properties.registry import (
    CHANGE_DATA_FEED,
    CHECKPOINT_PROTECTION,
    HAS_DROPPED_OR_RENAMED,
    ICT_ENABLEMENT_TIMESTAMP,
    ICT_ENABLEMENT_VERSION,
    IN_COMMIT_TIMESTAMPS,
    MAX_COLUMN_ID,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)
from explorer.core.transaction.guards.restore import restore_guard
from explorer.core.transaction.guards.undone_commits import UndoneCommit
from explorer.core.transaction.intents.records import Restore
from explorer.core.transaction.new_files.file_actions import adds, high_water_mark, number_rows, removes
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal
from explorer.core.transaction.proposals.column_mapping import USAGE_TRACKING
from explorer.core.versions.change_feed.schema_breaks import why_rows_do_not_fit
from explorer.core.versions.snapshot import Snapshot

_KEY: Final = "\x00"
_SINCE: Final = (ICT_ENABLEMENT_VERSION.key, ICT_ENABLEMENT_TIMESTAMP.key)
_ROW_COLUMNS: Final = (ROW_ID_COLUMN.key, ROW_COMMIT_VERSION_COLUMN.key)
_COUNT: Final = (
    "Let recompute-statistics count the rows of the file, if it is in the newest version; or restore a version whose "
    "files all say how many rows they have."
)


def restore(
    intent: Restore,
    snapshot: Snapshot,
    target: Snapshot,
    unknown: Mapping[tuple[str, str | None], JsonObject],
    circumstances: Circumstances,
    *,
    undone: Sequence[UndoneCommit] = (),
) -> Proposal:
    """Bring back a version.

    Args:
        intent: The request; its time goes into the provenance.
        unknown: Fields of its files that this program does not know; see
            `explorer.core.transaction.new_files.file_actions.adds`.
        circumstances: The present, and such fields of files that stay; where it gives none, they keep the target's.
        undone: The newest of the commits after the target, the newest first.
    """
    now_files, then_files = snapshot.logical_files, target.logical_files
    returning = then_files.filter(pc.invert(_among(then_files, now_files)))
    is_shared = _among(now_files, then_files)
    leaving, stays = now_files.filter(pc.invert(is_shared)), now_files.filter(is_shared)
    protocol = with_features(snapshot.protocol, supported_features(target.protocol))
    metadata = _metadata(snapshot, target, protocol)
    mode = mapping_mode(metadata.configuration, protocol)
    tracking = row_tracking(protocol, metadata, snapshot.domain_metadata)
    added_again = adds(returning, data_change=True, unknown=unknown)
    vectors = (location(add.deletion_vector.id) for add in added_again if add.deletion_vector is not None)
    vector_files = sorted({file for file in vectors if file is not None})
    without_ids = _without_row_ids(stays, target, tracking)
    if without_ids.num_rows:
        added_again += adds(without_ids, data_change=False, unknown={**unknown, **circumstances.unknown(snapshot)})
    added, mark, faults = _numbered(added_again, stays, target, tracking, snapshot.version + 1)
    return Proposal(
        operation="RESTORE",
        parameters={"version": intent.version, "timestamp": intent.timestamp},
        metadata=metadata,
        protocol=protocol,
        adds=added,
        removes=removes(leaving, now=circumstances.now, data_change=True),
        domains=(*mark, *_clustering(snapshot, target)),
        metrics=_metrics(returning, leaving, then_files),
        is_blind_append=False,
        reads_files=True,
        required_paths=(*returning.column("path").to_pylist(), *vector_files),
        guards=(*faults, restore_guard(snapshot, target, (metadata, mode), (returning, leaving), undone)),
        change_feed=_change_feed(snapshot, protocol, metadata),
        undo=_undo(snapshot, snapshot.changed(protocol, metadata), moves=bool(returning.num_rows or leaving.num_rows)),
    )


def _undo(before: Snapshot, after: Snapshot, *, moves: bool) -> str:
    """Return how the restore can be undone: by one of the version before it, unless that would change nothing.

    Args:
        after: The same with the metadata and the protocol after the restore.
    """
    again = _metadata(after, before, after.protocol)
    domains = _clustering(after, before)
    if not moves and again == after.metadata and not domains:
        return f"It cannot be undone: a restore of version {before.version} would change nothing."
    text = f"Restore version {before.version}{', as long as its files are not vacuumed' if moves else ''}."
    keys = sorted(
        key
        for key in again.configuration.keys() | before.metadata.configuration.keys()
        if again.configuration.get(key) != before.metadata.configuration.get(key)
    )
    return (
        f"{text} {', '.join(keys)} {'keeps its new value' if len(keys) == 1 else 'keep their new values'}."
        if keys
        else text
    )


def _metadata(snapshot: Snapshot, target: Snapshot, protocol: Protocol) -> Metadata:
    """Return the metadata of the target, except the counters that only grow and what a feature that stays needs."""
    now, then = snapshot.metadata, target.metadata
    configuration = dict(then.configuration)
    if "rowTracking" in supported_features(protocol):
        named = {key: now.configuration[key] for key in _ROW_COLUMNS if key in now.configuration}
        configuration = named | configuration
    if IN_COMMIT_TIMESTAMPS.of(configuration) and IN_COMMIT_TIMESTAMPS.of(now.configuration):
        # They may have been off in between: the newest version says from when commits have them.
        configuration = {key: text for key, text in configuration.items() if key not in _SINCE}
        configuration |= {key: text for key, text in now.configuration.items() if key in _SINCE}
    protections = [item.configuration for item in (now, then) if CHECKPOINT_PROTECTION.is_set(item.configuration)]
    if "checkpointProtection" in supported_features(protocol) and protections:
        configuration[CHECKPOINT_PROTECTION.key] = str(max(map(CHECKPOINT_PROTECTION.of, protections)))
    if MAX_COLUMN_ID.is_set(configuration):
        highest = max(MAX_COLUMN_ID.of(item.configuration) for item in (now, then))
        configuration[MAX_COLUMN_ID.key] = str(highest)
    if USAGE_TRACKING in supported_features(protocol):
        used = HAS_DROPPED_OR_RENAMED.of(now.configuration, unset=True) or _drops_or_renames(snapshot, target)
        configuration[HAS_DROPPED_OR_RENAMED.key] = str(used).lower()
    current = {field.physical_name: field for field in reversed(snapshot.schema.fields)}
    schema = StructType(tuple(_furthest(field, current.get(field.physical_name)) for field in target.schema.fields))
    text = then.schema_string if schema == target.schema else schema.to_json()
    return msgspec.structs.replace(then, configuration=configuration, schema_string=text)


def _without_row_ids(stays: pa.Table, target: Snapshot, tracking: RowTracking) -> pa.Table:
    """Return the files that stay and cannot keep what they have for row ids, without these.

    Dropping row tracking takes the ids and the mark away, and ids given afterwards begin at 0 again. So a file that
    stays may have no ids, which it needs where row tracking is enabled, or ids of rows that come back. It keeps those
    that the target gave it too, and those above all that the target knew.
    """
    if not tracking.supported:
        return stays.slice(0, 0)
    then, has = target.logical_files, stays.column("base_row_id")
    had = then.column("base_row_id").take(pc.index_in(_keys(stays), value_set=_keys(then)))
    keeps_ids = pc.or_kleene(pc.equal(has, had), pc.greater(has, _highest_id(then, target.row_tracking)))
    needed = pc.or_(pc.is_valid(has), tracking.enabled)
    bare = stays.filter(pc.and_(needed, pc.invert(pc.fill_null(keeps_ids, False))))
    for name in ("base_row_id", "default_row_commit_version"):
        bare = bare.set_column(bare.schema.get_field_index(name), name, pa.nulls(bare.num_rows, pa.int64()))
    return bare


def _numbered(
    come: tuple[Add, ...], stays: pa.Table, target: Snapshot, tracking: RowTracking, version: int
) -> tuple[tuple[Add, ...], tuple[DomainMetadata, ...], tuple[GuardResult, ...]]:
    """Give ids above those of both versions, and write a mark that is not below them.

    A failed guard comes instead where a file does not record how many rows it has, and thus how many ids.
    """
    if not tracking.supported:
        return come, (), ()
    known = (stays, tracking), (target.logical_files, target.row_tracking)
    endless = [path for each in known for path in _endless(*each)]
    if endless:
        detail = "The log does not record how many rows this file has, so it is not known which row ids are free."
        return come, (), (GuardResult("row-ids", "fail", {"path": endless[0], "detail": detail}, _COUNT),)
    highest = max(_highest_id(*each) for each in known)
    from_here = msgspec.structs.replace(tracking, high_water_mark=highest)
    added, mark, faults = number_rows(come, from_here, version)
    if faults:
        return added, (), tuple(msgspec.structs.replace(fault, remedy=_COUNT) for fault in faults)
    return added, mark or ((high_water_mark(highest),) if highest > tracking.last_id else ()), ()


def _highest_id(files: pa.Table, tracking: RowTracking) -> int:
    """Return the highest row id of a version, or -1: files may have ids above a mark that is missing or too low."""
    ends = pc.add(files.column("base_row_id"), pc.subtract(files.column("num_records"), 1))
    last = pc.max(ends).as_py()
    return max(tracking.last_id, -1 if last is None else last)


def _endless(files: pa.Table, tracking: RowTracking) -> list[str]:
    """Return the files whose highest row id neither a count nor the mark gives."""
    above = pc.greater(files.column("base_row_id"), tracking.last_id)
    endless = files.filter(pc.and_(above, pc.is_null(files.column("num_records"))))
    return [str(path) for path in endless.column("raw_path").to_pylist()]


def _drops_or_renames(snapshot: Snapshot, target: Snapshot) -> bool:
    """Return True if a column of the newest version is not in the target, or has another name there."""
    now, then = (physical_paths(each.schema, each.column_mapping_mode) for each in (snapshot, target))
    return not now.items() <= then.items()


def _furthest(field: StructField, twin: StructField | None) -> StructField:
    """Return an identity column with the mark that is furthest in the direction of its step (IDENT-004).

    Args:
        twin: The same column now; None if it was dropped.
    """
    step = field.metadata.get(IDENTITY_STEP)
    if not isinstance(step, int) or twin is None:
        return field
    values = (item.metadata.get(IDENTITY_HIGH_WATER_MARK) for item in (field, twin))
    marks = [mark for mark in values if isinstance(mark, int)]
    if not marks:
        return field
    metadata = {**field.metadata, IDENTITY_HIGH_WATER_MARK: max(marks) if step > 0 else min(marks)}
    return msgspec.structs.replace(field, metadata=metadata)


def _clustering(snapshot: Snapshot, target: Snapshot) -> tuple[DomainMetadata, ...]:
    """Restore the clustering with the layout; other domains belong to their programs and stay."""
    now, then = snapshot.domain_metadata.get(CLUSTERING), target.domain_metadata.get(CLUSTERING)
    if then is not None:
        return (DomainMetadata(domain=CLUSTERING, configuration=then),)
    return () if now is None else (DomainMetadata(domain=CLUSTERING, configuration=now, removed=True),)


def _among(files: pa.Table, others: pa.Table) -> Any:
    return pc.is_in(_keys(files), value_set=_keys(others))


def _keys(files: pa.Table) -> Any:
    """Return path and deletion vector as one string, the key of a logical file."""
    return pc.binary_join_element_wise(
        files.column("path"), pc.fill_null(files.column("dv_unique_id"), ""), _KEY
    ).combine_chunks()


def _metrics(returning: pa.Table, leaving: pa.Table, then: pa.Table) -> dict[str, str]:
    return {
        "numRestoredFiles": str(returning.num_rows),
        "restoredFilesSize": str(_sum(returning.column("size"))),
        "numRemovedFiles": str(leaving.num_rows),
        "removedFilesSize": str(_sum(leaving.column("size"))),
        "numOfFilesAfterRestore": str(then.num_rows),
        "tableSizeAfterRestore": str(_sum(then.column("size"))),
    }


def _change_feed(snapshot: Snapshot, protocol: Protocol, after: Metadata) -> str:
    try:
        was, will_be = (CHANGE_DATA_FEED.of(metadata.configuration) for metadata in (snapshot.metadata, after))
    except CorruptTable as error:
        return f"It is not known whether the change data feed is on: {error}"
    match was, will_be:
        case False, False:
            return "The change data feed stays off."
        case True, False:
            return f"The change data feed ends with version {snapshot.version}: it is off after the restore."
        case False, True:
            return f"The change data feed is on again from version {snapshot.version + 1} on."
    reason = why_rows_do_not_fit((snapshot.protocol, snapshot.metadata), (protocol, after))
    if reason is not None:
        return f"Ranges of the change data feed that cross version {snapshot.version + 1} are refused: {reason}."
    return "Rows of files that come back appear as inserted, rows of files that go as deleted."


def _sum(column: pa.ChunkedArray) -> int:
    return pc.sum(column).as_py() or 0
