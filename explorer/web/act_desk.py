"""One change at a time for one window: its answers are checked, planned, looked at in the rows, approved, committed.

What is asked for stands in the address; what came of it stands here: the plan, what was accepted by name, the look at
the rows, the outcome. Nothing here decides whether a commit is allowed: the table refuses what it was not opened for.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

import explorer
from explorer.core.errors import Cancelled, ExplorerError, RequestError
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.transaction.intents.documents import parse_intent
from explorer.views.act.intent_form import intent_of
from explorer.views.act.receipt import Receipt, receipt
from explorer.views.problems import Problem, problem_of
from explorer.views.rows.spark_work import each_second
from explorer.web.address import Address
from explorer.web.served_tables import Catalog
from explorer.web.spark_state import refused_rule

__all__ = ["ChangeDesk", "Planned", "RowLook"]

_PACE = 0.25
_LONGEST_REASON = 4_000
_log = logging.getLogger(__name__)

_Key = tuple[str, str, tuple[tuple[str, str], ...], str]


@dataclass(frozen=True, slots=True)
class Planned:
    """What came of planning: a plan, or why there is none.

    Attributes:
        key: The table, the kind of change, the answers and the person.
        plan, error: One of the two.
        table: What the plan was made with, and would be committed through.
        seconds: How long it took.
    """

    key: _Key
    plan: CommitPlan | None = None
    error: ExplorerError | None = None
    table: explorer.Table | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RowLook:
    """The look at the rows: ``idle``, ``running``, ``done``, ``failed`` or ``cancelled``, and how far it is."""

    state: str = "idle"
    phase: str = ""
    done: int = 0
    total: int = 0
    elapsed: float = 0.0


class ChangeDesk:
    """At most one plan, one look at the rows and one commit at a time.

    Args:
        catalog: The served tables.
        person: Who plans and commits; empty if not known.
        signed_in: The server knows the person, who cannot choose another name.
        changed: Called, on any thread, when what is to be shown has changed.

    Attributes:
        outcome: How the last commit ended, until something else is asked for.
        refusal: Why a commit could not be tried, or broke off.
        in_doubt: It broke off by a fault of the program: whether the commit is there is not known.
        rows_problem: Why the rows could not be looked at.
        approval_problem: What is wrong with the name or the reason that were typed.
        committing: A commit is under way.
    """

    def __init__(self, catalog: Catalog, person: str, *, signed_in: bool, changed: Callable[[], None]) -> None:
        self.catalog = catalog
        self.person = person
        self.signed_in = signed_in
        self._changed = changed
        self._lock = threading.RLock()
        self._kept: Planned | None = None
        self._shown = False
        self._tables: tuple[str, explorer.Table] | None = None
        self._job: Any = None
        self._again: Any = None
        self._look_state = "idle"
        self._told = 0.0
        self._reason = ""
        self._document: dict[str, Any] | None = None
        self.outcome: Receipt | None = None
        self.refusal: Problem | None = None
        self.in_doubt = False
        self.approval_problem: str | None = None
        self.rows_problem: Problem | None = None
        self.committing = False

    # --- planning

    def planned(self, address: Address, *, newest: int, show: bool = False) -> Planned:
        """Return the plan of an address, made now or before.

        Args:
            address: The table, the kind of change and the answers.
            newest: The newest version; a plan that was not shown yet is made anew if it rests on an older one.
            show: The plan is about to be shown to the person: from now on it stays until it is asked for anew.
        """
        key = (address.table, address.act, address.answers, self.person)
        with self._lock:
            kept = self._kept
            if self.committing and kept is not None and kept.key != key:
                return Planned(key, error=RequestError("A commit is under way in this window. Wait for its outcome."))
            moved = kept is not None and kept.plan is not None and kept.plan.read_version < newest
            if kept is None or kept.key != key or (moved and not self._shown):
                self.cancel_look()
                self._clear()
                kept = self._kept = self._plan(key, address)
            self._shown = self._shown or show
            return kept

    def plan_again(self) -> None:
        """Forget the plan, so that the next question makes it anew; not while it is being committed."""
        with self._lock:
            if not self.committing:
                self.cancel_look()
                self._clear()

    def named(self, name: str) -> None:
        """Take the person's name; does nothing where the server knows the person."""
        with self._lock:
            if not self.signed_in and not self.committing:
                self.person = name.strip()[:200]

    def accept(self, name: str) -> None:
        """Let a guard stay unknown.

        Raises:
            RequestError: There is no plan, or no unknown guard of that name.
        """
        with self._lock:
            plan = self._plan_required()
            unknown = [guard.name for guard in plan.guards if guard.status == "unknown"]
            if name.strip() not in unknown:
                known = f"It is called {' or '.join(unknown)}." if unknown else "No guard is unknown."
                raise RequestError(f"No unknown guard is called \u201c{name}\u201d. {known}", allowed=unknown)
            self._put(msgspec.structs.replace(plan, accepted=(*plan.accepted, name.strip())))

    def snapshot(self, planned: Planned) -> Any:
        """Return the version that a plan rests on, where the page does not know it yet."""
        assert planned.table is not None
        assert planned.plan is not None
        return planned.table.snapshot(planned.plan.read_version)

    def document(self) -> dict[str, Any]:
        """Return the plan, or the outcome if there is one, as the command line prints it.

        Raises:
            RequestError: There is no plan.
        """
        with self._lock:
            return self._document or self._plan_required().document()

    # --- the rows

    @property
    def look(self) -> RowLook:
        """How far the look at the rows is."""
        job, state = self._job, self._look_state
        if job is None:
            return RowLook(state)
        return RowLook(state, job.phase, job.done, job.total, job.elapsed)

    @property
    def look_again(self) -> RowLook | None:
        """How far the look at the rows is that a commit needs because others came first; None if there is none."""
        job = self._again
        running = self.committing and job is not None and job.state == "running"
        return RowLook("running", job.phase, job.done, job.total, job.elapsed) if running else None

    def begin_look(self) -> bool:
        """Approve a look of Spark at the rows that the plan has rules for; `look_at_rows` has to follow if it is True.

        Raises:
            RequestError: There is no plan.
        """
        with self._lock:
            self._plan_required()
            if self._look_state == "running" or self.committing:
                return False
            self._job, self._look_state, self.rows_problem = None, "running", None
            return True

    def look_at_rows(self) -> None:
        """Plan anew with a look at the rows; for a thread of its own."""
        with self._lock:
            kept = self._kept
            if kept is None or kept.plan is None or kept.table is None or self._look_state != "running":
                return
        plan, state, problem = kept.plan, "done", None
        try:
            plan = kept.table.plan(
                plan.intent, accept=plan.accepted, check_rows=True, user=plan.user, watch=partial(self._watch, kept)
            )
        except Cancelled:
            state = "cancelled"
        except Exception as error:  # noqa: BLE001  # shown and logged, as nothing waits for this thread
            if not isinstance(error, ExplorerError):
                _log.error("a look at the rows failed", exc_info=error)
            state, problem = "failed", problem_of(error)
        with self._lock:
            if self._kept is not None and self._kept.key == kept.key and self._look_state == "running":
                self._look_state, self.rows_problem = state, problem
                self._kept = replace(self._kept, plan=plan)
        self._changed()

    def cancel_look(self) -> None:
        """Stop a look at the rows that is under way."""
        with self._lock:
            if self._look_state != "running":
                return
            self._look_state = "cancelled"
            self._tables = None  # its thread may still be at work with this object
            job = self._job
        if job is not None:
            job.cancel()

    # --- committing

    def approve(self, name: str, reason: str, digest: str) -> None:
        """Take the person's word for the plan that was shown; `commit` has to follow.

        Raises:
            RequestError: There is no plan, or another one was shown.
        """
        with self._lock:
            plan = self._plan_required()
            assert self._kept is not None
            assert self._kept.table is not None
            if self.committing:
                return
            self.refusal = self.approval_problem = None
            self.in_doubt = False
            if self._look_state == "running":
                raise RequestError("The rows are being looked at. Wait for the end, or cancel.", field="plan")
            if digest != plan.digest:
                raise RequestError("The plan that was shown is not the one at hand. Read it again.", field="digest")
            wanted = self._kept.table.name
            if name != wanted:
                self.approval_problem = f"\u201c{name}\u201d is not the table\u2019s name: type {wanted} to commit."
            elif plan.proposal is not None and not reason.strip():
                self.approval_problem = "Say why: the reason is kept in the history."
            else:
                self.committing, self._reason = True, reason.strip()[:_LONGEST_REASON]

    def commit(self) -> None:
        """Commit what was approved; for a thread of its own. What came of it is kept to be shown."""
        with self._lock:
            kept, reason = self._kept, self._reason
            if not self.committing or kept is None or kept.plan is None or kept.table is None:
                return
        try:
            result = kept.table.commit(kept.plan, reason=reason, user=self.person or None, watch=self._watch_again)
            outcome = receipt(result, kept.plan, reason, self.person)
            with self._lock:
                self.outcome, self._document = outcome, result.document()
                self._kept = replace(kept, plan=result.plan)
        except Exception as error:  # noqa: BLE001  # shown and logged: what became of a commit must be told
            self.in_doubt = not isinstance(error, ExplorerError)
            if self.in_doubt:
                _log.error("a commit failed", exc_info=error)
            self.refusal = problem_of(error)
        finally:
            self.committing, self._again = False, None
            self.catalog.look_again(kept.key[0], anew=kept.plan.proposal is None)
        self._changed()

    def cancel_commit(self) -> None:
        """Stop a commit that has to look at the rows again: nothing is committed then. Does nothing to any other."""
        with self._lock:
            job = self._again if self.committing else None
        if job is not None:
            job.cancel()

    def try_again(self) -> None:
        """Approve the same plan once more, where its outcome is not known."""
        with self._lock:
            if self.outcome is not None and self.outcome.outcome == "unknown":
                self.outcome, self._document, self.committing = None, None, True

    # --- inside

    def _plan(self, key: _Key, address: Address) -> Planned:
        began = time.monotonic()
        try:
            table = self._open(address.table)
            intent = parse_intent(intent_of(address.act, dict(address.answers)))
            plan = table.plan(intent, check_rows=False, user=self.person or None)
            rules = () if plan.proposal is None else plan.proposal.row_checks
            refused = refused_rule(table.snapshot(plan.read_version), [rule.expression for rule in rules])
            if refused is not None:
                return Planned(key, error=refused)
            return Planned(key, plan=plan, table=table, seconds=time.monotonic() - began)
        except ExplorerError as error:
            return Planned(key, error=error)

    def _open(self, name: str) -> explorer.Table:
        # The pages' own table objects stay at the version they show; this one moves on with each plan.
        if self._tables is None or self._tables[0] != name:
            self._tables = name, self.catalog.open(name)
        return self._tables[1]

    def _watch(self, kept: Planned, job: Any) -> None:
        with self._lock:
            mine = self._kept is not None and self._kept.key == kept.key and self._look_state == "running"
            if mine:
                self._job = job
        if mine:
            job.subscribe(self._report)
            each_second(job, self._report)
        else:
            job.cancel()

    def _watch_again(self, job: Any) -> None:
        with self._lock:
            self._again = job
        job.subscribe(self._report)
        each_second(job, self._report)

    def _report(self, job: Any) -> None:
        now = time.monotonic()
        with self._lock:
            if (job is not self._job and job is not self._again) or job.state != "running" or now - self._told < _PACE:
                return
            self._told = now
        self._changed()

    def _put(self, plan: CommitPlan) -> None:
        if self._kept is not None:
            self._kept = replace(self._kept, plan=plan)

    def _plan_required(self) -> CommitPlan:
        if self._kept is None or self._kept.plan is None:
            raise RequestError("There is no plan at hand: fill in the form and look at the plan first.", field="plan")
        return self._kept.plan

    def _clear(self) -> None:
        self._kept, self._shown, self._job, self._look_state, self._reason = None, False, None, "idle", ""
        self._document = self.outcome = self.refusal = self.approval_problem = self.rows_problem = None
        self.committing = self.in_doubt = False
