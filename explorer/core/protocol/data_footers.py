"""What the footers of data files say of their columns: rows, nulls, minimum and maximum.

Format: Apache Parquet's footer. Invariants: a footer is measured before it is decoded, and no row is read; what a
footer does not say, or says in another calendar or type, is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from explorer.core.errors import LimitExceeded, StorageError
from explorer.core.protocol.arrow.open_parquet import read_footer
from explorer.core.protocol.file_places import place_of
from explorer.core.protocol.log_store import LogStore

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["DataFooter", "FooterColumn", "UnreadFooter", "footers_of", "is_whole"]

_READERS: Final = 8
_CUT_TEXT: Final = 60
"""From so many bytes on a footer may hold the beginning of a string alone."""
_WRITER: Final = b"org.apache.spark.version"
_JULIAN: Final = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


class FooterColumn(msgspec.Struct, frozen=True):
    """A leaf column of a file by its footer; None where the footer does not say.

    Attributes:
        least, greatest: Bounds in Python's types; a long string may be cut off.
        nulls: How many nulls it holds.
    """

    least: Any
    greatest: Any
    nulls: int | None


class DataFooter(msgspec.Struct, frozen=True):
    """The footer of a data file.

    Attributes:
        size: Bytes of the file.
        rows: Physical rows.
        columns: What it says of leaf columns, by dotted physical name; those that it says nothing of are left out.
        names: The dotted names of all leaf columns, in lower case.
    """

    size: int
    rows: int
    columns: Mapping[str, FooterColumn]
    names: frozenset[str]

    def lacks(self, column: str) -> bool:
        """Whether the file certainly holds no part of a column of the top level, so that each row is null there."""
        folded = column.lower()
        return not any(name == folded or name.startswith(f"{folded}.") for name in self.names)


class UnreadFooter(msgspec.Struct, frozen=True):
    """A footer that was not read.

    Attributes:
        reason: Why, as part of a sentence.
        is_missing: The file is not there.
    """

    reason: str
    is_missing: bool = False


def footers_of(
    store: LogStore, paths: Sequence[str], columns: Collection[str] | None = None
) -> list[DataFooter | UnreadFooter]:
    """Read the footers of data files, several at once.

    Args:
        store: The table's store.
        paths: Their decoded paths.
        columns: Dotted physical names of the leaf columns to describe; None for all.
    """
    with ThreadPoolExecutor(_READERS) as readers:
        return list(readers.map(partial(_footer, store, columns), paths))


def is_whole(value: Any) -> bool:
    """Whether a bound of a footer is not a string that may be cut off."""
    return not isinstance(value, str) or len(value.encode()) < _CUT_TEXT


def _footer(store: LogStore, columns: Collection[str] | None, path: str) -> DataFooter | UnreadFooter:
    try:
        holder, key = place_of(store, path)
        with holder.open_input(key) as source:
            return _read(read_footer(source, path), int(source.size()), columns)
    except FileNotFoundError:
        return UnreadFooter("it is not there", is_missing=True)
    except (StorageError, LimitExceeded, OSError, pa.ArrowException) as error:
        return UnreadFooter(str(error).split("\n", 1)[0])


def _read(metadata: pq.FileMetaData, size: int, columns: Collection[str] | None) -> DataFooter:
    found: dict[str, FooterColumn] = {}
    paths = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    counts, is_julian = Counter(paths), _is_julian(metadata.metadata or {})
    for place, path in enumerate(paths):
        # A column `a.b` beside a struct `a` with a field `b`: neither is told from the other.
        if counts[path] == 1 and (columns is None or path in columns):
            column = _column(metadata, place, is_julian=is_julian)
            if column is not None:
                found[path] = column
    return DataFooter(size, metadata.num_rows, found, frozenset(path.lower() for path in paths))


def _column(metadata: pq.FileMetaData, place: int, *, is_julian: bool) -> FooterColumn | None:
    chunks = [metadata.row_group(group).column(place) for group in range(metadata.num_row_groups)]
    statistics = [chunk.statistics for chunk in chunks]
    known = [each for each in statistics if each is not None]
    if not chunks or len(known) != len(statistics):
        return None
    nulls = sum(each.null_count for each in known) if all(each.has_null_count for each in known) else None
    try:
        bounds = [(each.min, each.max) for each in known if each.has_min_max]
    except (ValueError, OverflowError, NotImplementedError):
        return None  # values of a type that Python has no exact form of, such as nanoseconds
    # A group of nulls alone has no bounds; any other without them leaves those of the file unknown.
    whole = all(each.has_min_max or _only_nulls(each, chunk) for each, chunk in zip(known, chunks, strict=True))
    if not whole or not bounds or (is_julian and isinstance(bounds[0][0], date)):
        return FooterColumn(None, None, nulls)
    return FooterColumn(min(least for least, _ in bounds), max(greatest for _, greatest in bounds), nulls)


def _only_nulls(statistics: pq.Statistics, chunk: pq.ColumnChunkMetaData) -> bool:
    return bool(statistics.has_null_count and statistics.null_count == chunk.num_values)


def _is_julian(stated: Mapping[bytes, bytes]) -> bool:
    """Whether old days and times are those of the Julian calendar, which readers count anew."""
    return stated.get(_WRITER, b"").startswith(b"2.") or any(mark in stated for mark in _JULIAN)
