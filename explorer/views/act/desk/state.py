"""The states of an Act desk, and the events that lead from one to the next. Nothing here plans, commits or waits.

Theory of operation: a person asks for one change at a time (`Question`). The desk plans it, the person reads the plan,
lets Spark check the rows, approves, and the desk commits. At each moment the desk is in exactly one state, a frozen
record that holds all that is known; an event makes the next one. `TRANSITIONS` is the whole machine:

    event            Idle      Planning     Unplannable  Ready         CheckingRows  Committing  Ended
    ---------------  --------  -----------  -----------  ------------  ------------  ----------  ----------
    ChangeRequested  Planning  Planning     Planning     Planning      Planning      .           Planning
    PlanMoved        .         Planning     .            .             .             .           .
    PlanMade         .         Ready        .            .             .             .           .
    PlanRefused      .         Unplannable  .            .             .             .           .
    Forgotten        Idle      Idle         Idle         Idle          Idle          .           Idle
    Shown            .         .            .            Ready         CheckingRows  .           Ended
    Accepted         .         .            .            Ready         CheckingRows  .           .
    CheckStarted     .         .            .            CheckingRows  .             .           .
    CheckProgressed  .         .            .            .             CheckingRows  .           .
    CheckEnded       .         .            .            .             Ready         .           .
    ApprovalRefused  .         .            .            Ready         .             .           .
    Approved         .         .            .            Committing    .             .           .
    CommitBegun      .         .            .            .             .             Committing  .
    CommitMoved      .         .            .            .             .             Committing  .
    CommitEnded      .         .            .            .             .             Ended       .
    CommitBrokeOff   .         .            .            .             .             Ready       .
    TriedAgain       .         .            .            .             .             .           Committing

Rules: (1) a dot is an event that does not apply: the state stays, and the desk says so where a person asked. (2) A
commit under way is never forgotten: it ends in its outcome, or is interrupted. (3) Work that ends late changes nothing:
the events of planning, of a check and of a commit carry the number of their state, and apply only to it; an attempt to
commit is begun once. (4) A person approves what was shown: approval names the digest of the plan, which the desk
compares before `Approved`. (5) An outcome that the person was not shown yet stays: `ChangeRequested` and `Forgotten`
do not apply to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, assert_never

import msgspec

from explorer.core.errors import ExplorerError
from explorer.core.transaction.commit_plan import Plan, PlanDocument
from explorer.core.transaction.row_engine import CheckReport, RowJob
from explorer.views.act.desk.draft import Draft, Question, RowCheckProgress
from explorer.views.act.receipt import Receipt
from explorer.views.problems import Problem


@dataclass(frozen=True, slots=True)
class ChangeRequested:
    """Another change is asked for, or the same on a newer version."""

    question: Question
    number: int


@dataclass(frozen=True, slots=True)
class PlanMade:
    """Planning ended in a plan."""

    number: int
    draft: Draft


@dataclass(frozen=True, slots=True)
class PlanMoved:
    """Spark has come further with what planning needs of the rows."""

    number: int
    job: RowJob[Any]
    progress: RowCheckProgress


@dataclass(frozen=True, slots=True)
class PlanRefused:
    """Planning ended in an error."""

    number: int
    error: ExplorerError


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The plan must be made again, or nothing is asked for any longer."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The plan, or the outcome of its commit, is about to be shown to the person."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An unknown guard may stay unknown."""

    guard: str


@dataclass(frozen=True, slots=True)
class CheckStarted:
    """The person wants the rows to be checked."""

    number: int


@dataclass(frozen=True, slots=True)
class CheckProgressed:
    """Spark has come further."""

    number: int
    job: RowJob[CheckReport]
    progress: RowCheckProgress


@dataclass(frozen=True, slots=True)
class CheckEnded:
    """The check of the rows is over; ``plan`` knows the rows, or is None if the check was cancelled or failed."""

    number: int
    progress: RowCheckProgress
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRefused:
    """The name or the reason is not what a commit takes."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Approved:
    """The person's approval of the plan that was shown; the number is that of the attempt that follows."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class CommitBegun:
    """A thread has taken up the attempt."""

    number: int


@dataclass(frozen=True, slots=True)
class CommitMoved:
    """Spark writes rows, or checks them again as other commits came first; ``progress`` is None when that is over."""

    number: int
    job: RowJob[Any]
    progress: RowCheckProgress | None


@dataclass(frozen=True, slots=True)
class CommitEnded:
    """The commit has an outcome; ``plan`` is the one committed or given up."""

    number: int
    plan: Plan
    receipt: Receipt
    document: PlanDocument


@dataclass(frozen=True, slots=True)
class CommitBrokeOff:
    """The commit could not be tried, or broke off."""

    number: int
    problem: Problem
    in_doubt: bool


@dataclass(frozen=True, slots=True)
class TriedAgain:
    """The same plan is committed once more, as its outcome is not known."""

    number: int


Event: TypeAlias = (
    ChangeRequested
    | PlanMade
    | PlanMoved
    | PlanRefused
    | Forgotten
    | Shown
    | Accepted
    | CheckStarted
    | CheckProgressed
    | CheckEnded
    | ApprovalRefused
    | Approved
    | CommitBegun
    | CommitMoved
    | CommitEnded
    | CommitBrokeOff
    | TriedAgain
)


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing is asked for."""


@dataclass(frozen=True, slots=True)
class Planning:
    """A plan is being made; ``job`` and ``progress`` are what Spark does for it, if it reads rows."""

    question: Question
    number: int
    job: RowJob[Any] | None = None
    progress: RowCheckProgress | None = None


@dataclass(frozen=True, slots=True)
class Unplannable:
    """The reason why the plan is missing."""

    question: Question
    error: ExplorerError


@dataclass(frozen=True, slots=True)
class Ready:
    """A plan can be read, accepted, checked against the rows and approved."""

    draft: Draft


@dataclass(frozen=True, slots=True)
class CheckingRows:
    """Spark checks the rows against the plan's constraints; the job is None until Spark has one."""

    draft: Draft
    number: int
    job: RowJob[CheckReport] | None = None


@dataclass(frozen=True, slots=True)
class Committing:
    """A commit is under way; ``progress`` and ``job`` are what Spark does for it.

    It writes rows, or checks them again if other commits came first. The number is that of the attempt; ``begun`` if a
    thread has taken it up.
    """

    draft: Draft
    reason: str
    number: int
    begun: bool = False
    job: RowJob[Any] | None = None
    progress: RowCheckProgress | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of a commit, as people and as programs read it."""

    draft: Draft
    reason: str
    receipt: Receipt
    document: PlanDocument


State: TypeAlias = Idle | Planning | Unplannable | Ready | CheckingRows | Committing | Ended

TRANSITIONS: Final[Mapping[type[Event], Mapping[type[State], type[State]]]] = {
    ChangeRequested: dict.fromkeys((Idle, Planning, Unplannable, Ready, CheckingRows, Ended), Planning),
    PlanMoved: {Planning: Planning},
    PlanMade: {Planning: Ready},
    PlanRefused: {Planning: Unplannable},
    Forgotten: dict.fromkeys((Idle, Planning, Unplannable, Ready, CheckingRows, Ended), Idle),
    Shown: {Ready: Ready, CheckingRows: CheckingRows, Ended: Ended},
    Accepted: {Ready: Ready, CheckingRows: CheckingRows},
    CheckStarted: {Ready: CheckingRows},
    CheckProgressed: {CheckingRows: CheckingRows},
    CheckEnded: {CheckingRows: Ready},
    ApprovalRefused: {Ready: Ready},
    Approved: {Ready: Committing},
    CommitBegun: {Committing: Committing},
    CommitMoved: {Committing: Committing},
    CommitEnded: {Committing: Ended},
    CommitBrokeOff: {Committing: Ready},
    TriedAgain: {Ended: Committing},
}


def after(state: State, event: Event) -> State:
    """Return the state that an event leads to; the same state where it does not apply."""
    applies = type(state) in TRANSITIONS[type(event)] and _is_about(state, event)
    return _next(state, event) if applies else state


def _is_about(state: State, event: Event) -> bool:
    """Return whether an event belongs to this state: its own work, or an outcome that can be closed or retried."""
    if isinstance(state, Planning) and isinstance(event, PlanMoved | PlanMade | PlanRefused):
        return state.number == event.number
    if isinstance(state, CheckingRows) and isinstance(event, CheckProgressed | CheckEnded):
        return state.number == event.number
    if isinstance(state, Committing) and isinstance(event, CommitBegun | CommitMoved | CommitEnded | CommitBrokeOff):
        return state.number == event.number and not (state.begun and isinstance(event, CommitBegun))
    if isinstance(state, Ready | Ended) and isinstance(event, ChangeRequested | Forgotten):
        return not state.draft.unreported
    if isinstance(state, Ended) and isinstance(event, TriedAgain):
        return state.receipt.outcome == "unknown"
    return True


def _next(state: State, event: Event) -> State:
    match event:
        case ChangeRequested():
            return Planning(event.question, event.number)
        case PlanMoved():
            assert isinstance(state, Planning)
            return replace(state, job=event.job, progress=event.progress)
        case PlanMade():
            return Ready(replace(event.draft, tries=event.number))
        case Forgotten():
            return Idle()
        case PlanRefused():
            assert isinstance(state, Planning)
            return Unplannable(state.question, event.error)
        case _:
            assert isinstance(state, Ready | CheckingRows | Committing | Ended)
            return _with_plan(state, event)


def _with_plan(
    state: Ready | CheckingRows | Committing | Ended,
    event: Shown | Accepted | CheckStarted | CheckProgressed | CheckEnded | ApprovalRefused | Approved | CommitBegun
    | CommitMoved | CommitEnded | CommitBrokeOff | TriedAgain,
) -> State:  # fmt: skip
    draft = state.draft
    match event:
        case Shown():
            return replace(state, draft=replace(draft, shown=True, unreported=False))
        case Accepted():
            accepted = msgspec.structs.replace(draft.plan, accepted=(*draft.plan.accepted, event.guard))
            return replace(state, draft=replace(draft, plan=accepted))
        case CheckStarted():
            return CheckingRows(replace(draft, progress=RowCheckProgress("running")), event.number)
        case CheckProgressed():
            return CheckingRows(replace(draft, progress=event.progress), event.number, event.job)
        case CheckEnded():
            return Ready(replace(draft, progress=event.progress, plan=event.plan or draft.plan))
        case ApprovalRefused():
            return Ready(replace(draft, approval_problem=event.why, tries=event.number))
        case Approved():
            return Committing(_unrefused(draft), event.reason, event.number)
        case CommitBrokeOff():
            broken = replace(draft, refusal=event.problem, in_doubt=event.in_doubt, unreported=True, tries=event.number)
            return Ready(broken)
        case CommitBegun() | CommitMoved() | CommitEnded() | TriedAgain():
            assert isinstance(state, Committing | Ended)
            return _committed(state, event)
        case _:
            assert_never(event)


def _committed(state: Committing | Ended, event: CommitBegun | CommitMoved | CommitEnded | TriedAgain) -> State:
    match event:
        case CommitBegun():
            return Committing(state.draft, state.reason, event.number, begun=True)
        case CommitMoved():
            return Committing(
                state.draft, state.reason, event.number, begun=True, job=event.job, progress=event.progress
            )
        case CommitEnded():
            draft = replace(state.draft, plan=event.plan, unreported=True)
            return Ended(draft, state.reason, event.receipt, event.document)
        case TriedAgain():
            return Committing(replace(state.draft, unreported=False), state.reason, event.number)
        case _:
            assert_never(event)


def _unrefused(draft: Draft) -> Draft:
    return replace(draft, approval_problem=None, refusal=None, in_doubt=False, unreported=False)
