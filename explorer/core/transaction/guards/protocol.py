"""Guards on what the protocol demands: how it evolves, which features the new state needs, what each demands of files.

Protocol sections: Protocol Evolution, Table Features, and the writer requirements of single features. Invariants: what
was already wrong is a warning and blocks no commit; what this commit would make wrong fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow.compute as pc

from explorer.core.errors import ExplorerError
from explorer.core.protocol.actions import Add, Metadata, Protocol, Remove
from explorer.core.protocol.counted import counted
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.protocol_evolution import evolution_problems, protocol_problems
from explorer.core.protocol.row_tracking import RowTracking, row_tracking
from explorer.core.protocol.schema.data_types import PrimitiveType, parse_schema
from explorer.core.protocol.schema.nested_types import nested_types, walk
from explorer.core.protocol.table_features import (
    FEATURES,
    active_features,
    feature_of_type,
    features_switched_on,
    missing_features,
)
from explorer.core.protocol.table_properties.registry import ROW_TRACKING, ROW_TRACKING_SUSPENDED
from explorer.core.protocol.table_properties.values import constraints
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.versions.snapshot import Snapshot

_FIELD_KEYS: Final = {row.field_key: name for name, row in FEATURES.items() if row.field_key is not None}


def evolution_guard(before: Protocol | None, proposal: Proposal) -> GuardResult:
    """Check that versions and features only rise and are legal (PROTO-006, FEAT-003 to FEAT-006, FEAT-009)."""
    after = proposal.protocol
    if after is None or after == before:
        return GuardResult("protocol-evolution", "pass", {"detail": "The protocol does not change."})
    named = proposal.parameters.get("featureName") if proposal.operation == "DROP FEATURE" else None
    dropped = named if isinstance(named, str) else None
    problems = [] if before is None else list(evolution_problems(before, after, dropped))
    old = () if before is None else protocol_problems(before)
    problems += [problem for problem in protocol_problems(after) if problem not in old]
    gained = sorted(active_features(after) - (active_features(before) if before else frozenset()))
    evidence: dict[str, object] = {
        "before": None if before is None else [before.min_reader_version, before.min_writer_version],
        "after": [after.min_reader_version, after.min_writer_version],
        "featuresAdded": gained,
        "featureDropped": dropped,
    }
    if problems:
        detail = f"The protocol would be illegal: {'; '.join(problems)}."
        return GuardResult(
            "protocol-evolution", "fail", evidence | {"detail": detail}, "Raise the protocol in another way."
        )
    return GuardResult("protocol-evolution", "pass", evidence | {"detail": _protocol_change(before, after)})


def _protocol_change(before: Protocol | None, after: Protocol) -> str:
    """Describe a protocol that changes in one sentence: its versions, or only its features."""
    versions = f"({after.min_reader_version}, {after.min_writer_version})"
    if before is None:
        return f"The protocol becomes {versions}."
    if (before.min_reader_version, before.min_writer_version) != (after.min_reader_version, after.min_writer_version):
        return f"The protocol changes from ({before.min_reader_version}, {before.min_writer_version}) to {versions}."
    return f"The protocol keeps its versions {versions}; its list of features changes."


def needs_guard(snapshot: Snapshot | None, proposal: Proposal) -> GuardResult | None:
    """Check that the protocol has every feature that the new state uses (WRITER-002); None if nothing needs one."""
    if proposal.metadata is None and proposal.protocol is None and not _special(proposal):
        return None
    metadata = proposal.metadata or (snapshot.metadata if snapshot else None)
    protocol = proposal.protocol or (snapshot.protocol if snapshot else None)
    assert metadata is not None
    assert protocol is not None
    try:
        wanted = dict(_needs(metadata)) | _special(proposal)
        lacking = _lacking(wanted, protocol)
        known = _lacking(dict(_needs(snapshot.metadata)), snapshot.protocol) if snapshot and lacking else {}
    except ExplorerError as error:
        return GuardResult("features-present", "unknown", {"detail": error.message}, "Check the metadata yourself.")
    fresh = {what: feature for what, feature in lacking.items() if what not in known}
    evidence: dict[str, object] = {"needed": sorted(set(wanted.values())), "lacking": lacking}
    if fresh:
        text = "; ".join(f"{what} needs {feature}" for what, feature in fresh.items())
        remedy = f"Enable {', '.join(sorted(set(fresh.values())))} first (enable-feature)."
        return GuardResult("features-present", "fail", evidence | {"detail": f"{text}."}, remedy)
    if lacking:
        text = "; ".join(f"{what} has no effect without {feature}" for what, feature in lacking.items())
        remedy = f"Enable {', '.join(sorted(set(lacking.values())))}, or remove these settings."
        return GuardResult("features-present", "warn", evidence | {"detail": f"{text}."}, remedy)
    return GuardResult(
        "features-present", "pass", evidence | {"detail": "The protocol has every feature that the table uses."}
    )


def row_tracking_guard(snapshot: Snapshot | None, proposal: Proposal) -> GuardResult | None:
    """Check that every file has row ids, or none (ROWTRACK-001, ROWTRACK-004, ROWTRACK-005); None without row tracking.

    Files that are live already are checked if the proposal enables row tracking: before, they may have no ids.
    """
    protocol = proposal.protocol or (snapshot.protocol if snapshot else None)
    metadata = proposal.metadata or (snapshot.metadata if snapshot else None)
    assert protocol is not None
    assert metadata is not None
    if "rowTracking" not in active_features(protocol):
        return None
    domains = {} if snapshot is None else dict(snapshot.domain_metadata)
    domains |= {item.domain: item.configuration for item in proposal.domains if not item.removed}
    try:
        tracking = row_tracking(protocol, metadata, domains)
        enables = tracking.enabled and not (snapshot and snapshot.row_tracking.enabled)
        faults = list(_row_faults(tracking, metadata, proposal))
        if snapshot and enables:
            faults += _files_without_ids(snapshot, proposal)
    except ExplorerError as error:
        return GuardResult("row-tracking", "unknown", {"detail": error.message}, "Set the property again.")
    evidence: dict[str, object] = {
        "enabled": tracking.enabled,
        "suspended": tracking.suspended,
        "highWaterMark": tracking.high_water_mark,
    }
    if faults:
        detail = f"{'; '.join(faults)}."
        return GuardResult(
            "row-tracking", "fail", evidence | {"detail": detail}, "Set or unset the other property first."
        )
    if tracking.suspended:
        detail = "Row tracking is suspended: files that enter need no row ids."
    elif snapshot is None or enables:
        detail = "Every file has row ids."
    else:
        detail = "Every file that enters has row ids."
    return GuardResult("row-tracking", "pass", evidence | {"detail": detail})


def _row_faults(tracking: RowTracking, metadata: Metadata, proposal: Proposal) -> Iterator[str]:
    if tracking.enabled and tracking.suspended:
        yield f"{ROW_TRACKING} and {ROW_TRACKING_SUSPENDED} cannot both be true (ROWTRACK-004)"
    if tracking.enabled and None in (tracking.row_id_column, tracking.row_commit_version_column):
        yield "the columns that keep the ids of moved rows have no names (ROWTRACK-005)"
    schema = parse_schema(metadata.schema_string or "")
    taken = {name for field in schema.fields for name in (field.name.lower(), field.physical_name.lower())}
    for name in (tracking.row_id_column, tracking.row_commit_version_column):
        if name is not None and name.lower() in taken:
            yield f"{name!r} is a column of the table and the name under which moved rows keep their ids"
    if not tracking.suspended and any(add.base_row_id is None for add in proposal.adds):
        yield "a file would enter the table without row ids (ROWTRACK-001)"


def _files_without_ids(snapshot: Snapshot, proposal: Proposal) -> Iterator[str]:
    files = snapshot.logical_files
    bare = files.filter(pc.is_null(files.column("base_row_id"))).select(["path", "dv_unique_id"]).to_pylist()
    actions: tuple[Add | Remove, ...] = (*proposal.adds, *proposal.removes)
    named = {
        (canonical_key(action.path), None if action.deletion_vector is None else action.deletion_vector.unique_id)
        for action in actions
    }
    count = sum((file["path"], file["dv_unique_id"]) not in named for file in bare)
    if count:
        yield f"{counted(count, 'file')} would stay without row ids (ROWTRACK-005)"


def _lacking(needs: dict[str, str], protocol: Protocol) -> dict[str, str]:
    missing = missing_features(needs.values(), protocol)
    return {what: feature for what, feature in needs.items() if feature in missing}


def _special(proposal: Proposal) -> dict[str, str]:
    needs = {}
    if any(add.deletion_vector is not None for add in proposal.adds):
        needs["a file with a deletion vector"] = "deletionVectors"
    if proposal.domains:
        needs["domain metadata"] = "domainMetadata"
    return needs


def _needs(metadata: Metadata) -> Iterator[tuple[str, str]]:
    """Yield what metadata uses, and the feature that this needs."""
    for key, value in metadata.configuration.items():
        for feature in features_switched_on({key: value}):
            yield f"{key} = {value}", feature
    for name in constraints(metadata.configuration):
        yield f"the constraint {name}", "checkConstraints"
    schema = parse_schema(metadata.schema_string or "")
    for field in schema.fields:
        for kind in nested_types(field.type):
            if isinstance(kind, PrimitiveType) and (needed := feature_of_type(kind.name)) is not None:
                yield f"the type {kind.name} of {field.name}", needed
    for path, field in walk(schema):
        for key, feature in _FIELD_KEYS.items():
            if key in field.metadata:
                yield f"{key} of {'.'.join(path)}", feature
