"""The history of a table from its log, or from the cache.

Protocol sections: Delta Log Entries, Action Reconciliation. Invariants: the cache is used only if every file of the
log that it covers is listed with the same name, size, time and ETag; only the commits after it are read then. Where one
of its tables is damaged the log is read as if nothing was cached. The result is the same either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.commit import decode_small_actions
from explorer.core.log.commit_infos import read_commit_infos
from explorer.core.log.index_cache import CachedIndex, IndexCache
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import LogListing, LogSegment
from explorer.core.log.replay import read_small_actions
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.actions import CommitInfo, DomainMetadata, Metadata, Protocol
from explorer.core.protocol.arrow.arrays import large_binaries, numpy_array, only_array
from explorer.core.protocol.json_values import JsonObject, encode_json, exact_number
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LaterFiles, LogicalFiles
from explorer.core.versions.commit_times import file_times
from explorer.core.versions.history import History, info_columns, record_table, time_columns
from explorer.core.versions.history_reader import CommitRecorder, FirstReadable, HistoryReader, first_read
from explorer.core.versions.lifetimes.builder import LifetimesBuilder, files_of_tables
from explorer.core.versions.lifetimes.lifetimes import InstanceFacts, Lifetimes
from explorer.core.versions.provenance import PROVENANCE, BaseState, CommitRecord, Provenance

_FACTS: Final = b"facts"
_OF_FILES: Final = ("files", "paths", "partitions", "vectors")


class _Base(msgspec.Struct, frozen=True):
    """The first readable version, where the record of commits does not begin with version 0."""

    files: tuple[LogPath, ...]
    rows: int
    version: int
    protocol: JsonObject
    metadata: JsonObject
    domains: list[JsonObject]

    def known(self) -> BaseState:
        """Return the state in force at it."""
        domains = [DomainMetadata.from_wire(domain) for domain in self.domains]
        return BaseState(
            self.version,
            Protocol.from_wire(self.protocol),
            Metadata.from_wire(self.metadata),
            {domain.domain: domain for domain in domains},
        )


class _Facts(msgspec.Struct, frozen=True):
    """The facts that the tables lack."""

    first: int
    readable_from: int
    latest: int
    events_before: int
    contradictions: tuple[tuple[int, str, str], ...]
    base: _Base | None
    protocol: JsonObject | None


_DECODER: Final = msgspec.json.Decoder(_Facts, float_hook=exact_number)


def read_history(
    store: LogStore,
    listing: LogListing,
    indexes: IndexCache | None,
    reader: HistoryReader | None = None,
    *,
    follow: bool = False,
    watch: Callable[[int, int], None] | None = None,
) -> tuple[History, HistoryReader | None]:
    """Read the history of a log.

    Args:
        indexes: The cache of tables; None caches nothing.
        watch: As for `HistoryReader.history`.

    Returns:
        The history, and the reader that continues it; None without ``follow``, or where all of it was cached.

    Raises:
        VersionGap: Not even the latest version can be rebuilt.
        MalformedAction: A commit is damaged.
    """
    if reader is None and indexes is not None:
        cached = _find_cached(indexes, store, listing)
        if cached is not None and cached.is_complete:
            return cached.history(), None
        reader = None if cached is None else cached.reader()
    known = 0 if reader is None else len(reader.recorder.records)
    caches = False
    if indexes is not None:
        unread = _commits(listing).paths[known:]
        caches = indexes.wants(len(unread), sum(path.size for path in unread))
    if reader is None:
        reader = HistoryReader(store, listing, keep_lines=caches)
    caches = caches and reader.lines is not None
    history = reader.history(listing, last=not (follow or caches), watch=watch)
    if indexes is not None and caches and _can_cache(store, reader.base):
        commits = _commits(listing)
        covered = (*commits.paths, *(() if reader.base is None else _files(reader.base.segment)))
        indexes.keep(store.root, covered, partial(_tables, reader, history, commits))
    return history, reader if follow else None


def read_provenance(store: LogStore, listing: LogListing, indexes: IndexCache | None) -> Provenance:
    """Read the small actions of the commits, without their files.

    Raises:
        VersionGap: Not even the latest version can be rebuilt.
        MalformedAction: A commit is damaged; a damaged file action raises only when files are requested.
    """
    cached = None if indexes is None else _find_cached(indexes, store, listing)
    if cached is not None and cached.is_complete:
        return cached.history()
    readable_from, first = listing.earliest(), first_read(listing)
    base = FirstReadable(store, listing.segment(readable_from)).known if first else None
    known = None if cached is None else cached.recorder()
    recorder = CommitRecorder(base) if known is None else known
    paths = _commits(listing).paths[len(recorder.records) :]
    for small, path in zip(read_small_actions(store, paths), paths, strict=True):
        recorder.take(small, path.modified)
    return Provenance(
        recorder.records, base, first_readable=readable_from, latest=listing.latest, by_catalog=listing.by_catalog
    )


def read_provenance_table(
    store: LogStore, listing: LogListing, indexes: IndexCache | None, check: Callable[[Provenance], None]
) -> pa.Table:
    """Read operation, time and author of the commits from their provenance alone.

    Where one has an in-commit timestamp, all small actions are read: the metadata in force decides whether it counts.
    A catalog manages no commits without such timestamps.

    Args:
        check: Called with the commits where their protocols are known; it may refuse them.

    Returns:
        One row a commit, newest first; the columns are `explorer.core.versions.provenance.PROVENANCE`.

    Raises:
        VersionGap: Not even the latest version can be rebuilt.
        MalformedAction: A commit that does not begin with its provenance is damaged. Damage in one that does raises
        only when more of it is requested.
    """
    cached = None if indexes is None else _find_cached(indexes, store, listing)
    if cached is not None and cached.is_complete:
        history = cached.history()
        check(history)
        return history.table().select(PROVENANCE)
    commits, parts = _commits(listing), list[pa.Table]()
    for batch in read_commit_infos(store, commits):
        infos = [info or CommitInfo() for info in batch]
        if any(info.in_commit_timestamp is not None for info in infos):
            provenance = read_provenance(store, listing, indexes)
            check(provenance)
            return record_table(provenance.commits)
        parts.append(pa.table(info_columns(infos)))
    times = time_columns(commits.versions[::-1], file_times(commits.modified)[::-1], np.zeros(len(commits), bool))
    columns = pa.concat_tables(parts or [pa.table(info_columns([]))])
    return pa.table({**times, **dict(zip(columns.column_names, columns.columns, strict=True))})


class _CachedHistory:
    """The cached history of a log, and the log itself, to replace damaged tables."""

    def __init__(self, index: CachedIndex, facts: _Facts, log: pa.Table, store: LogStore, listing: LogListing) -> None:
        self._index, self._facts, self._log = index, facts, log
        self._store, self._listing = store, listing

    @property
    def is_complete(self) -> bool:
        """Whether no commit follows the cached ones."""
        return self._facts.latest == self._listing.latest and self._log.num_rows == len(_commits(self._listing))

    def history(self) -> History:
        """Return the history, if no commit follows; damaged tables are read from the log."""
        facts = self._facts
        rows = self._index.table("history")
        if rows is None:
            return self._read
        return History(
            self._commits,
            self._lifetimes,
            None if facts.base is None else facts.base.known(),
            versions=(facts.readable_from, facts.latest),
            newest_protocol=None if facts.protocol is None else Protocol.from_wire(facts.protocol),
            rows=rows,
            cached=True,
        )

    def reader(self) -> HistoryReader | None:
        """Return a reader that continues it; None if it is damaged."""
        facts, lines = self._facts, self._lines()
        tables = self._tables((*_OF_FILES, "events"))
        if lines is None or tables is None:
            return None
        versions = facts.first, facts.readable_from
        builder = LifetimesBuilder.again(tables, versions, self._base(), facts.events_before)
        recorder = _recorded(lines, self._known, facts.base)
        return HistoryReader.again(
            self._store, self._first(), builder, recorder, lines=lines, read=self._known, versions=versions
        )

    def recorder(self) -> CommitRecorder | None:
        """Return a recorder that continues its small actions; None if it is damaged."""
        lines = self._lines()
        return None if lines is None else _recorded(lines, self._known, self._facts.base)

    @property
    def _known(self) -> Sequence[LogPath]:
        return _commits(self._listing).paths[: self._log.num_rows]

    def _commits(self) -> Sequence[CommitRecord]:
        lines = self._lines()
        return self._read.commits if lines is None else _recorded(lines, self._known, self._facts.base).records

    def _lifetimes(self) -> Lifetimes:
        stays = self._index.table("stays")
        if stays is None:
            return self._read.lifetimes
        facts = self._facts
        return Lifetimes.again(
            stays,
            self._base(),
            partial(self._described, stays),
            versions=(facts.first, facts.readable_from, facts.latest),
            contradictions=facts.contradictions,
        )

    def _described(self, stays: pa.Table) -> InstanceFacts:
        tables = self._tables(_OF_FILES)
        if tables is None:
            # The same log has the same files in the same order.
            return self._read.lifetimes.described
        files = files_of_tables(tables)
        recorded = numpy_array(only_array(tables["files"], "left"), flags=True).astype(bool, copy=False)
        vectors = numpy_array(only_array(stays, "vectors")).astype(np.int64, copy=False)
        return InstanceFacts(files.build(recorded, last=True), vectors, files.codes.vectors)

    @cached_property
    def _read(self) -> History:
        """The history read from the log."""
        return HistoryReader(self._store, self._listing).history(self._listing, last=True)

    def _lines(self) -> list[bytes] | None:
        table = self._index.table("lines")
        return None if table is None else table.column(0).to_pylist()

    def _tables(self, names: Sequence[str]) -> dict[str, pa.Table] | None:
        tables = {name: self._index.table(name) for name in names}
        intact = {name: table for name, table in tables.items() if table is not None}
        return intact if len(intact) == len(tables) else None

    def _base(self) -> LogicalFiles:
        base, first = self._facts.base, self._first()
        return LogicalFiles([]) if base is None or first is None else LaterFiles(base.rows, first.files)

    def _first(self) -> FirstReadable | None:
        base = self._facts.base
        if base is None:
            return None
        return FirstReadable(self._store, self._listing.segment(self._facts.readable_from), base.known())


def _find_cached(indexes: IndexCache, store: LogStore, listing: LogListing) -> _CachedHistory | None:
    """Return the cached history of a log, if it is of this one."""
    index = indexes.find(store.root)
    log = None if index is None else index.table("log")
    if index is None or log is None:
        return None
    facts = _DECODER.decode(log.schema.metadata[_FACTS])
    if _covers(facts, log, listing):
        return _CachedHistory(index, facts, log, store, listing)
    indexes.drop(store.root)
    return None


def _covers(facts: _Facts, log: pa.Table, listing: LogListing) -> bool:
    """Return whether a listing begins with the very files that the cache was read from."""
    if (facts.first, facts.readable_from) != (first_read(listing), listing.earliest()) or facts.latest > listing.latest:
        return False
    commits = _commits(listing).oldest(log.num_rows)
    base = () if facts.base is None else facts.base.files
    segment = listing.segment(facts.readable_from) if facts.first else None
    return base == (() if segment is None else _files(segment)) and commits.table().equals(log.combine_chunks())


def _commits(listing: LogListing) -> VersionFiles:
    """Return the commits that a history is made of."""
    return VersionFiles.of(listing.commits).since(first_read(listing))


def _files(segment: LogSegment) -> tuple[LogPath, ...]:
    return (*(() if segment.checkpoint is None else segment.checkpoint.parts), *segment.commits)


def _recorded(lines: Sequence[bytes], commits: Sequence[LogPath], base: _Base | None) -> CommitRecorder:
    """Return the records of commits, from their small actions."""
    recorder = CommitRecorder(None if base is None else base.known())
    for small, path in zip(decode_small_actions(zip(commits, lines, strict=True)), commits, strict=True):
        recorder.take(small, path.modified)
    recorder.pass_base()
    return recorder


def _can_cache(store: LogStore, base: FirstReadable | None) -> bool:
    """Return whether all files that a history is made of are listed: the sidecars of a checkpoint are not."""
    checkpoint = None if base is None else base.segment.checkpoint
    return checkpoint is None or not CheckpointReader(store, checkpoint).sidecar_keys()


def _tables(reader: HistoryReader, history: History, commits: VersionFiles) -> Mapping[str, pa.Table]:
    """Return the tables that cache a history."""
    life, base = history.lifetimes, reader.base
    known = None
    if base is not None:
        known = _Base(
            _files(base.segment),
            life.base_rows,
            base.known.version,
            base.known.protocol.to_wire(),
            base.known.metadata.to_wire(),
            [domain.to_wire() for domain in base.known.domains.values()],
        )
    protocol = history.newest_protocol
    facts = _Facts(
        life.first,
        life.readable_from,
        life.last,
        reader.builder.events_before,
        life.contradictions,
        known,
        None if protocol is None else protocol.to_wire(),
    )
    return {
        "log": commits.table().replace_schema_metadata({_FACTS: encode_json(facts)}),
        "history": history.table(),
        "lines": pa.table({"lines": large_binaries(reader.lines or [])}),
        "stays": life.table(),
        **reader.builder.tables(),
    }
