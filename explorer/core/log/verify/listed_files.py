"""Problems that the names in a log's folder and the hint show, apart from the walk over its versions.

Protocol sections: Delta Log Entries, Checkpoints, Last Checkpoint File, Log Compaction Files. Invariant: no content of
a log raises an error, each fault is a `LogProblem`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Final

import msgspec

from explorer.core.errors import ExplorerError
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.last_checkpoint import LastCheckpoint, hinted_version
from explorer.core.log.listed_log import MissingVersion, list_staged, named_by_hint, newest_named
from explorer.core.log.log_path import LAST_CHECKPOINT, LOG_FOLDER, LogFileKind, LogPath, parse_log_name
from explorer.core.log.log_segment import CompleteCheckpoint, LogListing
from explorer.core.log.verify.checksums import compare_compaction
from explorer.core.log.verify.problem import LogProblem
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles

_DIGITS: Final = 20
_TOO_LARGE: Final = re.compile(r"(?!0)[0-9]{19,}\.(?:json|checkpoint\.)")
_SKIPPED_BY_ALL: Final = frozenset({LogFileKind.CHECKSUM, LogFileKind.COMPACTION, LogFileKind.STAGED_COMMIT})
"""Files that no reader needs."""


def without_doubles(paths: Iterable[LogPath]) -> tuple[list[LogPath], list[LogProblem]]:
    """Return the paths without the commits of versions that have more than one, and a problem for each of these."""
    others, problems = [], []
    commits: dict[int, list[LogPath]] = {}
    for path in paths:
        if path.kind is LogFileKind.COMMIT:
            commits.setdefault(path.version, []).append(path)
        else:
            others.append(path)
    for version, same in commits.items():
        if len(same) == 1:
            others += same
        else:
            names = " and ".join(path.name for path in same)
            problems.append(LogProblem("two-names", version, same[0].path, f"{names} are both commits of the version"))
    return others, problems


def orphaned_files(names: Iterable[str]) -> Iterator[LogProblem]:
    """Yield temporary files in the folder of the log."""
    for name in names:
        if ".tmp" in name and not name.endswith(".crc"):
            yield LogProblem(
                "orphan-file", None, f"{LOG_FOLDER}/{name}", "a temporary file that its writer left behind"
            )


def unusual_names(names: Iterable[str], paths: Iterable[LogPath]) -> Iterator[LogProblem]:
    """Yield commits and checkpoints that only some clients see, by the number of digits of their version (D-36)."""
    for name in names:
        if _TOO_LARGE.match(name) and parse_log_name(name) is None:
            detail = "its number has more than 64 bits: delta-spark refuses the table, and other clients skip the file"
            yield LogProblem("unusual-name", None, f"{LOG_FOLDER}/{name}", detail)
    for path in paths:
        digits = len(path.name.partition(".")[0])
        if digits != _DIGITS and path.kind not in _SKIPPED_BY_ALL:
            detail = f"its version has {digits} digits, not {_DIGITS}: delta-kernel, deltalake and DuckDB skip the file"
            yield LogProblem("unusual-name", path.version, path.path, detail)


def incomplete_checkpoints(paths: Iterable[LogPath]) -> Iterator[LogProblem]:
    """Yield checkpoints that lack a part."""
    parts: dict[tuple[int, int], list[LogPath]] = {}
    for path in paths:
        if path.kind is LogFileKind.MULTI_PART_CHECKPOINT:
            parts.setdefault((path.version, path.parts), []).append(path)
    for (version, count), existing in parts.items():
        if len({path.part for path in existing}) < count:
            yield LogProblem(
                "incomplete-checkpoint", version, existing[0].path, f"{len(existing)} of {count} parts exist"
            )


def missing_version(
    store: LogStore, listing: LogListing, paths: Iterable[LogPath], hint: bytes | None
) -> MissingVersion | None:
    """Return a newer version than the newest recorded one that other files, or the text of the hint, name."""
    others = [path for path in paths if path.kind not in {LogFileKind.COMMIT, LogFileKind.STAGED_COMMIT}]
    newest = newest_named([*others, *list_staged(store)], listing.recorded)
    hinted = named_by_hint(None if hint is None else hinted_version(hint))
    return listing.with_missing(hinted).with_missing(newest).missing_version


def lost_version(missing: MissingVersion, recorded: int) -> LogProblem:
    """Return the problem of a version that other files name."""
    newest = f"the newest commit or checkpoint is of version {recorded}" if recorded >= 0 else "it has no commit"
    detail = f"the log names version {missing.version} in {', '.join(missing.files[-3:])}, and {newest}"
    return LogProblem("lost-version", missing.version, missing.files[-1], detail)


def hint_problems(
    store: LogStore, listing: LogListing, hint: LastCheckpoint | None, proved: Set[int]
) -> Iterator[LogProblem]:
    """Yield the problems of the hint, or of the checkpoint that it names.

    Args:
        hint: The hint, which exists; None if it is unusable.
    """
    if hint is None:
        yield LogProblem(
            "unusable-hint", None, LAST_CHECKPOINT, "it is not a valid hint, or its checksum does not match"
        )
        return
    versions = [checkpoint.version for checkpoint in listing.checkpoints]
    if hint.version not in versions:
        yield LogProblem("unusable-hint", hint.version, LAST_CHECKPOINT, "the checkpoint that it names is missing")
    elif hint.version < max(versions):
        detail = f"it names version {hint.version}; the newest checkpoint is of version {max(versions)}"
        yield LogProblem("stale-hint", hint.version, LAST_CHECKPOINT, detail)
    else:
        yield from _hinted_numbers(store, hint, listing.checkpoints[-1], proved)


def _hinted_numbers(
    store: LogStore, hint: LastCheckpoint, checkpoint: CompleteCheckpoint, proved: Set[int]
) -> Iterator[LogProblem]:
    """Yield differences of the hint's numbers from its checkpoint."""
    try:
        comparison = compare_hint(store, hint, checkpoint)
    except ExplorerError:
        return  # A checkpoint that cannot be read is a problem of its own.
    is_short = comparison.short and checkpoint.version not in proved
    kind, file = ("checkpoint-short", checkpoint.parts[0].path) if is_short else ("hint-differs", LAST_CHECKPOINT)
    for detail in comparison.details:
        yield LogProblem(kind, checkpoint.version, file, f"the hint: {detail}" if is_short else detail)


def compaction_problems(
    store: LogStore, listing: LogListing, check_cancelled: Callable[[], None] = lambda: None
) -> Iterator[LogProblem]:
    """Yield compactions that differ from their commits, and those of commits that never existed, or vanished.

    Args:
        check_cancelled: Called before each; what it raises ends this.
    """
    for path in listing.compactions:
        check_cancelled()
        if path.last_version > listing.latest:
            detail = f"it reaches to version {path.last_version}; the newest commit or checkpoint is {listing.latest}"
            # The versions that it ends with do not count.
            yield LogProblem("stray-compaction", path.version, path.path, detail)
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
                yield LogProblem("compaction-differs", path.version, path.path, detail)
        except FileNotFoundError:
            continue
        except ExplorerError as error:
            # A commit that cannot be read is reported by the walk.
            if getattr(error, "path", None) == path.path:
                yield LogProblem("compaction-differs", path.version, path.path, error.message)


class HintDifferences(msgspec.Struct, frozen=True):
    """The differences of a checkpoint from its hint.

    Attributes:
        details: Each number that differs.
        short: Whether the checkpoint has fewer actions than were written to it.
    """

    details: tuple[str, ...]
    short: bool


def compare_hint(store: LogStore, hint: LastCheckpoint, checkpoint: CompleteCheckpoint) -> HintDifferences:
    """Compare the numbers of the hint with those of the checkpoint of its version.

    Raises:
        IncompleteCheckpoint: The checkpoint cannot be read.
    """
    reader = CheckpointReader(store, checkpoint)
    num_adds = LogicalFiles(reader.files()).num_rows
    num_rows, num_bytes = reader.totals()
    hinted_size = None if hint.size in {num_rows, num_adds, num_bytes} else hint.size
    numbers = (
        ("parts", hint.parts if len(checkpoint.parts) > 1 else None, len(checkpoint.parts)),
        ("numOfAddFiles", hint.num_of_add_files, num_adds),
        ("size", hinted_size, num_rows),
        ("sizeInBytes", hint.size_in_bytes, num_bytes),
    )
    short = (hint.num_of_add_files or 0) > num_adds or num_rows < (hinted_size or 0)
    return HintDifferences(tuple(_differing(numbers)), short)


def _differing(numbers: tuple[tuple[str, int | None, int], ...]) -> Iterator[str]:
    for name, hinted, actual in numbers:
        if hinted is not None and hinted != actual:
            yield f"{name} is {hinted:,}, the checkpoint has {actual:,}"
