"""Some rows of a version, in the order of the log's files and of the places in them, whoever read them.

Invariant: a masked row is never given without being marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import mask, numpy_array, only_array, plain_array

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RowPosition:
    """Where a page begins: the number of a file in ``snapshot.logical_files``, and the place of a row in it."""

    file: int = 0
    row: int = 0


@dataclass(frozen=True, slots=True)
class RowPage:
    """Some rows of a version, in order.

    Attributes:
        table: The rows: the table's columns, logical names; variants as JSON text.
        places: Where each row is: ``file`` (its number), ``path`` (decoded), ``row`` (its place in the file, from 0,
            masked rows counted), ``masked`` (a deletion vector hides it).
        begin: Where the page begins.
        following: Where the next one begins; None if there is no other row.
        files_read: Files that were read.
        note: What they are of the whole, for people.
        by_spark: Spark read them; otherwise this process did.
        reason: Why they were left to Spark; empty where nothing else could read them.
    """

    table: pa.Table
    places: pa.Table
    begin: RowPosition
    following: RowPosition | None
    files_read: int
    note: str
    by_spark: bool
    reason: str = ""


def page_of(
    snapshot: Snapshot,
    rows: pa.Table,
    begin: RowPosition,
    limit: int,
    *,
    files_read: int,
    where: bool = False,
    vectors: Mapping[int, npt.NDArray[np.uint64]] | None = None,
    by_spark: bool,
    reason: str = "",
) -> RowPage:
    """Return a page of rows that were read, one more of them than wanted if there are others.

    Args:
        snapshot: The version.
        rows: The columns; after them the number of the file and the place in it, in 64-bit integers without nulls.
        begin: Where the page begins.
        limit: Rows at most.
        files_read: Files that were read.
        where: The rows met a condition.
        vectors: The masked rows of each file with a deletion vector that was read, by its number; None reads them.
        by_spark, reason: As in `RowPage`.
    """
    following = _position(rows, limit) if rows.num_rows > limit else None
    shown = rows.slice(0, limit)
    places = _places(snapshot, shown, vectors or {})
    note = _with_warnings(_note(places, begin, following, snapshot.num_files, where=where), snapshot)
    table = shown.select(shown.column_names[:-2])
    return RowPage(table, places, begin, following, files_read, note, by_spark, reason)


def files_holding(files: pa.Table, rows: int, *, masked: bool = False) -> int:
    """Return how many first files hold so many rows by the log; one without a count counts as full.

    Args:
        files: Rows of ``snapshot.logical_files``.
        rows: So many.
        masked: Count masked rows too.
    """
    counts, vectors = (files.column(name).to_pylist() for name in ("num_records", "dv_cardinality"))
    total = 0
    for number, (count, hidden) in enumerate(zip(counts, vectors, strict=True), 1):
        if count is None:
            return number
        total += count - (0 if masked else hidden or 0)
        if total >= rows:
            return number
    return int(files.num_rows)


def reading_phase(first: int, end: int, total: int) -> str:
    """Return what a job does that reads the files from one number to before another."""
    if total == 0:
        return "No files to read"
    if end - first == 1:
        return f"Reading file {end:,} of {total:,}"
    return f"Reading files {first + 1:,} to {end:,} of {total:,}"


def _with_warnings(note: str, snapshot: Snapshot) -> str:
    """Return the note on some rows, with what a person must know who reads the version."""
    contested = () if snapshot.contested is None else (f"Error: {snapshot.contested.message}",)
    return " ".join((note, *contested, *(column.message for column in snapshot.unread_columns)))


def _position(rows: pa.Table, index: int) -> RowPosition:
    file, row = (rows.column(name)[index].as_py() for name in rows.column_names[-2:])
    return RowPosition(file, row)


def _places(snapshot: Snapshot, rows: pa.Table, vectors: Mapping[int, npt.NDArray[np.uint64]]) -> pa.Table:
    number, place = (numpy_array(only_array(rows, name)) for name in rows.column_names[-2:])
    chosen = np.unique(number)
    first, end = (int(chosen[0]), int(chosen[-1]) + 1) if len(chosen) else (0, 0)
    files = snapshot.file_part(first, end)
    has_vector = ~numpy_array(files.column("dv_storage_type").combine_chunks().is_null().cast(pa.uint8())).astype(bool)
    hidden = np.zeros(len(number), bool)
    for file in chosen.tolist():
        if has_vector[file - first]:
            mine = number == file
            vector = snapshot.masked_rows(file, vectors.get(file))
            hidden[mine] = _among(place[mine].astype(np.uint64), vector)
    paths = files.column("path").take(plain_array(number - first))
    columns = [plain_array(number), paths, plain_array(place), mask(hidden)]
    return pa.table(columns, names=["file", "path", "row", "masked"])


def _among(places: npt.NDArray[np.uint64], masked: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Whether each place is among the masked ones, which ascend."""
    if not len(masked):
        return np.zeros(len(places), bool)
    at = np.searchsorted(masked, places)
    same: npt.NDArray[np.bool_] = masked[np.minimum(at, len(masked) - 1)] == places
    return same


def _note(places: pa.Table, begin: RowPosition, following: RowPosition | None, total: int, *, where: bool) -> str:
    count = places.num_rows
    first_page = begin == RowPosition()
    if not total:
        return "The table has no files at this version."
    if not count:
        return f"No {'' if first_page else 'other '}row{' matches' if where else ''}."
    rows = f"{count:,} {'row' if count == 1 else 'rows'}{' that match' if where else ''}"
    if first_page and following is None:
        return f"All {rows}, from {total:,} {'file' if total == 1 else 'files'}."
    low, high = (places.column("file")[index].as_py() + 1 for index in (0, count - 1))
    place = f"file {low:,}" if low == high else f"files {low:,} to {high:,}"
    kind = "The first" if first_page else "The last" if following is None else "The next"
    return f"{kind} {rows}, from {place} of {total:,}."


def share_note(snapshot: Snapshot, shown: int, read: int, *, complete: bool, where: bool = False) -> str:
    """Return what share of a version some rows are, with the warnings about it.

    Args:
        snapshot: The version.
        shown: How many rows there are.
        read: How many files were read.
        complete: There are no others.
        where: They meet a condition.
    """
    return _with_warnings(_share(snapshot, shown, read, complete, where), snapshot)


def _share(snapshot: Snapshot, shown: int, read: int, complete: bool, where: bool) -> str:
    count = f"{shown:,} {'row' if shown == 1 else 'rows'}"
    matching = " that match" if where else ""
    total = snapshot.num_files
    if total == 0:
        return "The table has no files at this version."
    if complete and shown == 0:
        return f"No row{' matches' if where else ''} in {_files(total)}."
    if complete:
        return f"All {count}{matching}, from {_files(total)}."
    known = None if where else live_rows(snapshot)
    of = "" if known is None else f" of {known:,}"
    first = "" if read == 1 else f"{read:,} "
    place = _files(total) if read == total else f"the first {first}of {_files(total)}"
    return f"{count}{of}{matching} from {place}."


def _files(count: int) -> str:
    return f"{count:,} {'file' if count == 1 else 'files'}"


def live_rows(snapshot: Snapshot) -> int | None:
    """Return how many rows of a version no deletion vector hides; None where the log does not say."""
    physical = snapshot.num_records
    return None if physical is None else physical - snapshot.num_deleted_records
