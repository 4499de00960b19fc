"""The machine of an Act desk: the table in its documentation is the one that runs, and late work changes nothing."""

import inspect
from pathlib import Path
from typing import Any, get_args

import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.views.act.desk import state as at
from explorer.views.act.desk.draft import Draft, Question, RowCheckProgress
from explorer.views.act.receipt import Receipt
from explorer.views.problems import problem_of
from tests.support.logs import hostile_tables

STATES = get_args(at.State)
EVENTS = get_args(at.Event)


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    table = explorer.open_table(hostile_tables.empty_table(tmp_path / "t"))
    plan = table.plan({"kind": "set-description", "description": "x"})
    return Draft(Question("t", "set-description", (("description", "x"),), "ana"), plan, table)


def test_the_documented_table_is_the_machine() -> None:
    """Read the table in the module's documentation as a person does."""
    heading, _, *rows = (line.split() for line in inspect.getdoc(at).splitlines() if line.startswith("    "))
    documented = {
        name: {state: target for state, target in zip(heading[1:], targets, strict=True) if target != "."}
        for name, *targets in rows
    }
    running = {
        event.__name__: {state.__name__: target.__name__ for state, target in targets.items()}
        for event, targets in at.TRANSITIONS.items()
    }
    assert running == documented
    assert {state.__name__ for state in STATES} == set(heading[1:])
    assert set(at.TRANSITIONS) == set(EVENTS)


def examples(draft: Draft) -> tuple[dict[type, Any], dict[type, Any]]:
    """A record of each state and of each event that is about it."""
    plan, problem = draft.plan, problem_of(ValueError("x"))
    receipt = Receipt("unknown", "", "", "warning", 1, None, None, (), ())
    job: Any = object()
    states = [
        at.Idle(), at.Planning(draft.question, 1), at.Unplannable(draft.question, RequestError("no")), at.Ready(draft),
        at.CheckingRows(draft, 1), at.Committing(draft, "why", 1), at.Ended(draft, "why", receipt, {}),
    ]  # fmt: skip
    events = [
        at.ChangeRequested(draft.question, 2),
        at.PlanMoved(1, job, RowCheckProgress("running")),
        at.PlanMade(1, draft),
        at.PlanRefused(1, RequestError("no")),
        at.Forgotten(),
        at.Shown(),
        at.Accepted("g"),
        at.CheckStarted(1),
        at.CheckProgressed(1, job, RowCheckProgress("running")),
        at.CheckEnded(1, RowCheckProgress("done"), plan),
        at.ApprovalRefused(1, "no"),
        at.Approved(1, "why"),
        at.CommitBegun(1),
        at.CommitMoved(1, job, None),
        at.CommitEnded(1, plan, receipt, {}),
        at.CommitBrokeOff(1, problem, in_doubt=True),
        at.TriedAgain(2),
    ]
    return {type(state): state for state in states}, {type(event): event for event in events}


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", STATES)
def test_each_event_leads_where_the_table_says_and_nowhere_else(draft: Draft, state: type, event: type) -> None:
    states, events = examples(draft)
    before = states[state]
    reached = at.after(before, events[event])
    if state in at.TRANSITIONS[event]:
        assert type(reached) is at.TRANSITIONS[event][state]
    else:
        assert reached is before


def test_work_that_ends_late_changes_nothing(draft: Draft) -> None:
    planning, looking = at.Planning(draft.question, 2), at.CheckingRows(draft, 2)
    job: Any = object()
    for state, event in (
        (planning, at.PlanMoved(1, job, RowCheckProgress("running"))),
        (planning, at.PlanMade(1, draft)),
        (planning, at.PlanRefused(1, RequestError("no"))),
        (looking, at.CheckEnded(1, RowCheckProgress("cancelled"))),
    ):
        assert at.after(state, event) is state


def test_only_an_outcome_that_is_not_known_is_tried_again(draft: Draft) -> None:
    receipt = Receipt("committed", "", "", "ok", 1, None, None, (), ())
    ended = at.Ended(draft, "why", receipt, {})
    assert at.after(ended, at.TriedAgain(1)) is ended


def test_a_guard_that_is_accepted_during_a_look_stays_accepted_when_the_look_is_cancelled(draft: Draft) -> None:
    looking = at.after(at.after(at.Ready(draft), at.CheckStarted(1)), at.Accepted("existing-rows"))
    ready = at.after(looking, at.CheckEnded(1, RowCheckProgress("cancelled")))
    assert isinstance(ready, at.Ready)
    assert ready.draft.plan.accepted == ("existing-rows",)


def test_what_was_refused_is_gone_with_the_next_approval(draft: Draft) -> None:
    broken = at.CommitBrokeOff(1, problem_of(ValueError("x")), in_doubt=True)
    refused = at.after(at.Committing(draft, "why", 1), broken)
    assert isinstance(refused, at.Ready)
    assert refused.draft.in_doubt
    committing = at.after(refused, at.Approved(2, "why"))
    assert isinstance(committing, at.Committing)
    assert (committing.draft.refusal, committing.draft.in_doubt) == (None, False)
