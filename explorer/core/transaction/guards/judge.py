"""Named preconditions of a commit, judged on the state before and the state proposed.

Protocol sections: Requirements for Writers, Protocol Evolution, Table Features. Invariants: a guard names what it
checked; one that cannot be evaluated is unknown and never passes by default; a failed guard has a next step.
Guards that need the data or the store are judged by `explorer.core.transaction.planner`; those that only one intent
has are with its proposal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from explorer.core.compatibility.matrix import losses_in_words, releases_in_words
from explorer.core.errors import ExplorerError
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.counted import counted
from explorer.core.protocol.table_features import (
    CATALOG_FEATURES,
    about_drafts,
    supported_features,
    why_not_readable,
    why_not_writable,
)
from explorer.core.protocol.table_properties.registry import APPEND_ONLY
from explorer.core.transaction.guards.properties import change_guard, properties_guard, retention_guard
from explorer.core.transaction.guards.protocol import evolution_guard, needs_guard, row_tracking_guard
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.versions.snapshot import Snapshot

__all__ = ["Situation", "catalog_guard", "judge", "protocol_guard"]


class Situation(msgspec.Struct, frozen=True):
    """What the guards check.

    Attributes:
        snapshot: The version that the proposal builds on; None for a new table.
        proposal: What would be committed.
        user: Who commits; None if it is not known.
        losses: Clients that lose access with the commit, as in `explorer.core.transaction.commit_plan.Consequences`.
    """

    snapshot: Snapshot | None
    proposal: Proposal
    user: str | None
    losses: Sequence[Mapping[str, object]] = ()

    @property
    def protocols(self) -> tuple[Protocol, ...]:
        """The protocol in force, if the table exists, and the one that will be."""
        before = () if self.snapshot is None else (self.snapshot.protocol,)
        after = () if self.proposal.protocol is None else (self.proposal.protocol,)
        return (*before, *after)


def judge(situation: Situation) -> tuple[GuardResult, ...]:
    """Judge every guard that needs neither data nor store; those of the proposal come last."""
    common = (
        protocol_guard(situation.protocols),
        types_guard(situation.snapshot),
        catalog_guard(situation.protocols),
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


def protocol_guard(protocols: Sequence[Protocol]) -> GuardResult:
    """Return whether this program may write under all of these protocols; the last one is shown."""
    names: dict[str, None] = {}
    for protocol in protocols:
        names |= dict.fromkeys((*why_not_readable(protocol, by_catalog=True), *why_not_writable(protocol)))
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


def catalog_guard(protocols: Sequence[Protocol]) -> GuardResult | None:
    """Fail if a catalog manages the commits of the table."""
    managed = sorted(CATALOG_FEATURES & {name for item in protocols for name in supported_features(item)})
    if not managed:
        return None
    return GuardResult(
        "catalog-managed",
        "fail",
        {"features": managed, "detail": "Only its catalog may commit to this table (CATALOG-004)."},
        "Make the change through the catalog that manages the table.",
    )


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
        return GuardResult("access", "pass", {"detail": "No known client loses access or gives wrong answers."})
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
