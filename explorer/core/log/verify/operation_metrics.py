"""The operation metrics of a commit compared with its actions.

Protocol section: Commit Provenance Information. Invariants: metrics decide nothing, so only those are compared that
writers are known to count in one of a few ways, each of which is accepted; numbers that the actions lack contradict
nothing. A writer may leave out files without rows: more files and bytes than were added are no difference where the
rows agree, or are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from explorer.core.log.commit import Commit
from explorer.core.log.table_state import RecordedFile
from explorer.core.log.verify.running_state import RunningState
from explorer.core.protocol.actions import CommitInfo
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.json_values import JsonObject, JsonValue
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.record_counts import count_of_line

Totals: TypeAlias = Mapping[str, int | None]
"""Sums over the actions of a commit; None where they do not record one."""

_ADDED: Final = ("new_files", "added_files")
_REMOVED: Final = ("gone_files", "removed_files")
_NEW_BYTES: Final = ("new_bytes", "added_bytes")
# Of files that a DELETE or an UPDATE rewrites, delta-spark counts the change files in, and not always the files.
_GONE_BYTES: Final = ("gone_bytes", "removed_bytes", "gone_and_change_bytes", "change_bytes", "no_bytes")
_ROWS: Final = ("new_rows", "added_rows", "visible_rows")
_COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("numAddedFiles", "numTargetFilesAdded", "numRestoredFiles", "numConvertedFiles"), _ADDED),
    # delta-rs counts change files among the added ones.
    **dict.fromkeys(("num_added_files", "num_target_files_added"), (*_ADDED, "added_and_change_files")),
    "numFilesAdded": _ADDED,
    **dict.fromkeys(("numRemovedFiles", "numTargetFilesRemoved", "numFilesRemoved"), _REMOVED),
    **dict.fromkeys(("num_removed_files", "num_target_files_removed"), _REMOVED),
    **dict.fromkeys(("numAddedBytes", "numTargetBytesAdded", "restoredFilesSize"), _NEW_BYTES),
    **dict.fromkeys(("numRemovedBytes", "numTargetBytesRemoved", "removedFilesSize"), _GONE_BYTES),
    **dict.fromkeys(("numOutputRows", "num_output_rows"), _ROWS),
    **dict.fromkeys(("numAddedChangeFiles", "numTargetChangeFilesAdded"), ("change_files",)),
    **dict.fromkeys(("numDeletionVectorsAdded", "numTargetDeletionVectorsAdded"), ("new_vectors",)),
    **dict.fromkeys(("numDeletionVectorsRemoved", "numTargetDeletionVectorsRemoved"), ("gone_vectors",)),
    "numOfFilesAfterRestore": ("live_files",),
    "tableSizeAfterRestore": ("live_bytes",),
}
"""Metrics, and the totals of actions that a writer may mean."""
_OF_DELETE: Final[Mapping[str, tuple[str, ...]]] = {
    "numDeletedRows": ("deleted_rows",),
    "num_deleted_rows": ("deleted_rows",),
    "numCopiedRows": ("new_rows",),
}
_AT_LEAST: Final[Mapping[str, tuple[str, ...]]] = {"num_added_rows": _ROWS}
"""Metrics that may be less than the actions show: delta-rs leaves out the rows that an overwrite copied."""
_WRITTEN: Final[Mapping[str, tuple[str, ...]]] = {"numFiles": _ADDED, "numOutputBytes": _NEW_BYTES}
"""Metrics that also count files without rows, which the commit leaves out."""
_MEANT: Final = {**_COUNTED, **_OF_DELETE, **_AT_LEAST, **_WRITTEN}
_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(_ADDED, "files are added"),
    **dict.fromkeys(_REMOVED, "files are removed"),
    **dict.fromkeys(_NEW_BYTES, "bytes are added"),
    **dict.fromkeys(_GONE_BYTES, "bytes are removed"),
    **dict.fromkeys(_ROWS, "rows are in the added files"),
    "change_files": "change files are added",
    "new_vectors": "files are added with a deletion vector",
    "gone_vectors": "files are removed with a deletion vector",
    "live_files": "files are live after the commit",
    "live_bytes": "bytes are live after the commit",
    "deleted_rows": "rows are deleted",
}
_LOSSES: Final = frozenset({*_ADDED, *_REMOVED, *_ROWS, "deleted_rows", "live_files"})
"""Totals that show missing actions where they are less than the metric."""


class _MetricDifference(NamedTuple):
    """A metric that no total of the actions equals: its value, and the first of the totals."""

    name: str
    stated: int
    counted: int
    is_short: bool


def commit_totals(commit: Commit, state: RunningState | None) -> Totals:
    """Add up the actions of a commit.

    Args:
        state: The state before it; None where it is not known.
    """
    adds = {canonical_key(line.add.path): line.add for line in commit.lines if line.add is not None}
    removes = {canonical_key(line.remove.path): line.remove for line in commit.lines if line.remove is not None}
    live: Mapping[str, RecordedFile] = {} if state is None else state.files
    new = {key: add for key, add in adds.items() if key not in removes and key not in live}
    sizes = {key: live[key].size if key in live else remove.size for key, remove in removes.items()}
    removed_sizes = [size for key, size in sizes.items() if key not in adds]
    changes = commit.change_sizes()
    rows = {key: count_of_line(add.stats) for key, add in adds.items()}
    num_vectors = sum(add.deletion_vector is not None for add in adds.values())
    num_dropped = sum(remove.deletion_vector is not None for remove in removes.values())
    return {
        "new_files": len(new),
        "added_files": len(adds),
        "added_and_change_files": len(adds) + len(changes),
        "gone_files": len(removed_sizes),
        "removed_files": len(removes),
        "new_bytes": _sum(add.size for add in new.values()),
        "added_bytes": _sum(add.size for add in adds.values()),
        "gone_bytes": _sum(removed_sizes),
        "removed_bytes": _sum(sizes.values()),
        "gone_and_change_bytes": _sum((*removed_sizes, *changes)),
        "change_bytes": _sum(changes),
        "no_bytes": 0,
        "new_rows": _sum(rows[key] for key in new),
        "added_rows": _sum(rows.values()),
        "visible_rows": (visible := _sum(_minus(rows[key], _masked(add)) for key, add in adds.items())),
        "change_files": len(changes),
        "new_vectors": num_vectors,
        "gone_vectors": num_dropped,
        "deleted_rows": None if state is None else _minus(_replaced_rows({**adds, **removes}, state), visible),
    }


def compare_metrics(info: CommitInfo, totals: Totals, state: RunningState | None) -> Iterator[tuple[str, str]]:
    """Yield kind and detail of each metric that the actions contradict.

    Args:
        state: The state after it; None where the state before it is not known.
    """
    if info.operation_metrics is None:
        return
    after: Totals = {} if state is None else {
        "live_files": len(state.files), "live_bytes": None if state.num_unsized else state.num_bytes
    }  # fmt: skip
    for each in _differing(info.operation_metrics, info.operation, {**totals, **after}):
        what = _NAMES[_MEANT[each.name][0]]
        detail = f"operationMetrics record {each.name} = {each.stated:,}, but {each.counted:,} {what}"
        yield ("commit-short" if each.is_short else "metrics-differ"), detail


def _replaced_rows(keys: Iterable[str], state: RunningState) -> int | None:
    """Return the number of visible rows in files before a commit that names them."""
    replaced = [key for key in keys if key in state.files]
    return _sum(_minus(state.numbers[key].records, state.files[key].masked) for key in replaced)


def _differing(metrics: JsonObject, operation: str | None, totals: Totals) -> Iterator[_MetricDifference]:
    counted = {**_COUNTED, **(_OF_DELETE if operation == "DELETE" else {})}
    differences = list(_compared(metrics, counted, totals))
    differences += (each for each in _compared(metrics, _AT_LEAST, totals) if each.stated > each.counted)
    yield from differences
    lacks_rows = any(each.is_short for each in differences)
    yield from (each for each in _compared(metrics, _WRITTEN, totals) if lacks_rows or each.stated < each.counted)


def _compared(
    metrics: JsonObject, counted: Mapping[str, tuple[str, ...]], totals: Totals
) -> Iterator[_MetricDifference]:
    for name, meant in counted.items():
        stated = _number(metrics.get(name))
        known = [totals.get(total) for total in meant]
        if stated is None or None in known or stated in known:
            continue
        numbers = [number for number in known if number is not None]
        yield _MetricDifference(name, stated, numbers[0], not _LOSSES.isdisjoint(meant) and stated > max(numbers))


def _number(value: JsonValue) -> int | None:
    """Return a metric as a number: clients write text or numbers; None where it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19 else None


def _masked(add: AddLine) -> int:
    return 0 if add.deletion_vector is None else add.deletion_vector.cardinality


def _sum(numbers: Iterable[int | None]) -> int | None:
    """Return the sum; None where one is not known."""
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


def _minus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other
