"""Listing of ``_delta_log`` -> the files that make up one version.

Protocol sections: Delta Log Entries, Checkpoints, Last Checkpoint File, Action Reconciliation. Invariants of a
`LogSegment`, which its constructor checks: its checkpoint is complete and not newer than the version; its commits begin
right after the checkpoint, or at 0 where there is none, leave out no version and end at its version (LOG-011, LOG-014,
CKPT-003). Where other files of the log name a newer version than any commit or checkpoint,
the latest version is that one, which cannot be rebuilt: an older one is never returned for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

import msgspec

from explorer.core.errors import CorruptTable, TableNotFound, VersionGap, VersionNotFound
from explorer.core.log.last_checkpoint import hint_text, hinted_version, parse_last_checkpoint
from explorer.core.log.listed_log import (
    CompleteCheckpoint,
    ListedLog,
    MissingVersion,
    complete_checkpoints,
    list_files,
    named_by_hint,
    sorted_files,
)
from explorer.core.log.log_path import LOG_FOLDER, LogFileKind, LogPath, parse_log_name
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.log_store import ListedObjects, LogStore

__all__ = ["CompleteCheckpoint", "LogListing", "LogSegment", "arrange_log", "list_log", "list_names", "list_newer"]

# How many runs of readable versions are named, and how many files.
_RUNS: Final = 3


class LogSegment(msgspec.Struct, frozen=True):
    """The files that make up one version, oldest first.

    Attributes:
        version: The version.
        checkpoint: The checkpoint that it begins with; None if it begins with version 0.
        commits: The commits after it; where some are missing, a compaction in their place.

    Raises:
        ValueError: The files do not make up the version: the choice was wrong, which is a bug.
    """

    version: int
    checkpoint: CompleteCheckpoint | None
    commits: tuple[LogPath, ...]

    def __post_init__(self) -> None:
        if self.checkpoint is not None:
            self._check_checkpoint(self.checkpoint)
        start = 0 if self.checkpoint is None else self.checkpoint.version + 1
        reached = start - 1
        for path in self.commits:
            last = self._last_of(path)
            if path.version > reached + 1:
                raise self._wrong(f"version {reached + 1} is left out before {path.name}")
            if path.version < start or last <= reached:
                raise self._wrong(f"{path.name} is not newer than version {reached}")
            reached = last
        if reached != self.version:
            raise self._wrong(f"they end at version {reached}")

    def _check_checkpoint(self, checkpoint: CompleteCheckpoint) -> None:
        parts = checkpoint.parts
        if not parts or any(part.version != checkpoint.version for part in parts):
            raise self._wrong(f"the checkpoint of version {checkpoint.version} has no part or one of another version")
        if len(parts) != (parts[0].parts or 1):
            raise self._wrong(
                f"the checkpoint of version {checkpoint.version} is incomplete: it begins with {parts[0].name}"
            )
        if checkpoint.version > self.version:
            raise self._wrong(f"the checkpoint of version {checkpoint.version} is newer")

    def _last_of(self, path: LogPath) -> int:
        """Return the newest version whose commit a file contains."""
        match path.kind:
            case LogFileKind.COMMIT | LogFileKind.STAGED_COMMIT:
                return path.version
            case LogFileKind.COMPACTION:
                return path.last_version
            case _:
                raise self._wrong(f"{path.name} contains no commit")

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"The files chosen for version {self.version} do not make it up: {what}.")


class LogListing(msgspec.Struct, frozen=True):
    """The files of the log: commits by version and complete checkpoints, both ascending.

    ``by_catalog`` is True if a catalog ratified the commits, ``is_complete`` if the folder was listed from its
    beginning. ``beginning`` completes it with the names that the folder had then, or returns None where it has others
    now, or a commit seems to be missing; it is None itself where the store does not know those names.
    ``missing_version`` is a version newer than all of them that other files of the log name.
    """

    commits: dict[int, LogPath] | VersionFiles
    checkpoints: tuple[CompleteCheckpoint, ...]
    compactions: tuple[LogPath, ...] = ()
    checksums: dict[int, LogPath] | VersionFiles = {}
    by_catalog: bool = False
    is_complete: bool = True
    beginning: Callable[[], LogListing | None] | None = None
    missing_version: MissingVersion | None = None

    @property
    def latest(self) -> int:
        """The newest version that has a commit or a checkpoint, or that other files name, which cannot be rebuilt."""
        return self.recorded if self.missing_version is None else self.missing_version.version

    @property
    def recorded(self) -> int:
        """The newest version that has a commit or a checkpoint; -1 if there is none."""
        newest_commit = next(reversed(self.commits), -1)
        return max(newest_commit, self.checkpoints[-1].version if self.checkpoints else -1)

    def with_missing(self, missing: MissingVersion | None) -> LogListing:
        """Return the same listing with a missing version, which counts if it is newer than the recorded ones."""
        both = missing if self.missing_version is None else self.missing_version.and_also(missing)
        newer = None if both is None else both.beyond(self.recorded)
        return self if newer == self.missing_version else msgspec.structs.replace(self, missing_version=newer)

    def earliest(self) -> int:
        """Return the oldest version that can be rebuilt and after which no commit is missing up to the latest.

        It is rebuilt from commits from 0 on, from a checkpoint, or from a compaction that replaces lost commits;
        the versions inside such a compaction cannot be read (COMPACT-003).

        Raises:
            VersionGap: Not even the latest version can be rebuilt.
        """
        lowest = self.first_recorded()
        if lowest == 0:
            return 0
        bases = [c.version for c in self.checkpoints if lowest - 1 <= c.version]
        bases += islice(self._compacted(lowest - 1), 1)
        if not bases:
            raise self._gap(self.latest, lowest - 1)
        return min(bases)

    def first_recorded(self) -> int:
        """Return the oldest commit from which no commit is missing to the latest, readable or not.

        The version after the latest if only its checkpoint is left.
        """
        version = self.latest + 1
        if self.missing_version is not None:
            return version
        oldest = next(iter(self.commits), version)
        if oldest + len(self.commits) == version:
            return oldest  # As many as there are versions: none is missing.
        while version - 1 in self.commits:
            version -= 1
        return version

    def segment(self, version: int | None = None, *, use_checkpoints: bool = True) -> LogSegment:
        """Choose the files of a version.

        Args:
            version: The version, or None for the latest.
            use_checkpoints: False rebuilds from JSON commits alone, for comparison.

        Raises:
            VersionNotFound: The version is newer than the latest, or negative.
            VersionGap: A commit that is needed is missing.
        """
        target = self.latest if version is None else version
        if target > self.latest or target < 0:
            raise self._not_found(target)
        checkpoint, commits, missing = self._choose(target, use_checkpoints=use_checkpoints)
        if missing is not None:
            raise self._gap(target, missing)
        return LogSegment(target, checkpoint, tuple(commits))

    def without_checkpoints(self, versions: Collection[int]) -> LogListing:
        """Return the same listing without the checkpoints of some versions."""
        others = tuple(checkpoint for checkpoint in self.checkpoints if checkpoint.version not in versions)
        return msgspec.structs.replace(self, checkpoints=others)

    def _choose(
        self, target: int, *, use_checkpoints: bool = True
    ) -> tuple[CompleteCheckpoint | None, list[LogPath], int | None]:
        """Return checkpoint and commits of a version, and its first missing commit.

        A compaction is used only where commits of its range are missing, and only in full (COMPACT-003, COMPACT-006).
        """
        # A compaction replaces commits and makes no version, so the commits it ends with existed.
        compactions = [c for c in self.compactions if c.last_version <= self.recorded]
        usable = [c for c in self.checkpoints if c.version <= target] if use_checkpoints else []
        checkpoint = usable[-1] if usable else None
        version = start = checkpoint.version + 1 if checkpoint else 0
        chosen: list[LogPath] = []
        while version <= target:
            path = self.commits.get(version)
            if path is None:
                covering = [c for c in compactions if start <= c.version <= version <= c.last_version <= target]
                if not covering:
                    return checkpoint, chosen, version
                path = max(covering, key=lambda compaction: compaction.last_version - compaction.version)
                while chosen and chosen[-1].version >= path.version:
                    chosen.pop()
                version = path.last_version
            chosen.append(path)
            version += 1
        return checkpoint, chosen, None

    def _compacted(self, start: int = 0) -> Iterator[int]:
        """Yield versions from ``start`` on that a compaction ends with and that can be rebuilt, ascending."""
        ends = sorted({c.last_version for c in self.compactions if start <= c.last_version <= self.recorded})
        return (end for end in ends if self._choose(end)[2] is None)

    def _not_found(self, version: int) -> VersionNotFound:
        earliest, latest = self.earliest(), self.latest
        nearest = latest if version > latest else earliest
        return VersionNotFound(
            f"There is no version {version}: the table has {self._readable()}. The nearest is {nearest}.",
            version=version,
            earliest=earliest,
            latest=latest,
            nearest=nearest,
        )

    def _gap(self, target: int, missing: int) -> VersionGap | VersionNotFound:
        if self.missing_version is not None and target > self.recorded:
            return self._lost(self.missing_version)
        cleaned = missing < next(iter(self.commits), missing + 1)
        readable = next(reversed(self._readable_runs()), None)
        span = f"{self._readable() or 'no version'} can be read.".capitalize()
        if cleaned and readable and readable[0] > target:
            raise VersionNotFound(
                f"Version {target} can no longer be rebuilt: log cleanup deleted the commits it needs. {span}",
                version=target,
                earliest=readable[0],
                latest=readable[1],
                nearest=readable[0],
            )
        what = (
            f"The log is truncated: it starts after version {missing} and no checkpoint covers earlier versions"
            if cleaned
            else f"The commit of version {missing} is missing from the log"
        )
        return VersionGap(
            f"{what}, so version {target} cannot be rebuilt. {span} Restore the missing file from a backup to read it.",
            version=target,
            missing=missing,
            earliest=readable[0] if readable else None,
            latest=readable[1] if readable else None,
        )

    def _lost(self, missing: MissingVersion) -> VersionGap:
        """Return the error for a version that other files name, but that has no commit and no checkpoint."""
        readable = next(reversed(self._readable_runs()), None)
        version, files = missing.version, _listed_files(missing.files)
        newest = f"the newest commit or complete checkpoint is that of version {self.recorded}"
        if self.recorded < 0:
            newest = "it has no commit and no complete checkpoint"
        if self.by_catalog:
            known = f"{self._readable()} can be read by number. ".capitalize() if readable else ""
            raise VersionGap(
                f"The catalog ratified version {version}, but {newest}, and the catalog names none after it, so "
                f"version {version} cannot be rebuilt. {known}Restore the missing log files from a backup.",
                version=version,
                missing=self.recorded + 1,
                earliest=readable[0] if readable else None,
                latest=readable[1] if readable else None,
            )
        sentences = (
            f"The log names version {version} in {files}, but {newest}, so version {version} cannot be rebuilt.",
            f"{self._readable()} can be read by number.".capitalize() if readable else "",
            "Restore the missing log files from a backup.",
            f"If the newer versions were deleted on purpose, delete {files} as well." if readable else "",
        )
        return VersionGap(
            " ".join(filter(None, sentences)),
            version=version,
            missing=self.recorded + 1,
            earliest=readable[0] if readable else None,
            latest=readable[1] if readable else None,
        )

    def _readable(self) -> str:
        """Return the versions that can be rebuilt, in words; of many runs the newest; empty if there is none."""
        newest = self._readable_runs()[-_RUNS:]
        runs = [f"{first}" if first == last else f"{first} to {last}" for first, last in newest]
        noun = "version" if len(newest) == 1 and newest[0][0] == newest[0][1] else "versions"
        joined = " and ".join(filter(None, [", ".join(runs[:-1]), *runs[-1:]]))
        return f"{noun} {joined}" if joined else ""

    def _readable_runs(self) -> list[tuple[int, int]]:
        """Return the runs of versions that can be rebuilt, ascending."""
        bases = {c.version for c in self.checkpoints}.union({0}.intersection(self.commits), self._compacted())
        runs: list[tuple[int, int]] = []
        for base in sorted(bases):
            if runs and base <= runs[-1][1]:
                continue
            last = base
            while last + 1 in self.commits:
                last += 1
            first = runs.pop()[0] if runs and base == runs[-1][1] + 1 else base
            runs.append((first, last))
        return runs


def list_newer(store: LogStore, known: LogListing) -> LogListing | None:
    """List only the files after a listing, and join the two.

    Returns:
        The joined listing; None if its newest commit changed, so that everything must be listed again.

    Raises:
        CorruptTable: Two commit files have one version (D-36).
    """
    last = known.commits.get(known.latest)
    if last is None:
        return None
    listed = list_files(store, f"{last.version:020d}")
    newer = _arranged(listed).with_missing(listed.named_by_staged(store))
    if newer.commits.get(last.version) != last:
        return None
    checkpoints = {checkpoint.version: checkpoint for checkpoint in (*known.checkpoints, *newer.checkpoints)}
    return LogListing(
        VersionFiles.of(known.commits).with_newer(VersionFiles.of(newer.commits)),
        tuple(checkpoints[version] for version in sorted(checkpoints)),
        tuple(dict.fromkeys((*known.compactions, *newer.compactions))),
        VersionFiles.of(known.checksums).with_newer(VersionFiles.of(newer.checksums)),
        is_complete=False,
        missing_version=newer.missing_version,
    )


def list_log(store: LogStore, *, use_hint: bool = False) -> LogListing:
    """List the log.

    Args:
        use_hint: Start at the version that ``_last_checkpoint`` names (LOG-015); enough for the latest version.

    Raises:
        TableNotFound: There is no commit and no checkpoint, and nothing else names a version.
        CorruptTable: Two commit files have one version (D-36).
    """
    text = hint_text(store) if use_hint else None
    hint = None if text is None else parse_last_checkpoint(text)
    start = "" if hint is None else f"{hint.version:020d}"
    listed = list_files(store, start)
    listing = _arranged(listed)
    if start and not listing.checkpoints:
        start, listed = "", list_files(store, "")
        listing = _arranged(listed)
    missing = named_by_hint(None if text is None else hinted_version(text))
    listing = listing.with_missing(missing).with_missing(listed.named_by_staged(store))
    if listing.latest < 0:
        raise missing_table(store.root)
    if not start:
        return listing
    earlier = listed.objects.earlier
    beginning = None if earlier is None else partial(_with_earlier, earlier, listed.objects, listing.missing_version)
    return msgspec.structs.replace(listing, is_complete=False, beginning=beginning)


def _with_earlier(
    earlier: Callable[[], ListedObjects | None], objects: ListedObjects, missing: MissingVersion | None
) -> LogListing | None:
    before = earlier()
    listed = None if before is None else sorted_files(before.with_more(objects))
    return None if listed is None or listed.seems_to_lack else _arranged(listed).with_missing(missing)


def list_names(store: LogStore) -> list[tuple[str, LogPath | None]]:
    """List the names in the log's folder, and their kinds in the protocol."""
    objects = list_files(store, "").objects
    return [(name, parse_log_name(name, size, modified, etag)) for name, size, modified, etag in objects.rows()]


def _arranged(listed: ListedLog) -> LogListing:
    if any(path.kind in {LogFileKind.COMMIT, LogFileKind.CHECKSUM} for path in listed.others):
        every = [*listed.commits.paths, *listed.checksums.paths, *listed.others]
        return arrange_log(sorted(every, key=lambda path: path.name)).with_missing(listed.missing_version)
    listing = msgspec.structs.replace(arrange_log(listed.others), commits=listed.commits, checksums=listed.checksums)
    return listing.with_missing(listed.missing_version)


def arrange_log(files: list[LogPath]) -> LogListing:
    """Sort the recognized files of a log by kind.

    Raises:
        CorruptTable: Two commit files have one version (D-36).
    """
    commits: dict[int, LogPath] = {}
    checksums: dict[int, LogPath] = {}
    compactions: list[LogPath] = []
    checkpoint_files: list[LogPath] = []
    for path in files:
        match path.kind:
            case LogFileKind.COMMIT:
                if path.version in commits:
                    raise _two_names(commits[path.version], path)
                commits[path.version] = path
            case LogFileKind.CHECKSUM:
                checksums[path.version] = path
            case LogFileKind.COMPACTION:
                compactions.append(path)
            case LogFileKind.STAGED_COMMIT:
                continue
            case LogFileKind.CLASSIC_CHECKPOINT | LogFileKind.MULTI_PART_CHECKPOINT | LogFileKind.UUID_CHECKPOINT:
                checkpoint_files.append(path)
    ordered = dict(sorted(commits.items()))
    return LogListing(ordered, tuple(complete_checkpoints(checkpoint_files)), tuple(compactions), checksums)


def _listed_files(files: Sequence[str]) -> str:
    """Return files in words; of many the newest."""
    shown, more = files[-_RUNS:], len(files) - _RUNS
    if more > 0:
        return f"{', '.join(shown)}, and {more} other files"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def _two_names(first: LogPath, second: LogPath) -> CorruptTable:
    return CorruptTable(
        f"Version {first.version} has two commit files, {first.name} and {second.name}; the log does not show which "
        "one counts. Move the wrong one out of the log.",
        version=first.version,
        path=second.path,
    )


def missing_table(location: str) -> TableNotFound:
    """Return the error for a place without a table."""
    return TableNotFound(
        f"There is no Delta table at {location}: its {LOG_FOLDER} folder is missing or contains no commit and no "
        "complete checkpoint. Check the path; it must be the folder that contains _delta_log.",
        location=location,
    )
