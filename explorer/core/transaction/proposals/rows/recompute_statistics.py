"""Statistics recomputed: files are added again with the statistics of their live rows; no file and no row changes.

Protocol sections: Per-file Statistics, Add File and Remove File. Invariants: an action keeps all else that the file's
last add recorded; the number of records is that of the physical rows; statistics of columns that were not requested
stay; nothing is data change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, TypeAlias

import msgspec
import pyarrow as pa

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Add
from explorer.core.protocol.counted import counted
from explorer.core.protocol.schema.data_types import VOID, StructField, StructType, format_column
from explorer.core.protocol.schema.edit import choices, column_path
from explorer.core.protocol.schema.nested_types import Path, walk_structs
from explorer.core.protocol.statistics.collect import known_statistics, statistics_text, written_statistics
from explorer.core.transaction.intents.records import RecomputeStatistics
from explorer.core.transaction.new_files.file_facts import LiveFacts
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.rows.delete_rows import row_id_tags
from explorer.core.versions.reads import reads_of_files
from explorer.core.versions.snapshot import Snapshot

_TREES: Final = ("minValues", "maxValues", "nullCount")
_Tree: TypeAlias = dict[str, Any]


class Described(msgspec.Struct, frozen=True):
    """A leaf whose statistics are recomputed: its path in the table, its path in the files, and its field."""

    path: Path
    physical: Path
    field: StructField


def described_leaves(
    intent: RecomputeStatistics, snapshot: Snapshot, indexed: Sequence[tuple[Path, StructField]]
) -> tuple[Described, ...]:
    """Choose the leaves to describe.

    Args:
        indexed: The leaves that the table's properties ask statistics for, by physical path.

    Raises:
        InvalidIntent: A column does not exist, or has no statistics.
    """
    leaves = [
        Described(path, physical, field)
        for path, physical, field in walk_structs(snapshot.schema)
        if not isinstance(field.type, StructType) and field.type != VOID and path[0] not in snapshot.partition_columns
    ]
    if not intent.columns:
        wanted = {physical for physical, _ in indexed}
        return tuple(leaf for leaf in leaves if leaf.physical in wanted)
    chosen: dict[Path, Described] = {}
    for name in intent.columns:
        path = _folded(column_path(name, "columns"))
        matches = [leaf for leaf in leaves if _folded(leaf.path[: len(path)]) == path]
        if not matches:
            raise InvalidIntent(
                f"The column {name} does not exist or has no statistics in the log.",
                field="columns",
                column=name,
                allowed=choices(format_column(leaf.path) for leaf in leaves),
            )
        chosen |= {leaf.path: leaf for leaf in matches}
    return tuple(chosen.values())


def recompute_statistics(
    intent: RecomputeStatistics,
    snapshot: Snapshot,
    files: Mapping[str, Add],
    leaves: Sequence[Described],
    facts: Mapping[str, LiveFacts],
) -> Proposal:
    """Add files again with the statistics of their live rows.

    Args:
        files: The files by decoded path, as adds that change no data; see `partition_files`.
        facts: What is known of the live rows of each file, by decoded path; a file without live rows has none.
    """
    changed = []
    for path, add in files.items():
        stats = _stats(add, leaves, facts.get(path), all_columns=not intent.columns)
        if stats is not None:
            changed.append(msgspec.structs.replace(add, stats=stats))
    return Proposal(
        operation="COMPUTE STATS",
        parameters={"predicate": msgspec.json.encode([] if intent.where is None else [intent.where]).decode()},
        adds=tuple(changed),
        metrics={"numFiles": str(len(changed))},
        tags=row_id_tags(snapshot),
        is_blind_append=False,
        isolation="SnapshotIsolation",
        reads_files=True,
        reads=reads_of_files(files.values()),
        guards=(_difference_guard(len(files), len(changed)),),
        change_feed="Nothing appears in it: no row changes.",
        undo="There is nothing to undo: rows and files stay as they are. A restore does not bring statistics back.",
    )


def _stats(add: Add, leaves: Sequence[Described], facts: LiveFacts | None, *, all_columns: bool) -> str | None:
    """Return the new statistics of a file; None if they say what the file's statistics say already."""
    known = known_statistics(add.stats)
    masked = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
    rows = masked + (0 if facts is None else facts.rows)
    indexed = [(leaf.physical, leaf.field) for leaf in leaves]
    values = [pa.nulls(0)] * len(leaves) if facts is None else facts.extremes.columns
    nulls = [0] * len(leaves) if facts is None else facts.nulls
    made: _Tree = known_statistics(statistics_text(rows, indexed, values, nulls))
    if all_columns:
        others = {name: value for name, value in known.items() if name not in made}
        new = {**others, **made}
    else:
        new = {**known, "numRecords": rows}
        for tree in _TREES:
            new[tree] = _grafted(known.get(tree), made[tree], [leaf.physical for leaf in leaves])
        new.setdefault("tightBounds", not masked)
    return None if _same(new, known) else written_statistics(new)


def _same(new: Mapping[str, object], known: Mapping[str, object]) -> bool:
    """Return whether two statistics are equal; bounds are tight where ``tightBounds`` is missing."""
    return {"tightBounds": True, **new} == {"tightBounds": True, **known}


def _grafted(known: object, made: _Tree, paths: Sequence[Path]) -> _Tree:
    """Return a tree of values with those at some paths replaced, or taken away where there are none."""
    grafted: _Tree = deepcopy(known) if isinstance(known, dict) else {}
    for path in paths:
        _placed(grafted, path, _value_at(made, path))
    return grafted


def _value_at(tree: _Tree, path: Path) -> Any:
    value: Any = tree
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _placed(tree: _Tree, path: Path, value: Any) -> None:
    for name in path[:-1]:
        if not isinstance(tree.get(name), dict):
            tree[name] = {}
        tree = tree[name]
    if value is None:
        tree.pop(path[-1], None)
    else:
        tree[path[-1]] = value


def _folded(path: Path) -> Path:
    return tuple(part.lower() for part in path)


def _difference_guard(files: int, changed: int) -> GuardResult:
    evidence: dict[str, object] = {"files": files, "changed": changed}
    if changed:
        detail = f"The statistics of {changed:,} of {counted(files, 'file')} differ from their rows, or are incomplete."
        return GuardResult("statistics-differ", "pass", evidence | {"detail": detail})
    which = "the one file" if files == 1 else f"all {files:,} files"
    detail = f"The statistics of {which} agree with the rows, so there is nothing to commit."
    return GuardResult("statistics-differ", "fail", evidence | {"detail": detail})
