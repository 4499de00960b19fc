"""Column facts in the footers of data files: rows, nulls, minimum and maximum.

Format: Apache Parquet's footer. Invariants: a footer is measured before it is decoded, and no row is read; a fact that
a footer lacks, or has in another calendar or type, is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from explorer.core.errors import LimitExceeded, StorageError
from explorer.core.protocol.arrow.open_parquet import read_footer
from explorer.core.protocol.file_locations import place_of
from explorer.core.protocol.log_store import LogStore

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_READERS: Final = 8
_CUT_TEXT: Final = 60
"""From so many bytes on a footer may have only the beginning of a string."""
_WRITER: Final = b"org.apache.spark.version"
_JULIAN: Final = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


class FooterColumn(msgspec.Struct, frozen=True):
    """A leaf column of a file by its footer; None for missing facts.

    Attributes:
        least, greatest: Minimum and maximum in Python's types; a long string may be truncated.
        nulls: The null count.
    """

    least: Any
    greatest: Any
    nulls: int | None


class DataFooter(msgspec.Struct, frozen=True):
    """The footer of a data file.

    Attributes:
        size: Bytes of the file.
        rows: Physical rows.
        columns: Leaf columns by dotted physical name; those without facts are left out.
        names: The dotted names of all leaf columns, in lower case.
    """

    size: int
    rows: int
    columns: Mapping[str, FooterColumn]
    names: frozenset[str]

    def lacks(self, column: str) -> bool:
        """Return whether the file certainly has no part of a top-level column, so that each row is null there."""
        folded = column.lower()
        return not any(name == folded or name.startswith(f"{folded}.") for name in self.names)


class UnreadFooter(msgspec.Struct, frozen=True):
    """A footer that was not read.

    Attributes:
        reason: The reason, as part of a sentence.
        is_missing: The file does not exist.
    """

    reason: str
    is_missing: bool = False


def footers_of(
    store: LogStore,
    paths: Sequence[str],
    columns: Collection[str] | None = None,
    check_cancelled: Callable[[], None] = lambda: None,
) -> list[DataFooter | UnreadFooter]:
    """Read the footers of data files, several at once.

    Args:
        paths: Their decoded paths.
        columns: Dotted physical names of the leaf columns to describe; None for all.
        check_cancelled: Called before each file, on several threads; what it raises ends the reading.
    """

    def footer(path: str) -> DataFooter | UnreadFooter:
        check_cancelled()
        return _footer(store, columns, path)

    with ThreadPoolExecutor(_READERS) as readers:
        # The first that raises ends this: those that no thread has begun are dropped.
        return list(readers.map(footer, paths))


def is_exact_bound(value: Any) -> bool:
    """Return whether a bound of a footer is not a string that may be truncated."""
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
    described: dict[str, FooterColumn] = {}
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    counts, is_julian = Counter(paths), _is_julian(metadata.metadata or {})
    for index, path in enumerate(paths):
        # A column `a.b` next to a struct `a` with a field `b`: the two cannot be distinguished.
        if counts[path] == 1 and (columns is None or path in columns):
            column = _column(metadata, index, is_julian=is_julian)
            if column is not None:
                described[path] = column
    return DataFooter(size, metadata.num_rows, described, frozenset(path.lower() for path in paths))


def _column(metadata: pq.FileMetaData, index: int, *, is_julian: bool) -> FooterColumn | None:
    chunks = [metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)]
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
    complete = all(each.has_min_max or _only_nulls(each, chunk) for each, chunk in zip(known, chunks, strict=True))
    if not complete or not bounds or (is_julian and isinstance(bounds[0][0], date)):
        return FooterColumn(None, None, nulls)
    return FooterColumn(min(low for low, _ in bounds), max(high for _, high in bounds), nulls)


def _only_nulls(statistics: pq.Statistics, chunk: pq.ColumnChunkMetaData) -> bool:
    return bool(statistics.has_null_count and statistics.null_count == chunk.num_values)


def _is_julian(properties: Mapping[bytes, bytes]) -> bool:
    """Return whether old days and times are those of the Julian calendar, which readers convert."""
    return properties.get(_WRITER, b"").startswith(b"2.") or any(mark in properties for mark in _JULIAN)
