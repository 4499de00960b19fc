"""The state of the answers to a form of the Act tab: what is missing, what is wrong, what a plan says.

The plan itself comes from the desk: `ask_desk` lets it plan answers that are complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from explorer.core.errors import ExplorerError, InvalidIntent
from explorer.core.protocol.times import older_than
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.intents.records import Vacuum
from explorer.views import TableFacts
from explorer.views.act.desk.desk import DeskSheet
from explorer.views.act.desk.draft import Draft
from explorer.views.act.guard_views import guard_counts, guard_views
from explorer.views.act.intent_form import (
    IntentForm,
    hints,
    intent_form,
    intent_of,
    malformed_answers,
    missing_answers,
)
from explorer.views.act.intents.hints import column_suggestions
from explorer.views.problems import Problem, problem_of
from explorer.web.act.desk import ActDesk, question_of
from explorer.web.address import Address
from explorer.web.render import render

__all__ = ["Check", "ask_desk", "check_answers", "form_of", "pair_count", "redrawn_parts"]


@dataclass(frozen=True, slots=True)
class Check:
    """The state of the answers.

    Attributes:
        hints: Help with a question, by its name.
        missing: Labels of the questions that have no answer yet.
        errors: What is wrong with an answer, by the question's name.
        problem: What is wrong with all of them together.
        counts: How many guards have each status, in words.
        blocked: A guard fails.
        costly: They are planned only on request; what that reads.
    """

    hints: Mapping[str, str]
    missing: tuple[str, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    problem: Problem | None = None
    counts: str = ""
    blocked: bool = False
    costly: str = ""


def form_of(facts: TableFacts, address: Address) -> IntentForm:
    """Return the form of an address, on the newest version."""
    return intent_form(address.act, facts.snapshot(facts.last), dict(address.answers))


def ask_desk(desk: ActDesk, facts: TableFacts, address: Address) -> None:
    """Let the desk plan what an address asks for, if it is complete; this may take long."""
    if address.step == "receipt":
        return
    if not address.act:
        desk.forget()
    elif address.step == "plan" or _is_to_be_planned(facts, address):
        desk.ask(address, newest=facts.last, show=address.step == "plan")


def check_answers(facts: TableFacts, address: Address, sheet: DeskSheet, form: IntentForm) -> Check:
    """Return the state of an address's answers, with what the desk knows about them."""
    answers = dict(address.answers)
    found = Check(hints(address.act, answers, facts, facts.snapshot(facts.last)))
    if form.why_not:
        return found
    if missing := missing_answers(form, answers):
        return replace(found, missing=missing)
    if wrong := malformed_answers(form, answers):
        return replace(found, errors=wrong)
    if form.costly and address.step != "plan":
        error = _unreadable(address)
        return replace(found, costly=form.costly) if error is None else _blame(found, error, form, answers)
    match sheet.draft_of(question_of(address, sheet.person)):
        case None:
            return found
        case Draft() as draft:
            guards = guard_views(draft.plan)
            blocked = any(guard.status == "fail" for guard in guards)
            return replace(found, counts=guard_counts(guards), blocked=blocked)
        case error:
            return _blame(found, error, form, answers)


def redrawn_parts(facts: TableFacts, address: Address, sheet: DeskSheet, shown_pairs: int) -> dict[str, str]:
    """Return the parts of a form that follow from its answers, as HTML by the id of their element.

    Args:
        facts: The table.
        address: The answers while they are typed.
        sheet: What the desk knows about them.
        shown_pairs: How many keys and values the form asks for now.
    """
    form, answers = form_of(facts, address), dict(address.answers)
    check = check_answers(facts, address, sheet, form)
    kinds = {field.kind for field in form.fields}
    names = [field.name for field in form.fields if field.kind != "pairs"]
    regions = {"act-check": render("act-check", check=check)}
    for asked in (asked for asked in form.fields if asked.kind == "pairs"):
        names += [f"key.{index}" for index in range(shown_pairs)]
        if pair_count(address) > shown_pairs:
            regions[f"act-pair-{shown_pairs}"] = render(
                "act-pair", field=asked, index=shown_pairs, last=True, answers=answers, check=check
            )
    for name in names:
        regions[f"act-note-{name}"] = render("act-note", error=check.errors.get(name), hint=check.hints.get(name))
    if "column" in kinds:
        suggestions = column_suggestions(facts.snapshot(facts.last), answers.get("column", ""))
        regions["act-columns"] = render("act-columns", suggestions=suggestions)
    return regions


def pair_count(address: Address) -> int:
    """Return one more row of key and value than are filled in."""
    filled = [int(name[4:]) for name, _ in address.answers if name.startswith("key.") and name[4:].isdecimal()]
    return max(filled, default=-1) + 2


def _is_to_be_planned(facts: TableFacts, address: Address) -> bool:
    """Whether answers that are still being given are complete, and cheap to plan."""
    form, answers = form_of(facts, address), dict(address.answers)
    if form.why_not or form.costly:
        return False
    return not missing_answers(form, answers) and not malformed_answers(form, answers)


def _unreadable(address: Address) -> ExplorerError | None:
    """What is wrong with answers that are not planned yet; None if they can be read."""
    try:
        intent = parse_intent(intent_of(address.act, dict(address.answers)))
        if isinstance(intent, Vacuum):
            older_than(intent.older_than)
    except ExplorerError as error:
        return error
    return None


def _blame(found: Check, error: ExplorerError, form: IntentForm, answers: Mapping[str, str]) -> Check:
    """The error beside its answer, or below the form."""
    place = _blamed(error, form, answers) if isinstance(error, InvalidIntent) else ""
    return replace(found, errors={place: str(error)}) if place else replace(found, problem=problem_of(error))


def _blamed(error: InvalidIntent, form: IntentForm, answers: Mapping[str, str]) -> str:
    blamed = str(error.field or "")
    names = [field.name for field in form.fields if field.kind not in {"pairs", "checks"}]
    if blamed in names:
        return blamed
    keys = [name for name, value in answers.items() if name.startswith("key.") and value == blamed]
    return keys[0] if keys else names[0] if len(names) == 1 else ""
