"""The expressions that a table keeps: those that Spark may not read as their writer meant them."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import NotAnswered, Rule
from explorer.auditing.steps import see, table_command
from explorer.auditing.subject import Subject
from explorer.core.errors import CorruptTable
from explorer.core.transaction.intents.records import DropConstraint
from explorer.core.transaction.new_files.kept_texts import KeptText
from explorer.core.transaction.new_files.row_constraints import kept_texts

__all__ = ["EXPRESSION_RULES"]

_MOST: Final = 4
_SHOWN: Final = 120


def _in_doubt(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Rules in double quotes, rules that name no column, and rules that cannot be read."""
    try:
        found = [kept for kept in kept_texts(subject.snapshot) if kept.doubt]
    except CorruptTable as error:
        return NotAnswered(error.message)
    if not found:
        return ()
    first = found[0]
    return (
        Finding(
            rule="rules-in-doubt",
            severity="error",
            label=f"{fmt.plural(len(found), 'rule')} in doubt",
            title=f"{_plain(first.name)} may not mean what its writer meant",
            evidence=tuple(
                Evidence(f"{_plain(kept.name)}: {_plain(kept.text)}. {_plain(kept.doubt)}", _place(kept))
                for kept in found[:_MOST]
            ),
            effect="Engines do not agree on the rows that keep it, or refuse every write. A plan that writes rows "
            f"cannot say that they keep it. {first.advice}",
            remedy=_next_step(subject, first),
            subject=first.name,
        ),
    )


def _next_step(subject: Subject, kept: KeptText) -> Remedy:
    if subject.snapshot.unread_columns:
        # This program writes nothing to such a table.
        return see(subject, "See which clients read the table, and change the rule with one of them", Place("clients"))
    if (name := kept.constraint) is not None:
        return Remedy(f"Drop the constraint {fmt.shorten(fmt.plain(name, 200), 40)}\u2026", DropConstraint(name=name))
    step = "See the column's metadata, and have the engine that wrote it change it"
    return Remedy(step, command=table_command(subject, "snapshot"))


def _place(kept: KeptText) -> Place:
    return Place("state") if kept.column is None else Place("columns", column=kept.column)


def _plain(text: str) -> str:
    return fmt.shorten(fmt.plain(text, 300), _SHOWN)


EXPRESSION_RULES: Final = (
    Rule(
        "rules-in-doubt",
        "error",
        "constraints and other rules that engines read differently",
        "Spark takes double quotes for a text, other writers for a column: rows pass that should not.",
        _in_doubt,
    ),
)
