"""Guards of files: whether files that a commit names, and that are not live now, still exist in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from explorer.core.errors import StorageError
from explorer.core.protocol.counted import all_of
from explorer.core.protocol.file_locations import next_step_for_missing
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.retention.missing_files import absent

__all__ = ["file_guards"]

_MOST_NAMED: Final = 10


def file_guards(store: LogStore, paths: Sequence[str]) -> tuple[GuardResult, ...]:
    """Whether files that the commit names, and that are not live now, still exist."""
    if not paths:
        return ()
    try:
        gone = sorted(absent(store, paths))
    except StorageError as error:
        evidence: dict[str, object] = {"files": len(paths), "detail": f"The files could not be checked: {error}"}
        return (GuardResult("files-exist", "unknown", evidence, "Try again, or accept this guard by name."),)
    evidence = {"files": len(paths), "missing": gone[:_MOST_NAMED], "numMissing": len(gone)}
    if not gone:
        detail = all_of(len(paths), "file", "exists", "exist")
        return (GuardResult("files-exist", "pass", evidence | {"detail": detail}),)
    verb = "is" if len(gone) == 1 else "are"
    detail = f"{len(gone):,} of {len(paths):,} files {verb} gone, such as {gone[0]}."
    if len(paths) == 1:
        detail = f"The only file is gone: {gone[0]}."
    return (GuardResult("files-exist", "fail", evidence | {"detail": detail}, next_step_for_missing(gone)),)
