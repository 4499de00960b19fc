"""Reads the recorded commits into the history, at once or continuing an earlier reading.

Protocol sections: Action Reconciliation, In-Commit Timestamps. Invariants: commits are taken in the order of their
versions, and the files of the first readable version after the commits up to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

import msgspec
import numpy as np

from explorer.core.log.commit import Commit, SmallActions, decode_provenance, is_provenance
from explorer.core.log.decoded_parts import DecodedPart
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import LogListing, LogSegment
from explorer.core.log.replay import checkpoint_reader, read_commits, read_parts, replay_files, replay_state
from explorer.core.log.similar_lines import SimilarLines
from explorer.core.protocol.actions import CommitInfo, DomainMetadata, Metadata, Protocol
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.raw_actions import CommitLine
from explorer.core.protocol.table_properties.registry import IN_COMMIT_TIMESTAMPS
from explorer.core.versions.commit_times import commit_time, enablement
from explorer.core.versions.history import History
from explorer.core.versions.lifetimes.builder import LifetimesBuilder
from explorer.core.versions.provenance import BaseState, CommitRecord

_WATCHED: Final = 200
_WATCHED_BYTES: Final = 16 << 20
_Others: TypeAlias = tuple[Metadata | None, Protocol | None, tuple[int | None, ...], tuple[DomainMetadata, ...]]
_Plain: TypeAlias = tuple[LogPath, CommitLine, int]
_SMALL: Final = ("commitInfo", "metaData", "protocol", "txn", "domainMetadata", "cdc")


class FirstReadable:
    """The first readable version, where the record of commits does not begin with version 0.

    Args:
        known: The state in force at it, if it is known already.

    Attributes:
        segment: As given.
        known: The state in force at it.
    """

    def __init__(self, store: LogStore, segment: LogSegment, known: BaseState | None = None) -> None:
        self._store, self.segment = store, segment
        self._base = checkpoint_reader(store, segment)
        self.known = self._read() if known is None else known

    def files(self) -> LogicalFiles:
        """Return its live files."""
        return replay_files(self._base, self._commits)

    @cached_property
    def _commits(self) -> list[Commit]:
        return list(read_commits(self._store, self.segment.commits))

    def _read(self) -> BaseState:
        state = replay_state(self._base, self._commits, self.segment.version)
        return BaseState(self.segment.version, state.protocol, state.metadata, dict(state.domains))


class CommitRecorder:
    """Makes the records of commits from their small actions, taken in ascending order.

    Args:
        base: The state in force at the first readable version; None where the record begins with version 0.

    Attributes:
        records: Those made so far.
    """

    def __init__(self, base: BaseState | None) -> None:
        self.records: list[CommitRecord] = []
        self._base = base
        self._enabled, self._since = False, 0
        if base is not None:
            configuration = base.metadata.configuration
            self._enabled, self._since = IN_COMMIT_TIMESTAMPS.of(configuration), enablement(configuration)[0]

    def copy(self) -> CommitRecorder:
        """Return a copy of the records so far, to continue independently."""
        recorder = copy(self)
        recorder.records = list(self.records)
        return recorder

    def take(self, small: SmallActions, modified: int) -> None:
        """Take the small actions of the next commit.

        Args:
            modified: The modification time of its file, ms since the epoch.
        """
        self._reach(small.version)
        info = small.commit_info()
        if small.is_provenance():
            self._record(small.version, modified, info)
            return
        metadata, protocol, sizes, domains = _others(small)
        if metadata is not None:
            self._enabled, self._since = IN_COMMIT_TIMESTAMPS.of(metadata.configuration), 0
        self._record(small.version, modified, info, protocol=protocol, metadata=metadata, sizes=sizes, domains=domains)

    def take_provenance(self, paths: Sequence[LogPath], infos: Sequence[CommitInfo]) -> None:
        """Take the next commits, of which each has one small action, its provenance."""
        for path, info in zip(paths, infos, strict=True):
            self._reach(path.version)
            self._record(path.version, path.modified, info)

    def _record(
        self,
        version: int,
        modified: int,
        info: CommitInfo | None,
        *,
        protocol: Protocol | None = None,
        metadata: Metadata | None = None,
        sizes: tuple[int | None, ...] = (),
        domains: tuple[DomainMetadata, ...] = (),
    ) -> None:
        in_force = self._enabled and version >= self._since
        before = self.records[-1].timestamp if self.records else -1
        in_commit = in_force and info is not None and info.in_commit_timestamp is not None
        time = commit_time(modified, info if in_force else None, before)
        lacking = in_force and not in_commit
        record = CommitRecord(version, time, info, protocol, metadata, bool(sizes), in_commit, lacking, sizes, domains)
        self.records.append(record)

    def _reach(self, version: int) -> None:
        """Advance to a version."""
        if self._base is not None and version > self._base.version:
            self.pass_base()

    def pass_base(self) -> None:
        """Continue from the first readable version: all commits up to it were taken."""
        if self._base is not None:
            self._enabled, self._since = IN_COMMIT_TIMESTAMPS.of(self._base.metadata.configuration), 0
            self._base = None


class HistoryReader:
    """Reads the recorded commits, in order, and can continue where it stopped.

    Attributes:
        base: The first readable version, where the record of commits does not begin with version 0.
        builder: The files taken so far.
        recorder: The small actions taken so far.
        lines: The small actions of each commit, as JSON lines; None where they are not needed.

    Raises:
        VersionGap: Not even the latest version can be rebuilt.
    """

    def __init__(self, store: LogStore, listing: LogListing, *, keep_lines: bool = False) -> None:
        self._store = store
        self._readable_from = listing.earliest()
        self._first = first_read(listing)
        self.base = FirstReadable(store, listing.segment(self._readable_from)) if self._first else None
        self._pending: FirstReadable | None = self.base
        self.builder = LifetimesBuilder(self._first, self._readable_from)
        self.recorder = CommitRecorder(None if self.base is None else self.base.known)
        self.lines: list[bytes] | None = [] if keep_lines else None
        self._from_cache = False
        self._read: dict[int, LogPath] = {}

    @classmethod
    def again(
        cls,
        store: LogStore,
        base: FirstReadable | None,
        builder: LifetimesBuilder,
        recorder: CommitRecorder,
        *,
        lines: list[bytes],
        read: Sequence[LogPath],
        versions: tuple[int, int],
    ) -> HistoryReader:
        """Continue after an earlier reading."""
        reader = cls.__new__(cls)
        reader._store, reader._pending, reader._from_cache = store, None, True
        reader._first, reader._readable_from = versions
        reader.base, reader.builder, reader.recorder, reader.lines = base, builder, recorder, lines
        reader._read = {path.version: path for path in read}
        return reader

    def reads_on(self, listing: LogListing) -> bool:
        """Return whether a listing is of the same log with more commits: it begins with the commits that were read."""
        begins = {version: path for version, path in listing.commits.items() if version in self._read}
        return (
            self._pending is None
            and begins == self._read
            and (listing.earliest(), first_read(listing)) == (self._readable_from, self._first)
        )

    def copy(self) -> HistoryReader:
        """Return a copy of the commits so far, to continue independently."""
        reader = copy(self)
        reader.builder, reader.recorder, reader._read = self.builder.copy(), self.recorder.copy(), dict(self._read)
        reader.lines = None if self.lines is None else list(self.lines)
        return reader

    def unread(self, listing: LogListing) -> list[LogPath]:
        """Return the commits of a listing that were not read yet."""
        commits = listing.commits.items()
        return [path for version, path in commits if version >= self._first and version not in self._read]

    def history(
        self, listing: LogListing, *, last: bool = False, watch: Callable[[int, int], None] | None = None
    ) -> History:
        """Read the commits that were not read yet, and return the history of all.

        Args:
            listing: The log, of which `reads_on` is true.
            last: Do not continue afterwards: less stays in memory.
            watch: Called every some hundred commits, or some megabytes of them, with the number of those read, and of
                all; may raise.

        Raises:
            MalformedAction: A commit is damaged.
        """
        paths = self.unread(listing)
        total = len(self._read) + len(paths)
        if watch is not None:
            watch(len(self._read), total)
        if (base := self._pending) is not None:
            # Up to the base a remove may name a file that no commit added.
            before = [path for path in paths if path.version <= base.known.version]
            self._take(read_parts(self._store, before, None), total, watch)
            self._pass(base)
            paths = paths[len(before) :]
        self._take(read_parts(self._store, paths, SimilarLines()), total, watch)
        return History(
            list(self.recorder.records),
            self.builder.build(listing.latest, last=last),
            None if self.base is None else self.base.known,
            versions=(self._readable_from, listing.latest),
            by_catalog=listing.by_catalog,
            cached=self._from_cache,
        )

    def _take(self, parts: Iterable[DecodedPart], total: int, watch: Callable[[int, int], None] | None) -> None:
        """Take the next commits; a large one may be in several parts."""
        lines, numbers, plain = list[CommitLine](), list[int](), list[_Plain]()
        taken = size = 0
        for part in parts:
            others = self.builder.take(part)
            places = part.places[others]
            bounds = np.searchsorted(places, [*(piece.start for piece in part.pieces), part.count]).tolist()
            small, of_line = [part.lines[place] for place in others], places.tolist()
            for piece, (start, stop) in zip(part.pieces, pairwise(bounds), strict=True):
                if stop - start == 1 and piece.last and not piece.before and is_provenance(small[start]):
                    plain.append((piece.path, small[start], of_line[start] - piece.start + 1))
                else:
                    self._end_plain(plain)
                    lines += small[start:stop]
                    numbers += [place - piece.start + piece.before + 1 for place in of_line[start:stop]]
                    if piece.last:
                        self._end(piece.path, lines, numbers)
                        lines, numbers = [], []
                if piece.last:
                    taken, size = taken + 1, size + piece.path.size
                    if not taken % _WATCHED or size >= _WATCHED_BYTES:
                        self._end_plain(plain)
                        size = 0
                        if watch is not None and len(self._read) < total:
                            watch(len(self._read), total)
        self._end_plain(plain)

    def _end_plain(self, commits: list[_Plain]) -> None:
        """Record commits that were taken in full: the one small action of each is its provenance."""
        if not commits:
            return
        infos = decode_provenance([line for _, line, _ in commits])
        if infos is None:
            for path, line, number in commits:
                self._end(path, [line], [number])
        else:
            paths = [path for path, _, _ in commits]
            self.recorder.take_provenance(paths, infos)
            if self.lines is not None:
                self.lines += [_as_line("commitInfo", line.commitInfo) for _, line, _ in commits]
            self._read.update((path.version, path) for path in paths)
        commits.clear()

    def _end(self, path: LogPath, lines: list[CommitLine], numbers: list[int]) -> None:
        """Record a commit that was taken in full: these are its small actions."""
        small = SmallActions(path.version, path.path, lines, numbers)
        self.recorder.take(small, path.modified)
        if self.lines is not None:
            self.lines.append(_as_lines(small))
        self._read[path.version] = path

    def _pass(self, base: FirstReadable) -> None:
        """Take the base's files, after all commits up to it."""
        self.builder.checkpoint(base.files())
        self.recorder.pass_base()
        self._pending = None


def first_read(listing: LogListing) -> int:
    """Return the first commit that is read."""
    return min(listing.first_recorded(), listing.earliest() + 1)


def _others(small: SmallActions) -> _Others:
    """Return the small actions of a commit other than its provenance."""
    return small.metadata(), small.protocol(), tuple(small.change_sizes()), tuple(small.domains())


def _as_lines(small: SmallActions) -> bytes:
    """Return the small actions of a commit as lines of JSON, each text unchanged."""
    members = ((name, getattr(line, name)) for line in small.lines for name in _SMALL)
    return b"\n".join(_as_line(name, raw) for name, raw in members if raw)


def _as_line(name: str, raw: msgspec.Raw) -> bytes:
    return b'{"%s":%s}' % (name.encode(), bytes(raw))
