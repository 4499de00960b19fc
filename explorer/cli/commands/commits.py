"""``history`` and ``diff``: what each commit did, and what differs between two versions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Annotated, Any

import pyarrow as pa
import typer

import explorer
from explorer.cli.arguments import JsonFlag, TableArgument
from explorer.cli.output import console, emit, facts, listing, note, patience
from explorer.core.protocol.arrow.records import records
from explorer.core.protocol.times import day_or_moment
from explorer.core.versions.commit_times import is_doubtful
from explorer.core.versions.commits.amounts import row_amounts
from explorer.core.versions.record_search import Wanted, found_entries
from explorer.formatting import UNKNOWN, count, hidden_rows, plural, quantity, size, timestamp

__all__ = ["register"]

_HISTORY = {
    "version": "version",
    "timestamp": "timestamp",
    "timestampBasis": "timestamp_basis",
    "commitInfoTimestamp": "commit_info_timestamp",
    "operation": "operation",
    "operationParameters": "parameters",
    "operationMetrics": "metrics",
    "userName": "user_name",
    "userMetadata": "reason",
    "engineInfo": "engine_info",
    "numFilesAdded": "num_files_added",
    "numFilesRemoved": "num_files_removed",
    "numFilesRemasked": "num_files_remasked",
    "bytesAdded": "bytes_added",
    "bytesRemoved": "bytes_removed",
    "rowsAdded": "rows_added",
    "rowsRemoved": "rows_removed",
    "rowsMasked": "rows_masked",
    "rowsRewritten": "rows_rewritten",
}
_TEXTS = ("reason", "parameters", "engine_info")

ByOption = Annotated[str | None, typer.Option("--by", metavar="PERSON", help="Commits by this person.")]
OperationOption = Annotated[str | None, typer.Option("--operation", metavar="OP", help="Commits by this operation.")]
TextOption = Annotated[
    str | None,
    typer.Option("--text", metavar="T", help="Commits with this in the reason, a parameter, a predicate, the engine."),
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="DATE", help="Commits from then on, such as 2026-03-02 or 2026-03-02T14:05:11Z."),
]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="DATE", help="Commits before then.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("history")(history)
    app.command("diff")(diff)


def history(  # noqa: PLR0917  # options of the command line come by position in Typer's signature
    table: TableArgument,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the newest N commits; else all.")
    ] = None,
    by: ByOption = None,
    operation: OperationOption = None,
    text: TextOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    no_totals: Annotated[
        bool, typer.Option("--no-totals", help="Omit file and row counts (faster).")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """List the commits, newest first; or those of a person, an operation, a text, a span of time.

    Parts of words are enough, and case does not count. --limit counts what was found.

    A time is the commit's own where in-commit timestamps are on, else that of its file, which a copy changes: a note
    says where the writer's clock said otherwise by an hour or more.

    JSON, a line a commit: version, timestamp, timestampBasis (in-commit or file), commitInfoTimestamp, operation,
    operationParameters, operationMetrics, userName, userMetadata, engineInfo, numFilesAdded, numFilesRemoved,
    numFilesRemasked, bytesAdded, bytesRemoved, rowsAdded, rowsRemoved, rowsMasked, rowsRewritten (rows among the added
    and the removed ones that only moved). Null means unknown. With --no-totals the lines end with engineInfo.
    """
    earliest, before = (None if given is None else day_or_moment(given) for given in (since, until))
    wanted = Wanted(by=by, operation=operation, text=text, since=earliest, until=before)
    with patience("Reading the log"):
        opened = explorer.open_table(table)
        commits = opened.provenance() if no_totals else opened.history()
        commits = (found_entries(commits, wanted, _TEXTS) if wanted else commits).slice(0, limit)
    members = {name: column for name, column in _HISTORY.items() if column in commits.column_names}
    rows = records(commits.select(list(members.values())))
    if json:
        for row in rows:
            emit({name: row[column] for name, column in members.items()})
        return
    of_files = () if no_totals else ("files", "rows")
    listing(
        ["version", "time", "basis", "operation", "by", *of_files, "reason"],
        map(_commit, rows, repeat(None) if no_totals else _rows_changed(commits)),
        "No commit was found." if wanted else "The log holds no commits.",
        numbers=("version", *of_files),
        whole=("time", "basis"),
    )
    doubtful = [
        row for row in rows if is_doubtful(row["timestamp"], row["timestamp_basis"], row["commit_info_timestamp"])
    ]
    if doubtful:
        note(_doubts(doubtful, len(rows)))


def diff(
    table: TableArgument,
    from_version: Annotated[int, typer.Argument(metavar="FROM", min=0, help="A version.", show_default=False)],
    to_version: Annotated[int, typer.Argument(metavar="TO", min=0, help="Another version.", show_default=False)],
    json: JsonFlag = False,
) -> None:
    """Show what differs between two versions: files, deletion vectors, schema, protocol, properties.

    JSON, one document: table, fromVersion, toVersion, files [{change: added|removed|remasked, path, partitionValues,
    size, numRecords, deletionVectorCardinalityBefore, deletionVectorCardinalityAfter, dataChange}], totals
    {filesAdded, filesRemoved, filesRemasked, bytesAdded, bytesRemoved, rowsAdded, rowsRemoved, rowsMasked}, schema
    [{kind, column, before, after, fieldId}], protocol {before, after, featuresAdded, featuresRemoved} or null,
    properties and attributes [{key, before, after}].
    """
    with patience("Reading the log"):
        opened = explorer.open_table(table)
        found = opened.diff(from_version, to_version)
        document = _document(opened, found)
    if json:
        emit(document)
    else:
        _print_diff(document)


def _commit(row: dict[str, Any], rows_changed: str | None) -> tuple[object, ...]:
    """A commit as a line; without its files and rows where the latter are None."""
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


def _doubts(rows: list[dict[str, Any]], total: int) -> str:
    """Where the times of files are not those of the writers: the files were copied, or a clock was wrong."""
    newest = rows[0]
    return (
        f"The file times of {count(len(rows))} of {plural(total, 'commit')} are an hour or more from the writers' "
        f"clocks: by its commitInfo v{newest['version']} was written at {timestamp(newest['commit_info_timestamp'])}. "
        "The files were copied, or a clock was wrong. Versions are looked up by the times listed here."
    )


def _rows_changed(commits: pa.Table) -> Iterator[str]:
    """Of each commit the rows added, removed and masked, and apart from these those updated, and those only moved."""
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


def _document(table: explorer.Table, found: explorer.SnapshotDiff) -> dict[str, Any]:
    totals, protocol = found.totals, found.protocol
    return {
        "table": table.location,
        "fromVersion": found.from_version,
        "toVersion": found.to_version,
        "files": [_file(row) for row in found.files.to_pylist(maps_as_pydicts="strict")],
        "totals": {
            "filesAdded": totals.files_added,
            "filesRemoved": totals.files_removed,
            "filesRemasked": totals.files_remasked,
            "bytesAdded": totals.bytes_added,
            "bytesRemoved": totals.bytes_removed,
            "rowsAdded": totals.rows_added,
            "rowsRemoved": totals.rows_removed,
            "rowsMasked": totals.rows_masked,
        },
        "schema": [
            {
                "kind": change.kind,
                "column": change.column,
                "before": change.before,
                "after": change.after,
                "fieldId": change.field_id,
            }
            for change in found.schema
        ],
        "protocol": None
        if protocol is None
        else {
            "before": protocol.before.to_wire(),
            "after": protocol.after.to_wire(),
            "featuresAdded": protocol.features_added,
            "featuresRemoved": protocol.features_removed,
        },
        "properties": [{"key": c.key, "before": c.before, "after": c.after} for c in found.properties],
        "attributes": [{"key": c.key, "before": c.before, "after": c.after} for c in found.attributes],
    }


def _file(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "change": row["change"],
        "path": row["raw_path"],
        "partitionValues": row["partition_values"] or {},
        "size": row["size"],
        "numRecords": row["num_records"],
        "deletionVectorCardinalityBefore": row["dv_cardinality_before"],
        "deletionVectorCardinalityAfter": row["dv_cardinality_after"],
        "dataChange": row["data_change"],
    }


def _print_diff(document: dict[str, Any]) -> None:
    totals = document["totals"]
    pairs: list[tuple[str, object]] = [
        ("added", _sum(totals, "Added")),
        ("removed", _sum(totals, "Removed")),
        ("re-masked", f"{quantity(totals['filesRemasked'], 'file')}, {hidden_rows(totals['rowsMasked'])}"),
    ]
    protocol = document["protocol"]
    if protocol is not None:
        before, after = (_versions(protocol[side]) for side in ("before", "after"))
        pairs.append(("reader, writer", f"{before} -> {after}"))
        pairs += [("feature added", name) for name in protocol["featuresAdded"]]
        pairs += [("feature removed", name) for name in protocol["featuresRemoved"]]
    facts(f"v{document['fromVersion']} -> v{document['toVersion']} of {document['table']}", pairs)
    changes = [(change["kind"], change["column"], change["before"], change["after"]) for change in document["schema"]]
    changes += [("property", change["key"], change["before"], change["after"]) for change in document["properties"]]
    changes += [("attribute", change["key"], change["before"], change["after"]) for change in document["attributes"]]
    if changes:
        rows = ((kind, name, _side(before), _side(after)) for kind, name, before, after in changes)
        listing(["change", "of", "before", "after"], rows, "")
    if document["files"]:
        listing(
            ["change", "path", "size", "rows", "masked before", "after"],
            map(_file_row, document["files"]),
            "",
            numbers=("size", "rows", "masked before", "after"),
        )
    elif not changes and protocol is None:
        console().print("The two versions are the same.")


def _sum(totals: dict[str, Any], what: str) -> str:
    files, rows = quantity(totals[f"files{what}"], "file"), quantity(totals[f"rows{what}"], "row")
    return f"{files}, {size(totals[f'bytes{what}'])}, {rows}"


def _versions(protocol: dict[str, Any]) -> str:
    return f"{protocol['minReaderVersion']}, {protocol['minWriterVersion']}"


def _side(value: str | None) -> str:
    return "" if value is None else value


def _file_row(file: dict[str, Any]) -> tuple[object, ...]:
    masked = (file["deletionVectorCardinalityBefore"] or 0, file["deletionVectorCardinalityAfter"] or 0)
    return (file["change"], file["path"], size(file["size"]), count(file["numRecords"]), *map(count, masked))
