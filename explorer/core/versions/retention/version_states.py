"""The state of every version, column by column: readable, at risk, or lost; the one source for all views.

Protocol sections: Metadata Cleanup, VACUUM. Invariants: a version is at risk from the first time at which a cleanup by
the table's own properties, or a VACUUM that began and is not known to have ended, may delete something that it needs.
Its data is deleted where one of its files is known to be missing; where its files were not checked since, also where
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
from explorer.core.versions.retention.missing_files import KnownMissing, MissingFiles

VersionState = Literal["readable", "at risk", "data gone", "log gone"]
STATES: Final[tuple[VersionState, ...]] = ("readable", "at risk", "data gone", "log gone")
"""The states, in the order of their codes."""

_READABLE, _AT_RISK, _DATA_DELETED, _LOG_DELETED = range(4)
_MOST_LOST: Final = 1_000_000
_MOST_DIGITS: Final = 18


class RecordedVacuum(msgspec.Struct, frozen=True):
    """A VACUUM that the log records.

    Attributes:
        version: The version of its last commit.
        before: It deleted files whose tombstones are older, ms since the epoch.
        completed: Whether the log records its end. One that failed, or of which only the start is recorded, may have
            deleted some of these files, all or none.
        began: When it began, ms since the epoch, by the clock of the tombstones.
    """

    version: int
    before: int
    completed: bool = True
    began: int = 0


class StateSpan(msgspec.Struct, frozen=True):
    """Consecutive versions of one state, both ends included.

    Attributes:
        since: When the first of them is, or was, at risk, ms since the epoch; None if never, if it is lost, or if
            the time is unknown.
        vacuum: The version that records the VACUUM that deleted their data; None if none does.
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
        codes: Indexes in `STATES`.
        since: When each may first be lost, ms since the epoch; `FOREVER` if never, or if it is lost;
            `UNTIMED` where it may be lost at any time, because a tombstone has no time.
        by_data: Whether its data decides that, not its log.
        later: When each may be lost otherwise: by its log where its data decides, else by its data.
        both: Whether both may be deleted now.
        vacuums: The version that records the VACUUM that deleted its data, or -1.
        unfinished: The version that records a VACUUM that may have deleted its data, as no end is recorded, or -1.
        lacking: Of a version whose log was deleted the missing commit that it needs, or -1.
        checked: Whether the files of all versions were checked.
        lost: The files that are known to be missing; None if none is and nothing was checked.
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
        """Return the state of a version of the table; of one before the first row, too."""
        return STATES[self.codes[version - self.first]] if version >= self.first else "log gone"

    def versions(self, state: VersionState) -> Int64s:
        """Return the versions in a state, ascending."""
        in_state: Int64s = np.flatnonzero(self.codes == STATES.index(state)) + self.first
        return in_state

    def lost_at(self, version: int) -> int | None:
        """Return when a version may first be lost; None if never, or if it is lost, or the time is unknown."""
        since = int(self.since[version - self.first]) if version >= self.first else FOREVER
        return None if since in {FOREVER, UNTIMED} else since

    def spans(self) -> tuple[StateSpan, ...]:
        """Return the versions in runs of one state, ascending."""
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
    """The causes by which versions are lost, whatever the time is.

    Attributes:
        terms: The retention in force.
        needed: Until when the files of each instance of the lifetimes were needed.
        expiry: When VACUUM may first delete a file that each instance of the lifetimes needs.
        data, log: When VACUUM, or log cleanup, may first make each readable version unreadable.
        vacuums: Those that the log records as completed, ascending.
        unfinished: Those that it records as begun and not as completed, ascending.
        known: The files that are known to be missing.
        life, listing: The lifetimes and the listing that this is computed from.

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
        self._latest: tuple[Set[str], MissingFiles] | None = None

    def at(self, now: int, missing: Set[str] | None = None) -> VersionStates:
        """Return the states at a time.

        Args:
            now: ms since the epoch.
            missing: Those of the needed locations at which there is no file; None without a new check, so that
                earlier results count.
        """
        if missing is not None:
            return self.given(now, MissingFiles(self.life, missing), self.life.last)
        known = self.known.now
        some = known.missing or known.checked_to >= 0
        return self.given(now, self._known_files(known.missing) if some else None, known.checked_to)

    def _known_files(self, missing: Set[str]) -> MissingFiles:
        """Return the instances that lack these files, computed once for as long as the same are known."""
        files = self._latest
        if files is None or files[0] is not missing:
            self._latest = files = missing, MissingFiles(self.life, missing)
        return files[1]

    def given(self, now: int, lost: MissingFiles | None, checked_to: int = -1) -> VersionStates:
        """Return the states at a time, with the files that are known to be missing.

        Args:
            now: ms since the epoch.
            lost: These files; None if none is known.
            checked_to: The newest version whose files were all checked: a VACUUM that the log records up to it adds
                nothing.
        """
        start = max(0, self.life.readable_from - _MOST_LOST)
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
        is_lost = vacuums >= 0 if lost is None else (vacuums >= 0) | (lost.count > 0)
        codes = np.where(is_lost, _DATA_DELETED, np.where(risky, _AT_RISK, _READABLE))
        before = np.where((lacking < 0) | covered, _AT_RISK, _LOG_DELETED)
        early = len(lacking)
        return VersionStates(
            first=start,
            readable_from=self.life.readable_from,
            codes=np.concatenate([before, codes]).astype(np.int8),
            since=np.concatenate([np.full(early, FOREVER), np.where(is_lost, FOREVER, since)]),
            by_data=np.concatenate([np.zeros(early, bool), by_data]),
            later=np.concatenate([np.full(early, FOREVER), np.where(is_lost, FOREVER, later)]),
            both=np.concatenate([np.zeros(early, bool), both & ~is_lost]),
            vacuums=np.concatenate([np.full(early, -1), vacuums]).astype(np.int64),
            unfinished=np.concatenate([np.full(early, -1), np.where(is_lost, -1, unfinished)]).astype(np.int64),
            lacking=np.concatenate([np.where(covered, -1, lacking), np.full(count, -1)]),
            checked=checked_to >= self.life.last,
            lost=lost,
        )

    def deciding(self, now: int, most: int = 64) -> tuple[str, ...]:
        """Return the files that show whether versions at risk were lost already: few of each.

        A VACUUM deletes all that is old enough, so where the first file that a version can lose exists, none ran.

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
        """Return for each readable version the first VACUUM after a version that deleted one of its files, or -1."""
        taken, _ = self._first_of(self.vacuums, checked_to)
        return taken

    def _begun(self, checked_to: int) -> tuple[Int64s, Int64s]:
        """Return the first unfinished VACUUM that may have deleted a file of each version, or -1, and when it began.

        That time is `FOREVER` where there is none.
        """
        return self._first_of(self.unfinished, checked_to)

    def _first_of(self, vacuums: Sequence[RecordedVacuum], checked_to: int) -> tuple[Int64s, Int64s]:
        versions, since = np.full(len(self.data.since), -1), np.full(len(self.data.since), FOREVER)
        for vacuum in vacuums:
            if vacuum.version > checked_to:
                chosen = (versions < 0) & self._within(vacuum)
                versions[chosen], since[chosen] = vacuum.version, vacuum.began
        return versions, since

    def _within(self, vacuum: RecordedVacuum) -> Mask:
        """Return the versions that need a file whose tombstone was old for a VACUUM."""
        removed = self.data.since - self.terms.files
        removed_in = np.full(len(removed), FOREVER)
        known = self.data.first >= 0
        removed_in[known] = self.life.removed[self.data.first[known]]
        within: Mask = (removed < vacuum.before) & (removed_in <= vacuum.version)
        return within


def _before(listing: LogListing, start: int, stop: int) -> tuple[Int64s, Mask]:
    """Return the missing commit that each version before the unbroken run to the newest needs, or -1.

    The second result is whether a log compaction replaces it.
    """
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
    """Return whether a log compaction covers the missing commits."""
    try:
        listing.segment(version)
    except (VersionGap, VersionNotFound):
        return False
    return True


def _vacuums(history: History) -> Iterator[RecordedVacuum]:
    """Yield the vacuums that ``VACUUM START`` and ``VACUUM END`` record.

    A VACUUM that records that it had nothing to delete, or deleted nothing, deleted nothing.
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
    """Return whether the metrics of a VACUUM record that there were no files."""
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
