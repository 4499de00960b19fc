"""The questions of a form, and how their answers become the fields of an intent.

Answers are texts by the question's name; those to a list are numbered (``key.0``, ``value.0``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from explorer.core.versions.snapshot import Snapshot

__all__ = [
    "Answers",
    "Choice",
    "FormField",
    "column_field",
    "given_pairs",
    "given_texts",
    "listed_answers",
    "number_or_text",
    "numbered_answers",
]

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
