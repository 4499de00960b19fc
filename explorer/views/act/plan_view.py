"""A commit plan as a person reads it: guards, what would be written, who loses access, consequences; and as a command.

Invariants: every text is as the table, the log or the person gave it; the code that draws it escapes it. Wrong results
and refusals are kept apart, wrong results first; clients in use and newest releases come before older ones.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from explorer import formatting as fmt
from explorer.core.compatibility.matrix import losses_in_words, releases_in_words
from explorer.core.protocol.json_values import JsonObject
from explorer.core.transaction.commit_plan import CommitPlan, MaintenanceFile, Plan
from explorer.core.transaction.intents.documents import intent_document
from explorer.core.transaction.intents.records import Overwrite, Vacuum
from explorer.core.transaction.proposal import Proposal
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.guard_views import GuardView, guard_counts, guard_views, verdict
from explorer.views.act.intent_form import headline
from explorer.views.act.intents.entry import Headline
from explorer.views.act.written_lines import PlannedFile, WrittenLine, doing, file_lines, planned_files, written_lines

_ACCESS: Final = {"yes": "yes", "no": "refuses", "wrong": "gets wrong results", "unknown": "unknown"}
_WORDS: Final = ("gets wrong results", "loses access", "is unknown")
_MOST_NAMED: Final = 3
_WORST: Final = (_ACCESS["wrong"], _ACCESS["no"], _ACCESS["unknown"])
_TITLES: Final = ("Wrong results", "Access lost", "Unknown")


@dataclass(frozen=True, slots=True)
class ClientLoss:
    """A client that can do less afterwards: which releases, what, and the source.

    ``mine`` is the version in use, of a named client, and ``owner`` its contact; ``newest`` if the newest
    known release is among them.
    """

    client: str
    releases: str
    newest: bool
    operation: str
    before: str
    after: str
    severity: str
    because: str
    source: str
    as_of: str
    mine: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class LossGroup:
    """Losses of one kind: ``first`` those of clients in use and of newest releases, ``older`` all others."""

    title: str
    first: tuple[ClientLoss, ...]
    older: tuple[ClientLoss, ...]


@dataclass(frozen=True, slots=True)
class AccessStep:
    """What a client can do before and after a change, in words, and whether that is less afterwards."""

    before: str
    after: str
    harmed: bool


@dataclass(frozen=True, slots=True)
class UsedClient:
    """A client in use, harmed or not: its release, its contact, and whether it wrote the table."""

    client: str
    version: str
    owner: str
    seen: bool
    read: AccessStep
    write: AccessStep

    @property
    def harmed(self) -> bool:
        """Whether it can do less afterwards."""
        return self.read.harmed or self.write.harmed


def used_clients(plan: Plan) -> tuple[UsedClient, ...]:
    """Return the clients in use, those with less afterwards first."""
    records = plan.consequences.in_use
    return () if records is msgspec.UNSET else tuple(map(_used, records))


def used_in_words(used: Sequence[UsedClient]) -> str:
    """Return how many of the clients in use can do less afterwards."""
    harmed = sum(each.harmed for each in used)
    if not harmed:
        return "nothing changes for this client" if len(used) == 1 else f"nothing changes for these {len(used)}"
    return f"{harmed} of {fmt.plural(len(used), 'client')} can do less afterwards"


def _used(record: Mapping[str, Any]) -> UsedClient:
    return UsedClient(
        client=str(record.get("client", "")),
        version=str(record.get("version", "")),
        owner=str(record.get("owner", "")),
        seen=bool(record.get("seen")),
        read=_step(str(record.get("read", "")), str(record.get("readAfter", ""))),
        write=_step(str(record.get("write", "")), str(record.get("writeAfter", ""))),
    )


def _step(before: str, after: str) -> AccessStep:
    return AccessStep(_ACCESS.get(before, before), _ACCESS.get(after, after), before == "yes" and after != "yes")


def client_losses(plan: Plan) -> tuple[ClientLoss, ...]:
    """Return the losses of a plan: the worst first, and of each kind clients in use before newest releases."""
    sides = (("reads", plan.consequences.readers), ("writes", plan.consequences.writers))
    losses = [_loss(record, operation) for operation, records in sides for record in records]
    return tuple(sorted(losses, key=lambda loss: (not loss.mine, _gravity(loss), not loss.newest)))


def loss_groups(losses: Sequence[ClientLoss]) -> tuple[LossGroup, ...]:
    """Return the losses by kind, the worst first; a kind without a loss is left out."""
    groups = []
    for gravity, title in enumerate(_TITLES):
        similar = [loss for loss in losses if _gravity(loss) == gravity]
        first = tuple(loss for loss in similar if loss.mine or loss.newest)
        if similar:
            groups.append(LossGroup(title, first, tuple(loss for loss in similar if loss not in first)))
    return tuple(groups)


def my_summary(losses: Sequence[ClientLoss]) -> str:
    """Return which clients in use lose what, the worst first; empty if none does."""
    worst: dict[str, int] = {}
    for loss in losses:
        if loss.mine:
            name = f"{fmt.shorten(loss.client, 40)} {fmt.shorten(loss.mine, 20)}"
            worst[name] = min(_gravity(loss), worst.get(name, len(_WORDS)))
    texts = [f"your {name} {_WORDS[kind]}" for name, kind in sorted(worst.items(), key=lambda item: item[1])]
    more = len(texts) - _MOST_NAMED
    return ", ".join(texts[:_MOST_NAMED]) + (f" and {more} more of yours" if more > 0 else "")


def loss_summary(losses: Sequence[ClientLoss], operation: str = "") -> str:
    """Return how many clients lose what, the worst first, each counted once; of one operation, or of both."""
    kinds = ("wrong", "no", "unknown")
    stated = [loss for loss in losses if operation in ("", loss.operation) and not loss.mine]
    return losses_in_words((loss.client, kinds[_gravity(loss)], loss.newest) for loss in stated) or "no change"


def lost_clients(losses: Sequence[ClientLoss]) -> int:
    """Return how many clients lose anything in any release."""
    return len({loss.client for loss in losses})


def _loss(record: Mapping[str, Any], operation: str) -> ClientLoss:
    after, mine = str(record.get("after", "")), record.get("mine") or {}
    newest, version = bool(record.get("newest")), str(mine.get("version", ""))
    known = releases_in_words(str(record.get("versionFrom", "")), str(record.get("versionTo", "")), newest=newest)
    return ClientLoss(
        client=str(record.get("client", "")),
        releases=version or known,
        newest=newest,
        operation=operation,
        before=_ACCESS.get(str(record.get("before", "")), str(record.get("before", ""))),
        after=_ACCESS.get(after, after),
        severity="warning" if after == "unknown" else "danger",
        because=", ".join(map(str, record.get("because", ()))),
        source=str(record.get("source", "")),
        as_of=str(record.get("asOf", "")),
        mine=version,
        owner=str(mine.get("owner", "")),
    )


def _gravity(loss: ClientLoss) -> int:
    """Return the position among `_WORST`; 0 is the most serious."""
    return _WORST.index(loss.after) if loss.after in _WORST else len(_WORST) - 1


_SHOWN_ACTIONS: Final = 40
# Guards whose warnings are about the plan, not about what it does to the table.
_SMALL: Final = frozenset({"access", "committer", "something-to-do"})
_DELETED: Final = ("numDeletedRows", "numTargetRowsDeleted")
_LONGEST_ACTION: Final = 20_000


@dataclass(frozen=True, slots=True)
class ActionView:
    """An action as it would be written: its name, its line, and its line with line breaks."""

    name: str
    line: str
    pretty: str


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan.

    Attributes:
        headline: What the intent asks for.
        read_version, commit_version: The version it is based on, and the one it would write; None if it writes no
            commit but makes or deletes files.
        doing: The label of the button that carries it out.
        recording: Where it is recorded, in words; empty for a commit.
        nothing_to_do: It would write or delete nothing.
        guards: The blocking ones first.
        counts: How many guards have each status, in words: ``1 failed, 4 passed``.
        verdict, tone: What follows from the guards, and how serious it is.
        worst, worst_tone: The worst that a commit would do, in one sentence, and how serious it is; empty if nothing
            is lost and no guard warns.
        written: What would be written, in short.
        actions, more_actions: The actions, and how many are not shown.
        has_files_to_come: Actions are missing: those of files that are written with the commit, and what counts them.
        files, more_files: The same for files, if no commit is written.
        in_use, in_use_words: The clients in use, harmed or not, and how many are.
        losses: Clients that can do less, the most serious loss first.
        loss_groups: The same by kind, wrong answers first, older releases apart.
        lost_clients: How many clients these are.
        who_reads, who_writes: What it means to them, in words.
        consequences: What else follows, by name.
        committable: Nothing blocks it.
        needs_rows, row_check_done: It has a rule that rows must keep, and whether the rows were checked.
        digest: SHA-256 of what it would write.
    """

    headline: Headline
    read_version: int
    commit_version: int | None
    doing: str
    recording: str
    nothing_to_do: bool
    guards: tuple[GuardView, ...]
    counts: str
    verdict: str
    tone: str
    worst: str
    worst_tone: str
    written: tuple[WrittenLine, ...]
    actions: tuple[ActionView, ...]
    more_actions: int
    has_files_to_come: bool
    files: tuple[PlannedFile, ...]
    more_files: int
    in_use: tuple[UsedClient, ...]
    in_use_words: str
    losses: tuple[ClientLoss, ...]
    loss_groups: tuple[LossGroup, ...]
    lost_clients: int
    who_reads: str
    who_writes: str
    consequences: tuple[tuple[str, str], ...]
    committable: bool
    needs_rows: bool
    row_check_done: bool
    digest: str


def plan_view(plan: Plan, snapshot: Snapshot) -> PlanView:
    """Describe a plan."""
    guards = guard_views(plan)
    losses, used = client_losses(plan), used_clients(plan)
    sentence, tone = verdict(plan, guards)
    worst, worst_tone = _worst(plan, losses, guards)
    actions: Sequence[JsonObject]
    files: Sequence[MaintenanceFile]
    if isinstance(plan, CommitPlan):
        actions, files, written = plan.actions, (), written_lines(plan.proposal, snapshot)
    else:
        actions, files, written = (), plan.files, file_lines(plan)
    shown, shown_files = actions[:_SHOWN_ACTIONS], planned_files(files)
    return PlanView(
        headline=headline(plan.intent),
        read_version=plan.read_version,
        commit_version=plan.commit_version if isinstance(plan, CommitPlan) else None,
        doing=doing(plan),
        recording=_recording(plan),
        nothing_to_do=plan.nothing_to_do,
        guards=guards,
        counts=guard_counts(guards),
        verdict=sentence,
        tone=tone,
        worst=worst,
        worst_tone=worst_tone,
        written=written,
        actions=tuple(_action(action) for action in shown),
        more_actions=len(actions) - len(shown),
        has_files_to_come=isinstance(plan, CommitPlan) and _has_files_to_come(plan.proposal),
        files=shown_files,
        more_files=len(files) - len(shown_files),
        in_use=used,
        in_use_words=used_in_words(used),
        losses=losses,
        loss_groups=loss_groups(losses),
        lost_clients=lost_clients(losses),
        who_reads=loss_summary(losses, "reads"),
        who_writes=loss_summary(losses, "writes"),
        consequences=(
            ("time travel", plan.consequences.time_travel),
            ("change feed", plan.consequences.change_feed),
            ("undo", plan.consequences.undo or "Unknown."),
        ),
        committable=plan.committable,
        needs_rows=isinstance(plan, CommitPlan) and plan.rests_on_rows,
        row_check_done=isinstance(plan, CommitPlan) and plan.checked_rows,
        digest=plan.digest,
    )


def _recording(plan: Plan) -> str:
    """Say where maintenance is recorded."""
    if isinstance(plan, CommitPlan):
        return ""
    if isinstance(plan.intent, Vacuum) and plan.files:
        first = plan.read_version + 1
        return f"v{first} and v{first + 1} will record it in the log; no row changes."
    return "This operation creates no commit; the journal of maintenance records it."


def _has_files_to_come(proposal: Proposal) -> bool:
    return proposal.writing is not None and (proposal.estimate is None or proposal.estimate.rows != 0)


def _worst(plan: Plan, losses: Sequence[ClientLoss], guards: Sequence[GuardView]) -> tuple[str, str]:
    """Return the most severe consequence: client losses first, then deleted rows, then warnings of guards."""
    if any(loss.severity == "danger" for loss in losses):
        mine = my_summary([loss for loss in losses if loss.severity == "danger"])
        return _sentence(f"{mine}; {loss_summary(losses)}" if mine else loss_summary(losses)), "danger"
    deleted = _deleted_rows(plan)
    if deleted is None:
        return "Rows are deleted; the log does not record how many.", "warning"
    if deleted:
        return f"{fmt.plural(deleted, 'row is', 'rows are')} deleted.", "warning"
    warning = next((guard for guard in guards if guard.status == "warn" and guard.name not in _SMALL), None)
    if warning is not None:
        return warning.sentence, "warning"
    return (_sentence(loss_summary(losses)), "warning") if losses else ("", "")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _deleted_rows(plan: Plan) -> int | None:
    """Return the number of rows that a commit deletes; None if unknown."""
    if not isinstance(plan, CommitPlan):
        return 0
    if isinstance(plan.intent, Overwrite):
        rows = next((guard.evidence.get("rowsGone", 0) for guard in plan.guards if guard.name == "rows-found"), 0)
        return rows if isinstance(rows, int) else None
    return sum(int(plan.proposal.metrics.get(name, "0")) for name in _DELETED)


def _action(action: Mapping[str, object]) -> ActionView:
    name = next(iter(action), "")
    line = json.dumps(action, ensure_ascii=False, separators=(",", ":"), default=str)
    pretty = json.dumps(_opened(action), ensure_ascii=False, indent=2, default=str)
    return ActionView(name, line[:_LONGEST_ACTION], pretty[:_LONGEST_ACTION])


def _opened(action: Mapping[str, object]) -> object:
    """Return the action with its schema as JSON instead of a JSON string."""
    metadata = action.get("metaData")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("schemaString"), str):
        return action
    try:
        schema = json.loads(metadata["schemaString"])
    except (ValueError, RecursionError):
        return action
    return {"metaData": {**metadata, "schemaString": schema}}


_LONGEST_REASON = 200


def commit_command(location: str, plan: Plan) -> str:
    """Return the command line that makes the same plan and commits it.

    Its reason says what the intent asks for, so that the command runs as it is; a person may write a better one.

    Args:
        location: The table's root as a URL.
        plan: The plan, with the guards that were accepted.
    """
    head = headline(plan.intent)
    reason = fmt.plain(f"{head.verb} {head.subject}".strip(), _LONGEST_REASON)
    intent = json.dumps(intent_document(plan.intent), ensure_ascii=False)
    accepted = [word for name in plan.accepted for word in ("--accept", name)]
    return shlex.join(["delta-explorer", "commit", location, intent, *accepted, "--reason", reason])
