"""The commit that wrote each live file: the one that first added its path, whatever masked or restored it since.

Invariants: files are in the order of `Snapshot.files`; a file from before the first commit in the log has no writer,
and neither has one whose first commit in the log only brought it back or took it over from another table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrays import Int64s, Mask, numbers, one_array
from explorer.core.versions.commits.commits import Commits
from explorer.core.versions.lifetimes.lifetimes import Lifetimes
from explorer.views.table.facts import TableFacts

UNKNOWN: Final = -1
_WRITE_NO_FILES: Final = ("RESTORE", "CLONE")


@dataclass(frozen=True, slots=True)
class Writer:
    """An operation and its author; both are empty for files whose commit is not in the log."""

    operation: str
    author: str

    @property
    def words(self) -> str:
        """The two as people read them."""
        if not self.operation:
            return "not in the log"
        return f"{self.operation} by {self.author}" if self.author else self.operation


@dataclass(frozen=True, slots=True)
class FileWriters:
    """Who wrote the live files of a version.

    Attributes:
        versions: The version that added each file; `UNKNOWN` where its commit is not in the log.
        codes: The place of each file's writer in ``writers``.
        writers: Each operation with its author, the most files first; those that are not known come last.
    """

    versions: Int64s
    codes: Int64s
    writers: tuple[Writer, ...]


def file_writers(facts: TableFacts, version: int) -> FileWriters:
    """Return who wrote each live file of a version; nobody is known where the history cannot be read."""
    paths = facts.snapshot(version).files(["path"]).column(0)
    versions = np.full(len(paths), UNKNOWN, np.int64)
    if len(facts.commits) and facts.commits.has(version):
        versions = _versions(facts.log.history_record().lifetimes, facts.commits, version, paths)
    return _named(versions, facts.commits)


def written_by(life: Lifetimes, commits: Commits, rows: Int64s) -> Int64s:
    """Return the version of the commit that wrote the file of each instance; `UNKNOWN` where the log has none."""
    added_in = life.first_added[rows].astype(np.int64)
    took_over = commits.versions[np.isin(commits.texts("operation"), _WRITE_NO_FILES)]
    return np.where((added_in < life.first) | np.isin(added_in, took_over), UNKNOWN, added_in).astype(np.int64)


def _versions(life: Lifetimes, commits: Commits, version: int, paths: pa.ChunkedArray) -> Int64s:
    rows = np.flatnonzero(life.live(version))
    written = written_by(life, commits, rows)
    places, known = numbers(one_array(pc.index_in(paths, life.take(rows, ["path"]).column(0)).chunks, pa.int32()))
    return np.where(known, written[np.where(known, places, 0)] if len(written) else UNKNOWN, UNKNOWN).astype(np.int64)


def _named(versions: Int64s, commits: Commits) -> FileWriters:
    unknown = Writer("", "")
    recorded: Mask = np.isin(versions, commits.versions)
    if not len(versions):
        return FileWriters(versions, versions, ())
    if not recorded.any():
        return FileWriters(np.full(len(versions), UNKNOWN, np.int64), np.zeros(len(versions), np.int64), (unknown,))
    by_commit = [
        Writer(operation or "commit", author)
        for operation, author in zip(commits.texts("operation"), commits.texts("user_name"), strict=True)
    ]
    places = {writer: place for place, writer in enumerate(dict.fromkeys(by_commit))}
    numbered = np.array([places[writer] for writer in by_commit], np.int64)
    at = np.searchsorted(commits.versions, np.where(recorded, versions, commits.versions[0]))
    codes = np.where(recorded, numbered[at], len(places))
    counts = np.bincount(codes, minlength=len(places) + 1)
    ordered = [int(place) for place in np.argsort(-counts[:-1], kind="stable") if counts[place]]
    writers = [*places, unknown]
    if counts[-1]:
        ordered.append(len(places))
    ranks = np.zeros(len(places) + 1, np.int64)
    ranks[ordered] = np.arange(len(ordered))
    return FileWriters(np.where(recorded, versions, UNKNOWN), ranks[codes], tuple(writers[place] for place in ordered))
