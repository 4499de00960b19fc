"""What a page needs of an intent: its form, how the answers make it, its headline, and hints for its answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from explorer import formatting as fmt
from explorer.core.transaction.intents.documents import intent_document, intent_kind
from explorer.core.transaction.intents.records import Intent, MaintenanceIntent
from explorer.core.transaction.row_preparation.proposer import RowIntent
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.fields import Answers, FormField
from explorer.views.table.facts import TableFacts

Asked = TypeVar("Asked", bound=Intent)
Hints: TypeAlias = Callable[[Answers, TableFacts, Snapshot], Mapping[str, str]]
"""Makes hints by the name of the answer, from the answers so far, the table and its newest version."""

COLUMNS: Final = "columns"
CONSTRAINTS: Final = "constraints"
PROPERTIES: Final = "properties"


@dataclass(frozen=True, slots=True)
class Headline:
    """What an intent asks for: ``Add constraint``, the thing it is done to, and the text that goes with it."""

    verb: str
    subject: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class IntentEntry:
    """An intent as a page offers it.

    Attributes:
        kind: The intent's name, such as ``add-constraint``.
        title, about: Its name for people, and its purpose.
        fields: What it asks of a version, with the answers so far.
        document: The fields of the intent that the answers make, without its kind.
        headline: What such an intent asks for; None for an intent of another kind.
        state: What a version says about it, in a few words.
        hints: Help with filling in the form.
        beside: The part of the table listed beside the form: `COLUMNS`, `CONSTRAINTS`, `PROPERTIES`.
        why_not: Why it is not possible on a version; empty if it is.
        needs_answer: It needs at least one answer, even if no single one is required.
        costly: What planning it reads beyond the log, so that a page does not plan it while a person types; else empty.
        writes_commit: It makes a version.
        reads_rows: Spark finds, counts or writes rows for it.
    """

    kind: str
    title: str
    about: str
    fields: Callable[[Snapshot, Answers], tuple[FormField, ...]]
    document: Callable[[Answers], dict[str, object]]
    headline: Callable[[Intent], Headline | None]
    state: Callable[[Snapshot], str]
    hints: Hints
    beside: frozenset[str]
    why_not: Callable[[Snapshot], str]
    needs_answer: bool
    costly: str
    writes_commit: bool
    reads_rows: bool


@dataclass(frozen=True, slots=True)
class IntentGroup:
    """Intents that belong together."""

    title: str
    entries: tuple[IntentEntry, ...]


def intent_entry(
    intent: type[Asked],
    title: str,
    about: str,
    *,
    headline: Callable[[Asked], Headline],
    fields: Callable[[Snapshot, Answers], tuple[FormField, ...]] = lambda _snapshot, _answers: (),
    document: Callable[[Answers], dict[str, object]] = lambda _answers: {},
    state: Callable[[Snapshot], str] = lambda _snapshot: "",
    hints: Hints = lambda _answers, _facts, _snapshot: {},
    beside: Sequence[str] = (),
    why_not: Callable[[Snapshot], str] = lambda _snapshot: "",
    needs_answer: bool = True,
    costly: str = "",
) -> IntentEntry:
    """Make the entry of an intent; its kind, and whether it writes a commit, come from the record.

    Args:
        intent: The intent's record.
        title, about, fields, document, state, hints, beside, why_not, needs_answer, costly: As the entry has them.
        headline: What an intent of this record asks for.
    """
    return IntentEntry(
        kind=str(intent.__struct_config__.tag),
        title=title,
        about=about,
        fields=fields,
        document=document,
        headline=lambda asked: headline(asked) if isinstance(asked, intent) else None,
        state=state,
        hints=hints,
        beside=frozenset(beside),
        why_not=why_not,
        needs_answer=needs_answer,
        costly=costly,
        writes_commit=not issubclass(intent, MaintenanceIntent),
        reads_rows=issubclass(intent, RowIntent),
    )


def plain_headline(intent: Intent) -> Headline:
    """Return the headline of an intent by its kind and its fields alone, as JSON."""
    rest = {name: value for name, value in intent_document(intent).items() if name != "kind"}
    verb = intent_kind(intent).replace("-", " ").capitalize()
    return Headline(verb, "", json.dumps(rest, ensure_ascii=False) if rest else "")


def counted(items: Sequence[str] | Mapping[str, str], noun: str, nouns: str) -> str:
    """Return the one item by its name, or how many there are."""
    return next(iter(items)) if len(items) == 1 else fmt.plural(len(items), noun, nouns)
