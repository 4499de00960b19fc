"""A commit plan and its outcome as a person reads them: guards, what would be written, who loses access, the receipt.

Every text is as it came, from the table, the log or the person; whoever draws it escapes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from explorer import formatting as fmt
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.intents.records import MaintenanceIntent
from explorer.views.act.guard_views import GuardView, guard_counts, guard_views, verdict
from explorer.views.act.headlines import Headline, headline
from explorer.views.act.maintenance_plan import PlannedFile, doing, done_facts, done_title, file_lines, planned_files
from explorer.views.act.written_lines import WrittenLine, written_lines

__all__ = [
    "ActionView",
    "ClientLoss",
    "Headline",
    "PlanView",
    "Receipt",
    "headline",
    "plan_view",
    "receipt",
]

_ACCESS: Final = {"yes": "yes", "no": "refuses", "wrong": "answers wrongly", "unknown": "unknown"}
_WORST: Final = (_ACCESS["wrong"], _ACCESS["no"], _ACCESS["unknown"])
_SHOWN_ACTIONS: Final = 40
_LONGEST_ACTION: Final = 20_000


@dataclass(frozen=True, slots=True)
class ActionView:
    """An action as it would be written: its name, its line, and the same with line breaks."""

    name: str
    line: str
    pretty: str


@dataclass(frozen=True, slots=True)
class ClientLoss:
    """A client that can do less afterwards: from which version on, what, and who says so."""

    client: str
    version_from: str
    operation: str
    before: str
    after: str
    severity: str
    because: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan.

    Attributes:
        headline: What is asked for.
        read_version, commit_version: The version it rests on, and the one it would write; None where it writes no
            commit but makes or deletes files.
        doing: What the button says that does it.
        nothing_to_do: It would write or delete nothing.
        guards: The blocking ones first.
        counts: How many guards have each status, in words: ``1 failed, 4 passed``.
        verdict, tone: What follows from the guards, and how grave it is.
        written: What would be written, in short.
        actions, more_actions: The actions, and how many are not shown.
        files, more_files: The same of files, where no commit is written.
        losses: Clients that lose by it, the gravest first.
        who_reads, who_writes: What it means to them, in words.
        consequences: What else follows, by name.
        committable: Nothing stands against it.
        needs_rows, looked_at_rows: It has a rule that rows must keep, and whether they were looked at.
        digest: SHA-256 of what it would write.
    """

    headline: Headline
    read_version: int
    commit_version: int | None
    doing: str
    nothing_to_do: bool
    guards: tuple[GuardView, ...]
    counts: str
    verdict: str
    tone: str
    written: tuple[WrittenLine, ...]
    actions: tuple[ActionView, ...]
    more_actions: int
    files: tuple[PlannedFile, ...]
    more_files: int
    losses: tuple[ClientLoss, ...]
    who_reads: str
    who_writes: str
    consequences: tuple[tuple[str, str], ...]
    committable: bool
    needs_rows: bool
    looked_at_rows: bool
    digest: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """How a commit ended.

    Attributes:
        outcome: ``committed``, ``conflicted``, ``rejected`` or ``unknown``.
        title, text, tone: What that means, and how grave it is.
        version: The version written, or in doubt.
        winner: The version that stands against it.
        rebased_from: The version that the plan rested on when it was approved, if it was made anew on a later one.
        facts: Names and values worth keeping.
        notes: What went wrong after the commit, which holds.
    """

    outcome: str
    title: str
    text: str
    tone: str
    version: int | None
    winner: int | None
    rebased_from: int | None
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def plan_view(plan: CommitPlan, snapshot: Any) -> PlanView:
    """Describe a plan.

    Args:
        plan: The plan.
        snapshot: The version it rests on.
    """
    guards = guard_views(plan)
    losses = _losses(plan)
    sentence, tone = verdict(plan, guards)
    shown, files = plan.actions[:_SHOWN_ACTIONS], planned_files(plan)
    proposal = plan.proposal
    return PlanView(
        headline=headline(plan.intent),
        read_version=plan.read_version,
        commit_version=plan.commit_version,
        doing=doing(plan),
        nothing_to_do=isinstance(plan.intent, MaintenanceIntent) and not plan.files,
        guards=guards,
        counts=guard_counts(guards),
        verdict=sentence,
        tone=tone,
        written=file_lines(plan) if proposal is None else written_lines(proposal, snapshot),
        actions=tuple(_action(action) for action in shown),
        more_actions=len(plan.actions) - len(shown),
        files=files,
        more_files=len(plan.files) - len(files),
        losses=losses,
        who_reads=_who(losses, "reads"),
        who_writes=_who(losses, "writes"),
        consequences=(
            ("time travel", plan.consequences.time_travel),
            ("change feed", plan.consequences.change_feed),
            ("undo", plan.consequences.undo or "Nothing is known."),
        ),
        committable=plan.committable,
        needs_rows=proposal is not None and bool(proposal.row_checks),
        looked_at_rows=plan.checked_rows,
        digest=plan.digest,
    )


def receipt(result: CommitResult, approved: CommitPlan, reason: str, user: str | None) -> Receipt:
    """Describe the outcome of a commit.

    Args:
        result: The outcome.
        approved: The plan that the person saw.
        reason, user: As they were given.
    """
    title, text, tone = _OUTCOMES[result.outcome]
    if isinstance(result.plan.intent, MaintenanceIntent):
        return _done(result, approved, title, text, tone)
    facts = [("operation", _operation(result.plan)), ("reason", reason), ("by", user or "nobody named")]
    if result.outcome == "unknown" and result.version is not None:
        facts.insert(0, ("in doubt", f"v{result.version}"))
    facts += [("rests on", f"v{result.plan.read_version}"), ("digest", result.plan.digest)]
    if result.plan.txn_id:
        facts.append(("transaction", result.plan.txn_id))
    if result.conflict is not None:
        text = f"{result.conflict.why} Nothing was written."
        facts.insert(0, ("decided by", f"{result.conflict.action} of v{result.conflict.version}"))
    moved = result.plan.read_version != approved.read_version
    return Receipt(
        outcome=result.outcome,
        title=title,
        text=text,
        tone=tone,
        version=result.version,
        winner=None if result.conflict is None else result.conflict.version,
        rebased_from=approved.read_version if moved else None,
        facts=tuple(facts),
        notes=result.notes,
    )


def _done(result: CommitResult, approved: CommitPlan, title: str, text: str, tone: str) -> Receipt:
    """The receipt of what writes no commit: files alone."""
    facts = [("operation", _operation(result.plan)), ("at", f"v{result.plan.read_version}")]
    if result.outcome == "committed":
        title, text = done_title(result), f"The table is at v{result.plan.read_version}, as before."
        facts += done_facts(result, approved)
    facts.append(("digest", approved.digest))
    return Receipt(result.outcome, title, text, tone, None, None, None, tuple(facts), result.notes)


_OUTCOMES: Final = {
    "committed": ("Committed", "The new version is in the log.", "ok"),
    "conflicted": ("Another commit stands against it", "", "danger"),
    "rejected": (
        "A guard refused it",
        "The table had moved on, and on its new version a guard does not hold. Nothing was written.",
        "danger",
    ),
    "unknown": (
        "The outcome is not known",
        (
            "The store's answer was lost, and the log does not tell yet whether this commit is there. Trying again is "
            "safe: the commit carries an identifier of its own, so it is found if it is there and written once if not."
        ),
        "warning",
    ),
}


def _operation(plan: CommitPlan) -> str:
    return plan.proposal.operation if plan.proposal is not None else intent_kind(plan.intent)


# --- actions and clients


def _action(action: Mapping[str, Any]) -> ActionView:
    name = next(iter(action), "")
    line = json.dumps(action, ensure_ascii=False, separators=(",", ":"), default=str)
    pretty = json.dumps(_opened(action), ensure_ascii=False, indent=2, default=str)
    return ActionView(name, line[:_LONGEST_ACTION], pretty[:_LONGEST_ACTION])


def _opened(action: Mapping[str, Any]) -> Any:
    """The action with its schema as JSON instead of text of JSON, so that it can be read."""
    metadata = action.get("metaData")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("schemaString"), str):
        return action
    try:
        schema = json.loads(metadata["schemaString"])
    except (ValueError, RecursionError):
        return action
    return {"metaData": {**metadata, "schemaString": schema}}


def _losses(plan: CommitPlan) -> tuple[ClientLoss, ...]:
    sides = (("reads", plan.consequences.readers), ("writes", plan.consequences.writers))
    found = [_loss(record, operation) for operation, records in sides for record in records]
    return tuple(sorted(found, key=lambda loss: ("danger", "warning").index(loss.severity)))


def _loss(record: Mapping[str, Any], operation: str) -> ClientLoss:
    after = str(record.get("after", ""))
    return ClientLoss(
        client=str(record.get("client", "")),
        version_from=str(record.get("versionFrom", "")),
        operation=operation,
        before=_ACCESS.get(str(record.get("before", "")), str(record.get("before", ""))),
        after=_ACCESS.get(after, after),
        severity="warning" if after == "unknown" else "danger",
        because=", ".join(map(str, record.get("because", ()))),
        source=str(record.get("source", "")),
        as_of=str(record.get("asOf", "")),
    )


def _who(losses: Sequence[ClientLoss], operation: str) -> str:
    mine = [loss for loss in losses if loss.operation == operation]
    if not mine:
        return "no change"
    clients = dict.fromkeys(loss.client for loss in mine)
    worst = {client: min(_gravity(loss) for loss in mine if loss.client == client) for client in clients}
    words = (("answers wrongly", "answer wrongly"), ("loses access", "lose access"), ("is unknown", "are unknown"))
    counts = [sum(place == kind for place in worst.values()) for kind in range(len(_WORST))]
    told = [(n, one if n == 1 else many) for n, (one, many) in zip(counts, words, strict=True) if n]
    (first, what), *rest = told
    return ", ".join([f"{fmt.plural(first, 'client')} {what}", *(f"{n} {word}" for n, word in rest)])


def _gravity(loss: ClientLoss) -> int:
    """The place among `_WORST`; 0 is the gravest."""
    return _WORST.index(loss.after) if loss.after in _WORST else len(_WORST) - 1
