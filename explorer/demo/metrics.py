"""``operationMetrics`` of what the demo does beyond the intents, under the names that the reference writer uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explorer.core.protocol.actions import Add

__all__ = ["merged", "rewritten", "updated"]

Metrics = Mapping[str, str]


def updated(deleted: Metrics, written: Metrics) -> dict[str, str]:
    """UPDATE, of the metrics of its deletion and of its new rows."""
    found = {name: value for name, value in deleted.items() if name != "numDeletedRows"}
    return {
        **found,
        "numUpdatedRows": deleted["numDeletedRows"],
        "numAddedFiles": _sum(deleted["numAddedFiles"], written["numFiles"]),
        "numAddedBytes": _sum(deleted["numAddedBytes"], written["numOutputBytes"]),
    }


def merged(deleted: Metrics, written: Metrics, source_rows: int) -> dict[str, str]:
    """MERGE that updates and inserts, of the metrics of its deletion and of its new rows."""
    matched = deleted["numDeletedRows"]
    vectors = {
        name.replace("num", "numTarget", 1): value for name, value in deleted.items() if "DeletionVectors" in name
    }
    return {
        "numSourceRows": str(source_rows),
        "numOutputRows": written["numOutputRows"],
        "numTargetRowsInserted": str(source_rows - int(matched)),
        "numTargetRowsUpdated": matched,
        "numTargetRowsMatchedUpdated": matched,
        "numTargetRowsDeleted": "0",
        "numTargetRowsCopied": deleted["numCopiedRows"],
        "numTargetFilesAdded": _sum(deleted["numAddedFiles"], written["numFiles"]),
        "numTargetBytesAdded": _sum(deleted["numAddedBytes"], written["numOutputBytes"]),
        "numTargetFilesRemoved": deleted["numRemovedFiles"],
        **vectors,
    }


def rewritten(added: Sequence[Add], gone: Sequence[Add]) -> dict[str, str]:
    """OPTIMIZE and REORG."""
    sizes = [add.size for add in added]
    numbers = {
        "numAddedFiles": len(added),
        "numAddedBytes": sum(sizes),
        "numRemovedFiles": len(gone),
        "numRemovedBytes": sum(add.size for add in gone),
        "numDeletionVectorsRemoved": sum(add.deletion_vector is not None for add in gone),
        "minFileSize": min(sizes),
        "maxFileSize": max(sizes),
    }
    return {name: str(number) for name, number in numbers.items()}


def _sum(one: str, other: str) -> str:
    return str(int(one) + int(other))
