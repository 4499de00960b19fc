"""What the Edit tab shows at each of its steps: the template's name and its values.

Steps: choose a change, fill in its form, read the plan, let Spark check the rows, commit. The address says which
change and which answers; the desk's sheet says the result. Drawing begins no work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from explorer import formatting as fmt
from explorer.core.protocol.table_properties.values import constraints
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.versions.snapshot import Snapshot
from explorer.first_rows.row_page import live_rows
from explorer.page.act.form import check_answers, form_of, pair_count, question_of
from explorer.page.act.undoing import undo_values
from explorer.page.address import Address
from explorer.views import TableView
from explorer.views.act.desk.desk import DeskSheet
from explorer.views.act.desk.draft import Draft
from explorer.views.act.desk.state import CheckingRows, Committing, Ended, Planning
from explorer.views.act.guard_views import GuardStep, guard_counts, guard_views
from explorer.views.act.intent_form import IntentForm, entry_of, headline, offers
from explorer.views.act.intents.entry import COLUMNS, CONSTRAINTS, PROPERTIES, Headline
from explorer.views.act.intents.fields import column_suggestions
from explorer.views.act.plan_view import commit_command, plan_view
from explorer.views.act.receipt import logged_receipt, seal_facts
from explorer.views.rows.spark_work import start_notice
from explorer.views.table.overview import top_fields

_COLUMNS = 60
_LONGEST_BACK = 20_000
_STEPS = ("Choose", "Fill in", "Plan", "Check the data", "Commit")
_WITHOUT_COMMIT = (*_STEPS[:-1], "Do it")
_CHOOSE, _FILL, _PLAN, _LOOK, _COMMIT = range(5)

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EditStep:
    """One of the five steps: its address if it can be reopened, whether it is current, and whether it is skipped."""

    title: str
    way: str
    current: bool
    skipped: bool


def act_page(view: TableView, address: Address, sheet: DeskSheet) -> tuple[str, Values]:
    """Return the template of the current step, and its values."""
    snapshot = view.facts.snapshot(view.facts.last)
    shared: Values = {
        "sheet": sheet,
        "newest": view.facts.last,
        "snapshot_version": snapshot.version,
        "table_name": view.facts.log.name,
        "other_version": view.version != view.facts.last,
        "back": _back(address),
        "way_to": partial(_way_to, address),
        "outcome": _unreported_outcome(view, address, sheet),
    }
    if address.step == "receipt":
        return "act-receipt", shared | _logged(view, address, sheet)
    if address.step == "undo":
        return "act-undo", shared | undo_values(view, address)
    if not address.act:
        return "act-choose", shared | {"groups": offers(snapshot), "steps": _steps(address, _CHOOSE)}
    address = proposed(view, address)
    form = form_of(view.facts, address)
    shared |= {"form": form, "act_address": address}
    question = question_of(address, sheet.person)
    if address.step == "plan" and isinstance(sheet.state, Planning) and sheet.state.question == question:
        return "act-planning", shared | {"progress": sheet.state.progress, "steps": _steps(address, _PLAN)}
    draft = sheet.draft_of(question) if address.step == "plan" else None
    if not isinstance(draft, Draft):
        return "act-fill", shared | _filling(view, address, sheet, form)
    if isinstance(sheet.state, Ended):
        return "act-receipt", shared | _receipt(address, sheet.state)
    return "act-plan", shared | _plan(view, address, sheet, draft)


def proposed(view: TableView, address: Address) -> Address:
    """Return the address with the answer that the page itself proposes: the old version shown, to restore it."""
    old = view.version < view.facts.last
    if address.act == "restore" and old and address.step == "fill" and not address.answers:
        return replace(address, answers=(("version", str(view.version)),))
    return address


def _filling(view: TableView, address: Address, sheet: DeskSheet, form: IntentForm) -> Values:
    snapshot = view.facts.snapshot(view.facts.last)
    answers = dict(address.answers)
    return _context(form, snapshot) | {
        "check": check_answers(view.facts, address, sheet, form),
        "steps": _steps(address, _FILL),
        "suggestions": column_suggestions(snapshot, answers.get("column", "")),
        "shown_pairs": pair_count(address),
        "answers": answers,
    }


def _logged(view: TableView, address: Address, sheet: DeskSheet) -> Values:
    """Return the receipt of the shown version: as this window knows it, otherwise as the log holds it."""
    logged = logged_receipt(view.facts, view.version)
    ended = sheet.ended(address.table, view.version)
    if ended is None:
        commit = logged.commit
        return {
            "receipt": logged.receipt(),
            "headline": Headline(commit.operation if commit else "Commit"),
            "guards": (),
            "counts": "",
            "writes_commit": False,
            "steps": (),
        }
    shown = _receipt(replace(address, act=ended.draft.question.kind), ended)
    return shown | {"receipt": replace(ended.receipt, facts=(*ended.receipt.facts, *seal_facts(logged)))}


def _receipt(address: Address, ended: Ended) -> Values:
    plan = ended.draft.plan
    guards = guard_views(plan)
    ruled = isinstance(plan, CommitPlan) and plan.rests_on_rows
    done = ended.receipt.outcome == "committed"
    return {
        "receipt": ended.receipt,
        "headline": headline(plan.intent),
        "guards": guards,
        "counts": guard_counts(guards),
        "writes_commit": isinstance(plan, CommitPlan),
        "steps": _steps(address, _COMMIT, rows=ruled, done=done),
    }


def _plan(view: TableView, address: Address, sheet: DeskSheet, draft: Draft) -> Values:
    plan, state = draft.plan, sheet.state
    known = plan.read_version <= view.facts.last
    snapshot = view.facts.snapshot(plan.read_version) if known else draft.table.snapshot(plan.read_version)
    shown = plan_view(plan, snapshot)
    committing = isinstance(state, Committing)
    step = _LOOK if isinstance(state, CheckingRows) else _COMMIT if committing else _PLAN
    return {
        "plan": shown,
        "draft": draft,
        "committing": committing,
        "check_again": state.progress if isinstance(state, Committing) else None,
        "amount": _amount(snapshot),
        "estimate": _estimate(snapshot),
        "stale": draft.is_stale(view.facts.last) and not committing,
        "command": commit_command(view.facts.location, plan),
        "steps": _steps(address, step, rows=shown.needs_rows),
    }


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a commit that the person was not shown yet, on the page of another change: its own page has all."""

    said: str
    headline: Headline
    detail: str
    tone: str
    way: str


def _unreported_outcome(view: TableView, address: Address, sheet: DeskSheet) -> Outcome | None:
    unreported = sheet.unreported
    if unreported is None:
        return None
    draft = unreported.draft
    own = address.step == "plan" and sheet.draft_of(question_of(address, sheet.person)) is not None
    if own or (address.step == "receipt" and sheet.ended(address.table, view.version) is not None):
        return None
    question = draft.question
    there = Address(table=question.table, tab="act", act=question.kind, step="plan", answers=question.answers)
    if isinstance(unreported, Ended):
        receipt, way = unreported.receipt, there.to()
        if receipt.outcome == "committed" and receipt.version is not None:
            way = there.receipt_of(receipt.version)
        version = "" if receipt.version is None or receipt.outcome != "committed" else f" v{receipt.version}"
        tone = {"ok": "info"}.get(receipt.tone, receipt.tone)
        return Outcome(f"{receipt.title}{version}.", headline(draft.plan.intent), receipt.text, tone, way)
    assert draft.refusal is not None
    return Outcome(draft.broke_off, headline(draft.plan.intent), draft.refusal.message, "warning", there.to())


@dataclass(frozen=True, slots=True)
class EarlierPlan:
    """The plan from which a person came to this one: what it asks for, and its address."""

    title: str
    way: str


def _back(address: Address) -> EarlierPlan | None:
    before = address.resumed()
    return None if before is None else EarlierPlan(entry_of(before.act).title, before.to())


def _way_to(address: Address, way: GuardStep) -> str:
    """Return the address of a guard's next step; the Edit tab leads back from it to the plan."""
    if way.part:
        return f"#{way.part}"
    here = replace(address, version="", compared="", find="", sort="", page="1", column="", file="")
    if way.kind:
        back = address.plan_key if len(address.plan_key) <= _LONGEST_BACK else ""
        return replace(here, act=way.kind, step="fill", answers=way.answers, back=back).to(tab="act")
    if way.where:
        return replace(here, where=way.where).to(tab="data")
    return replace(here, compared="" if way.compared is None else str(way.compared)).to(tab="diff")


def _steps(address: Address, current: int, *, rows: bool = True, done: bool = False) -> list[EditStep]:
    upkeep = bool(address.act) and not entry_of(address.act).writes_commit
    ways = [address.to(act=None, step=None), address.to(step=None), address.to(step="plan")]
    return [
        EditStep(
            title,
            way=ways[index] if index < min(current, len(ways)) and not done else "",
            current=index == current,
            skipped=index == _LOOK and (upkeep or not rows),
        )
        for index, title in enumerate(_WITHOUT_COMMIT if upkeep else _STEPS)
    ]


def _context(form: IntentForm, snapshot: Snapshot) -> Values:
    """Return the parts of the table beside a form."""
    rules = constraints(snapshot.metadata.configuration) if CONSTRAINTS in form.beside else {}
    properties = snapshot.metadata.configuration if PROPERTIES in form.beside else {}
    return {
        "columns": top_fields(snapshot, _COLUMNS) if COLUMNS in form.beside and snapshot.schema.fields else None,
        "rules": sorted(rules.items()),
        "properties": sorted(properties.items()),
    }


def _estimate(snapshot: Snapshot) -> str:
    if not snapshot.num_files:
        return f"There are no rows; Spark checks only the rule.{start_notice()}"
    read = "is read" if live_rows(snapshot) == 1 else "are read"
    return f"{_amount(snapshot)} {read}.{start_notice()}"


def _amount(snapshot: Snapshot) -> str:
    rows, files = live_rows(snapshot), fmt.plural(snapshot.num_files, "file")
    return f"All rows of {files}" if rows is None else f"{fmt.plural(rows, 'row')} in {files}"
