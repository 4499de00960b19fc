"""Listing of ``_delta_log`` -> the files that make up one version.

Protocol sections: Delta Log Entries, Checkpoints, Last Checkpoint File, Action Reconciliation. Invariants of a
`LogSegment`: its commits are contiguous and end at its version (or it has none and the checkpoint is that version);
they begin right after the checkpoint, or at 0 where there is none; the checkpoint is complete and not newer than the
version (LOG-011, LOG-014, CKPT-003).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import groupby, islice
from typing import Final, NamedTuple

import msgspec

from explorer.core.errors import CorruptTable, TableNotFound, VersionGap, VersionNotFound
from explorer.core.log.last_checkpoint import read_last_checkpoint
from explorer.core.log.log_path import LOG_FOLDER, LogFileKind, LogPath, parse_log_name
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.log_store import ListedObjects, LogStore

__all__ = ["Checkpoint", "LogListing", "LogSegment", "arrange_log", "list_log", "list_names", "list_newer"]

_LOOKS: Final = 10
# How many runs of readable versions are named.
_RUNS: Final = 3


class Checkpoint(msgspec.Struct, frozen=True):
    """A complete checkpoint: its version and its file, or its parts in order."""

    version: int
    parts: tuple[LogPath, ...]

    @property
    def kind(self) -> LogFileKind:
        """Classic, multi-part or UUID-named."""
        return self.parts[0].kind


class LogSegment(msgspec.Struct, frozen=True):
    """The files that make up one version, oldest first."""

    version: int
    checkpoint: Checkpoint | None
    commits: tuple[LogPath, ...]


class LogListing(msgspec.Struct, frozen=True):
    """What the log holds: commits by version and complete checkpoints, both ascending.

    ``by_catalog`` says that a catalog ratified the commits, ``is_whole`` that the folder was listed from its beginning.
    ``beginning`` makes it whole with the names that the folder had then, or gives None where it has others now, or a
    commit seems to be missing; it is None itself where the store does not know those names.
    """

    commits: dict[int, LogPath] | VersionFiles
    checkpoints: tuple[Checkpoint, ...]
    compactions: tuple[LogPath, ...] = ()
    checksums: dict[int, LogPath] | VersionFiles = {}
    by_catalog: bool = False
    is_whole: bool = True
    beginning: Callable[[], LogListing | None] | None = None

    @property
    def latest(self) -> int:
        """The newest version that has a commit or a checkpoint."""
        newest_commit = next(reversed(self.commits), -1)
        return max(newest_commit, self.checkpoints[-1].version if self.checkpoints else -1)

    def earliest(self) -> int:
        """The oldest version that can be rebuilt and after which no commit is missing up to the latest.

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
        """The oldest commit from which the commits run on without a gap to the latest, readable or not.

        The version after the latest if only its checkpoint is left.
        """
        version = self.latest + 1
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
        """The same listing without the checkpoints of some versions."""
        kept = tuple(checkpoint for checkpoint in self.checkpoints if checkpoint.version not in versions)
        return msgspec.structs.replace(self, checkpoints=kept)

    def _choose(
        self, target: int, *, use_checkpoints: bool = True
    ) -> tuple[Checkpoint | None, list[LogPath], int | None]:
        """Checkpoint and commits of a version, and its first missing commit.

        A compaction is used only where commits of its range are gone, and only whole (COMPACT-003, COMPACT-006).
        """
        usable = [c for c in self.checkpoints if c.version <= target] if use_checkpoints else []
        checkpoint = usable[-1] if usable else None
        version = start = checkpoint.version + 1 if checkpoint else 0
        chosen: list[LogPath] = []
        while version <= target:
            path = self.commits.get(version)
            if path is None:
                covering = [c for c in self.compactions if start <= c.version <= version <= c.last_version <= target]
                if not covering:
                    return checkpoint, chosen, version
                path = max(covering, key=lambda found: found.last_version - found.version)
                while chosen and chosen[-1].version >= path.version:
                    chosen.pop()
                version = path.last_version
            chosen.append(path)
            version += 1
        return checkpoint, chosen, None

    def _compacted(self, start: int = 0) -> Iterator[int]:
        """Versions from ``start`` on that a compaction ends with and that can be rebuilt, ascending."""
        # A compaction replaces commits and makes no version, so it cannot end beyond the latest.
        ends = sorted({c.last_version for c in self.compactions if start <= c.last_version <= self.latest})
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
        cleaned = missing < next(iter(self.commits), missing + 1)
        readable = next(reversed(self._readable_runs()), None)
        span = f"{self._readable() or 'no version'} can be read.".capitalize()
        if cleaned and readable and readable[0] > target:
            raise VersionNotFound(
                f"Version {target} can no longer be rebuilt: log clean-up removed its part of the log. {span}",
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

    def _readable(self) -> str:
        """The versions that can be rebuilt, in words; of many runs the newest; empty if there is none."""
        newest = self._readable_runs()[-_RUNS:]
        said = [f"{first}" if first == last else f"{first} to {last}" for first, last in newest]
        noun = "version" if len(newest) == 1 and newest[0][0] == newest[0][1] else "versions"
        joined = " and ".join(filter(None, [", ".join(said[:-1]), *said[-1:]]))
        return f"{noun} {joined}" if joined else ""

    def _readable_runs(self) -> list[tuple[int, int]]:
        """The runs of versions that can be rebuilt, ascending."""
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
    """List only what came after a listing, and put the two together.

    Returns:
        The listing with what is newer; None if its newest commit changed, so that everything must be listed again.

    Raises:
        CorruptTable: Two commit files have one version (D-36).
    """
    last = known.commits.get(known.latest)
    if last is None:
        return None
    newer = _arranged(_listed(store, f"{last.version:020d}"))
    if newer.commits.get(last.version) != last:
        return None
    checkpoints = {checkpoint.version: checkpoint for checkpoint in (*known.checkpoints, *newer.checkpoints)}
    return LogListing(
        VersionFiles.of(known.commits).with_newer(VersionFiles.of(newer.commits)),
        tuple(checkpoints[version] for version in sorted(checkpoints)),
        tuple(dict.fromkeys((*known.compactions, *newer.compactions))),
        VersionFiles.of(known.checksums).with_newer(VersionFiles.of(newer.checksums)),
        is_whole=False,
    )


def list_log(store: LogStore, *, use_hint: bool = False) -> LogListing:
    """List the log.

    Args:
        store: The table's store.
        use_hint: Start at the version that ``_last_checkpoint`` names (LOG-015); enough for the latest version.

    Raises:
        TableNotFound: There is no commit and no checkpoint.
        CorruptTable: Two commit files have one version (D-36).
    """
    start = _hinted_start(store) if use_hint else ""
    found = _listed(store, start)
    listing = _arranged(found)
    if start and (not listing.checkpoints or listing.latest < 0):
        start, listing = "", _arranged(_listed(store, ""))
    if listing.latest < 0:
        raise TableNotFound(
            f"There is no Delta table at {store.root}: its {LOG_FOLDER} folder is missing or holds no commit and no "
            "complete checkpoint. Check the path; it must be the folder that contains _delta_log.",
            location=store.root,
        )
    if not start:
        return listing
    earlier = found.objects.earlier
    beginning = None if earlier is None else partial(_with_earlier, earlier, found.objects)
    return msgspec.structs.replace(listing, is_whole=False, beginning=beginning)


def _with_earlier(earlier: Callable[[], ListedObjects | None], objects: ListedObjects) -> LogListing | None:
    before = earlier()
    found = None if before is None else _sorted_out(before.with_more(objects))
    return None if found is None or found.seems_to_lack else _arranged(found)


def _hinted_start(store: LogStore) -> str:
    hint = read_last_checkpoint(store)
    return "" if hint is None else f"{hint.version:020d}"


def list_names(store: LogStore) -> list[tuple[str, LogPath | None]]:
    """List the names in the log's folder, and what the protocol calls them."""
    found = _listed(store, "").objects
    return [(name, parse_log_name(name, size, modified, etag)) for name, size, modified, etag in found.rows()]


class _Listed(NamedTuple):
    """Files of the log: commits and checksums of the usual names, and what else the protocol names."""

    objects: ListedObjects
    commits: VersionFiles
    checksums: VersionFiles
    others: list[LogPath]

    @property
    def seems_to_lack(self) -> bool:
        """Whether a commit seems to be missing."""
        odd = {path.version for path in self.others if path.kind is LogFileKind.COMMIT}
        if not odd:
            return not self.commits.is_gapless
        versions = odd.union(self.commits)
        return len(versions) <= max(versions) - min(versions)


def _listed(store: LogStore, start: str) -> _Listed:
    """List the log's folder from a name on.

    A folder that is written to while it is listed may show a commit and not the one before it, on disks as in the pages
    of an object store. Where a commit seems to be missing the folder is listed again: the second listing shows what the
    first missed.
    """
    found = _recognised(store, start)
    for _ in range(_LOOKS):
        if not found.seems_to_lack:
            break
        again = _recognised(store, start)
        if again.objects.names == found.objects.names:
            break
        found = again
    return found


def _recognised(store: LogStore, start: str) -> _Listed:
    return _sorted_out(ListedObjects.of(LOG_FOLDER, store.list_from(LOG_FOLDER, start)))


def _sorted_out(objects: ListedObjects) -> _Listed:
    commits, checksums, others = VersionFiles.recognised(objects)
    named = (parse_log_name(*row) for row in objects.take(others).rows())
    return _Listed(objects, commits, checksums, [path for path in named if path is not None])


def _arranged(found: _Listed) -> LogListing:
    if any(path.kind in {LogFileKind.COMMIT, LogFileKind.CHECKSUM} for path in found.others):
        every = [*found.commits.paths, *found.checksums.paths, *found.others]
        return arrange_log(sorted(every, key=lambda path: path.name))
    return msgspec.structs.replace(arrange_log(found.others), commits=found.commits, checksums=found.checksums)


def arrange_log(found: list[LogPath]) -> LogListing:
    """Sort the recognised files of a log by kind.

    Raises:
        CorruptTable: Two commit files have one version (D-36).
    """
    commits: dict[int, LogPath] = {}
    checksums: dict[int, LogPath] = {}
    compactions: list[LogPath] = []
    checkpoint_files: list[LogPath] = []
    for path in found:
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
    return LogListing(ordered, tuple(_complete(checkpoint_files)), tuple(compactions), checksums)


_PREFERENCE = {
    LogFileKind.MULTI_PART_CHECKPOINT: 0,
    LogFileKind.CLASSIC_CHECKPOINT: 1,
    LogFileKind.UUID_CHECKPOINT: 2,
}


def _complete(files: list[LogPath]) -> Iterable[Checkpoint]:
    """Complete checkpoints in the order of version; of several at one version the last is preferred (CKPT-005)."""

    def identity(path: LogPath) -> tuple[int, int, int, str]:
        return path.version, _PREFERENCE[path.kind], path.parts, path.uuid

    for (version, _, parts, _), group in groupby(sorted(files, key=lambda p: (*identity(p), p.part)), key=identity):
        members = tuple({path.part: path for path in group}.values())
        if not parts or len(members) == parts:
            yield Checkpoint(version, members)


def _two_names(first: LogPath, second: LogPath) -> CorruptTable:
    return CorruptTable(
        f"Version {first.version} has two commit files, {first.name} and {second.name}; the log does not say which one "
        "counts. Move the wrong one out of the log.",
        version=first.version,
        path=second.path,
    )
