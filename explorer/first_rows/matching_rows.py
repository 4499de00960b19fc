"""A page of the rows that meet a condition which is judged here, from files that may hold such rows.

Protocol section: Per-file Statistics (data skipping). Invariants: rows come in the order of the log's files; no more
rows are tried than is stated here, and above that Spark reads the page.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import flags, mask, numbers, one_array
from explorer.first_rows.file_rows import NotReadHere
from explorer.first_rows.row_conditions import RowCondition
from explorer.first_rows.row_page import RowPage, RowPosition, page_of
from explorer.first_rows.version_rows import MOST_FILES, VersionRows

MOST_TRIED: Final = 1 << 19
"""Rows on which a condition is tried for a page."""
_WINDOW: Final = 1 << 12
_GROWTH: Final = 4


def matching_page(reading: VersionRows, begin: RowPosition, limit: int, condition: RowCondition) -> RowPage:
    """Return a page of the rows for which a condition is TRUE.

    Args:
        reading: The version.
        begin: Where to begin.
        limit: Rows at most.
        condition: The condition.

    Raises:
        NotReadHere: Too many files or rows would have to be read.
    """
    search = _MatchSearch(reading, begin, condition)
    parts, matches = [reading.no_rows()], 0
    while search.waiting and matches <= limit:
        parts += search.next_matches()
        matches = sum(part.num_rows for part in parts)
    rows = pa.concat_tables(parts).slice(0, limit + 1)
    vectors, read = reading.vectors_of(rows.slice(0, limit)), len(reading.opened)
    return page_of(reading.snapshot, rows, begin, limit, files_read=read, where=True, vectors=vectors, by_spark=False)


class _MatchSearch:
    """The search for matching rows, file by file.

    Attributes:
        waiting: The numbers of the files that were not read, or not to their end.
    """

    def __init__(self, reading: VersionRows, begin: RowPosition, condition: RowCondition) -> None:
        self._reading, self._condition, self._begin = reading, condition, begin
        snapshot = reading.snapshot
        needed = np.ones(snapshot.num_files, bool)
        if not reading.masked and snapshot.num_files:
            needed = flags(one_array(snapshot.skipping(condition.expression).files.column("kept").chunks, pa.bool_()))
        places = np.flatnonzero(needed)
        self.waiting: list[int] = places[places >= begin.file].tolist()
        self._counts = numbers(snapshot.file_columns.column("num_records"))
        self._window, self._tried, self._files = _WINDOW, 0, 1

    def next_matches(self) -> list[pa.Table]:
        """Return the matching rows of the next files, or of the next rows of a large one."""
        chosen = self._chosen()
        files = pa.concat_tables([self._reading.snapshot.file_part(number, number + 1) for number in chosen])
        tables = self._reading.read(files, chosen, self._begin, self._window)
        matches = []
        for number, table in zip(chosen, tables, strict=True):
            self._tried += table.num_rows
            matches.append(table.filter(mask(self._condition.holds(table))))
            if table.num_rows == self._window:
                last = table.column(table.num_columns - 1)[table.num_rows - 1].as_py()
                self._begin = RowPosition(number, last + 1)
                break
            self.waiting.remove(number)
        self._window, self._files = self._window * _GROWTH, self._files * _GROWTH
        if self._tried > MOST_TRIED:
            raise NotReadHere(f"the condition must be tried on more than {MOST_TRIED:,} rows")
        return matches

    def _chosen(self) -> list[int]:
        """The first of the files, together no more than a window by the log."""
        (counts, known), rows = self._counts, 0
        first = self.waiting[: min(self._files, max(1, MOST_FILES - len(self._reading.opened)))]
        for place, number in enumerate(first):
            rows += int(counts[number])
            if place and (rows > self._window or not known[number]):
                return first[:place]
        return first
