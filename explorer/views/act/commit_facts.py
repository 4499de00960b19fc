"""What the lines of a commit say of it: its operation, parameters and counts, for its receipt.

A receipt that is drawn right after the commit and one that is drawn from the log are made of the same lines, so they
say the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.json_values import JsonObject

__all__ = ["commit_facts", "provenance"]

_UNSAID: Final = frozenset(["", "[]", "{}", "null"])
_TOLD: Final = frozenset(["commitInfo", "add", "remove"])
_ROWS: Final = {
    "numDeletedRows": "deleted",
    "numUpdatedRows": "updated",
    "numTargetRowsDeleted": "deleted",
    "numTargetRowsUpdated": "updated",
    "numTargetRowsInserted": "inserted",
    "numOutputRows": "written",
    "numCopiedRows": "rewritten unchanged",
    "numTargetRowsCopied": "rewritten unchanged",
}
"""What became of the rows that a metric counts."""


def provenance(actions: Sequence[JsonObject]) -> JsonObject:
    """Return the commitInfo among the lines of a commit; empty without one."""
    info = next((action["commitInfo"] for action in actions if "commitInfo" in action), None)
    return info if isinstance(info, dict) else {}


def commit_facts(actions: Sequence[JsonObject]) -> list[tuple[str, str]]:
    """Return what was asked of a commit and what it did, as names and texts.

    Args:
        actions: Its lines as JSON objects.
    """
    info = provenance(actions)
    facts = [("operation", _text(info.get("operation")))]
    facts += _parameters(info.get("operationParameters"))
    facts += [("rows", ", ".join(_rows(info.get("operationMetrics"))))]
    facts += [("files", ", ".join(_files(actions))), ("other actions", _others(actions))]
    return [(name, text) for name, text in facts if text not in _UNSAID]


def _parameters(parameters: object) -> Iterator[tuple[str, str]]:
    if isinstance(parameters, Mapping):
        yield from ((str(name), _unpacked(_text(value))) for name, value in sorted(parameters.items()))


def _unpacked(text: str) -> str:
    """Return a parameter as readable text: writers record a predicate as a JSON list of strings."""
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(parts, list) and parts and all(isinstance(part, str) for part in parts):
        return " AND ".join(parts)
    return text


def _rows(metrics: object) -> Iterator[str]:
    if not isinstance(metrics, Mapping):
        return
    for name, done in _ROWS.items():
        number = str(metrics.get(name, ""))
        if number.isdecimal() and int(number):
            yield f"{fmt.plural(int(number), 'row')} {done}"


def _files(actions: Sequence[JsonObject]) -> Iterator[str]:
    """Yield what happened to data files; one that is removed and added in the same commit stays."""
    adds, removes = (_by_path(actions, name) for name in ("add", "remove"))
    stay = len(adds.keys() & removes.keys())
    new = len(adds) - stay
    if new and not removes and not any(add.get("dataChange", True) for add in adds.values()):
        yield f"{fmt.plural(new, 'file')} described again"
    elif new:
        yield f"{fmt.plural(new, 'file')} added"
    if removed := len(removes) - stay:
        yield f"{fmt.plural(removed, 'file')} removed"
    if stay:
        yield fmt.plural(stay, "file stays and masks other rows", "files stay and mask other rows")


def _by_path(actions: Sequence[JsonObject], name: str) -> dict[str, JsonObject]:
    files = (action.get(name) for action in actions)
    return {str(body.get("path")): body for body in files if isinstance(body, dict)}


def _others(actions: Sequence[JsonObject]) -> str:
    counts = Counter(name for action in actions for name in action if name not in _TOLD)
    return ", ".join(f"{fmt.count(number)} {name}" for name, number in counts.items())


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
