"""The lines of the keys of a TOML text.

The parser of the standard library names none. But the first lines of a TOML text are a TOML text, unless the last of
them is in the middle of a value: so the line of a key is the first one with which the parser knows the key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any, TypeAlias

Key: TypeAlias = tuple[str | int, ...]
"""The names from the top down; tables in a list have numbers from 0."""


def key_lines(text: str) -> dict[Key, int]:
    """Return the line, from 1, at which each table and each key of a TOML text begins."""
    lines = text.split("\n")
    known: dict[Key, int] = {}
    start = 1
    for count in range(1, len(lines) + 1):
        try:
            document = tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value
        for key in _keys(document, ()):
            known.setdefault(key, start)
        start = count + 1
    return known


def spelled(key: Key) -> str:
    """Return a key as people write it, tables in a list numbered from 1: ``roots[1].place``."""
    text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in key)
    return text.removeprefix(".")


def _keys(value: Any, key: Key) -> Iterator[Key]:
    """Yield a key and all keys below it."""
    if key:
        yield key
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _keys(each, (*key, name))
    elif isinstance(value, list) and all(isinstance(each, dict) for each in value):
        for place, each in enumerate(value):
            yield from _keys(each, (*key, place))
