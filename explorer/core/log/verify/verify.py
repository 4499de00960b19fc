"""Whether a log follows the protocol and agrees with itself.

Protocol sections: Delta Log Entries, Actions, Checkpoints, Last Checkpoint File, Version Checksum File, In-Commit
Timestamps. Every commit is read once, oldest first, and the running state is compared with each checksum and each
checkpoint, in both directions. Invariants: no content of a log raises an error, each fault is a `Problem`; a table
whose features this program does not read is verified too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

import msgspec

from explorer.core.errors import ExplorerError, IncompleteCheckpoint, TableNotFound
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.last_checkpoint import hint_text, parse_last_checkpoint
from explorer.core.log.log_path import LAST_CHECKPOINT, LOG_FOLDER, LogFileKind, LogPath, commit_name
from explorer.core.log.log_segment import Checkpoint, LogListing, arrange_log, list_names
from explorer.core.log.table_state import same_metadata, same_protocol
from explorer.core.log.verify.checksums import compare_checksum
from explorer.core.log.verify.compactions import compare_compaction
from explorer.core.log.verify.hash_chain import START, link
from explorer.core.log.verify.readable_versions import ReadableVersions
from explorer.core.log.verify.running_state import RunningState
from explorer.core.protocol.actions import CommitInfo
from explorer.core.protocol.json_values import decode_json
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_CAPTURE, CHANGE_DATA_FEED, IN_COMMIT_TIMESTAMPS

__all__ = ["BREAKING", "IntegrityReport", "Problem", "verify"]

BREAKING: Final = frozenset(
    {
        *("gap", "truncated-log", "two-names", "unreadable-commit", "unreadable-checkpoint"),
        *("no-metadata", "no-protocol", "invalid-metadata", "invalid-protocol"),
    }
)
"""Kinds of problems that keep versions from being read."""
_FORMER: Final = {CHANGE_DATA_CAPTURE.key.lower(): CHANGE_DATA_FEED}


class Problem(msgspec.Struct, frozen=True):
    """One fault.

    Attributes:
        kind: ``gap``, ``truncated-log``, ``two-names``, ``unreadable-commit``, ``unreadable-checkpoint``,
            ``no-metadata``, ``no-protocol``, ``invalid-metadata``, ``invalid-protocol`` (versions cannot be read);
            ``duplicate-action``, ``contradictory-action``, ``unremoved-vector``, ``misplaced-action``,
            ``clock-went-back``, ``no-in-commit-timestamp``, ``incomplete-checkpoint`` (it lacks a part or a sidecar,
            and readers do without it), ``checkpoint-differs``, ``checksum-differs``, ``unreadable-checksum``,
            ``compaction-differs``, ``unusable-hint``, ``stale-hint``, ``stray-compaction``, ``orphan-file``,
            ``former-property`` (a property with an older name, which has no effect).
        version: The version it is about, None for the log as a whole.
        file: Key of the file below the table's root.
        detail: What was found and what was expected.
    """

    kind: str
    version: int | None
    file: str
    detail: str

    @property
    def breaking(self) -> bool:
        """Whether versions cannot be read because of it."""
        return self.kind in BREAKING


class IntegrityReport(msgspec.Struct, frozen=True):
    """What verifying a log found.

    Attributes:
        problems: Faults in the order of versions.
        first_version: Oldest version that can be rebuilt and after which no commit is missing, None if there is none.
        last_version: Newest version that has a commit or a checkpoint.
        chain_head: Head of the hash chain over the commits (see `explorer.core.log.verify.hash_chain`), None without
            commits.
    """

    problems: tuple[Problem, ...]
    first_version: int | None
    last_version: int
    chain_head: str | None

    def __repr__(self) -> str:
        breaking = sum(each.breaking for each in self.problems)
        found = f"{len(self.problems)} problems, {breaking} of them breaking"
        return f"IntegrityReport({found}, versions {self.first_version} to {self.last_version})"


def verify(store: LogStore) -> IntegrityReport:
    """Verify a whole log.

    Raises:
        TableNotFound: There is no log.
        StorageError: The store failed.
    """
    listed = list_names(store)
    names, paths = [name for name, _ in listed], [path for _, path in listed if path is not None]
    unique, problems = _without_doubles(paths)
    listing = arrange_log(unique)
    if listing.latest < 0:
        raise TableNotFound(f"There is no Delta log at {store.root}.", location=store.root)
    problems += _orphans(names)
    problems += _incomplete(paths)
    problems += _hint(store, listing)
    problems += _compactions(store, listing)
    walk = _Walk(store, listing)
    problems += walk.problems()
    ordered = sorted(problems, key=lambda problem: (problem.version is None, problem.version or 0))
    return IntegrityReport(tuple(ordered), walk.first_version, listing.latest, walk.chain_head)


class _Walk:
    """One pass over the versions; the state is None where it is not known."""

    def __init__(self, store: LogStore, listing: LogListing) -> None:
        self._store = store
        self._listing = listing
        self._state: RunningState | None = None
        self._readable = ReadableVersions(store, listing)
        self._clock: int | None = None
        self._link: bytes | None = None
        self._info: CommitInfo | None = None
        self._checkpoints = {
            version: list(found) for version, found in groupby(listing.checkpoints, lambda each: each.version)
        }

    @property
    def chain_head(self) -> str | None:
        """Head of the chain, once the walk is done."""
        return None if self._link is None else self._link.hex()

    @property
    def first_version(self) -> int | None:
        """Oldest version that can be rebuilt, once the walk is done."""
        return self._readable.first

    def problems(self) -> Iterator[Problem]:
        """Walk from the oldest version that has a file to the newest."""
        commits, checksums = self._listing.commits, self._listing.checksums
        known = sorted({*commits, *self._checkpoints})
        if known[0] == 0 and 0 in commits:
            self._state = RunningState()
            self._readable.begin()
        elif not self._checkpoints:
            detail = "the log starts here and no checkpoint covers earlier versions"
            yield Problem("truncated-log", known[0], commit_name(known[0]), detail)
        yield from self._compaction(known[0] - 1)
        before = known[0] - 1
        # Only versions that have a file are walked: a stray name must not make this endless.
        for version in known:
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

    def _former_properties(self, version: int) -> Iterator[Problem]:
        """Properties of the newest version set under an older name, which has no effect any more (CDF-017)."""
        metadata = None if self._state is None else self._state.metadata
        for key, value in (metadata.configuration if metadata else {}).items():
            if key.lower() in _FORMER:
                detail = f"{key} = {value} uses an older name; only {_FORMER[key.lower()]} has an effect"
                yield Problem("former-property", version, commit_name(version), detail)

    def _gap(self, first: int, last: int) -> Iterator[Problem]:
        self._state = self._link = self._clock = None
        self._readable.lose()
        count = last - first + 1
        detail = "the commit is missing" if count == 1 else f"the {count} commits up to version {last} are missing"
        yield Problem("gap", first, commit_name(first), detail)
        yield from self._compaction(last)

    def _compaction(self, version: int) -> Iterator[Problem]:
        for path, (kind, detail) in self._readable.compaction(version):
            yield Problem(kind, version, path.path, detail)
        if version not in self._checkpoints:
            self._readable.passed(version)

    def _commit(self, path: LogPath) -> Iterator[Problem]:
        self._info = None
        try:
            data = self._store.read(path.path)
            self._link = link(self._link or START, path.version, data.split(b"\n"))
            commit = decode_commit(data, path.version, path.path)
            state = RunningState() if self._state is None else self._state
            protocol, metadata = state.protocol, state.metadata
            found = list(state.apply(commit))
            self._info = commit.commit_info()
        except FileNotFoundError:
            yield from self._gap(path.version, path.version)
            return
        except ExplorerError as error:
            self._state = None
            self._readable.lose()
            yield Problem("unreadable-commit", path.version, path.path, error.message)
            return
        # Without the state before, only what the commit itself says counts.
        for kind, detail in found:
            if self._state is not None or kind != "unremoved-vector":
                yield Problem(kind, path.version, path.path, detail)
        yield from self._misplaced(path, data)
        yield from self._time(commit)
        new_protocol = None if state.protocol is protocol else state.protocol
        new_metadata = None if state.metadata is metadata else state.metadata
        for kind, detail in self._readable.commit(path.version, new_protocol, new_metadata):
            yield Problem(kind, path.version, path.path, detail)

    def _misplaced(self, path: LogPath, data: bytes) -> Iterator[Problem]:
        for name in (b"checkpointMetadata", b"sidecar"):
            # The search is a cheap filter; only a line that passes it is decoded.
            lines = [line for line in data.split(b"\n") if b'"%s"' % name in line]
            if any(name.decode() in decode_json(line) for line in lines):
                yield Problem(
                    "misplaced-action", path.version, path.path, f"{name.decode()} belongs only in checkpoints"
                )

    def _time(self, commit: Commit) -> Iterator[Problem]:
        metadata = None if self._state is None else self._state.metadata
        if metadata is None or not IN_COMMIT_TIMESTAMPS.of(metadata.configuration):
            self._clock = None
            return
        time = None if self._info is None else self._info.in_commit_timestamp
        if time is None:
            yield Problem("no-in-commit-timestamp", commit.version, commit.path, "commitInfo has no inCommitTimestamp")
        elif self._clock is not None and time <= self._clock:
            detail = f"inCommitTimestamp {time} is not after {self._clock}, that of an earlier version"
            yield Problem("clock-went-back", commit.version, commit.path, detail)
        if time is not None:
            self._clock = time if self._clock is None else max(time, self._clock)

    def _checkpoint(self, checkpoint: Checkpoint) -> Iterator[Problem]:
        version, file = checkpoint.version, checkpoint.parts[0].path
        other = RunningState()
        try:
            reader = CheckpointReader(self._store, checkpoint)
            small = reader.state()
            other.take(LogicalFiles(reader.files()))
        except ExplorerError as error:
            has_vanished = isinstance(error, IncompleteCheckpoint) and bool(error.vanished)
            if has_vanished and self._readable.do_without(version):
                yield Problem("incomplete-checkpoint", version, file, error.message)
            else:
                self._readable.refuse(version)
                yield Problem("unreadable-checkpoint", version, file, error.message)
            return
        for kind, detail in self._readable.checkpoint(version, small):
            yield Problem(kind, version, file, detail)
        other.protocol, other.metadata = small.protocol, small.metadata
        other.transactions, other.domains = dict(small.transactions), dict(small.domains)
        if self._state is None:
            self._state = other
            return
        for detail in _differences(other, self._state):
            yield Problem("checkpoint-differs", version, file, detail)

    def _checksum(self, path: LogPath) -> Iterator[Problem]:
        if self._state is None:
            return
        try:
            for detail in compare_checksum(self._store.read(path.path), self._state, self._info_of(path.version)):
                yield Problem("checksum-differs", path.version, path.path, detail)
        except (ValueError, ExplorerError) as error:
            yield Problem("unreadable-checksum", path.version, path.path, str(error))
        except FileNotFoundError:
            return

    def _info_of(self, version: int) -> CommitInfo | None:
        return self._info if version in self._listing.commits else None


def _differences(checkpoint: RunningState, replayed: RunningState) -> Iterator[str]:
    """What a checkpoint holds and replay does not, and the reverse."""
    extra = checkpoint.files.keys() - replayed.files.keys()
    lacking = replayed.files.keys() - checkpoint.files.keys()
    if extra:
        yield f"it holds {len(extra)} files that are not live, such as {min(extra)}"
    if lacking:
        yield f"it lacks {len(lacking)} live files, such as {min(lacking)}"
    changed = [
        key for key in checkpoint.files.keys() & replayed.files.keys() if checkpoint.files[key] != replayed.files[key]
    ]
    if changed:
        key = min(changed)
        yield f"{len(changed)} files differ, such as {key}: {checkpoint.files[key]}, replay gives {replayed.files[key]}"
    if checkpoint.protocol is not None and (
        replayed.protocol is None or not same_protocol(checkpoint.protocol, replayed.protocol)
    ):
        yield "its protocol is not the one in force"
    if checkpoint.metadata is not None and (
        replayed.metadata is None or not same_metadata(checkpoint.metadata, replayed.metadata)
    ):
        yield "its metaData is not the one in force"
    for what, one, other in (
        ("transactions", _versions(checkpoint), _versions(replayed)),
        ("domains", _configurations(checkpoint), _configurations(replayed)),
    ):
        if one != other:
            yield f"its {what} are {sorted(one.items())[:5]}, replay gives {sorted(other.items())[:5]}"


def _versions(state: RunningState) -> dict[str, int]:
    return {app: txn.version for app, txn in state.transactions.items()}


def _configurations(state: RunningState) -> dict[str, str]:
    return {name: domain.configuration for name, domain in state.domains.items()}


def _without_doubles(paths: Iterable[LogPath]) -> tuple[list[LogPath], list[Problem]]:
    """The paths without the commits of versions that have more than one."""
    kept, problems = [], []
    commits: dict[int, list[LogPath]] = {}
    for path in paths:
        if path.kind is LogFileKind.COMMIT:
            commits.setdefault(path.version, []).append(path)
        else:
            kept.append(path)
    for version, same in commits.items():
        if len(same) == 1:
            kept += same
        else:
            names = " and ".join(path.name for path in same)
            problems.append(Problem("two-names", version, same[0].path, f"{names} are both commits of the version"))
    return kept, problems


def _orphans(names: Iterable[str]) -> Iterator[Problem]:
    for name in names:
        if ".tmp" in name and not name.endswith(".crc"):
            yield Problem("orphan-file", None, f"{LOG_FOLDER}/{name}", "a temporary file that its writer left behind")


def _incomplete(paths: Iterable[LogPath]) -> Iterator[Problem]:
    parts: dict[tuple[int, int], list[LogPath]] = {}
    for path in paths:
        if path.kind is LogFileKind.MULTI_PART_CHECKPOINT:
            parts.setdefault((path.version, path.parts), []).append(path)
    for (version, count), found in parts.items():
        if len({path.part for path in found}) < count:
            yield Problem("incomplete-checkpoint", version, found[0].path, f"{len(found)} of {count} parts exist")


def _hint(store: LogStore, listing: LogListing) -> Iterator[Problem]:
    text = hint_text(store)
    if text is None:
        return
    hint = parse_last_checkpoint(text)
    if hint is None:
        yield Problem("unusable-hint", None, LAST_CHECKPOINT, "it is not a valid hint, or its checksum does not match")
        return
    versions = [checkpoint.version for checkpoint in listing.checkpoints]
    if hint.version not in versions:
        yield Problem("unusable-hint", hint.version, LAST_CHECKPOINT, "the checkpoint that it names is missing")
    elif hint.version < max(versions):
        detail = f"it names version {hint.version}; the newest checkpoint is of version {max(versions)}"
        yield Problem("stale-hint", hint.version, LAST_CHECKPOINT, detail)


def _compactions(store: LogStore, listing: LogListing) -> Iterator[Problem]:
    """Compactions that say another thing than their commits, and those of commits that never existed, or vanished."""
    for path in listing.compactions:
        if path.last_version > listing.latest:
            detail = f"it reaches to version {path.last_version}; the newest commit or checkpoint is {listing.latest}"
            # The versions that it ends with do not count.
            yield Problem("stray-compaction", path.version, path.path, detail)
            continue
        commits = [
            listing.commits[version]
            for version in range(path.version, path.last_version + 1)
            if version in listing.commits
        ]
        if len(commits) <= path.last_version - path.version:
            continue
        try:
            for detail in compare_compaction(store, path, commits):
                yield Problem("compaction-differs", path.version, path.path, detail)
        except FileNotFoundError:
            continue
        except ExplorerError as error:
            # A commit that cannot be read is told where it stands.
            if getattr(error, "path", None) == path.path:
                yield Problem("compaction-differs", path.version, path.path, error.message)
