"""Two commits compared but for ids, times, names of the writer and the order of lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

__all__ = ["differences"]

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_TIMES: Final = frozenset(
    """
    timestamp createdTime inCommitTimestamp modificationTime deletionTimestamp lastUpdated
    delta.inCommitTimestampEnablementTimestamp
    """.split()  # noqa: SIM905 - reads better as words
)
_OURS: Final = frozenset(["engineInfo", "txnId", "userName", "userId", "userMetadata"])
_SETS: Final = frozenset(["readerFeatures", "writerFeatures"])
_JSON: Final = frozenset(["schemaString", "stats", "configuration", "properties", "column", "columns", "newProtocol"])


def differences(reference: Iterable[dict[str, Any]], ours: Iterable[dict[str, Any]]) -> dict[str, tuple[Any, Any]]:
    """Where two commits differ: path -> (reference, ours); a part that is missing is None.

    Several actions of one kind are compared in the order of what they say.
    """
    left, right = dict(_flat(reference)), dict(_flat(ours))
    paths = dict.fromkeys((*left, *right))
    return {path: (left.get(path), right.get(path)) for path in paths if left.get(path) != right.get(path)}


def _flat(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    kinds: dict[str, list[Any]] = {}
    for line in lines:
        for kind, value in line.items():
            kinds.setdefault(kind, []).append(_plain(value, kind))
    for kind, values in kinds.items():
        if len(values) == 1:
            yield from _leaves(values[0], kind)
            continue
        for place, value in enumerate(sorted(values, key=lambda item: json.dumps(item, sort_keys=True))):
            yield from _leaves(value, f"{kind}[{place}]")


def _plain(value: Any, name: str) -> Any:
    """The value without what may differ: times are zero, uuids one word, sets in order, JSON in texts decoded."""
    match value:
        case dict():
            kept = {key: _plain(item, key) for key, item in value.items() if key not in _OURS and item is not None}
            return {key: 0 if key in _TIMES else item for key, item in kept.items()}
        case list():
            items = [_plain(item, name) for item in value]
            return sorted(items, key=str) if name in _SETS else items
        case str() if name in _JSON and value[:1] in ("{", "["):
            return _plain(json.loads(value), name)
        case str():
            return _UUID.sub("<uuid>", value)
        case _:
            return value


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}")
    else:
        yield path, value
