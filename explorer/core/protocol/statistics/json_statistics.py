"""Statistics in JSON form -> columns, many files at once.

Protocol section: Per-file Statistics. Invariants: statistics that are unreadable or do not fit their type are unknown
and reported, and affect only their own file (STATS-002); both spellings of the null counter are read (D-09); a NaN is
not a bound (STATS-016). Arrow's JSON reader parses texts in bulk; where it refuses some, they are halved until the few
that it refuses are left, and these are decoded one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int32s, Int64s, Mask, as_type, bools, int64s, joined, mask, strings
from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.arrow.threads import in_parallel
from explorer.core.protocol.arrow.typed_arrays import typed_column, without_infinity, without_nan
from explorer.core.protocol.schema.data_types import PrimitiveType, PrimitiveValue
from explorer.core.protocol.schema.nested_types import PathTree, path_tree
from explorer.core.protocol.statistics.bounds import bound_value, count_value, decode_statistics
from explorer.core.protocol.statistics.present_leaves import present_leaves

# Texts parsed at once on one thread.
_ROWS: Final = 1 << 12
_FEW: Final = 16
_WIDE: Final = 1_000
_MOST_BYTES: Final = 1 << 30


class StatisticsLeaf(msgspec.Struct, frozen=True):
    """A column in statistics: its physical path and its type."""

    path: tuple[str, ...]
    type: PrimitiveType

    @property
    def has_bounds(self) -> bool:
        """False for binaries and void, without bounds, and variants, whose bounds are not read (STATS-017, D-27)."""
        return self.type.name not in {"binary", "variant", "void"}


class Bounds(msgspec.Struct, frozen=True):
    """One column in every file: minimum and maximum in its type, and the null count; null is unknown."""

    low: pa.Array
    high: pa.Array
    nulls: pa.Int64Array


class ParsedTexts(msgspec.Struct, frozen=True):
    """The statistics of some files.

    Attributes:
        tight: Whether the bounds are attained; null where there are no usable statistics.
        num_records: Physical rows; null where unknown.
        bounds: Of each leaf.
        problems: Row and reason of every text that could not be used.
    """

    tight: pa.BooleanArray
    num_records: pa.Int64Array
    bounds: dict[StatisticsLeaf, Bounds]
    problems: tuple[tuple[int, str], ...]


def parse_texts(texts: pa.StringArray, leaves: Sequence[StatisticsLeaf]) -> ParsedTexts:
    """Parse a column of statistics; a null text has none."""
    return parse_parts([texts], leaves)


def parse_parts(texts: Iterable[pa.StringArray], leaves: Sequence[StatisticsLeaf]) -> ParsedTexts:
    """Parse a column of statistics that comes in parts, several at once; the next comes while they are parsed."""
    parts, start = [], 0
    for parsed in in_parallel(partial(_parse_part, leaves=leaves), _some_at_a_time(texts)):
        parts.append(_moved(parsed, np.arange(start, start + len(parsed.tight))))
        start += len(parsed.tight)
    return concatenated(parts, leaves)


def _some_at_a_time(texts: Iterable[pa.StringArray]) -> Iterator[pa.StringArray]:
    return (part.slice(start, _ROWS) for part in texts for start in range(0, len(part), _ROWS))


def _parse_part(texts: pa.StringArray, leaves: Sequence[StatisticsLeaf]) -> ParsedTexts:
    if not texts.null_count:
        return _parse_all(texts, leaves)
    dense = texts.drop_null()
    return _spread(_parse_all(dense, leaves) if len(dense) else concatenated([], leaves), _ranks(texts), texts)


def _parse_all(texts: pa.StringArray, leaves: Sequence[StatisticsLeaf]) -> ParsedTexts:
    """Parse texts, none of them null, whatever they are."""
    parts: list[ParsedTexts] = []
    in_texts = present_leaves(texts, leaves)
    for offset, block, table in _blocks(texts, in_texts, 0):
        parsed = _by_row(block, in_texts) if table is None else _by_column(table, in_texts)
        if len(in_texts) < len(leaves):
            parsed = _with_unknown(parsed, leaves, len(block))
        parts.append(_moved(parsed, np.arange(offset, offset + len(block))))
    return concatenated(parts, leaves)


def _moved(parsed: ParsedTexts, rows: Int64s) -> ParsedTexts:
    """Return the same with the rows of its problems taken from these."""
    if not parsed.problems:
        return parsed
    moved = tuple((int(rows[row]), reason) for row, reason in parsed.problems)
    return msgspec.structs.replace(parsed, problems=moved)


def _taken(parsed: ParsedTexts, rows: pa.Int64Array) -> ParsedTexts:
    """Return statistics in another order; their problems stay as they are."""
    bounds = {
        leaf: Bounds(column.low.take(rows), column.high.take(rows), column.nulls.take(rows))
        for leaf, column in parsed.bounds.items()
    }
    return ParsedTexts(parsed.tight.take(rows), parsed.num_records.take(rows), bounds, parsed.problems)


def _with_unknown(parsed: ParsedTexts, leaves: Sequence[StatisticsLeaf], length: int) -> ParsedTexts:
    """Return the same with the columns of which nothing is known."""
    nulls = {kind: pa.nulls(length, kind) for kind in {to_arrow(leaf.type) for leaf in leaves} | {pa.int64()}}
    unknown = {kind: Bounds(values, values, nulls[pa.int64()]) for kind, values in nulls.items()}
    bounds = {leaf: parsed.bounds.get(leaf) or unknown[to_arrow(leaf.type)] for leaf in leaves}
    return msgspec.structs.replace(parsed, bounds=bounds)


def _parse_struct(column: pa.StructArray, leaves: Sequence[StatisticsLeaf]) -> ParsedTexts:
    """Return the leaves of ``stats_parsed`` of a checkpoint; a null struct has no statistics."""
    import pyarrow.compute as pc

    members = dict(zip([field.name for field in column.type], column.flatten(), strict=True))
    statistics = columns_of(members, leaves, len(column))
    if not column.null_count:
        return statistics
    tight = pc.if_else(column.is_valid(), statistics.tight, pa.nulls(len(column), pa.bool_()))
    return msgspec.structs.replace(statistics, tight=tight)


def parse_either(
    parsed: pa.StructArray, texts: Iterable[pa.StringArray], leaves: Sequence[StatisticsLeaf]
) -> ParsedTexts:
    """Return statistics from ``stats_parsed``, and where that is null from the texts, which come in parts."""
    statistics = _parse_struct(parsed, leaves)
    return _where(parsed.is_valid(), statistics, parse_parts(texts, leaves)) if parsed.null_count else statistics


def some_of(parsed: ParsedTexts, chosen_files: Mask) -> ParsedTexts:
    """Return the statistics of some of the files."""
    if chosen_files.all():
        return parsed
    chosen, new_rows = mask(chosen_files), np.cumsum(chosen_files) - 1
    bounds = {
        leaf: Bounds(column.low.filter(chosen), column.high.filter(chosen), column.nulls.filter(chosen))
        for leaf, column in parsed.bounds.items()
    }
    problems = tuple((int(new_rows[row]), reason) for row, reason in parsed.problems if chosen_files[row])
    return ParsedTexts(parsed.tight.filter(chosen), parsed.num_records.filter(chosen), bounds, problems)


def concatenated(parts: Sequence[ParsedTexts], leaves: Sequence[StatisticsLeaf]) -> ParsedTexts:
    """Return several results joined; the rows of their problems are already those of the joined result."""
    if len(parts) == 1:
        return parts[0]
    bounds = {
        leaf: Bounds(
            _joined([part.bounds[leaf].low for part in parts], to_arrow(leaf.type)),
            _joined([part.bounds[leaf].high for part in parts], to_arrow(leaf.type)),
            _joined([part.bounds[leaf].nulls for part in parts], pa.int64()),
        )
        for leaf in leaves
    }
    tight = _joined([part.tight for part in parts], pa.bool_())
    records = _joined([part.num_records for part in parts], pa.int64())
    return ParsedTexts(tight, records, bounds, tuple(problem for part in parts for problem in part.problems))


def _where(chosen: pa.BooleanArray, first: ParsedTexts, second: ParsedTexts) -> ParsedTexts:
    import pyarrow.compute as pc

    bounds = {
        leaf: Bounds(
            pc.if_else(chosen, one.low, second.bounds[leaf].low),
            pc.if_else(chosen, one.high, second.bounds[leaf].high),
            pc.if_else(chosen, one.nulls, second.bounds[leaf].nulls),
        )
        for leaf, one in first.bounds.items()
    }
    tight = pc.if_else(chosen, first.tight, second.tight)
    records = pc.if_else(chosen, first.num_records, second.num_records)
    return ParsedTexts(tight, records, bounds, first.problems + second.problems)


def _blocks(
    texts: pa.StringArray, leaves: Sequence[StatisticsLeaf], start: int
) -> Iterator[tuple[int, pa.StringArray, pa.Table | None]]:
    """Yield offset, texts and parsed table of blocks of ``texts``; no table where each is decoded by itself.

    Arrow refuses a few, and takes kilobytes a column for few texts of many columns; these are decoded separately.
    """
    if len(texts) <= _FEW and len(leaves) >= _WIDE:
        yield start, texts, None
        return
    yield from _halved(texts, _wire_schema(leaves), start)


def _halved(
    texts: pa.StringArray, wire: pa.Schema, start: int
) -> Iterator[tuple[int, pa.StringArray, pa.Table | None]]:
    """Yield the same by Arrow alone."""
    table = _read(texts, wire)
    if table is not None or len(texts) <= _FEW:
        yield start, texts, table
        return
    half = len(texts) // 2
    yield from _halved(texts.slice(0, half), wire, start)
    yield from _halved(texts.slice(half), wire, start + half)


def _read(texts: pa.StringArray, wire: pa.Schema) -> pa.Table | None:
    """Parse texts as lines of JSON, or return None if one of them does not fit the schema.

    Each text is checked to begin with ``{`` and to end with ``}``. Then no value can run from one text into the
    next (that would need ``}`` and ``{`` with nothing but a newline between inside one value, or a newline inside a
    string), so a text gives at least one row, and as many rows as texts mean one each.
    """
    import pyarrow.json as pj

    starts, ends, data = _extents(texts)
    if not (ends > starts).all() or ends[-1] - starts[0] > _MOST_BYTES:
        return None
    if not ((data[starts] == 123) & (data[ends - 1] == 125)).all():
        return None
    lines = _lines(texts)
    try:
        table = pj.read_json(
            pa.BufferReader(lines),
            read_options=pj.ReadOptions(use_threads=False, block_size=lines.size + 1),
            parse_options=pj.ParseOptions(explicit_schema=wire, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return table.combine_chunks() if table.num_rows == len(texts) else None


def _extents(texts: pa.StringArray) -> tuple[Int32s, Int32s, npt.NDArray[np.uint8]]:
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return offsets[:-1], offsets[1:], data if len(data) else np.zeros(1, np.uint8)


def _lines(texts: pa.StringArray) -> pa.Buffer:
    """Return the texts with a newline between them."""
    import pyarrow.compute as pc

    offsets = pa.Array.from_buffers(pa.int32(), 2, [None, pa.py_buffer(np.array([0, len(texts)], np.int32))])
    return pc.binary_join(pa.ListArray.from_arrays(offsets, texts), strings(["\n"])[0]).buffers()[2]


def _ranks(texts: pa.StringArray) -> pa.Array:
    """Return for every text its index among those that are not null, null where it is."""
    import pyarrow.compute as pc

    valid = texts.is_valid()
    places = np.cumsum(np.frombuffer(valid.cast(pa.uint8()).buffers()[1], np.uint8, len(texts)), dtype=np.int64) - 1
    column = pa.Array.from_buffers(pa.int64(), len(texts), [None, pa.py_buffer(places)])
    return pc.if_else(valid, column, pa.nulls(len(texts), pa.int64()))


def _spread(dense: ParsedTexts, ranks: pa.Array, texts: pa.StringArray) -> ParsedTexts:
    problems: tuple[tuple[int, str], ...] = ()
    if dense.problems:
        rows = [row for row, is_valid in enumerate(texts.is_valid().to_pylist()) if is_valid]
        problems = tuple((rows[rank], reason) for rank, reason in dense.problems)
    return msgspec.structs.replace(_taken(dense, ranks), problems=problems)


# --- by column --------------------------------------------------------------------------------------------------------

_WIRE: Final = {"date": pa.string(), "timestamp_ntz": pa.string()}
"""Types read as text first: Arrow's reader accepts dates as numbers, and drops the zone of a time."""


def _wire_schema(leaves: Sequence[StatisticsLeaf]) -> pa.Schema:
    kinds = {leaf.path: _WIRE.get(leaf.type.name, to_arrow(leaf.type)) for leaf in leaves if leaf.has_bounds}
    bounded, counts = _struct(path_tree(kinds)), _struct(path_tree({leaf.path: pa.int64() for leaf in leaves}))
    members = [("minValues", bounded), ("maxValues", bounded), ("nullCount", counts), ("nullCounts", counts)]
    return pa.schema(
        [
            ("tightBounds", pa.bool_()),
            ("numRecords", pa.int64()),
            *(member for member in members if member[1].num_fields),
        ]
    )


def _struct(tree: PathTree[pa.DataType]) -> pa.StructType:
    return pa.struct([pa.field(name, _struct(kind) if isinstance(kind, dict) else kind) for name, kind in tree.items()])


def _by_column(table: pa.Table, leaves: Sequence[StatisticsLeaf]) -> ParsedTexts:
    columns = {name: joined(table.column(name)) for name in table.column_names}
    parsed = columns_of(columns, leaves, len(table))
    # Arrow's reader makes infinities of numbers beyond the type, which do not bound finite values.
    finite = {
        leaf: msgspec.structs.replace(bounds, low=without_infinity(bounds.low), high=without_infinity(bounds.high))
        for leaf, bounds in parsed.bounds.items()
        if leaf.type.name in ("float", "double")
    }
    return msgspec.structs.replace(parsed, bounds=parsed.bounds | finite)


def columns_of(columns: dict[str, pa.Array], leaves: Sequence[StatisticsLeaf], length: int) -> ParsedTexts:
    """Return the leaves of the members of statistics (``minValues`` and so on), each an array or absent."""
    members = {name: Members(column) for name, column in columns.items()}

    def member(name: str, *path: str) -> pa.Array | None:
        return members[name].at(path) if name in members else None

    problems: list[tuple[int, str]] = []
    bounds = {}
    for leaf in leaves:
        low, high = (
            _typed(member(name, *leaf.path) if leaf.has_bounds else None, leaf, length, problems, upper=upper)
            for name, upper in (("minValues", False), ("maxValues", True))
        )
        first, second = (member(name, *leaf.path) for name in ("nullCount", "nullCounts"))
        bounds[leaf] = Bounds(low, high, _counts(first, second, length))
    tight = member("tightBounds")
    known = bools([True] * length) if tight is None else tight.fill_null(bools([True])[0])
    return ParsedTexts(known, _counts(member("numRecords"), None, length), bounds, tuple(problems))


class Members:
    """A struct column split step by step, the struct's nulls applied; each step is done once."""

    def __init__(self, column: pa.Array) -> None:
        self._known: dict[tuple[str, ...], dict[str, pa.Array]] = {}
        self._column = column

    def at(self, path: tuple[str, ...]) -> pa.Array | None:
        """Return the column at a path, or None."""
        column: pa.Array | None = self._column
        for depth, part in enumerate(path):
            head = path[:depth]
            if head not in self._known:
                split = column is not None and pa.types.is_struct(column.type)
                names = [field.name for field in column.type] if split and column is not None else []
                self._known[head] = (
                    dict(zip(names, column.flatten(), strict=True)) if column is not None and split else {}
                )
            column = self._known[head].get(part)
            if column is None:
                return None
        return column


def _typed(
    column: pa.Array | None, leaf: StatisticsLeaf, length: int, problems: list[tuple[int, str]], *, upper: bool
) -> pa.Array:
    kind = to_arrow(leaf.type)
    if column is None or column.null_count == length:
        return pa.nulls(length, kind)
    if not column.type.equals(kind):
        try:
            column = column.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            column = _cast_each(column, leaf, problems, upper=upper)
    if pa.types.is_floating(kind):
        return without_nan(column)
    return _within_precision(column) if pa.types.is_decimal(kind) else column


def _cast_each(column: pa.Array, leaf: StatisticsLeaf, problems: list[tuple[int, str]], *, upper: bool) -> pa.Array:
    """Convert value by value, for columns that Arrow refuses as a whole."""
    values = column.to_pylist()
    converted = [bound_value(value, leaf.type, upper=upper) for value in values]
    name = ".".join(leaf.path)
    for row, (before, after) in enumerate(zip(values, converted, strict=True)):
        if before is not None and after is None:
            problems.append((row, f"{str(before)[:100]!r} is not a valid {leaf.type.name}, the type of {name}"))
    return typed_column(converted, leaf.type)


def _within_precision(column: pa.Array) -> pa.Array:
    """Return null for decimals with more digits than their type has, which Arrow's reader accepts."""
    kind = column.type
    halves = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset : column.offset + len(column)]
    largest = 10**kind.precision
    if kind.precision <= 18:
        fits = ((halves[:, 1] == 0) & (halves[:, 0] < largest) & (halves[:, 0] >= 0)) | (
            (halves[:, 1] == -1) & (halves[:, 0] > -largest) & (halves[:, 0] < 0)
        )
        if fits.all() or column.filter(bools((~fits).tolist())).null_count == (~fits).sum():
            return column
    values = column.to_pylist()
    limit = kind.precision - kind.scale
    within = [value if value is None or not value or value.adjusted() < limit else None for value in values]
    return column if within == values else typed_column(within, PrimitiveType("decimal", kind.precision, kind.scale))


def _counts(first: pa.Array | None, second: pa.Array | None, length: int) -> pa.Int64Array:
    import pyarrow.compute as pc

    known = [_count(column) for column in (first, second) if column is not None and column.null_count < length]
    if not known:
        return pa.nulls(length, pa.int64())
    return known[0] if len(known) == 1 else pc.coalesce(*known)


def _count(column: pa.Array) -> pa.Int64Array:
    try:
        counts = as_type(column, pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(column), pa.int64())
    values = np.frombuffer(counts.buffers()[1], np.int64)[counts.offset : counts.offset + len(counts)]
    if (values < 0).any():
        return int64s([value if value is None or value >= 0 else None for value in counts.to_pylist()])
    return counts


def _joined(arrays: list[pa.Array], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.nulls(0, kind)


# --- by row -----------------------------------------------------------------------------------------------------------


def _by_row(texts: pa.StringArray, leaves: Sequence[StatisticsLeaf]) -> ParsedTexts:
    decoded = [decode_statistics(text) for text in _texts(texts)]
    problems = [(row, value) for row, value in enumerate(decoded) if isinstance(value, str)]
    usable = [None if isinstance(value, str) else value for value in decoded]
    bounds = {leaf: _bounds_by_row(usable, leaf, problems) for leaf in leaves}
    tight = [None if value is None else _tight(value.get("tightBounds")) for value in usable]
    records = [None if value is None else count_value(value.get("numRecords")) for value in usable]
    return ParsedTexts(bools(tight), int64s(records), bounds, tuple(problems))


def _texts(texts: pa.StringArray) -> Iterator[str]:
    for text in texts.cast(pa.binary()).to_pylist():
        yield text.decode("utf-8", "replace")


def _tight(value: object) -> bool:
    """Return whether bounds are tight: absent means tight (STATS-006), neither true nor false means wide."""
    return value is None or value is True


def _bounds_by_row(
    usable: list[dict[str, object] | None], leaf: StatisticsLeaf, problems: list[tuple[int, str]]
) -> Bounds:
    sides: list[list[PrimitiveValue | None]] = [[], []]
    nulls = []
    for row, stats in enumerate(usable):
        for side, member in enumerate(("minValues", "maxValues")):
            bound = _at(stats, member, leaf.path) if leaf.has_bounds else None
            value = bound_value(bound, leaf.type, upper=bool(side))
            if bound is not None and value is None and str(bound) != "NaN":
                problems.append(
                    (row, f"{str(bound)[:100]!r} is not a valid {leaf.type.name}, the type of {'.'.join(leaf.path)}")
                )
            sides[side].append(value)
        count = count_value(_at(stats, "nullCount", leaf.path))
        nulls.append(count_value(_at(stats, "nullCounts", leaf.path)) if count is None else count)
    return Bounds(typed_column(sides[0], leaf.type), typed_column(sides[1], leaf.type), int64s(nulls))


def _at(stats: dict[str, object] | None, member: str, path: tuple[str, ...]) -> object:
    value: object = stats
    for part in (member, *path):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value
