"""The time of a commit: its in-commit timestamp where those are enabled, else the time of its file.

Protocol section: In-Commit Timestamps. Invariants: the time of a file is raised where it would run backwards (LOG-025);
an in-commit timestamp is taken as it is (ICT-004); a time outside the calendar is an error, never another time.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import numpy as np

from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import CommitInfo, Metadata, Protocol
from explorer.core.protocol.arrow.arrays import Int64s
from explorer.core.protocol.table_properties.registry import (
    ICT_ENABLEMENT_TIMESTAMP,
    ICT_ENABLEMENT_VERSION,
    IN_COMMIT_TIMESTAMPS,
)
from explorer.core.protocol.times import from_milliseconds

BASES: Final = ("in-commit", "file")
"""Sources of a commit's time: the commit itself (ICT-004), or the modification time of its file (LOG-025)."""
_MUCH: Final = timedelta(hours=1)


def commit_time(modified: int, info: CommitInfo | None, before: int) -> int:
    """Return the time of a commit in ms since the epoch.

    Args:
        info: Its provenance if in-commit timestamps are enabled, else None.
        before: Time of the commit before it, or -1.
    """
    if info is not None and info.in_commit_timestamp is not None:
        return info.in_commit_timestamp
    return max(modified, before + 1)


def file_times(modified: Int64s) -> Int64s:
    """Return times of commits without in-commit timestamps, ms since the epoch, each raised to those before it.

    Args:
        modified: Modification times of their files, in the order of the versions.
    """
    places = np.arange(len(modified))
    return np.maximum(np.maximum.accumulate(modified - places), 0) + places


def is_doubtful(time: datetime | None, basis: str, written: datetime | None) -> bool:
    """Return whether a file's time is not the commit's: the writer's own clock is an hour or more away.

    Args:
        time, basis: Its time, and which of `BASES` it is from.
        written: ``commitInfo.timestamp``, which decides nothing (LOG-024); None if it has none.
    """
    return basis == BASES[1] and time is not None and written is not None and abs(time - written) >= _MUCH


def mentions_in_commit_timestamps(protocol: Protocol, metadata: Metadata) -> bool:
    """Return whether in-commit timestamps are or may have been enabled at some version up to this one."""
    listed = any(name.startswith("inCommitTimestamp") for name in protocol.writer_features or ())
    known = (IN_COMMIT_TIMESTAMPS, ICT_ENABLEMENT_VERSION, ICT_ENABLEMENT_TIMESTAMP)
    return listed or any(each.is_set(metadata.configuration) for each in known)


def moment(milliseconds: int) -> datetime:
    """Return a time of the log as a datetime, UTC.

    Args:
        milliseconds: Since the epoch.

    Raises:
        CorruptTable: It is not a time of this calendar.
    """
    try:
        return from_milliseconds(milliseconds)
    except OverflowError as error:
        raise CorruptTable(
            f"A commit's time is {milliseconds} ms since 1970, which is not a valid date. A faulty client wrote it.",
            found=milliseconds,
        ) from error


def enablement(configuration: dict[str, str]) -> tuple[int, int]:
    """Return version and time (ms) from which in-commit timestamps are enabled; zeros if they always were (ICT-003)."""
    if not ICT_ENABLEMENT_VERSION.is_set(configuration) or not ICT_ENABLEMENT_TIMESTAMP.is_set(configuration):
        return 0, 0
    return ICT_ENABLEMENT_VERSION.of(configuration), ICT_ENABLEMENT_TIMESTAMP.of(configuration)
