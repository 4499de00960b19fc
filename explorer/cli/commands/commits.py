"""``history`` and ``diff``: what each commit did, and what differs between two versions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import repeat
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import pyarrow as pa
import typer

import explorer
from explorer.cli.arguments import JsonFlag, TableArgument, checked_version
from explorer.cli.named_times import moment_of, version_of
from explorer.cli.output import console, emit, facts, listing, note, patience
from explorer.cli.tables import open_named
from explorer.core.protocol.arrow.records import records
from explorer.core.protocol.json_values import JsonObject, JsonRecord
from explorer.core.versions.commit_times import is_doubtful
from explorer.core.versions.commits.amounts import row_amounts
from explorer.core.versions.diff import ColumnChange, DiffTotals, PropertyChange
from explorer.core.versions.record_search import EntryFilter, matching_entries
from explorer.formatting import UNKNOWN, count, hidden_rows, plural, quantity, size, timestamp

_COLUMNS = {"operation_parameters": "parameters", "operation_metrics": "metrics", "user_metadata": "reason"}
"""The columns of the history that have another name than the field."""
_TEXTS = ("reason", "parameters", "engine_info")

ByOption = Annotated[str | None, typer.Option("--by", metavar="PERSON", help="Commits by this person.")]
OperationOption = Annotated[str | None, typer.Option("--operation", metavar="OP", help="Commits by this operation.")]
TextOption = Annotated[
    str | None,
    typer.Option(
        "--text", metavar="T", help="Commits whose reason, parameters, predicate, or engine contain this text."
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="DATE",
        help="Commits at or after this time, for example 2026-03-02, 2026-03-02T14:05:11Z, or 'last Monday'.",
    ),
]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="DATE", help="Commits before this time.")]


_Amount: TypeAlias = int | msgspec.UnsetType | None


class HistoryLine(JsonRecord, frozen=True, kw_only=True):
    """A commit; null where the log does not record it. What follows ``engine_info`` is left out with --no-totals.

    Attributes:
        timestamp_basis: ``in-commit``, or ``file``: the time of the file, which copying changes.
        commit_info_timestamp: The time that the writer recorded.
        user_metadata: The reason.
        rows_masked: Rows that deletion vectors newly mask.
        rows_rewritten: Rows among the added and the removed ones that only moved.
    """

    version: int
    timestamp: datetime | None
    timestamp_basis: str | None
    commit_info_timestamp: datetime | None
    operation: str | None
    operation_parameters: dict[str, str | None] | None
    operation_metrics: dict[str, str | None] | None
    user_name: str | None
    user_metadata: str | None
    engine_info: str | None
    num_files_added: _Amount = msgspec.UNSET
    num_files_removed: _Amount = msgspec.UNSET
    num_files_remasked: _Amount = msgspec.UNSET
    bytes_added: _Amount = msgspec.UNSET
    bytes_removed: _Amount = msgspec.UNSET
    rows_added: _Amount = msgspec.UNSET
    rows_removed: _Amount = msgspec.UNSET
    rows_masked: _Amount = msgspec.UNSET
    rows_rewritten: _Amount = msgspec.UNSET


class DiffFile(JsonRecord, frozen=True, kw_only=True):
    """A file that differs: added, removed, or with another deletion vector.

    Attributes:
        path: As in the log, percent-encoded.
        size: Bytes.
        num_records: Physical rows; null if the log does not record them.
        data_change: False if the commit only rearranged rows.
    """

    change: Literal["added", "removed", "remasked"]
    path: str
    partition_values: dict[str, str | None]
    size: int | None
    num_records: int | None
    deletion_vector_cardinality_before: int | None
    deletion_vector_cardinality_after: int | None
    data_change: bool | None


class DiffProtocol(JsonRecord, frozen=True, kw_only=True):
    """The protocol before and after, as in the log, and its added and removed features, implied ones included."""

    before: JsonObject
    after: JsonObject
    features_added: tuple[str, ...]
    features_removed: tuple[str, ...]


class DiffDocument(JsonRecord, frozen=True, kw_only=True):
    """What changed between two versions.

    Attributes:
        totals: Sums over the files; rows are those that a reader sees.
        protocol: Null if it is the same.
        properties: Changed properties.
        attributes: Changed name, description, partition columns and id.
    """

    table: str
    from_version: int
    to_version: int
    files: tuple[DiffFile, ...]
    totals: DiffTotals
    schema: tuple[ColumnChange, ...]
    protocol: DiffProtocol | None
    properties: tuple[PropertyChange, ...]
    attributes: tuple[PropertyChange, ...]


def history(  # noqa: PLR0917  # options of the command line come by position in Typer's signature
    table: TableArgument,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the newest N commits (default: all).")
    ] = None,
    by: ByOption = None,
    operation: OperationOption = None,
    text: TextOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    no_totals: Annotated[bool, typer.Option("--no-totals", help="Omit file and row counts (faster).")] = False,
    json: JsonFlag = False,
) -> None:
    """List the commits, newest first; all, or those that match a person, operation, text, or time range.

    Parts of words are enough, and case does not count. --limit counts the matching commits.

    A time is the commit's own if in-commit timestamps are on, otherwise the time of its file, which copying changes. A
    note names commits whose writer recorded a time that differs by an hour or more.
    """
    earliest, before = (None if given is None else moment_of(given) for given in (since, until))
    wanted = EntryFilter(by=by, operation=operation, text=text, since=earliest, until=before)
    with patience("Reading the log"):
        opened = open_named(table)
        commits = opened.provenance() if no_totals else opened.history()
        commits = (matching_entries(commits, wanted, _TEXTS) if wanted else commits).slice(0, limit)
    names = [(name, _COLUMNS.get(name, name)) for name in HistoryLine.__struct_fields__]
    members = {name: column for name, column in names if column in commits.column_names}
    rows = records(commits.select(list(members.values())))
    if json:
        for row in rows:
            emit(HistoryLine(**{name: row[column] for name, column in members.items()}))
        return
    of_files = () if no_totals else ("files", "rows")
    listing(
        ["version", "time", "basis", "operation", "by", *of_files, "reason"],
        map(_commit, rows, repeat(None) if no_totals else _rows_changed(commits)),
        "No commits match." if wanted else "The log has no commits.",
        numbers=("version", *of_files),
        whole=("time", "basis"),
    )
    doubtful = [
        row for row in rows if is_doubtful(row["timestamp"], row["timestamp_basis"], row["commit_info_timestamp"])
    ]
    if doubtful:
        note(_time_warning(doubtful, len(rows)))


def diff(
    table: TableArgument,
    from_version: Annotated[
        str, typer.Argument(metavar="FROM", callback=checked_version, help="A version, or a time.", show_default=False)
    ],
    to_version: Annotated[
        str,
        typer.Argument(metavar="TO", callback=checked_version, help="Another version, or a time.", show_default=False),
    ],
    json: JsonFlag = False,
) -> None:
    """Show what changed between two versions: files, deletion vectors, schema, protocol, properties."""
    with patience("Reading the log"):
        opened = open_named(table)
        difference = opened.diff(version_of(opened, from_version), version_of(opened, to_version))
        document = _document(opened, difference)
    if json:
        emit(document)
    else:
        _print_diff(document)


def _commit(row: dict[str, Any], rows_changed: str | None) -> tuple[object, ...]:
    """Return a commit as a line; without its files and rows where the latter are None."""
    changes = "num_files_added", "num_files_removed", "num_files_remasked"
    of_files = () if rows_changed is None else (_signed(*(row[name] for name in changes)), rows_changed)
    return (
        row["version"],
        timestamp(row["timestamp"]),
        row["timestamp_basis"],
        row["operation"] or UNKNOWN,
        row["user_name"] or UNKNOWN,
        *of_files,
        row["reason"] or "",
    )


def _time_warning(rows: list[dict[str, Any]], total: int) -> str:
    """Return where file times differ from the writers' times: the files were copied, or a clock was wrong."""
    newest = rows[0]
    return (
        f"The file times of {count(len(rows))} of {plural(total, 'commit')} are an hour or more from the writers' "
        f"clocks: by its commitInfo v{newest['version']} was written at {timestamp(newest['commit_info_timestamp'])}. "
        "The files were copied, or a clock was wrong. Versions are looked up by the times listed here."
    )


def _rows_changed(commits: pa.Table) -> Iterator[str]:
    """Yield the rows that each commit added, removed and masked, then those updated, and those only moved."""
    rows = row_amounts(commits)
    for added, removed, masked, moved, updated in zip(
        rows.added, rows.removed, rows.masked, rows.rewritten, rows.updated, strict=True
    ):
        if added is None or removed is None or moved is None:
            yield UNKNOWN
            continue
        counted = ((updated, "updated"), (moved, "moved"))
        words = (f"{count(number)} {word}" for number, word in counted if number)
        yield " ".join(filter(None, [_signed(added, removed, masked), *words]))


def _signed(added: int | None, removed: int | None, masked: int | None) -> str:
    """``+4 -2 ~1``, without what is zero."""
    parts = (("+", added), ("-", removed), ("~", masked))
    return " ".join(f"{sign}{count(number)}" for sign, number in parts if number != 0)


def _document(table: explorer.Table, difference: explorer.SnapshotDiff) -> DiffDocument:
    protocol = difference.protocol
    return DiffDocument.of(
        difference,
        table=table.location,
        files=tuple(_file(row) for row in difference.files.to_pylist(maps_as_pydicts="strict")),
        protocol=None
        if protocol is None
        else DiffProtocol(
            before=protocol.before.to_wire(),
            after=protocol.after.to_wire(),
            features_added=protocol.features_added,
            features_removed=protocol.features_removed,
        ),
    )


def _file(row: dict[str, Any]) -> DiffFile:
    return DiffFile.of(
        row,
        path=row["raw_path"],
        partition_values=row["partition_values"] or {},
        deletion_vector_cardinality_before=row["dv_cardinality_before"],
        deletion_vector_cardinality_after=row["dv_cardinality_after"],
    )


def _print_diff(document: DiffDocument) -> None:
    totals, protocol = document.totals, document.protocol
    pairs: list[tuple[str, object]] = [
        ("added", _sum(totals.files_added, totals.bytes_added, totals.rows_added)),
        ("removed", _sum(totals.files_removed, totals.bytes_removed, totals.rows_removed)),
        ("re-masked", f"{quantity(totals.files_remasked, 'file')}, {hidden_rows(totals.rows_masked)}"),
    ]
    if protocol is not None:
        pairs.append(("reader, writer", f"{_versions(protocol.before)} -> {_versions(protocol.after)}"))
        pairs += [("feature added", name) for name in protocol.features_added]
        pairs += [("feature removed", name) for name in protocol.features_removed]
    facts(f"v{document.from_version} -> v{document.to_version} of {document.table}", pairs)
    changes: list[tuple[str, str, str | None, str | None]] = [
        (change.kind, change.column, change.before, change.after) for change in document.schema
    ]
    changes += [("property", change.key, change.before, change.after) for change in document.properties]
    changes += [("attribute", change.key, change.before, change.after) for change in document.attributes]
    if changes:
        rows = ((kind, name, before or "", after or "") for kind, name, before, after in changes)
        listing(["change", "of", "before", "after"], rows, "")
    if document.files:
        listing(
            ["change", "path", "size", "rows", "masked before", "after"],
            map(_file_row, document.files),
            "",
            numbers=("size", "rows", "masked before", "after"),
        )
    elif not changes and protocol is None:
        console().print("The two versions are the same.")


def _sum(files: int, of_bytes: int | None, rows: int | None) -> str:
    return f"{quantity(files, 'file')}, {size(of_bytes)}, {quantity(rows, 'row')}"


def _versions(protocol: JsonObject) -> str:
    return f"{protocol['minReaderVersion']}, {protocol['minWriterVersion']}"


def _file_row(file: DiffFile) -> tuple[object, ...]:
    masked = (file.deletion_vector_cardinality_before or 0, file.deletion_vector_cardinality_after or 0)
    return (file.change, file.path, size(file.size), count(file.num_records), *map(count, masked))
