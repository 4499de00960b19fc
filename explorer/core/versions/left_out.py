"""Files that hold matching rows although the log excludes them: their statistics are wrong.

Protocol section: Per-file Statistics. Invariant: only a file whose rows were read and matched is named, so each one
named is a proof that its statistics contradict its data.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from explorer.core.errors import RequestError
from explorer.core.versions.snapshot import Snapshot

__all__ = ["FEW_FILES", "left_out"]

FEW_FILES: Final = 200
"""Up to so many files a change reads those too that the log excludes, to tell whether their statistics are right."""


def left_out(snapshot: Snapshot, where: str, matched: Collection[str]) -> tuple[str, ...]:
    """Return the files with matching rows that data skipping leaves out, in the order of the log.

    Args:
        snapshot: The version.
        where: The condition; one that the core cannot read excludes no file.
        matched: Decoded paths of live files in which a row matches.
    """
    if not matched:
        return ()
    try:
        found = snapshot.skipping(where).files
    except RequestError:
        return ()
    pairs = zip(found.column("path").to_pylist(), found.column("kept").to_pylist(), strict=True)
    return tuple(path for path, kept in pairs if not kept and path in matched)
