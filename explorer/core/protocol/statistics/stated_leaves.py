"""The columns that statistics in JSON state, of a table with very many.

Protocol section: Per-file Statistics. Invariant: a column that is left out is in no text. A reader that is prepared for
every column of a wide table takes far longer than the texts, which state the first 32 columns unless a table asks for
more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import msgspec
import pyarrow as pa

from explorer.core.errors import LimitExceeded
from explorer.core.protocol.json_values import JsonValue, decode_json

__all__ = ["stated_leaves"]

# From how many columns on it is worth looking which are stated.
_MANY: Final = 256
_BY_COLUMN: Final = ("minValues", "maxValues", "nullCount", "nullCounts")

_Path = tuple[str, ...]


class _Leaf(Protocol):
    @property
    def path(self) -> _Path: ...


_LeafT = TypeVar("_LeafT", bound=_Leaf)


def stated_leaves(texts: pa.StringArray, leaves: Sequence[_LeafT]) -> Sequence[_LeafT]:
    """Return the columns that some text states, all of them where there are few or a text cannot be decoded here.

    Args:
        texts: Statistics as JSON, none of them null.
        leaves: The columns of the table.
    """
    if len(leaves) <= _MANY:
        return leaves
    found: set[_Path] = set()
    seen: set[_Path] = set()
    for text in texts.cast(pa.binary()):
        try:
            statistics = _decoded(text.as_py())
        except RecursionError:
            return leaves
        if isinstance(statistics, dict):
            for name in _BY_COLUMN:
                _add(statistics.get(name), (), found, seen)
    return [leaf for leaf in leaves if leaf.path in found]


def _decoded(text: bytes) -> JsonValue:
    """A text as JSON; Arrow's reader also takes NaN. None if it is broken or too much, so that it states nothing."""
    try:
        value: JsonValue = decode_json(text)
    except LimitExceeded:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            value = json.loads(text)
        except ValueError:
            return None
    return value


def _add(value: JsonValue, path: _Path, found: set[_Path], seen: set[_Path]) -> None:
    """Add the paths of an object and of those in it."""
    if not isinstance(value, dict):
        return
    names = tuple(value)
    if (*path, "", *names) not in seen:
        seen.add((*path, "", *names))
        found.update((*path, name) for name in names)
    for name, item in value.items():
        if isinstance(item, dict):
            _add(item, (*path, name), found, seen)
