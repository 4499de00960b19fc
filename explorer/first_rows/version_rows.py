"""Rows of some files of a version, as Spark gives them: logical columns, and where each row is.

Protocol sections: Deletion Vectors, Column Mapping, Partition Value Serialization. Invariants: a page opens no more
files, and takes no more memory, than is stated here; a deletion vector is read once for a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.protocol.arrow.arrow_types import text_variant_schema
from explorer.data_files.column_sources import ColumnSources
from explorer.data_files.partition_columns import partition_columns
from explorer.first_rows.file_rows import FileRows, NotReadHere, PageMemory, read_rows_from
from explorer.first_rows.live_files import LiveFile, MaskedRows, live_files, read_side_by_side, read_vectors
from explorer.first_rows.logical_columns import logical_columns
from explorer.first_rows.row_page import RowPosition
from explorer.first_rows.shapes import shapes_of
from explorer.first_rows.variant_json import MalformedVariant

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

MOST_FILES: Final = 128
"""Files that are opened for a page."""
MOST_MASKED: Final = 1 << 22
"""Rows that the deletion vectors of these files mask, of eight bytes each."""
_FILE: Final = "__explorer_file"
_PLACE: Final = "__explorer_place"


class VersionRows:
    """The rows of a version for one page.

    Args:
        masked: Give masked rows too.

    Attributes:
        snapshot, masked: As given.
        opened: The numbers of the files that were opened.
    """

    def __init__(self, log: DeltaLog, snapshot: Snapshot, columns: ColumnSources, *, masked: bool) -> None:
        self._log, self.snapshot, self._columns, self.masked = log, snapshot, columns, masked
        marks = [pa.field(name, pa.int64()) for name in (_FILE, _PLACE)]
        self._schema = pa.schema([*text_variant_schema(columns.schema), *marks])
        self._shapes = shapes_of(columns.stored, by_id=columns.by_id)
        self._memory = PageMemory()
        self._hidden = 0
        self._vectors: dict[int, MaskedRows] = {}
        self.opened: set[int] = set()

    def read(self, files: pa.Table, numbers: Sequence[int], begin: RowPosition, limit: int) -> list[pa.Table]:
        """Return rows of some files, a table for each; after the table's columns the file's number and the row's place.

        Args:
            files: What `explorer.core.versions.snapshot.Snapshot.file_part` returns of them.
            numbers: Their numbers.
            begin: Where to begin in one of them.
            limit: Rows of each at most.

        Raises:
            NotReadHere: Spark must read them.
        """
        self._count(files, numbers)
        live = live_files(self._log.store, files, self.snapshot.version)
        values = partition_columns(self._columns, files)
        stored, shapes = self._columns.stored, self._shapes

        def read(place: int, masked: Callable[[], MaskedRows]) -> FileRows:
            number, file = numbers[place], live[place]
            start, known = begin.row if number == begin.file else 0, self._vectors.get(number)
            hidden = masked if known is None else lambda: known
            return read_rows_from(file, start, hidden, columns=stored, shapes=shapes, limit=limit, memory=self._memory)

        read_files = read_side_by_side(live, read, masked=self.masked)
        if not self.masked:
            self._vectors |= {number: rows.masked for number, rows in zip(numbers, read_files, strict=True)}
        return [
            self._table(rows, {name: array[place] for name, array in values.items()}, numbers[place], live[place])
            for place, rows in enumerate(read_files)
        ]

    def vectors_of(self, rows: pa.Table) -> Mapping[int, MaskedRows]:
        """Return the masked rows of the files that have some rows, by their numbers, and maybe of others."""
        if self.masked and rows.num_rows:
            numbers = sorted(set(rows.column(_FILE).to_pylist()))
            files = pa.concat_tables([self.snapshot.file_part(number, number + 1) for number in numbers])
            live = live_files(self._log.store, files, self.snapshot.version)
            return dict(zip(numbers, read_vectors(live), strict=True))
        return self._vectors

    def no_rows(self) -> pa.Table:
        """Return a table without rows."""
        return pa.Table.from_arrays([pa.nulls(0, kind) for kind in self._schema.types], schema=self._schema)

    def _count(self, files: pa.Table, numbers: Sequence[int]) -> None:
        self.opened |= set(numbers)
        if len(self.opened) > MOST_FILES:
            raise NotReadHere(f"the rows are in more than {MOST_FILES} files")
        self._hidden += pc.sum(files.column("dv_cardinality")).as_py() or 0
        if self._hidden > MOST_MASKED:
            raise NotReadHere(f"the deletion vectors mask more than {MOST_MASKED:,} rows")

    def _table(self, rows: FileRows, values: dict[str, Any], number: int, file: LiveFile) -> pa.Table:
        places = rows.places
        try:
            given = logical_columns(self._columns, self._schema, rows.columns, values, len(places))
        except MalformedVariant as error:
            raise NotReadHere(f"a variant of the file {file.raw_path} cannot be decoded: {error}") from error
        marks = [int64s(np.full(len(places), number, np.int64)), int64s(places)]
        return pa.table([*given, *marks], schema=self._schema)
