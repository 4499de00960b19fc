"""What a proposal does to the data files of a table: which come, which go, and which stay with other actions.

Protocol sections: Add File and Remove File, Deletion Vectors, Action Reconciliation. Invariants: a file whose path is
removed and added in one commit stays, so no VACUUM deletes it; only the deletion vector that it had is replaced.
"""

from __future__ import annotations

import msgspec
import pyarrow.compute as pc

from explorer.core.protocol.actions import Add, DeletionVectorDescriptor, Remove
from explorer.core.protocol.arrow.arrays import strings
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_paths import decode_path
from explorer.core.transaction.proposal import Proposal
from explorer.core.versions.snapshot import Snapshot

__all__ = ["FileMoves", "file_moves"]


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
    """Sort the file actions of a proposal by what becomes of the files.

    Args:
        snapshot: The version that the proposal builds on.
        proposal: The proposal.
    """
    if not (proposal.adds or proposal.removes):
        return FileMoves()
    removed = {decode_path(remove.path): remove for remove in proposal.removes}
    paths = {decode_path(add.path) for add in proposal.adds}
    there = snapshot.logical_files.column("path")
    live = frozenset(there.filter(pc.is_in(there, value_set=strings([*paths, *removed]))).to_pylist())
    remasked = [add for add in proposal.adds if decode_path(add.path) in removed]
    others = [add for add in proposal.adds if decode_path(add.path) not in removed]
    had = set(filter(None, (_stored(removed[decode_path(add.path)].deletion_vector) for add in remasked)))
    used = {_stored(add.deletion_vector) for add in proposal.adds}
    if had:
        vectors = snapshot.deletion_vectors()
        places = zip(vectors.column("path").to_pylist(), vectors.column("file").to_pylist(), strict=True)
        used |= {file for path, file in places if path not in paths and path not in removed}
    return FileMoves(
        added=tuple(add for add in others if decode_path(add.path) not in live),
        removed=tuple(remove for path, remove in removed.items() if path in live - paths),
        tombstones=tuple(remove for path, remove in removed.items() if path not in live | paths),
        remasked=tuple(remasked),
        described=tuple(add for add in others if decode_path(add.path) in live),
        replaced_vectors=frozenset(had - used),
    )


def _stored(vector: DeletionVectorDescriptor | None) -> str | None:
    """The location of the file of a deletion vector; None for a vector inside the log."""
    return None if vector is None else location(vector.id)
