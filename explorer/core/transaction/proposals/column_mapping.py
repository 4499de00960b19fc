"""Column mapping switched on and off.

Protocol section: Column Mapping (Writer Requirements). Invariants: existing files stay readable, so on an existing
table the physical names are the logical ones and only ``none`` to ``name`` is allowed (CM-012); the protocol gets the
feature in the same commit (CM-011); removing the mapping rewrites every file, so it needs a table without files; a
table that gets usage tracking records whether a column may have been dropped or renamed before (CMUSAGE-001).
"""

from __future__ import annotations

from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.core.protocol.clustering import DOMAIN as CLUSTERING
from explorer.core.protocol.clustering import clustering_columns
from explorer.core.protocol.counted import counted
from explorer.core.protocol.protocol_evolution import with_features
from explorer.core.protocol.schema.column_mapping import highest_id, map_columns, unmap_columns
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.table_features import active_features
from explorer.core.protocol.table_properties.registry import COLUMN_MAPPING_MODE, HAS_DROPPED_OR_RENAMED, MAX_COLUMN_ID
from explorer.core.transaction.guards.columns import names_guard
from explorer.core.transaction.intents.records import SetColumnMapping
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.entry import parameter_text, proposes_alone
from explorer.core.versions.snapshot import Snapshot

USAGE_TRACKING: Final = "columnMappingUsageTracking"
"""The feature whose tables say whether a column was ever dropped or renamed."""

_MODES = ("none", "name", "id")


def set_column_mapping(intent: SetColumnMapping, snapshot: Snapshot) -> Proposal:
    """Switch column mapping to another mode.

    Raises:
        InvalidIntent: There is no such mode, or the table has it.
    """
    mode, before = intent.mode.strip().lower(), snapshot.column_mapping_mode
    if mode not in _MODES:
        raise InvalidIntent(f"{intent.mode!r} is not a column mapping mode.", field="mode", allowed=list(_MODES))
    if mode == before:
        raise InvalidIntent(f"The column mapping mode is already {mode}.", field="mode", allowed=list(_MODES))
    return _removed(snapshot) if mode == "none" else _added(snapshot, mode)


def map_existing(metadata: Metadata, snapshot: Snapshot) -> Metadata:
    """Give every column an id and, as its physical name, its name in the files.

    Args:
        metadata: The metadata to change; its schema is the snapshot's.
    """
    configuration = dict(metadata.configuration)
    first = MAX_COLUMN_ID.of(configuration)
    schema, last = map_columns(snapshot.schema, highest_id(snapshot.schema, first), lambda field: field.name)
    configuration[MAX_COLUMN_ID.key] = str(last)
    if USAGE_TRACKING in active_features(snapshot.protocol):
        configuration.setdefault(HAS_DROPPED_OR_RENAMED.key, "false")
    return msgspec.structs.replace(metadata, schema_string=schema.to_json(), configuration=configuration)


def with_usage_mark(metadata: Metadata, protocol: Protocol, snapshot: Snapshot) -> Metadata:
    """Record in a table that gets usage tracking whether a column may have been dropped or renamed (CMUSAGE-001).

    Args:
        snapshot: The version before it. If its columns are mapped, their past changes are unknown.
    """
    if USAGE_TRACKING not in active_features(protocol) or USAGE_TRACKING in active_features(snapshot.protocol):
        return metadata
    used = snapshot.column_mapping_mode != "none" or HAS_DROPPED_OR_RENAMED.of(metadata.configuration)
    configuration = {**metadata.configuration, HAS_DROPPED_OR_RENAMED.key: str(used).lower()}
    return msgspec.structs.replace(metadata, configuration=configuration)


def _added(snapshot: Snapshot, mode: str) -> Proposal:
    configuration = {**snapshot.metadata.configuration, COLUMN_MAPPING_MODE.key: mode}
    metadata = msgspec.structs.replace(snapshot.metadata, configuration=configuration)
    protocol = with_features(snapshot.protocol, ["columnMapping"])
    return Proposal(
        operation="SET TBLPROPERTIES",
        parameters={"properties": parameter_text({COLUMN_MAPPING_MODE.key: mode})},
        metadata=map_existing(metadata, snapshot),
        protocol=None if protocol is snapshot.protocol else protocol,
        guards=(_mode_guard(snapshot, mode),),
        undo="Going back to none rewrites every file; clients that read the table must know column mapping until then.",
    )


def _removed(snapshot: Snapshot) -> Proposal:
    schema = unmap_columns(snapshot.schema)
    configuration = {
        key: value
        for key, value in snapshot.metadata.configuration.items()
        if key not in (COLUMN_MAPPING_MODE.key, MAX_COLUMN_ID.key)
    }
    metadata = msgspec.structs.replace(
        snapshot.metadata,
        schema_string=schema.to_json(),
        configuration={**configuration, COLUMN_MAPPING_MODE.key: "none"},
    )
    names = names_guard([path for path, _ in walk(schema)], mapped=False, configuration=configuration)
    if names.status == "fail":
        names = msgspec.structs.replace(names, remedy="Rename these columns first.")
    return Proposal(
        operation="REMOVE COLUMN MAPPING",
        parameters={},
        metadata=metadata,
        domains=_clustering(snapshot),
        is_blind_append=False,
        reads_files=True,
        guards=(_files_guard(snapshot), names),
        undo="Switch column mapping to name again.",
    )


def _mode_guard(snapshot: Snapshot, mode: str) -> GuardResult:
    before = snapshot.column_mapping_mode
    evidence: dict[str, object] = {"from": before, "to": mode}
    if (before, mode) == ("none", "name"):
        detail = "Existing files keep their column names, which become the physical names."
        return GuardResult("mapping-mode", "pass", evidence | {"detail": detail})
    detail = (
        "The existing files have no field ids, by which mode id finds columns."
        if before == "none"
        else "Files and clients find columns by the mode they were written for."
    )
    remedy = (
        "Use mode name, which works on an existing table." if before == "none" else "Keep the mode, or switch to none."
    )
    return GuardResult("mapping-mode", "fail", evidence | {"detail": f"{detail} (CM-012)"}, remedy)


def _files_guard(snapshot: Snapshot) -> GuardResult:
    files = snapshot.num_files
    evidence: dict[str, object] = {"from": snapshot.column_mapping_mode, "to": "none", "files": files}
    if files == 0:
        return GuardResult("mapping-mode", "pass", evidence | {"detail": "There is no file to rewrite."})
    hold = counted(files, "file holds", "files hold")
    detail = f"{hold} the columns under their physical names and would have to be rewritten (CM-012)."
    remedy = f"Let Spark do it: ALTER TABLE ... SET TBLPROPERTIES ('{COLUMN_MAPPING_MODE}' = 'none')."
    return GuardResult("mapping-mode", "fail", evidence | {"detail": detail}, remedy)


def _clustering(snapshot: Snapshot) -> tuple[DomainMetadata, ...]:
    """Record the clustering columns, by physical name (CM-015), under their logical names."""
    clustered = clustering_columns(snapshot.schema, snapshot.column_mapping_mode, snapshot.domain_metadata)
    if not clustered:
        return ()
    configuration = parameter_text({"clusteringColumns": [list(path) for path in clustered], "domainName": CLUSTERING})
    return (DomainMetadata(domain=CLUSTERING, configuration=configuration),)


PROPOSALS: Final = (proposes_alone(SetColumnMapping, set_column_mapping),)
"""What the intents of this module propose."""
