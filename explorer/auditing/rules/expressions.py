"""The expressions that a table keeps: those that Spark may not read as their writer meant them."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import NotAnswered, Rule, see, table_command
from explorer.auditing.subject import Subject
from explorer.core.errors import CorruptTable
from explorer.core.transaction.intents.records import DropConstraint
from explorer.core.transaction.new_files.kept_texts import StoredExpression
from explorer.core.transaction.new_files.row_constraints import kept_texts

__all__ = ["EXPRESSION_RULES"]

_MOST: Final = 4
_SHOWN: Final = 120


def _ambiguous(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Rules in double quotes, rules that name no column, and rules that cannot be read."""
    try:
        doubtful = [stored for stored in kept_texts(subject.snapshot) if stored.doubt]
    except CorruptTable as error:
        return NotAnswered(error.message)
    if not doubtful:
        return ()
    first = doubtful[0]
    return (
        Finding(
            rule="rules-in-doubt",
            severity="error",
            label=f"{fmt.plural(len(doubtful), 'rule')} ambiguous",
            title=f"{_plain(first.name)} may not mean what its author intended",
            evidence=tuple(
                Evidence(f"{_plain(stored.name)}: {_plain(stored.text)}. {_plain(stored.doubt)}", _place(stored))
                for stored in doubtful[:_MOST]
            ),
            effect="Engines disagree on which rows satisfy it, or refuse every write. A plan that writes "
            f"rows cannot check that they satisfy it. {first.advice}",
            remedy=_next_step(subject, first),
            subject=first.name,
        ),
    )


def _next_step(subject: Subject, stored: StoredExpression) -> Remedy:
    if subject.snapshot.unread_columns:
        # This program writes nothing to such a table.
        return see(
            subject, "See which clients read the table, and change the constraint with one of them", Place("clients")
        )
    if (name := stored.constraint) is not None:
        return Remedy(f"Drop the constraint {fmt.shorten(fmt.plain(name, 200), 40)}\u2026", DropConstraint(name=name))
    step = "See the column's metadata, and have the engine that wrote it change it"
    return Remedy(step, command=table_command(subject, "snapshot"))


def _place(stored: StoredExpression) -> Place:
    return Place("state") if stored.column is None else Place("columns", column=stored.column)


def _plain(text: str) -> str:
    return fmt.shorten(fmt.plain(text, 300), _SHOWN)


EXPRESSION_RULES: Final = (
    Rule(
        "rules-in-doubt",
        "error",
        "constraints and expressions that engines interpret differently",
        "Spark reads double quotes as a string, other writers as a column, so invalid rows may pass.",
        _ambiguous,
    ),
)
