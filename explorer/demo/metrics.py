"""``operationMetrics`` of the demo's commits, under the names that the reference writer uses."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.demo.live_file import LiveFile, Mask

__all__ = ["deleted", "merged", "removed", "restored", "rewritten", "updated", "written"]

Metrics = dict[str, int]
Touched = Sequence[tuple[LiveFile, Mask]]


def written(added: Sequence[LiveFile]) -> Metrics:
    """WRITE and STREAMING UPDATE."""
    return {"numFiles": len(added), "numOutputRows": _rows(added), "numOutputBytes": _bytes(added)}


def removed(gone: Sequence[LiveFile]) -> Metrics:
    """What an overwrite adds to those of a write."""
    return {"numRemovedFiles": len(gone), "numRemovedBytes": _bytes(gone)}


def deleted(kept: Sequence[LiveFile], touched: Touched) -> Metrics:
    """DELETE."""
    rewritten_files = [file for file in kept if file.add.deletion_vector is None]
    return {
        "numAddedFiles": len(rewritten_files),
        "numAddedBytes": _bytes(rewritten_files),
        "numRemovedFiles": len(touched) - len(_masked(kept)),
        "numDeletedRows": _matched(touched),
        "numCopiedRows": _rows(rewritten_files),
        **_vectors(kept, touched),
    }


def updated(kept: Sequence[LiveFile], touched: Touched, added: Sequence[LiveFile]) -> Metrics:
    """UPDATE."""
    rewritten_files = [file for file in kept if file.add.deletion_vector is None]
    return {
        "numAddedFiles": len(added) + len(rewritten_files),
        "numAddedBytes": _bytes(added) + _bytes(rewritten_files),
        "numRemovedFiles": len(touched) - len(_masked(kept)),
        "numUpdatedRows": _matched(touched),
        "numCopiedRows": _rows(rewritten_files),
        **_vectors(kept, touched),
    }


def merged(kept: Sequence[LiveFile], touched: Touched, added: Sequence[LiveFile], source_rows: int) -> Metrics:
    """MERGE."""
    vectors = {name.replace("num", "numTarget"): value for name, value in _vectors(kept, touched).items()}
    matched = _matched(touched)
    return {
        "numSourceRows": source_rows,
        "numOutputRows": _rows(added),
        "numTargetRowsInserted": source_rows - matched,
        "numTargetRowsUpdated": matched,
        "numTargetRowsMatchedUpdated": matched,
        "numTargetRowsDeleted": 0,
        "numTargetRowsCopied": 0,
        "numTargetFilesAdded": len(added),
        "numTargetBytesAdded": _bytes(added),
        "numTargetFilesRemoved": len(touched) - len(_masked(kept)),
        **vectors,
    }


def rewritten(added: Sequence[LiveFile], gone: Sequence[LiveFile]) -> Metrics:
    """OPTIMIZE and REORG."""
    sizes = [file.add.size for file in added]
    return {
        "numAddedFiles": len(added),
        "numAddedBytes": _bytes(added),
        "numRemovedFiles": len(gone),
        "numRemovedBytes": _bytes(gone),
        "numDeletionVectorsRemoved": len(_masked(gone)),
        "minFileSize": min(sizes),
        "maxFileSize": max(sizes),
    }


def restored(back: Sequence[LiveFile], gone: Sequence[LiveFile], after: Sequence[LiveFile]) -> Metrics:
    """RESTORE."""
    return {
        "numRestoredFiles": len(back),
        "restoredFilesSize": _bytes(back),
        "numRemovedFiles": len(gone),
        "removedFilesSize": _bytes(gone),
        "numOfFilesAfterRestore": len(after),
        "tableSizeAfterRestore": _bytes(after),
    }


def _vectors(kept: Sequence[LiveFile], touched: Touched) -> Metrics:
    """How many deletion vectors came and went; one that changed counts as both, and as updated."""
    before = {file.add.path for file, _ in touched if file.add.deletion_vector is not None}
    after = {file.add.path for file in _masked(kept)}
    return {
        "numDeletionVectorsAdded": len(after),
        "numDeletionVectorsRemoved": len(before),
        "numDeletionVectorsUpdated": len(before & after),
    }


def _masked(files: Sequence[LiveFile]) -> list[LiveFile]:
    return [file for file in files if file.add.deletion_vector is not None]


def _matched(touched: Touched) -> int:
    return int(sum(mask.sum() for _, mask in touched))


def _rows(files: Sequence[LiveFile]) -> int:
    return sum(file.rows.num_rows for file in files)


def _bytes(files: Sequence[LiveFile]) -> int:
    return sum(file.add.size for file in files)
