"""Retention: which versions can be read, from when they may be lost, which are lost and why.

Protocol sections: Metadata Cleanup, VACUUM. Invariants: a version is readable as long as its part of the log and all
its files exist; a file counts as missing only after a check; a version is at risk from the first time
at which a cleanup by the table's own properties may delete something that it needs.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime, timedelta
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.arrow.arrays import int64s, strings
from explorer.core.protocol.counted import counted
from explorer.core.protocol.table_properties.registry import EXPIRED_LOG_CLEANUP, FILE_RETENTION, LOG_RETENTION
from explorer.core.protocol.times import in_calendar, milliseconds
from explorer.core.versions.history import History
from explorer.core.versions.retention.expiry import FOREVER, UNTIMED
from explorer.core.versions.retention.missing_files import MissingFiles
from explorer.core.versions.retention.version_states import STATES, VersionRisks, VersionStates

_DAY: Final = 86_400_000


def version_retention(
    history: History, listing: LogListing, now: datetime, missing: Set[str] | None = None
) -> pa.Table:
    """Return whether each version can be read, and until when that is certain.

    Args:
        now: The present, with a zone.
        missing: Those of `data_locations` at which there is no file; None if nothing was checked, so that the log's
            records of VACUUM decide.

    Returns:
        One row a version, ascending: version; status (``readable``, ``at risk``: a cleanup now may delete it,
        ``log gone``, ``data gone``); at_risk_from (ms, UTC: from then on it may be deleted; null if never, if it is
        lost, or if the log does not record the time); by (the property that sets the time, null without one); reason;
        missing_files (some of the missing files, at most `MOST_NAMED`), num_missing_files (how many of the
        version's files cannot be read).

    Raises:
        RequestError: ``now`` has no zone.
        CorruptTable: A property has no readable value.
    """
    risks = VersionRisks(history, listing)
    lost = None if missing is None else MissingFiles(history.lifetimes, missing)
    states = risks.given(milliseconds(now), lost, -1 if lost is None else history.latest)
    words = _VersionTexts(history, risks, states, lost)
    return _table(states, [words.row(place) for place in range(len(states.codes))])


class _VersionRow(msgspec.Struct, frozen=True):
    since: int | None
    by: str | None
    reason: str
    missing: tuple[str, ...] = ()
    num_missing: int = 0


class _VersionTexts:
    """Makes the row of a version."""

    def __init__(self, history: History, risks: VersionRisks, states: VersionStates, lost: MissingFiles | None) -> None:
        self._life, self._risks, self._states, self._lost = history.lifetimes, risks, states, lost
        first = np.unique(risks.data.first[risks.data.first >= 0])
        paths = self._life.take(first, ["path"]).column(0).to_pylist()
        self._paths: dict[int, str] = dict(zip(first.tolist(), paths, strict=True))

    def row(self, index: int) -> _VersionRow:
        """Return the row of a version, counted from the first one."""
        states = self._states
        if states.first + index < states.readable_from:
            return _before(int(states.lacking[index]))
        position = states.first + index - states.readable_from
        if self._lost is not None and self._lost.count[position]:
            missing, names = int(self._lost.count[position]), self._lost.named[position]
            return _VersionRow(None, None, f"{counted(missing, 'file')} of it can no longer be read", names, missing)
        if states.vacuums[index] >= 0:
            record = f"version {int(states.vacuums[index])} records a VACUUM that deleted files of it"
            return _VersionRow(None, None, f"{record}; its files were not checked")
        since, by_data = int(states.since[index]), bool(states.by_data[index])
        if since == FOREVER:
            return _VersionRow(None, None, self._safe(position))
        reason = self._by_data(position) if by_data else self._by_log(position)
        key = FILE_RETENTION.key if by_data else LOG_RETENTION.key
        if since == UNTIMED:
            return _VersionRow(None, key, reason)
        return (
            _VersionRow(since, key, reason)
            if in_calendar(since)
            else _VersionRow(None, key, f"{reason}, past the year 9999")
        )

    def _safe(self, position: int) -> str:
        version = position + self._life.readable_from
        if version == self._life.last:
            return "the newest version"
        if self._risks.terms.log is None:
            return f"none of its files was removed since, and {EXPIRED_LOG_CLEANUP} is false"
        return "none of its files was removed since, and no later checkpoint exists at which its log could be cut off"

    def _by_data(self, position: int) -> str:
        row = int(self._risks.data.first[position])
        removed, retention = int(self._life.removed[row]), _duration(self._risks.terms.files)
        what = "its deletion vector or file" if int(self._life.vector_files[0][row]) >= 0 else "file"
        file = f"{what} {self._paths[row]} was removed in version {removed}"
        if int(self._risks.needed.first[row]) == UNTIMED:
            return f"{file}, at a time that the log does not record; VACUUM may delete it now"
        if self._risks.terms.files < 0:
            return f"{file}; a retention of {retention} does not keep it at all"
        return f"{file}; VACUUM keeps it for {retention}"

    def _by_log(self, position: int) -> str:
        retention = _duration(self._risks.terms.log or 0)
        return (
            f"the log before the checkpoint of version {int(self._risks.log.first[position])} is kept for {retention}"
        )


def _before(lacking: int) -> _VersionRow:
    """Return the row of a version before the unbroken run that ends at the newest one."""
    if lacking < 0:
        return _VersionRow(None, None, "commits after it are missing in the log; its files were not checked")
    return _VersionRow(None, None, f"the commit of version {lacking}, which it is rebuilt from, is missing")


def _table(states: VersionStates, rows: Sequence[_VersionRow]) -> pa.Table:
    offsets = np.cumsum([0, *(len(row.missing) for row in rows)], dtype=np.int32)
    names = strings([name for row in rows for name in row.missing])
    buffers = [None, pa.py_buffer(offsets)]
    return pa.table(
        {
            "version": int64s(list(range(states.first, states.first + len(rows)))),
            "status": strings([STATES[code] for code in states.codes.tolist()]),
            "at_risk_from": int64s([row.since for row in rows]).view(pa.timestamp("ms", "UTC")),
            "by": strings([row.by for row in rows]),
            "reason": strings([row.reason for row in rows]),
            "missing_files": pa.Array.from_buffers(pa.list_(pa.string()), len(rows), buffers, children=[names]),
            "num_missing_files": int64s([row.num_missing for row in rows]),
        }
    )


def _duration(milliseconds: int) -> str:
    days, rest = divmod(milliseconds, _DAY)
    if not rest:
        return counted(days, "day")
    return str(timedelta(milliseconds=milliseconds))
