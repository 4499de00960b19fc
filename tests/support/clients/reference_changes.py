"""UPDATE and MERGE commands of the reference tables as intents of this program."""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["changing_intent"]

_UPDATE: Final = re.compile(r"UPDATE delta\.`<TABLE>` SET (.*?)(?: WHERE (.*))?", re.DOTALL)
_MERGE: Final = re.compile(
    r"MERGE (WITH SCHEMA EVOLUTION )?INTO delta\.`<TABLE>` t USING \((.*?)\) s ON (.*?) (WHEN .*)", re.DOTALL
)
_WHEN: Final = re.compile(
    r"WHEN (NOT MATCHED BY SOURCE|NOT MATCHED|MATCHED)(?: AND (.*?))? THEN (.*?)"
    r"(?=\s+WHEN (?:NOT )?MATCHED|$)",
    re.DOTALL,
)
_GROUPS: Final = {"MATCHED": "matched", "NOT MATCHED": "notMatched", "NOT MATCHED BY SOURCE": "notMatchedBySource"}


def changing_intent(text: str) -> tuple[dict[str, Any], str | None]:
    """The intent that says the same, and the query of its source, None for an update."""
    if (update := _UPDATE.fullmatch(text)) is not None:
        where = {} if update[2] is None else {"where": update[2]}
        return {"kind": "update", "set": _assigned(update[1]), **where}, None
    merge = _MERGE.fullmatch(text)
    assert merge is not None, text
    intent: dict[str, Any] = {"kind": "merge", "source": "rows", "on": _sides(merge[3])}
    if merge[1] is not None:
        intent["mergeSchema"] = True
    for group, condition, action in _WHEN.findall(merge[4]):
        clause = _action(action.strip()) | ({"when": _sides(condition)} if condition else {})
        intent.setdefault(_GROUPS[group], []).append(clause)
    return intent, merge[2]


def _action(text: str) -> dict[str, Any]:
    if text == "DELETE":
        return {"delete": True}
    if text in ("UPDATE SET *", "INSERT *"):
        return {text.split(maxsplit=1)[0].lower(): "*"}
    if text.startswith("UPDATE SET "):
        return {"update": {name: _sides(value) for name, value in _assigned(text.removeprefix("UPDATE SET ")).items()}}
    found = re.fullmatch(r"INSERT \((.*?)\) VALUES \((.*)\)", text, re.DOTALL)
    assert found is not None, text
    names, values = _split(found[1]), _split(found[2])
    return {"insert": dict(zip(names, map(_sides, values), strict=True))}


def _assigned(text: str) -> dict[str, str]:
    pairs = (part.split("=", 1) for part in _split(text))
    return {name.strip(): value.strip() for name, value in pairs}


def _split(text: str) -> list[str]:
    """The parts between commas that no parenthesis and no quote encloses."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == "'"
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _sides(text: str) -> str:
    return re.sub(r"\bs\.", "source.", re.sub(r"\bt\.", "target.", text))
