"""Lines of a commit that are not one action of the protocol each: readers pass over them, or take a part of them.

Protocol section: Actions (a line is an object with the name of one action). Invariant: no content of a line raises an
error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from explorer.core.log.commit import Commit
from explorer.core.protocol.raw_actions import CommitLine

__all__ = ["odd_lines"]

_ACTIONS: Final = ("add", "remove", "metaData", "protocol", "txn", "domainMetadata", "cdc", "commitInfo")
_OF_CHECKPOINTS: Final = frozenset({"checkpointMetadata", "sidecar"})
_BY_CASE: Final = {name.lower(): name for name in (*_ACTIONS, *_OF_CHECKPOINTS)}
_SHOWN: Final = 3
_REQUIRED: Final = ("id", "format", "partitionColumns", "configuration")


def odd_lines(commit: Commit, lines: Sequence[bytes]) -> Iterator[tuple[str, str]]:
    """Yield the kind of problem of each such line and what is odd about it, with its number.

    Args:
        commit: The commit, decoded.
        lines: Its lines, each action on one.
    """
    for place, line in enumerate(commit.lines):
        number = commit.line_number(place)
        text = lines[number - 1]
        # Only a line that passes this cheap filter is decoded again.
        if _count(line) != 1 or text.count(b'"path"') > 1:
            for detail in _oddities(text):
                yield "unknown-action", f"line {number} {detail}"
    for detail in _incomplete_lines(commit):
        yield "missing-member", detail


def _incomplete_lines(commit: Commit) -> Iterator[str]:
    """Yield which members that the protocol requires an action lacks, of those without which clients refuse it.

    Without a size no reader gives the rows of a file, which `FileValues` judges.
    """
    for place, line in enumerate(commit.lines):
        lacking = list[str]()
        if line.add is not None:
            times = {"modificationTime": line.add.modification_time, "dataChange": line.add.data_change}
            lacking = [f"add has no {name}" for name, value in times.items() if value is None]
            if not line.add.partition_values or bytes(line.add.partition_values) == b"null":
                lacking.append("add has no partitionValues")
        elif line.metaData:
            lacking = list(_lacking(bytes(line.metaData)))
        if lacking:
            yield (
                f"line {commit.line_number(place)}: {', '.join(lacking)}; the protocol requires it, and clients built "
                f"on delta-kernel refuse the table{', as delta-spark does' if line.add is None else ''}"
            )


def _lacking(metadata: bytes) -> Iterator[str]:
    try:
        found = json.loads(metadata)
    except (ValueError, RecursionError):
        return
    if isinstance(found, dict):
        # A log without a schema is a problem of its own.
        yield from (f"metaData has no {name}" for name in _REQUIRED if found.get(name) is None)
        form = found.get("format")
        if isinstance(form, dict) and form.get("options") is None:
            yield "metaData has no format.options"


def _count(line: CommitLine) -> int:
    """How many actions of the protocol the line has."""
    files = (line.add is not None) + (line.remove is not None)
    small = (line.metaData, line.protocol, line.txn, line.domainMetadata, line.cdc, line.commitInfo)
    return files + sum(map(bool, small))


def _oddities(text: bytes) -> Iterator[str]:
    twice: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            twice.extend(sorted({name for name in names if names.count(name) > 1}))
        return found

    try:
        value = json.loads(text, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return
    names = [name for name, item in value.items() if item is not None] if isinstance(value, dict) else []
    known = [name for name in names if name in _ACTIONS]
    unknown = [name for name in names if name not in _ACTIONS and name not in _OF_CHECKPOINTS]
    if not names:
        yield "holds no action"
    if len(known) > 1:
        yield f"holds several actions ({', '.join(known)}), of which some clients take only one"
    for name in unknown[:_SHOWN]:
        meant = _BY_CASE.get(name.lower())
        hint = "" if meant is None else f": the protocol spells it {meant}"
        yield f"holds {name!r}, which is not an action of the protocol, so readers pass over it{hint}"
    if twice:
        yield f"states {', '.join(map(repr, twice[:_SHOWN]))} twice, and the last one counts"
