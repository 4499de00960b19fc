"""What the marks of the version strip say: of one version, and of several together. Plain text, unescaped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s
from explorer.core.versions.commits.summary import CommitSummary
from explorer.views.table.commits import commit_sentence
from explorer.views.table.version_axis import Bins

__all__ = ["bin_labels", "commit_detail", "version_labels", "version_names"]


def version_labels(records: dict[int, CommitSummary], start: Int64s) -> tuple[str, ...]:
    """Return what is said of each version that is pointed at, as plain text."""
    return tuple(_label(records.get(version), version) for version in start.tolist())


def bin_labels(bins: Bins, sums: Sequence[Float64s], up: tuple[Float64s, Float64s], unit: str) -> tuple[str, ...]:
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
