"""``erasure``: where the rows that match a predicate physically are, and from when each copy can be gone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, SparkOption, TableArgument, use_spark
from explorer.cli.output import emit, encode, facts, listing, note, patience
from explorer.cli.progress import waiting
from explorer.core.errors import RequestError, StorageError
from explorer.core.versions.commit_times import moment
from explorer.storage.written_aside import written_aside

if TYPE_CHECKING:
    from explorer.auditing.erasure import Erasure

__all__ = ["register"]

_STATES = {
    "live": "every reader sees them",
    "masked": "hidden by a deletion vector, not erased",
    "history": "reached by time travel",
    "feed": "reached by the change data feed",
    "orphan": "in no version that can be read",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("erasure")(erasure)


def erasure(
    table: TableArgument,
    where: Annotated[
        list[str],
        typer.Option(
            "--where",
            metavar="SQL",
            help="Rows for which this is true; several are searched in one pass over the files.",
        ),
    ],
    statement: Annotated[
        Path | None,
        typer.Option("--statement", metavar="FILE", help="Write the statement to a file: what was read, what was not."),
    ] = None,
    spark: SparkOption = None,
    json: JsonFlag = False,
) -> None:
    """Find every stored copy of the rows that match, through Spark, and what the log itself says of them.

    Every Parquet file in the folder is searched: live ones (masked rows too), those that only time travel reaches,
    change data, and files that no version names. A file that cannot be answered is named, never counted as one
    without a match. The log is searched for the constants of the predicate. Nothing is written but the statement.

    JSON, a line for each predicate: table, version, where, time, places [{path, state (live, masked, history, feed,
    orphan), rows (physical rows of that file that match), size, fromVersion, toVersion, goneFrom (from when VACUUM
    may delete it; of live and masked rows if the delete and the purge are made now; null for never), keptBy}], totals
    {live, masked, history, feed, orphan}, files, traces [{path, version, what, column, value, count, goneFrom}], read
    {files, rows, logFiles, goneFiles}, notAnswered [{path, reason}], notRead [text], goneFrom, mayClaimErased, why
    [text], steps [{intent or command, notBefore, why}], digest (SHA-256 of the rest, as JSON with sorted keys and no
    spaces).

    The statement, one JSON document for one predicate: table, tableId, version, where, time, program, chainHead,
    totals, traces, read {digest (of what), files [{path, rows, sha256}], logFiles}, notAnswered, notRead, erased,
    why, proof (the digest above), digest.
    """
    use_spark(spark)
    if statement is not None and len(where) > 1:
        raise RequestError("A statement is about one predicate: give --where once.", field="where")
    with patience("Reading the log"):
        opened = explorer.open_table(table)
    found: dict[str, Erasure] = waiting(opened.erasure_job({text: text for text in where}))
    from explorer.auditing.erasure import erasure_document, statement_document

    for proof in found.values():
        if json:
            emit(erasure_document(proof))
        else:
            _print(proof)
    if statement is not None:
        _write(statement, encode(statement_document(next(iter(found.values())))))
        note(f"The statement is in {statement}.")


def _write(target: Path, document: bytes) -> None:
    try:
        with written_aside(os.path.abspath(target)) as file:
            file.write(document + b"\n")
    except OSError as error:
        raise StorageError(f"{target} cannot be written ({error}).", path=str(target)) from error


def _print(found: Erasure) -> None:
    read = found.basis.found.read
    rows = sum(read.column("rows").to_pylist())
    pairs: list[tuple[str, object]] = [
        (state, f"{fmt.quantity(count, 'row')} in {_files(found, state)}, {_STATES[state]}")
        for state, count in found.totals.items()
        if count
    ]
    pairs.append(("read", f"{fmt.plural(read.num_rows, 'file')}, {fmt.quantity(rows, 'row')}, v{found.version}"))
    facts(f"{found.basis.table}: {fmt.plain(found.where)}", pairs)
    listing(
        ["state", "rows", "file", "versions", "gone from"],
        (
            (
                place.state,
                fmt.count(place.rows),
                place.path,
                _versions(place.from_version, place.to_version),
                _time(place.gone_from) or place.kept_by,
            )
            for place in found.places
        ),
        "No stored file that was read holds a matching row.",
        numbers=("rows",),
    )
    if found.traces:
        listing(
            ["the log", "what", "column", "value", "gone from"],
            (
                (
                    trace.path.rpartition("/")[2],
                    trace.what,
                    trace.column,
                    trace.value,
                    _time(trace.gone_from) or "never",
                )
                for trace in found.traces
            ),
            "",
        )
    if found.not_answered:
        listing(["not answered", "because"], ((each.path, each.reason) for each in found.not_answered), "")
    if found.steps:
        listing(
            ["step", "not before", "why"],
            (
                (
                    encode(step.intent).decode() if step.intent else step.command or "by hand",
                    _time(step.not_before) or "now",
                    step.why,
                )
                for step in found.steps
            ),
            "",
        )
    claim = f"Nobody may say yet that they are erased: {'; '.join(found.obstacles)}." if found.obstacles else "Erased."
    note(f"{claim} Not read: {' '.join(found.not_read)}")


def _files(found: Erasure, state: str) -> str:
    return fmt.plural(len({place.path for place in found.places if place.state == state}), "file")


def _versions(first: int | None, last: int | None) -> str:
    if first is None:
        return "none"
    return f"v{first} on" if last is None else f"v{first} to v{last}"


def _time(time: int | None) -> str:
    return "" if time is None else fmt.timestamp(moment(time))
