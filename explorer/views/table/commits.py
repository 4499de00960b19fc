"""The history of a table as the views need it: one record per commit, and columns over all versions.

Input is the Arrow table of `Table.history()`, newest first. Rows that a commit only rewrote (compaction, copy-on-write)
are subtracted from what it added and removed, so that a physical rewrite is never shown as a logical change. So are
the rows that it updated, by its operation's metrics: they neither came nor went.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask, flags, floats, only_array
from explorer.core.versions.commit_times import is_doubtful
from explorer.core.versions.updated_rows import rewritten_rows, updated_rows

__all__ = ["CommitRecord", "Commits", "TimeBasis", "commit_sentence", "plain_reason"]

_DAY = 86_400_000


@dataclass(frozen=True, slots=True)
class TimeBasis:
    """What the time of a commit is from.

    Attributes:
        word: ``in-commit`` or ``file time``.
        detail: What that means.
        warning: What the commit's writer said instead, where the file has another time by an hour or more; else empty.
    """

    word: str
    detail: str
    warning: str = ""


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """One commit. Counts are ``None`` where the log does not say.

    Rows are those a reader sees, net of rewrites and of those updated; ``num_rows`` is their number after the commit.
    Sizes are bytes. ``updated_masked`` are those updated whose earlier values a deletion vector hides. ``written`` is
    the time by the writer's clock, and ``redated`` says that it is drawn at that time.
    """

    version: int
    timestamp: datetime | None
    operation: str
    user_name: str
    engine_info: str
    parameters: dict[str, str | None] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    files_added: int | None = None
    files_removed: int | None = None
    files_remasked: int | None = None
    bytes_added: int | None = None
    bytes_removed: int | None = None
    rows_added: int | None = None
    rows_removed: int | None = None
    rows_masked: int | None = None
    rows_rewritten: int | None = None
    rows_updated: int = 0
    updated_masked: int = 0
    num_files: int | None = None
    num_bytes: int | None = None
    num_rows: int | None = None
    num_deleted_rows: int | None = None
    metadata_changed: bool = False
    protocol_changed: bool = False
    schema_changed: bool = False
    timestamp_basis: str = ""
    written: datetime | None = None
    redated: bool = False

    @property
    def drawn(self) -> datetime | None:
        """The time at which it is drawn; see `Commits.redated`."""
        return self.written if self.redated else self.timestamp

    @property
    def predicate(self) -> str:
        """The predicate; writers record it as text, or as a list of texts in JSON."""
        found = self.parameters.get("predicate") or ""
        try:
            parts = json.loads(found)
        except (ValueError, RecursionError):
            return found
        return " AND ".join(map(str, parts)) if isinstance(parts, list) else found

    @property
    def said_parameters(self) -> tuple[tuple[str, str], ...]:
        """Its operation's parameters that say something, by name, as people read them."""
        said = {**self.parameters, "predicate": self.predicate}
        return tuple((name, text) for name, text in sorted(said.items()) if text not in (None, "", "[]", "{}"))

    @property
    def basis(self) -> TimeBasis:
        """What its time is from."""
        return _basis(self)

    @property
    def form_changes(self) -> tuple[str, ...]:
        """Which of schema, protocol and properties changed, in words; the first commit creates all of them."""
        if self.version == 0 and self.changes_form:
            return ("created",)
        properties = self.metadata_changed and not self.schema_changed
        named = {"schema": self.schema_changed, "protocol": self.protocol_changed, "properties": properties}
        return tuple(name for name, changed in named.items() if changed)

    @property
    def changes_form(self) -> bool:
        """Whether schema, protocol or properties changed (the diamond)."""
        return self.metadata_changed or self.protocol_changed or self.schema_changed


class Commits:
    """All commits of a table, oldest first.

    Args:
        history: The Arrow table of `Table.history()`, or None where it cannot be read.
    """

    def __init__(self, history: pa.Table | None) -> None:
        self.history = (
            pa.table({"version": pa.array([], pa.int64())}) if history is None else history.sort_by("version")
        )
        self.versions = self.integers("version", 0)
        self._row_of = {int(version): row for row, version in enumerate(self.versions)}

    def __len__(self) -> int:
        return len(self.versions)

    @property
    def first(self) -> int:
        """The oldest version with a commit in the log."""
        return int(self.versions[0])

    @property
    def last(self) -> int:
        """The newest version."""
        return int(self.versions[-1])

    def has(self, version: int) -> bool:
        """Whether the log still holds the commit of a version."""
        return version in self._row_of

    def record(self, version: int) -> CommitRecord | None:
        """Return the commit of a version, or ``None`` if it is no longer in the log."""
        row = self._row_of.get(version)
        if row is None:
            return None
        one = slice(row, row + 1)
        return _records_of(self.history.slice(row, 1), self.updated[one], self.redated[one])[0]

    def records(self, from_version: int, to_version: int, limit: int = 50) -> list[CommitRecord]:
        """Return up to ``limit`` newest commits of (from, to], newest first."""
        wanted = [version for version in self.versions if from_version < version <= to_version][-limit:]
        return [record for version in reversed(wanted) if (record := self.record(int(version))) is not None]

    def newest_first(self) -> list[CommitRecord]:
        """Return all commits, newest first."""
        return _records_of(self.history, self.updated, self.redated)[::-1]

    def records_where(self, chosen: Mask) -> list[CommitRecord]:
        """Return the commits of a mask over all of them, oldest first."""
        return _records_of(self.history.filter(pa.array(chosen)), self.updated[chosen], self.redated[chosen])

    @cached_property
    def times(self) -> Int64s:
        """Times to draw commits at, ms since the epoch, never falling; that of the commit before where one is unknown.

        Where the time of a commit's file is more than a day from its writer's clock, it is the writer's: a copy of the
        table gives all files the time of the copy. Versions are still looked up by the times of the files.
        """
        if not len(self):
            return np.zeros(0, np.int64)
        return np.maximum.accumulate(np.where(self.redated, self._written, self._stated))

    @cached_property
    def redated(self) -> Mask:
        """Where the writer's time is drawn in place of the file's.

        A clock that ran ahead would move all later commits: its time is drawn only if no later commit is before it.
        """
        if not len(self):
            return np.zeros(0, bool)
        by_file = np.array(self.texts("timestamp_basis")) == "file"
        known = self.history.column("commit_info_timestamp").is_valid().to_numpy()
        apart = by_file & known & (np.abs(self._stated - self._written) > _DAY)
        drawn = np.where(apart, self._written, self._stated)
        later = np.append(np.minimum.accumulate(drawn[::-1])[::-1][1:], np.iinfo(np.int64).max)
        found: Mask = apart & ((self._written < self._stated) | (self._written <= later))
        return found

    @property
    def redated_note(self) -> str:
        """Which times are drawn that are not those of the files, and why; empty if there are none."""
        count = int(self.redated.sum())
        if not count:
            return ""
        of = "All commits" if count == len(self) else f"{fmt.count(count)} of {fmt.plural(len(self), 'commit')}"
        return (
            f"{of} are drawn at the time that their writers recorded. Their files are more than a day from it, as "
            "after a copy of the table; time travel by timestamp still uses the times of the files."
        )

    @cached_property
    def _stated(self) -> Int64s:
        return self._moments("timestamp")

    @cached_property
    def _written(self) -> Int64s:
        return self._moments("commit_info_timestamp")

    def _moments(self, column: str) -> Int64s:
        found = self.history.column(column).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        moments: Int64s = found.astype(np.int64)
        return moments

    def values(self, column: str) -> Float64s:
        """Return a numeric column as float64, NaN where unknown."""
        return floats(self.history.column(column))

    def integers(self, column: str, unknown: int = 0) -> Int64s:
        """Return an integer column as int64, ``unknown`` for null."""
        values = self.values(column)
        return np.where(np.isnan(values), unknown, values).astype(np.int64)

    def flags(self, *columns: str) -> Mask:
        """Return where any of the boolean columns is true."""
        result = np.zeros(len(self), dtype=bool)
        for column in columns:
            result |= flags(only_array(self.history, column))
        return result

    def texts(self, column: str) -> list[str]:
        """Return a text column, empty for null."""
        return [value or "" for value in self.history.column(column).to_pylist()]

    def net(self, column: str) -> Float64s:
        """Return ``rows_added`` or ``rows_removed`` less the rows only rewritten, NaN where unknown."""
        return np.maximum(self.values(column) - rewritten_rows(self.history), 0)

    @cached_property
    def updated(self) -> Int64s:
        """Rows updated, as the operations' metrics say; 0 where they say nothing, or more than the files can hold."""
        return updated_rows(self.history)


def commit_sentence(commit: CommitRecord | None) -> str:
    """Say in a few words what a commit did to rows and files, without the operation's name.

    >>> commit_sentence(None)
    'its commit is no longer in the log'
    """
    if commit is None:
        return "its commit is no longer in the log"
    parts = [text for text in _row_words(commit) if text]
    parts = parts or [text for text in _file_words(commit) if text]
    moved = commit.rows_added or commit.rows_removed or commit.rows_masked or commit.rows_updated
    if commit.rows_rewritten and not moved:
        parts = [f"{fmt.plural(commit.rows_rewritten, 'row')} rewritten, none changed"]
    if commit.changes_form:
        parts.append(_form_words(commit))
    return ", ".join(parts) or "no change to the data"


def _basis(commit: CommitRecord) -> TimeBasis:
    if commit.timestamp_basis == "in-commit":
        return TimeBasis("in-commit", "The time is in the commit itself: in-commit timestamps are on.")
    detail = (
        "The time is that of the commit's file: in-commit timestamps are off, and a copy of the table changes it. "
        "Versions are looked up by it."
    )
    if not is_doubtful(commit.timestamp, commit.timestamp_basis, commit.written):
        return TimeBasis("file time", detail)
    warning = f"Its writer's clock said {fmt.moment(commit.written)}: the file was copied, or a clock was wrong."
    return TimeBasis("file time", detail, warning)


def _row_words(commit: CommitRecord) -> list[str]:
    masked = commit.rows_masked
    if commit.operation == "RESTORE" and commit.rows_added and commit.rows_removed:
        # Files that came back and files that went may hold the same rows, written again in between.
        net = commit.rows_added - commit.rows_removed - (masked or 0)
        sign = "+" if net > 0 else "\u2212"
        return [f"{sign}{fmt.plural(abs(net), 'row')} net" if net else "as many rows as before"]
    added, removed = commit.rows_added or 0, commit.rows_removed or 0
    return [
        f"\u0394{fmt.plural(commit.rows_updated, 'row')} updated" if commit.rows_updated else "",
        f"+{fmt.count(added) if removed else fmt.plural(added, 'row')}" if added else "",
        f"\u2212{fmt.plural(removed, 'row')}" if removed else "",
        f"{fmt.plural(masked, 'row')} masked" if masked and masked > 0 else "",
        f"{fmt.plural(-masked, 'row')} unmasked" if masked and masked < 0 else "",
    ]


def _file_words(commit: CommitRecord) -> list[str]:
    return [
        f"+{fmt.plural(commit.files_added, 'file')}" if commit.files_added else "",
        f"\u2212{fmt.plural(commit.files_removed, 'file')}" if commit.files_removed else "",
        f"{fmt.plural(commit.files_remasked, 'file')} re-masked" if commit.files_remasked else "",
    ]


def _form_words(commit: CommitRecord) -> str:
    if commit.version == 0:
        return "table created"
    return f"{' and '.join(commit.form_changes)} changed"


def _records_of(rows: pa.Table, updated: Int64s, redated: Mask) -> list[CommitRecord]:
    each = zip(rows.to_pylist(), updated.tolist(), redated.tolist(), strict=True)
    return [_record(row, number, redated=is_redated) for row, number, is_redated in each]


def _record(row: Mapping[str, Any], updated: int, *, redated: bool) -> CommitRecord:
    rewritten = row["rows_rewritten"] or 0
    if row["rows_added"] is not None:
        rewritten = min(rewritten, row["rows_added"] - updated)
    removed = _net(row["rows_removed"], rewritten)
    masked_again = max(updated - (removed or 0), 0)
    return CommitRecord(
        version=row["version"],
        timestamp=row["timestamp"],
        operation=row["operation"] or "commit",
        user_name=row["user_name"] or "",
        engine_info=row["engine_info"] or "",
        parameters=dict(row["parameters"] or ()),
        metrics=dict(row["metrics"] or ()),
        reason=plain_reason(row["reason"]),
        files_added=row["num_files_added"],
        files_removed=row["num_files_removed"],
        files_remasked=row["num_files_remasked"],
        bytes_added=row["bytes_added"],
        bytes_removed=row["bytes_removed"],
        rows_added=_net(row["rows_added"], rewritten + updated),
        rows_removed=None if removed is None else max(removed - updated, 0),
        rows_masked=None if row["rows_masked"] is None else row["rows_masked"] - masked_again,
        rows_rewritten=None if row["rows_rewritten"] is None else rewritten,
        rows_updated=updated,
        updated_masked=masked_again,
        num_files=row["num_files"],
        num_bytes=row["num_bytes"],
        num_rows=row["num_rows"],
        num_deleted_rows=row["num_deleted_rows"],
        metadata_changed=bool(row["metadata_changed"]),
        protocol_changed=bool(row["protocol_changed"]),
        schema_changed=bool(row["schema_changed"]),
        timestamp_basis=row["timestamp_basis"],
        written=row["commit_info_timestamp"],
        redated=redated,
    )


def _net(rows: int | None, rewritten: int) -> int | None:
    return None if rows is None else max(rows - rewritten, 0)


def plain_reason(text: str | None) -> str:
    """Return what the author of a commit wrote (``userMetadata``), empty for none."""
    # Some writers store userMetadata as a JSON string of a string.
    if not text:
        return ""
    try:
        decoded = json.loads(text)
    except ValueError:
        return text
    return decoded if isinstance(decoded, str) else text
