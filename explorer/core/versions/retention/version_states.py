"""The state of every version, column by column: readable, at risk, or gone; the one source of whoever shows it.

Protocol sections: Metadata Cleanup, VACUUM. Invariants: a version is at risk from the first time at which a clean-up by
the table's own properties, or a VACUUM that began and is not known to have ended, may delete something that it needs.
Its data is gone where one of its files is known to be missing; where its files were not looked for since, also where
the log records a VACUUM that was completed, deleted files, and whose cut-off is past the tombstone of one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from explorer.core.errors import VersionGap, VersionNotFound
from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.actions import CommitInfo
from explorer.core.protocol.arrow.arrays import Int64s, Mask
from explorer.core.protocol.deletion_vectors import location
from explorer.core.versions.history import History
from explorer.core.versions.provenance import CommitRecord
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
from explorer.core.versions.retention.known_missing import KnownMissing
from explorer.core.versions.retention.missing_files import MissingFiles

__all__ = ["STATES", "RecordedVacuum", "StateSpan", "VersionRisks", "VersionState", "VersionStates"]

VersionState = Literal["readable", "at risk", "data gone", "log gone"]
STATES: Final[tuple[VersionState, ...]] = ("readable", "at risk", "data gone", "log gone")
"""The states, in the order of their codes."""

_READABLE, _AT_RISK, _DATA_GONE, _LOG_GONE = range(4)
_MOST_GONE: Final = 1_000_000
_MOST_DIGITS: Final = 18


class RecordedVacuum(msgspec.Struct, frozen=True):
    """A VACUUM that the log records.

    Attributes:
        version: The version of its last commit.
        before: It deleted files whose tombstones are older, ms since the epoch.
        completed: Whether the log says so. One that failed, or of which only the start is recorded, may have deleted
            some of these files, all or none.
        began: When it began, ms since the epoch, by the clock of the tombstones.
    """

    version: int
    before: int
    completed: bool = True
    began: int = 0


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
        later: When each may be lost otherwise: by its log where its data decides, else by its data.
        both: Whether both may take it now.
        vacuums: The version that records the VACUUM that took its data, or -1.
        unfinished: The version that records a VACUUM that may have taken its data, as nothing says that it ended, or
            -1.
        lacking: Of a version whose log is gone the missing commit that it needs, or -1.
        checked: Whether the files of all versions were looked for.
        lost: The files that are known to be missing; None if none is and nothing was looked for.
    """

    first: int
    readable_from: int
    codes: npt.NDArray[np.int8]
    since: Int64s
    by_data: Mask
    later: Int64s
    both: Mask
    vacuums: Int64s
    unfinished: Int64s
    lacking: Int64s
    checked: bool
    lost: MissingFiles | None = None

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
        vacuums: Those that the log records as completed, ascending.
        unfinished: Those that it records as begun and not as completed, ascending.
        known: The files that are known to be missing.
        life, listing: The lifetimes and the listing that this comes from.

    Raises:
        CorruptTable: A property has no readable value.
    """

    def __init__(self, history: History, listing: LogListing, known: KnownMissing | None = None) -> None:
        life = history.lifetimes
        self.terms: Terms = retention_terms(history)
        self.needed: LastNeeded = last_needed(life, self.terms)
        self.expiry: Int64s = expiries(self.needed, self.terms)
        self.data: Risk = data_risk(life, self.expiry)
        self.log: Risk = log_risk(listing, life, self.terms)
        vacuums = tuple(_vacuums(history))
        self.vacuums = tuple(vacuum for vacuum in vacuums if vacuum.completed)
        self.unfinished = tuple(vacuum for vacuum in vacuums if not vacuum.completed)
        self.known = KnownMissing() if known is None else known
        self.life, self.listing = life, listing

    def at(self, now: int, missing: Set[str] | None = None) -> VersionStates:
        """The states at a time.

        Args:
            now: ms since the epoch.
            missing: Those of the needed locations at which there is no file; None if nobody looked just now, so that
                what is known from earlier counts.
        """
        if missing is not None:
            return self.given(now, MissingFiles(self.life, missing), self.life.last)
        known = self.known.now
        some = known.missing or known.checked_to >= 0
        return self.given(now, MissingFiles(self.life, known.missing) if some else None, known.checked_to)

    def given(self, now: int, lost: MissingFiles | None, checked_to: int = -1) -> VersionStates:
        """The states at a time, with the files that are known to be missing.

        Args:
            now: ms since the epoch.
            lost: These files; None if none is known.
            checked_to: The newest version of which all files were looked for: of a VACUUM that the log records up to
                it, nothing more can be told.
        """
        start = max(0, self.life.readable_from - _MOST_GONE)
        lacking, covered = _before(self.listing, start, self.life.readable_from)
        count = len(self.data.since)
        data = np.where(self.data.since == self.terms.files, UNTIMED, self.data.since)
        since = np.minimum(data, self.log.since)
        # A tombstone expires after its last millisecond, a checkpoint may be the cut-off at its midnight.
        by_data = data < self.log.since
        unfinished, begun = self._begun(checked_to)
        data = np.minimum(data, begun)
        by_data |= begun < since
        since, later = np.minimum(since, begun), np.where(by_data, self.log.since, data)
        risky = (since != FOREVER) & (now > since - ~by_data)
        both = risky & (later != FOREVER) & (now > later - by_data)
        vacuums = self._taken(checked_to)
        gone = vacuums >= 0 if lost is None else (vacuums >= 0) | (lost.count > 0)
        codes = np.where(gone, _DATA_GONE, np.where(risky, _AT_RISK, _READABLE))
        before = np.where((lacking < 0) | covered, _AT_RISK, _LOG_GONE)
        early = len(lacking)
        return VersionStates(
            first=start,
            readable_from=self.life.readable_from,
            codes=np.concatenate([before, codes]).astype(np.int8),
            since=np.concatenate([np.full(early, FOREVER), np.where(gone, FOREVER, since)]),
            by_data=np.concatenate([np.zeros(early, bool), by_data]),
            later=np.concatenate([np.full(early, FOREVER), np.where(gone, FOREVER, later)]),
            both=np.concatenate([np.zeros(early, bool), both & ~gone]),
            vacuums=np.concatenate([np.full(early, -1), vacuums]).astype(np.int64),
            unfinished=np.concatenate([np.full(early, -1), np.where(gone, -1, unfinished)]).astype(np.int64),
            lacking=np.concatenate([np.where(covered, -1, lacking), np.full(count, -1)]),
            checked=checked_to >= self.life.last,
            lost=lost,
        )

    def deciding(self, now: int, most: int = 64) -> tuple[str, ...]:
        """Return the locations of the files that tell whether versions at risk were lost already: few of each.

        A VACUUM takes all that is old enough, so where the first file that a version can lose is there, none ran.

        Args:
            now: ms since the epoch.
            most: How many files, at most.
        """
        states = self.at(now)
        risky = (states.codes == _AT_RISK) & states.by_data
        places = np.flatnonzero(risky[self.life.readable_from - states.first :])
        rows = np.unique(self.data.first[places])
        rows = rows[rows >= 0][:most]
        paths = self.life.take(rows, ["path"]).column(0).to_pylist()
        files, ids = self.life.vector_files
        vectors = (location(ids[place]) for place in files[rows].tolist() if place >= 0)
        return tuple(dict.fromkeys(place for place in (*paths, *vectors) if place is not None))

    def _taken(self, checked_to: int) -> Int64s:
        """For each readable version the first VACUUM, of those after a version, that took one of its files, or -1."""
        taken, _ = self._first_of(self.vacuums, checked_to)
        return taken

    def _begun(self, checked_to: int) -> tuple[Int64s, Int64s]:
        """The first VACUUM that may have taken a file of each version and is not known to have ended, or -1; and when
        it began, `FOREVER` for never."""
        return self._first_of(self.unfinished, checked_to)

    def _first_of(self, vacuums: Sequence[RecordedVacuum], checked_to: int) -> tuple[Int64s, Int64s]:
        found, since = np.full(len(self.data.since), -1), np.full(len(self.data.since), FOREVER)
        for vacuum in vacuums:
            if vacuum.version > checked_to:
                chosen = (found < 0) & self._within(vacuum)
                found[chosen], since[chosen] = vacuum.version, vacuum.began
        return found, since

    def _within(self, vacuum: RecordedVacuum) -> Mask:
        """The versions that need a file whose tombstone a VACUUM took for old."""
        removed = self.data.since - self.terms.files
        gone_in = np.full(len(removed), FOREVER)
        known = self.data.first >= 0
        gone_in[known] = self.life.removed[self.data.first[known]]
        found: Mask = (removed < vacuum.before) & (gone_in <= vacuum.version)
        return found


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
    """Yield what ``VACUUM START`` and ``VACUUM END`` say of files that may be gone.

    A VACUUM that states that it had nothing to delete, or deleted nothing, took nothing.
    """
    begun: RecordedVacuum | None = None
    for record in history.commits:
        info = record.info
        if info is None or info.operation not in ("VACUUM START", "VACUUM END"):
            continue
        if info.operation == "VACUUM START":
            if begun is not None:
                yield begun
            begun = None if _states_none(info, "numFilesToDelete") else _begun(record, info)
            continue
        if begun is not None and not _states_none(info, "numDeletedFiles"):
            completed = _parameter(info, "status") == "COMPLETED"
            yield msgspec.structs.replace(begun, version=record.version, completed=completed)
        begun = None
    if begun is not None:
        yield begun


def _begun(record: CommitRecord, info: CommitInfo) -> RecordedVacuum | None:
    # Tombstones are in the writer's time, which a copy of the commit file has lost.
    written = None if record.time_in_commit else info.timestamp
    began = record.timestamp if written is None else written
    before = _cut_off(began, info)
    return None if before is None else RecordedVacuum(record.version, before, completed=False, began=began)


def _states_none(info: CommitInfo, metric: str) -> bool:
    """Whether the metrics of a VACUUM state that there were no files."""
    return str((info.operation_metrics or {}).get(metric, "")) == "0"


def _cut_off(timestamp: int, info: CommitInfo) -> int | None:
    for name in ("specifiedRetentionMillis", "defaultRetentionMillis"):
        text = _parameter(info, name)
        if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
            return timestamp - int(text)
    return None


def _parameter(info: CommitInfo, name: str) -> str:
    parameters = info.operation_parameters
    return "" if not parameters else str(parameters.get(name, ""))
