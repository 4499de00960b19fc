"""The hint at the newest checkpoint compared with the checkpoint that it names.

Protocol section: Last Checkpoint File. Invariants: a number that the hint lacks contradicts nothing; ``size`` counts
actions, but older writers put the number of files or of bytes there, which is not a fault either.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.last_checkpoint import LastCheckpoint
from explorer.core.log.log_segment import CompleteCheckpoint
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles

__all__ = ["HintDifferences", "compare_hint"]


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
