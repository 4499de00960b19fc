"""The changes that a person can make from a page, as forms: what each is for, what it asks, what its answers make.

A form is a value made for one version of a table. Nothing is judged here: what the answers mean is told by planning
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from explorer.views.act.kinds import GROUPS, KINDS, Answers, Choice, FormField, numbered_answers
from explorer.views.act.maintenance_kinds import MAINTENANCE_KINDS
from explorer.views.act.questions import number_or_text

__all__ = [
    "Answers",
    "ChangeForm",
    "Choice",
    "FormField",
    "Offer",
    "OfferGroup",
    "change_form",
    "change_kinds",
    "intent_of",
    "malformed_answers",
    "missing_answers",
    "offers",
]


@dataclass(frozen=True, slots=True)
class ChangeForm:
    """The form of one kind of change.

    Attributes:
        kind, title, about, fields: As the kind has them.
        why_not: Why it has nothing to ask on this table.
        needs_answer: It makes no sense without any answer.
        costly: It is not planned while a person types.
        writes_commit: It makes a version.
    """

    kind: str
    title: str
    about: str
    fields: tuple[FormField, ...]
    why_not: str = ""
    needs_answer: bool = True
    costly: bool = False
    writes_commit: bool = True


@dataclass(frozen=True, slots=True)
class Offer:
    """A kind of change as it is offered: what it does, how the table stands, why it cannot be done if it cannot."""

    kind: str
    title: str
    about: str
    state: str
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class OfferGroup:
    """Kinds of change that belong together."""

    title: str
    offers: tuple[Offer, ...]


def change_kinds() -> tuple[str, ...]:
    """The kinds of change there are forms for, as intents call them."""
    return tuple(KINDS)


def offers(snapshot: Any) -> tuple[OfferGroup, ...]:
    """Return what can be changed, in groups, with the state of a version beside each."""
    return tuple(
        OfferGroup(
            title,
            tuple(
                Offer(name, KINDS[name].title, KINDS[name].about, KINDS[name].state(snapshot), why)
                for name in names
                for why in (KINDS[name].why_not(snapshot),)
            ),
        )
        for title, names in GROUPS
    )


def change_form(kind: str, snapshot: Any, answers: Answers) -> ChangeForm:
    """Return the form of a kind with the answers given so far.

    Args:
        kind: One of `change_kinds`.
        snapshot: The version to change, the newest one.
        answers: Texts by the field's name.
    """
    form = KINDS[kind]
    return ChangeForm(
        kind, form.title, form.about, form.fields(snapshot, answers), form.why_not(snapshot), form.needs_answer,
        form.costly, kind not in MAINTENANCE_KINDS,
    )  # fmt: skip


def missing_answers(form: ChangeForm, answers: Answers) -> tuple[str, ...]:
    """Return the labels of the questions that have no answer yet."""
    empty = [field for field in form.fields if not any(numbered_answers(answers, field.name).values())]
    if form.needs_answer and len(empty) == len(form.fields) and not any(field.required for field in form.fields):
        return tuple(field.label for field in empty)
    return tuple(field.label for field in empty if field.required)


def malformed_answers(form: ChangeForm, answers: Answers) -> dict[str, str]:
    """Return what is wrong with answers that have to be versions and are none, by the question's name."""
    given = {field.name: answers.get(field.name, "") for field in form.fields if field.is_version}
    return {
        name: f"\u201c{text}\u201d is no version: write a number, such as 12."
        for name, text in given.items()
        if text.strip() and not isinstance(number_or_text(text), int)
    }


def intent_of(kind: str, answers: Answers) -> dict[str, Any]:
    """Return the intent that the answers make, as the JSON object that `parse_intent` reads."""
    return {"kind": kind, **KINDS[kind].intent(answers)}
