"""Since when a column is as it is, by whom and why, in sentences: newest first."""

from __future__ import annotations

from typing import Any

from explorer import formatting as fmt
from explorer.core.errors import RequestError
from explorer.core.versions.blame import blamed
from explorer.core.versions.settings_history import setting_changes
from explorer.views.table.facts import TableFacts

__all__ = ["column_since", "since_sentence"]

_COLUMN_KINDS = frozenset({"column", "name", "type", "nullability", "comment", "default", "generation", "constraint"})
_LONGEST = 120


def column_since(facts: TableFacts, name: str) -> tuple[str, ...]:
    """Return how a column is now, a sentence for each setting, and since when; none if nothing has the name."""
    history = facts.log.history_record()
    changes = facts.keep("settings", lambda: setting_changes(history))
    try:
        found = blamed(history, changes, name).to_pylist()
    except RequestError:
        return ()
    return tuple(since_sentence(row) for row in found if row["current"] and row["kind"] in _COLUMN_KINDS)


def since_sentence(row: dict[str, Any]) -> str:
    """Return an entry of `explorer.core.versions.blame.blame` in words, as in ``nullable since v12, by ana, 3 Nov``."""
    version = row["version"]
    if not row["known"]:
        return fmt.plain(f"{_what(row)} since v{version} or before: the log that would say who set it is gone", 500)
    is_added = row["kind"] == "column" and not row["initial"]
    what = f"added at v{version} as {_what(row)}" if is_added else f"{_what(row)} since v{version}"
    who = f", by {fmt.shorten(row['user_name'], 60)}" if row["user_name"] else ""
    how = f", {row['operation']}" if row["operation"] and not who else ""
    when = f", {fmt.day(row['timestamp'])}" if row["timestamp"] is not None else ""
    why = f": {fmt.shorten(row['reason'], _LONGEST)}" if row["reason"] else ""
    return fmt.plain(f"{what}{who}{how}{when}{why}", 500)


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
