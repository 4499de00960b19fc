"""The statement of an erasure: what was searched for, what was read and not read, and what may be claimed.

In: an `Erasure`; the statement of an earlier search, to say what became of the files that held the rows then.
Out: an `ErasureStatement`, which is a report: a JSON document with its digest, rendered, signed and verified as one.
Invariants: it names each file that was read, with its rows and the digest of its footer; it claims nothing that the
proof does not; values that the log holds are not repeated. It has one predicate, because a statement about one
person must not mention others.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.auditing.document import sealed
from explorer.auditing.erasure.document import NotAnsweredFile, OtherTable, erasure_document
from explorer.auditing.erasure.proof import STATES, Erasure, State
from explorer.core.errors import RequestError
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.commit_times import moment
from explorer.core.versions.delta_log import DeltaLog
from explorer.credentials import safe_path
from explorer.report.document import FORMAT, Signer, title_of

_FOOTER: Final = "SHA-256 of the Parquet footer: its thrift bytes, their length and the closing magic"
_ERASING: Final = ("DELETE", "UPDATE", "MERGE", "TRUNCATE", "REORG", "OPTIMIZE", "VACUUM START", "VACUUM END")
_MOST_COMMITS: Final = 50
_Count = Annotated[int, msgspec.Meta(ge=0)]


class MatchingRows(JsonRecord, frozen=True, kw_only=True):
    """Matching rows of one file in one state; ``gone_from`` is null where the file stays."""

    path: str
    state: State
    rows: _Count
    gone_from: str | None


class LogTrace(JsonRecord, frozen=True, kw_only=True):
    """A file of the log that holds a constant of the predicate, or a value that matches: what of it does, and of which
    column."""

    path: str
    what: str
    column: str | None
    gone_from: str | None


class ReadFile(JsonRecord, frozen=True, kw_only=True):
    """A file that was read: its rows, and the digest of its footer."""

    path: str
    rows: _Count
    sha256: str


class FilesRead(JsonRecord, frozen=True, kw_only=True):
    """What was read: ``digest`` says of what the digests are; ``gone_files`` the log names and nothing stores."""

    digest: str
    files: tuple[ReadFile, ...]
    rows: _Count
    log_files: _Count
    gone_files: _Count


class ErasingCommit(JsonRecord, frozen=True, kw_only=True):
    """A commit since the earlier search by an operation that can remove rows or files."""

    version: _Count
    time: str | None
    operation: str
    user: str
    reason: str


class EarlierSearch(JsonRecord, frozen=True, kw_only=True):
    """What an earlier statement said, and what became of the files that it named: ``gone_files`` are no longer stored,
    ``left_files`` are. ``commits_left_out`` are those before the ones that are listed."""

    time: str
    version: _Count
    digest: str
    copies: _Count
    files: _Count
    gone_files: _Count
    left_files: _Count
    commits: tuple[ErasingCommit, ...]
    commits_left_out: _Count


class ErasureStatement(JsonRecord, frozen=True, kw_only=True, tag_field="kind", tag="erasure"):
    """The statement of an erasure."""

    format: str = FORMAT
    program: str
    title: str
    table: str
    table_id: str
    version: _Count
    where: str
    request: str | None
    time: str
    by: str | None
    chain_head: str | None
    erased: bool
    claim: str
    why: tuple[str, ...]
    totals: dict[State, _Count]
    places: tuple[MatchingRows, ...]
    traces: tuple[LogTrace, ...]
    read: FilesRead
    not_answered: tuple[NotAnsweredFile, ...]
    elsewhere: tuple[OtherTable, ...]
    not_read: tuple[str, ...]
    looked_in: tuple[str, ...]
    gone_from: str | None
    since: EarlierSearch | None
    proof: str
    signer: Signer | None
    digest: str = ""


def erasure_statement(
    proof: Erasure,
    log: DeltaLog,
    *,
    by: str | None = None,
    request: str | None = None,
    since: ErasureStatement | None = None,
    signer: Signer | None = None,
) -> ErasureStatement:
    """State the result of a search.

    Args:
        proof: The proof.
        log: The log of its table, for the commits since an earlier search.
        by: Who makes the statement.
        request: Reference of the erasure request, shown in the statement.
        since: The statement of an earlier search for the same rows.
        signer: The key that will sign it.

    Raises:
        RequestError: The earlier statement is of another table or predicate, or was changed.
    """
    basis, document = proof.basis, erasure_document(proof)
    return sealed(
        ErasureStatement(
            program=f"delta-table-explorer {basis.program}",
            title=title_of(basis.table),
            table=basis.table,
            table_id=basis.table_id,
            version=proof.version,
            where=proof.where,
            request=request,
            time=moment(basis.now).isoformat(),
            by=by,
            chain_head=basis.chain_head,
            erased=not proof.obstacles,
            claim=_claim(proof),
            why=proof.obstacles,
            totals={state: proof.totals[state] for state in STATES},
            places=_held_rows(proof),
            traces=_log_traces(proof),
            read=_files_read(proof),
            not_answered=document.not_answered,
            elsewhere=document.elsewhere,
            not_read=document.not_read,
            looked_in=basis.looked_in,
            gone_from=document.gone_from,
            since=None if since is None else _since(since, proof, log),
            proof=document.digest,
            signer=signer,
        )
    )


def _held_rows(proof: Erasure) -> tuple[MatchingRows, ...]:
    return tuple(
        MatchingRows(path=safe_path(each.path), state=each.state, rows=each.rows, gone_from=_time(each.gone_from))
        for each in proof.places
    )


def _log_traces(proof: Erasure) -> tuple[LogTrace, ...]:
    return tuple(
        LogTrace(path=safe_path(each.path), what=each.what, column=each.column or None, gone_from=_time(each.gone_from))
        for each in proof.traces
    )


def _files_read(proof: Erasure) -> FilesRead:
    read = proof.basis.results.read
    files = sorted(zip(*(read.column(name).to_pylist() for name in ("key", "rows", "digest")), strict=True))
    return FilesRead(
        digest=_FOOTER,
        files=tuple(ReadFile(path=safe_path(path), rows=rows, sha256=digest) for path, rows, digest in files),
        rows=sum(rows for _, rows, _ in files),
        log_files=proof.log_files,
        gone_files=proof.basis.stored.gone,
    )


def _claim(proof: Erasure) -> str:
    read = proof.basis.results.read.num_rows
    searched = f"{fmt.plural(read, 'stored file')} and {fmt.plural(proof.log_files, 'file')} of the log"
    if proof.obstacles:
        return f"These rows are not erased yet: {'; '.join(proof.obstacles)}."
    return f"Erased from this table: none of {searched} contains a matching row, and none was skipped."


def _since(before: ErasureStatement, proof: Erasure, log: DeltaLog) -> EarlierSearch:
    if (before.table_id, before.where) != (proof.basis.table_id, proof.where):
        raise RequestError(
            f"The earlier statement is about {before.table} where {before.where}, and this search about "
            f"{proof.basis.table} where {proof.where}. Use the statement for the same rows.",
            found=f"{before.table} where {before.where}",
            expected=f"{proof.basis.table} where {proof.where}",
        )
    stored = set(map(safe_path, proof.basis.stored.files.column("key").to_pylist()))
    earlier_files = {place.path for place in before.places}
    commits, left_out = _commits(log, before.version)
    return EarlierSearch(
        time=before.time,
        version=before.version,
        digest=before.digest,
        copies=sum(place.rows for place in before.places),
        files=len(earlier_files),
        gone_files=len(earlier_files - stored),
        left_files=len(earlier_files & stored),
        commits=commits,
        commits_left_out=left_out,
    )


def _commits(log: DeltaLog, after: int) -> tuple[tuple[ErasingCommit, ...], int]:
    """Return the newest commits after a version that can remove rows or files, and how many more exist."""
    table = log.history()
    chosen = pc.and_(
        pc.greater(table.column("version"), after), pc.is_in(table.column("operation"), pa.array(_ERASING))
    )
    rows = table.filter(chosen).sort_by([("version", "descending")])
    shown = rows.slice(0, _MOST_COMMITS).select(["version", "timestamp", "operation", "user_name", "reason"])
    return tuple(
        ErasingCommit(
            version=row["version"],
            time=None if row["timestamp"] is None else moment(milliseconds(row["timestamp"])).isoformat(),
            operation=row["operation"],
            user=row["user_name"] or "",
            reason=row["reason"] or "",
        )
        for row in reversed(shown.to_pylist())
    ), max(rows.num_rows - _MOST_COMMITS, 0)


def _time(time: int | None) -> str | None:
    return None if time is None else moment(time).isoformat()
