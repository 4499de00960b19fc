"""Checks whether a log follows the protocol and agrees with itself.

Protocol sections: Delta Log Entries, Actions, Checkpoints, Last Checkpoint File, Version Checksum File, In-Commit
Timestamps. Every commit is read once, oldest first, and the running state is compared with each checksum and each
checkpoint, in both directions. Invariants: no content of a log raises an error, each fault is a `LogProblem`; a table
whose features this program does not read is verified too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import groupby
from typing import Final

import msgspec

from explorer.core.errors import CorruptTable, ExplorerError, IncompleteCheckpoint, TableNotFound
from explorer.core.log.action_lines import action_lines
from explorer.core.log.catalog_commits import CommitCatalog, ratified
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.last_checkpoint import hint_text, parse_last_checkpoint
from explorer.core.log.log_path import LogPath, commit_name
from explorer.core.log.log_segment import CompleteCheckpoint, LogListing, arrange_log, list_names
from explorer.core.log.table_state import TableState
from explorer.core.log.verify.checkpoint_proof import compare_numbers, differences
from explorer.core.log.verify.checksums import compare_checksum, lacking_files
from explorer.core.log.verify.file_values import FileValues
from explorer.core.log.verify.hash_chain import START, link
from explorer.core.log.verify.line_contents import unusual_lines
from explorer.core.log.verify.listed_files import (
    compaction_problems,
    hint_problems,
    incomplete_checkpoints,
    lost_version,
    missing_version,
    orphaned_files,
    unusual_names,
    without_doubles,
)
from explorer.core.log.verify.operation_metrics import commit_totals, compare_metrics
from explorer.core.log.verify.problem import BREAKING, LogProblem
from explorer.core.log.verify.readable_versions import ReadableVersions
from explorer.core.log.verify.running_state import RunningState, impossible_numbers
from explorer.core.protocol.actions import CommitInfo, Metadata
from explorer.core.protocol.json_values import decode_json
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.table_features import CATALOG_FEATURES, supported_features
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_CAPTURE, CHANGE_DATA_FEED, IN_COMMIT_TIMESTAMPS

__all__ = ["BREAKING", "IntegrityReport", "LogProblem", "verify"]

_SPREAD: Final = "an action is written over several lines: delta-spark cannot read this file, other clients do"
_FORMER: Final = {CHANGE_DATA_CAPTURE.key.lower(): CHANGE_DATA_FEED}


class IntegrityReport(msgspec.Struct, frozen=True):
    """The result of verifying a log.

    Attributes:
        problems: Faults in the order of versions.
        first_version: Oldest version that can be rebuilt and after which no commit is missing, None if there is none.
        last_version: Newest version that has a commit or a checkpoint.
        chain_head: Head of the hash chain over the commits (see `explorer.core.log.verify.hash_chain`), None without
            commits.
    """

    problems: tuple[LogProblem, ...]
    first_version: int | None
    last_version: int
    chain_head: str | None

    def __repr__(self) -> str:
        breaking = sum(each.breaking for each in self.problems)
        counts = f"{len(self.problems)} problems, {breaking} of them breaking"
        return f"IntegrityReport({counts}, versions {self.first_version} to {self.last_version})"


def verify(
    store: LogStore, catalog: CommitCatalog | None = None, check_cancelled: Callable[[], None] = lambda: None
) -> IntegrityReport:
    """Verify a whole log.

    Args:
        catalog: The catalog that ratifies the commits; None if there is none, or it is not known.
        check_cancelled: Called before each version and each compaction; what it raises ends the replay.

    Raises:
        TableNotFound: There is no log.
        StorageError: The store failed.
    """
    answer = None if catalog is None else catalog.current()
    listed = list_names(store)
    names, paths = [name for name, _ in listed], [path for _, path in listed if path is not None]
    unique, problems = without_doubles(paths)
    listing = arrange_log(unique) if answer is None else ratified(arrange_log(unique), answer)
    text = hint_text(store)
    hint = None if text is None else parse_last_checkpoint(text)
    missing = missing_version(store, listing, paths, text) if answer is None else listing.missing_version
    if listing.latest < 0 and missing is None and not problems:
        raise TableNotFound(f"There is no Delta log at {store.root}.", location=store.root)
    problems += orphaned_files(names)
    problems += unusual_names(names, unique)
    problems += incomplete_checkpoints(paths)
    walk = _LogWalk(store, listing)
    walked = list(walk.problems(check_cancelled))
    if text is not None:
        problems += hint_problems(store, listing, hint, walk.proved)
    problems += compaction_problems(store, listing, check_cancelled)
    if missing is not None and (answer is not None or not walk.is_managed):
        problems.append(lost_version(missing, listing.recorded))
    problems += walked
    ordered = sorted(problems, key=lambda problem: (problem.version is None, problem.version or 0))
    return IntegrityReport(tuple(ordered), walk.first_version, listing.latest, walk.chain_head)


class _LogWalk:
    """One pass over the versions; the state is None where it is not known."""

    def __init__(self, store: LogStore, listing: LogListing) -> None:
        self._store = store
        self._listing = listing
        self._state: RunningState | None = None
        self._readable = ReadableVersions(store, listing)
        self._clock: int | None = None
        self._link: bytes | None = None
        self._info: CommitInfo | None = None
        self._values = FileValues()
        self._proved: set[int] = set()
        # The checkpoint on which the state rests where the commits before it are gone: its version and its file.
        self._base: tuple[int, str] | None = None
        self._checkpoints = {
            version: list(checkpoints)
            for version, checkpoints in groupby(listing.checkpoints, lambda each: each.version)
        }

    @property
    def chain_head(self) -> str | None:
        """The head of the chain, once the walk is done."""
        return None if self._link is None else self._link.hex()

    @property
    def first_version(self) -> int | None:
        """The oldest version that can be rebuilt, once the walk is done."""
        return self._readable.first

    @property
    def proved(self) -> Set[int]:
        """The versions of checkpoints that were compared with commits, once the walk is done."""
        return self._proved

    @property
    def is_managed(self) -> bool:
        """Whether a catalog manages the newest version, and ratifies versions that have no commit here yet."""
        protocol = None if self._state is None else self._state.protocol
        return protocol is not None and not CATALOG_FEATURES.isdisjoint(supported_features(protocol))

    def problems(self, check_cancelled: Callable[[], None]) -> Iterator[LogProblem]:
        """Walk from the oldest version that has a file to the newest."""
        commits, checksums = self._listing.commits, self._listing.checksums
        known = sorted({*commits, *self._checkpoints})
        if not known:
            return
        if known[0] == 0 and 0 in commits:
            self._state = RunningState()
            self._readable.begin()
        elif not self._checkpoints:
            detail = "the log starts here and no checkpoint covers earlier versions"
            yield LogProblem("truncated-log", known[0], commit_name(known[0]), detail)
        yield from self._compaction(known[0] - 1)
        before = known[0] - 1
        # Only versions that have a file are walked: a stray name must not make this endless.
        for version in known:
            check_cancelled()
            if version > before + 1 or (version not in commits and version > min(commits, default=version)):
                yield from self._gap(before + 1, version if version not in commits else version - 1)
            before = version
            if version in commits:
                yield from self._commit(commits[version])
                yield from self._compaction(version)
            for checkpoint in self._checkpoints.get(version, ()):
                yield from self._checkpoint(checkpoint)
            if version in checksums:
                yield from self._checksum(checksums[version])
            self._readable.passed(version)
        yield from self._former_properties(before)

    def _former_properties(self, version: int) -> Iterator[LogProblem]:
        """Yield properties of the newest version set under an older name, which has no effect any more (CDF-017)."""
        metadata = None if self._state is None else self._state.metadata
        for key, value in (metadata.configuration if metadata else {}).items():
            if key.lower() in _FORMER:
                detail = f"{key} = {value} uses an older name; only {_FORMER[key.lower()]} has an effect"
                yield LogProblem("former-property", version, commit_name(version), detail)

    def _gap(self, first: int, last: int) -> Iterator[LogProblem]:
        self._state = self._link = self._clock = self._base = None
        self._readable.lose()
        count = last - first + 1
        detail = "the commit is missing" if count == 1 else f"the {count} commits up to version {last} are missing"
        yield LogProblem("gap", first, commit_name(first), detail)
        yield from self._compaction(last)

    def _compaction(self, version: int) -> Iterator[LogProblem]:
        for path, (kind, detail) in self._readable.compaction(version):
            yield LogProblem(kind, version, path.path, detail)
        if version not in self._checkpoints:
            self._readable.passed(version)

    def _commit(self, path: LogPath) -> Iterator[LogProblem]:
        self._info = None
        try:
            data = self._store.read(path.path)
            lines = action_lines(data)
            self._link = link(self._link or START, path.version, lines)
            commit = decode_commit(data, path.version, path.path)
            state = RunningState() if self._state is None else self._state
            protocol, metadata = state.protocol, state.metadata
            info = commit.commit_info()
            has_metrics = info is not None and info.operation_metrics is not None
            totals = commit_totals(commit, self._state) if has_metrics else {}
            faults = list(state.apply(commit))
            self._info = info
        except FileNotFoundError:
            yield from self._gap(path.version, path.version)
            return
        except ExplorerError as error:
            self._state = None
            self._readable.lose()
            yield LogProblem("unreadable-commit", path.version, path.path, error.message)
            return
        for kind, detail in _shape(data, lines, commit):
            yield LogProblem(kind, path.version, path.path, detail)
        # Without the state before, only the contents of the commit itself count.
        for kind, detail in faults:
            if self._state is not None or kind != "unremoved-vector":
                yield LogProblem(kind, path.version, path.path, detail)
        if info is not None:
            for kind, detail in compare_metrics(info, totals, self._state):
                yield LogProblem(kind, path.version, path.path, detail)
        for detail in impossible_numbers(commit, info, self._state):
            yield LogProblem("impossible-number", path.version, path.path, detail)
        for detail in self._values.of_commit(commit, state.protocol, state.metadata):
            yield LogProblem("invalid-file-values", path.version, path.path, detail)
        for detail in self._values.empty_strings(_with_empty_values(commit)):
            yield LogProblem("empty-partition-value", path.version, path.path, detail)
        yield from self._misplaced(path, lines)
        yield from self._time(commit)
        new_protocol = None if state.protocol is protocol else state.protocol
        new_metadata = None if state.metadata is metadata else state.metadata
        for kind, detail in self._readable.commit(path.version, new_protocol, new_metadata):
            yield LogProblem(kind, path.version, path.path, detail)

    def _misplaced(self, path: LogPath, lines: Sequence[bytes]) -> Iterator[LogProblem]:
        for name in (b"checkpointMetadata", b"sidecar"):
            # The search is a cheap filter; only a line that passes it is decoded.
            if any(name.decode() in decode_json(line) for line in lines if b'"%s"' % name in line):
                yield LogProblem(
                    "misplaced-action", path.version, path.path, f"{name.decode()} belongs only in checkpoints"
                )

    def _time(self, commit: Commit) -> Iterator[LogProblem]:
        metadata = None if self._state is None else self._state.metadata
        if metadata is None or not _has_in_commit_timestamps(metadata):
            self._clock = None
            return
        time = None if self._info is None else self._info.in_commit_timestamp
        if time is None:
            yield LogProblem(
                "no-in-commit-timestamp", commit.version, commit.path, "commitInfo has no inCommitTimestamp"
            )
        elif self._clock is not None and time <= self._clock:
            detail = f"inCommitTimestamp {time} is not after {self._clock}, that of an earlier version"
            yield LogProblem("clock-went-back", commit.version, commit.path, detail)
        if time is not None:
            self._clock = time if self._clock is None else max(time, self._clock)

    def _checkpoint(self, checkpoint: CompleteCheckpoint) -> Iterator[LogProblem]:
        version, file = checkpoint.version, checkpoint.parts[0].path
        other = RunningState()
        try:
            reader = CheckpointReader(self._store, checkpoint)
            small = reader.state()
            files = LogicalFiles(reader.files())
            files.select(["partition_values", "tags"])
            other.take(files)
            details = list(compare_numbers(self._store, reader, version, files.num_rows))
        except ExplorerError as error:
            has_vanished = isinstance(error, IncompleteCheckpoint) and bool(error.vanished)
            if isinstance(error, IncompleteCheckpoint) and self._readable.do_without(version):
                kind = "incomplete-checkpoint" if has_vanished else "damaged-checkpoint"
                yield LogProblem(kind, version, file, error.message)
            else:
                self._readable.refuse(version)
                yield LogProblem("unreadable-checkpoint", version, file, error.message)
            return
        for detail in details:
            yield LogProblem("checkpoint-differs", version, file, detail)
        for detail in reader.unusual_types():
            yield LogProblem("checkpoint-types", version, file, detail)
        for kind, detail in self._readable.checkpoint(version, small):
            yield LogProblem(kind, version, file, detail)
        other.protocol, other.metadata = small.protocol, small.metadata
        other.transactions, other.domains = dict(small.transactions), dict(small.domains)
        for part in checkpoint.parts:
            if part.name.endswith(".json"):
                yield from self._spread(part)
        if self._state is None:
            self._state, self._base = other, (version, file)
            yield from self._of_files(files, small, version, file)
            return
        self._proved.add(version)
        for detail in differences(other, self._state):
            yield LogProblem("checkpoint-differs", version, file, detail)

    def _spread(self, part: LogPath) -> Iterator[LogProblem]:
        data = self._store.read(part.path)
        if action_lines(data) != data.split(b"\n"):
            yield LogProblem("spread-action", part.version, part.path, _SPREAD)

    def _of_files(self, files: LogicalFiles, small: TableState, version: int, file: str) -> Iterator[LogProblem]:
        try:
            details = list(self._values.of_files(files, small.protocol, small.metadata, version))
            empty = list(self._values.empty_strings(_with_values(files)))
        except ExplorerError as error:
            self._readable.refuse(version)
            yield LogProblem("unreadable-checkpoint", version, file, error.message)
            return
        for detail in details:
            yield LogProblem("invalid-file-values", version, file, detail)
        for detail in empty:
            yield LogProblem("empty-partition-value", version, file, detail)

    def _checksum(self, path: LogPath) -> Iterator[LogProblem]:
        if self._state is None:
            return
        try:
            data = self._store.read(path.path)
            if self._base is not None and (lack := lacking_files(data, len(self._state.files))):
                yield LogProblem("checkpoint-short", *self._base, f"the checksum of version {path.version}: {lack}")
                return
            for detail in compare_checksum(data, self._state, self._info_of(path.version)):
                yield LogProblem("checksum-differs", path.version, path.path, detail)
        except (ValueError, ExplorerError) as error:
            yield LogProblem("unreadable-checksum", path.version, path.path, str(error))
        except FileNotFoundError:
            return

    def _info_of(self, version: int) -> CommitInfo | None:
        return self._info if version in self._listing.commits else None


def _with_empty_values(commit: Commit) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield the path and the partition values of added files that may have an empty one."""
    for line in commit.lines:
        if line.add is not None and b'""' in bytes(line.add.partition_values):
            # Values that cannot be decoded are a problem of their own.
            with contextlib.suppress(ValueError, RecursionError, ExplorerError):
                values = decode_json(line.add.partition_values)
                if isinstance(values, dict):
                    yield line.add.path, values


def _with_values(files: LogicalFiles) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield the path and the partition values of live files that have an empty one."""
    maps = files.select(["partition_values"]).column(0)
    if not any("" in chunk.items.unique().to_pylist() for chunk in maps.chunks):
        return
    for row in files.select(["path", "partition_values"]).to_pylist():
        yield row["path"], dict(row["partition_values"] or ())


def _has_in_commit_timestamps(metadata: Metadata) -> bool:
    """Return whether commits have in-commit timestamps; False where the property cannot be read, which is a problem."""
    try:
        return IN_COMMIT_TIMESTAMPS.of(metadata.configuration)
    except CorruptTable:
        return False


def _shape(data: bytes, lines: Sequence[bytes], commit: Commit) -> Iterator[tuple[str, str]]:
    """Yield the faults in the text of a commit, apart from its contents."""
    if not data:
        yield "empty-commit", "the commit has zero bytes: it changes nothing, or its writer was interrupted"
    if lines != data.split(b"\n"):
        yield "spread-action", _SPREAD
    yield from unusual_lines(commit, lines)
