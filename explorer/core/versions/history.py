"""Commits of a table: what each did, when, by whom, and the totals after it.

Protocol sections: Commit Provenance Information, In-Commit Timestamps. Invariants: a time is looked up only on its side
of the version that enabled in-commit timestamps (ICT-005); a number that is not in the log is null, never 0.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, cast

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import CorruptTable, TimestampOutOfRange
from explorer.core.log.commit import Commit
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import LogListing, LogSegment
from explorer.core.log.replay import read_commits, replay_files, replay_state
from explorer.core.protocol.actions import CommitInfo, DomainMetadata, Metadata, Protocol
from explorer.core.protocol.arrow.arrays import bools, int64s, integers, known_int64s, mask, string_maps, strings
from explorer.core.protocol.json_values import JsonObject, JsonValue
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.schema.column_mapping import MappingMode, mapping_mode
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.protocol.table_features import active_features
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_FEED, IN_COMMIT_TIMESTAMPS
from explorer.core.protocol.times import from_milliseconds, milliseconds
from explorer.core.versions.column_lineage import Lineage, column_lineage
from explorer.core.versions.commit_times import BASES, commit_time, enablement, moment
from explorer.core.versions.history_totals import KnownSums, Totals
from explorer.core.versions.lifetimes.builder import LifetimesBuilder
from explorer.core.versions.lifetimes.lifetimes import Lifetimes

__all__ = ["CommitRecord", "History", "HistoryReader", "read_history"]

_COPIED: Final = ("numCopiedRows", "numTargetRowsCopied")
_NO_OP_METRICS: Final = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
# Digits of a count that fits 64 bits; writers record metrics as text, so they may hold anything.
_MOST_DIGITS: Final = 18


class CommitRecord(msgspec.Struct, frozen=True, gc=False):
    """One commit: its version, its time (ms since the epoch) and its small actions.

    ``time_in_commit`` is True where its time is its in-commit timestamp, else the time is the file's; ``time_lacking``
    is True where in-commit timestamps were enabled and the commit has none. ``change_sizes`` are the bytes of its files
    of recorded changes, None for one that is not stated; ``domains`` are what it says of domains, removals included.
    """

    version: int
    timestamp: int
    info: CommitInfo | None
    protocol: Protocol | None
    metadata: Metadata | None
    change_files: bool
    time_in_commit: bool = False
    time_lacking: bool = False
    change_sizes: tuple[int | None, ...] = ()
    domains: tuple[DomainMetadata, ...] = ()

    @property
    def changes_no_row(self) -> bool:
        """True for a MERGE whose metrics prove that it changed no row, although it rewrote files (CDF-019)."""
        if self.info is None or self.info.operation != "MERGE":
            return False
        metrics = self.info.operation_metrics or {}
        return all(str(metrics.get(name)) == "0" for name in _NO_OP_METRICS)


class History:
    """The recorded commits, ascending, with every file's lifetime.

    Attributes:
        commits: One record a commit.
        lifetimes: Intervals of all logical files.
        base_domains: The domains in force at the first readable version, where the record begins later than the table.
    """

    def __init__(
        self,
        commits: Sequence[CommitRecord],
        lifetimes: Lifetimes,
        base: tuple[int, Protocol, Metadata] | None,
        *,
        base_domains: Mapping[str, DomainMetadata] | None = None,
        by_catalog: bool = False,
    ) -> None:
        self.commits = tuple(commits)
        self.base_domains = dict(base_domains or {})
        self.by_catalog = by_catalog
        self.lifetimes = lifetimes
        self._rows = {record.version: record for record in commits}
        self._metadata = [(r.version, r.metadata) for r in commits if r.metadata is not None]
        self._protocols = [(r.version, r.protocol) for r in commits if r.protocol is not None]
        if base is not None:
            insort(self._protocols, (base[0], base[1]), key=_version)
            insort(self._metadata, (base[0], base[2]), key=_version)

    def __repr__(self) -> str:
        return f"History({len(self.commits)} commits, versions {self.first_readable} to {self.latest} readable)"

    @property
    def first_readable(self) -> int:
        """The oldest version that can be read."""
        return self.lifetimes.readable_from

    @property
    def latest(self) -> int:
        """The newest version."""
        return self.lifetimes.last

    def timestamp(self, version: int) -> int | None:
        """Commit time in ms since the epoch; None if the commit's file is gone."""
        record = self._rows.get(version)
        return None if record is None else record.timestamp

    def version_at(self, time: datetime) -> int:
        """The version that was current at a time: the newest committed at or before it.

        Raises:
            TimestampOutOfRange: The time is before the first readable or after the newest commit.
            CorruptTable: A commit lacks the in-commit timestamp that it must have.
        """
        wanted = milliseconds(time)
        readable = [record for record in self.commits if record.version >= self.first_readable]
        lacking = next((record.version for record in readable if record.time_lacking), None)
        if lacking is not None:
            raise _no_time(lacking)
        side = self._side(readable, wanted)
        before = [record for record in side if record.timestamp <= wanted]
        if not before or (side[-1] is readable[-1] and wanted > readable[-1].timestamp):
            raise _out_of_range(time, side or readable, late=bool(before))
        return before[-1].version

    def _side(self, readable: Sequence[CommitRecord], wanted: int) -> list[CommitRecord]:
        """The commits among which a time is looked up: those since in-commit timestamps, or those before (ICT-005).

        Earlier files may have been copied since, so their times may be after the timestamps that follow.
        """
        newest = self.metadata_at(self.latest)
        if newest is None or not IN_COMMIT_TIMESTAMPS.of(newest.configuration):
            return list(readable)
        since, start = enablement(newest.configuration)
        return [record for record in readable if (record.version >= since) == (wanted >= start)]

    def metadata_at(self, version: int) -> Metadata | None:
        """Metadata in force at a version; None where the record begins later."""
        place = bisect_right(self._metadata, version, key=_version)
        return self._metadata[place - 1][1] if place else None

    def protocol_at(self, version: int) -> Protocol | None:
        """Protocol in force at a version; None where the record begins later."""
        place = bisect_right(self._protocols, version, key=_version)
        return self._protocols[place - 1][1] if place else None

    def metadata_changes(self) -> list[tuple[int, Metadata]]:
        """(version, metadata) at the first readable version and at each later change, ascending."""
        start = self.first_readable
        first = self.metadata_at(start)
        later = [change for change in self._metadata if change[0] > start]
        return [(start, first), *later] if first is not None else later

    def change_feed_enabled(self, versions: Sequence[int]) -> list[bool | None]:
        """Whether the change feed was enabled at versions; None where the properties in force are not known."""
        changes = [version for version, _ in self._metadata]
        places = np.searchsorted(changes, versions, side="right").tolist()
        found: dict[int, bool | None] = {
            place: CHANGE_DATA_FEED.of(self._metadata[place - 1][1].configuration) if place else None
            for place in set(places)
        }
        return [found[place] for place in places]

    def records_changes(self, version: int) -> bool:
        """Whether the change feed was on in a version: supported by its protocol and enabled by its property.

        Raises:
            CorruptTable: The property has no readable value.
        """
        metadata, protocol = self.metadata_at(version), self.protocol_at(version)
        if metadata is None or protocol is None:
            return False
        return CHANGE_DATA_FEED.of(metadata.configuration) and "changeDataFeed" in active_features(protocol)

    def mapping_mode(self, version: int) -> MappingMode:
        """Column-mapping mode in force at a version: that of its properties where its protocol allows one (CM-001).

        Raises:
            CorruptTable: The log has no protocol or no metadata for the version, or the property has an unknown value.
        """
        protocol, metadata = self.protocol_at(version), self.metadata_at(version)
        if protocol is None or metadata is None:
            lacking = "protocol" if protocol is None else "metaData"
            raise CorruptTable(
                f"The log has no {lacking} action up to version {version}, so its columns cannot be read.",
                version=version,
            )
        return mapping_mode(metadata.configuration, protocol)

    def layout_changes(self, from_version: int, to_version: int) -> list[int]:
        """Versions of a range, both ends included, from which rows may be written differently; the first is always one.

        These have other metadata, or another protocol, which decides whether a mapping mode counts.
        """
        changed = {version for version, _ in (*self._metadata, *self._protocols) if from_version < version}
        return [from_version, *sorted(version for version in changed if version <= to_version)]

    def lineage(self, from_version: int | None = None, to_version: int | None = None) -> Lineage:
        """How each column was named and typed.

        Args:
            from_version, to_version: The range of versions, both ends included; None for the first readable one and the
                newest.
        """
        first = self.first_readable if from_version is None else from_version
        last = self.latest if to_version is None else to_version
        known = ((version, self.metadata_at(version)) for version in self.layout_changes(first, last))
        written = [
            (version, metadata.schema_string, self.mapping_mode(version))
            for version, metadata in known
            if metadata is not None and metadata.schema_string is not None
        ]
        changed = written[:1] + [now for before, now in pairwise(written) if before[1:] != now[1:]]
        return column_lineage([(version, parse_schema(text), mode) for version, text, mode in changed], last)

    def table(self, limit: int | None = None) -> pa.Table:
        """The commits as a table, newest first; see `explorer.Table.history` for the columns."""
        return _table(self, limit)


def read_history(store: LogStore, listing: LogListing) -> History:
    """Read every recorded commit and the base of the first readable version: a checkpoint, or a log compaction.

    Raises:
        VersionGap: Not even the latest version can be rebuilt.
        MalformedAction: A commit is broken.
    """
    return HistoryReader(store, listing).history(listing, last=True)


class HistoryReader:
    """Reads the recorded commits, in order, and can go on where it stopped.

    Args:
        store: The log's store.
        listing: The log.

    Raises:
        VersionGap: Not even the latest version can be rebuilt.
    """

    def __init__(self, store: LogStore, listing: LogListing) -> None:
        self._store = store
        self._readable_from = listing.earliest()
        self._first = _first_read(listing)
        self._base = _Base(store, listing.segment(self._readable_from)) if self._first else None
        self._pending = self._base
        self._builder = LifetimesBuilder(self._first, self._readable_from)
        self._records: list[CommitRecord] = []
        self._read: dict[int, LogPath] = {}
        self._clock = -1
        self._enabled, self._since = (False, 0) if self._base is None else self._base.in_commit_timestamps()

    def reads_on(self, listing: LogListing) -> bool:
        """Whether a listing is of the same log, which only has more commits: what was read is where it begins."""
        begins = {version: path for version, path in listing.commits.items() if version in self._read}
        return (
            self._pending is None
            and begins == self._read
            and (listing.earliest(), _first_read(listing)) == (self._readable_from, self._first)
        )

    def copy(self) -> HistoryReader:
        """The same commits so far, to go on with apart."""
        found = copy(self)
        found._builder, found._records, found._read = self._builder.copy(), list(self._records), dict(self._read)
        return found

    def history(self, listing: LogListing, *, last: bool = False) -> History:
        """Read the commits that were not read yet, and return the history of all.

        Args:
            listing: The log, of which `reads_on` is true.
            last: Do not go on afterwards: less is kept.

        Raises:
            MalformedAction: A commit is broken.
        """
        wanted = {version: path for version, path in listing.commits.items() if version >= self._first}
        paths = [path for version, path in wanted.items() if version not in self._read]
        for commit, path in zip(read_commits(self._store, paths), paths, strict=True):
            self._take(commit, path)
        if self._pending is not None:
            self._pass(self._pending)
        base = self._base
        known = None if base is None else (base.version, base.state.protocol, base.state.metadata)
        return History(
            self._records,
            self._builder.build(listing.latest, last=last),
            known,
            base_domains=None if base is None else base.state.domains,
            by_catalog=listing.by_catalog,
        )

    def _take(self, commit: Commit, path: LogPath) -> None:
        if self._pending is not None and commit.version > self._pending.version:
            self._pass(self._pending)
        small = _small_actions(commit, self._builder.commit(commit))
        info, metadata = small.commit_info(), small.metadata()
        if metadata is not None:
            self._enabled, self._since = IN_COMMIT_TIMESTAMPS.of(metadata.configuration), 0
        in_force = self._enabled and commit.version >= self._since
        self._clock = commit_time(path.modified, info if in_force else None, self._clock)
        stated = info is not None and info.in_commit_timestamp is not None
        times = in_force and stated, in_force and not stated
        sizes = tuple(small.change_sizes())
        record = CommitRecord(
            commit.version,
            self._clock,
            info,
            small.protocol(),
            metadata,
            bool(sizes),
            *times,
            change_sizes=sizes,
            domains=tuple(small.domains()),
        )
        self._records.append(record)
        self._read[commit.version] = path

    def _pass(self, base: _Base) -> None:
        """Take the base's files: all commits up to it were taken."""
        self._builder.checkpoint(base.files())
        self._enabled, self._since = IN_COMMIT_TIMESTAMPS.of(base.state.metadata.configuration), 0
        self._pending = None


def _first_read(listing: LogListing) -> int:
    """The first commit that is read."""
    return min(listing.first_recorded(), listing.earliest() + 1)


class _Base:
    """The first readable version, where the record of commits does not begin with version 0."""

    def __init__(self, store: LogStore, segment: LogSegment) -> None:
        self.version = segment.version
        self._store, self._segment = store, segment
        self._commits = list(read_commits(store, segment.commits))
        self.state = replay_state(store, segment, self._commits)

    def files(self) -> LogicalFiles:
        """Its live files."""
        return replay_files(self._store, self._segment, self._commits)

    def in_commit_timestamps(self) -> tuple[bool, int]:
        """Whether in-commit timestamps were enabled before it, and from which version, as it records."""
        configuration = self.state.metadata.configuration
        return IN_COMMIT_TIMESTAMPS.of(configuration), enablement(configuration)[0]


def _no_time(version: int) -> CorruptTable:
    return CorruptTable(
        f"Version {version} has no inCommitTimestamp, though {IN_COMMIT_TIMESTAMPS} is true, so its commit time is "
        "not known and no version can be found by time. Ask for a version by its number.",
        version=version,
    )


def _small_actions(commit: Commit, places: list[int]) -> Commit:
    """The commit without the lines that are file actions."""
    lines = [commit.lines[place] for place in places]
    return Commit(commit.version, commit.path, lines, [commit.line_number(place) for place in places])


def _out_of_range(wanted: datetime, readable: Sequence[CommitRecord], *, late: bool) -> TimestampOutOfRange:
    if not readable:
        return TimestampOutOfRange("No commit times are known: the log holds only a checkpoint.", timestamp=wanted)
    nearest = readable[-1] if late else readable[0]
    first, last = moment(readable[0].timestamp), moment(readable[-1].timestamp)
    side = "after the newest" if late else "before the oldest"
    return TimestampOutOfRange(
        f"{wanted.astimezone(UTC).isoformat()} is {side} readable commit. Commits range from {first.isoformat()} "
        f"(version {readable[0].version}) to {last.isoformat()} (version {readable[-1].version}); "
        f"the nearest is version {nearest.version}.",
        timestamp=wanted,
        earliest=first,
        latest=last,
        nearest=nearest.version,
    )


def _version(change: tuple[int, object]) -> int:
    return change[0]


def _table(history: History, limit: int | None) -> pa.Table:
    totals = Totals(history.lifetimes)
    chosen = list(reversed(history.commits))[:limit]
    at = np.array([record.version for record in chosen], np.int64) - history.lifetimes.first
    infos = [record.info or CommitInfo() for record in chosen]
    copied, _ = integers([_copied(info) for info in infos])
    rewritten, rewritten_known = totals.rows_rewritten

    def known(sums: KnownSums) -> pa.Int64Array:
        return known_int64s(sums[0][at], sums[1][at])

    schema_changed = _schema_changes(history)
    return pa.table(
        {
            "version": int64s([record.version for record in chosen]),
            "timestamp": int64s([record.timestamp for record in chosen]).view(pa.timestamp("ms", "UTC")),
            "timestamp_basis": strings([BASES[0] if record.time_in_commit else BASES[1] for record in chosen]),
            "commit_info_timestamp": _writers_times(infos),
            "operation": strings([info.operation for info in infos]),
            "user_name": strings([info.user_name for info in infos]),
            "engine_info": strings([info.engine_info for info in infos]),
            "parameters": string_maps([_texts(info.operation_parameters) for info in infos]),
            "metrics": string_maps([_texts(info.operation_metrics) for info in infos]),
            "is_blind_append": bools([info.is_blind_append for info in infos]),
            "num_files_added": int64s(totals.files_added[at]),
            "num_files_removed": int64s(totals.files_removed[at]),
            "num_files_remasked": int64s(totals.remasked[at]),
            "bytes_added": known(totals.bytes_added),
            "bytes_removed": known(totals.bytes_removed),
            "rows_added": known(totals.rows_added),
            "rows_removed": known(totals.rows_removed),
            "rows_masked": int64s(totals.rows_masked[at]),
            "rows_rewritten": known_int64s(rewritten[at] + copied, rewritten_known[at]),
            "num_files": known(totals.files),
            "num_bytes": known(totals.bytes),
            "num_rows": known(totals.rows),
            "num_deleted_rows": known(totals.deleted),
            "metadata_changed": bools([_metadata_changed(history, record) for record in chosen]),
            "protocol_changed": bools([_protocol_changed(history, record) for record in chosen]),
            "schema_changed": bools([record.version in schema_changed for record in chosen]),
            "data_change": mask(totals.data_change[at]),
            "change_files": bools([record.change_files for record in chosen]),
            "change_feed": bools(history.change_feed_enabled([record.version for record in chosen])),
            "reason": strings([info.user_metadata for info in infos]),
        }
    )


def _writers_times(infos: Sequence[CommitInfo]) -> pa.Array:
    """The times by the clocks of the writers; one that is no time of this calendar is null (LOG-024)."""
    found = [info.timestamp for info in infos]
    times = int64s([None if time is None or not _is_in_calendar(time) else time for time in found])
    return times.view(pa.timestamp("ms", "UTC"))


def _is_in_calendar(time: int) -> bool:
    try:
        from_milliseconds(time)
    except OverflowError:
        return False
    return True


def _metadata_changed(history: History, record: CommitRecord) -> bool:
    """Whether a commit wrote metadata that was not in force before it."""
    return record.metadata is not None and record.metadata != history.metadata_at(record.version - 1)


def _protocol_changed(history: History, record: CommitRecord) -> bool:
    """Whether a commit wrote a protocol that was not in force before it; the order of features does not matter."""
    if record.protocol is None:
        return False
    before = history.protocol_at(record.version - 1)
    return before is None or _outline(before) != _outline(record.protocol)


def _outline(protocol: Protocol) -> tuple[int, int, frozenset[str], frozenset[str]]:
    readers, writers = frozenset(protocol.reader_features or ()), frozenset(protocol.writer_features or ())
    return protocol.min_reader_version, protocol.min_writer_version, readers, writers


def _schema_changes(history: History) -> set[int]:
    """Versions whose schema text differs from the one before; the first readable version is not among them."""
    changes = history.metadata_changes()
    return {
        version for (_, before), (version, after) in pairwise(changes) if before.schema_string != after.schema_string
    }


def _copied(info: CommitInfo) -> int | None:
    metrics = info.operation_metrics or {}
    found = [str(metrics[name]) for name in _COPIED if name in metrics]
    counts = (text for text in found if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS)
    return sum(map(int, counts)) if found else None


def _texts(values: JsonObject | None) -> dict[str, str | None] | None:
    """Parameters and metrics as text: strings as they are, anything else as JSON."""
    if values is None or all(type(value) is str for value in values.values()):
        return cast(dict[str, str | None] | None, values)
    return {name: _text(value) for name, value in values.items()}


def _text(value: JsonValue) -> str | None:
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()
