"""The form of the Edit tab at an address: the desk of its window, the state of its answers, and the parts to redraw.

The plan itself comes from the desk: `ask_desk` lets it plan answers that are complete.
"""

from __future__ import annotations

from explorer.page.address import Address
from explorer.page.render import render
from explorer.views import TableFacts
from explorer.views.act.answer_check import Check, plans_at_once
from explorer.views.act.answer_check import check_answers as check_question
from explorer.views.act.desk.desk import Desk, DeskSheet
from explorer.views.act.desk.draft import Question
from explorer.views.act.desk.state import State
from explorer.views.act.intent_form import IntentForm, intent_form
from explorer.views.act.intents.fields import column_suggestions


class ActDesk(Desk):
    """At most one plan, one check of the rows and one commit at a time."""

    def ask(self, address: Address, *, newest: int, show: bool = False) -> State:
        """Plan what an address asks for, one that reads rows on a thread of its own; see `Desk.ask_for`."""
        return self.ask_for(question_of(address, self.person), newest=newest, show=show, wait=False)


def question_of(address: Address, person: str) -> Question:
    """Return what an address asks for."""
    return Question(address.table, address.act, address.answers, person)


def form_of(facts: TableFacts, address: Address) -> IntentForm:
    """Return the form of an address, on the newest version."""
    return intent_form(address.act, facts.snapshot(facts.last), dict(address.answers))


def ask_desk(desk: ActDesk, facts: TableFacts, address: Address, *, by_person: bool) -> None:
    """Let the desk plan what an address asks for, if it is complete and a person asked for it; this may take long.

    The outcome of a commit that was not shown yet stays, and is shown now if the address is its own.
    """
    if address.step == "receipt":
        if address.version.isdecimal() and desk.sheet.ended(address.table, int(address.version)) is not None:
            desk.show_outcome()
        return
    if address.step == "undo":
        return
    if not address.act:
        desk.forget()
    elif not by_person and desk.calls_for_plan(question_of(address, desk.person), facts.last):
        return  # a link from another site fills in the form, and no more
    elif address.step == "plan" or plans_at_once(form_of(facts, address), dict(address.answers)):
        desk.ask(address, newest=facts.last, show=address.step == "plan")


def check_answers(facts: TableFacts, address: Address, sheet: DeskSheet, form: IntentForm) -> Check:
    """Return the state of an address's answers, with what the desk knows about them."""
    return check_question(facts, question_of(address, sheet.person), sheet, form, requested=address.step == "plan")


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
    for pairs_field in (pairs_field for pairs_field in form.fields if pairs_field.kind == "pairs"):
        regions["act-keys"] = render("act-keys", choices=pairs_field.choices)
        names += [f"key.{index}" for index in range(shown_pairs)]
        if pair_count(address) > shown_pairs:
            regions[f"act-pair-{shown_pairs}"] = render(
                "act-pair", field=pairs_field, index=shown_pairs, last=True, answers=answers, check=check
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
