"""A question at an Edit desk, the plan that answers it, and the attempts of all desks of the same tables to commit.

A page that is loaded anew has a new desk, which knows nothing of the commit that the old one began: without the shared
attempts, the same rows could be appended twice. They are those of this process; the log is the record.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final
from weakref import ref

from explorer.core.errors import RequestError
from explorer.core.transaction.changeable_table import ChangeableTable
from explorer.core.transaction.commit_plan import Plan
from explorer.formatting import moment
from explorer.views.problems import Problem


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: a kind of change of a table, with its answers, by a person (empty if not known)."""

    table: str
    kind: str
    answers: tuple[tuple[str, str], ...]
    person: str

    @property
    def change(self) -> Question:
        """The change alone, without the person."""
        return replace(self, person="")

    def same_change(self, other: Question) -> bool:
        """Return whether another draft has the same change, by any person."""
        return self.change == other.change


@dataclass(frozen=True, slots=True)
class RowCheckProgress:
    """The check of the rows: ``idle``, ``running``, ``done``, ``failed`` or ``cancelled``, and how far it is.

    Attributes:
        outcome: One of the five.
        phase: What it does now, for people.
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
class Attempt:
    """An attempt to carry out a change: it runs, was carried out, or may have been.

    Attributes:
        outcome: ``running``, ``committed`` or ``unknown``.
        began: When.
        person: Who commits; empty if not known.
        version: The version that was committed, or that may have been; None without a commit.
    """

    outcome: str
    began: datetime
    person: str = ""
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan, and what the person has done with it.

    Attributes:
        question: What it answers.
        plan: The plan.
        table: The table object that made it, and that commits it.
        seconds: How long planning took.
        earlier: The last attempt at the same change, from any page, as it was known when the plan was made.
        shown: The person has seen it: it stays until a new plan is asked for.
        progress: The last check of the rows.
        approval_problem: What is wrong with the name or the reason that were typed.
        refusal: Why a commit could not be tried, or broke off.
        in_doubt: It broke off by a fault of the program: whether the commit exists is not known.
        unreported: Its commit has an outcome, or broke off, and the person was not shown that yet.
        tries: The number of the plan, and later of the last approval that led to no commit: another one each time.
    """

    question: Question
    plan: Plan
    table: ChangeableTable
    seconds: float = 0.0
    earlier: Attempt | None = None
    shown: bool = False
    progress: RowCheckProgress = field(default_factory=RowCheckProgress)
    approval_problem: str | None = None
    refusal: Problem | None = None
    in_doubt: bool = False
    unreported: bool = False
    tries: int = 0

    @property
    def done_before(self) -> str:
        """What is known of an earlier attempt at the same change, and what follows; empty where none is known."""
        if self.earlier is None:
            return ""
        by = f" by {self.earlier.person}" if self.earlier.person else ""
        began = moment(self.earlier.began)
        version = "" if self.earlier.version is None else f" as v{self.earlier.version}"
        match self.earlier.outcome:
            case "running":
                return f"The same change was under way{by} when this was planned, since {began}. Wait for its outcome."
            case "committed":
                return f"The same change was carried out{by}{version}, begun {began}. {self._would_do}"
            case _:
                doubt = f"The same change was begun{by} {began}, and whether it was written{version} is not known."
                return f"{doubt} Look for it in the history before you repeat it."

    @property
    def _would_do(self) -> str:
        """What the plan of a change that was carried out before would do now."""
        if self.plan.nothing_to_do:
            return "Nothing remains to be done."
        if any(guard.status == "fail" for guard in self.plan.guards):
            return "The current state of the table does not allow it again."
        return "This plan would repeat it."

    def answers(self, question: Question) -> bool:
        """Return whether the draft answers a question; an interrupted commit answers every question."""
        return self.question.same_change(question) if self.refusal is not None else self.question == question

    @property
    def may_be_written(self) -> bool:
        """Whether its commit broke off and may be in the log all the same."""
        return self.in_doubt and self.plan.commit_version is not None

    def is_stale(self, newest: int) -> bool:
        """Return whether a newer version exists to plan for; the log is first searched for its own commit."""
        return self.plan.read_version < newest and not self.may_be_written

    @property
    def broke_off(self) -> str:
        """What became of the commit that broke off or could not be tried, in words; empty where none did."""
        if self.refusal is None:
            return ""
        if self.may_be_written:
            return "The commit was interrupted. Its outcome is unknown."
        if self.plan.commit_version is None and self.refusal.kind != "NotAllowed":
            return f"{self.refusal.title}: the work broke off. What was written or deleted until then stays so."
        return f"{self.refusal.title}: nothing was committed."


_MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Entry:
    # Not the desk itself: with it would stay the window that it was of.
    desk: ref[object]
    attempt: Attempt


class Attempts:
    """The last attempt at each change that runs, was carried out, or may have been; the oldest are forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[Question, _Entry] = {}

    def last(self, question: Question) -> Attempt | None:
        """Return the last attempt at a change, by any person; None if it had no outcome, or none is known."""
        entry = self._entries.get(question.change)
        return None if entry is None else entry.attempt

    def begin(self, desk: object, question: Question, known: Attempt | None) -> None:
        """Take notice that a desk begins to carry out a change.

        Args:
            desk: The desk; it may always try its own change again.
            question: The change.
            known: The last attempt, as the plan that is carried out says it.

        Raises:
            RequestError: Another desk is carrying out the same change, or has done so since the plan was made.
        """
        key = question.change
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry.desk() is not desk:
                if entry.attempt.outcome == "running":
                    raise RequestError(
                        "Another page is already committing the same change. Wait for its outcome, then preview the "
                        "plan again.",
                        field="plan",
                    )
                if entry.attempt != known:
                    raise RequestError(
                        "Another page committed the same change after this plan was made. Read the plan again.",
                        field="plan",
                    )
            self._entries.pop(key, None)
            self._entries[key] = _Entry(ref(desk), Attempt("running", datetime.now(UTC), question.person))
            ended = [each for each, entry in self._entries.items() if entry.attempt.outcome != "running"]
            for each in ended[: max(0, len(self._entries) - _MOST)]:
                del self._entries[each]

    def end(self, desk: object, question: Question, outcome: str, version: int | None) -> None:
        """Take notice of what came of an attempt.

        Args:
            desk: Whose attempt it was.
            question: The change.
            outcome: As a receipt says it; all but ``committed`` and ``unknown`` mean that nothing was done.
            version: The version that was committed, or that may have been.
        """
        key = question.change
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.desk() is not desk:
                return
            if outcome in ("committed", "unknown"):
                self._entries[key] = replace(entry, attempt=replace(entry.attempt, outcome=outcome, version=version))
            else:
                del self._entries[key]
