"""A proof as JSON: the document of ``delta-explorer erasure``.

Invariants: it ends with a digest, SHA-256 of the rest as JSON with sorted keys and no spaces.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from explorer.auditing.document import sealed
from explorer.auditing.erasure.proof import Erasure, ErasureStep, MatchedPlace, State
from explorer.auditing.erasure.traces import Trace
from explorer.core.protocol.json_values import JsonObject, JsonRecord, JsonValue
from explorer.core.versions.commit_times import moment
from explorer.credentials import safe_path, without_credentials


class StoredRows(JsonRecord, frozen=True, kw_only=True):
    """Matching rows of one stored file in one state.

    Attributes:
        rows: Physical rows of the file that match.
        size: Bytes of the file.
        gone_from: From when VACUUM may delete it; of live and masked rows, if the delete and the purge are made now.
            Null for never.
        kept_by: Why never.
    """

    path: str
    state: State
    rows: int
    size: int | None
    from_version: int | None
    to_version: int | None
    gone_from: str | None
    kept_by: str | None


class TraceLine(JsonRecord, frozen=True, kw_only=True):
    """A file of the log with a constant of the predicate, or with bounds or partition values that match it."""

    path: str
    version: int | None
    what: str
    column: str | None
    value: JsonValue
    count: int
    gone_from: str | None


class FilesSearched(JsonRecord, frozen=True, kw_only=True):
    """How much was read; ``gone_files`` are in the log and not stored."""

    files: int
    rows: int
    log_files: int
    gone_files: int


class NotAnsweredFile(JsonRecord, frozen=True, kw_only=True):
    """A file that could not be searched, or only in part, and why."""

    path: str
    reason: str


class OtherTable(JsonRecord, frozen=True, kw_only=True):
    """A table that was not searched: it shares files, has a column of the predicate, or cannot be read."""

    table: str
    shared_files: Annotated[int, msgspec.Meta(ge=0)]
    columns: tuple[str, ...]
    problem: str | None


class RemainingStep(JsonRecord, frozen=True, kw_only=True):
    """What remains to be done: an intent or a command, when, and why.

    Attributes:
        not_before: Null for now.
        feed_rows: Matching rows that it writes once more, into the change data feed.
    """

    intent: JsonObject | None
    command: str | None
    not_before: str | None
    why: str
    feed_rows: int


class ErasureDocument(JsonRecord, frozen=True, kw_only=True):
    """Where the rows that match a predicate are stored.

    Attributes:
        time: When the search was made.
        totals: Matching rows by state.
        files: Stored files with matching rows.
        wrong_statistics: Live files with matching rows whose statistics exclude them.
        not_read: What lies outside of the search, in words.
        elsewhere: Tables of --beside that were not searched.
        gone_from: From when all copies can be deleted; null for never.
        why: What keeps a statement from claiming that the rows are erased.
        digest: SHA-256 of the rest, as JSON with sorted keys and no spaces.
    """

    table: str
    version: int
    where: str
    time: str
    places: tuple[StoredRows, ...]
    totals: dict[State, int]
    files: int
    traces: tuple[TraceLine, ...]
    read: FilesSearched
    not_answered: tuple[NotAnsweredFile, ...]
    wrong_statistics: tuple[str, ...]
    not_read: tuple[str, ...]
    elsewhere: tuple[OtherTable, ...]
    gone_from: str | None
    may_claim_erased: bool
    why: tuple[str, ...]
    steps: tuple[RemainingStep, ...]
    digest: str = ""


def erasure_document(proof: Erasure) -> ErasureDocument:
    """Return a proof as a JSON document, with its digest."""
    read = proof.basis.results.read
    return sealed(
        ErasureDocument(
            table=proof.basis.table,
            version=proof.version,
            where=proof.where,
            time=moment(proof.basis.now).isoformat(),
            places=tuple(_place(place) for place in proof.places),
            totals=dict(proof.totals),
            files=len({place.path for place in proof.places}),
            traces=tuple(_trace(trace) for trace in proof.traces),
            read=FilesSearched(
                files=read.num_rows,
                rows=sum(read.column("rows").to_pylist()),
                log_files=proof.log_files,
                gone_files=proof.basis.stored.gone,
            ),
            not_answered=tuple(
                NotAnsweredFile(path=safe_path(each.path), reason=without_credentials(each.reason))
                for each in proof.not_answered
            ),
            wrong_statistics=tuple(proof.misleading),
            not_read=tuple(map(without_credentials, proof.outside)),
            elsewhere=tuple(OtherTable.of(each, problem=each.problem or None) for each in proof.other_tables),
            gone_from=_time(proof.gone_from),
            may_claim_erased=not proof.obstacles,
            why=tuple(proof.obstacles),
            steps=tuple(_step(step) for step in proof.steps),
        )
    )


def _time(time: int | None) -> str | None:
    return None if time is None else moment(time).isoformat()


def _place(place: MatchedPlace) -> StoredRows:
    return StoredRows.of(
        place, path=safe_path(place.path), gone_from=_time(place.gone_from), kept_by=place.kept_by or None
    )


def _trace(trace: Trace) -> TraceLine:
    return TraceLine.of(
        trace, path=safe_path(trace.path), column=trace.column or None, gone_from=_time(trace.gone_from)
    )


def _step(step: ErasureStep) -> RemainingStep:
    return RemainingStep.of(step, not_before=_time(step.not_before))
