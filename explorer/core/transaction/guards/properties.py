"""Guards on table properties: what a change does, in words, which values are risky, which contradict each other.

Protocol section: Change Metadata (configuration). Invariants: only properties that the commit changes are judged; a
value that cannot be read fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from explorer.core.errors import CorruptTable
from explorer.core.protocol.counted import counted
from explorer.core.protocol.table_features import feature_of_property
from explorer.core.protocol.table_properties.registry import (
    CHECKPOINT_INTERVAL,
    EXPIRED_LOG_CLEANUP,
    FILE_RETENTION,
    IN_COMMIT_TIMESTAMPS,
    LOG_RETENTION,
    NUM_INDEXED_COLS,
    SET_TRANSACTION_RETENTION,
    STATS_AS_JSON,
    STATS_AS_STRUCT,
    property_of,
)
from explorer.core.transaction.consequences import in_days, shorter_retentions
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.versions.snapshot import Snapshot

__all__ = ["change_guard", "properties_guard", "retention_guard"]

_HOUR: Final = timedelta(hours=1)
_WEEK: Final = timedelta(days=7)
_RARE_CHECKPOINTS: Final = 100


def properties_guard(snapshot: Snapshot, proposal: Proposal) -> GuardResult | None:
    """Say what the changed properties do, and warn of those that are risky; None where none changes."""
    before, after = _configurations(snapshot, proposal)
    changed = {key: (before.get(key), after.get(key)) for key in (*before, *after) if before.get(key) != after.get(key)}
    if not changed:
        return None
    evidence: dict[str, object] = {"changes": [_change(key, *values) for key, values in changed.items()]}
    try:
        risks = [risk for key in changed for risk in _risks(key, after)]
    except CorruptTable as error:
        return GuardResult("properties", "fail", evidence | {"detail": error.message}, "Set the property again.")
    if risks:
        remedy = "Commit only if this is what you want."
        return GuardResult("properties", "warn", evidence | {"detail": " ".join(risks)}, remedy)
    number = counted(len(changed), "property changes", "properties change")
    detail = f"{number}. The guard access says what that means for clients."
    return GuardResult("properties", "pass", evidence | {"detail": detail})


def retention_guard(snapshot: Snapshot, proposal: Proposal) -> GuardResult | None:
    """Return the history lives at least as long as the files it needs, and nothing is deleted sooner than before.

    None where neither retention changes.
    """
    before, after = _configurations(snapshot, proposal)
    if all(before.get(key) == after.get(key) for key in (LOG_RETENTION.key, FILE_RETENTION.key)):
        return None
    try:
        log, files = LOG_RETENTION.of(after), FILE_RETENTION.of(after)
    except CorruptTable as error:
        return GuardResult("retention", "fail", {"detail": error.message}, "Set the property again.")
    evidence: dict[str, object] = {LOG_RETENTION.key: in_days(log), FILE_RETENTION.key: in_days(files)}
    if files > log:
        detail = (
            f"Removed files would be kept for {in_days(files)}, but the log entries for them only for {in_days(log)}."
        )
        remedy = f"Set {LOG_RETENTION} to at least {FILE_RETENTION}."
        return GuardResult("retention", "fail", evidence | {"detail": detail}, remedy)
    if shorter := " ".join(shorter_retentions(before, after)):
        return GuardResult("retention", "warn", evidence | {"detail": shorter}, "Commit only if this is what you want.")
    detail = "The log outlives the files that its versions need."
    return GuardResult("retention", "pass", evidence | {"detail": detail})


def change_guard(snapshot: Snapshot, proposal: Proposal) -> GuardResult:
    """Return a commit that changes nothing only makes other writers lose their race."""
    same = (
        (proposal.metadata is None or proposal.metadata == snapshot.metadata)
        and (proposal.protocol is None or proposal.protocol == snapshot.protocol)
        and proposal.writing is None
        and proposal.recorded is None
        and not (proposal.adds or proposal.removes or proposal.change_files or proposal.transactions)
        and all(
            not item.removed and snapshot.domain_metadata.get(item.domain) == item.configuration
            for item in proposal.domains
        )
    )
    if not same:
        return GuardResult("changes-something", "pass", {"detail": "The commit changes the table."})
    detail = "The table is already in this state. The commit would change nothing."
    return GuardResult("changes-something", "fail", {"detail": detail}, "Leave it.")


def _configurations(snapshot: Snapshot, proposal: Proposal) -> tuple[dict[str, str], dict[str, str]]:
    metadata = proposal.metadata or snapshot.metadata
    return snapshot.metadata.configuration, metadata.configuration


def _change(key: str, before: str | None, after: str | None) -> dict[str, object]:
    known = property_of(key)
    change: dict[str, object] = {"property": key, "before": before, "after": after}
    if known is not None:
        change |= {"default": known.default, "effect": known.effect, "feature": feature_of_property(key)}
    return change


def _risks(key: str, after: Mapping[str, str]) -> Iterator[str]:
    match key:
        case FILE_RETENTION.key if FILE_RETENTION.of(after) < _WEEK:
            retention = FILE_RETENTION.of(after)
            yield f"VACUUM may remove files that running queries and time travel need, after {in_days(retention)}."
            if retention < _HOUR:
                yield "It may also delete files that a running writer is about to commit, if you accept that by name."
        case LOG_RETENTION.key if LOG_RETENTION.of(after) < _WEEK:
            yield f"Versions can be lost {in_days(LOG_RETENTION.of(after))} after they were replaced."
        case SET_TRANSACTION_RETENTION.key if SET_TRANSACTION_RETENTION.of(after, unset=_WEEK) < _WEEK:
            yield "A stream that pauses for longer loses its progress and writes its last batch twice."
        case CHECKPOINT_INTERVAL.key if CHECKPOINT_INTERVAL.of(after) > _RARE_CHECKPOINTS:
            yield "With so few checkpoints the table opens slowly."
        case EXPIRED_LOG_CLEANUP.key if not EXPIRED_LOG_CLEANUP.of(after):
            yield "The log will grow without limit."
        case IN_COMMIT_TIMESTAMPS.key if not IN_COMMIT_TIMESTAMPS.of(after):
            yield "Commit times come from the log's files again, and copying changes those."
        case NUM_INDEXED_COLS.key if NUM_INDEXED_COLS.of(after) == 0:
            yield "New files get no statistics, so every query reads all of them."
        case STATS_AS_JSON.key | STATS_AS_STRUCT.key if not STATS_AS_JSON.of(after) and not STATS_AS_STRUCT.of(after):
            yield "Checkpoints keep no statistics: they are lost when the commits are cleaned up."
