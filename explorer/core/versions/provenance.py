"""The small actions of the commits: author, time and operation of each, and the metadata and protocol in force.

Protocol sections: Commit Provenance Information, In-Commit Timestamps. Invariants: it needs no file action; a
time is looked up only on its side of the version that enabled in-commit timestamps (ICT-005).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np

from explorer.core.errors import CorruptTable, TimestampOutOfRange
from explorer.core.protocol.actions import CommitInfo, DomainMetadata, Metadata, Protocol
from explorer.core.protocol.schema.column_mapping import MappingMode, mapping_mode
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.protocol.table_features import active_features
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_FEED, IN_COMMIT_TIMESTAMPS
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.column_lineage import Lineage, column_lineage
from explorer.core.versions.commit_times import enablement, moment

PROVENANCE: Final = (
    "version",
    "timestamp",
    "timestamp_basis",
    "commit_info_timestamp",
    "operation",
    "user_name",
    "engine_info",
    "parameters",
    "metrics",
    "is_blind_append",
    "reason",
)
"""Columns of the commits' table that record operation, time and author, and need no file action."""

_NO_OP_METRICS: Final = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


class CommitRecord(msgspec.Struct, frozen=True, gc=False):
    """One commit: its version, its time (ms since the epoch) and its small actions.

    ``time_in_commit`` is True where its time is its in-commit timestamp, else the time is the file's; ``time_lacking``
    is True where in-commit timestamps were enabled and the commit has none. ``change_sizes`` are the bytes of its files
    of recorded changes, None where not recorded; ``domains`` are its domain metadata, removals included.
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


class BaseState(msgspec.Struct, frozen=True):
    """The state in force at the first readable version, where the record of commits begins later than the table."""

    version: int
    protocol: Protocol
    metadata: Metadata
    domains: dict[str, DomainMetadata]


class Provenance:
    """The recorded commits, ascending, without their files.

    Args:
        commits: One record a commit, or a function that makes them at the first need.
        base: The state in force at the first readable version, where the record begins later than the table.
        newest_protocol: The protocol in force at the newest version, where it is known before the commits are made.

    Attributes:
        first_readable, latest, by_catalog: As given.
        base_domains: The domains in force at the first readable version, where the record begins later than the table.
    """

    def __init__(
        self,
        commits: Sequence[CommitRecord] | Callable[[], Sequence[CommitRecord]],
        base: BaseState | None,
        *,
        first_readable: int,
        latest: int,
        by_catalog: bool = False,
        newest_protocol: Protocol | None = None,
    ) -> None:
        self.first_readable, self.latest = first_readable, latest
        self.base_domains = {} if base is None else dict(base.domains)
        self.by_catalog = by_catalog
        self._commits_or_maker, self._base, self._newest_protocol = commits, base, newest_protocol

    def __repr__(self) -> str:
        return f"{type(self).__name__}(versions {self.first_readable} to {self.latest} readable)"

    @cached_property
    def commits(self) -> tuple[CommitRecord, ...]:
        """One record a commit."""
        return tuple(self._commits_or_maker() if callable(self._commits_or_maker) else self._commits_or_maker)

    @cached_property
    def _rows(self) -> dict[int, CommitRecord]:
        return {record.version: record for record in self.commits}

    @cached_property
    def _metadata(self) -> list[tuple[int, Metadata]]:
        changes = [(r.version, r.metadata) for r in self.commits if r.metadata is not None]
        if self._base is not None:
            insort(changes, (self._base.version, self._base.metadata), key=_version)
        return changes

    @cached_property
    def _protocols(self) -> list[tuple[int, Protocol]]:
        changes = [(r.version, r.protocol) for r in self.commits if r.protocol is not None]
        if self._base is not None:
            insort(changes, (self._base.version, self._base.protocol), key=_version)
        return changes

    def timestamp(self, version: int) -> int | None:
        """Return the commit time in ms since the epoch; None if the commit's file is missing."""
        record = self._rows.get(version)
        return None if record is None else record.timestamp

    def version_at(self, time: datetime) -> int:
        """Return the version that was current at a time: the newest committed at or before it.

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
            raise _out_of_range(time, readable, side or readable, late=bool(before))
        return before[-1].version

    def _side(self, readable: Sequence[CommitRecord], wanted: int) -> list[CommitRecord]:
        """Return the commits among which a time is looked up: since in-commit timestamps, or before (ICT-005).

        Earlier files may have been copied since, so their times may be after the timestamps that follow.
        """
        newest = self.metadata_at(self.latest)
        if newest is None or not IN_COMMIT_TIMESTAMPS.of(newest.configuration):
            return list(readable)
        since, start = enablement(newest.configuration)
        return [record for record in readable if (record.version >= since) == (wanted >= start)]

    def metadata_at(self, version: int) -> Metadata | None:
        """Return the metadata in force at a version; None where the record begins later."""
        place = bisect_right(self._metadata, version, key=_version)
        return self._metadata[place - 1][1] if place else None

    def protocol_at(self, version: int) -> Protocol | None:
        """Return the protocol in force at a version; None where the record begins later."""
        place = bisect_right(self._protocols, version, key=_version)
        return self._protocols[place - 1][1] if place else None

    @property
    def newest_protocol(self) -> Protocol | None:
        """The protocol in force at the newest version; None where the log has none."""
        return self._newest_protocol or self.protocol_at(self.latest)

    def metadata_changes(self) -> list[tuple[int, Metadata]]:
        """Return (version, metadata) at the first readable version and at each later change, ascending."""
        start = self.first_readable
        first = self.metadata_at(start)
        later = [change for change in self._metadata if change[0] > start]
        return [(start, first), *later] if first is not None else later

    def change_feed_enabled(self, versions: Sequence[int]) -> list[bool | None]:
        """Return whether the change feed was enabled at versions; None where the properties in force are not known."""
        changes = [version for version, _ in self._metadata]
        positions = np.searchsorted(changes, versions, side="right").tolist()
        enabled: dict[int, bool | None] = {
            position: CHANGE_DATA_FEED.of(self._metadata[position - 1][1].configuration) if position else None
            for position in set(positions)
        }
        return [enabled[position] for position in positions]

    def records_changes(self, version: int) -> bool:
        """Return whether the change feed was on in a version: supported by its protocol and enabled by its property.

        Raises:
            CorruptTable: The property has no readable value.
        """
        metadata, protocol = self.metadata_at(version), self.protocol_at(version)
        if metadata is None or protocol is None:
            return False
        return CHANGE_DATA_FEED.of(metadata.configuration) and "changeDataFeed" in active_features(protocol)

    def mapping_mode(self, version: int) -> MappingMode:
        """Return the column-mapping mode in force at a version, if its protocol allows one (CM-001).

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
        """Return versions of a range, ends included, from which rows may be written differently; the first is one.

        These have other metadata, or another protocol, which decides whether a mapping mode counts.
        """
        changed = {version for version, _ in (*self._metadata, *self._protocols) if from_version < version}
        return [from_version, *sorted(version for version in changed if version <= to_version)]

    def lineage(self, from_version: int | None = None, to_version: int | None = None) -> Lineage:
        """Return how each column was named and typed.

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


def _no_time(version: int) -> CorruptTable:
    return CorruptTable(
        f"Version {version} has no inCommitTimestamp, though {IN_COMMIT_TIMESTAMPS} is true, so its commit time is "
        "not known and no version can be selected by time. Select a version by its number.",
        version=version,
    )


def _out_of_range(
    wanted: datetime, readable: Sequence[CommitRecord], side: Sequence[CommitRecord], *, late: bool
) -> TimestampOutOfRange:
    if not readable:
        return TimestampOutOfRange("No commit times are known: the log has only a checkpoint.", timestamp=wanted)
    nearest = side[-1] if late else side[0]
    first, last = moment(readable[0].timestamp), moment(readable[-1].timestamp)
    relation = "after the newest" if late else "before the oldest"
    return TimestampOutOfRange(
        f"{wanted.astimezone(UTC).isoformat()} is {relation} readable commit. Commits range from {first.isoformat()} "
        f"(version {readable[0].version}) to {last.isoformat()} (version {readable[-1].version}); "
        f"the nearest is version {nearest.version}.",
        timestamp=wanted,
        earliest=first,
        latest=last,
        nearest=nearest.version,
    )


def _version(change: tuple[int, object]) -> int:
    return change[0]
