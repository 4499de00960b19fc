"""What a person asks for at an Act desk, and the plan that answers it, with all that was done with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from explorer.core.transaction.commit_plan import Plan
from explorer.table import Table
from explorer.views.problems import Problem

__all__ = ["Draft", "Question", "RowLook"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: a kind of change of a table, with its answers, by a person (empty if not known)."""

    table: str
    kind: str
    answers: tuple[tuple[str, str], ...]
    person: str


@dataclass(frozen=True, slots=True)
class RowLook:
    """The look at the rows: ``idle``, ``running``, ``done``, ``failed`` or ``cancelled``, and how far it is.

    Attributes:
        outcome: One of the five.
        phase: What it is at, for people.
        done, total: Tasks; 0 while none are known.
        elapsed: Seconds.
        problem: Why it failed.
    """

    outcome: str = "idle"
    phase: str = ""
    done: int = 0
    total: int = 0
    elapsed: float = 0.0
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan at hand, and what the person has done with it.

    Attributes:
        question: What it answers.
        plan: The plan.
        table: What it was made with, and is committed through.
        seconds: How long planning took.
        shown: The person has seen it: it stays until it is asked for again.
        look: The last look at the rows.
        approval_problem: What is wrong with the name or the reason that were typed.
        refusal: Why a commit could not be tried, or broke off.
        in_doubt: It broke off by a fault of the program: whether the commit is there is not known.
    """

    question: Question
    plan: Plan
    table: Table
    seconds: float = 0.0
    shown: bool = False
    look: RowLook = field(default_factory=RowLook)
    approval_problem: str | None = None
    refusal: Problem | None = None
    in_doubt: bool = False
