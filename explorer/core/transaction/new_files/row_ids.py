"""Fresh row ids for files that enter a table with row tracking.

Protocol section: Row Tracking (Writer Requirements). Invariants: ids are unique in every version and above the mark
(ROWTRACK-002); a file that had ids keeps them (ROWTRACK-003).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from explorer.core.protocol.actions import Add, DomainMetadata
from explorer.core.protocol.row_tracking import DOMAIN, RowTracking
from explorer.core.transaction.new_files.file_actions import num_records
from explorer.core.transaction.proposal import GuardResult

__all__ = ["number_rows"]


def number_rows(
    adds: Iterable[Add], tracking: RowTracking, version: int
) -> tuple[tuple[Add, ...], tuple[DomainMetadata, ...], tuple[GuardResult, ...]]:
    """Give base row ids to files that have none.

    Args:
        adds: The files of a commit.
        tracking: Row tracking of the version read, under the protocol that the commit leaves.
        version: The version to be committed.

    Returns:
        The files, the domain with the new mark if it rose, and a failed guard if a file does not record how many rows
        it has.
    """
    found = tuple(adds)
    if not tracking.supported or tracking.suspended:
        return found, (), ()
    mark = before = tracking.last_id
    numbered: list[Add] = []
    for add in found:
        if add.base_row_id is not None:
            numbered.append(add)
            continue
        rows = num_records(add)
        if rows is None:
            return found, (), (_uncounted(add),)
        numbered.append(msgspec.structs.replace(add, base_row_id=mark + 1, default_row_commit_version=version))
        mark += rows
    return tuple(numbered), (() if mark == before else (high_water_mark(mark),)), ()


def high_water_mark(mark: int) -> DomainMetadata:
    """The domain that says the highest row id given."""
    configuration = msgspec.json.encode({"rowIdHighWaterMark": mark, "domainName": DOMAIN}).decode()
    return DomainMetadata(domain=DOMAIN, configuration=configuration)


def _uncounted(add: Add) -> GuardResult:
    return GuardResult(
        "row-ids",
        "fail",
        {
            "path": add.path,
            "detail": "Row tracking needs the number of rows of every file; the log does not say it for this one.",
        },
        "Rewrite the file with statistics, or suspend row tracking.",
    )
