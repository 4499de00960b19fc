"""Who changed what of a table's settings, as a list; and since when a setting is as it is, by whom and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.errors import RequestError
from explorer.core.protocol.table_properties.values import constraint_name
from explorer.core.versions.blame import blamed
from explorer.views.listing import Listing, ListingColumn
from explorer.views.table.facts import TableFacts

_COLUMNS: Final = (
    ListingColumn("version", "version", "version"),
    ListingColumn("timestamp", "when", "time"),
    ListingColumn("user_name", "who"),
    ListingColumn("kind", "what"),
    ListingColumn("name", "name", "mono"),
    ListingColumn("before", "before", "mono", ""),
    ListingColumn("after", "after", "mono", "removed"),
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


_COLUMN_KINDS = frozenset({"column", "name", "type", "nullability", "comment", "default", "generation", "constraint"})
_LONGEST = 120


def column_since(facts: TableFacts, name: str) -> tuple[str, ...]:
    """Return how a column is now, a sentence for each setting, and since when; none if nothing has the name."""
    history = facts.log.history_record()
    try:
        rows = blamed(history, facts.settings(), name).to_pylist()
    except RequestError:
        return ()
    return tuple(since_sentence(row) for row in rows if row["current"] and row["kind"] in _COLUMN_KINDS)


class SettingsSince:
    """Since when each setting of a version is as it is.

    Args:
        rows: The current entries of `explorer.core.versions.blame.blame`.
    """

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in rows:
            kind = "column" if row["kind"] in _COLUMN_KINDS - {"constraint"} else row["kind"]
            self._rows.setdefault((kind, row["current_name"]), []).append(row)

    def of(self, kind: str, name: str) -> str:
        """Return what is known of a thing, in one text; empty if nothing is.

        Args:
            kind: ``column``, ``property``, ``feature`` or ``protocol``.
            name: A dotted column, a key, a feature; of the protocol its kind again.
        """
        if kind == "property" and (rule := constraint_name(name)) is not None:
            kind, name = "constraint", rule
        return "; ".join(since_sentence(row) for row in self._rows.get((kind, name), ()))


def settings_since(facts: TableFacts, version: int, *, at_hand: bool = False) -> SettingsSince:
    """Return since when the settings of a version were as they were; nothing where the history cannot be read.

    Args:
        facts: The table's facts.
        version: The version.
        at_hand: Nothing, too, while it would take long.
    """
    if facts.problem is not None or (at_hand and not facts.settings_cached):
        return SettingsSince(())
    history = facts.log.history_record()
    until = [change for change in facts.settings() if change.version <= version]
    return facts.keep(("since", version), lambda: SettingsSince(blamed(history, until).to_pylist()))


def since_sentence(row: dict[str, Any]) -> str:
    """Return an entry of `explorer.core.versions.blame.blame` in words, as in ``nullable since v12, by ana, 3 Nov``."""
    version = row["version"]
    if not row["known"]:
        return fmt.plain(f"{_what(row)} set at or before v{version}; the log entries before that were deleted", 500)
    is_added = row["kind"] == "column" and not row["initial"]
    event = f"added at v{version} as {_what(row)}" if is_added else f"{_what(row)} since v{version}"
    author = f", by {fmt.shorten(row['user_name'], 60)}" if row["user_name"] else ""
    how = f", {row['operation']}" if row["operation"] and not author else ""
    when = f", {fmt.day(row['timestamp'])}" if row["timestamp"] is not None else ""
    why = f": {fmt.shorten(row['reason'], _LONGEST)}" if row["reason"] else ""
    return fmt.plain(f"{event}{author}{how}{when}{why}", 500)


def _what(row: dict[str, Any]) -> str:
    text = fmt.shorten(str(row["after"]), _LONGEST)
    match row["kind"]:
        case "name":
            return f"called {text}"
        case "comment":
            return "this comment"
        case "default":
            return f"default {text}"
        case "generation":
            return f"generated as {text}"
        case "constraint":
            return f"check {text}"
        case _:
            return text
