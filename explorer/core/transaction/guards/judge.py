"""Preconditions of a commit, judged on the state before and the state proposed: access, protocol, properties.

Protocol sections: Requirements for Writers, Protocol Evolution, Table Features, Change Metadata. Invariants: a guard
names what it checked; one that cannot be evaluated is unknown and never passes by default; a failed guard has a next
step; only properties that the commit changes are judged, and a value that cannot be read fails. Guards that need the
data or the store are judged by `explorer.core.transaction.planner`; those that only one intent has are with its
proposal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from explorer.core.compatibility.matrix import losses_in_words, releases_in_words
from explorer.core.errors import CorruptTable, ExplorerError
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.counted import counted
from explorer.core.protocol.table_features import (
    CATALOG_FEATURES,
    about_drafts,
    feature_of_property,
    supported_features,
    why_not_readable,
    why_not_writable,
)
from explorer.core.protocol.table_properties.registry import (
    APPEND_ONLY,
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
from explorer.core.transaction.guards.protocol import evolution_guard, needs_guard, row_tracking_guard
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.versions.snapshot import Snapshot


class Situation(msgspec.Struct, frozen=True):
    """What the guards check.

    Attributes:
        snapshot: The version that the proposal builds on; None for a new table.
        proposal: What would be committed.
        user: Who commits; None if it is not known.
        losses: Clients that lose access with the commit, as in `explorer.core.transaction.commit_plan.Consequences`.
        kind: The kind of the intent; empty if it is not known.
        ratified: Whether the table is open through the catalog that ratifies its commits.
    """

    snapshot: Snapshot | None
    proposal: Proposal
    user: str | None
    losses: Sequence[Mapping[str, object]] = ()
    kind: str = ""
    ratified: bool = False

    @property
    def protocols(self) -> tuple[Protocol, ...]:
        """The protocol in force, if the table exists, and the one that will be."""
        before = () if self.snapshot is None else (self.snapshot.protocol,)
        after = () if self.proposal.protocol is None else (self.proposal.protocol,)
        return (*before, *after)


def judge(situation: Situation) -> tuple[GuardResult, ...]:
    """Judge every guard that needs neither data nor store; those of the proposal come last."""
    common = (
        protocol_guard(situation.protocols, ratified=situation.ratified),
        types_guard(situation.snapshot),
        catalog_guard(situation.protocols, situation.kind, ratified=situation.ratified),
        _timestamp(situation),
        evolution_guard(situation.snapshot.protocol if situation.snapshot else None, situation.proposal),
        needs_guard(situation.snapshot, situation.proposal),
        row_tracking_guard(situation.snapshot, situation.proposal),
        _append_only(situation),
        *_on_existing(situation),
        _identity(situation),
        _access(situation),
    )
    return (*(guard for guard in common if guard is not None), *situation.proposal.guards)


def _on_existing(situation: Situation) -> tuple[GuardResult | None, ...]:
    """Judge the guards that compare with the version before."""
    if situation.snapshot is None:
        return ()
    guards = (change_guard, properties_guard, retention_guard)
    return tuple(guard(situation.snapshot, situation.proposal) for guard in guards)


def protocol_guard(protocols: Sequence[Protocol], *, ratified: bool = False) -> GuardResult:
    """Return whether this program may write under all of these protocols; the last one is shown.

    Args:
        ratified: Whether the table is open through the catalog that ratifies its commits.
    """
    names: dict[str, None] = {}
    for protocol in protocols:
        unwritten = why_not_writable(protocol, by_catalog=ratified)
        names |= dict.fromkeys((*why_not_readable(protocol, by_catalog=True), *unwritten))
    last = protocols[-1]
    evidence: dict[str, object] = {
        "minReaderVersion": last.min_reader_version,
        "minWriterVersion": last.min_writer_version,
        "features": list(supported_features(last)),
    }
    if not names:
        return GuardResult("protocol-allows-writer", "pass", evidence | {"detail": "This program writes such tables."})
    detail = f"This program does not write tables with {', '.join(names)}.{about_drafts(names)}"
    evidence |= {"missing": list(names), "detail": detail}
    return GuardResult(
        "protocol-allows-writer", "fail", evidence, "Make the change with an engine that implements these features."
    )


def types_guard(snapshot: Snapshot | None) -> GuardResult | None:
    """Fail if the table has a column that this program does not read: rows that it writes would lack the column."""
    unread = () if snapshot is None else snapshot.unread_columns
    if not unread:
        return None
    names = [column.name for column in unread]
    detail = f"This program does not read the type of {', '.join(names)}, so rows that it writes would lack the values."
    evidence = {"columns": names, "types": [column.type for column in unread], "detail": detail}
    return GuardResult("reads-all-columns", "fail", evidence, "Make the change with an engine that reads these types.")


_UPKEEP: Final = frozenset({"clean-log", "optimize", "purge", "recompute-statistics", "vacuum"})
"""Kinds of intents that only rearrange what is stored; on a table that a catalog manages, the catalog does that."""


def catalog_guard(protocols: Sequence[Protocol], kind: str = "", *, ratified: bool = False) -> GuardResult | None:
    """Judge a change of a table whose commits a catalog manages; None for another table.

    Args:
        kind: The kind of the intent.
        ratified: Whether the table is open through that catalog.
    """
    managed = sorted(CATALOG_FEATURES & {name for item in protocols for name in supported_features(item)})
    if not managed:
        return None
    if not ratified:
        return GuardResult(
            "catalog-managed",
            "fail",
            {"features": managed, "detail": "Only its catalog may commit to this table (CATALOG-004)."},
            "Open the table by its name in the catalog, uc://CATALOG.SCHEMA.TABLE, and make the change there.",
        )
    if kind in _UPKEEP:
        return GuardResult(
            "catalog-managed",
            "fail",
            {"features": managed, "detail": f"Only the catalog may do this ({kind}) to a table that it manages."},
            "Leave the upkeep of the table's files to the catalog, or ask who runs it.",
        )
    if kind == "create-table":
        detail = "Version 0 is written, and the catalog gives it the name then."
    else:
        detail = "The catalog ratifies the commit, and it is published then."
    return GuardResult("catalog-managed", "pass", {"features": managed, "detail": detail})


def _timestamp(situation: Situation) -> GuardResult | None:
    """Fail if a table that a catalog manages would have no in-commit timestamps."""
    managed = not CATALOG_FEATURES.isdisjoint(name for item in situation.protocols for name in supported_features(item))
    metadata = situation.proposal.metadata
    if not managed or metadata is None or IN_COMMIT_TIMESTAMPS.of(metadata.configuration):
        return None
    detail = f"A catalog manages the commits, and requires {IN_COMMIT_TIMESTAMPS}; the change switches it off."
    return GuardResult("catalog-timestamps", "fail", {"detail": detail}, f"Leave {IN_COMMIT_TIMESTAMPS} at true.")


def _append_only(situation: Situation) -> GuardResult | None:
    snapshot, proposal = situation.snapshot, situation.proposal
    if snapshot is None or "appendOnly" not in supported_features(snapshot.protocol):
        return None
    try:
        on = APPEND_ONLY.of(snapshot.metadata.configuration)
    except ExplorerError as error:
        return GuardResult("append-only", "unknown", {"detail": str(error)}, f"Set {APPEND_ONLY} again.")
    if not on:
        return None
    removed = [action.path for action in proposal.removes if action.data_change]
    if not removed:
        detail = "No row is removed or changed."
        return GuardResult("append-only", "pass", {APPEND_ONLY.key: "true", "detail": detail})
    return GuardResult(
        "append-only",
        "fail",
        {APPEND_ONLY.key: "true", "files": len(removed), "detail": f"{counted(len(removed), 'file')} would lose rows."},
        f"Set {APPEND_ONLY} to false first, if rows may be removed from this table.",
    )


def _identity(situation: Situation) -> GuardResult:
    if situation.user:
        return GuardResult("committer", "pass", {"user": situation.user, "detail": "The commit will carry this name."})
    return GuardResult(
        "committer",
        "warn",
        {"detail": "The history will not show who made this commit."},
        "Give the name of the committer.",
    )


def _access(situation: Situation) -> GuardResult:
    losses = situation.losses
    if not losses:
        return GuardResult("access", "pass", {"detail": "No known client loses access or returns wrong results."})
    summary = losses_in_words((str(loss["client"]), str(loss["after"]), bool(loss["newest"])) for loss in losses)
    first = sorted(losses, key=lambda loss: (not loss["newest"], loss["after"] != "wrong", str(loss["client"])))
    clients = [
        f"{loss['client']} "
        + releases_in_words(str(loss["versionFrom"]), str(loss["versionTo"]), newest=bool(loss["newest"]))
        for loss in first
    ]
    return GuardResult(
        "access",
        "warn",
        {"clients": list(dict.fromkeys(clients)), "detail": f"{summary[0].upper()}{summary[1:]}."},
        "Check with the owners of these clients before you commit.",
    )


_HOUR: Final = timedelta(hours=1)
_WEEK: Final = timedelta(days=7)
_RARE_CHECKPOINTS: Final = 100


def properties_guard(snapshot: Snapshot, proposal: Proposal) -> GuardResult | None:
    """Say what the changed properties do, and warn of those that are risky; None where none changes."""
    before, after = _configurations(snapshot, proposal)
    changed = {key: (before.get(key), after.get(key)) for key in (*before, *after) if before.get(key) != after.get(key)}
    if not changed:
        return None
    evidence: dict[str, object] = {"changes": [_property_change(key, *values) for key, values in changed.items()]}
    try:
        risks = [risk for key in changed for risk in _risks(key, after)]
    except CorruptTable as error:
        return GuardResult("properties", "fail", evidence | {"detail": error.message}, "Set the property again.")
    if risks:
        remedy = "Commit only if this is what you want."
        return GuardResult("properties", "warn", evidence | {"detail": " ".join(risks)}, remedy)
    number = counted(len(changed), "property changes", "properties change")
    detail = f"{number}. The guard access shows what that means for clients."
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
        and not proposal.only_provenance
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


def _property_change(key: str, before: str | None, after: str | None) -> dict[str, object]:
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
