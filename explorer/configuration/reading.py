"""A configuration file -> the record, or an error that names file, line, and key."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import msgspec

from explorer.configuration.key_lines import Key, key_lines, spelled
from explorer.configuration.place import configuration_place
from explorer.configuration.records import FILES, SIGN_IN, TABLES, Configuration
from explorer.core.errors import InvalidConfiguration
from explorer.variables import CONFIG_VARIABLE, OFF

_MOST_BYTES: Final = 1 << 20
_PLACE: Final = re.compile(r" - at `\$(?P<path>.*)`$")
_PART: Final = re.compile(r"\.([\w\-]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.+?)`")
_CHOICE: Final = re.compile(r"Invalid enum value (['\"])(.*)\1", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(.+?)`")
_TYPES: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_LIMIT: Final = re.compile(r"Expected `(\w+)` ([<>]=?) ([\d.]+)")
_LIMITS: Final = {">=": "of at least", "<=": "of at most", ">": "greater than", "<": "less than"}
_TYPE: Final = re.compile(r"Expected `([^`]+)`, got `(\w+)`")
_AT_LINE: Final = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)")


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """A configuration, and where it was read.

    Attributes:
        values: The record; all defaults where there is no file.
        path: The file; None where there is none.
        lines: The line of each key in it.
    """

    values: Configuration = field(default_factory=Configuration)
    path: str | None = None
    lines: Mapping[Key, int] = field(default_factory=dict)


def read_configuration(named: str | os.PathLike[str] | None = None, *, lines: bool = False) -> ConfigurationFile:
    """Read the configuration file.

    Args:
        named: As of `explorer.configuration.place.configuration_place`.
        lines: Also find the line of each key.

    Raises:
        InvalidConfiguration: It cannot be read, is not TOML, or has an unknown key or a value that does not fit.
    """
    path = configuration_place(named)
    if path is None:
        return ConfigurationFile()
    text = _text(path)
    return ConfigurationFile(_decoded(text, path), str(path), key_lines(text) if lines else {})


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InvalidConfiguration(
            f"The configuration {path} cannot be read: {error.strerror or error}. It is named by --config or "
            f"{CONFIG_VARIABLE}; {OFF} uses none.",
            path=str(path),
        ) from error
    if len(data) > _MOST_BYTES:
        raise InvalidConfiguration(
            f"The configuration {path} has more than {_MOST_BYTES:,} bytes, the most that are read.", path=str(path)
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidConfiguration(
            f"The configuration {path} is not UTF-8. Save it as UTF-8.", path=str(path)
        ) from error


def _decoded(text: str, path: Path) -> Configuration:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        stated = _AT_LINE.search(str(error))
        line = len(text.splitlines()) if stated is None or stated[1] is None else int(stated[1])
        raise InvalidConfiguration(
            f"{path}, line {line}: this is not TOML ({_AT_LINE.sub('', str(error)).strip()}). Strings need quotes, and "
            "a table begins with its name in brackets.",
            path=str(path),
            line=line,
        ) from error
    except RecursionError as error:
        raise InvalidConfiguration(f"{path}: the lists in it are nested too deeply.", path=str(path)) from error
    try:
        values = msgspec.convert(document, Configuration)
    except msgspec.ValidationError as error:
        raise _invalid(str(error), document, text, path) from error
    _check_catalog(values, text, path)
    return _beside(values, path.absolute().parent)


def _check_catalog(values: Configuration, text: str, path: Path) -> None:
    """Refuse a sign-in without the address of the server that it is for, or in two places."""
    catalog = values.unity_catalog
    given = [name for name in catalog.__struct_fields__ if name in SIGN_IN and getattr(catalog, name) is not None]
    if given and catalog.url is None:
        key, what = given[0], "has a sign-in and no url. Add the address of the server that it is for."
    elif twice := next((name for name in given if f"{name}_file" in given), None):
        key, what = f"{twice}_file", "has a secret itself and the file of it. Remove one of them."
    else:
        return
    full = ("unity_catalog", key)
    line = key_lines(text).get(full)
    # What follows the name of a secret and a colon is hidden as one.
    raise InvalidConfiguration(
        f"{path}, line {line}: [unity_catalog] {what}", path=str(path), line=line, field=spelled(full)
    )


def _beside(values: Configuration, folder: Path) -> Configuration:
    """Return the values with paths that no longer depend on the current folder."""

    def full(place: str) -> str:
        return place if ":/" in place else os.path.normpath(folder / Path(place).expanduser())

    for key in FILES:
        owner = values if len(key) == 1 else getattr(values, key[0])
        if (given := getattr(owner, key[-1])) not in (None, OFF):
            known = full(given) if isinstance(given, str) else tuple(map(full, given))
            owner = msgspec.structs.replace(owner, **{key[-1]: known})
            values = owner if len(key) == 1 else msgspec.structs.replace(values, **{key[0]: owner})
    roots = tuple(msgspec.structs.replace(root, place=full(root.place)) for root in values.roots)
    webhooks = tuple(
        each if each.secret_file is None else msgspec.structs.replace(each, secret_file=full(each.secret_file))
        for each in values.webhooks
    )
    return msgspec.structs.replace(values, roots=roots, webhooks=webhooks)


def _invalid(message: str, document: Mapping[str, Any], text: str, path: Path) -> InvalidConfiguration:
    """Return the error for what does not fit the record."""
    place = _PLACE.search(message)
    key = _key(place["path"], document) if place is not None else ()
    facts: dict[str, Any] = {}
    if (unknown := _UNKNOWN.search(message)) is not None:
        key = (*key, unknown[1])
        what, facts = _unknown(key)
    elif (missing := _MISSING.search(message)) is not None:
        what = f'this table has no {missing[1]}. Add it, for example {missing[1]} = "...".'
    elif (chosen := _CHOICE.search(message)) is not None:
        what, facts = _unknown_choice(key, chosen[2])
    else:
        facts = {"expected": _expected(message)}
        what = f"this must be {facts['expected']}{_given(message)}."
    lines = key_lines(text)
    line = next((lines[key[:depth]] for depth in range(len(key), 0, -1) if key[:depth] in lines), None)
    return InvalidConfiguration(
        f"{path}{f', line {line}' if line else ''}: {spelled(key)}: {what}",
        path=str(path),
        line=line,
        field=spelled(key),
        **facts,
    )


def _key(path: str, document: Mapping[str, Any]) -> Key:
    """Return the key of a path of the decoder, which does not name the keys of free tables."""
    key: Key = ()
    value: Any = document
    for name, place in _PART.findall(path):
        part: str | int = name or (place if place == "..." else int(place))
        if part == "...":
            part = next((each for each in value if not isinstance(value[each], str | int | float)), "")
        key, value = (*key, part), value[part] if part != "" else None
    return key


def _unknown(key: Key) -> tuple[str, dict[str, Any]]:
    """Return what to say of an unknown key, and the facts of it."""
    table, name = str(key[0]) if len(key) > 1 else "", str(key[-1])
    names = TABLES[table].__struct_fields__
    in_others = [f"{other}.{name}" for other, record in TABLES.items() if other and name in record.__struct_fields__]
    near = get_close_matches(name, names, 1) or in_others[:1]
    hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(names)}."
    return f"this key is not known. {hint}", {"allowed": list(names), "nearest": near[0] if near else None}


def _unknown_choice(key: Key, given: str) -> tuple[str, dict[str, Any]]:
    """Return what to say of a value that is none of those that a key can have, and the facts of it."""
    hints = get_type_hints(TABLES[str(key[0]) if len(key) > 1 else ""])
    allowed = list(get_args(hints[str(key[-1])]))
    near = get_close_matches(given, allowed, 1)
    hint = f"Did you mean {near[0]}?" if near else f"It can be: {', '.join(allowed)}."
    return f"this value is not known. {hint}", {"allowed": allowed, "nearest": near[0] if near else None}


def _expected(message: str) -> str:
    if (limit := _LIMIT.search(message)) is not None:
        return f"{_TYPES.get(limit[1], limit[1])} {_LIMITS[limit[2]]} {limit[3]}"
    kind = _TYPE.search(message)
    names = [] if kind is None else [name for name in kind[1].split(" | ") if name != "null"]
    return " or ".join(_TYPES.get(name, name) for name in names) or "another value"


def _given(message: str) -> str:
    kind = _TYPE.search(message)
    return "" if kind is None or kind[2] not in _TYPES else f", not {_TYPES[kind[2]]}"
