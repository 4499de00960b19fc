"""The layout of a version's files: by partition, by size, and by group; and which of them an address chooses.

Invariants: each count and each sum is over all live files, and equal to those of the log; a file without a size counts
in no sum of bytes, and is counted apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrays import Int64s, Mask, numbers, one_array
from explorer.core.protocol.partition_values import partition_codes
from explorer.core.versions.snapshot import Snapshot
from explorer.views.layout.groups import (
    Colouring,
    FileGroup,
    FileGroups,
    by_age,
    by_masked_share,
    by_writer,
    snapshot_time,
    writer_of,
)
from explorer.views.layout.target import TargetSize, small_limit, target_size
from explorer.views.layout.writers import FileWriters, Writer, file_writers
from explorer.views.listing import Listing, ListingColumn, partition_words
from explorer.views.table.facts import TableFacts
from explorer.views.table.files import files_listing, partition_keys

BARS: Final = 40
"""Bars of partitions at most; where there are more partitions, a bar is of several that follow each other."""
_BINS: Final = 16
"""Bars of sizes at most."""
_NATURAL: Final = 20_000
"""Partitions up to which numbers in their names are compared as numbers."""
_DIGITS: Final = re.compile(r"(\d{1,18})", re.ASCII)
_COLUMNS: Final = ("partition_values", "size", "num_records", "dv_cardinality", "modification_time")
_SEPARATOR: Final = "\x1f"


@dataclass(frozen=True, slots=True)
class FileFigures:
    """The live files of a version, column by column, in the order of `Snapshot.files`.

    Attributes:
        sizes, records, masked, modified: Bytes, physical rows, masked rows, and ms since the epoch; 0 where not known.
        has_size, has_records, has_time: Masks of the known ones.
        places: The partition of each file, or where the table has none the day or hour in which it was written.
        names: The partitions in their order; of many those by the outer columns.
        axis: What the places are: names of columns, or ``day written``, ``hour written``; empty for one place.
        partitions: How many partitions the table has; 0 if it is not partitioned.
        writers: Who wrote each.
    """

    sizes: Int64s
    has_size: Mask
    records: Int64s
    has_records: Mask
    masked: Int64s
    modified: Int64s
    has_time: Mask
    places: Int64s
    names: tuple[str, ...]
    axis: str
    partitions: int
    writers: FileWriters


@dataclass(frozen=True, slots=True)
class LayoutBar:
    """One or several partitions that follow each other.

    Attributes:
        key: Names it in an address.
        label: The partition, or the first and the last.
        partitions: How many there are.
        files, sizes: Files and their bytes by group.
    """

    key: str
    label: str
    partitions: int
    files: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Files from a size on, up to another; by group."""

    low: int
    high: int
    files: tuple[int, ...]

    @property
    def key(self) -> str:
        """Names it in an address."""
        return f"{self.low}-{self.high}"


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """A group, and how many files with how many bytes it has."""

    group: FileGroup
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class SmallFiles:
    """The small files, and who wrote most of them.

    Attributes:
        limit: Bytes below which a file counts as small.
        files, size: All of them, and their bytes.
        writer: Who wrote most; with an empty operation if their commits are not in the log.
        written, written_size: Those of that writer, and their bytes.
        commits: How many commits of that writer added them.
        versions: The first and the last of these; None if they are not in the log.
    """

    limit: int
    files: int
    size: int
    writer: Writer
    written: int
    written_size: int
    commits: int
    versions: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The layout of a version.

    Attributes:
        files, size, sizeless: Live files, the bytes of those with a size, and how many have none.
        axis: As in `FileFigures`.
        partitions: As in `FileFigures`.
        bars: By partition.
        bins: By size.
        empty: Files of zero bytes, which are in no bin.
        groups: What the colours are.
        target: The size that files should have.
        small: The small files; None where there are few.
    """

    files: int
    size: int
    sizeless: int
    axis: str
    partitions: int
    bars: tuple[LayoutBar, ...]
    bins: tuple[SizeBin, ...]
    empty: int
    groups: tuple[GroupTotals, ...]
    target: TargetSize
    small: SmallFiles | None


@dataclass(frozen=True, slots=True)
class FileChoice:
    """Which files the list shows, as an address has it.

    Attributes:
        partition: The key of a bar.
        sizes: The key of a bin.
        group: The key of a group.
    """

    partition: str = ""
    sizes: str = ""
    group: str = ""

    def __bool__(self) -> bool:
        return bool(self.partition or self.sizes or self.group)

    @property
    def range(self) -> tuple[int, int] | None:
        """Bytes from and up to which a file has; None for all."""
        low, _, high = self.sizes.partition("-")
        if not (low.isdecimal() and high.isdecimal() and max(len(low), len(high)) < 19):
            return None
        return int(low), int(high)


def file_figures(facts: TableFacts, version: int) -> FileFigures:
    """Return the live files of a version, column by column."""
    return facts.keep(("file figures", version), lambda: _figures(facts, version))


def table_layout(facts: TableFacts, version: int, colouring: Colouring = "writer") -> TableLayout:
    """Return the layout of a version."""
    return facts.keep(("layout", version, colouring), lambda: _layout(facts, version, colouring))


def chosen_files(facts: TableFacts, version: int, choice: FileChoice) -> Listing:
    """Return the list of live files with the commit that wrote each, and of them those that a choice names.

    A part of the choice that names nothing that the version has leaves no file.
    """
    listing = facts.keep(("files and commits", version), lambda: _with_commits(facts, version))
    if not choice:
        return listing
    mask = _mask(facts, version, choice)
    return replace(listing, table=listing.table.filter(pa.array(mask)))


def _mask(facts: TableFacts, version: int, choice: FileChoice) -> Mask:
    figures = file_figures(facts, version)
    mask = np.ones(len(figures.sizes), bool)
    if choice.partition:
        names = {name: place for place, name in enumerate(figures.names)}
        first, _, last = choice.partition.partition(_SEPARATOR)
        start, end = names.get(first, -1), names.get(last or first, -1)
        mask &= (figures.places >= start) & (figures.places <= end) & (start >= 0)
    if choice.sizes:
        low, high = choice.range or (0, 0)
        mask &= figures.has_size & (figures.sizes >= low) & (figures.sizes < high)
    if choice.group:
        mask &= _members(facts, version, choice.group)
    return mask


def _members(facts: TableFacts, version: int, key: str) -> Mask:
    figures = file_figures(facts, version)
    none = np.zeros(len(figures.sizes), bool)
    kind = key.partition("-")[0].removeprefix("unknown-")
    if key.startswith(("age-", "share-", "unknown-age", "unknown-share")):
        colouring: Colouring = "age" if "age" in key.split("-")[:2] else "masked"
        group = _groups(facts, version, colouring).of(key)
        return none if group is None else group
    if kind == "others":
        group = _groups(facts, version, "writer").of(key)
        return none if group is None else group
    writer = writer_of(key)
    writers = figures.writers.writers
    return figures.writers.codes == writers.index(writer) if writer in writers else none


def _figures(facts: TableFacts, version: int) -> FileFigures:
    snapshot = facts.snapshot(version)
    files = snapshot.files(_COLUMNS)
    columns = {name: numbers(one_array(files.column(name).chunks, pa.int64())) for name in _COLUMNS[1:]}
    (sizes, has_size), (records, has_records) = columns["size"], columns["num_records"]
    (masked, has_masked), (modified, has_time) = columns["dv_cardinality"], columns["modification_time"]
    places, names, axis = _places(snapshot, files)
    return FileFigures(
        np.where(has_size, sizes, 0).astype(np.int64),
        has_size,
        np.where(has_records, records, 0).astype(np.int64),
        has_records,
        np.where(has_masked, masked, 0).astype(np.int64),
        np.where(has_time, modified, 0).astype(np.int64),
        has_time,
        places,
        names,
        axis,
        _partitions(snapshot, files),
        file_writers(facts, version),
    )


def _partitions(snapshot: Snapshot, files: pa.Table) -> int:
    codes = partition_codes(files.column("partition_values"))
    return int(codes.max(initial=-1)) + 1 if snapshot.partition_columns else 0


def _places(snapshot: Snapshot, files: pa.Table) -> tuple[Int64s, tuple[str, ...], str]:
    if not files.num_rows:
        return np.zeros(0, np.int64), (), ""
    keys = partition_keys(snapshot)
    for shown in range(len(keys), 0, -1):
        # Of many partitions the outer columns are drawn, so that a bar is one value and not some of several.
        places, names = _ranked(partition_words(files.column("partition_values"), keys[:shown]))
        if len(names) <= BARS or shown == 1:
            return places, names, ", ".join(name for name, _ in keys[:shown])
    times = files.column("modification_time").cast(pa.timestamp("ms"))
    for axis, letters in (("day written", 10), ("hour written", 13)):
        texts = pc.utf8_slice_codeunits(times.cast(pa.string()), 0, letters)
        places, names = _ranked(pc.fill_null(texts, "unknown"))
        if len(names) > 1:
            return places, tuple(f"{name}:00" if letters > 10 and name != "unknown" else name for name in names), axis
    return np.zeros(files.num_rows, np.int64), names, ""


def _ranked(words: pa.ChunkedArray) -> tuple[Int64s, tuple[str, ...]]:
    """Return the place of each word among the different ones, and these in their order: numbers by their value."""
    encoded = one_array(words.chunks, pa.string()).dictionary_encode()
    names: list[str] = encoded.dictionary.to_pylist()
    natural = len(names) <= _NATURAL
    order = sorted(range(len(names)), key=lambda place: _natural(names[place]) if natural else [(0, 0, names[place])])
    ranks = np.empty(len(names), np.int64)
    ranks[order] = np.arange(len(names))
    return ranks[numbers(encoded.indices)[0]], tuple(names[place] for place in order)


def _natural(word: str) -> list[tuple[int, int, str]]:
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in _DIGITS.split(word) if part]


def _groups(facts: TableFacts, version: int, colouring: Colouring) -> FileGroups:
    figures = file_figures(facts, version)
    match colouring:
        case "writer":
            small = _small(figures, target_size(facts.snapshot(version)))
            return by_writer(figures.writers, None if small is None else small.writer)
        case "age":
            now = snapshot_time(facts.snapshot(version))
            return by_age(figures.modified, figures.has_time, now)
        case "masked":
            return by_masked_share(figures.masked, figures.records, figures.has_records)


def _layout(facts: TableFacts, version: int, colouring: Colouring) -> TableLayout:
    snapshot, figures = facts.snapshot(version), file_figures(facts, version)
    target, groups = target_size(snapshot), _groups(facts, version, colouring)
    count = len(groups.groups)
    files, sizes = np.bincount(groups.codes, minlength=count), _sums(groups.codes, figures.sizes, count)
    return TableLayout(
        files=len(figures.sizes),
        size=int(figures.sizes.sum()),
        sizeless=int((~figures.has_size).sum()),
        axis=figures.axis,
        partitions=figures.partitions,
        bars=_bars(figures, groups),
        bins=_bins(figures, groups, target.size),
        empty=int((figures.has_size & (figures.sizes <= 0)).sum()),
        groups=tuple(
            GroupTotals(group, int(files[place]), int(sizes[place])) for place, group in enumerate(groups.groups)
        ),
        target=target,
        small=_small(figures, target),
    )


def _sums(codes: Int64s, values: Int64s, count: int) -> Int64s:
    """Return exact sums by code; floating-point weights would round those beyond 2**53."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, codes, values)
    return sums


def _bars(figures: FileFigures, groups: FileGroups) -> tuple[LayoutBar, ...]:
    partitions, count = len(figures.names), len(groups.groups)
    if not figures.axis or not partitions:
        return ()
    width = -(-partitions // BARS)
    bars = -(-partitions // width)
    codes = (figures.places // width) * count + groups.codes
    files = np.bincount(codes, minlength=bars * count).reshape(bars, count)
    sizes = _sums(codes, figures.sizes, bars * count).reshape(bars, count)
    return tuple(_bar(figures.names[bar * width : (bar + 1) * width], files[bar], sizes[bar]) for bar in range(bars))


def _bar(names: tuple[str, ...], files: Int64s, sizes: Int64s) -> LayoutBar:
    one = len(names) == 1
    first, last = (_short(name) for name in (names[0], names[-1]))
    return LayoutBar(
        names[0] if one else f"{names[0]}{_SEPARATOR}{names[-1]}",
        first if one else f"{first} to {last}",
        len(names),
        tuple(files.tolist()),
        tuple(sizes.tolist()),
    )


def _short(name: str) -> str:
    """Return a partition by its values alone: the axis names the columns."""
    return ", ".join(part.partition("=")[2] or part for part in name.split(", "))


def _bins(figures: FileFigures, groups: FileGroups, target: int) -> tuple[SizeBin, ...]:
    """Return files by powers of two, or four, or more of their size, from the smallest to the largest or the target."""
    counted = figures.has_size & (figures.sizes > 0)
    if not counted.any():
        return ()
    powers = np.frexp(figures.sizes[counted].astype(np.float64))[1] - 1
    # A float is rounded, so that a size just below a power of two would be in the bin above.
    powers -= figures.sizes[counted] < (np.int64(1) << np.minimum(powers, 62).astype(np.int64))
    low, high = int(powers.min()), max(int(powers.max()), target.bit_length() - 1)
    count, width = len(groups.groups), -(-(high - low + 1) // _BINS)
    codes = (powers - low).astype(np.int64) // width * count + groups.codes[counted]
    bins = -(-(high - low + 1) // width)
    files = np.bincount(codes, minlength=bins * count).reshape(bins, count)
    return tuple(
        SizeBin(1 << (low + place * width), 1 << (low + (place + 1) * width), tuple(row))
        for place, row in enumerate(files.tolist())
    )


def _small(figures: FileFigures, target: TargetSize) -> SmallFiles | None:
    limit = small_limit(figures.sizes, figures.has_size, target.size)
    if not limit:
        return None
    small = figures.has_size & (figures.sizes < limit)
    counts = np.bincount(figures.writers.codes[small], minlength=len(figures.writers.writers))
    most = int(counts.argmax())
    own = small & (figures.writers.codes == most)
    versions = np.unique(figures.writers.versions[own])
    known = bool(figures.writers.writers[most].operation) and len(versions) > 0
    return SmallFiles(
        limit,
        int(small.sum()),
        int(figures.sizes[small].sum()),
        figures.writers.writers[most],
        int(own.sum()),
        int(figures.sizes[own].sum()),
        len(versions) if known else 0,
        (int(versions[0]), int(versions[-1])) if known else None,
    )


def _with_commits(facts: TableFacts, version: int) -> Listing:
    listing, figures = files_listing(facts, version), file_figures(facts, version)
    versions = figures.writers.versions
    commits = pa.array(versions, mask=versions < 0)
    column = ListingColumn("commit", "commit", "version", "not in the log")
    return replace(listing, columns=(*listing.columns, column), table=listing.table.append_column("commit", commits))
