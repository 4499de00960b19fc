"""Columns and expressions: names that moved from one column to another, and rules that Spark may misread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import NotAnswered, Rule, see, table_command
from explorer.auditing.subject import Subject
from explorer.auditing.words import named
from explorer.core.errors import CorruptTable
from explorer.core.protocol.schema.data_types import StructType, format_column
from explorer.core.protocol.schema.nested_types import nested_types
from explorer.core.transaction.intents.records import DropConstraint, RenameColumn, SetColumnMapping
from explorer.core.transaction.new_files.row_constraints import StoredExpression, stored_expressions

_MOST_NAMED: Final = 4


def _changed_hands(subject: Subject) -> tuple[Finding, ...]:
    hazards = subject.lineage.hazards
    if not hazards:
        return ()
    names = tuple(dict.fromkeys(hazard.name for hazard in hazards))
    swapped = [hazard for hazard in hazards if hazard.kind == "swapped-name"]
    first = (swapped or hazards)[0]
    shown = tuple(
        Evidence(
            f"{fmt.shorten(fmt.plain(hazard.name, 200), 40)} at v{hazard.version}",
            Place("columns", hazard.version, column=hazard.name),
        )
        for hazard in hazards[:_MOST_NAMED]
    )
    more = len(hazards) - _MOST_NAMED
    what = "swapped" if swapped else "reused"
    return (
        Finding(
            rule="name-hazard",
            severity="warning",
            label=f"{'name' if len(names) == 1 else 'names'} {what}, v{first.version}",
            title=f"The name {named(names)} was reused for another column"
            if len(names) == 1
            else f"{len(names)} names were reused for other columns",
            evidence=(*shown, *([Evidence(f"{more:,} more")] if more > 0 else ())),
            effect="A query by name reads a different column before and after the change. A client that ignores "
            "column mapping reads one column’s values under the other’s name.",
            remedy=see(subject, "See the names", Place("columns", first.version, column=first.name)),
            versions=tuple((version, version) for version in sorted({hazard.version for hazard in hazards})),
        ),
    )


def _similar_names(subject: Subject) -> tuple[Finding, ...]:
    """Report columns, or fields of one struct, whose names differ only by case."""
    pairs = list(_pairs(subject.snapshot.schema, ()))
    if not pairs:
        return ()
    first, second = pairs[0]
    return (
        Finding(
            rule="case-names",
            severity="error",
            label="one name twice" if first == second else "names differ by case",
            title=f"Two columns have the name {named([format_column(first)])}"
            if first == second
            else f"{' and '.join(named([format_column(path)]) for path in pairs[0])} differ only by case",
            evidence=tuple(
                Evidence(" and ".join(named([format_column(path)]) for path in pair), Place("columns"))
                for pair in pairs[:_MOST_NAMED]
            ),
            effect="Most engines do not distinguish them: they refuse the table, or read one column instead of the "
            "other.",
            remedy=_one_name(subject, first, second),
        ),
    )


def _one_name(subject: Subject, first: tuple[str, ...], second: tuple[str, ...]) -> Remedy:
    if first == second:
        # No statement can tell the two apart.
        return Remedy(
            "Find the commit that doubled it, and restore the version before", command=table_command(subject, "history")
        )
    if subject.snapshot.column_mapping_mode != "none":
        return Remedy("Rename one\u2026", intent=RenameColumn(column=format_column(second), to=_free(second)))
    return Remedy("Map the columns, then rename one\u2026", intent=SetColumnMapping(mode="name"))


def _free(path: tuple[str, ...]) -> str:
    return f"{path[-1]}_2"


def _pairs(struct: StructType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    yield from _own_pairs(struct, path)
    for field in struct.fields:
        for part in nested_types(field.type):
            if isinstance(part, StructType):
                yield from _own_pairs(part, (*path, field.name))


def _own_pairs(struct: StructType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield pairs among the fields of one struct, not of those inside it."""
    seen: dict[str, str] = {}
    for field in struct.fields:
        first = seen.get(field.name.lower())
        if first is not None:
            yield (*path, first), (*path, field.name)
        seen.setdefault(field.name.lower(), field.name)


COLUMN_RULES: Final = (
    Rule(
        "case-names",
        "error",
        "names that differ only by case",
        "Delta and most engines treat them as one name.",
        _similar_names,
    ),
    Rule(
        "name-hazard",
        "warning",
        "names reused for another column",
        "The same query returns different values without an error.",
        _changed_hands,
    ),
)


_MOST: Final = 4
_SHOWN: Final = 120


def _ambiguous(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Rules in double quotes, rules that name no column, and rules that cannot be read."""
    try:
        doubtful = [stored for stored in stored_expressions(subject.snapshot) if stored.doubt]
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
