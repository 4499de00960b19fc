"""A list over an Arrow table: sorted, filtered and paged in Arrow, exported in full; and the search of column names.

A `Listing` is a value: each of its methods that changes it returns another one. A hundred thousand files stay an Arrow
table; only the rows of one page become Python objects.
"""

from __future__ import annotations

import csv
import heapq
import io
import json
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.protocol.partition_values import partition_texts
from explorer.credentials import safe_path
from explorer.spreadsheet import plain_cell

_LAST = 2
_PATHS = frozenset({"path", "name"})
_NUMERIC = frozenset({"rows", "size", "number", "share", "version", "masked", "gained", "amount"})


@dataclass(frozen=True, slots=True)
class ListingColumn:
    """A column shown: its key in the Arrow table, its title, and how to show it.

    Attributes:
        kind: ``text``, ``path``, ``name`` (the last part of a path), ``mono``, ``sign``, ``rows``, ``size``,
            ``number``, ``share``, ``version``, ``time``, ``masked`` (rows),
            ``gained`` (rows masked more or less), ``amount`` (a number of the table's own).
        unknown: What is shown where there is no value.
        tone: Of a sign: key of the column that says whether it is ``added``, ``removed``, ``remasked`` or ``changed``.
    """

    key: str
    title: str
    kind: str = "text"
    unknown: str = "\u2014"
    tone: str = "change"

    @property
    def numeric(self) -> bool:
        """Whether values are right-aligned figures."""
        return self.kind in _NUMERIC

    def text(self, value: Any) -> str:
        """Return a value as the list shows it (paths are shortened; the whole is in the row)."""
        if value is None:
            return self.unknown
        match self.kind:
            case "rows" | "number" | "masked":
                return fmt.count(value)
            case "gained":
                return fmt.signed(value)
            case "size":
                return fmt.size(value)
            case "share":
                return fmt.percent(value, 1)
            case "version":
                return f"v{value}"
            case "path":
                return fmt.shorten_path(value, 58)
            case "name":
                return fmt.shorten(safe_path(value).rpartition("/")[2], 46)
            case "time":
                return fmt.day(value)
            case _:
                return fmt.value_text(value, 300)

    def end(self, value: str) -> str:
        """Return a path, or of a ``name`` its last part, with what hides in it made visible, and not shortened."""
        shown = safe_path(value)
        return fmt.plain(shown.rpartition("/")[2] if self.kind == "name" else shown)

    def whole(self, value: Any) -> str:
        """Return a value in full, as far as a person can read it: the text of a tooltip."""
        return self.unknown if value is None else fmt.plain(fmt.value_text(self.shared(value), 4000), 4000)

    def shared(self, value: Any) -> Any:
        """Return a value as it may leave this program: an address of a file without credentials."""
        return safe_path(value) if self.kind in _PATHS and isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Listing:
    """A view of an Arrow table.

    Attributes:
        name: The list's name in an export's file name.
        columns: The columns shown, in order.
        table: The rows, unsorted.
        searched: Text columns that the filter searches.
        sort: Key of the column sorted by, empty for the order of the table.
        find: Text that one of ``searched`` must contain, in any case.
        page: From 1.
        places: Which rows of the table match, in order, once that was worked out; see `settled`.
    """

    name: str
    columns: tuple[ListingColumn, ...]
    table: pa.Table
    searched: tuple[str, ...] = ()
    sort: str = ""
    descending: bool = False
    find: str = ""
    page: int = 1
    page_size: int = 50
    places: pa.Array | None = None

    def arranged(self, *, sort: str | None = None, descending: bool | None = None, find: str | None = None) -> Listing:
        """Return the list with another order and filter; an unknown sort key leaves the order of the table."""
        known = {c.key for c in self.columns if not pa.types.is_nested(self.table.schema.field(c.key).type)}
        return replace(
            self,
            sort=self.sort if sort is None else sort if sort in known else "",
            descending=self.descending if descending is None else descending,
            find=self.find if find is None else find,
            page=1,
            places=None,
        )

    def narrowed(self, most: int, kept: str = "") -> Listing:
        """Return the list, as it is filtered and sorted, with so many of its first columns, the last two, and one that
        is kept; all of them where there are not many more."""
        last = len(self.columns) - _LAST
        if last <= most:
            return self
        shown = tuple(
            column for place, column in enumerate(self.columns) if place < most or place >= last or column.key == kept
        )
        keys = dict.fromkeys([*(column.key for column in shown), *(c.tone for c in shown if c.kind == "sign")])
        settled = self.settled()
        return replace(settled, columns=shown, table=settled.table.select(list(keys)))

    def settled(self) -> Listing:
        """Return the list with its filter and order worked out: each page of it takes its own rows and no more."""
        return self if self.places is not None else replace(self, places=self._places())

    def at(self, page: int) -> Listing:
        """Return the list at another page; a page past the end is the last one."""
        return replace(self, page=max(1, page))

    @property
    def total(self) -> int:
        """Rows in all."""
        return int(self.table.num_rows)

    def matching(self) -> pa.Table:
        """Return the rows that match, in order."""
        places = self.settled().places
        return self.table if places is None else self.table.take(places)

    def paged(self) -> ListingPage:
        """Return the rows of the page as records."""
        places = self.settled().places
        matched = self.total if places is None else len(places)
        pages = max(1, -(-matched // self.page_size))
        page = min(self.page, pages)
        start = (page - 1) * self.page_size
        if places is None:
            rows = self.table.slice(start, self.page_size)
        else:
            rows = self.table.take(places.slice(start, self.page_size))
        return ListingPage(
            rows=tuple(rows.to_pylist()),
            first=start + 1 if matched else 0,
            last=min(start + self.page_size, matched),
            matched=matched,
            page=page,
            pages=pages,
        )

    def _places(self) -> pa.Array | None:
        """Work out which rows match, in order; None stands for all of them in the order of the table."""
        places = None
        if self.find and self.searched:
            columns = (
                pc.match_substring(self.table.column(key).cast(pa.string()), self.find, ignore_case=True)
                for key in self.searched
            )
            matching = reduce(pc.or_, (pc.fill_null(texts, False) for texts in columns))
            places = pc.indices_nonzero(matching)
        if self.sort:
            values = self.table.column(self.sort)
            kept_values = values if places is None else values.take(places)
            order = pc.array_sort_indices(kept_values, order="descending" if self.descending else "ascending")
            places = order if places is None else places.take(order)
        return places

    def to_csv(self) -> str:
        """Return all matching rows as CSV with a header, whole values, null as an empty field; see `csv_of`."""
        return self.csv()[0]

    def csv(self) -> tuple[str, int]:
        """Return the same, and how many cells were marked as text so that no spreadsheet runs them."""
        return csv_of([column.key for column in self.columns], (list(row.values()) for row in self._exported()))

    def to_json(self) -> str:
        """Return all matching rows as a JSON list of objects."""
        rows = list(self._exported())
        return json.dumps(rows, ensure_ascii=False, default=_exported_text, indent=1)

    def to_parquet(self) -> bytes:
        """Return all matching rows as a Parquet file with the types of the list."""
        import pyarrow.parquet as pq

        rows = self.matching().select([column.key for column in self.columns])
        for place, column in enumerate(self.columns):
            field = rows.schema.field(place)
            if column.kind in _PATHS and pa.types.is_string(field.type):
                shared = pa.array([column.shared(value) for value in rows.column(place).to_pylist()], field.type)
                rows = rows.set_column(place, field, shared)
        sink = io.BytesIO()
        pq.write_table(rows, sink)
        return sink.getvalue()

    def _exported(self) -> Iterator[dict[str, Any]]:
        columns = {column.key: column for column in self.columns}
        for batch in self.matching().select(list(columns)).to_batches(max_chunksize=10_000):
            for row in batch.to_pylist():
                yield {key: columns[key].shared(value) for key, value in row.items()}


@dataclass(frozen=True, slots=True)
class ListingPage:
    """One page: the rows, the places of the first and last among those that match (from 1), and the pages there are."""

    rows: tuple[dict[str, Any], ...]
    first: int
    last: int
    matched: int
    page: int
    pages: int


def partition_words(partition_values: pa.ChunkedArray, columns: Sequence[tuple[str, str]]) -> pa.ChunkedArray:
    """Return ``region=eu, day=2026-03-02`` for each file; a null partition value reads ``null``.

    Args:
        partition_values: map<string, string> by file.
        columns: Partition columns in order: the name, and the key in the maps.
    """
    return pa.chunked_array([_partitions(chunk, columns) for chunk in partition_values.chunks], pa.string())


def _partitions(maps: pa.MapArray, columns: Sequence[tuple[str, str]]) -> pa.StringArray:
    """Return the texts of some files: those of one file of each partition, and which partition each is of."""
    if not columns or not len(maps):
        return pa.array([""] * len(maps), pa.string())
    values = [partition_texts(maps, key) for _, key in columns]
    place = np.zeros(len(maps), np.int64)
    for column in values:
        codes = column.dictionary_encode(null_encoding="encode")
        mixed = place * len(codes.dictionary) + codes.indices.to_numpy()
        place = pa.array(mixed).dictionary_encode().indices.to_numpy().astype(np.int64)
    first = np.zeros(place.max() + 1, np.int64)
    first[place[::-1]] = np.arange(len(maps) - 1, -1, -1)
    parts = [
        pc.binary_join_element_wise(f"{name}=", pc.fill_null(column.take(pa.array(first)), "null"), "")
        for (name, _), column in zip(columns, values, strict=True)
    ]
    return pc.binary_join_element_wise(*parts, ", ").take(pa.array(place))


def csv_of(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> tuple[str, int]:
    """Return rows as CSV in which no spreadsheet runs a cell, and how many cells were marked as text for that.

    Args:
        headings: The names of the columns.
        rows: Values; null is an empty field, numbers stay numbers.
    """
    out, escaped = io.StringIO(), 0
    writer = csv.writer(out, lineterminator="\n")
    for row in chain([headings], rows):
        texts = ["" if value is None else _exported_text(value) for value in row]
        made = [
            text if isinstance(value, int | float) else plain_cell(text) for text, value in zip(texts, row, strict=True)
        ]
        escaped += sum(map(operator.ne, made, texts))
        writer.writerow(made)
    return out.getvalue(), escaped


def _exported_text(value: Any) -> str:
    return value if isinstance(value, str) else fmt.value_text(value, 100_000)


MOST_OFFERED: Final = 200
"""Columns that a choice lists; where there are more, they are searched."""
MOST_SUGGESTED: Final = 40
"""Columns that a search lists."""


@dataclass(frozen=True, slots=True)
class ColumnMatches:
    """Columns whose names contain a text.

    Attributes:
        text: The text.
        names: The first of them.
        total: How many there are.
    """

    text: str
    names: tuple[str, ...]
    total: int


def column_matches(names: Iterable[str], text: str) -> ColumnMatches:
    """Return the columns whose names contain a text, in any case: the one of that name first, then those that begin
    with it, then the others, each in the order given.

    Args:
        names: Dotted names.
        text: A part of a name; empty for all of them.
    """
    wanted = text.casefold().strip()
    folded = ((name, name.casefold()) for name in names)
    matching = [(_rank(key, wanted), place, name) for place, (name, key) in enumerate(folded) if wanted in key]
    best = heapq.nsmallest(MOST_SUGGESTED, matching)
    return ColumnMatches(text.strip(), tuple(name for _, _, name in best), len(matching))


def _rank(key: str, wanted: str) -> int:
    return 0 if key == wanted else 1 if key.startswith(wanted) else 2
