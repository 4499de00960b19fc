"""The commits of a table as bars and lanes over its versions: the data of the timeline figure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask
from explorer.views.table.commits import CommitRecord, Commits, commit_sentence

__all__ = ["MARKS", "Lane", "Timeline", "timeline_of"]

MARKS = 480


@dataclass(frozen=True, slots=True)
class Lane:
    """A stripe under the bars: a name and the inclusive version ranges it covers."""

    name: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The bars, oldest first: equal-length arrays over marks (a version, or a bin of versions).

    Attributes:
        first, last: The versions the axis covers.
        width: Versions per mark.
        start: First version of each mark.
        added, removed, masked: Amounts in ``unit`` (masked may be negative: rows shown again).
        unknown: Whether an amount of the mark is not known.
        form: Whether schema, protocol or properties changed.
        unit: ``rows``, or ``files`` where no commit states its rows.
        labels: Plain text for each mark, unescaped.
    """

    first: int
    last: int
    width: int
    start: Int64s
    added: Float64s
    removed: Float64s
    masked: Float64s
    unknown: Mask
    form: Mask
    unit: str
    labels: tuple[str, ...]

    @property
    def square_root(self) -> bool:
        """Whether amounts differ so much that a linear scale would hide most bars."""
        amounts = np.abs(np.concatenate([self.added, self.removed, self.masked]))
        amounts = amounts[amounts > 0]
        return len(amounts) > 2 and bool(amounts.max() > 8 * np.median(amounts))

    @property
    def middles(self) -> Float64s:
        """Where each mark is on the axis."""
        return self.start.astype(np.float64) + (self.width - 1) / 2

    def position(self, version: int) -> float:
        """Return where a version is on the axis."""
        return self.first + (version - self.first) // self.width * self.width + (self.width - 1) / 2


def timeline_of(commits: Commits, window: tuple[int, int] | None = None) -> Timeline:
    """Measure the bars of a history, or of the versions in ``window`` (inclusive)."""
    kept = np.ones(len(commits), dtype=bool)
    if window is not None:
        kept = (commits.versions >= window[0]) & (commits.versions <= window[1])
    versions = commits.versions[kept]
    first, last = int(versions[0]), int(versions[-1])
    width = max(1, -(-(last - first + 1) // MARKS))
    unit, columns = _amounts(commits)
    bins = (versions - first) // width
    count = int(bins[-1]) + 1
    sums = [_summed(column[kept], bins, count) for column in columns]
    added, removed, masked = sums
    unknown = _summed(np.isnan(columns[0][kept]) | np.isnan(columns[1][kept]), bins, count) > 0
    form = _summed(commits.flags("metadata_changed", "protocol_changed", "schema_changed")[kept], bins, count) > 0
    start = first + np.arange(count) * width
    labels = tuple(_labels(commits, start) if width == 1 else _bin_labels(versions, start, sums, unit))
    return Timeline(first, last, width, start, added, removed, masked, unknown, form, unit, labels)


def _amounts(commits: Commits) -> tuple[str, tuple[Float64s, Float64s, Float64s]]:
    rows = commits.net("rows_added"), commits.net("rows_removed"), commits.values("rows_masked")
    if np.isfinite(rows[0]).any() or np.isfinite(rows[1]).any():
        return "rows", rows
    names = ("num_files_added", "num_files_removed", "num_files_remasked")
    added, removed, remasked = (commits.values(name) for name in names)
    return "files", (added, removed, remasked)


def _summed(values: Float64s | Mask, bins: Int64s, count: int) -> Float64s:
    return np.bincount(bins, weights=np.nan_to_num(values.astype(np.float64)), minlength=count).astype(np.float64)


def _labels(commits: Commits, start: Int64s) -> list[str]:
    return [_label(commits.record(int(v)), int(v)) if commits.has(int(v)) else f"v{v}: not in the log" for v in start]


def _bin_labels(versions: Int64s, start: Int64s, sums: list[Float64s], unit: str) -> list[str]:
    ends = [*(start[1:] - 1), versions[-1]]
    return [
        f"v{first} to v{last}\n+{fmt.compact(float(added))} \u2212{fmt.compact(float(removed))} {unit}"
        for first, last, added, removed in zip(start, ends, sums[0], sums[1], strict=True)
    ]


def _label(commit: CommitRecord | None, version: int) -> str:
    if commit is None:
        return f"v{version}"
    who = f" by {commit.user_name}" if commit.user_name else ""
    return f"v{version} {commit.operation}{who}\n{commit_sentence(commit)}\n{fmt.day(commit.timestamp)}"
