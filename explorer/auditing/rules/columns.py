"""Columns: names that moved from one column to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import Rule, see
from explorer.auditing.subject import Subject
from explorer.auditing.words import named
from explorer.core.protocol.schema.data_types import StructType, format_column
from explorer.core.protocol.schema.nested_types import nested_types
from explorer.core.transaction.intents.records import RenameColumn, SetColumnMapping

__all__ = ["COLUMN_RULES"]

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
    return (
        Finding(
            rule="case-names",
            severity="error",
            label="names differ by case",
            title=f"{' and '.join(named([format_column(path)]) for path in pairs[0])} differ only by case",
            evidence=tuple(
                Evidence(" and ".join(named([format_column(path)]) for path in pair), Place("columns"))
                for pair in pairs[:_MOST_NAMED]
            ),
            effect="Most engines do not distinguish them: they refuse the table, or read one column instead of the "
            "other.",
            remedy=Remedy(
                "Rename one\u2026", intent=RenameColumn(column=format_column(pairs[0][1]), to=_free(pairs[0][1]))
            )
            if subject.snapshot.column_mapping_mode != "none"
            else Remedy("Map the columns, then rename one\u2026", intent=SetColumnMapping(mode="name")),
        ),
    )


def _free(path: tuple[str, ...]) -> str:
    return f"{path[-1]}_2"


def _pairs(struct: StructType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    yield from _own_pairs(struct, path)
    for field in struct.fields:
        for part in nested_types(field.type):
            if isinstance(part, StructType):
                yield from _own_pairs(part, (*path, field.name))


def _own_pairs(struct: StructType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Pairs among the fields of one struct, not of those inside it."""
    seen: dict[str, str] = {}
    for field in struct.fields:
        first = seen.setdefault(field.name.lower(), field.name)
        if first != field.name:
            yield (*path, first), (*path, field.name)


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
