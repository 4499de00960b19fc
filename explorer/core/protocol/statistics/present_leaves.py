"""The columns that are present in JSON statistics, of a table with very many.

Protocol section: Per-file Statistics. Invariant: a column that is left out is in no text. A reader that is prepared for
every column of a wide table takes far longer than the texts, which contain the first 32 columns unless a table sets
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

MANY_LEAVES: Final = 256
"""The number of columns above which it is worth a check which are present."""
_BY_COLUMN: Final = ("minValues", "maxValues", "nullCount", "nullCounts")

_Path = tuple[str, ...]


class _Leaf(Protocol):
    @property
    def path(self) -> _Path: ...


_LeafT = TypeVar("_LeafT", bound=_Leaf)


def present_leaves(texts: pa.StringArray, leaves: Sequence[_LeafT]) -> Sequence[_LeafT]:
    """Return the columns that are in some text, all of them where there are few or a text cannot be decoded here.

    Args:
        texts: Statistics as JSON, none of them null.
    """
    if len(leaves) <= MANY_LEAVES:
        return leaves
    paths: set[_Path] = set()
    seen: set[_Path] = set()
    for text in texts.cast(pa.binary()):
        try:
            statistics = _decoded(text.as_py())
        except RecursionError:
            return leaves
        if isinstance(statistics, dict):
            for name in _BY_COLUMN:
                _add(statistics.get(name), (), paths, seen)
    return [leaf for leaf in leaves if leaf.path in paths]


def _decoded(text: bytes) -> JsonValue:
    """Return a text as JSON; Arrow's reader also accepts NaN. None if it is damaged or too large: it has no columns."""
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


def _add(value: JsonValue, path: _Path, paths: set[_Path], seen: set[_Path]) -> None:
    """Add the paths of an object and of those in it."""
    if not isinstance(value, dict):
        return
    names = tuple(value)
    if (*path, "", *names) not in seen:
        seen.add((*path, "", *names))
        paths.update((*path, name) for name in names)
    for name, item in value.items():
        if isinstance(item, dict):
            _add(item, (*path, name), paths, seen)
