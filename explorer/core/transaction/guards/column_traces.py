"""Guards of a column that is dropped or renamed: the values that go, and what else names it.

Protocol sections: Column Mapping, Commit Provenance Information, Per-file Statistics, Clustered Table. Invariants: a
number of values is exact or stated as an upper bound, never 0 for unknown; a predicate that may name the
column counts as naming it, as writers spell predicates in many ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import CorruptTable
from explorer.core.protocol.clustering import clustering_columns
from explorer.core.protocol.counted import counted
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.schema.edit import first_names
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.protocol.schema.path_sets import PathSet
from explorer.core.protocol.table_properties.registry import STATS_COLUMNS
from explorer.core.transaction.intents.property_settings import statistics_columns_of
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.snapshot import Snapshot

_MOST_NAMED: Final = 20
_LONGEST: Final = 200
_BY_COLUMNS: Final = frozenset(["clusterby", "newclusteringcolumns", "orderby", "partitionby", "zorderby"])
"""Parameters of operations, besides predicates, that name columns."""
_EXPRESSION_ID: Final = re.compile(r"(?<=\w)#\d+L?")
_STRING: Final = re.compile(r"'[^']*'")


class LoggedOperation(msgspec.Struct, frozen=True):
    """The recorded operation of a commit: its version, its operation and the operation's parameters, and who made it
    with what."""

    version: int
    operation: str | None
    parameters: Mapping[str, object]
    user: str | None = None
    engine: str | None = None


def values_guard(snapshot: Snapshot, paths: Sequence[Path]) -> GuardResult:
    """Say how many values readers lose with columns that are dropped."""
    counted_columns = {column.path for column in snapshot.statistics_columns}
    names = [format_column(path) for path in paths if path in counted_columns]
    nulls = {column.path: ranges.column("null_count") for column, ranges in snapshot.column_ranges_of(names)}
    values = {format_column(path): _values(snapshot, nulls.get(path)) for path in paths}
    known = {name: rows for name, (rows, _) in values.items()}
    evidence: dict[str, object] = {"rowsWithValues": known, "files": snapshot.num_files}
    lost = [f"{name} in {_rows(*number)}" for name, number in values.items() if number[0] != 0]
    if not lost:
        which = "the column" if len(paths) == 1 else "the columns"
        return GuardResult("values-dropped", "pass", evidence | {"detail": f"No row has a value in {which}."})
    detail = f"Readers lose the values of {first_names(lost)}. The files keep them until they are rewritten."
    remedy = (
        f"Commit only if these values may go. Version {snapshot.version} shows them as long as its files are not "
        "vacuumed; a purge rewrites the files without them."
    )
    return GuardResult("values-dropped", "warn", evidence | {"detail": detail}, remedy)


def traces_guard(
    snapshot: Snapshot, paths: Sequence[Path], operations: Iterable[LoggedOperation], *, renamed: bool
) -> GuardResult:
    """Say what else names columns: predicates and columns of earlier commits, statistics settings, clustering.

    Args:
        operations: The commits of the log, oldest first.
    """
    naming = [mention for operation in operations for mention in _naming(operation, paths)]
    names = first_names(map(format_column, paths))
    sentences = [*_in_commits(naming, names), *_in_settings(snapshot, paths, renamed=renamed)]
    versions = list(dict.fromkeys(mention["version"] for mention in naming))
    evidence: dict[str, object] = {"commits": naming[-_MOST_NAMED:], "numCommits": len(versions)}
    if not sentences:
        detail = f"No earlier commit, clustering or statistics setting names {names}."
        return GuardResult("named-elsewhere", "pass", evidence | {"detail": detail})
    what = "uses the new name" if renamed else "does without the column"
    remedy = f"Check that every job that runs such an operation {what} before you commit."
    return GuardResult("named-elsewhere", "warn", evidence | {"detail": " ".join(sentences)}, remedy)


def _values(snapshot: Snapshot, nulls: pa.ChunkedArray | None) -> tuple[int | None, bool]:
    """Return how many live rows have a value in a column, by its null counts (None if unknown), and whether that is
    exact."""
    records, masked = snapshot.num_records, snapshot.num_deleted_records
    live = None if records is None else records - masked
    if live == 0:
        return 0, True
    if records is None or nulls is None or nulls.null_count:
        return live, False
    values = records - (pc.sum(nulls).as_py() or 0)
    assert live is not None, "rows are counted"
    return min(values, live), not masked or values == 0


def _rows(rows: int | None, exact: bool) -> str:
    if rows is None:
        return "an unknown number of rows"
    return counted(rows, "row") if exact else f"up to {counted(rows, 'row')}"


def _in_commits(naming: Sequence[Mapping[str, object]], names: str) -> Iterator[str]:
    if not naming:
        return
    versions = list(dict.fromkeys(mention["version"] for mention in naming))
    last = naming[-1]
    commits = counted(len(versions), "earlier commit names", "earlier commits name")
    yield f"{commits} {names}, such as v{last['version']} {last['operation']} with {last['parameter']} {last['text']}."
    people = list(dict.fromkeys(str(each.get("user") or each.get("engine") or "") for each in reversed(naming)))
    if any(people):
        yield f"They were made by {first_names(list(filter(None, people)))}."


def _in_settings(snapshot: Snapshot, paths: Sequence[Path], *, renamed: bool) -> Iterator[str]:
    listed = snapshot.metadata.configuration.get(STATS_COLUMNS.key, "")
    named = PathSet(map(_folded, paths))
    if listed.strip() and any(named.touches(_folded(each)) for each in statistics_columns_of(listed)):
        follows = "the commit writes the new name into it" if renamed else "the commit takes the column out of it"
        yield f"{STATS_COLUMNS} names it; {follows}."
    if not renamed:
        return  # a clustering column cannot be dropped
    try:
        clustered = clustering_columns(snapshot.schema, snapshot.column_mapping_mode, snapshot.domain_metadata)
    except CorruptTable:
        return  # judged where the table is clustered
    if any(named.touches(_folded(each)) for each in clustered):
        yield "The table is clustered by it, and stays so under the new name."


def _naming(operation: LoggedOperation, paths: Sequence[Path]) -> Iterator[dict[str, object]]:
    for name, value in operation.parameters.items():
        if "predicate" not in name.lower() and name.lower() not in _BY_COLUMNS:
            continue
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        if any(names_column(text, path) for path in paths):
            shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\u2026"
            stated = operation.operation or "commit"
            by = {"user": operation.user} if operation.user else {}
            by |= {"engine": operation.engine} if operation.engine else {}
            yield {"version": operation.version, "operation": stated, **by, "parameter": name, "text": shown}


def names_column(text: str, path: Path) -> bool:
    """Return whether the text of a predicate may name a column, a part of it, or the struct that holds it."""
    plain = _STRING.sub("''", _EXPRESSION_ID.sub("", text))
    first, *rest = (re.escape(part.replace("`", "``")) for part in path)
    parts = "".join(rf"(\s*\.\s*`?{part}`?(?!\w)|(?!\s*\.))" for part in rest)
    return re.search(rf"(?<!\w)`?{first}`?(?!\w){parts}", plain, re.IGNORECASE) is not None


def _folded(path: Path) -> Path:
    return tuple(part.lower() for part in path)
