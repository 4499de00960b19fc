"""The guard of a restore: what it undoes, counted by the log.

Protocol sections: Add File and Remove File, Deletion Vectors. Invariants: rows are those a reader sees; where a file
does not state its rows they are unknown, never 0; a restore that may take rows away warns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.arrow.arrays import joined
from explorer.core.protocol.counted import counted
from explorer.core.protocol.schema.column_mapping import MappingMode
from explorer.core.transaction.guards.undone_commits import UndoneCommit
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.diff import diff_metadata, diff_properties
from explorer.core.versions.snapshot import Snapshot


def restore_guard(
    snapshot: Snapshot,
    target: Snapshot,
    restored: tuple[Metadata, MappingMode],
    files: tuple[pa.Table, pa.Table],
    undone: Sequence[UndoneCommit],
) -> GuardResult:
    """Say what a restore undoes.

    Args:
        undone: The newest of the commits after the target, the newest first.
    """
    returning, leaving = files
    rows_back, rows_gone = _rows(returning, leaving)
    metadata, mode = restored
    properties = diff_properties(snapshot.metadata.configuration, metadata.configuration)
    columns = diff_metadata(snapshot.metadata, metadata, (snapshot.column_mapping_mode, mode))
    same = pc.is_in(returning.column("path"), value_set=joined(leaving.column("path")))
    remasked = pc.sum(same).as_py() or 0
    come, go = returning.num_rows - remasked, leaving.num_rows - remasked
    moved = _moves(come, go, remasked, (rows_back, rows_gone))
    changed = " and ".join(_changed(len(properties), len(columns)))
    verb = "changes" if len(properties) + len(columns) == 1 else "change"
    form = f"; {changed} {verb}" if changed else ""
    evidence: dict[str, object] = {
        "version": target.version,
        "filesBack": come,
        "filesGone": go,
        "filesRemasked": remasked,
        "rowsBack": rows_back,
        "rowsGone": rows_gone,
        "propertiesChanged": [change.key for change in properties],
        "columnsChanged": [change.column for change in columns],
        "undone": [commit.document() for commit in undone],
        "domainsKept": sorted(name for name in snapshot.domain_metadata if not name.startswith("delta.")),
        "detail": f"Undoes {_versions(target.version + 1, snapshot.version)}: {moved}{form}.",
    }
    if rows_gone == 0:
        return GuardResult("restore", "pass", evidence)
    remedy = (
        "Commit only if these rows can be removed. "
        f"Version {snapshot.version} keeps them until VACUUM deletes its files."
    )
    return GuardResult("restore", "warn", evidence, remedy)


def _versions(first: int, last: int) -> str:
    if first > last:
        return f"nothing, v{last} is the newest version"
    return f"v{last}" if first == last else f"v{first} to v{last}"


def _moves(returning: int, leaving: int, remasked: int, rows: tuple[int | None, int | None]) -> str:
    """Describe the files and rows that come back and go; rows of files that stay are listed separately."""
    if not remasked:
        return f"{_moved(returning, 'comes', rows[0])}, {_moved(leaving, 'goes', rows[1])}"
    files = [_moved(returning, "comes", None, without_rows=True), _moved(leaving, "goes", None, without_rows=True)]
    stay = counted(remasked, "file stays and masks other rows", "files stay and mask other rows")
    row_parts = [f"{_number(number)} {verb}" for number, verb in zip(rows, ("back", "gone"), strict=True)]
    return f"{', '.join(files)}, {stay}: {', '.join(row_parts)}"


def _number(rows: int | None) -> str:
    return "an unknown number of rows" if rows is None else counted(rows, "row") if rows else "no row"


def _moved(files: int, verb: str, rows: int | None, *, without_rows: bool = False) -> str:
    if not files:
        return f"no file {verb}{' back' if verb == 'comes' else ''}"
    what = counted(files, f"file {verb}", f"files {'come' if verb == 'comes' else 'go'}")
    what = f"{what}{' back' if verb == 'comes' else ''}"
    return what if without_rows else f"{what} with {_number(rows)}"


def _changed(properties: int, columns: int) -> Iterator[str]:
    if properties:
        yield counted(properties, "property", "properties")
    if columns:
        yield counted(columns, "column")


def _rows(returning: pa.Table, leaving: pa.Table) -> tuple[int | None, int | None]:
    """Count the rows that readers see again, and those that they no longer see.

    A file that comes back with other masked rows is in both tables: only the difference counts.
    """
    come, go = _live(returning), _live(leaving)
    both = returning.filter(pc.is_in(returning.column("path"), value_set=joined(leaving.column("path"))))
    if not both.num_rows:
        return come, go
    now = dict(zip(leaving.column("path").to_pylist(), _live_rows(leaving).to_pylist(), strict=True))
    then = zip(both.column("path").to_pylist(), _live_rows(both).to_pylist(), strict=True)
    same = sum(min(rows, now[path]) for path, rows in then if rows is not None and now[path] is not None)
    return None if come is None else come - same, None if go is None else go - same


def _live(files: pa.Table) -> int | None:
    rows = _live_rows(files)
    return None if rows.null_count else pc.sum(rows).as_py() or 0


def _live_rows(files: pa.Table) -> Any:
    return pc.subtract(files.column("num_records"), pc.fill_null(files.column("dv_cardinality"), 0))
