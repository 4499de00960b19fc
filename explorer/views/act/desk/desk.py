"""One change at a time for one window or widget: planned, checked against the rows, approved, committed.

A `Question` says what is asked for; its result is here, as a state of `explorer.views.act.desk.state`. The desk starts
the work that a state calls for (planning, a check of the rows, a commit) and takes the result as an event; what shows
it is drawn from `DeskSheet`, which is frozen. Nothing here decides whether a commit is allowed: a table opened for
reading only refuses it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Protocol

from explorer.core.errors import Cancelled, ExplorerError, ExpressionRefused, InvalidIntent, RequestError
from explorer.core.transaction.changeable_table import ChangeableTable
from explorer.core.transaction.commit_plan import CommitPlan, Plan, PlanDocument, PlanResult
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.row_engine import CheckReport, RowJob
from explorer.core.versions.snapshot import Snapshot
from explorer.debug import is_of_spark, log_failure
from explorer.job import Job
from explorer.views.act.desk import state as at
from explorer.views.act.desk.draft import Attempts, Draft, Question, RowCheckProgress
from explorer.views.act.intent_form import entry_of, intent_of
from explorer.views.act.receipt import receipt
from explorer.views.problems import problem_of
from explorer.views.rows.spark_work import each_second, engine_state

_PACE = 0.25
_LONGEST_REASON = 4_000
_LONGEST_NAME = 200
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeskSheet:
    """What is on a desk at one moment.

    Attributes:
        state: Where the change is.
        person: Who plans and commits; empty if not known.
        signed_in: The server knows the person, who cannot choose another name.
        may_commit: The tables are opened so that they can be changed.
        check_source: Refuses a source of rows, given a table's name, that may not be read.
        place, commits_with: As `DeskTables` has them.
    """

    state: at.State
    person: str
    signed_in: bool
    may_commit: bool
    check_source: Callable[[str, str], None]
    place: str
    commits_with: str

    def draft_of(self, question: Question) -> Draft | ExplorerError | None:
        """Return the plan that answers a question or why there is none; None while it is not planned."""
        match self.state:
            case at.Idle() | at.Planning():
                return None
            case at.Unplannable():
                return self.state.error if self.state.question == question else None
            case at.Committing() if not _answers(self.state, question):
                return RequestError("A commit is in progress in this window. Wait for its outcome.")
            case _:
                return self.state.draft if _answers(self.state, question) else None

    @property
    def unreported(self) -> at.Ready | at.Ended | None:
        """What came of the last commit, as long as the person was not shown it."""
        return self.state if isinstance(self.state, at.Ready | at.Ended) and self.state.draft.unreported else None

    def ended(self, table: str, version: int) -> at.Ended | None:
        """Return how the commit of a version ended, if it was made at this desk and is the last one."""
        state = self.state
        if not isinstance(state, at.Ended) or state.receipt.outcome != "committed":
            return None
        return state if (state.draft.question.table, state.receipt.version) == (table, version) else None


class DeskTables(Protocol):
    """Where a desk finds the tables that it changes.

    Attributes:
        allow_commits: The tables are opened so that they can be changed.
        attempts: What the desks of the same tables carry out.
        place: What a person works in: ``server`` or ``widget``.
        commits_with: The command or the call that makes one in which changes can be committed.
    """

    allow_commits: bool
    attempts: Attempts
    place: str
    commits_with: str

    def open(self, name: str) -> ChangeableTable:
        """Open a table for the desk alone: it follows the log with each plan."""

    def check_source(self, name: str, source: str) -> None:
        """Refuse a source of rows for a table that may not be read."""

    def check_again(self, name: str, *, reopen: bool = False) -> None:
        """Take notice that a table was changed; ``reopen`` if more than its log was."""


class Desk:
    """At most one plan, one check of the rows and one commit at a time.

    Args:
        tables: The tables that can be asked about.
        person: Who plans and commits; empty if not known.
        signed_in: The server knows the person, who cannot choose another name.
        changed: Called, on any thread, when what is to be shown has changed.
    """

    def __init__(self, tables: DeskTables, person: str, *, signed_in: bool, changed: Callable[[], None]) -> None:
        self._tables = tables
        self._person = person
        self._signed_in = signed_in
        self._changed = changed
        self._state: at.State = at.Idle()
        self._lock = threading.RLock()
        self._planning = threading.Lock()
        self._numbers = count(1)
        self._opened: tuple[str, ChangeableTable] | None = None
        self._reported = 0.0

    @property
    def state(self) -> at.State:
        """Where the change is."""
        return self._state

    @property
    def sheet(self) -> DeskSheet:
        """What a page is drawn from."""
        with self._lock:
            tables = self._tables
            return DeskSheet(
                self._state, self._person, self._signed_in, tables.allow_commits, check_source=tables.check_source,
                place=tables.place, commits_with=tables.commits_with,
            )  # fmt: skip

    @property
    def person(self) -> str:
        """Who plans and commits; empty if not known."""
        return self._person

    # --- planning

    def ask_for(self, question: Question, *, newest: int, show: bool = False, wait: bool = True) -> at.State:
        """Plan what is asked for, unless that is done.

        While a commit is under way, and until its outcome was shown, nothing else is planned.

        Args:
            question: The table, the kind of change and the answers.
            newest: The newest version; a plan that was not shown yet is made again if it is based on an older one.
            show: The plan, or the outcome of its commit, is about to be shown to the person: from now on it stays until
                a new plan is asked for.
            wait: Wait for a plan that Spark reads rows for, too; otherwise it is made on a thread of its own.
        """
        with self._planning:
            if self.calls_for_plan(question, newest):
                if wait or not entry_of(question.kind).reads_rows:
                    self._plan(question)
                else:
                    self._begin_plan(question)
            if show:
                with self._lock:
                    if isinstance(self.sheet.draft_of(question), Draft):
                        self._take(at.Shown())
            return self._state

    def forget(self) -> None:
        """Forget the plan, so that the next question makes it again.

        Not while it is being committed, and not before its outcome was shown.
        """
        self._leave(at.Forgotten())

    def name_person(self, name: str) -> None:
        """Take the person's name; does nothing where the server knows the person.

        A plan whose commit was refused is made again for another person, unless that commit may exist.
        """
        with self._lock:
            if self._signed_in or isinstance(self._state, at.Committing):
                return
            self._person = name.strip()[:_LONGEST_NAME]
            draft = self._state.draft if isinstance(self._state, at.Ready) else None
            if draft is not None and draft.question.person != self._person and draft.refusal and not draft.in_doubt:
                self._take(at.Forgotten())

    def accept(self, name: str) -> None:
        """Accept a guard: let it stay unknown, or pass although it failed, where it says that it can be accepted.

        Raises:
            RequestError: There is no plan, or no such guard of that name.
        """
        with self._lock:
            waiting = [guard.name for guard in self._current_plan().guards if guard.waits_for_acceptance]
            if name.strip() not in waiting:
                known = f"It is called {' or '.join(waiting)}." if waiting else "No guard waits to be accepted."
                raise RequestError(f"No guard to accept is called \u201c{name}\u201d. {known}", allowed=waiting)
            self._take(at.Accepted(name.strip()))

    def document(self) -> PlanDocument:
        """Return the plan, or the outcome if there is one, as the command line prints it.

        Raises:
            RequestError: There is no plan.
        """
        state = self._state
        return state.document if isinstance(state, at.Ended) else self._current_plan().record()

    # --- the rows

    def start_row_check(self) -> bool:
        """Approve a check by Spark of the rows that the plan has rules for; `run_row_check` must follow if it is True.

        Raises:
            RequestError: There is no plan.
        """
        self._current_plan()
        return self._take(at.CheckStarted(next(self._numbers)))

    def run_row_check(self) -> None:
        """Plan with a check of the rows; for a thread of its own."""
        state = self._state
        if not isinstance(state, at.CheckingRows):
            return
        plan, watch = state.draft.plan, partial(self._watch_check, state.number)
        try:
            seen = state.draft.table.plan(
                plan.intent,
                accept=plan.accepted,
                check_rows=True,
                user=state.draft.question.person or None,
                watch=watch,
            )
            event = at.CheckEnded(state.number, self._current_check("done"), seen)
        except Cancelled:
            event = at.CheckEnded(state.number, self._current_check("cancelled"))
        except Exception as error:  # noqa: BLE001  # shown and logged, as nothing waits for this thread
            if not isinstance(error, ExplorerError):
                log_failure(_log, "a check of the rows failed", error)
            event = at.CheckEnded(state.number, RowCheckProgress("failed", problem=problem_of(error)))
        self._take(event)
        self._changed()

    def stop_reading(self) -> None:
        """Stop a running check of the rows."""
        with self._lock:
            if isinstance(self._state, at.CheckingRows):
                self._leave(at.CheckEnded(self._state.number, self._current_check("cancelled")))

    # --- committing

    def approve(self, name: str, reason: str, digest: str) -> bool:
        """Take the person's approval of the plan that was shown; `commit` must follow if it is True.

        Raises:
            RequestError: There is no plan, another one was shown, it was made for a person of another name, or another
                desk carries out the same change, or did so since the plan was made.
        """
        with self._lock:
            if isinstance(self._state, at.Committing):
                return False
            plan = self._current_plan()
            if isinstance(self._state, at.CheckingRows):
                raise RequestError("The rows are being checked. Wait until the check ends, or cancel it.", field="plan")
            if digest != plan.digest:
                raise RequestError("The plan has changed since it was shown. Read it again.", field="digest")
            assert isinstance(self._state, at.Ready)
            draft, number = self._state.draft, next(self._numbers)
            if draft.question.person != self._person and not draft.in_doubt:
                self._take(at.Forgotten())
                raise RequestError("The name of the committer has changed. Read the plan again.", field="person")
            if why := _unapproved(draft, name, reason):
                self._take(at.ApprovalRefused(number, why))
                return False
            self._begin_attempt(draft)
            return self._take(at.Approved(number, reason.strip()[:_LONGEST_REASON]))

    def commit(self) -> None:
        """Commit what was approved, once; for a thread of its own. The outcome is kept until it was shown."""
        with self._lock:
            state = self._state
            if not isinstance(state, at.Committing) or not self._take(at.CommitBegun(state.number)):
                return
        # Retry the same commit as the person of its plan, not as the current one.
        draft, number, person = state.draft, state.number, state.draft.question.person
        event: at.Event
        try:
            result = self._committed(draft, state.reason, number)
            event = at.CommitEnded(
                number, result.plan, receipt(result, draft.plan, state.reason, person), result.record()
            )
            came_of_it, version = result.outcome, event.receipt.version
        except Exception as error:  # noqa: BLE001  # shown and logged: the outcome of a commit must be said
            in_doubt = not isinstance(error, ExplorerError)
            if in_doubt:
                log_failure(_log, "a commit failed", error)
            event = at.CommitBrokeOff(number, problem_of(error), in_doubt)
            came_of_it, version = "unknown" if in_doubt else "rejected", draft.plan.commit_version
        self._take(event)
        self._tables.attempts.end(self, draft.question, came_of_it, version)
        try:
            self._tables.check_again(draft.question.table, reopen=not isinstance(draft.plan, CommitPlan))
        finally:
            self._changed()

    def _committed(self, draft: Draft, reason: str, number: int) -> PlanResult:
        """Commit, as a job if rows are written; an error that Spark has no part in is raised as it is."""
        user, watch = draft.question.person or None, partial(self._watch_commit, number)

        def commit() -> PlanResult:
            return draft.table.commit(draft.plan, reason=reason, user=user, watch=watch)

        if not entry_of(draft.question.kind).reads_rows:
            return commit()
        from explorer.spark.engine.job import spark_job

        job: Job[PlanResult] = spark_job(f"Commit of {draft.question.kind}")
        watch(job)
        faults: list[Exception] = []

        def work(job: Job[PlanResult]) -> PlanResult:
            job.report("Writing files")
            try:
                return commit()
            except Exception as error:
                # Spark writes rows, and has ended before the commit is written.
                if not isinstance(error, ExplorerError) and not is_of_spark(error):
                    faults.append(error)
                raise

        try:
            return job.run(work)
        except ExplorerError:
            if faults:
                raise faults[0] from None
            raise

    def cancel_commit(self) -> None:
        """Stop a commit while rows are written or checked again: nothing is committed then.

        Does nothing to any other, and nothing once the log is written.
        """
        state = self._state
        if isinstance(state, at.Committing) and state.job is not None:
            state.job.cancel()

    def try_again(self) -> bool:
        """Approve the same plan once more, where its outcome is not known; `commit` must follow if it is True.

        Raises:
            RequestError: Another desk carries out the same change, or has done so.
        """
        with self._lock:
            state, again = self._state, at.TriedAgain(next(self._numbers))
            if at.after(state, again) is state:
                return False
            assert isinstance(state, at.Ended)
            self._tables.attempts.begin(self, state.draft.question, state.draft.earlier)
            return self._take(again)

    def show_outcome(self) -> None:
        """Take notice that the person is shown what came of the last commit."""
        with self._lock:
            if self.sheet.unreported is not None:
                self._take(at.Shown())

    # --- inside

    def _begin_attempt(self, draft: Draft) -> None:
        """Tell the other desks; where one of them was first, the plan is made again, and says so."""
        try:
            self._tables.attempts.begin(self, draft.question, draft.earlier)
        except RequestError:
            self._take(at.Forgotten())
            raise

    def _take(self, event: at.Event) -> bool:
        """Move on; False if the event does not apply to the state."""
        with self._lock:
            before, self._state = self._state, at.after(self._state, event)
            return self._state is not before

    def _leave(self, event: at.Event) -> None:
        """Move on; what Spark does for a plan or a check of the rows is stopped, and its table left to its thread."""
        job: RowJob[Any] | None = None
        with self._lock:
            before = self._state
            if self._take(event) and isinstance(before, at.CheckingRows | at.Planning):
                job = before.job
                if job is not None or isinstance(before, at.CheckingRows):
                    self._opened = None
        if job is not None:
            job.cancel()

    def calls_for_plan(self, question: Question, newest: int) -> bool:
        match self._state:
            case at.Committing():
                return False
            case at.Idle():
                return True
            case at.Planning() as state:
                return state.question != question
            case at.Unplannable() as state:
                return state.question != question
            case at.Ready() | at.Ended() as state if state.draft.unreported:
                return False
            case at.Ready() as state if _answers(state, question):
                return not state.draft.shown and state.draft.plan.read_version < newest
            case state:
                return not _answers(state, question)

    def _plan(self, question: Question) -> None:
        number = next(self._numbers)
        self._leave(at.ChangeRequested(question, number))
        try:
            self._take(at.PlanMade(number, self._planned(question)))
        except ExplorerError as error:
            self._take(at.PlanRefused(number, error))
        except Exception:
            self._take(at.Forgotten())
            raise

    def _begin_plan(self, question: Question) -> None:
        """Plan on a thread of its own, as Spark must find rows first; its end is taken as an event."""
        from explorer.spark.engine.job import submit

        number = next(self._numbers)
        self._leave(at.ChangeRequested(question, number))

        def plan(job: Job[Draft]) -> Draft:
            job.report("Reading rows")
            return self._planned(question)

        try:
            job = submit(f"Plan of {question.kind}", plan)
        except Exception:
            self._take(at.Forgotten())
            raise
        self._take(at.PlanMoved(number, job, _progress(job)))
        self._follow(job, lambda progress: at.PlanMoved(number, job, progress or _progress(job)))
        job.subscribe(partial(self._end_plan, number))

    def _end_plan(self, number: int, job: RowJob[Draft]) -> None:
        if job.state == "running":
            return
        event: at.Event
        try:
            event = at.PlanMade(number, job.result())
        except ExplorerError as error:
            event = at.PlanRefused(number, error)
        if self._take(event):
            self._changed()

    def _planned(self, question: Question) -> Draft:
        began, earlier = time.monotonic(), self._tables.attempts.last(question)
        table = self._open(question.table)
        intent = parse_intent(intent_of(question.kind, dict(question.answers)))
        plan = table.plan(intent, check_rows=False, user=question.person or None)
        rules = plan.proposal.row_checks if isinstance(plan, CommitPlan) else ()
        _refuse_rules(table.snapshot(plan.read_version), [rule.expression for rule in rules])
        return Draft(question, plan, table, time.monotonic() - began, earlier)

    def _open(self, name: str) -> ChangeableTable:
        # The pages' own table objects stay at the version they show; this one follows the log with each plan.
        if self._opened is None or self._opened[0] != name:
            self._opened = name, self._tables.open(name)
        return self._opened[1]

    def _current_plan(self) -> Plan:
        state = self._state
        if not isinstance(state, at.Ready | at.CheckingRows):
            raise RequestError("There is no plan yet. Fill in the form and preview the plan first.", field="plan")
        return state.draft.plan

    def _current_check(self, outcome: str) -> RowCheckProgress:
        """Return the check with the known progress of its job."""
        state = self._state
        job = state.job if isinstance(state, at.CheckingRows) else None
        return RowCheckProgress(outcome) if job is None else _progress(job, outcome)

    def _watch_check(self, number: int, job: RowJob[CheckReport]) -> None:
        if not self._take(at.CheckProgressed(number, job, _progress(job))):
            job.cancel()
            return
        self._follow(job, lambda progress: at.CheckProgressed(number, job, progress or _progress(job)))

    def _watch_commit(self, number: int, job: RowJob[Any]) -> None:
        if self._take(at.CommitMoved(number, job, _progress(job))):
            self._changed()
        self._follow(job, partial(at.CommitMoved, number, job))

    def _follow(self, job: RowJob[Any], moved: Callable[[RowCheckProgress | None], at.Event]) -> None:
        """Keep the state at what a job says, as often as it is worth drawing."""

        def report(job: RowJob[Any]) -> None:
            running, now = job.state == "running", time.monotonic()
            if running and now - self._reported < _PACE:
                return
            self._reported = now
            if self._take(moved(_progress(job) if running else None)) and running:
                self._changed()

        job.subscribe(report)
        each_second(job, report)


def _progress(job: RowJob[Any], outcome: str = "running") -> RowCheckProgress:
    return RowCheckProgress(outcome, job.phase, job.done, job.total, job.elapsed)


def _answers(state: at.Ready | at.CheckingRows | at.Committing | at.Ended, question: Question) -> bool:
    """Return whether a state belongs to a question; the state of a commit belongs to every question."""
    if isinstance(state, at.Committing | at.Ended):
        return state.draft.question.same_change(question)
    return state.draft.answers(question)


def _unapproved(draft: Draft, name: str, reason: str) -> str | None:
    """Return why a name and a reason do not approve a plan; None if they do."""
    wanted = draft.table.name
    if name != wanted:
        return f"\u201c{name}\u201d is not the table\u2019s name: type {wanted} to commit."
    if not reason.strip():
        where = "history" if isinstance(draft.plan, CommitPlan) else "journal of maintenance"
        return f"Enter a reason. It is recorded in the {where}."
    return None


def _refuse_rules(snapshot: Snapshot, expressions: Iterable[str]) -> None:
    """Raise `InvalidIntent` for a rule that Spark cannot evaluate, if Spark is running; never start it."""
    if engine_state()["state"] != "ready":
        return
    from explorer.spark.scan.predicate import vet

    for expression in expressions:
        try:
            vet(snapshot.schema, expression, repeatable=False)
        except ExpressionRefused as error:
            raise error.of_kind(InvalidIntent, field="expression") from error
