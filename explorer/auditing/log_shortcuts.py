"""The checkpoint, hint and compactions from which readers of the newest version start, compared with the commits.

Protocol sections: Checkpoints, Last Checkpoint File, Log Compaction Files. Invariant: the log is not replayed. The
totals of the newest version are compared as readers and as the history give them, and large compactions are skipped
until a replay is requested.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from explorer.auditing.subject import Subject
from explorer.core.errors import ExplorerError
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.last_checkpoint import read_last_checkpoint
from explorer.core.log.log_path import checkpoint_name, checksum_name
from explorer.core.log.log_segment import CompleteCheckpoint
from explorer.core.log.verify.checkpoint_proof import checkpoint_faults
from explorer.core.log.verify.checksums import compare_totals, lacking_files
from explorer.core.log.verify.listed_files import compaction_problems, compare_hint
from explorer.core.log.verify.problem import LogProblem

_MOST_BYTES: Final = 4 << 20


def newest_checkpoint_problems(subject: Subject) -> tuple[LogProblem, ...]:
    """Find what is wrong with the checkpoint that readers of the newest version begin with.

    A log that cannot be read has no answer here; the rule of unreadable logs tells why.
    """
    try:
        subject.snapshot.files(["path"])
        passed_over = tuple(_passed_over(subject))
        # One that nobody can open has no numbers to compare.
        return passed_over or (*_totals(subject), *_hint(subject), *_checksums(subject))
    except ExplorerError:
        return ()


def unusual_checkpoint_types(subject: Subject) -> tuple[LogProblem, ...]:
    """Find the columns of the newest checkpoint that have other types than the protocol's; it is open anyway."""
    try:
        newest = _newest(subject)
        details = () if newest is None else CheckpointReader(subject.log.store, newest).unusual_types()
        return tuple(
            LogProblem("checkpoint-types", newest.version, newest.parts[0].path, each) for each in details if newest
        )
    except ExplorerError:
        return ()


def newest_checksum_problems(subject: Subject) -> tuple[LogProblem, ...]:
    """Find what the newest version's checksum, which clients open the table with, has otherwise than its state."""
    path = checksum_name(subject.version)
    try:
        snapshot, data = subject.snapshot, subject.log.store.read(path)
        totals = (snapshot.num_files, snapshot.size_in_bytes)
        details = tuple(compare_totals(data, snapshot.protocol, snapshot.metadata, *totals))
    except ValueError as error:
        return (LogProblem("unreadable-checksum", subject.version, path, str(error)),)
    except (ExplorerError, FileNotFoundError):
        return ()
    return tuple(LogProblem("checksum-differs", subject.version, path, detail) for detail in details)


def newest_compaction_problems(subject: Subject) -> tuple[LogProblem, ...] | None:
    """Return the differences between the newest compactions and their commits; None if they are too large."""
    listing = subject.log.full_listing()
    base = listing.checkpoints[-1].version if listing.checkpoints else -1
    newest = tuple(path for path in listing.compactions if path.version > base)
    if not newest:
        return ()
    first = min(path.version for path in newest)
    commits = (path.size for version, path in listing.commits.items() if version >= first)
    if sum(path.size for path in newest) + len(newest) * sum(commits) > _MOST_BYTES:
        return None
    return tuple(compaction_problems(subject.log.store, msgspec.structs.replace(listing, compactions=newest)))


def is_repairable(subject: Subject) -> bool:
    """Return whether the newest checkpoint is wrong but the rest of the log gives its version."""
    try:
        newest = _newest(subject)
        return newest is not None and bool(checkpoint_faults(subject.log.store, subject.log.full_listing(), newest))
    except ExplorerError:
        return False


def _passed_over(subject: Subject) -> Iterator[LogProblem]:
    """Yield the checkpoints that readers skip."""
    for version, reason in sorted(subject.log.unusable_checkpoints.items()):
        yield LogProblem("damaged-checkpoint", version, checkpoint_name(version), reason)


def _totals(subject: Subject) -> Iterator[LogProblem]:
    newest, snapshot, commits = _newest(subject), subject.snapshot, subject.commits
    if newest is None or not len(commits.versions) or int(commits.versions[-1]) != snapshot.version:
        return
    totals = (
        ("live files", "num_files", snapshot.num_files),
        ("bytes", "num_bytes", snapshot.size_in_bytes),
        ("masked rows", "num_deleted_rows", snapshot.num_deleted_records),
    )
    for name, column, total in totals:
        replayed = float(commits.numbers(column)[-1])
        if total is not None and not np.isnan(replayed) and int(replayed) != total:
            detail = f"readers that start from it get {total:,} {name} at version {snapshot.version}, "
            detail += f"the commits give {int(replayed):,}"
            yield LogProblem("checkpoint-differs", newest.version, newest.parts[0].path, detail)


def _hint(subject: Subject) -> Iterator[LogProblem]:
    newest, store = _newest(subject), subject.log.store
    hint = None if newest is None else read_last_checkpoint(store)
    if newest is None or hint is None or hint.version != newest.version:
        return
    differences = compare_hint(store, hint, newest)
    if differences.short:
        for detail in differences.details:
            yield LogProblem("checkpoint-short", newest.version, newest.parts[0].path, f"the hint: {detail}")


def _checksums(subject: Subject) -> Iterator[LogProblem]:
    """Yield where the checksum of the checkpoint, or of the newest version, has more files, and no commits show why."""
    newest, listing = _newest(subject), subject.log.full_listing()
    if newest is None or 0 in listing.commits:
        return
    for version in sorted({newest.version, subject.version} & set(listing.checksums)):
        snapshot = subject.snapshot if version == subject.version else subject.log.snapshot(version)
        try:
            lack = lacking_files(subject.log.store.read(checksum_name(version)), snapshot.num_files)
        except (ValueError, FileNotFoundError):
            continue  # A checksum that nobody can read is a problem of its own.
        if lack:
            detail = f"the checksum of version {version}: {lack}"
            yield LogProblem("checkpoint-short", newest.version, newest.parts[0].path, detail)


def _newest(subject: Subject) -> CompleteCheckpoint | None:
    checkpoints = subject.log.full_listing().checkpoints
    return checkpoints[-1] if checkpoints else None
