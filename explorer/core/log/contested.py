"""Files that readers of the log disagree about: one path, live with several deletion vectors or in several spellings,
and files with an empty string as a partition value.

Protocol sections: Action Reconciliation, Deletion Vectors, Partition Value Serialization. The key of a file is its path
with its vector. Where a commit replaces a vector and its removal does not name the old one, the old file stays live by
the key. Clients that follow the key read it again in addition to the new one, and return its rows twice; this program
takes only the newest add of a path (D-03). Where a commit spells a path otherwise than the add before (``a%3Db`` and
``a=b``), clients that compare paths as texts take the two for two files; here they are one (PATH-004). An empty
partition value is NULL by the protocol (PART-003), and an empty string in some clients. Invariant: rows that other
clients read are counted, never hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import pyarrow as pa

from explorer.core.errors import CorruptTable
from explorer.core.protocol.arrow.arrays import mask, numbers, one_array
from explorer.core.protocol.counted import counted
from explorer.core.protocol.logical_files import FileSource, LogicalFiles
from explorer.core.protocol.partition_values import partition_texts

_READERS: Final = (
    "Clients that identify a file by its path and its deletion vector, such as delta-spark and delta-kernel,"
)
_KEEPERS: Final = "delta-spark and deltalake"
_SPELLERS: Final = "Clients that compare paths as texts, such as delta-kernel, and delta-spark where escapes differ,"


class ContestedWarning(UserWarning):
    """Rows of a version that other clients read differently, as its log contradicts itself."""


class ContestedFiles(msgspec.Struct, frozen=True):
    """The files that readers disagree about at a version.

    Attributes:
        version: The version.
        paths: The files, decoded paths.
        rows: Visible rows as this program reads them; None if a file lacks its count.
        other_rows: The same by the path and the vector; None if a file lacks its count.
        respelled: The disagreement is about spellings of paths, not about vectors.
        column: The disagreement is about empty strings in this partition column: ``rows`` are those with NULL in it
            here, ``other_rows`` those with NULL in it where these are strings.
    """

    version: int
    paths: tuple[str, ...]
    rows: int | None
    other_rows: int | None
    respelled: bool = False
    column: str = ""

    @property
    def message(self) -> str:
        """The contradiction, both counts, the readers of each, and the next step."""
        return f"{self.statement} {self.next_step}"

    @property
    def next_step(self) -> str:
        """What to do."""
        if self.column:
            return (
                f"Do not rely on conditions on {self.column}. Set {self.column} to NULL, or to a string that is not "
                "empty, in the rows where it is NULL here; every client then reads the same."
            )
        repair = "remove the file under each spelling" if self.respelled else "write the affected rows again"
        return (
            f"Do not rely on either count: restore a version before the contradiction, or {repair} with the client "
            "that wrote them."
        )

    @property
    def statement(self) -> str:
        """The contradiction, both counts, and the readers of each."""
        several = f" and {len(self.paths) - 1:,} more" if len(self.paths) > 1 else ""
        if self.column:
            here, there = (_rows(number) for number in (self.rows, self.other_rows))
            return (
                f"Version {self.version} has files whose value of the partition column {self.column} is an empty "
                f"string, {self.paths[0]}{several}. The protocol takes it for NULL, as do this program, delta-kernel, "
                f"and DuckDB: {here} with NULL in {self.column}. {_KEEPERS} read an empty string there, and NULL in "
                f"{there}."
            )
        if self.respelled:
            here, there = (_rows(number) for number in (self.rows, self.other_rows))
            return (
                f"Version {self.version} contradicts itself: a commit replaced or removed {self.paths[0]}{several} "
                f"under another spelling of the path. This program takes both for one file and reads {here}. "
                f"{_SPELLERS} read {there}."
            )
        return (
            f"Version {self.version} contradicts itself: {self.paths[0]}{several} is live with more than one deletion "
            f"vector, as a commit replaced a vector without removing the file under the old one. {self._counts}"
        )

    @property
    def _counts(self) -> str:
        here, there = (_rows(number) for number in (self.rows, self.other_rows))
        if here == there:
            return f"{_READERS} read {there}, some of them twice, and so does this program from a checkpoint."
        return (
            f"This program takes the newest vector alone and reads {here}. {_READERS} read {there}, some of them twice."
        )

    def error(self) -> CorruptTable:
        """Return the contradiction as an error."""
        return CorruptTable(
            self.message, path=self.paths[0], version=self.version, found=self.rows, expected=self.other_rows
        )


def contested_files(version: int, files: LogicalFiles) -> ContestedFiles | None:
    """Return the files that readers disagree about; None if there are none."""
    overlaid = files.overlaid
    paths = [str(path) for path in _column(overlaid, "path")] or _repeated(files)
    if not paths:
        return None
    rows, more = _visible(files.sources), _visible(overlaid)
    other_rows = None if rows is None or more is None else rows + more
    return ContestedFiles(version, tuple(dict.fromkeys(paths)), rows, other_rows)


def respelled_files(version: int, files: LogicalFiles) -> ContestedFiles | None:
    """Return the files whose path was replaced or removed under another spelling; None if there are none."""
    if files.respelled is None:
        return None
    paths = dict.fromkeys(str(path) for path in _column([files.respelled], "path"))
    rows, more = _visible(files.sources), _visible([files.respelled])
    other_rows = None if rows is None or more is None else rows + more
    return ContestedFiles(version, tuple(paths), rows, other_rows, respelled=True)


def files_of_empty_strings(
    version: int, files: LogicalFiles, columns: Iterable[tuple[str, str]]
) -> ContestedFiles | None:
    """Find the files with an empty string in a partition column of strings, the first such column; None without any.

    Args:
        columns: The logical and the physical name of each partition column of strings.
    """
    if not any(source.may_have_empty_values() for source in files.sources):
        return None
    import pyarrow.compute as pc

    maps = files.select(["partition_values"]).column(0)
    for name, physical in columns:
        chunks = [partition_texts(chunk, physical) for chunk in maps.chunks if len(chunk)]
        lengths, has_text = numbers(pc.binary_length(one_array(chunks, pa.string())))
        empty = has_text & (lengths == 0)
        if not empty.any():
            continue
        known = files.select(["path", "num_records", "dv_cardinality"])
        of_empty = known.filter(mask(empty))
        null_rows, empty_rows = _visible_rows(known.filter(mask(~has_text))), _visible_rows(of_empty)
        rows = None if null_rows is None or empty_rows is None else null_rows + empty_rows
        paths = tuple(of_empty.column("path").to_pylist())
        return ContestedFiles(version, paths, rows, null_rows, column=name)
    return None


def _repeated(files: LogicalFiles) -> list[str]:
    """Return paths that a checkpoint lists more than once, each time under another vector."""
    vectors = files.select(["dv_unique_id"]).column(0)
    if vectors.null_count == len(vectors):
        return []
    import pyarrow.compute as pc

    paths = files.select(["path"]).column(0)
    masked = paths.filter(pc.is_valid(vectors)).unique()
    counts = paths.filter(pc.is_in(paths, value_set=masked)).value_counts()
    return [str(each["values"]) for each in counts.to_pylist() if each["counts"] > 1]


def _visible(sources: Sequence[FileSource]) -> int | None:
    return _less_masked(_column(sources, "num_records"), _column(sources, "dv_cardinality"))


def _visible_rows(files: pa.Table) -> int | None:
    return _less_masked(*(files.column(name).to_pylist() for name in ("num_records", "dv_cardinality")))


def _less_masked(records: list[object], masked: list[object]) -> int | None:
    """Return how many rows are visible; None if a count is not known."""
    total = 0
    for count, hidden in zip(records, masked, strict=True):
        if not isinstance(count, int):
            return None
        total += count - (hidden if isinstance(hidden, int) else 0)
    return total


def _column(sources: Sequence[FileSource], name: str) -> list[object]:
    return [value for source in sources for chunk in source.chunks([name])[0] for value in chunk.to_pylist()]


def _rows(number: int | None) -> str:
    return "a number of rows that the log does not record" if number is None else counted(number, "row")
