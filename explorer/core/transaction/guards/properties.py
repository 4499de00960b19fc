"""Guards on table properties: what a change does in words, which values are risky, which contradict each other.

Protocol section: Change Metadata (configuration). Invariants: only properties that the commit changes are judged; a
value that cannot be read fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from explorer.core.errors import CorruptTable
from explorer.core.protocol.table_features import feature_of_property
from explorer.core.protocol.table_properties.registry import PROPERTIES
from explorer.core.protocol.table_properties.values import flag, interval, number
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.versions.snapshot import Snapshot

__all__ = ["change_guard", "properties_guard", "retention_guard"]

_LOG: Final = "delta.logRetentionDuration"
_FILES: Final = "delta.deletedFileRetentionDuration"
_APPLICATIONS: Final = "delta.setTransactionRetentionDuration"
_WEEK: Final = timedelta(days=7)
_MONTH: Final = timedelta(days=30)
_RARE_CHECKPOINTS: Final = 100


def properties_guard(snapshot: Snapshot, proposal: Proposal) -> GuardResult | None:
    """Say what the changed properties do, and warn of those that are risky; None where none changes."""
    before, after = _configurations(snapshot, proposal)
    changed = {key: (before.get(key), after.get(key)) for key in (*before, *after) if before.get(key) != after.get(key)}
    if not changed:
        return None
    evidence: dict[str, Any] = {"changes": [_change(key, *values) for key, values in changed.items()]}
    try:
        risks = [risk for key in changed for risk in _risks(key, after)]
    except CorruptTable as error:
        return GuardResult("properties", "fail", evidence | {"detail": error.message}, "Set the property anew.")
    if risks:
        remedy = "Commit only if this is meant."
        return GuardResult("properties", "warn", evidence | {"detail": " ".join(risks)}, remedy)
    detail = f"{len(changed)} {'property changes' if len(changed) == 1 else 'properties change'}; nothing is risky."
    return GuardResult("properties", "pass", evidence | {"detail": detail})


def retention_guard(snapshot: Snapshot, proposal: Proposal) -> GuardResult | None:
    """The history must live at least as long as the files it needs; None where neither retention changes."""
    before, after = _configurations(snapshot, proposal)
    if all(before.get(key) == after.get(key) for key in (_LOG, _FILES)):
        return None
    try:
        log, files = interval(after, _LOG, _MONTH), interval(after, _FILES, _WEEK)
    except CorruptTable as error:
        return GuardResult("retention", "fail", {"detail": error.message}, "Set the property anew.")
    evidence: dict[str, Any] = {_LOG: str(log), _FILES: str(files)}
    if files <= log:
        detail = "The log outlives the files that its versions need."
        return GuardResult("retention", "pass", evidence | {"detail": detail})
    detail = f"Removed files would be kept for {files}, and the log, which alone knows them, for {log}."
    return GuardResult("retention", "fail", evidence | {"detail": detail}, f"Give {_LOG} at least as much as {_FILES}.")


def change_guard(snapshot: Snapshot, proposal: Proposal) -> GuardResult:
    """A commit that changes nothing only makes other writers lose their race."""
    same = (
        (proposal.metadata is None or proposal.metadata == snapshot.metadata)
        and (proposal.protocol is None or proposal.protocol == snapshot.protocol)
        and not (proposal.adds or proposal.removes or proposal.change_files or proposal.transactions)
        and all(
            not item.removed and snapshot.domain_metadata.get(item.domain) == item.configuration
            for item in proposal.domains
        )
    )
    if not same:
        return GuardResult("changes-something", "pass", {"detail": "The commit changes the table."})
    detail = "The table is so already: the commit would change nothing."
    return GuardResult("changes-something", "fail", {"detail": detail}, "Leave it.")


def _configurations(snapshot: Snapshot, proposal: Proposal) -> tuple[dict[str, str], dict[str, str]]:
    metadata = proposal.metadata or snapshot.metadata
    return snapshot.metadata.configuration, metadata.configuration


def _change(key: str, before: str | None, after: str | None) -> dict[str, Any]:
    known = PROPERTIES.get(key.lower())
    change: dict[str, Any] = {"property": key, "before": before, "after": after}
    if known is not None:
        change |= {"default": known.default, "effect": known.effect, "feature": feature_of_property(key)}
    return change


def _risks(key: str, after: Mapping[str, str]) -> Iterator[str]:
    configuration = dict(after)
    match key:
        case "delta.deletedFileRetentionDuration" if interval(configuration, _FILES, _WEEK) < _WEEK:
            yield f"VACUUM may remove files that running queries and time travel need, after {after[_FILES]}."
        case "delta.logRetentionDuration" if interval(configuration, _LOG, _MONTH) < _WEEK:
            yield f"Versions can be lost {after[_LOG]} after they were replaced."
        case "delta.setTransactionRetentionDuration" if interval(configuration, _APPLICATIONS, _MONTH) < _WEEK:
            yield "A stream that rests for longer forgets how far it came and writes its last batch twice."
        case "delta.checkpointInterval" if number(configuration, key, 10) > _RARE_CHECKPOINTS:
            yield "With so few checkpoints the table opens slowly."
        case "delta.enableExpiredLogCleanup" if not flag(configuration, key, default=True):
            yield "The log grows for ever."
        case "delta.enableInCommitTimestamps" if not flag(configuration, key):
            yield "Commits are told apart by the times of the log's files again, which copying changes."
        case "delta.dataSkippingNumIndexedCols" if number(configuration, key, 32) == 0:
            yield "New files get no statistics, so every query reads all of them."
        case "delta.checkpoint.writeStatsAsJson" | "delta.checkpoint.writeStatsAsStruct":
            as_json = flag(configuration, "delta.checkpoint.writeStatsAsJson", default=True)
            if not as_json and not flag(configuration, "delta.checkpoint.writeStatsAsStruct"):
                yield "Checkpoints keep no statistics: they are lost when the commits are cleaned up."
