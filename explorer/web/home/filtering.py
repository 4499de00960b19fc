"""The tables of a list that an address asks for: by name, facets, a column, and status; and the facets' counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np

from explorer.auditing.rules import RULES
from explorer.core.protocol.times import milliseconds
from explorer.page.address import STATUSES, Address
from explorer.views.many_tables.bins import BINS
from explorer.views.many_tables.choice import FACETS
from explorer.views.many_tables.facets import FacetView, faceted
from explorer.views.many_tables.record import KeptRecord
from explorer.views.many_tables.traits import NO_FINDING
from explorer.web.served_tables import TableSummary

NEEDING: Final = ("broken", "wrong", "unread", "watch")
"""The statuses of tables that need attention, the worst first."""
_RULES: Final[Mapping[str, str]] = {rule.id: f"{rule.title[:1].upper()}{rule.title[1:]}" for rule in RULES}


@dataclass(frozen=True, slots=True)
class ChosenValue:
    """A filter in force: what it says, and the address without it."""

    facet: str
    label: str
    href: str


@dataclass(frozen=True, slots=True)
class Filtered:
    """The tables that an address asks for.

    Attributes:
        rows: Those that match everything.
        named: How many match everything but the status.
        total: How many there are.
        counts: How many of the named have each status.
        facets: The facets with their counts.
        chosen: The filters in force.
        unknown: How many tables are not read or cannot be, so that no facet but the folder can match them.
        needing_outside: How many tables need attention that do not match.
    """

    rows: list[TableSummary]
    named: int
    total: int
    counts: dict[str, int]
    facets: tuple[FacetView, ...]
    chosen: tuple[ChosenValue, ...]
    unknown: int
    needing_outside: int


def filtered(
    address: Address, summaries: Sequence[TableSummary], kept: KeptRecord | None = None, now: datetime | None = None
) -> Filtered:
    """Filter the tables of a list.

    Args:
        address: What is asked for.
        summaries: The tables, as far as they are known.
        kept: Keeps their record for the next time.
        now: The present; the clock's unless given.
    """
    record = (kept or KeptRecord()).of([row.traits for row in summaries])
    statuses = [row.status for row in summaries]
    named = np.ones(len(summaries), bool)
    if address.find:
        wanted = address.find.casefold()
        named = np.array([wanted in row.ref.name.casefold() for row in summaries], bool)
    of_status = np.array([address.status in ("", status) for status in statuses], bool)
    result = faceted(record, address.choice, named & of_status, milliseconds(now or datetime.now(UTC)), address.column)
    among = named & result.chosen
    counted = Counter(status for status, matches in zip(statuses, among.tolist(), strict=True) if matches)
    matching = np.flatnonzero(result.matches).tolist()
    needing = sum(status in NEEDING for status in statuses)
    return Filtered(
        rows=[summaries[place] for place in matching],
        named=int(among.sum()),
        total=len(summaries),
        counts={status: counted[status] for status in STATUSES if status},
        facets=result.facets,
        chosen=_chosen(address),
        unknown=sum(row.known_traits is None for row in summaries),
        needing_outside=needing - sum(statuses[place] in NEEDING for place in matching),
    )


def value_label(facet: str, value: str, label: str = "") -> str:
    """Return the name of a value of a facet for people: a rule's is its id in words."""
    if facet != "finding":
        return label or value
    return "no finding" if value == NO_FINDING else value.replace("-", " ")


def value_title(facet: str, value: str) -> str:
    """Return what a value of a facet means; its name where that says it."""
    return _RULES.get(value, value) if facet == "finding" else value


def _chosen(address: Address) -> tuple[ChosenValue, ...]:
    chosen = [
        ChosenValue(FACETS[name], value_label(name, value, _range_label(name, value)), address.turned(name, value))
        for name, values in address.choice.values
        for value in values
    ]
    if address.column:
        chosen.append(ChosenValue("Column name contains", address.column, address.to(column=None, page=None)))
    if address.find:
        chosen.append(ChosenValue("Name contains", address.find, address.to(find=None, page=None)))
    return tuple(chosen)


def _range_label(name: str, value: str) -> str:
    bins = BINS.get(name)
    return dict(zip(bins.keys, bins.labels, strict=True)).get(value, value) if bins is not None else value
