"""The intents that a person can plan on a page, as forms: what each is for, what it asks, what its answers make.

A form is a value made for one version of a table. Nothing is judged here: the plan says what the answers mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.core.transaction.intents.documents import intent_document, intent_kind
from explorer.core.transaction.intents.records import Intent
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.columns import COLUMN_INTENTS, CONSTRAINT_INTENTS
from explorer.views.act.intents.entry import Headline, IntentEntry, IntentGroup, plain_headline
from explorer.views.act.intents.fields import Answers, FormField, number_or_text, numbered_answers
from explorer.views.act.intents.protocol import PROTOCOL_INTENTS
from explorer.views.act.intents.rows import ROW_INTENTS
from explorer.views.act.intents.table import MAINTENANCE_INTENTS, RESTORE_INTENTS, TABLE_INTENTS
from explorer.views.table.facts import TableFacts

GROUPS: Final[tuple[IntentGroup, ...]] = (
    CONSTRAINT_INTENTS, COLUMN_INTENTS, ROW_INTENTS, TABLE_INTENTS, PROTOCOL_INTENTS, RESTORE_INTENTS,
    MAINTENANCE_INTENTS,
)  # fmt: skip
_ENTRIES: Final[dict[str, IntentEntry]] = {entry.kind: entry for group in GROUPS for entry in group.entries}


def offered_kinds() -> tuple[str, ...]:
    """Return the kinds of the intents that a page offers."""
    return tuple(_ENTRIES)


def entry_of(kind: str) -> IntentEntry:
    """Return the entry of one of the `offered_kinds`."""
    return _ENTRIES[kind]


def headline(intent: Intent) -> Headline:
    """Return what an intent asks for, in a few words; one that no page offers is described by its fields."""
    entry = _ENTRIES.get(intent_kind(intent))
    return (None if entry is None else entry.headline(intent)) or plain_headline(intent)


@dataclass(frozen=True, slots=True)
class IntentForm:
    """The form of one kind of intent.

    Attributes:
        kind, title, about, beside, needs_answer, costly, writes_commit, reads_rows: As its entry has them.
        fields: What it asks.
        why_not: Why this table gives it nothing to ask.
    """

    kind: str
    title: str
    about: str
    fields: tuple[FormField, ...]
    why_not: str
    beside: frozenset[str]
    needs_answer: bool
    costly: str
    writes_commit: bool
    reads_rows: bool


@dataclass(frozen=True, slots=True)
class Offer:
    """An intent as it is offered: what it does, what the table says about it, and why it is not possible, if so."""

    kind: str
    title: str
    about: str
    state: str
    why_not: str


@dataclass(frozen=True, slots=True)
class OfferGroup:
    """Offers that belong together."""

    title: str
    offers: tuple[Offer, ...]


def offers(snapshot: Snapshot) -> tuple[OfferGroup, ...]:
    """Return what a person can ask for, in groups, with the state of a version beside each."""
    return tuple(
        OfferGroup(
            group.title,
            tuple(
                Offer(entry.kind, entry.title, entry.about, entry.state(snapshot), entry.why_not(snapshot))
                for entry in group.entries
            ),
        )
        for group in GROUPS
    )


def intent_form(kind: str, snapshot: Snapshot, answers: Answers) -> IntentForm:
    """Return the form of a kind with the answers given so far.

    Args:
        kind: One of `explorer.views.act.intent_form.offered_kinds`.
        snapshot: The version to change, the newest one.
        answers: Texts by the field's name.
    """
    entry = entry_of(kind)
    return IntentForm(
        kind=kind,
        title=entry.title,
        about=entry.about,
        fields=entry.fields(snapshot, answers),
        why_not=entry.why_not(snapshot),
        beside=entry.beside,
        needs_answer=entry.needs_answer,
        costly=entry.costly,
        writes_commit=entry.writes_commit,
        reads_rows=entry.reads_rows,
    )


def hints(kind: str, answers: Answers, facts: TableFacts, snapshot: Snapshot) -> dict[str, str]:
    """Return a hint for each answer that has one, by the answer's name.

    Args:
        kind: One of `explorer.views.act.intent_form.offered_kinds`.
        answers: Those given so far.
        facts: The table.
        snapshot: Its newest version.
    """
    texts = entry_of(kind).hints(answers, facts, snapshot)
    return {name: hint for name, hint in texts.items() if hint}


def missing_answers(form: IntentForm, answers: Answers) -> tuple[str, ...]:
    """Return the labels of the questions that have no answer yet."""
    empty = [field for field in form.fields if not any(numbered_answers(answers, field.name, field.kind).values())]
    if form.needs_answer and len(empty) == len(form.fields) and not any(field.required for field in form.fields):
        return tuple(field.label for field in empty)
    return tuple(field.label for field in empty if field.required)


def malformed_answers(form: IntentForm, answers: Answers) -> dict[str, str]:
    """Return what is wrong with answers that must be versions and are not, by the question's name."""
    given = {field.name: answers.get(field.name, "") for field in form.fields if field.is_version}
    return {
        name: f"\u201c{text}\u201d is not a version. Enter a number, such as 12."
        for name, text in given.items()
        if text.strip() and not isinstance(number_or_text(text), int)
    }


def intent_of(kind: str, answers: Answers) -> dict[str, object]:
    """Return the intent that the answers make, as the JSON object that `parse_intent` reads."""
    return {"kind": kind, **entry_of(kind).document(answers)}


def answers_of(intent: Intent) -> dict[str, str]:
    """Return the answers that make an intent whose form asks for its fields: texts, those of several numbered."""
    answers: dict[str, str] = {}
    for name, value in intent_document(intent).items():
        match value:
            case dict():
                for place, (key, text) in enumerate(value.items()):
                    answers |= {f"key.{place}": key, f"value.{place}": str(text)}
            case list() | tuple():
                answers |= {f"{name}.{place}": str(item) for place, item in enumerate(value)}
            case None:
                pass
            case _ if name != "kind":
                answers[name] = str(value)
    return answers
