"""The commits of a table as marks over its versions: the data of the version strip.

A window of versions is drawn commit by commit if there is room, else in bins of equal width, in versions or in time. A
bin hides no extreme: it keeps its median commit and its largest one, and a commit above `ALONE` times the median of the
table is taken out of its bin and drawn alone. Rows that a commit updated neither came nor went. Everything is computed
on columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask, joined
from explorer.core.versions.commits.amounts import CommitAmounts
from explorer.core.versions.commits.commits import Commits
from explorer.views.table.lanes import spans_of
from explorer.views.table.version_axis import (
    AxisKind,
    VersionAxis,
    VersionBins,
    bin_labels,
    commit_detail,
    version_labels,
    version_names,
)

MARKS = 480
"""Marks at most, unless the drawing has room for fewer."""
ALONE: Final = 5
"""How many times the median makes a commit one to be drawn alone."""
_MOST_ALONE: Final = 24
_LINEAR: Final = 8
_ROOT: Final = 60
_GROUPS: Final = 5
_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))

Colouring: TypeAlias = Literal["effect", "author", "operation"]
COLOURINGS: Final[tuple[Colouring, ...]] = ("effect", "author", "operation")
_COLUMNS: Final[dict[str, str]] = {"author": "user_name", "operation": "operation"}


@dataclass(frozen=True, slots=True)
class Heights:
    """Rows of the commits of each mark that came, went or were updated: the median of those with any, and the largest.

    Commits that are drawn alone are left out of both.
    """

    median: Float64s
    largest: Float64s


@dataclass(frozen=True, slots=True)
class Alone:
    """Commits far above the median, each drawn by itself.

    Attributes:
        amounts: Negative for rows that went; ``masked`` where most of them were masked and not removed; ``updated``
            where they were updated.
        labels, details: What is written beside the bar, unescaped.
        groups: As in `Timeline.group`.
    """

    versions: Int64s
    amounts: Float64s
    masked: Mask
    updated: Mask
    labels: tuple[str, ...]
    details: tuple[str, ...]
    groups: Int64s


@dataclass(frozen=True, slots=True)
class Signs:
    """Marks that are not amounts, by version.

    Attributes:
        form: Versions whose schema, protocol or properties changed.
        protocols: Of those, which are drawn filled, the ones that changed the protocol, and its new versions in words.
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

    @classmethod
    def of(cls, amounts: Float64s) -> Scale:
        """Return the scale for amounts of which the positive ones are drawn."""
        some = amounts[amounts > 0]
        if len(some) < 3:
            return cls()
        median = float(np.median(some))
        ratio = float(some.max()) / median
        if ratio <= _LINEAR:
            return cls()
        return cls("root") if ratio <= _ROOT else cls("log", max(10.0 ** float(np.round(np.log10(median))), 1.0))

    @property
    def words(self) -> str:
        """What to say of it behind the unit; empty where it is linear."""
        return {"linear": "", "root": ", \u221a scale", "log": ", log scale"}[self.kind]

    def heights(self, amounts: Float64s) -> Float64s:
        """Return heights of amounts that are not negative."""
        match self.kind:
            case "linear":
                return amounts
            case "root":
                return np.sqrt(amounts)
            case "log":
                return np.log10(1 + amounts / self.least)


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The marks, oldest first: equal-length arrays over marks (a version, or a bin of versions).

    Attributes:
        first, last: The versions the axis covers.
        axis: Where versions are.
        bins: The marks' versions and places; without a commit they are none on an axis of time.
        added, removed, masked, updated: Sums in ``unit`` (masked may be negative: rows shown again).
        up, down, changed: What came, went and was updated, commit by commit: see `Heights`.
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
    axis: VersionAxis
    bins: VersionBins
    added: Float64s
    removed: Float64s
    masked: Float64s
    updated: Float64s
    up: Heights
    down: Heights
    changed: Heights
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
    def start(self) -> Int64s:
        """First version of each mark."""
        return self.bins.starts

    @property
    def single(self) -> bool:
        """Whether each mark is one version."""
        return self.bins.single

    @property
    def width(self) -> int:
        """Of a mark, in units of the axis: versions, or ms."""
        return self.bins.width

    @property
    def width_in_words(self) -> str:
        """How much of the history is in one mark."""
        if self.axis.kind == "version":
            return str(self.width)
        unit, name = next(pair for pair in _UNITS if self.width >= pair[0])
        return f"{self.width / unit:.0f} {name}"

    @property
    def came(self) -> Float64s:
        """Rows that a reader sees more after each mark, by addition or because they are no longer masked."""
        return self.added + np.maximum(-self.masked, 0)

    @property
    def went(self) -> Float64s:
        """Rows that a reader sees no more after each mark, removed or masked."""
        return self.removed + np.maximum(self.masked, 0)

    @property
    def middles(self) -> Float64s:
        """Where each mark is on the axis."""
        return self.bins.middles

    @property
    def range(self) -> tuple[float, float]:
        """What the axis covers."""
        if self.axis.kind == "version":
            return self.first - 0.5, self.last + 0.5
        return float(self.middles[0]) - self.width / 2, float(self.middles[-1]) + self.width / 2

    def edges(self, first: int, last: int) -> tuple[float, float]:
        """Return where a range of versions, both inclusive, begins and ends on the axis.

        On an axis of time that is from the commit of the first to that of the version after the last; a range that
        reaches the ends of what is drawn covers them.
        """
        if self.axis.kind == "version":
            return first - 0.5, last + 0.5
        left, right = self.axis.places(np.array([first, last + 1])).tolist()
        start, end = self.range
        return (start if first <= self.first else left), (end if last >= self.last else right)

    def position(self, version: int) -> float:
        """Return where a version is on the axis: in the middle of its mark."""
        if self.axis.kind == "version":
            return version // self.width * self.width + (self.width - 1) / 2
        if not (len(self.start) and self.first <= version <= self.last):
            return self.axis.place(version)
        return float(self.middles[max(int(np.searchsorted(self.start, version, "right")) - 1, 0)])

    def version_at(self, place: float) -> int | None:
        """Return the last version of the mark that is nearest to a place on the axis; None beside the axis."""
        left, right = self.range
        if not left <= place < right or not len(self.start):
            return None
        return min(int(self.bins.ends[np.argmin(np.abs(self.middles - place))]), self.last)


def timeline_of(
    commits: Commits,
    window: tuple[int, int] | None = None,
    *,
    marks: int = MARKS,
    colouring: Colouring = "effect",
    signs: Signs | None = None,
    axis: AxisKind = "version",
) -> Timeline:
    """Measure the marks of a history, or of the versions in ``window`` (inclusive).

    Args:
        commits: The history; not empty.
        window: Versions to draw; all of them unless given.
        marks: Bins at most.
        colouring: What decides the colour of a mark.
        signs: The table's diamonds and flags; the diamonds alone unless given.
        axis: Whether versions or their times are equally far apart.
    """
    first, last = window or (commits.first, commits.last)
    shown = (commits.versions >= first) & (commits.versions <= last)
    versions = commits.versions[shown]
    placed = VersionAxis(axis, commits.versions, commits.times)
    marked = placed.bins((first, last), marks)
    bins, count = marked.of, len(marked.starts)
    amounts = commits.amounts
    codes, groups = _groups(commits, colouring)
    kinds = (amounts.up, amounts.down, amounts.updated)
    lonely = [_alone(values, _limit(values), shown) for values in kinds]
    up, down, changed = (
        _heights(np.where(alone, 0, values)[shown], bins, count)
        for alone, values in zip(lonely, (amounts.up, amounts.removed, amounts.updated), strict=True)
    )
    columns = (amounts.added, amounts.removed, amounts.masked, amounts.updated)
    sums = [_summed(column[shown], bins, count) for column in columns]
    unknown = _summed(amounts.unknown[shown], bins, count) > 0
    form = commits.form
    records = {record.version: record for record in commits.records_where(shown)} if marked.single else {}
    named = marked.single and axis == "version" and count <= 60
    return Timeline(
        first=first,
        last=last,
        axis=placed,
        bins=marked,
        added=sums[0],
        removed=sums[1],
        masked=sums[2],
        updated=sums[3],
        up=up,
        down=down,
        changed=changed,
        unknown=unknown,
        form=_summed(form[shown], bins, count) > 0,
        live=_last_known(commits.numbers("num_rows")[shown], bins, count),
        alone=_alone_commits(commits, amounts, lonely, codes),
        signs=_within(signs or Signs(commits.versions[form]), first, last),
        gaps=_gaps(versions, first, last),
        versions=versions,
        times=commits.times[shown],
        unit=amounts.unit,
        labels=version_labels(records, marked.starts)
        if marked.single
        else bin_labels(marked, sums, (up.median, up.largest), amounts.unit),
        names=tuple(version_names(records, marked.starts)) if named else (),
        group=_dominant(codes[shown], bins, count, len(groups)),
        groups=groups,
        scale=Scale.of(np.concatenate(kinds)),
        top=(_top(amounts.up[shown], amounts.updated[shown]), _top(amounts.down[shown], amounts.updated[shown])),
    )  # fmt: skip


def _known(values: Float64s) -> Float64s:
    return np.nan_to_num(values)


def _top(*kinds: Float64s) -> float:
    return max((float(values.max()) for values in kinds if len(values)), default=0.0)


def _limit(values: Float64s) -> float:
    """Return the amount above which a commit is drawn alone."""
    some = values[values > 0]
    return ALONE * float(np.median(some)) if len(some) > 2 else np.inf


def _alone(values: Float64s, limit: float, shown: Mask) -> Mask:
    """Return the largest commits of a window that are above the limit."""
    places = np.flatnonzero(shown & (values > limit))
    alone = np.zeros(len(values), dtype=bool)
    alone[places[np.argsort(-values[places], kind="stable")[:_MOST_ALONE]]] = True
    return alone


def _summed(values: Float64s | Mask, bins: Int64s, count: int) -> Float64s:
    return np.bincount(bins, weights=np.nan_to_num(values.astype(np.float64)), minlength=count).astype(np.float64)


def _heights(values: Float64s, bins: Int64s, count: int) -> Heights:
    """Return median and largest of the positive values of each bin; 0 without one."""
    median, largest = np.zeros(count), np.zeros(count)
    values = _known(values)
    some = values > 0
    order = np.lexsort((values[some], bins[some]))
    sorted_values, sorted_bins = values[some][order], bins[some][order]
    if not len(sorted_bins):
        return Heights(median, largest)
    occupied, begin, sizes = np.unique(sorted_bins, return_index=True, return_counts=True)
    low, high = begin + (sizes - 1) // 2, begin + sizes // 2
    median[occupied] = (sorted_values[low] + sorted_values[high]) / 2
    largest[occupied] = sorted_values[begin + sizes - 1]
    return Heights(median, largest)


def _last_known(values: Float64s, bins: Int64s, count: int) -> Float64s:
    known = np.full(count, np.nan)
    known[bins] = values  # the last of a bin stays
    return known


def _groups(commits: Commits, colouring: Colouring) -> tuple[Int64s, tuple[str, ...]]:
    """Return each commit's place among the most frequent authors or operations; -1 for others."""
    if colouring == "effect":
        return np.full(len(commits), -1), ()
    encoded = joined(pc.fill_null(commits.history.column(_COLUMNS[colouring]), "unknown")).dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy().astype(np.int64)
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")[:_GROUPS]
    place = np.full(len(names), -1)
    place[order] = np.arange(len(order))
    return place[codes], tuple(names[index] or "unknown" for index in order)


def _dominant(codes: Int64s, bins: Int64s, count: int, groups: int) -> Int64s:
    """Return the group with most commits of each bin."""
    if not groups:
        return np.full(count, -1)
    votes = np.bincount(bins * (groups + 1) + codes + 1, minlength=count * (groups + 1)).reshape(count, groups + 1)
    winners: Int64s = votes.argmax(axis=1) - 1
    return winners


def _alone_commits(commits: Commits, amounts: CommitAmounts, lonely: Sequence[Mask], codes: Int64s) -> Alone:
    """Return the commits that came, went and were updated alone, in this order; one may be there for two reasons."""
    places = np.concatenate([np.flatnonzero(chosen) for chosen in lonely])
    up, down, updated = lonely
    values = np.concatenate([amounts.up[up], -amounts.down[down], amounts.updated[updated]])
    kinds = np.repeat((0, 1, 2), [int(chosen.sum()) for chosen in lonely])
    signs = ("+", "\u2212", "\u0394")
    return Alone(
        versions=commits.versions[places],
        amounts=values,
        masked=(kinds == 1) & (_known(amounts.masked) > _known(amounts.removed))[places],
        updated=kinds == 2,
        labels=tuple(
            signs[kind] + fmt.plural(int(abs(value)), amounts.unit.removesuffix("s"), shown=fmt.compact)
            for kind, value in zip(kinds.tolist(), values.tolist(), strict=True)
        ),
        details=tuple(commit_detail(commits.record(version)) for version in commits.versions[places].tolist()),
        groups=codes[places],
    )


def _within(signs: Signs, first: int, last: int) -> Signs:
    return Signs(
        form=signs.form[(signs.form >= first) & (signs.form <= last)],
        protocols=tuple(sign for sign in signs.protocols if first <= sign[0] <= last),
        tags=tuple(sign for sign in signs.tags if first <= sign[0] <= last),
        checkpoints=tuple(version for version in signs.checkpoints if first <= version <= last),
    )


def _gaps(versions: Int64s, first: int, last: int) -> tuple[tuple[int, int], ...]:
    present = np.zeros(last - first + 1, np.int64)
    present[versions - first] = 1
    return tuple((a, b) for a, b, code in spans_of(np.arange(first, last + 1), present) if code == 0)
