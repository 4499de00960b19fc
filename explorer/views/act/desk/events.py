"""What can happen at an Act desk. `explorer.views.act.desk.state` says where each event leads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from explorer.core.errors import ExplorerError
from explorer.core.transaction.commit_plan import Plan
from explorer.core.transaction.row_engine import CheckReport, RowJob
from explorer.views.act.desk.draft import Draft, Question, RowCheckProgress
from explorer.views.act.receipt import Receipt
from explorer.views.problems import Problem

__all__ = [
    "Accepted",
    "ApprovalRefused",
    "Approved",
    "ChangeRequested",
    "CheckEnded",
    "CheckProgressed",
    "CheckStarted",
    "CommitBegun",
    "CommitBrokeOff",
    "CommitEnded",
    "CommitMoved",
    "Event",
    "Forgotten",
    "PlanMade",
    "PlanMoved",
    "PlanRefused",
    "Shown",
    "TriedAgain",
]


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
    document: dict[str, Any]


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
