"""The questions of a form, how their answers become the fields of an intent, and hints for the answers.

Answers are texts by the question's name; those to a list are numbered (``key.0``, ``value.0``). A hint states facts; it
never judges (planning does).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError, RequestError, VersionNotFound
from explorer.core.protocol.schema.data_types import StructField, format_column, parse_column, type_name
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.sql.stored_expressions import expression_columns
from explorer.core.protocol.table_properties.registry import PROPERTIES
from explorer.core.transaction.intents.named_times import age_in_words
from explorer.core.versions.named_version import version_number
from explorer.core.versions.snapshot import Snapshot
from explorer.views.listing import column_matches
from explorer.views.table.commits import commit_sentence
from explorer.views.table.facts import TableFacts

Answers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values to choose from; ``why_not`` says why it cannot be chosen, or is empty."""

    value: str
    label: str
    hint: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class FormField:
    """A question.

    Attributes:
        name: The answer's name.
        label, help: What is asked, and what a good answer is.
        kind: ``text``, ``code`` (several lines of SQL), ``prose``, ``column`` (a dotted path, with suggestions),
            ``choice`` (one of a list), ``options`` (one of a few, each explained), ``checks`` (several of a list),
            ``pairs`` (keys and values).
        value: The answer so far, or the proposed one.
        choices: What may be chosen.
        required: Whether the intent makes no sense without it.
        is_version: The answer is the number of a version.
        pair: What the key and the value of ``pairs`` are called, and an example of a value.
    """

    name: str
    label: str
    kind: str = "text"
    help: str = ""
    placeholder: str = ""
    value: str = ""
    choices: tuple[Choice, ...] = ()
    required: bool = True
    is_version: bool = False
    pair: tuple[str, str, str] = ("Property", "Value", "interval 60 days")


def column_field(_snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    """Return the question which column is meant."""
    help_ = "For a nested column, use dots: address.city. Put a name that contains a dot in backticks."
    return (FormField("column", "Column", "column", help_, value=answers.get("column", "")),)


def numbered_answers(answers: Answers, name: str, kind: str = "") -> dict[str, str]:
    """Return the answers to a question by their names: its own, or the numbered ones of a list or of ``pairs``."""
    prefix = "key." if kind == "pairs" else f"{name}."
    numbered = {key: value for key, value in answers.items() if key.startswith(prefix) and key[len(prefix) :].isdigit()}
    return numbered or {name: answers.get(name, "")}


def listed_answers(answers: Answers, name: str) -> list[str]:
    """Return the answers to a list, in their order, without the empty ones."""
    return [
        value for _, value in sorted(numbered_answers(answers, name).items(), key=lambda pair: _place(pair[0])) if value
    ]


def given_pairs(answers: Answers) -> dict[str, str]:
    """Return the keys that were given, with their values."""
    keys = sorted((name for name in answers if name.startswith("key.")), key=_place)
    return {answers[key]: answers.get(f"value.{_place(key)}", "") for key in keys if answers[key]}


def given_texts(*names: str) -> Callable[[Answers], dict[str, object]]:
    """Return a function that takes the answers of these names as they are."""
    return lambda answers: {name: answers.get(name, "") for name in names}


def number_or_text(text: str) -> int | str:
    """Return the version that a text names, or the text, for the intent to refuse."""
    digits = text.strip().removeprefix("v")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 19 else text


def _place(name: str) -> int:
    """Return the number of an answer to a list."""
    number = name.rpartition(".")[2]
    return int(number) if number.isdecimal() and len(number) < 6 else 0


_MENTIONED = 8


def column_hint(answers: Answers, _facts: TableFacts, snapshot: Snapshot) -> dict[str, str]:
    """Return the type of the named column, and its name in the files."""
    field = _field(answers.get("column", ""), snapshot)
    if field is None:
        return {}
    mapped = "" if field.field_id is None else f", field {field.field_id}, physical name {field.physical_name}"
    return {"column": f"{type_name(field.type)}{'' if field.nullable else ', not null'}{mapped}"}


def column_comment_hint(answers: Answers, _facts: TableFacts, snapshot: Snapshot) -> dict[str, str]:
    """Return the type of the named column, and its comment."""
    field = _field(answers.get("column", ""), snapshot)
    if field is None:
        return {}
    comment = field.metadata.get("comment")
    return {"column": f"{type_name(field.type)}. {f'Now: {comment}' if comment else 'No comment yet.'}"}


def mentioned_columns_hint(answers: Answers, _facts: TableFacts, snapshot: Snapshot) -> dict[str, str]:
    """Return the types of the columns in an expression."""
    expression = answers.get("expression", "")
    if not expression.strip():
        return {}
    try:
        paths = dict.fromkeys(expression_columns(expression))
    except (ExplorerError, ValueError):
        return {}
    columns = _folded(snapshot)
    known = [(path, columns.get(tuple(part.lower() for part in path))) for path in paths]
    texts = [f"{format_column(path)}: {type_name(field.type)}" for path, field in known if field is not None]
    more = f" and {len(texts) - _MENTIONED} more" if len(texts) > _MENTIONED else ""
    return {"expression": ", ".join(texts[:_MENTIONED]) + more}


def property_hints(answers: Answers, _facts: TableFacts, snapshot: Snapshot) -> dict[str, str]:
    """Return the effect, the value and the default of each named property."""
    configuration = snapshot.metadata.configuration
    return {name: _property(key, configuration) for name, key in answers.items() if name.startswith("key.")}


def chosen_hint(
    name: str, fields: Callable[[Snapshot, Answers], tuple[FormField, ...]]
) -> Callable[[Answers, TableFacts, Snapshot], dict[str, str]]:
    """Return hints that repeat the help of the chosen value; ``fields`` asks that one question."""

    def hints(answers: Answers, _facts: TableFacts, snapshot: Snapshot) -> dict[str, str]:
        (field,) = fields(snapshot, answers)
        return {name: next((choice.hint for choice in field.choices if choice.value == answers.get(name)), "")}

    return hints


def version_hints(*names: str) -> Callable[[Answers, TableFacts, Snapshot], dict[str, str]]:
    """Return hints that describe each of the named versions."""
    return lambda answers, facts, _snapshot: {name: _version(answers.get(name, ""), facts) for name in names}


def age_reading(text: str, facts: TableFacts) -> str:
    """Return how a time that limits an age is read; empty for an interval, or an exact time.

    Raises:
        InvalidIntent: It is neither an interval nor a time.
    """
    moment = age_in_words(text, facts.now())
    return "" if moment is None else fmt.moment(moment)


def column_suggestions(snapshot: Snapshot, typed: str) -> tuple[tuple[str, str], ...]:
    """Return columns whose name contains what was typed, with their types; those that begin with it first."""
    fields = {format_column(path): field for path, field in walk(snapshot.schema)}
    matches = column_matches(fields, typed)
    return tuple((name, fmt.shorten(type_name(fields[name].type), 40)) for name in matches.names)


def _field(text: str, snapshot: Snapshot) -> StructField | None:
    if not text.strip():
        return None
    try:
        path = parse_column(text)
    except (ExplorerError, ValueError):
        return None
    return _folded(snapshot).get(tuple(part.lower() for part in path))


def _folded(snapshot: Snapshot) -> Mapping[tuple[str, ...], StructField]:
    return {tuple(part.lower() for part in path): field for path, field in walk(snapshot.schema)}


def _version(text: str, facts: TableFacts) -> str:
    version, reading = version_number(text), ""
    if version is None:
        try:
            version, reading = facts.named(text)
        except VersionNotFound:
            return ""
        except RequestError as error:
            return error.message
    if not facts.first <= version <= facts.last:
        return f"Versions {facts.first} to {facts.last} can be read."
    commit = facts.commits.record(version) if len(facts.commits) else None
    if commit is None:
        return ""
    totals = f"{fmt.quantity(commit.num_rows, 'row')} in {fmt.quantity(commit.num_files, 'file')}"
    what = f"{totals}. {commit.operation}: {commit_sentence(commit)}. {fmt.day(commit.timestamp)}"
    return f"{reading}. {what}" if reading else what


def _property(key: str, configuration: Mapping[str, str]) -> str:
    known = PROPERTIES.get(key.lower())
    now = configuration.get(key if known is None else known.key)
    set_to = "" if now is None else f"Now {now}. "
    if known is None:
        return set_to
    allowed = f"{' or '.join(known.allowed)}. " if known.allowed else ""
    default = "" if known.default is None else f"Default {known.default}."
    return f"{known.effect} {set_to}{allowed}{default}".strip()
