"""Lines of a commit that are not one action of the protocol each: readers skip them, or take a part of them.

Protocol section: Actions (a line is an object with the name of one action). Invariant: no content of a line raises an
error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from explorer.core.log.commit import Commit
from explorer.core.protocol.raw_actions import CommitLine

_ACTIONS: Final = ("add", "remove", "metaData", "protocol", "txn", "domainMetadata", "cdc", "commitInfo")
_OF_CHECKPOINTS: Final = frozenset({"checkpointMetadata", "sidecar"})
_BY_CASE: Final = {name.lower(): name for name in (*_ACTIONS, *_OF_CHECKPOINTS)}
_SHOWN: Final = 3
_REQUIRED: Final = ("id", "format", "partitionColumns", "configuration")


def unusual_lines(commit: Commit, lines: Sequence[bytes]) -> Iterator[tuple[str, str]]:
    """Yield the kind and the detail of the problem of each such line, with its number.

    Args:
        commit: The commit, decoded.
    """
    for index, line in enumerate(commit.lines):
        number = commit.line_number(index)
        text = lines[number - 1]
        # Only a line that passes this cheap filter is decoded again.
        if _count(line) != 1 or text.count(b'"path"') > 1:
            for detail in _oddities(text):
                yield "unknown-action", f"line {number} {detail}"
    for detail in _incomplete_lines(commit):
        yield "missing-member", detail


def _incomplete_lines(commit: Commit) -> Iterator[str]:
    """Yield actions that lack members which the protocol requires and without which clients refuse them.

    Without a size no reader returns the rows of a file, which `FileValues` checks.
    """
    for index, line in enumerate(commit.lines):
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
                f"line {commit.line_number(index)}: {', '.join(lacking)}; the protocol requires it, and clients built "
                f"on delta-kernel refuse the table{', as delta-spark does' if line.add is None else ''}"
            )


def _lacking(metadata: bytes) -> Iterator[str]:
    try:
        members = json.loads(metadata)
    except (ValueError, RecursionError):
        return
    if isinstance(members, dict):
        # A log without a schema is a problem of its own.
        yield from (f"metaData has no {name}" for name in _REQUIRED if members.get(name) is None)
        form = members.get("format")
        if isinstance(form, dict) and form.get("options") is None:
            yield "metaData has no format.options"


def _count(line: CommitLine) -> int:
    """Return the number of actions of the protocol in the line."""
    files = (line.add is not None) + (line.remove is not None)
    small = (line.metaData, line.protocol, line.txn, line.domainMetadata, line.cdc, line.commitInfo)
    return files + sum(map(bool, small))


def _oddities(text: bytes) -> Iterator[str]:
    duplicates: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        item_by_name = dict(pairs)
        if len(item_by_name) != len(pairs):
            names = [name for name, _ in pairs]
            duplicates.extend(sorted({name for name in names if names.count(name) > 1}))
        return item_by_name

    try:
        value = json.loads(text, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return
    names = [name for name, item in value.items() if item is not None] if isinstance(value, dict) else []
    known = [name for name in names if name in _ACTIONS]
    unknown = [name for name in names if name not in _ACTIONS and name not in _OF_CHECKPOINTS]
    if not names:
        yield "contains no action"
    if len(known) > 1:
        yield f"contains several actions ({', '.join(known)}), of which some clients take only one"
    for name in unknown[:_SHOWN]:
        meant = _BY_CASE.get(name.lower())
        hint = "" if meant is None else f": the protocol spells it {meant}"
        yield f"contains {name!r}, which is not an action of the protocol, so readers skip it{hint}"
    if duplicates:
        yield f"has {', '.join(map(repr, duplicates[:_SHOWN]))} twice, and the last one counts"
