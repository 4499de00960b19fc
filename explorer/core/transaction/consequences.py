"""The consequences of a commit: what happens to files, to time travel and to the change data feed.

Protocol sections: Reader Requirements for AddCDCFile, Metadata Cleanup, Change Metadata, Action Reconciliation.
Invariants: only what follows from the metadata and the files of the proposal is stated, after what the intent itself
states; a file whose path is removed and added in one commit stays, so no VACUUM deletes it, and only the deletion
vector that it had is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

import msgspec
import pyarrow.compute as pc

from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import Add, DeletionVectorDescriptor, Remove
from explorer.core.protocol.arrow.arrays import strings
from explorer.core.protocol.counted import counted
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.table_properties.registry import (
    CHANGE_DATA_FEED,
    FILE_RETENTION,
    ICT_ENABLEMENT_TIMESTAMP,
    ICT_ENABLEMENT_VERSION,
    IN_COMMIT_TIMESTAMPS,
    LOG_RETENTION,
)
from explorer.core.transaction.proposal import Proposal
from explorer.core.versions.change_feed.schema_breaks import why_rows_do_not_fit
from explorer.core.versions.snapshot import Snapshot

_SAME_FEED: Final = "Nothing changes for readers of the change data feed."
_RETENTIONS: Final = ((LOG_RETENTION, "commits", "a clean-up of the log"), (FILE_RETENTION, "removed files", "VACUUM"))


def time_travel_effect(snapshot: Snapshot | None, proposal: Proposal) -> str:
    """Say which versions can no longer be read as before after a commit."""
    if snapshot is None:
        return "The table begins with this version."
    if proposal.time_travel is not None:
        return proposal.time_travel
    before, after = snapshot.metadata.configuration, (proposal.metadata or snapshot.metadata).configuration
    effects = [*shorter_retentions(before, after), *_removed(snapshot, proposal), *_own_times(before, after)]
    return " ".join(["No version is lost.", *effects])


def change_feed_effect(snapshot: Snapshot | None, proposal: Proposal) -> str:
    """Say what a commit does to the change data feed."""
    if snapshot is None:
        return _SAME_FEED
    own = proposal.change_feed
    if own is not None and proposal.metadata is None:
        return own
    metadata, version = proposal.metadata or snapshot.metadata, snapshot.version + 1
    try:
        before, after = (CHANGE_DATA_FEED.of(each.configuration) for each in (snapshot.metadata, metadata))
    except CorruptTable as error:
        return f"It is not known whether the change data feed is on: {error}"
    if own is not None and not (before and after):
        return own
    match before, after:
        case False, False:
            return "The table records no change data feed."
        case False, True:
            return f"Changes are recorded from version {version} on; ranges that begin earlier are refused."
        case True, False:
            return f"The feed ends with version {version - 1}; ranges that reach further are refused."
    protocol = proposal.protocol or snapshot.protocol
    reason = why_rows_do_not_fit((snapshot.protocol, snapshot.metadata), (protocol, metadata))
    if reason is not None and (own is None or reason not in own):
        refused = f"Ranges of the change data feed that cross version {version} are refused: {reason}."
        return refused if own is None else f"{own} {refused}"
    return own if own is not None else _changes(proposal) or _SAME_FEED


def _changes(proposal: Proposal) -> str | None:
    """Describe the change feed of a proposal that has no text of its own for it."""
    adds, removes = (any(each.data_change for each in actions) for actions in (proposal.adds, proposal.removes))
    changed = adds or removes
    return "Rows that the commit adds or removes appear." if changed else None


def shorter_retentions(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Say what may be deleted sooner with the properties of ``after`` than with those of ``before``."""
    for retention, what, who in _RETENTIONS:
        try:
            old, new = retention.of(before), retention.of(after)
        except CorruptTable:
            continue  # judged where properties are set
        if new < old:
            yield f"{who[0].upper()}{who[1:]} may delete {what} after {in_days(new)} instead of {in_days(old)}."


def _own_times(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Say what the commit fills in by itself where it switches in-commit timestamps on."""
    keys = (ICT_ENABLEMENT_VERSION.key, ICT_ENABLEMENT_TIMESTAMP.key)
    try:
        switched = IN_COMMIT_TIMESTAMPS.of(after) and not IN_COMMIT_TIMESTAMPS.of(before)
    except CorruptTable:
        return
    if switched:
        yield f"The commit fills in {' and '.join(keys)}: its version and its own time."


def _removed(snapshot: Snapshot, proposal: Proposal) -> Iterator[str]:
    moves = file_moves(snapshot, proposal)
    if not (moves.removed or moves.remasked):
        return
    try:
        retention = in_days(FILE_RETENTION.of((proposal.metadata or snapshot.metadata).configuration))
    except CorruptTable:
        return
    if moves.removed:
        removed, them = counted(len(moves.removed), "file is", "files are"), _them(len(moves.removed))
        yield f"{removed} removed; earlier versions need {them}, and VACUUM may delete {them} after {retention}."
    if moves.remasked:
        yield _remasked(moves, retention)


def _remasked(moves: FileMoves, retention: str) -> str:
    """Describe files that stay, of which other rows are masked afterwards."""
    files = counted(len(moves.remasked), "file stays, and VACUUM keeps it", "files stay, and VACUUM keeps them")
    only = "only the rows that it masks change" if len(moves.remasked) == 1 else "only the rows that they mask change"
    old = len(moves.replaced_vectors)
    if not old:
        return f"{files}: {only}."
    replaced, them = counted(old, "deletion vector file is", "deletion vector files are"), _them(old)
    return (
        f"{files}: {only}. {replaced} replaced; earlier versions need {them}, and VACUUM may delete {them} "
        f"after {retention}."
    )


def _them(number: int) -> str:
    return "it" if number == 1 else "them"


_UNITS: Final = {
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}


def in_days(length: timedelta) -> str:
    """Return a length of time in words: in days if it is at least one, and in the unit that needs one decimal."""
    tenths = {unit: length / (size / 10) for unit, size in _UNITS.items() if length >= size}
    unit = next((unit for unit, number in tenths.items() if number == int(number)), "second" if length else "hour")
    number = length / _UNITS[unit]
    return f"{number:g} {unit}{'' if number == 1 else 's'}"


class FileMoves(msgspec.Struct, frozen=True):
    """The data files of a proposal.

    Attributes:
        added: Files that the newest version does not have.
        removed: Files that it has and that go.
        tombstones: Records of files that the version does not have as data files, such as deletion vector files.
        remasked: Files that stay with another deletion vector, or with none.
        described: Files that stay with other statistics or row IDs.
        replaced_vectors: Decoded locations of the files of deletion vectors that the remasked files had, and that no
            file uses afterwards.
    """

    added: tuple[Add, ...] = ()
    removed: tuple[Remove, ...] = ()
    tombstones: tuple[Remove, ...] = ()
    remasked: tuple[Add, ...] = ()
    described: tuple[Add, ...] = ()
    replaced_vectors: frozenset[str] = frozenset()


def file_moves(snapshot: Snapshot, proposal: Proposal) -> FileMoves:
    """Sort the file actions of a proposal by what becomes of the files."""
    if not (proposal.adds or proposal.removes):
        return FileMoves()
    removed = {canonical_key(remove.path): remove for remove in proposal.removes}
    paths = {canonical_key(add.path) for add in proposal.adds}
    there = snapshot.logical_files.column("path")
    live = frozenset(there.filter(pc.is_in(there, value_set=strings([*paths, *removed]))).to_pylist())
    remasked = [add for add in proposal.adds if canonical_key(add.path) in removed]
    others = [add for add in proposal.adds if canonical_key(add.path) not in removed]
    had = set(filter(None, (_stored(removed[canonical_key(add.path)].deletion_vector) for add in remasked)))
    used = {_stored(add.deletion_vector) for add in proposal.adds}
    if had:
        vectors = snapshot.deletion_vectors()
        places = zip(vectors.column("path").to_pylist(), vectors.column("file").to_pylist(), strict=True)
        used |= {file for path, file in places if path not in paths and path not in removed}
    return FileMoves(
        added=tuple(add for add in others if canonical_key(add.path) not in live),
        removed=tuple(remove for path, remove in removed.items() if path in live - paths),
        tombstones=tuple(remove for path, remove in removed.items() if path not in live | paths),
        remasked=tuple(remasked),
        described=tuple(add for add in others if canonical_key(add.path) in live),
        replaced_vectors=frozenset(had - used),
    )


def _stored(vector: DeletionVectorDescriptor | None) -> str | None:
    """Return the location of the file of a deletion vector; None for a vector inside the log."""
    return None if vector is None else location(vector.id)
