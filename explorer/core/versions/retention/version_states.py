"""The state of every version, column by column: readable, at risk, or gone; the one source of whoever shows it.

Protocol sections: Metadata Cleanup, VACUUM. Invariants: a version is at risk from the first time at which a clean-up by
the table's own properties may delete something that it needs. Its data is gone where files were looked for and are
missing; where nobody looked, where the log records a VACUUM that was completed and took one of its files.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import pairwise
from typing import Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from explorer.core.errors import VersionGap, VersionNotFound
from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.actions import CommitInfo
from explorer.core.protocol.arrow.arrays import Int64s, Mask
from explorer.core.versions.history import History
from explorer.core.versions.retention.expiry import (
    FOREVER,
    UNTIMED,
    LastNeeded,
    Risk,
    Terms,
    data_risk,
    expiries,
    last_needed,
    log_risk,
    retention_terms,
)
from explorer.core.versions.retention.missing_files import MissingFiles

__all__ = ["STATES", "RecordedVacuum", "StateSpan", "VersionRisks", "VersionState", "VersionStates"]

VersionState = Literal["readable", "at risk", "data gone", "log gone"]
STATES: Final[tuple[VersionState, ...]] = ("readable", "at risk", "data gone", "log gone")
"""The states, in the order of their codes."""

_READABLE, _AT_RISK, _DATA_GONE, _LOG_GONE = range(4)
_MOST_GONE: Final = 1_000_000
_MOST_DIGITS: Final = 18


class RecordedVacuum(msgspec.Struct, frozen=True):
    """A VACUUM that the log records as completed.

    Attributes:
        version: The version of its last commit.
        before: It deleted files whose tombstones are older, ms since the epoch.
    """

    version: int
    before: int


class StateSpan(msgspec.Struct, frozen=True):
    """Successive versions of one state, both ends included.

    Attributes:
        since: When the first of them is, or was, at risk, ms since the epoch; None if nothing leads to that, it is
            gone, or the time is unknown.
        vacuum: The version that records the VACUUM that took their data; None if none does.
    """

    first: int
    last: int
    state: VersionState
    since: int | None
    vacuum: int | None


class VersionStates(msgspec.Struct, frozen=True):
    """A row for each version from ``first`` to the newest.

    Attributes:
        first: The version of the first row.
        readable_from: The first version that the log rebuilds, with all later ones.
        codes: Places in `STATES`.
        since: When each may first be lost, ms since the epoch; `FOREVER` if nothing leads to that, or it is gone;
            `UNTIMED` where it may be lost at any time, because a tombstone states no time.
        by_data: Whether its data decides that, not its log.
        vacuums: The version that records the VACUUM that took its data, or -1.
        lacking: Of a version whose log is gone the missing commit that it needs, or -1.
        checked: Whether the files were looked for.
    """

    first: int
    readable_from: int
    codes: npt.NDArray[np.int8]
    since: Int64s
    by_data: Mask
    vacuums: Int64s
    lacking: Int64s
    checked: bool

    def state(self, version: int) -> VersionState:
        """The state of a version of the table; of one before the first row, too."""
        return STATES[self.codes[version - self.first]] if version >= self.first else "log gone"

    def versions(self, state: VersionState) -> Int64s:
        """The versions in a state, ascending."""
        found: Int64s = np.flatnonzero(self.codes == STATES.index(state)) + self.first
        return found

    def lost_at(self, version: int) -> int | None:
        """When a version may first be lost; None if nothing leads to that, or if it is gone, or the time is unknown."""
        since = int(self.since[version - self.first]) if version >= self.first else FOREVER
        return None if since in {FOREVER, UNTIMED} else since

    def spans(self) -> tuple[StateSpan, ...]:
        """The versions in runs of one state, ascending."""
        if not len(self.codes):
            return ()
        changed = (np.diff(self.codes) != 0) | (np.diff(self.vacuums) != 0)
        bounds = [0, *(np.flatnonzero(changed) + 1).tolist(), len(self.codes)]
        return tuple(self._span(start, stop) for start, stop in pairwise(bounds))

    def _span(self, start: int, stop: int) -> StateSpan:
        since, vacuum = int(self.since[start:stop].min()), int(self.vacuums[start])
        return StateSpan(
            self.first + start,
            self.first + stop - 1,
            STATES[self.codes[start]],
            None if since in {FOREVER, UNTIMED} else since,
            None if vacuum < 0 else vacuum,
        )


class VersionRisks:
    """What leads to the loss of versions, whatever the time is.

    Attributes:
        terms: The retention in force.
        needed: Until when the files of each instance of the lifetimes were needed.
        expiry: From when VACUUM may delete what each instance of the lifetimes needs.
        data, log: From when VACUUM, or clean-up of the log, may take each readable version.
        vacuums: Those that the log records, ascending.
        life, listing: The lifetimes and the listing that this comes from.

    Raises:
        CorruptTable: A property has no readable value.
    """

    def __init__(self, history: History, listing: LogListing) -> None:
        life = history.lifetimes
        self.terms: Terms = retention_terms(history)
        self.needed: LastNeeded = last_needed(life, self.terms)
        self.expiry: Int64s = expiries(self.needed, self.terms)
        self.data: Risk = data_risk(life, self.expiry)
        self.log: Risk = log_risk(listing, life, self.terms)
        self.vacuums = tuple(_vacuums(history))
        self.life, self.listing = life, listing

    def at(self, now: int, missing: Set[str] | None = None) -> VersionStates:
        """The states at a time.

        Args:
            now: ms since the epoch.
            missing: Those of the needed locations at which there is no file; None if nobody looked.
        """
        return self.given(now, None if missing is None else MissingFiles(self.life, missing))

    def given(self, now: int, lost: MissingFiles | None) -> VersionStates:
        """The states at a time, with what a look at the files found; None if nobody looked."""
        start = max(0, self.life.readable_from - _MOST_GONE)
        lacking, covered = _before(self.listing, start, self.life.readable_from)
        count = len(self.data.since)
        data = np.where(self.data.since == self.terms.files, UNTIMED, self.data.since)
        since = np.minimum(data, self.log.since)
        # A tombstone expires after its last millisecond, a checkpoint may be the cut-off at its midnight.
        by_data = data < self.log.since
        risky = (since != FOREVER) & (now > since - ~by_data)
        vacuums = np.full(count, -1) if lost is not None else self._taken()
        gone = vacuums >= 0 if lost is None else lost.count > 0
        codes = np.where(gone, _DATA_GONE, np.where(risky, _AT_RISK, _READABLE))
        before = np.where((lacking < 0) | covered, _AT_RISK, _LOG_GONE)
        early = len(lacking)
        return VersionStates(
            first=start,
            readable_from=self.life.readable_from,
            codes=np.concatenate([before, codes]).astype(np.int8),
            since=np.concatenate([np.full(early, FOREVER), np.where(gone, FOREVER, since)]),
            by_data=np.concatenate([np.zeros(early, bool), by_data]),
            vacuums=np.concatenate([np.full(early, -1), vacuums]).astype(np.int64),
            lacking=np.concatenate([np.where(covered, -1, lacking), np.full(count, -1)]),
            checked=lost is not None,
        )

    def _taken(self) -> Int64s:
        """For each readable version the first recorded VACUUM that took one of its files, or -1."""
        taken = np.full(len(self.data.since), -1)
        removed = self.data.since - self.terms.files
        gone_in = np.full(len(taken), FOREVER)
        known = self.data.first >= 0
        gone_in[known] = self.life.removed[self.data.first[known]]
        for vacuum in self.vacuums:
            taken[(taken < 0) & (removed < vacuum.before) & (gone_in <= vacuum.version)] = vacuum.version
        return taken


def _before(listing: LogListing, start: int, stop: int) -> tuple[Int64s, Mask]:
    """Of the versions before the unbroken run to the newest: the missing commit that each needs, or -1; and whether a
    log compaction stands in for it."""
    lacking, covered = np.full(stop - start, -1, np.int64), np.zeros(stop - start, bool)
    checkpoints = {checkpoint.version for checkpoint in listing.checkpoints}
    listed = [version for version in (*listing.commits, *checkpoints) if start <= version < stop]
    missing = -1 if start == 0 else start - 1
    compacted = bool(listing.compactions)
    for version in range(start, stop if compacted else max(listed, default=start - 1) + 1):
        if version in checkpoints:
            missing = -1
        elif version not in listing.commits and missing < 0:
            missing = version
        lacking[version - start] = missing
        covered[version - start] = missing >= 0 and compacted and _is_rebuilt(listing, version)
    if not compacted:
        rest = max(listed, default=start - 1) + 1
        lacking[rest - start :] = missing if missing >= 0 else rest
    return lacking, covered


def _is_rebuilt(listing: LogListing, version: int) -> bool:
    """True if a log compaction covers what is gone."""
    try:
        listing.segment(version)
    except (VersionGap, VersionNotFound):
        return False
    return True


def _vacuums(history: History) -> Iterator[RecordedVacuum]:
    """Yield what ``VACUUM START`` and ``VACUUM END`` say; a VACUUM without an end may have deleted nothing."""
    begun: int | None = None
    for record in history.commits:
        info = record.info
        if info is not None and info.operation == "VACUUM START":
            # Tombstones are in the writer's time, which a copy of the commit file has lost.
            written = None if record.time_in_commit else info.timestamp
            begun = _cut_off(record.timestamp if written is None else written, info)
        elif info is not None and info.operation == "VACUUM END":
            if begun is not None and _parameter(info, "status") == "COMPLETED":
                yield RecordedVacuum(record.version, begun)
            begun = None


def _cut_off(timestamp: int, info: CommitInfo) -> int | None:
    for name in ("specifiedRetentionMillis", "defaultRetentionMillis"):
        text = _parameter(info, name)
        if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
            return timestamp - int(text)
    return None


def _parameter(info: CommitInfo, name: str) -> str:
    parameters = info.operation_parameters
    return "" if not parameters else str(parameters.get(name, ""))
