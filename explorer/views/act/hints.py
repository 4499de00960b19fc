"""What helps while a form is being filled in: the type of a column named, the effect of a property, what a version was.

A hint states facts; it never judges (planning does).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError
from explorer.core.protocol.schema.data_types import StructField, format_column, parse_column, type_name, walk
from explorer.core.protocol.sql.stored_expressions import expression_columns
from explorer.core.protocol.table_properties.registry import PROPERTIES
from explorer.views.act.kinds import KINDS, Answers
from explorer.views.table.commits import commit_sentence
from explorer.views.table.facts import TableFacts

__all__ = ["column_suggestions", "hints"]

_SUGGESTED = 40
_MENTIONED = 8


def hints(kind: str, answers: Answers, facts: TableFacts, snapshot: Any) -> dict[str, str]:
    """Return a hint for each answer that has one, by the answer's name.

    Args:
        kind: The kind of change.
        answers: Those given so far.
        facts: The table.
        snapshot: Its newest version.
    """
    match kind:
        case "add-constraint":
            found = {"expression": _mentioned(answers.get("expression", ""), snapshot)}
        case "rename-column" | "drop-columns" | "move-column" | "widen-type" | "set-not-null" | "drop-not-null":
            found = {"column": _column(answers.get("column", ""), snapshot)}
        case "enable-feature" | "drop-feature" | "drop-constraint":
            name = "name" if kind == "drop-constraint" else "feature"
            found = {name: _chosen(kind, name, answers, snapshot)}
        case "set-column-comment":
            found = {"column": _commented(answers.get("column", ""), snapshot)}
        case "compact-log":
            found = {name: _version(answers.get(name, ""), facts) for name in ("from", "to")}
        case "restore":
            found = {"version": _version(answers.get("version", ""), facts)}
        case "set-properties":
            found = {
                name: _property(key, snapshot.metadata.configuration)
                for name, key in answers.items()
                if name.startswith("key.")
            }
        case _:
            found = {}
    return {name: hint for name, hint in found.items() if hint}


def column_suggestions(snapshot: Any, typed: str) -> tuple[tuple[str, str], ...]:
    """Return columns whose name holds what was typed, with their types; those that begin with it first."""
    wanted = typed.casefold().strip()
    named = ((format_column(path), type_name(field.type)) for path, field in walk(snapshot.schema))
    matching = [(name, kind) for name, kind in named if wanted in name.casefold()]
    matching.sort(key=lambda pair: not pair[0].casefold().startswith(wanted))
    return tuple((name, fmt.shorten(kind, 40)) for name, kind in matching[:_SUGGESTED])


def _mentioned(expression: str, snapshot: Any) -> str:
    if not expression.strip():
        return ""
    try:
        paths = dict.fromkeys(expression_columns(expression))
    except (ExplorerError, ValueError):
        return ""
    columns = _folded(snapshot)
    known = [(path, columns.get(tuple(part.lower() for part in path))) for path in paths]
    texts = [f"{format_column(path)}: {type_name(field.type)}" for path, field in known if field is not None]
    more = f" and {len(texts) - _MENTIONED} more" if len(texts) > _MENTIONED else ""
    return ", ".join(texts[:_MENTIONED]) + more


def _field(text: str, snapshot: Any) -> StructField | None:
    if not text.strip():
        return None
    try:
        path = parse_column(text)
    except (ExplorerError, ValueError):
        return None
    return _folded(snapshot).get(tuple(part.lower() for part in path))


def _commented(text: str, snapshot: Any) -> str:
    field = _field(text, snapshot)
    if field is None:
        return ""
    comment = field.metadata.get("comment")
    return f"{type_name(field.type)}. Now: {comment}" if comment else f"{type_name(field.type)}. No comment yet."


def _column(text: str, snapshot: Any) -> str:
    field = _field(text, snapshot)
    if field is None:
        return ""
    mapped = "" if field.field_id is None else f", field {field.field_id}, in the files {field.physical_name}"
    return f"{type_name(field.type)}{'' if field.nullable else ', not null'}{mapped}"


def _folded(snapshot: Any) -> Mapping[tuple[str, ...], StructField]:
    return {tuple(part.lower() for part in path): field for path, field in walk(snapshot.schema)}


def _chosen(kind: str, name: str, answers: Answers, snapshot: Any) -> str:
    (field,) = KINDS[kind].fields(snapshot, answers)
    return next((choice.hint for choice in field.choices if choice.value == answers.get(name)), "")


def _version(text: str, facts: TableFacts) -> str:
    digits = text.strip().removeprefix("v")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 19):
        return ""
    version = int(digits)
    if not facts.first <= version <= facts.last:
        return f"Versions {facts.first} to {facts.last} can be read."
    commit = facts.commits.record(version) if len(facts.commits) else None
    if commit is None:
        return ""
    totals = f"{fmt.quantity(commit.num_rows, 'row')} in {fmt.quantity(commit.num_files, 'file')}"
    return f"{totals}. {commit.operation}: {commit_sentence(commit)}. {fmt.day(commit.timestamp)}"


def _property(key: str, configuration: Mapping[str, str]) -> str:
    known = PROPERTIES.get(key.strip().lower())
    now = next((value for name, value in configuration.items() if name.lower() == key.strip().lower()), None)
    stands = "" if now is None else f"Now {now}. "
    if known is None:
        return stands
    allowed = f"{' or '.join(known.allowed)}. " if known.allowed else ""
    default = "" if known.default is None else f"Default {known.default}."
    return f"{known.effect} {stands}{allowed}{default}".strip()
