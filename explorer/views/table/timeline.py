"""The commits of a table as marks over its versions: the data of the version strip.

A window of versions is drawn commit by commit if there is room, else in bins of equal width. A bin hides no extreme:
it keeps its median commit and its largest one, and a commit above `ALONE` times the median of the table is taken
out of its bin and drawn alone. Everything is computed on columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask
from explorer.views.table.commits import CommitRecord, Commits, commit_sentence
from explorer.views.table.lanes import spans_of

__all__ = ["ALONE", "COLOURINGS", "MARKS", "Alone", "Colouring", "Heights", "Scale", "Signs", "Timeline", "timeline_of"]

MARKS = 480
"""Marks at most, unless the drawing has room for fewer."""
ALONE: Final = 5
"""How many times the median makes a commit one to be drawn alone."""
_MOST_ALONE: Final = 24
_LINEAR: Final = 8
_ROOT: Final = 60
_GROUPS: Final = 5
_WIDTHS: Final = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80)

Colouring: TypeAlias = Literal["effect", "author", "operation"]
COLOURINGS: Final[tuple[Colouring, ...]] = ("effect", "author", "operation")
_COLUMNS: Final[dict[str, str]] = {"author": "user_name", "operation": "operation"}


@dataclass(frozen=True, slots=True)
class Heights:
    """Rows of the commits of each mark in one direction: the median of those that have any, and the largest.

    Commits that are drawn alone are left out of both.
    """

    median: Float64s
    largest: Float64s


@dataclass(frozen=True, slots=True)
class Alone:
    """Commits far above the median, each drawn by itself.

    Attributes:
        amounts: Negative for rows that went; ``masked`` where most of them were masked and not removed.
        labels, details: What is written beside the bar, unescaped.
        groups: As in `Timeline.group`.
    """

    versions: Int64s
    amounts: Float64s
    masked: Mask
    labels: tuple[str, ...]
    details: tuple[str, ...]
    groups: Int64s


@dataclass(frozen=True, slots=True)
class Signs:
    """Marks that are not amounts, by version.

    Attributes:
        form: Versions whose schema, protocol or properties changed.
        protocols: Of those, the ones that changed the protocol, and its new versions in words.
        tags: Versions whose commit carries a text of its author (``userMetadata``), with the text.
        checkpoints: Versions with a checkpoint.
    """

    form: Int64s
    protocols: tuple[tuple[int, str], ...] = ()
    tags: tuple[tuple[int, str], ...] = ()
    checkpoints: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Scale:
    """How amounts become heights.

    Attributes:
        kind: ``linear``; ``root`` or ``log`` where amounts differ so much that a linear scale would hide most of them.
        least: Of a logarithmic scale: the amount far below which heights are proportional to amounts.
    """

    kind: Literal["linear", "root", "log"] = "linear"
    least: float = 1.0

    def heights(self, amounts: Float64s) -> Float64s:
        """Heights of amounts that are not negative."""
        match self.kind:
            case "linear":
                return amounts
            case "root":
                return np.sqrt(amounts)
            case "log":
                return np.log10(1 + amounts / self.least)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The marks, oldest first: equal-length arrays over marks (a version, or a bin of versions).

    Attributes:
        first, last: The versions the axis covers.
        width: Versions per mark.
        start: First version of each mark; a multiple of the width, so that a bin stays itself when the window moves.
        added, removed, masked: Sums in ``unit`` (masked may be negative: rows shown again).
        up, down: What came and what went, commit by commit: see `Heights`.
        unknown: Whether an amount of the mark is not known.
        form: Whether schema, protocol or properties changed.
        live: Live rows after the mark's last commit, NaN if unknown.
        alone: Commits drawn by themselves.
        signs: Diamonds and flags.
        gaps: Versions whose commit the log lacks, as inclusive ranges.
        times: Of each version of the window with a commit: `versions` and ms since the epoch, never falling.
        unit: ``rows``, or ``files`` where no commit states its rows.
        labels: Plain text for each mark, unescaped.
        group: For each mark the place of its colour in ``groups``, -1 for the rest.
        groups: Names of the authors or operations that have a colour.
        scale: How amounts become heights; the same for all windows of a table.
        top: The largest amounts above and below zero among all commits drawn.
    """

    first: int
    last: int
    width: int
    start: Int64s
    added: Float64s
    removed: Float64s
    masked: Float64s
    up: Heights
    down: Heights
    unknown: Mask
    form: Mask
    live: Float64s
    alone: Alone
    signs: Signs
    gaps: tuple[tuple[int, int], ...]
    versions: Int64s
    times: Int64s
    unit: str
    labels: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    group: Int64s
    groups: tuple[str, ...]
    scale: Scale
    top: tuple[float, float]

    @property
    def middles(self) -> Float64s:
        """Where each mark is on the axis."""
        return self.start.astype(np.float64) + (self.width - 1) / 2

    def position(self, version: int) -> float:
        """Return where a version is on the axis: in the middle of its mark."""
        return version // self.width * self.width + (self.width - 1) / 2


@dataclass(frozen=True, slots=True)
class _Amounts:
    """What each commit of a table did, before it is put into bins."""

    unit: str
    added: Float64s
    removed: Float64s
    masked: Float64s

    @property
    def up(self) -> Float64s:
        return _known(self.added) + np.maximum(-_known(self.masked), 0)

    @property
    def down(self) -> Float64s:
        return _known(self.removed) + np.maximum(_known(self.masked), 0)


def timeline_of(
    commits: Commits,
    window: tuple[int, int] | None = None,
    *,
    marks: int = MARKS,
    colouring: Colouring = "effect",
    signs: Signs | None = None,
) -> Timeline:
    """Measure the marks of a history, or of the versions in ``window`` (inclusive).

    Args:
        commits: The history; not empty.
        window: Versions to draw; all of them unless given.
        marks: Bins at most.
        colouring: What decides the colour of a mark.
        signs: The table's diamonds and flags; the diamonds alone unless given.
    """
    first, last = window or (commits.first, commits.last)
    kept = (commits.versions >= first) & (commits.versions <= last)
    versions = commits.versions[kept]
    width = _bin_width(last - first + 1, marks)
    origin = first // width if width > 1 else first
    count = (last // width if width > 1 else last) - origin + 1
    bins = (versions // width if width > 1 else versions) - origin
    start = (origin + np.arange(count)) * width
    amounts = _amounts(commits)
    limits = _limit(amounts.up), _limit(amounts.down)
    codes, groups = _groups(commits, colouring)
    alone_up, alone_down = _alone(amounts.up, limits[0], kept), _alone(amounts.down, limits[1], kept)
    up = _heights(np.where(alone_up, 0, amounts.up)[kept], bins, count)
    down = _heights(np.where(alone_down, 0, amounts.removed)[kept], bins, count)
    sums = [_summed(column[kept], bins, count) for column in (amounts.added, amounts.removed, amounts.masked)]
    unknown = _summed(np.isnan(amounts.added[kept]) | np.isnan(amounts.removed[kept]), bins, count) > 0
    form = commits.flags("metadata_changed", "protocol_changed", "schema_changed")
    records = _records(commits, kept) if width == 1 else {}
    if width == 1:
        labels = _labels(records, start)
    else:
        labels = _bin_labels(start, np.bincount(bins, minlength=count), sums, up, amounts.unit)
    return Timeline(
        first=first,
        last=last,
        width=width,
        start=start,
        added=sums[0],
        removed=sums[1],
        masked=sums[2],
        up=up,
        down=down,
        unknown=unknown,
        form=_summed(form[kept], bins, count) > 0,
        live=_last_known(commits.values("num_rows")[kept], bins, count),
        alone=_alone_commits(commits, amounts, alone_up, alone_down, codes),
        signs=_within(signs or Signs(commits.versions[form]), first, last),
        gaps=_gaps(versions, first, last),
        versions=versions,
        times=np.maximum.accumulate(commits.times[kept]) if len(versions) else np.zeros(0, np.int64),
        unit=amounts.unit,
        labels=tuple(labels),
        names=tuple(_names(records, start)) if width == 1 and count <= 60 else (),
        group=_dominant(codes[kept], bins, count, len(groups)),
        groups=groups,
        scale=_scale(amounts),
        top=(_top(amounts.up[kept]), _top(amounts.down[kept])),
    )  # fmt: skip


def _bin_width(span: int, marks: int) -> int:
    least = -(-span // max(marks, 1))
    found = next((width for width in _WIDTHS if width >= least), None)
    if found is not None:
        return found
    power: int = 10 ** (len(str(least)) - 2)
    return -(-least // power) * power


def _amounts(commits: Commits) -> _Amounts:
    rows = commits.net("rows_added"), commits.net("rows_removed"), commits.values("rows_masked")
    if np.isfinite(rows[0]).any() or np.isfinite(rows[1]).any():
        return _Amounts("rows", *rows)
    names = ("num_files_added", "num_files_removed", "num_files_remasked")
    added, removed, remasked = (commits.values(name) for name in names)
    return _Amounts("files", added, removed, remasked)


def _known(values: Float64s) -> Float64s:
    return np.nan_to_num(values)


def _top(values: Float64s) -> float:
    return float(values.max()) if len(values) else 0.0


def _limit(values: Float64s) -> float:
    """The amount above which a commit is drawn alone."""
    some = values[values > 0]
    return ALONE * float(np.median(some)) if len(some) > 2 else np.inf


def _alone(values: Float64s, limit: float, kept: Mask) -> Mask:
    """The largest commits of a window that are above the limit."""
    places = np.flatnonzero(kept & (values > limit))
    found = np.zeros(len(values), dtype=bool)
    found[places[np.argsort(-values[places], kind="stable")[:_MOST_ALONE]]] = True
    return found


def _scale(amounts: _Amounts) -> Scale:
    values = np.concatenate([amounts.up, amounts.down])
    values = values[values > 0]
    if len(values) < 3:
        return Scale()
    median = float(np.median(values))
    ratio = float(values.max()) / median
    if ratio <= _LINEAR:
        return Scale()
    return Scale("root") if ratio <= _ROOT else Scale("log", max(10.0 ** float(np.round(np.log10(median))), 1.0))


def _summed(values: Float64s | Mask, bins: Int64s, count: int) -> Float64s:
    return np.bincount(bins, weights=np.nan_to_num(values.astype(np.float64)), minlength=count).astype(np.float64)


def _heights(values: Float64s, bins: Int64s, count: int) -> Heights:
    """Median and largest of the positive values of each bin; 0 where there is none."""
    median, largest = np.zeros(count), np.zeros(count)
    values = _known(values)
    some = values > 0
    order = np.lexsort((values[some], bins[some]))
    sorted_values, sorted_bins = values[some][order], bins[some][order]
    if not len(sorted_bins):
        return Heights(median, largest)
    found, begin, sizes = np.unique(sorted_bins, return_index=True, return_counts=True)
    low, high = begin + (sizes - 1) // 2, begin + sizes // 2
    median[found] = (sorted_values[low] + sorted_values[high]) / 2
    largest[found] = sorted_values[begin + sizes - 1]
    return Heights(median, largest)


def _last_known(values: Float64s, bins: Int64s, count: int) -> Float64s:
    found = np.full(count, np.nan)
    found[bins] = values  # the last of a bin stays
    return found


def _groups(commits: Commits, colouring: Colouring) -> tuple[Int64s, tuple[str, ...]]:
    """Each commit's place among the authors or operations with most commits, and their names; -1 for the others."""
    if colouring == "effect":
        return np.full(len(commits), -1), ()
    encoded = pc.fill_null(commits.history.column(_COLUMNS[colouring]), "unknown").combine_chunks().dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy().astype(np.int64)
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")[:_GROUPS]
    place = np.full(len(names), -1)
    place[order] = np.arange(len(order))
    return place[codes], tuple(names[index] or "unknown" for index in order)


def _dominant(codes: Int64s, bins: Int64s, count: int, groups: int) -> Int64s:
    """The group with most commits of each bin."""
    if not groups:
        return np.full(count, -1)
    votes = np.bincount(bins * (groups + 1) + codes + 1, minlength=count * (groups + 1)).reshape(count, groups + 1)
    found: Int64s = votes.argmax(axis=1) - 1
    return found


def _alone_commits(commits: Commits, amounts: _Amounts, up: Mask, down: Mask, codes: Int64s) -> Alone:
    places = [*np.flatnonzero(up), *np.flatnonzero(down)]
    values = np.concatenate([amounts.up[up], -amounts.down[down]])
    records = [commits.record(int(commits.versions[place])) for place in places]
    return Alone(
        versions=commits.versions[places].astype(np.int64) if places else np.zeros(0, np.int64),
        amounts=values,
        masked=np.concatenate(
            [np.zeros(int(up.sum()), bool), (_known(amounts.masked) > _known(amounts.removed))[down]]
        ),
        labels=tuple(
            f"{'+' if value > 0 else chr(0x2212)}{fmt.compact(abs(float(value)))} {amounts.unit}" for value in values
        ),
        details=tuple(_detail(record) for record in records),
        groups=codes[places] if places else np.zeros(0, np.int64),
    )


def _detail(record: CommitRecord | None) -> str:
    if record is None:
        return ""
    return f"v{record.version} \u00b7 {record.operation}{f' by {record.user_name}' if record.user_name else ''}"


def _within(signs: Signs, first: int, last: int) -> Signs:
    return Signs(
        form=signs.form[(signs.form >= first) & (signs.form <= last)],
        protocols=tuple(sign for sign in signs.protocols if first <= sign[0] <= last),
        tags=tuple(sign for sign in signs.tags if first <= sign[0] <= last),
        checkpoints=tuple(version for version in signs.checkpoints if first <= version <= last),
    )


def _gaps(versions: Int64s, first: int, last: int) -> tuple[tuple[int, int], ...]:
    there = np.zeros(last - first + 1, np.int64)
    there[versions - first] = 1
    return tuple((a, b) for a, b, code in spans_of(np.arange(first, last + 1), there) if code == 0)


def _records(commits: Commits, kept: Mask) -> dict[int, CommitRecord]:
    return {record.version: record for record in commits.records_where(kept)}


def _labels(records: dict[int, CommitRecord], start: Int64s) -> list[str]:
    return [_label(records.get(version), version) for version in start.tolist()]


def _names(records: dict[int, CommitRecord], start: Int64s) -> list[tuple[str, str]]:
    """The operation and the time of each version, to be written below its bar."""
    return [
        (record.operation, _short_time(record)) if (record := records.get(version)) is not None else ("", "")
        for version in start.tolist()
    ]


def _short_time(record: CommitRecord) -> str:
    words = fmt.day(record.timestamp).split(" ")
    return f"{words[0]} {words[1]} {words[3]}" if record.timestamp else ""


def _bin_labels(start: Int64s, commits: Int64s, sums: Sequence[Float64s], up: Heights, unit: str) -> list[str]:
    width = int(start[1] - start[0]) if len(start) > 1 else 1
    columns = (start, commits, sums[0], sums[1], up.median, up.largest)
    return [
        f"v{first} to v{first + width - 1}, {fmt.plural(number, 'commit')}\n"
        f"+{fmt.compact(added)} \u2212{fmt.compact(removed)} {unit} in all\n"
        f"added: median {fmt.compact(median)}, largest {fmt.compact(largest)}"
        for first, number, added, removed, median, largest in zip(*(c.tolist() for c in columns), strict=True)
    ]


def _label(commit: CommitRecord | None, version: int) -> str:
    if commit is None:
        return f"v{version}: not in the log"
    who = f" by {commit.user_name}" if commit.user_name else ""
    return f"v{version} {commit.operation}{who}\n{commit_sentence(commit)}\n{fmt.day(commit.timestamp)}"
