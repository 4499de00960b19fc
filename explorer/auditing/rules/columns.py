"""Columns: names that moved from one column to another."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import Rule
from explorer.auditing.subject import Subject
from explorer.auditing.words import named

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
            title=f"The name {named(names)} moved to another column"
            if len(names) == 1
            else f"{len(names)} names moved to other columns",
            evidence=(*shown, *([Evidence(f"{more:,} more")] if more > 0 else ())),
            effect="A query by name means another column before and after; a client that ignores column mapping reads "
            "one column\u2019s values under the other\u2019s name.",
            remedy=Remedy("See the names", place=Place("columns", first.version, column=first.name)),
            versions=tuple((version, version) for version in sorted({hazard.version for hazard in hazards})),
        ),
    )


COLUMN_RULES: Final = (
    Rule(
        "name-hazard",
        "warning",
        "names that moved to another column",
        "The same query gives other values without an error.",
        _changed_hands,
    ),
)
