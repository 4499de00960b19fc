"""Features of the protocol: raising it by versions or by a feature, and dropping a feature.

Protocol sections: Protocol Evolution, Table Features; checkpoint protection is a proposed section. Invariants: versions
and features only rise (PROTO-006), but for features that are dropped by name; a feature comes with what it needs
(FEAT-009), and goes only when nothing in the version uses it (FEAT-006); earlier versions that use a feature which
binds readers stay behind a checkpoint that no longer needs it, and are protected from a cleanup by clients that would
not understand them (CKPTPROT-001).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.log.log_path import LogFileKind
from explorer.core.protocol.actions import DomainMetadata, Remove
from explorer.core.protocol.counted import counted
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.protocol_evolution import dependents, with_features, without_feature
from explorer.core.protocol.row_tracking import DOMAIN
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.schema.field_metadata import TYPE_CHANGES
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.table_features import FEATURES, supported_features
from explorer.core.protocol.table_properties.registry import (
    CHECKPOINT_PROTECTION,
    FEATURE_PREFIX,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
)
from explorer.core.protocol.table_properties.values import constraints
from explorer.core.transaction.intents.property_settings import feature_name
from explorer.core.transaction.intents.records import DropFeature, EnableFeature, SetProperties, UpgradeProtocol
from explorer.core.transaction.new_files.file_actions import adds
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal
from explorer.core.transaction.proposals.entry import proposes
from explorer.core.transaction.proposals.table_properties import set_properties
from explorer.core.versions.snapshot import Snapshot

_MOST_DIGITS: Final = 20


class LogMarks(msgspec.Struct, frozen=True):
    """What the log holds besides the version.

    Attributes:
        first_commit: The oldest commit in the log.
        checkpoint: Version of the newest checkpoint; None if there is none.
        checkpoint_kind: How that checkpoint is named.
        unknown: What the live files record beyond their columns; see
            `explorer.core.transaction.new_files.file_actions.adds`.
        vectors: Tombstones for the files of deletion vectors that unexpired tombstones name.
    """

    first_commit: int
    checkpoint: int | None = None
    checkpoint_kind: LogFileKind | None = None
    unknown: Mapping[tuple[str, str | None], JsonObject] = {}
    vectors: tuple[Remove, ...] = ()


def drop_feature(intent: DropFeature, snapshot: Snapshot, log: LogMarks) -> Proposal:
    """Take a feature out of the protocol.

    Raises:
        InvalidIntent: The table does not have the feature, or it cannot be dropped.
    """
    name = _present(intent.feature, snapshot)
    version = snapshot.version + 1
    protocol = without_feature(snapshot.protocol, name)
    keys = {known.key for known in FEATURES[name].keeps}
    configuration = {key: value for key, value in snapshot.metadata.configuration.items() if key not in keys}
    protected = FEATURES[name].reader
    if protected:
        protocol = with_features(protocol, ["checkpointProtection"])
        configuration[CHECKPOINT_PROTECTION.key] = str(version)
    proposal = Proposal(
        operation="DROP FEATURE",
        parameters={"featureName": name, "truncateHistory": name == "checkpointProtection"},
        metadata=msgspec.structs.replace(snapshot.metadata, configuration=configuration),
        protocol=protocol,
        removes=log.vectors if name == "deletionVectors" else (),
        is_blind_append=name != "deletionVectors" or not log.vectors,
        reads_files=_DROPS[name].reads_files,
        guards=tuple(_guards(name, snapshot, log, protected=protected)),
        time_travel=_time_travel(name, version, protected=protected),
        undo=_undo(name, snapshot.metadata.configuration.keys() & keys, protected=protected),
    )
    return _without_row_ids(proposal, snapshot, log) if name == "rowTracking" else proposal


def _undo(name: str, lost: Collection[str], *, protected: bool) -> str:
    """Return how the feature comes back, without what switches it on: it had to be off to be dropped."""
    text = f"Add the feature again: set {FEATURE_PREFIX}{name} to 'supported'."
    if lost:
        text = f"{text} {', '.join(sorted(lost))} {'does' if len(lost) == 1 else 'do'} not come back."
    return f"{text} {CHECKPOINT_PROTECTION} keeps its new value." if protected else text


def _present(requested: str, snapshot: Snapshot) -> str:
    name = feature_name(requested, "feature")
    have = supported_features(snapshot.protocol)
    if name not in have:
        raise InvalidIntent(
            f"The table does not have the feature {name}. Its features: {', '.join(have) or 'none'}.",
            field="feature",
            allowed=list(have),
        )
    if name not in _DROPS:
        raise InvalidIntent(
            f"The feature {name} cannot be dropped: no procedure shows that a table no longer uses it.",
            field="feature",
            allowed=[other for other in have if other in _DROPS],
        )
    return name


def _time_travel(name: str, version: int, *, protected: bool) -> str | None:
    if protected:
        return f"No version is lost; those before {version} can be read only by clients that know {name}."
    if name.startswith("inCommitTimestamp"):
        return "No version is lost; commit times come from the log's files again, and copying changes those."
    return None


def _guards(name: str, snapshot: Snapshot, log: LogMarks, *, protected: bool) -> Iterable[GuardResult]:
    yield _switched_off(name, snapshot)
    traces, remedy = _DROPS[name].traces(snapshot)
    yield _guard(
        "feature-unused", {"feature": name, "traces": traces}, traces, "Nothing in the version uses it.", remedy
    )
    others = dependents(name, snapshot.protocol)
    yield _guard(
        "feature-dependents",
        {"feature": name, "neededBy": list(others)},
        [f"the feature {other} needs it" for other in others],
        "No other feature needs it.",
        _dropping(others),
    )
    if protected:
        yield _barrier(name, snapshot, log)
    if name == "checkpointProtection":
        yield _history_is_deleted(snapshot, log)


def _dropping(others: Sequence[str]) -> str:
    """Return how to be rid of features that need another one."""
    stay = [other for other in others if other not in _DROPS]
    if stay:
        return f"{', '.join(stay)} cannot be dropped, so this feature stays too."
    return f"Drop {', '.join(others)} first."


def _switched_off(name: str, snapshot: Snapshot) -> GuardResult:
    feature = FEATURES[name.removesuffix("-preview")]
    if feature.switch is None:
        detail = "No property switches it on."
        return GuardResult("feature-switched-off", "pass", {"feature": name, "detail": detail})
    key = feature.switch.key
    value = snapshot.metadata.configuration.get(key)
    on = value is not None and feature.switched_on_by(key, value)
    other = feature.switch.default
    return _guard(
        "feature-switched-off",
        {"feature": name, "property": key, "value": value},
        [f"the property {key} is {value!r}"] if on else [],
        f"{key} does not switch it on.",
        "Run set-column-mapping with mode none first."
        if name == "columnMapping"
        else f"Run set-properties with {key} = {other} first, so that no writer uses it any more.",
    )


def _barrier(name: str, snapshot: Snapshot, log: LogMarks) -> GuardResult:
    """Check that a client without the feature has a checkpoint to begin at that needs no feature it lacks."""
    evidence: dict[str, object] = {"feature": name, "newestCheckpoint": log.checkpoint, "version": snapshot.version}
    faults = []
    if log.checkpoint != snapshot.version:
        faults.append(
            f"version {snapshot.version} has no checkpoint; a client without {name} would read commits that use it"
        )
    elif name == "v2Checkpoint" and log.checkpoint_kind is LogFileKind.UUID_CHECKPOINT:
        faults.append("the newest checkpoint itself needs the feature")
    passed = (
        f"Clients without {name} begin at the checkpoint of version {log.checkpoint}. Earlier versions stay, need the "
        "feature, and are protected from clients that would clean them up wrongly."
    )
    return _guard("history-barrier", evidence, faults, passed, "Run the intent checkpoint, then this one again.")


def _history_is_deleted(snapshot: Snapshot, log: LogMarks) -> GuardResult:
    """Check that protected versions are deleted: if none is named, as after a restore, all before the checkpoint."""
    key = CHECKPOINT_PROTECTION.key
    text = snapshot.metadata.configuration.get(key, "")
    newest_checkpoint = snapshot.version if log.checkpoint is None else log.checkpoint
    before = int(text) if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS else newest_checkpoint
    evidence: dict[str, object] = {key: text, "firstCommit": log.first_commit}
    faults = []
    if log.first_commit < before:
        faults.append(f"the log holds version {log.first_commit}, and versions before {before} are protected")
    remedy = f"Clean the log up to version {before} (clean-log): the history of these versions is then lost."
    return _guard("protected-history", evidence, faults, f"No version before {before} is left.", remedy)


def _guard(name: str, evidence: dict[str, object], faults: list[str], passed: str, remedy: str) -> GuardResult:
    if not faults:
        return GuardResult(name, "pass", evidence | {"detail": passed})
    text = "; ".join(faults)
    return GuardResult(name, "fail", evidence | {"detail": f"{text[:1].upper()}{text[1:]}."}, remedy)


def _without_row_ids(proposal: Proposal, snapshot: Snapshot, log: LogMarks) -> Proposal:
    """Take the ids from files together with the mark: row tracking enabled later would give them to other rows."""
    files = snapshot.logical_files
    bare = (
        msgspec.structs.replace(add, base_row_id=None, default_row_commit_version=None)
        for add in adds(files.filter(files.column("base_row_id").is_valid()), data_change=False, unknown=log.unknown)
    )
    mark = snapshot.domain_metadata.get(DOMAIN)
    removed = () if mark is None else (DomainMetadata(domain=DOMAIN, configuration=mark, removed=True),)
    return msgspec.structs.replace(proposal, adds=tuple(bare), domains=removed)


def _nothing(_snapshot: Snapshot) -> tuple[list[str], str]:
    return [], ""


def _constraints(snapshot: Snapshot) -> tuple[list[str], str]:
    names = list(constraints(snapshot.metadata.configuration))
    return [f"the constraint {name!r} is in force" for name in names], "Run drop-constraint for each of them first."


def _vectors(snapshot: Snapshot) -> tuple[list[str], str]:
    masked = snapshot.deletion_vectors().num_rows
    traces = [counted(masked, "file has deletion vectors", "files have deletion vectors")] if masked else []
    return traces, "Purge the masked rows first, which rewrites these files."


def _mapping(snapshot: Snapshot) -> tuple[list[str], str]:
    mode = snapshot.column_mapping_mode
    traces = [] if mode == "none" else [f"columns are mapped by {mode}"]
    return traces, "Run set-column-mapping with mode none first; it rewrites the files."


def _type_changes(snapshot: Snapshot) -> tuple[list[str], str]:
    changed = [format_column(path) for path, field in walk(snapshot.schema) if TYPE_CHANGES in field.metadata]
    traces = [f"the type of {name} was widened, and files may hold the narrow one" for name in changed]
    return (traces, "Rewrite the files and drop the feature in Spark: only a rewrite removes every narrow value.")


def _domains(snapshot: Snapshot) -> tuple[list[str], str]:
    names = sorted(snapshot.domain_metadata)
    remedy = "Run remove-domain for each of them first."
    if any(name.startswith("delta.") for name in names):
        remedy += " Those that begin with delta. belong to Delta itself, and go with the feature that they are of."
    return [f"the domain {name!r} is set" for name in names], remedy


class _Drop(msgspec.Struct, frozen=True):
    """How a feature leaves a table.

    Attributes:
        traces: What in a version shows that the feature is used, and how that is taken away.
        reads_files: True if that depends on the live files.
    """

    traces: Callable[[Snapshot], tuple[list[str], str]]
    reads_files: bool = False


_DROPS: Final[dict[str, _Drop]] = {
    "checkConstraints": _Drop(_constraints),
    "columnMapping": _Drop(_mapping),
    "deletionVectors": _Drop(_vectors, reads_files=True),
    "v2Checkpoint": _Drop(_nothing),
    "vacuumProtocolCheck": _Drop(_nothing),
    "typeWidening": _Drop(_type_changes, reads_files=True),
    "typeWidening-preview": _Drop(_type_changes, reads_files=True),
    "rowTracking": _Drop(_nothing, reads_files=True),
    "domainMetadata": _Drop(_domains),
    "inCommitTimestamp": _Drop(_nothing),
    "inCommitTimestamp-preview": _Drop(_nothing),
    "checkpointProtection": _Drop(_nothing),
}
"""The features that can be dropped."""

DROPPABLE: Final = frozenset(_DROPS)
"""The features for which there is a procedure that shows that a table no longer uses them."""


def upgrade_protocol(intent: UpgradeProtocol, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
    """Raise the protocol's versions.

    Raises:
        InvalidIntent: There are no such versions.
    """
    wanted = {
        MIN_READER_VERSION.key: str(intent.min_reader_version),
        MIN_WRITER_VERSION.key: str(intent.min_writer_version),
    }
    return set_properties(SetProperties(properties=wanted), snapshot, circumstances)


def enable_feature(intent: EnableFeature, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
    """Add a feature, and set the property that switches it on where there is one that does not do so already.

    Raises:
        InvalidIntent: There is no such feature, or it cannot be added to a table that exists.
    """
    name = feature_name(intent.feature, "feature")
    feature = FEATURES[name]
    if feature.why_fixed is not None:
        raise InvalidIntent(f"The feature {name} cannot be added: {feature.why_fixed}.", field="feature")
    wanted = {f"{FEATURE_PREFIX}{name}": "supported"}
    switch = feature.switch
    set_to = "" if switch is None else snapshot.metadata.configuration.get(switch.key, "")
    if switch is not None and not feature.switched_on_by(switch.key, set_to):
        wanted[switch.key] = feature.on[0]
    return set_properties(SetProperties(properties=wanted), snapshot, circumstances, named=wanted)


PROPOSALS: Final = (proposes(UpgradeProtocol, upgrade_protocol), proposes(EnableFeature, enable_feature))
"""What the intents of this module propose."""
