"""What undoes a commit, as a person reads it: the steps as forms filled in, and what later commits lose, with reasons.

Invariants: nothing is planned here; texts of the log are as the log has them, and the code that draws them escapes
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError
from explorer.core.transaction.guards.undone_commits import UndoneCommit
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.intents.records import Restore
from explorer.core.transaction.undoing.undo import undo_of
from explorer.core.versions.commits.summary import CommitSummary
from explorer.views.act.intent_form import answers_of, headline
from explorer.views.act.intents.entry import Headline
from explorer.views.problems import Problem, problem_of
from explorer.views.table.facts import TableFacts

_MOST = 200


@dataclass(frozen=True, slots=True)
class UndoStep:
    """A change that undoes a commit, or a part of it: what it is, its kind, and the answers to its form."""

    headline: Headline
    kind: str
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LostCommit:
    """A later commit that a restore undoes too.

    Attributes:
        version: The version that it wrote.
        commit: What the log says of it; None if that cannot be read.
        reason: Why it was made, by its author; empty for none.
        erases: Whether its reason says that it deleted rows for an erasure.
    """

    version: int
    commit: CommitSummary | None
    reason: str
    erases: bool


@dataclass(frozen=True, slots=True)
class UndoView:
    """What undoes a commit.

    Attributes:
        version: The version that the commit wrote.
        commit: What the log says of it; None if that cannot be read.
        text: What undoes it, or why nothing does.
        why: Why there is no exact inverse; empty if there is one.
        tone: How serious it is: ``ok`` if no other commit is undone.
        steps: In the order in which they are made; none if nothing undoes it.
        instead: The version to restore instead of the exact inverse; None where the step is a restore already.
        later, more_later: The later commits that are lost, the newest first, and how many are not shown.
        erasures: How many of them erased rows.
        problem: Why it cannot be said; None if it can.
    """

    version: int
    commit: CommitSummary | None
    text: str = ""
    why: str = ""
    tone: str = ""
    steps: tuple[UndoStep, ...] = ()
    instead: int | None = None
    later: tuple[LostCommit, ...] = ()
    more_later: int = 0
    erasures: int = 0
    problem: Problem | None = None

    @property
    def lost(self) -> str:
        """How many later commits are lost, in words; empty for none."""
        number = len(self.later) + self.more_later
        return fmt.plural(number, "later commit") if number else ""


def undo_view(facts: TableFacts, version: int) -> UndoView:
    """Return what undoes the commit of a version, on the newest one."""
    commit = facts.commits.record(version)
    try:
        undo = facts.keep(("undo", version), lambda: undo_of(facts.log, version))
    except ExplorerError as error:
        return UndoView(version, commit, problem=problem_of(error))
    erasures = sum(each.erases for each in undo.later) + own_erasure(undo.version, facts)
    restores = any(isinstance(step, Restore) for step in undo.steps)
    return UndoView(
        version=version,
        commit=commit,
        text=undo.text,
        why=undo.why,
        tone=_tone(has_steps=bool(undo.steps), erasures=erasures, exact=undo.exact),
        steps=tuple(
            UndoStep(headline(step), intent_kind(step), tuple(sorted(answers_of(step).items()))) for step in undo.steps
        ),
        instead=version - 1 if undo.steps and not restores else None,
        later=tuple(
            LostCommit(each.version, facts.commits.record(each.version), each.reason or "", each.erases)
            for each in undo.later[:_MOST]
        ),
        more_later=max(0, len(undo.later) - _MOST),
        erasures=erasures,
    )


def own_erasure(version: int, facts: TableFacts) -> bool:
    """Return whether the commit itself erased rows, which its undo would bring back."""
    record = facts.log.provenance_record()
    info = next((each.info for each in record.commits if each.version == version), None)
    return UndoneCommit.of(version, info).erases


def _tone(*, has_steps: bool, erasures: int, exact: bool) -> str:
    if erasures and has_steps:
        return "danger"
    return "muted" if not has_steps else "ok" if exact else "warning"
