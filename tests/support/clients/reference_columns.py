"""Commands about columns, as intents: the SQL of types and columns read as far as the reference tables use it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["column_intent"]

_ALTER: Final = re.compile(r"ALTER TABLE delta\.`<TABLE>` (.*)", re.DOTALL)
_CREATE: Final = re.compile(
    r"CREATE TABLE delta\.`<TABLE>` \((?P<columns>.*?)\) USING delta\s*"
    r"(?:PARTITIONED BY \((?P<partition>[^)]*)\)\s*)?(?:COMMENT '(?P<comment>(?:[^']|'')*)'\s*)?"
    r"(?:TBLPROPERTIES \((?P<properties>.*)\))?\s*",
    re.DOTALL,
)
_NAMES: Final = {
    "bigint": "long",
    "int": "integer",
    "smallint": "short",
    "tinyint": "byte",
    "string": "string",
    "boolean": "boolean",
}
_TEXT: Final = r"'((?:[^']|'')*)'"
_PROPERTY: Final = re.compile(rf"{_TEXT}\s*=\s*{_TEXT}")
_PART: Final = r"(?:`(?:[^`]|``)*`|\w+)"
_PATH: Final = rf"({_PART}(?:\.{_PART})*)"
_IDENTITY: Final = re.compile(
    r"GENERATED (ALWAYS|BY DEFAULT) AS IDENTITY(?: \((?:START WITH (-?\d+))? ?(?:INCREMENT BY (-?\d+))?\))?"
)


def column_intent(text: str) -> dict[str, Any] | None:
    """The intent of a command about columns, or None if it is none that a single intent can say."""
    made = _CREATE.fullmatch(text)
    if made is not None:
        return _create(made)
    altered = _ALTER.fullmatch(text)
    if altered is None:
        return None
    for pattern, make in _FORMS:
        found = re.fullmatch(pattern, altered[1], re.DOTALL)
        if found is not None:
            intent: dict[str, Any] | None = make(found)
            return intent
    return None


def _create(match: re.Match[str]) -> dict[str, Any] | None:
    fields = [_field(item, top=True) for item in _split(match["columns"])]
    if any(field is None for field in fields):
        return None
    intent: dict[str, Any] = {"kind": "create-table", "schema": {"type": "struct", "fields": fields}}
    if match["partition"]:
        intent["partitionColumns"] = [_plain(name) for name in _split(match["partition"])]
    if match["properties"]:
        pairs = _PROPERTY.findall(match["properties"])
        intent["properties"] = {_unquoted(key): _unquoted(value) for key, value in pairs}
    return intent | ({"description": _unquoted(match["comment"])} if match["comment"] else {})


def _add(match: re.Match[str]) -> dict[str, Any] | None:
    fields, places = [], []
    for item in _split(match[2][1:-1] if match[1] == "COLUMNS" and match[2].startswith("(") else match[2]):
        body, place = _place(item)
        fields.append(_field(body))
        places.append(place)
    if any(field is None for field in fields) or (len(fields) > 1 and any(places)):
        return None
    return {"kind": "add-columns", "fields": fields} | ({"at": places[0]} if places[0] else {})


def _place(item: str) -> tuple[str, str | None]:
    found = re.fullmatch(rf"(.*) (FIRST|AFTER {_PART})", item.strip(), re.DOTALL)
    return (item, None) if found is None else (found[1], found[2].lower() if found[2] == "FIRST" else found[2])


def _change(match: re.Match[str]) -> dict[str, Any] | None:
    """``CHANGE COLUMN a a TYPE [COMMENT 'c'] [FIRST]``: what it says can be one intent, or none."""
    body, place = _place(match[2])
    comment = re.search(rf" COMMENT {_TEXT}\Z", body)
    if comment is not None and place is None:
        return {"kind": "set-column-comment", "column": match[1], "comment": _unquoted(comment[1])}
    if comment is None and place is not None:
        return {"kind": "move-column", "column": match[1], "at": place}
    return None


def _field(text: str, *, top: bool = False) -> dict[str, Any] | None:
    """A column as struct field; None where it says what a field cannot."""
    found = re.fullmatch(rf"\s*{_PATH} (.*)", text, re.DOTALL)
    if found is None or text.strip().startswith("CONSTRAINT"):
        return None
    name, rest = found[1], found[2]
    if top and name.startswith("`"):
        name = name[1:-1].replace("``", "`")
    kind, rest = _type(rest)
    metadata: dict[str, Any] = {}
    identity = _IDENTITY.search(rest)
    if identity is not None:
        metadata["delta.identity.start"] = int(identity[2] or 1)
        metadata["delta.identity.step"] = int(identity[3] or 1)
        metadata["delta.identity.allowExplicitInsert"] = identity[1] == "BY DEFAULT"
        rest = rest.replace(identity[0], "")
    generated = re.search(r"GENERATED ALWAYS AS \((.*)\)", rest)
    if generated is not None:
        metadata["delta.generationExpression"] = generated[1]
        rest = rest.replace(generated[0], "")
    comment = re.search(rf"COMMENT {_TEXT}", rest)
    if comment is not None:
        metadata["comment"] = _unquoted(comment[1])
        rest = rest.replace(comment[0], "")
    default = re.search(r"DEFAULT (.*)", rest)
    if default is not None:
        metadata["CURRENT_DEFAULT"] = default[1].strip()
        rest = rest.replace(default[0], "")
    nullable = "NOT NULL" not in rest
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def _type(text: str) -> tuple[Any, str]:
    """A type, and what stands after it."""
    text = text.strip()
    found = re.match(r"(\w+)\s*(<|\([^)]*\))?", text)
    assert found is not None, text
    word = found[1].lower()
    if found[2] != "<":
        return _NAMES.get(word, word) + (found[2] or "").replace(" ", ""), text[found.end() :]
    end = _closing(text, found.end() - 1)
    inner, rest = text[found.end() : end], text[end + 1 :]
    if word == "array":
        return {"type": "array", "elementType": _type(inner)[0], "containsNull": True}, rest
    if word == "map":
        key, value = _split(inner)
        kinds = {"keyType": _type(key)[0], "valueType": _type(value)[0]}
        return {"type": "map", **kinds, "valueContainsNull": True}, rest
    fields = [_field(item.replace(":", "", 1), top=True) for item in _split(inner)]
    return {"type": "struct", "fields": fields}, rest


def _closing(text: str, start: int) -> int:
    depth = 0
    for place in range(start, len(text)):
        depth += {"<": 1, ">": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise AssertionError(text)


def _split(text: str) -> list[str]:
    """Split at the commas outside brackets and quotes."""

    def pieces() -> Iterator[str]:
        depth, piece, quote = 0, "", ""
        for letter in text:
            if quote:
                quote = "" if letter == quote else quote
            elif letter in "'`":
                quote = letter
            else:
                depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(letter, 0)
            if letter == "," and depth == 0 and not quote:
                yield piece
                piece = ""
            else:
                piece += letter
        yield piece

    return [piece.strip() for piece in pieces()]


def _unquoted(text: str) -> str:
    return text.replace("''", "'")


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


_COLUMN: Final = rf"(?:ALTER|CHANGE) COLUMN {_PATH} "
_FORMS: Final = [
    (r"ADD (COLUMNS?) (.*)", _add),
    (
        rf"RENAME COLUMN {_PATH} TO ({_PART})",
        lambda m: {"kind": "rename-column", "column": m[1], "to": _plain(m[2])},
    ),
    (
        r"DROP COLUMNS? (?:IF EXISTS )?\(?([^()]*(?:`[^`]*`)?)\)?",
        lambda m: {"kind": "drop-columns", "columns": _split(m[1])},
    ),
    (
        rf"{_COLUMN}(FIRST|AFTER {_PART})",
        lambda m: {"kind": "move-column", "column": m[1], "at": _place(f"x {m[2]}")[1]},
    ),
    (
        rf"{_COLUMN}COMMENT {_TEXT}",
        lambda m: {"kind": "set-column-comment", "column": m[1], "comment": _unquoted(m[2])},
    ),
    (rf"{_COLUMN}SET NOT NULL", lambda m: {"kind": "set-not-null", "column": m[1]}),
    (rf"{_COLUMN}DROP NOT NULL", lambda m: {"kind": "drop-not-null", "column": m[1]}),
    (rf"{_COLUMN}SYNC IDENTITY", lambda m: {"kind": "sync-identity", "column": m[1]}),
    (rf"{_COLUMN}TYPE (\w+(?:\([\d, ]*\))?)", lambda m: {"kind": "widen-type", "column": m[1], "type": _type(m[2])[0]}),
    (rf"CHANGE COLUMN {_PATH} {_PART} (.*)", _change),
]
