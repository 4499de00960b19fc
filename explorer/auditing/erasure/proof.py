"""The proof: places with their dates, totals, what was not answered, what is left to do, and what may be claimed.

Invariants: rows are physical rows of one file in one state; nothing may be called erased while a place, a trace in the
log or an unanswered file is left; the dates of live and masked rows suppose that the delete and the purge are committed
at once.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, Literal

import msgspec

from explorer import formatting as fmt
from explorer.auditing.erasure.constants import only_equalities
from explorer.auditing.erasure.neighbour_tables import NeighbourTable
from explorer.auditing.erasure.stored_files import StoredFiles
from explorer.auditing.erasure.traces import LogTraces, Trace
from explorer.core.protocol.file_paths import decode_path, stored_key
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_FEED, DELETION_VECTORS
from explorer.core.versions.file_search import SearchResult
from explorer.core.versions.snapshot import Snapshot

State = Literal["live", "masked", "history", "feed", "orphan"]
STATES: Final[tuple[State, ...]] = ("live", "masked", "history", "feed", "orphan")


class MatchedPlace(msgspec.Struct, frozen=True):
    """Rows that match, in one file and one state.

    Attributes:
        path: Location of the file: relative to the table's root, or absolute.
        state: ``live`` (every reader sees them), ``masked`` (in a live file, hidden by its deletion vector),
            ``history`` (in a file that only time travel reaches; rows that were masked then count too), ``feed``
            (change data), or ``orphan`` (no version that can be read names the file).
        rows: Physical rows that match.
        size: Bytes of the file.
        from_version, to_version: Since and until which version, both included, the table has the file; None where no
            version does.
        gone_from: ms since the epoch: from when VACUUM with the table's own retention deletes the file; of live and
            masked rows if the delete and the purge are committed now; None if never.
        kept_by: Why never; else empty.
    """

    path: str
    state: State
    rows: int
    size: int | None
    from_version: int | None
    to_version: int | None
    gone_from: int | None
    kept_by: str

    @property
    def is_conditional(self) -> bool:
        """Whether ``gone_from`` holds only if the delete and the purge are committed now."""
        return self.state in {"live", "masked"}


class UnansweredFile(msgspec.Struct, frozen=True):
    """A file that could not be answered, or only in part, and why."""

    path: str
    reason: str


class ErasureStep(msgspec.Struct, frozen=True):
    """What is left to do: an intent or a command, not before a time (ms since the epoch, None for now), and why;
    ``feed_rows`` is how many matching rows it writes once more, into the change data feed."""

    intent: JsonObject | None
    command: str | None
    not_before: int | None
    why: str
    feed_rows: int = 0


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What the proofs of one search share.

    Attributes:
        table: The table's location.
        table_id: Its id.
        version: The newest version.
        now: ms since the epoch.
        chain_head: Head of the hash chain over the commits; None where the newest commit's file is gone.
        program: Version of this program.
        stored: The files.
        results: The matches and files of the search.
        looked_in: The places whose other tables were compared with this one; none if not requested.
    """

    table: str
    table_id: str
    version: int
    now: int
    chain_head: str | None
    program: str
    stored: StoredFiles
    results: SearchResult
    looked_in: tuple[str, ...] = ()


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """Where rows that match a predicate are.

    Attributes:
        basis: What was read.
        where: The predicate.
        places: By state, in the order of `State`, then by path.
        traces: Where the log itself holds a constant of the predicate, or a value that matches.
        log_files: Files of the log that were read for them.
        not_answered: Data files, and the log, that could not be answered, or only in part.
        not_read: What lies outside of this proof, in words.
        other_tables: Tables that were not searched and may hold such rows, among those that were compared.
        steps: What is left to do, in order.
        misleading: Live files with matching rows whose statistics exclude them, so that queries and deletes may skip
            the file.
        unlisted: Files with matching rows that the commits leave live, and that readers of the newest checkpoint, a
            delete among them, do not see.
    """

    basis: Basis
    where: str
    places: tuple[MatchedPlace, ...]
    traces: tuple[Trace, ...]
    log_files: int
    not_answered: tuple[UnansweredFile, ...]
    not_read: tuple[str, ...]
    other_tables: tuple[NeighbourTable, ...]
    steps: tuple[ErasureStep, ...]
    misleading: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()

    @property
    def version(self) -> int:
        """The newest version when it was searched."""
        return self.basis.version

    @property
    def totals(self) -> dict[State, int]:
        """Matching rows by state."""
        return {state: sum(place.rows for place in self.places if place.state == state) for state in STATES}

    @property
    def gone_from(self) -> int | None:
        """From when no file holds a matching row, if the steps are done now; None if some file stays."""
        dates = [place.gone_from for place in self.places]
        return None if None in dates else max((date for date in dates if date is not None), default=self.basis.now)

    @property
    def outside(self) -> tuple[str, ...]:
        """All that was not searched, in words: the tables by name, then what no log can name."""
        return (*(table.words() for table in self.other_tables), *self.not_read)

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why the rows are not erased yet; empty if they are."""
        obstacles = []
        if self.places:
            rows = sum(place.rows for place in self.places)
            files = len({place.path for place in self.places})
            obstacles.append(f"{fmt.plural(rows, 'copy', 'copies')} of matching rows in {fmt.plural(files, 'file')}")
        if self.misleading:
            obstacles.append(f"the statistics of {fmt.plural(len(self.misleading), 'live file')} exclude matching rows")
        if self.unlisted:
            lost = fmt.plural(len(self.unlisted), "live file")
            obstacles.append(f"the newest checkpoint lacks {lost} with matching rows")
        if self.traces:
            files = len({trace.path for trace in self.traces})
            named = "names" if only_equalities(self.where) else "contains a matching value, or"
            obstacles.append(f"the log {named} a constant of the predicate in {fmt.plural(files, 'file')}")
        if self.not_answered:
            obstacles.append(f"{fmt.plural(len({each.path for each in self.not_answered}), 'place')} not answered")
        return tuple(obstacles)


def erasure(
    basis: Basis,
    snapshot: Snapshot,
    request: tuple[str, str],
    traces: LogTraces,
    unanswered: Iterable[tuple[str, str]],
    *,
    other_tables: tuple[NeighbourTable, ...] = (),
) -> Erasure:
    """Put a proof together.

    Args:
        basis: What was read.
        snapshot: The newest version.
        request: The predicate: its name in the results, and its SQL.
        traces: What the log holds of its constants.
        unanswered: Files that were not searched as a whole, by key, with the reason.
        other_tables: As in `Erasure`.
    """
    name, where = request
    places = tuple(_places(basis, name))
    current = {place.path for place in places if place.state in {"live", "masked"} and place.to_version is None}
    root = decode_path(basis.table)
    listed = {stored_key(path, root): path for path in snapshot.files(["path"]).column(0).to_pylist()}
    misleading = snapshot.misleading(where, {listed[key] for key in current if key in listed})
    unlisted = tuple(sorted(current - listed.keys()))
    unchecked = [*basis.stored.unanswered, *unanswered, *basis.results.failed.items(), *traces.unanswered]
    unchecked += _contested(snapshot, root)
    return Erasure(
        basis=basis,
        where=where,
        places=places,
        traces=traces.traces,
        log_files=traces.read,
        not_answered=tuple(UnansweredFile(path, reason) for path, reason in sorted(set(unchecked))),
        not_read=(*_not_read(basis, where), *_unread(snapshot)),
        other_tables=other_tables,
        steps=(*_relist(unlisted), *_repair(misleading), *_steps(basis, snapshot, where, places, traces.traces)),
        misleading=misleading,
        unlisted=unlisted,
    )


def narrowed(proof: Erasure, folders: Collection[str], admits: Callable[[str], bool]) -> Erasure:
    """Return a proof without what it says of other tables that somebody may not know of.

    Args:
        proof: The proof.
        folders: The folders all of whose tables the person may know of: no statement is about others.
        admits: Says of the name of another table whether the person may know of it.
    """
    others = tuple(each for each in proof.other_tables if admits(each.name))
    basis = msgspec.structs.replace(
        proof.basis, looked_in=tuple(folder for folder in proof.basis.looked_in if folder in folders)
    )
    unread = proof.not_read[len(tuple(_not_read(proof.basis, proof.where))) :]
    return msgspec.structs.replace(
        proof, basis=basis, other_tables=others, not_read=(*_not_read(basis, proof.where), *unread)
    )


def _contested(snapshot: Snapshot, root: str) -> Iterable[tuple[str, str]]:
    """Yield the files in which other clients read other rows, so that masked rows may be live there."""
    contested = snapshot.contested
    if contested is not None:
        yield from ((stored_key(path, root), contested.message) for path in contested.paths)


def _places(basis: Basis, request: str) -> list[MatchedPlace]:
    names = ("key", "role", "size", "first_version", "last_version", "gone_from", "kept_by")
    rows = zip(*(basis.stored.files.column(name).to_pylist() for name in names), strict=True)
    known = {row[0]: row[1:] for row in rows}
    matches = basis.results.matches
    columns = (matches.column(name).to_pylist() for name in ("request", "key", "visible", "masked"))
    places: list[MatchedPlace] = []
    for requested, key, visible, masked in zip(*columns, strict=True):
        if requested != request:
            continue
        role, size, first, last, deletable, reason = known[key]
        states: Mapping[State, int] = {role: visible, "masked": masked}
        to = None if role == "live" else last
        places += [MatchedPlace(key, state, n, size, first, to, deletable, reason) for state, n in states.items() if n]
    return sorted(places, key=lambda place: (STATES.index(place.state), place.path))


def _not_read(basis: Basis, where: str) -> Iterable[str]:
    if basis.looked_in:
        places = ", ".join(fmt.plain(place, 200) for place in basis.looked_in)
        yield f"Tables outside {places}: shallow clones there may share files of this table."
    else:
        yield "Shallow clones may share files of this table; a table does not record its clones."
    yield "Targets of links in the folder, unless the log names them."
    yield "Other tables, copies, exports, and backups with the same rows."
    yield "Columns under the names of the newest version: values of dropped columns are only matched in rows."
    if not only_equalities(where):
        yield (
            "Matching values in texts of the log that are not bounds, partition values, or something that commits "
            "record about themselves. Only the constants of the predicate are searched there."
        )
    for folder in basis.stored.other_tables:
        yield f"The table in the folder {folder}, which is a separate table."


def _relist(unlisted: tuple[str, ...]) -> Iterable[ErasureStep]:
    if unlisted:
        why = (
            f"The newest checkpoint lacks {_and_more(unlisted)}, which the commits leave live. Readers that start from "
            "the checkpoint do not see the file, and neither does a delete: first rewrite the checkpoint."
        )
        yield ErasureStep({"kind": "checkpoint"}, None, None, why)


def _and_more(paths: tuple[str, ...]) -> str:
    return f"{fmt.plain(paths[0], 200)}{f' and {len(paths) - 1:,} more' if len(paths) > 1 else ''}"


def _repair(misleading: tuple[str, ...]) -> Iterable[ErasureStep]:
    if misleading:
        why = (
            f"The statistics of {_and_more(misleading)} exclude rows that the file holds. Queries skip the file, and a "
            "delete may skip it too: first recompute the statistics."
        )
        yield ErasureStep({"kind": "recompute-statistics"}, None, None, why)


def _unread(snapshot: Snapshot) -> Iterable[str]:
    if snapshot.unread_columns:
        names = ", ".join(fmt.plain(column.name, 200) for column in snapshot.unread_columns)
        yield f"The columns {names}, whose types Delta Table Explorer cannot read."


def _steps(
    basis: Basis, snapshot: Snapshot, where: str, places: tuple[MatchedPlace, ...], traces: tuple[Trace, ...]
) -> Iterable[ErasureStep]:
    states = {place.state for place in places}
    configuration = snapshot.metadata.configuration
    if "live" in states:
        feed = CHANGE_DATA_FEED.of(configuration)
        noted = " and the rows once more in the change data feed" if feed else ""
        why = f"Readers no longer see the rows. The commit records the predicate in the log{noted}."
        live = sum(place.rows for place in places if place.state == "live")
        yield ErasureStep({"kind": "delete", "where": where}, None, None, why, live if feed else 0)
    if "masked" in states or ("live" in states and DELETION_VECTORS.of(configuration)):
        why = "A deletion vector hides rows but does not erase them. The files must be rewritten without them."
        yield ErasureStep({"kind": "purge", "where": where}, None, None, why)
    dates = [place.gone_from for place in places if place.gone_from is not None]
    last = max(dates, default=None)
    if last is not None:
        why = "Deletes unneeded files. Until then, time travel and the change data feed can read them."
        yield ErasureStep({"kind": "vacuum"}, None, _later(last, basis.now), why)
    for place in places:
        if place.gone_from is None:
            yield ErasureStep(None, None, None, f"{fmt.plain(place.path, 200)}: {place.kept_by}.")
    logged = [trace.gone_from for trace in traces if trace.gone_from is not None]
    if traces:
        log_content = (
            "constants of the predicate" if only_equalities(where) else "matching values or constants of the predicate"
        )
        why = f"The log holds {log_content}. After a checkpoint, a log cleanup can delete the files before it."
        yield ErasureStep({"kind": "checkpoint"}, None, None, why)
    if logged:
        why = "Deletes expired log files."
        yield ErasureStep({"kind": "clean-log"}, None, _later(max(logged), basis.now), why)
    if places or traces:
        command = shlex.join(["delta-explorer", "erasure", basis.table, "--where", where])
        until = [date for date in (*dates, *logged) if date > basis.now]
        yield ErasureStep(None, command, max(until, default=None), "Search again to confirm that nothing is left.")


def _later(time: int, now: int) -> int | None:
    return time if time > now else None
