"""What the Act tab shows at each of its steps: the template's name and its values.

Steps: choose a change, fill in its form, read the plan, let Spark look at the rows, commit. The address says which
change and which answers; the window's `ChangeDesk` holds what came of them.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError, InvalidIntent
from explorer.core.protocol.table_properties.values import constraints
from explorer.core.protocol.times import older_than
from explorer.core.transaction.intents.documents import intent_document, parse_intent
from explorer.core.transaction.intents.records import Vacuum
from explorer.views import TableFacts, TableView
from explorer.views.act.guard_views import guard_counts, guard_views
from explorer.views.act.intent_form import (
    IntentForm,
    hints,
    intent_form,
    intent_of,
    malformed_answers,
    missing_answers,
    offers,
)
from explorer.views.act.intents.entry import COLUMNS, CONSTRAINTS, PROPERTIES
from explorer.views.act.intents.hints import column_suggestions
from explorer.views.act.intents.registry import entry_of, headline
from explorer.views.act.plan_view import plan_view
from explorer.views.problems import problem_of
from explorer.views.rows.row_work import live_rows
from explorer.views.rows.spark_work import start_notice
from explorer.views.table.overview import fields_of
from explorer.web.act_desk import ChangeDesk, Planned
from explorer.web.address import Address
from explorer.web.render import render

__all__ = ["change_page", "checked_answers"]

_COLUMNS = 60
_STEPS = ("Choose", "Fill in", "Plan", "Check the data", "Commit")
_WITHOUT_COMMIT = (*_STEPS[:-1], "Do it")


def change_page(view: TableView, address: Address, desk: ChangeDesk) -> tuple[str, dict[str, Any]]:
    """Return the template of the step at hand, and its values.

    Args:
        view: The table's page.
        address: Which change, and which answers.
        desk: What came of them in this window.
    """
    snapshot = view.facts.snapshot(view.facts.last)
    shared: dict[str, Any] = {
        "desk": desk,
        "may_commit": desk.catalog.allow_commits,
        "newest": view.facts.last,
        "snapshot_version": snapshot.version,
        "table_name": view.facts.table.name,
    }
    if not address.act:
        desk.plan_again()
        return "act-choose", shared | {"groups": offers(snapshot), "steps": _steps(address, 0)}
    address = _proposed(view, address)
    form = intent_form(address.act, snapshot, dict(address.answers))
    shared |= {"form": form, "act_address": address}
    if address.step == "plan":
        planned = desk.planned(address, newest=view.facts.last, show=True)
        if planned.plan is not None:
            return _planned_page(view, desk, planned, shared)
    checked = _check(view.facts, address, desk, form)
    return "act-fill", shared | checked | _context(form, snapshot) | {
        "steps": _steps(address, 1),
        "suggestions": column_suggestions(snapshot, dict(address.answers).get("column", "")),
        "shown_pairs": _pair_count(address),
        "answers": dict(address.answers),
    }


def checked_answers(facts: TableFacts, address: Address, desk: ChangeDesk, shown_pairs: int) -> dict[str, str]:
    """Return the parts of a form that follow from its answers, as HTML by the id of their element.

    Args:
        facts: The table.
        address: The answers as they stand while typing.
        desk: The window's desk.
        shown_pairs: How many keys and values the form asks for now.
    """
    snapshot = facts.snapshot(facts.last)
    address = replace(address, step="fill")
    form = intent_form(address.act, snapshot, dict(address.answers))
    checked = _check(facts, address, desk, form)
    regions = {"act-check": render("act-check", **checked)}
    names = [field.name for field in form.fields if field.kind != "pairs"]
    if any(field.kind == "pairs" for field in form.fields):
        names += [f"key.{index}" for index in range(shown_pairs)]
        if _pair_count(address) > shown_pairs:
            regions[f"act-pair-{shown_pairs}"] = render(
                "act-pair", index=shown_pairs, last=True, answers=dict(address.answers), hints=checked["hints"],
                errors=checked["errors"],
            )  # fmt: skip
    for name in names:
        regions[f"act-note-{name}"] = render(
            "act-note", error=checked["errors"].get(name), hint=checked["hints"].get(name)
        )
    if any(field.kind == "column" for field in form.fields):
        typed = dict(address.answers).get("column", "")
        regions["act-columns"] = render("act-columns", suggestions=column_suggestions(snapshot, typed))
    return regions


def _planned_page(
    view: TableView, desk: ChangeDesk, planned: Planned, shared: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    plan = planned.plan
    assert plan is not None
    address: Address = shared["act_address"]
    if desk.outcome is not None:
        ruled = plan.proposal is not None and bool(plan.proposal.row_checks)
        done = desk.outcome.outcome == "committed"
        guards = guard_views(plan)
        values = {"receipt": desk.outcome, "headline": headline(plan.intent), "guards": guards}
        values["counts"] = guard_counts(guards)
        return "act-receipt", shared | values | {"steps": _steps(address, 4, rows=ruled, done=done)}
    rests_on = view.facts.snapshot(plan.read_version) if plan.read_version <= view.facts.last else None
    snapshot = rests_on or desk.snapshot(planned)
    shown = plan_view(plan, snapshot)
    look = desk.look
    step = 3 if look.state == "running" else 4 if desk.committing else 2
    return "act-plan", shared | {
        "plan": shown,
        "look": look,
        "look_again": desk.look_again,
        "amount": _amount(snapshot),
        "estimate": _estimate(snapshot),
        "stale": plan.read_version < view.facts.last and not desk.committing,
        "command": _command(view, plan),
        "seconds": planned.seconds,
        "steps": _steps(address, step, rows=shown.needs_rows),
    }


def _check(facts: TableFacts, address: Address, desk: ChangeDesk, form: IntentForm) -> dict[str, Any]:
    """What can be said of the answers: what is missing, what is wrong with which, or what the plan would be."""
    answers = dict(address.answers)
    snapshot = facts.snapshot(facts.last)
    found: dict[str, Any] = {
        "missing": (), "errors": {}, "problem": None, "counts": "", "blocked": False, "costly": False,
        "hints": hints(address.act, answers, facts, snapshot),
    }  # fmt: skip
    if form.why_not:
        return found
    missing = missing_answers(form, answers)
    if missing:
        return found | {"missing": missing}
    if wrong := malformed_answers(form, answers):
        return found | {"errors": wrong}
    if form.costly and address.step != "plan":
        return found | (_readable(address, form) or {"costly": True})
    planned = desk.planned(address, newest=facts.last)
    if planned.error is not None:
        return found | _blamed(planned.error, form, answers)
    assert planned.plan is not None
    guards = guard_views(planned.plan)
    return found | {"counts": guard_counts(guards), "blocked": any(guard.status == "fail" for guard in guards)}


def _readable(address: Address, form: IntentForm) -> dict[str, Any]:
    """What is wrong with answers that are not planned yet; empty if they can be read."""
    answers = dict(address.answers)
    try:
        intent = parse_intent(intent_of(address.act, answers))
        if isinstance(intent, Vacuum):
            older_than(intent.older_than)
    except ExplorerError as error:
        return _blamed(error, form, answers)
    return {}


def _blamed(error: ExplorerError, form: IntentForm, answers: dict[str, str]) -> dict[str, Any]:
    """The error at the answer it is about, or below the form."""
    if not isinstance(error, InvalidIntent):
        return {"problem": problem_of(error)}
    blamed = str(error.field or "")
    names = [field.name for field in form.fields if field.kind not in {"pairs", "checks"}]
    keys = [name for name, value in answers.items() if name.startswith("key.") and value == blamed]
    place = blamed if blamed in names else keys[0] if keys else names[0] if len(names) == 1 else ""
    return {"errors": {place: str(error)}} if place else {"problem": problem_of(error)}


def _proposed(view: TableView, address: Address) -> Address:
    """The address with the answer that the page itself proposes: who looks at an old version may want it back."""
    old = view.version < view.facts.last
    if address.act == "restore" and old and address.step == "fill" and not address.answers:
        return replace(address, answers=(("version", str(view.version)),))
    return address


def _pair_count(address: Address) -> int:
    """One more row of key and value than are filled in."""
    filled = [int(name[4:]) for name, _ in address.answers if name.startswith("key.") and name[4:].isdecimal()]
    return max(filled, default=-1) + 2


def _steps(address: Address, current: int, *, rows: bool = True, done: bool = False) -> list[dict[str, Any]]:
    """The five steps: where the person is, which can be gone back to, and which is not needed."""
    upkeep = bool(address.act) and not entry_of(address.act).writes_commit
    ways = [address.to(act=None, step=None), address.to(step=None), address.to(step="plan")]
    return [
        {
            "title": title,
            "way": ways[index] if index < min(current, 3) and not done else "",
            "current": index == current,
            "skipped": index == 3 and (upkeep or not rows),
        }
        for index, title in enumerate(_WITHOUT_COMMIT if upkeep else _STEPS)
    ]


def _context(form: IntentForm, snapshot: Any) -> dict[str, Any]:
    """What of the table is listed beside the form."""
    fields = fields_of(snapshot.schema, snapshot.partition_columns) if COLUMNS in form.beside else ()
    top = [field for field in fields if field.depth == 0]
    rules = constraints(snapshot.metadata.configuration) if CONSTRAINTS in form.beside else {}
    properties = snapshot.metadata.configuration if PROPERTIES in form.beside else {}
    return {
        "columns": top[:_COLUMNS],
        "more_columns": max(0, len(top) - _COLUMNS),
        "rules": sorted(rules.items()),
        "properties": sorted(properties.items()),
    }


def _estimate(snapshot: Any) -> str:
    if not snapshot.num_files:
        return f"There are no rows; Spark checks the rule alone.{start_notice()}"
    return f"{_amount(snapshot)} are read.{start_notice()}"


def _amount(snapshot: Any) -> str:
    rows, files = live_rows(snapshot), fmt.plural(snapshot.num_files, "file")
    return f"All rows of {files}" if rows is None else f"{fmt.plural(rows, 'row')} in {files}"


def _command(view: TableView, plan: Any) -> str:
    intent = json.dumps(intent_document(plan.intent), ensure_ascii=False)
    location = view.facts.location
    accepted = "".join(f" --accept {shlex.quote(name)}" for name in plan.accepted)
    return f"delta-explorer commit {shlex.quote(location)} {shlex.quote(intent)}{accepted} --reason "
