"""Where versions are on the strip's axis (at their number, or at the time of their commit), and the words of marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s
from explorer.core.versions.commits.summary import CommitSummary
from explorer.views.table.commits import commit_sentence

AxisKind: TypeAlias = Literal["version", "time"]
AXES: Final[tuple[AxisKind, ...]] = ("version", "time")
_WIDTHS: Final = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80)
_SECOND: Final = 1_000
_TIMES: Final = tuple(
    unit * count
    for unit, counts in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (_SECOND, (1, 2, 5, 10, 20, 30)),
        (60 * _SECOND, (1, 2, 5, 10, 20, 30)),
        (3_600 * _SECOND, (1, 2, 3, 6, 12)),
        (86_400 * _SECOND, (1, 2, 7, 14, 30, 91, 182, 365)),
    )
    for count in counts
)


@dataclass(frozen=True, slots=True, eq=False)
class VersionBins:
    """The marks of a window: which of them each commit belongs to, and where they are.

    Attributes:
        of: For each commit of the window the place of its mark.
        starts, ends: First and last version of each mark.
        middles: Where each mark is on the axis.
        width: Of a mark, in units of the axis: versions, or ms.
    """

    of: Int64s
    starts: Int64s
    ends: Int64s
    middles: Float64s
    width: int

    @property
    def single(self) -> bool:
        """Whether each mark is one version."""
        return bool(np.array_equal(self.starts, self.ends))


@dataclass(frozen=True, slots=True, eq=False)
class VersionAxis:
    """From versions to places: versions themselves, or ms since the epoch.

    Attributes:
        versions: Those with a commit, ascending.
        times: Of their commits, ms since the epoch, never falling.
    """

    kind: AxisKind
    versions: Int64s
    times: Int64s

    def places(self, versions: Float64s | Int64s) -> Float64s:
        """Return where versions are; between two commits, and between their times, as far as the number is."""
        wanted = np.asarray(versions, np.float64)
        if self.kind == "version":
            return wanted
        return np.interp(wanted, self.versions, self.times)

    def place(self, version: float) -> float:
        """Return where one version is."""
        return float(self.places(np.array([version]))[0])

    def bins(self, window: tuple[int, int], most: int) -> VersionBins:
        """Return at most so many marks of equal width; a mark stays itself when the window moves."""
        inside = (self.versions >= window[0]) & (self.versions <= window[1])
        versions, times = self.versions[inside], self.times[inside]
        if self.kind == "version" or not len(versions):
            return _by_number(versions, window, most)
        return _by_time(versions, times, most)


def _by_number(versions: Int64s, window: tuple[int, int], most: int) -> VersionBins:
    first, last = window
    width = _versions_wide(last - first + 1, most)
    origin = first // width
    starts = np.arange(origin, last // width + 1) * width
    return VersionBins(versions // width - origin, starts, starts + width - 1, _floats(starts + (width - 1) / 2), width)


def _by_time(versions: Int64s, times: Int64s, most: int) -> VersionBins:
    length = int(times[-1] - times[0])
    least = max(length / max(most - 1, 1), 1)
    width = next((width for width in _TIMES if width >= least), int(np.ceil(least)))
    bins, begin, of = np.unique(times // width, return_index=True, return_inverse=True)
    ends = np.append(begin[1:], len(versions)) - 1
    return VersionBins(of.astype(np.int64), versions[begin], versions[ends], _floats((bins + 0.5) * width), width)


def _floats(values: object) -> Float64s:
    return np.asarray(values, np.float64)


def _versions_wide(span: int, most: int) -> int:
    least = -(-span // max(most, 1))
    chosen = next((width for width in _WIDTHS if width >= least), None)
    if chosen is not None:
        return chosen
    power: int = 10 ** (len(str(least)) - 2)
    return -(-least // power) * power


def version_labels(records: dict[int, CommitSummary], start: Int64s) -> tuple[str, ...]:
    """Return what is said of each version that is pointed at, as plain text."""
    return tuple(_label(records.get(version), version) for version in start.tolist())


def bin_labels(
    bins: VersionBins, sums: Sequence[Float64s], up: tuple[Float64s, Float64s], unit: str
) -> tuple[str, ...]:
    """Return the same of each mark of several commits; ``sums`` are added, removed, masked and updated."""
    commits = np.bincount(bins.of, minlength=len(bins.starts))
    columns = (bins.starts, bins.ends, commits, sums[0], sums[1], sums[3], *up)
    return tuple(
        f"v{first}{f' to v{last}' if last > first else ''}, {fmt.plural(number, 'commit')}\n"
        f"+{fmt.compact(added)} \u2212{fmt.compact(removed)} {unit} in all"
        f"{f', {chr(0x394)}{fmt.compact(updated)} updated' if updated else ''}\n"
        f"added: median {fmt.compact(median)}, largest {fmt.compact(largest)}"
        for first, last, number, added, removed, updated, median, largest in zip(
            *(column.tolist() for column in columns), strict=True
        )
    )


def version_names(records: dict[int, CommitSummary], start: Int64s) -> list[tuple[str, str]]:
    """Return the operation and the time of each version, to be written below its bar."""
    return [
        (record.operation, _short_time(record)) if (record := records.get(version)) is not None else ("", "")
        for version in start.tolist()
    ]


def commit_detail(record: CommitSummary | None) -> str:
    """Return which commit it is, in a few words; nothing for one that is not in the log."""
    if record is None:
        return ""
    return f"v{record.version} \u00b7 {record.operation}{f' by {record.user_name}' if record.user_name else ''}"


def _label(commit: CommitSummary | None, version: int) -> str:
    if commit is None:
        return f"v{version}: not in the log"
    author = f" by {commit.user_name}" if commit.user_name else ""
    return f"v{version} {commit.operation}{author}\n{commit_sentence(commit)}\n{_when(commit)}"


def _when(commit: CommitSummary) -> str:
    """Return the time at which it is drawn; if it is the writer's, also the file time."""
    text = fmt.day(commit.drawn)
    return text if commit.drawn == commit.timestamp else f"{text} by its writer; file of {fmt.day(commit.timestamp)}"


def _short_time(record: CommitSummary) -> str:
    words = fmt.day(record.drawn).split(" ")
    return f"{words[0]} {words[1]} {words[3]}" if record.drawn else ""
