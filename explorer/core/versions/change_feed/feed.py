"""Change data feed: a range of versions -> the files that hold its changes, and the gaps of the feed.

Protocol section: Add CDC File (Reader Requirements). Invariants: a version with change files is read from these alone
(CDF-005), any other from its adds and removes that changed data (CDF-006, CDF-007); in a file that only got another
deletion vector, the changes are the difference of the two vectors (CDF-008, D-07); a range that cannot be read whole is
refused with its first gap, never read in part (CDF-011, CDF-013, D-38).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import ChangeFeedGap, CorruptTable, RequestError, VersionNotFound
from explorer.core.log.log_segment import LogListing
from explorer.core.log.replay import read_commits
from explorer.core.protocol.arrow.arrays import mask
from explorer.core.protocol.counted import counted
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.row_tracking import row_tracking
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_FEED, IN_COMMIT_TIMESTAMPS
from explorer.core.versions.change_feed.schema_breaks import why_not_readable_as
from explorer.core.versions.change_feed.sources import change_table, locations
from explorer.core.versions.history import History
from explorer.core.versions.provenance import CommitRecord

FindMissing = Callable[[Iterable[str]], Set[str]]
"""Returns those of some decoded locations at which there is no file."""


class FeedSpan(msgspec.Struct, frozen=True):
    """Readable versions, both inclusive, in all of which the change feed was enabled."""

    from_version: int
    to_version: int


class FeedGap(msgspec.Struct, frozen=True, rename="camel"):
    """Why the changes of some versions, both inclusive, cannot be read.

    ``off``: the feed was not enabled. ``schema``: their rows do not fit the schema that the range is read with.
    ``gone``: their commits are not in the log. ``unresolved``: a removed file's partition values are not known.
    ``vacuumed``: a file with their rows was deleted.
    """

    kind: Literal["off", "schema", "gone", "unresolved", "vacuumed"]
    from_version: int
    to_version: int
    detail: str


class ChangeVersion(msgspec.Struct, frozen=True):
    """Where the changes of one version come from.

    Attributes:
        version: The ``_commit_version`` of its rows.
        timestamp: The ``_commit_timestamp`` of its rows, ms since the epoch (CDF-010).
        source: ``cdc`` (recorded change files), ``files`` (adds, removes, deletion vectors) or ``none``.
        recorded: True if the feed was enabled, so that rows that were only moved are not among the changes.
        num_sources: Number of its rows in `ChangeSources.files`.
        row_id_column: Where the feed was off, and rows were tracked before and after the commit: the physical name of
        the column in data files with the ids of rows that were moved. Else None: rows have no stable ids.
    """

    version: int
    timestamp: int
    source: Literal["cdc", "files", "none"]
    recorded: bool
    num_sources: int
    row_id_column: str | None = None


class ChangeSources(msgspec.Struct, frozen=True):
    """The changes of a range of versions, before their rows are read.

    Attributes:
        from_version, to_version: The range, both inclusive.
        schema_version: The version whose schema all rows are shown with.
        versions: One record for each version whose changes are read, ascending.
        skipped: The gaps, if the caller skips them; their versions have no records.
        files: One row a source, ascending by version: version (``_commit_version``), timestamp (``_commit_timestamp``,
            ms, UTC), kind, path (decoded), raw_path, partition_values, size (bytes), num_records (physical rows, null
            if unknown), base_row_id (null where rows have none), dv_unique_id, dv_storage_type, dv_cardinality,
            dv_path_or_inline, dv_offset, dv_size_in_bytes, and these last six with the prefix ``before_``. By kind:
            ``cdc``: a file of changes, each with its type in the column ``_change_type``.
            ``insert``: all rows that the deletion vector does not mask are inserts.
            ``delete``: all rows that the deletion vector (the one before) does not mask are deletes.
            ``difference``: rows masked by the deletion vector and not by the one before are deletes, rows masked by
            the one before alone are inserts; see `explorer.core.versions.change_feed.sources.masked_difference`.
    """

    from_version: int
    to_version: int
    schema_version: int
    versions: tuple[ChangeVersion, ...]
    files: pa.Table
    skipped: tuple[FeedGap, ...] = ()

    @property
    def inferred_versions(self) -> tuple[int, ...]:
        """Versions whose changes no feed recorded: they are inferred from the added and removed files."""
        return tuple(version.version for version in self.versions if not version.recorded and version.source != "none")

    def next_cut(self, end: int) -> int:
        """Return the first row from ``end`` on at which the sources can be cut: not within an inferred version.

        The rows that such a commit deleted and inserted are compared with each other, so they are read together.
        """
        versions, inferred = self.files.column("version"), frozenset(self.inferred_versions)
        while 0 < end < len(versions) and versions[end] == versions[end - 1] and versions[end].as_py() in inferred:
            end += 1
        return end


def change_feed_coverage(history: History) -> tuple[FeedSpan, ...]:
    """Return the spans of readable versions with the feed: supported by the protocol and enabled by its property."""
    known = _recorded(history)
    changes = [r.version for r in history.commits if r.metadata is not None or r.protocol is not None]
    starts = sorted({known.start, *(version for version in changes if version in known)}) if known else []
    spans: list[FeedSpan] = []
    for start, stop in zip(starts, [*starts[1:], known.stop], strict=False):
        if not history.records_changes(start):
            continue
        if spans and spans[-1].to_version == start - 1:
            spans[-1] = FeedSpan(spans[-1].from_version, stop - 1)
        else:
            spans.append(FeedSpan(start, stop - 1))
    return tuple(spans)


def change_feed_gaps(
    history: History,
    from_version: int,
    to_version: int,
    *,
    inferred: bool = False,
    schema_version: int | None = None,
    by_id: bool = False,
) -> tuple[FeedGap, ...]:
    """Return the gaps in the changes of a range.

    Args:
        from_version, to_version: The range, both inclusive.
        inferred: Do without the recorded feed: use adds and removes where it was off.
        schema_version, by_id: See `change_sources`.

    Raises:
        RequestError: The range is reversed.
        VersionNotFound: It leaves the versions whose commits and state are in the log.
    """
    _check_range(history, from_version, to_version)
    shown = _schema_version(history, to_version) if schema_version is None else schema_version
    holes = [] if inferred else list(_off(history, from_version, to_version))
    holes += _other_schemas(history, from_version, to_version, shown, by_id=by_id)
    holes += _without_commit(history, from_version, to_version)
    holes += _unresolved(history, from_version, to_version)
    return tuple(sorted(holes, key=lambda hole: hole.from_version))


def change_sources(
    store: LogStore,
    listing: LogListing,
    history: History,
    from_version: int,
    to_version: int,
    *,
    inferred: bool = False,
    schema_version: int | None = None,
    skip: bool = False,
    by_id: bool = False,
) -> ChangeSources:
    """Return the files with the changes of a range of versions.

    Args:
        store: The table's store; the commits that recorded change files are read from it.
        from_version, to_version: The range, both inclusive.
        inferred: Read the changes of versions in which the feed was off from their adds and removes. Rows that a commit
            copied from one file to another then appear as deleted and inserted.
        schema_version: Version whose schema the rows are shown with. None means, as in the reference implementation,
            the last version of the range if the table has column mapping, else the table's newest.
        skip: Leave out the versions of gaps and name them in the result, instead of refusing the range.
        by_id: Read across renames, which end a range in the reference implementation: a column is known by its physical
            name, and shown under its name in the schema.

    Raises:
        ChangeFeedGap: The range has a gap.
        RequestError, VersionNotFound: As in `change_feed_gaps`.
        CorruptTable: A commit lacks the in-commit timestamp that it must have (CDF-010).
    """
    holes = change_feed_gaps(
        history, from_version, to_version, inferred=inferred, schema_version=schema_version, by_id=by_id
    )
    if holes and not skip:
        raise _gap(history, from_version, to_version, holes)
    skipped = {version for hole in holes for version in range(hole.from_version, hole.to_version + 1)}
    wanted = set(range(from_version, to_version + 1)) - skipped
    records = [record for record in history.commits if record.version in wanted]
    _timed(records)
    recorded = {
        commit.version: commit.change_files()
        for commit in read_commits(store, [listing.commits[r.version] for r in records if r.change_files])
    }
    from_files = {r.version for r in records if not r.change_files and not r.changes_no_row}
    times = {record.version: record.timestamp for record in records}
    files = change_table(recorded, history.lifetimes, from_files, times)
    counts = Counter(_numbers(files))
    return ChangeSources(
        from_version,
        to_version,
        _schema_version(history, to_version) if schema_version is None else schema_version,
        tuple(_versions(history, records, counts)),
        files,
        holes,
    )


def check_sources(sources: ChangeSources, find_missing: FindMissing) -> None:
    """Check that every file with the changes still exists (CDF-018).

    Raises:
        ChangeFeedGap: One was deleted; the error has the first version concerned and the file.
        NotAllowed: The log points outside the locations that may be read.
    """
    needed = locations(sources.files)
    missing = find_missing(path for _, path in needed)
    if not missing:
        return
    version, path = next((version, path) for version, path in needed if path in missing)
    affected = sorted({version for version, path in needed if path in missing})
    after = affected[-1] + 1
    files, versions = counted(len(missing), "file is", "files are"), counted(len(affected), "version")
    rest = ""
    if after <= sources.to_version:
        remaining = _named([(after, sources.to_version)])
        rest = f" The changes of {remaining} can still be read."
    raise ChangeFeedGap(
        f"The changes of version {version} cannot be read: their file {path} is no longer in the table's folder, most "
        f"likely deleted by VACUUM. {files} missing, of {versions}.{rest}",
        version=version,
        versions=affected,
        path=path,
        missing=len(missing),
    )


def without_vacuumed(sources: ChangeSources, find_missing: FindMissing) -> ChangeSources:
    """Return the changes of the versions whose files all still exist; the others are skipped, and named."""
    needed = locations(sources.files)
    missing = find_missing(path for _, path in needed)
    first = {version: path for version, path in reversed(needed) if path in missing}
    if not first:
        return sources
    holes = [
        FeedGap("vacuumed", version, version, f"the file {path} is no longer in the table's folder")
        for version, path in sorted(first.items())
    ]
    return msgspec.structs.replace(
        sources,
        versions=tuple(version for version in sources.versions if version.version not in first),
        files=sources.files.filter(mask([version not in first for version in _numbers(sources.files)])),
        skipped=tuple(sorted([*sources.skipped, *holes], key=lambda hole: hole.from_version)),
    )


def _numbers(files: pa.Table) -> list[int]:
    numbers: list[int] = files.column("version").to_pylist()
    return numbers


def _recorded(history: History) -> range:
    """Return the readable versions whose commits are in the log."""
    first = history.commits[0].version if history.commits else history.latest + 1
    return range(max(first, history.first_readable), history.latest + 1)


def _check_range(history: History, from_version: int, to_version: int) -> None:
    known = _recorded(history)
    for version in (from_version, to_version):
        if version not in known:
            nearest = None if not known else known.start if version < known.start else history.latest
            span = f"{known.start} to {known.stop - 1}. The nearest is {nearest}" if known else "no version"
            raise VersionNotFound(
                f"The changes of version {version} are not in the log; it has those of {span}.",
                version=version,
                earliest=known.start if known else None,
                latest=history.latest,
                nearest=nearest,
            )
    if from_version > to_version:
        raise RequestError(f"The range {from_version} to {to_version} is reversed. Give the earlier version first.")


def _schema_version(history: History, to_version: int) -> int:
    return history.latest if history.mapping_mode(history.latest) == "none" else to_version


def _off(history: History, from_version: int, to_version: int) -> Iterator[FeedGap]:
    start = from_version
    after = FeedSpan(to_version + 1, to_version + 1)
    for span in (*change_feed_coverage(history), after):
        end = min(span.from_version - 1, to_version)
        if start <= end:
            yield FeedGap("off", start, end, f"the change feed was off ({CHANGE_DATA_FEED} was not true)")
        start = max(start, span.to_version + 1)


def _without_commit(history: History, from_version: int, to_version: int) -> Iterator[FeedGap]:
    """Yield versions that only a log compaction covers: it has their result, not their changes."""
    in_log = {record.version for record in history.commits}
    for version in range(from_version, to_version + 1):
        if version not in in_log:
            yield FeedGap("gone", version, version, "the commit is no longer in the log")


def _other_schemas(
    history: History, from_version: int, to_version: int, shown: int, *, by_id: bool
) -> Iterator[FeedGap]:
    if shown > history.latest or history.metadata_at(shown) is None:
        raise VersionNotFound(
            f"The schema of version {shown} is not in the log, whose newest version is {history.latest}. "
            "Give another schema version.",
            version=shown,
            latest=history.latest,
        )
    changes = history.layout_changes(from_version, to_version)
    known = [version for version in changes if history.metadata_at(version) is not None]
    ends = [version - 1 for version in known[1:]] + [to_version]
    for version, end in zip(known, ends, strict=True):
        reason = why_not_readable_as(history, version, shown, by_id=by_id)
        if reason is not None:
            yield FeedGap("schema", version, end, f"{reason}, that of version {shown}")


def _unresolved(history: History, from_version: int, to_version: int) -> Iterator[FeedGap]:
    """Yield a gap for files of which the log has only the remove, without partition values (CDF-020)."""
    life, metadata = history.lifetimes, history.metadata_at(from_version)
    if metadata is None or not metadata.partition_columns:
        return
    from_files = {r.version for r in history.commits if from_version <= r.version <= to_version and not r.change_files}
    rows = np.flatnonzero((life.added < life.first) & (life.removed >= from_version) & (life.removed <= to_version))
    if from_version > life.readable_from or not len(rows):
        # From the first readable version on, the add of every removed file is known.
        return
    rows = rows[life.removed[rows] == life.readable_from]
    for row, values in zip(rows, life.take(rows, ["partition_values"]).column(0).to_pylist(), strict=True):
        version = int(life.removed[row])
        if not values and version in from_files and life.removed_data_change[row]:
            path = life.take(np.array([row]), ["raw_path"]).column(0)[0].as_py()
            yield FeedGap(
                "unresolved",
                version,
                version,
                f"the partition values of the removed file {path} are neither in its remove nor in an add of the log",
            )
            return


def _named(spans: Sequence[tuple[int, int]]) -> str:
    """Return the spans in words: ``version 3``, ``versions 3 to 5``, ``versions 3, 7 to 9``."""
    texts = [f"{first}" if first == last else f"{first} to {last}" for first, last in spans]
    return f"version{'' if len(texts) == 1 and texts[0].isdigit() else 's'} {', '.join(texts)}"


def _gap(history: History, from_version: int, to_version: int, holes: Sequence[FeedGap]) -> ChangeFeedGap:
    first = holes[0]
    spans = [(each.from_version, each.to_version) for each in change_feed_coverage(history)]
    where = _named([(first.from_version, first.to_version)])
    advice = {
        "off": (f"The feed was on in {_named(spans[-5:])}. " if spans else "The feed was never on. ")
        + "Infer the changes from the files: inferred=True in Python, --inferred in the command.",
        "schema": "Request a range that begins after the change, or read this one with the schema of another version: "
        "schema_version in Python, --schema-version in the command.",
        "gone": "Request a range without it.",
        "unresolved": "Request a range that begins later.",
    }[first.kind]
    return ChangeFeedGap(
        f"The changes of versions {from_version} to {to_version} cannot be read: at {where} {first.detail}. {advice}",
        version=first.from_version,
        holes=[msgspec.to_builtins(hole) for hole in holes],
    )


def _versions(history: History, records: Sequence[CommitRecord], counts: Counter[int]) -> Iterator[ChangeVersion]:
    spans = change_feed_coverage(history)
    on = {version for span in spans for version in range(span.from_version, span.to_version + 1)}
    for record in records:
        count = counts[record.version]
        source: Literal["cdc", "files", "none"] = "none" if not count else "cdc" if record.change_files else "files"
        recorded = record.version in on
        ids = None if recorded or not count else _row_id_column(history, record.version)
        yield ChangeVersion(record.version, record.timestamp, source, recorded, count, ids)


def _row_id_column(history: History, version: int) -> str | None:
    """Return the column of row ids if rows were tracked both before and after a commit (ROWTRACK-006)."""
    names = set()
    for each in (version - 1, version):
        metadata, protocol = history.metadata_at(each), history.protocol_at(each)
        tracking = None if metadata is None or protocol is None else row_tracking(protocol, metadata, {})
        names.add(tracking.row_id_column if tracking is not None and tracking.enabled else None)
    return names.pop() if len(names) == 1 else None


def _timed(records: Sequence[CommitRecord]) -> None:
    lacking = next((record.version for record in records if record.time_lacking), None)
    if lacking is not None:
        raise CorruptTable(
            f"Version {lacking} has no inCommitTimestamp, though {IN_COMMIT_TIMESTAMPS} is true, so its changes have "
            "no time. A faulty client wrote the commit. Request a range without it.",
            version=lacking,
        )
