"""``erasure``: where the rows that match a predicate physically are, and from when each copy can be gone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, SparkConfOption, SparkOption, TableArgument, use_spark
from explorer.cli.output import emit, encode, facts, listing, note, patience
from explorer.cli.report_files import PASSPHRASE, check_signed_place, read_whole, save_signed, signing_key
from explorer.cli.row_output import waiting
from explorer.cli.tables import open_named
from explorer.core.errors import RequestError
from explorer.core.versions.commit_times import moment

if TYPE_CHECKING:
    from explorer.auditing.erasure import Erasure
    from explorer.auditing.erasure.proof import MatchedPlace
    from explorer.report import ErasureStatement

_STATES = {
    "live": "every reader sees them",
    "masked": "hidden by a deletion vector, not erased",
    "history": "reached by time travel",
    "feed": "reached by the change data feed",
    "orphan": "in no version that can be read",
}


BesideOption = Annotated[
    list[str] | None,
    typer.Option(
        "--beside",
        metavar="ROOT",
        help="Other tables, or places that contain tables, to check by their logs. Those that share files with this "
        "table or have a column of the predicate are listed as not searched. Repeatable.",
    ),
]
HtmlOption = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the statement as HTML.")]
StatementOption = Annotated[
    Path | None, typer.Option("--statement", metavar="FILE", help="Write the statement as one line of JSON.")
]
SignOption = Annotated[
    Path | None,
    typer.Option(
        "--sign",
        metavar="KEY",
        help="Sign the statement with this private Ed25519 key, OpenSSH or PEM; writes FILE.sig. The passphrase is "
        f"that in {PASSPHRASE}, or you are asked for it.",
    ),
]
SinceOption = Annotated[
    Path | None,
    typer.Option("--since", metavar="STATEMENT", help="The statement of an earlier search for the same rows."),
]
RequestOption = Annotated[
    str | None,
    typer.Option("--request", metavar="TEXT", help="Reference of the erasure request, shown in the statement."),
]
UserOption = Annotated[
    str | None, typer.Option("--user", metavar="NAME", help="Name of the author, shown in the statement.")
]


def erasure(  # noqa: PLR0917  # options of the command line come by position in Typer's signature
    table: TableArgument,
    where: Annotated[
        list[str],
        typer.Option(
            "--where",
            metavar="SQL",
            help="Condition for the rows to find. Repeatable: one pass over the files searches for all.",
        ),
    ],
    beside: BesideOption = None,
    html: HtmlOption = None,
    statement: StatementOption = None,
    sign: SignOption = None,
    since: SinceOption = None,
    request: RequestOption = None,
    user: UserOption = None,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
) -> None:
    """Find every stored copy of the rows that match, through Spark, and every trace of them in the log.

    Searches every Parquet file in the folder: live files with their masked rows, files that only time travel reads,
    change data, and orphaned files. Files that cannot be searched are listed, and never counted as free of matches. The
    log is searched for the constants of the predicate and, unless it consists of equalities, for bounds and partition
    values that match it. Writes nothing but the statement.

    A statement is about one predicate, so that it can be given to the person whose rows they were. --html writes it as
    a page, --statement as one line of JSON, and --sign signs what is written; verify it with verify-report. With
    --since, the statement lists what happened to the files of an earlier search, and the commits since then that
    removed rows or files.
    """
    use_spark(spark, spark_conf)
    stated = [path for path in (html, statement) if path is not None]
    if stated and len(where) > 1:
        raise RequestError("A statement is about one predicate: give --where once.", field="where")
    if not stated and (sign, since, request) != (None, None, None):
        raise RequestError("--sign, --since and --request are for a statement: give --html or --statement, too.")
    for path in stated:
        check_signed_place(path, sign)
    key, before = signing_key(sign), None if since is None else _earlier(since)
    with patience("Reading the log"):
        opened = open_named(table)
    proofs: dict[str, Erasure] = waiting(opened.erasure_job({text: text for text in where}, beside=beside or ()))
    from explorer.auditing.erasure import erasure_document
    from explorer.report import erasure_statement, render

    for proof in proofs.values():
        if json:
            emit(erasure_document(proof))
        else:
            _print(proof)
    if not stated:
        return
    (proof,) = proofs.values()
    signer = None if key is None else key.signer
    document = erasure_statement(proof, opened, by=user, request=request, since=before, signer=signer)
    if html is not None:
        save_signed(html, render(document).encode(), document.digest, key)
    if statement is not None:
        save_signed(statement, encode(document) + b"\n", document.digest, key)


def _earlier(path: Path) -> ErasureStatement:
    from explorer.report.decoding import read_statement

    return read_statement(read_whole(path), str(path))


def _deletion_time(place: MatchedPlace) -> str:
    """Return from when a copy can be deleted, or why never."""
    time = _time(place.gone_from)
    return f"if deleted and purged now, {time}" if time and place.is_conditional else time or place.kept_by


def _print(proof: Erasure) -> None:
    read = proof.basis.results.read
    rows = sum(read.column("rows").to_pylist())
    pairs: list[tuple[str, object]] = [
        (state, f"{fmt.quantity(count, 'row')} in {_files(proof, state)}, {_STATES[state]}")
        for state, count in proof.totals.items()
        if count
    ]
    pairs.append(("read", f"{fmt.plural(read.num_rows, 'file')}, {fmt.quantity(rows, 'row')}, v{proof.version}"))
    facts(f"{proof.basis.table}: {fmt.plain(proof.where)}", pairs)
    listing(
        ["state", "rows", "file", "versions", "gone from"],
        (
            (
                place.state,
                fmt.count(place.rows),
                place.path,
                _versions(place.from_version, place.to_version),
                _deletion_time(place),
            )
            for place in proof.places
        ),
        "No stored file that was read holds a matching row.",
        numbers=("rows",),
    )
    if proof.traces:
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
                for trace in proof.traces
            ),
            "",
        )
    if proof.not_answered:
        listing(["not answered", "because"], ((each.path, each.reason) for each in proof.not_answered), "")
    if proof.steps:
        listing(
            ["step", "not before", "why"],
            (
                (
                    encode(step.intent).decode() if step.intent else step.command or "by hand",
                    _time(step.not_before) or "now",
                    step.why,
                )
                for step in proof.steps
            ),
            "",
        )
    claim = f"Not erased yet: {'; '.join(proof.obstacles)}." if proof.obstacles else "Erased."
    note(f"{claim} Not read: {' '.join(proof.outside)}")


def _files(proof: Erasure, state: str) -> str:
    return fmt.plural(len({place.path for place in proof.places if place.state == state}), "file")


def _versions(first: int | None, last: int | None) -> str:
    from explorer.auditing.words import span

    if first is None:
        return "none"
    return f"v{first} on" if last is None else span(first, last)


def _time(time: int | None) -> str:
    return "" if time is None else fmt.timestamp(moment(time))
