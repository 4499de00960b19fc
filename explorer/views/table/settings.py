"""Who changed what of a table's settings: columns, properties, constraints, features, protocol; as a list."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.views.listing import Listing, ListingColumn
from explorer.views.table.facts import TableFacts

__all__ = ["settings_listing", "settings_people"]

_COLUMNS: Final = (
    ListingColumn("version", "version", "version"),
    ListingColumn("timestamp", "when", "time"),
    ListingColumn("user_name", "who"),
    ListingColumn("kind", "what"),
    ListingColumn("name", "name", "mono"),
    ListingColumn("before", "before", "mono", ""),
    ListingColumn("after", "after", "mono", "gone"),
    ListingColumn("reason", "reason", "text", ""),
)
_MOST_PEOPLE: Final = 6


def settings_listing(facts: TableFacts) -> Listing:
    """Return the changes after the first version, newest first.

    Raises:
        TableError: The history cannot be read.
    """
    return facts.keep("settings-list", lambda: _listing(facts))


def settings_people(facts: TableFacts) -> tuple[tuple[str, int], ...]:
    """Return who made them and how many each, the most frequent first."""
    named = settings_listing(facts).table.column("user_name").to_pylist()
    return tuple(Counter(name for name in named if name).most_common(_MOST_PEOPLE))


def _listing(facts: TableFacts) -> Listing:
    if facts.problem is not None:
        raise facts.problem
    history: pa.Table = facts.log.settings_history()
    history = history.filter(pc.and_(history.column("known"), pc.invert(history.column("initial"))))
    table = history.select([column.key for column in _COLUMNS])
    searched = ("user_name", "kind", "name", "before", "after", "reason")
    return Listing(f"{facts.name}-settings", _COLUMNS, table, searched, page_size=25)
