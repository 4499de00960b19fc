"""Numbers of a commit that its own version, or the row ids given so far, contradict.

Protocol sections: Commit Provenance Information, Row Tracking. Invariants: a missing number contradicts nothing; a
writer reads an earlier version than it writes, and rows have the version that first contained them.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.core.errors import CorruptTable
from explorer.core.log.commit import Commit
from explorer.core.log.verify.running_state import RunningState
from explorer.core.protocol.actions import CommitInfo
from explorer.core.protocol.record_counts import count_of_line
from explorer.core.protocol.row_tracking import DOMAIN, recorded_high_water_mark

__all__ = ["impossible_numbers"]


def impossible_numbers(commit: Commit, info: CommitInfo | None, state: RunningState | None) -> Iterator[str]:
    """Yield each number that the commit cannot have.

    Args:
        state: The state after it; None where the state before it is not known.
    """
    read = None if info is None else info.read_version
    if read is not None and read >= commit.version:
        yield (
            f"commitInfo.readVersion is {read:,}: the writer read a version that does not come before this commit, so "
            "commits may have been lost or replaced"
        )
    mark = _mark(state)
    for line in commit.lines:
        add = line.add
        if add is None:
            continue
        if (add.default_row_commit_version or 0) > commit.version:
            yield f"defaultRowCommitVersion of {add.path} is {add.default_row_commit_version:,}, a later version"
        last = None if add.base_row_id is None else add.base_row_id + max(count_of_line(add.stats) or 1, 1) - 1
        if mark is not None and last is not None and last > mark:
            yield f"row ids of {add.path} reach {last:,}, but the highest that was assigned is {mark:,}"


def _mark(state: RunningState | None) -> int | None:
    """Return the highest row id that was assigned; None where it is not known."""
    domain = None if state is None else state.domains.get(DOMAIN)
    try:
        return None if domain is None else recorded_high_water_mark(domain.configuration)
    except CorruptTable:
        return None  # It is refused where row ids are read.
