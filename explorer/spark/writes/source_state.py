"""Whether a source of rows is still what it was when the plan was made.

A plan counts rows and judges them, and the commit reads them again to write them. Invariants: a source that gave other
rows in between keeps the commit from being made; files of this machine are compared by name, size and time, and any
source by how many rows it gave and which rows of the table they change.
"""

from __future__ import annotations

import os
from pathlib import Path

from explorer.core.protocol.file_paths import decode_path
from explorer.core.transaction.proposal import GuardResult

__all__ = ["FileStates", "file_states", "unchanged_guard"]

FileStates = tuple[tuple[str, int, int], ...]
"""Path, size in bytes and time of change in ns of each file of a source; none where it is not on this machine."""


def file_states(source: object) -> FileStates:
    """The files of a source as they are now.

    Args:
        source: As for `explorer.core.transaction.row_engine.RowEngine.incoming_rows`.
    """
    if not isinstance(source, str):
        return ()
    place = Path(decode_path(source) if source.startswith("file:/") else source)
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    return tuple(_state(file) for file in files if file.is_file())


def _state(file: Path) -> tuple[str, int, int]:
    status = os.stat(file)
    return str(file), status.st_size, status.st_mtime_ns


def unchanged_guard(planned: object, current: object, what: str) -> tuple[GuardResult, ...]:
    """The guard that fails where a source is another one than when it was planned; none where it is the same.

    Args:
        planned: What was seen of it when the plan was made.
        current: The same, when its rows were written.
        what: Names it in words.
    """
    if planned == current:
        return ()
    evidence = {"detail": f"The source changed while it was read: {what} are not those of the plan."}
    remedy = "Make a new plan once nothing writes to the source. Rows that differ at each reading must be stored first."
    return (GuardResult("source-unchanged", "fail", evidence, remedy),)
