"""Since when a column, a property or a feature is as it is, by whom and why, in sentences: newest first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from explorer import formatting as fmt
from explorer.core.errors import RequestError
from explorer.core.protocol.table_properties.values import constraint_name
from explorer.core.versions.blame import blamed
from explorer.views.table.facts import TableFacts

__all__ = ["SettingsSince", "column_since", "settings_since", "since_sentence"]

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
