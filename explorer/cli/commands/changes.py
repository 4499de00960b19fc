"""``changes``: what changed in a range of versions, row by row, a small range without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import (
    SCREEN,
    ExactCsvFlag,
    JsonFlag,
    LimitOption,
    OutputOption,
    SparkConfOption,
    SparkOption,
    TableArgument,
    checked_version,
    use_spark,
)
from explorer.cli.named_times import version_of, version_since
from explorer.cli.output import emit, encode, note, patience
from explorer.cli.row_output import (
    WrittenFile,
    check_output_options,
    list_rows,
    print_rows,
    print_stream,
    waiting,
    write_stream,
)
from explorer.cli.tables import open_named
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.versions.change_feed.feed import FeedGap

if TYPE_CHECKING:
    from explorer.changed_rows.change_preview import ChangePreview
    from explorer.core.versions.change_feed.feed import ChangeSources


class ChangesFile(WrittenFile, frozen=True, kw_only=True):
    """The changes of a range of versions in a file; ``skipped`` are the versions that cannot be read, and why."""

    from_version: int
    to_version: int
    inferred_versions: tuple[int, ...]
    skipped: tuple[FeedGap, ...]


class FeedGaps(JsonRecord, frozen=True, kw_only=True):
    """The versions whose changes were inferred from their files, or skipped; on stderr beside the rows."""

    inferred_versions: tuple[int, ...]
    skipped: tuple[FeedGap, ...]


def changes(
    table: TableArgument,
    *,
    from_version: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="A",
            callback=checked_version,
            help="First version of the range, or a time: the first version after it, for example 'yesterday 18:00'.",
        ),
    ],
    to_version: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="B",
            callback=checked_version,
            help="Last version of the range, or a time: the last until then (default: newest).",
        ),
    ] = None,
    limit: LimitOption = None,
    output: OutputOption = None,
    exact_csv: ExactCsvFlag = None,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    inferred: Annotated[
        bool,
        typer.Option("--inferred", help="Infer the changes of versions without a recorded feed from their files."),
    ] = False,
    skip_holes: Annotated[
        bool,
        typer.Option("--skip-holes", help="Skip versions whose changes cannot be read, and name them on stderr."),
    ] = False,
    schema_version: Annotated[
        int | None,
        typer.Option("--schema-version", metavar="C", min=0, help="Show the rows with the schema of this version."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN", help="Pair inferred updates by this key column. Repeatable."),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="SQL", help="Only rows that meet this condition, before or after an update."),
    ] = None,
    across_renames: Annotated[
        bool,
        typer.Option("--across-renames", help="Follow a renamed column by its physical name instead of ending there."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Read the changes of a range of versions, both ends included.

    The changes of a small range are read directly from its files. Spark reads everything else.

    The columns are the table's, then _change_type (insert, delete, update_preimage, update_postimage),
    _commit_version and _commit_timestamp; the order of the rows is not fixed. A range is refused if a part of it
    cannot be read: the feed was off, the schema changed, or files are deleted. The rows have the columns of the newest
    version, or with column mapping those of the last version of the range; --schema-version takes those of another.
    Inferred changes come from the files added and removed; a row that a commit only copied is not a change. An update
    has two images if the rows before and after it share the columns of --key, or, without --key, a row ID; otherwise
    it is shown as a delete and an insert. Ctrl-C cancels.

    JSON lines contain values as those of `rows` do. Stderr names the versions that were inferred or skipped.
    """
    exact = check_output_options(output, exact_csv=exact_csv)
    use_spark(spark, spark_conf)
    keys = key or []
    with patience("Reading the log"):
        opened = open_named(table)
        first = version_since(opened, from_version)
        # An error then names a version after the newest, and not a range that was never given.
        last = max(opened.latest_version(), first) if to_version is None else version_of(opened, to_version)
    with patience("Looking for the changes"):
        sources = opened.change_sources(
            first, last, inferred, schema_version=schema_version, skip=skip_holes, by_id=across_renames
        )
    most = SCREEN if limit is None and output is None and not json else limit
    read = None if spark is not None else _small_changes(opened, sources, most, keys, where)
    if output is not None:
        _write(opened, sources, keys, limit, output, where=where, read=read, exact_csv=exact, as_json=json)
    elif json:
        _print_json(opened, sources, keys, limit, read, where=where)
    else:
        seen = read or _preview(opened, sources, keys, SCREEN if limit is None else limit, where)
        list_rows(seen.table)
        note(seen.note)
        _note_gaps(seen.inferred_versions, seen.skipped)


def _small_changes(
    table: explorer.Table, sources: ChangeSources, limit: int | None, keys: list[str], where: str | None
) -> ChangePreview | None:
    """The changes where they are read without Spark; None where Spark must read them."""
    from explorer.changed_rows.small_changes import small_changes
    from explorer.first_rows.first_rows import SparkOnly

    with patience("Reading the changes"):
        changes_read = small_changes(table, sources, limit, keys, where)
    return None if isinstance(changes_read, SparkOnly) else changes_read


def _write(
    table: explorer.Table,
    sources: ChangeSources,
    keys: list[str],
    limit: int | None,
    output: Path,
    *,
    where: str | None,
    read: ChangePreview | None,
    exact_csv: bool,
    as_json: bool,
) -> None:
    from explorer.cli.row_files import is_read_by_people, write_rows, written_words

    if read is None:
        from explorer.spark.rows.row_streams import change_stream

        stream = change_stream(table, sources, keys, where=where, readable=is_read_by_people(output), limit=limit)
        written = write_stream(stream, output, limit, exact_csv=exact_csv)
    else:
        written = write_rows(output, read.table.schema, iter(read.table.to_batches()), exact_csv=exact_csv)
    if as_json:
        emit(
            ChangesFile(
                output=str(output),
                **written.facts(),
                table=table.location,
                from_version=sources.from_version,
                to_version=sources.to_version,
                inferred_versions=sources.inferred_versions,
                skipped=sources.skipped,
            )
        )
        return
    where = f"versions {sources.from_version} to {sources.to_version}"
    size = fmt.size(output.stat().st_size)
    note(f"Wrote {fmt.count(written.rows)} changes of {where} to {output} ({size}).{written_words(written)}")
    _note_gaps(sources.inferred_versions, sources.skipped)


def _print_json(
    table: explorer.Table,
    sources: ChangeSources,
    keys: list[str],
    limit: int | None,
    read: ChangePreview | None,
    *,
    where: str | None,
) -> None:
    if read is None:
        from explorer.spark.rows.row_streams import change_stream

        print_stream(change_stream(table, sources, keys, where=where, readable=True, limit=limit), limit)
    else:
        print_rows(read.table)
    if sources.inferred_versions or sources.skipped:
        gaps = FeedGaps(inferred_versions=sources.inferred_versions, skipped=sources.skipped)
        note(encode(gaps).decode())


def _preview(
    table: explorer.Table, sources: ChangeSources, keys: list[str], limit: int, where: str | None
) -> ChangePreview:
    """The first changes through Spark."""
    from explorer.spark.changes.change_preview import preview_of_sources

    seen: ChangePreview = waiting(preview_of_sources(table, sources, limit, keys, where))
    return seen


def _note_gaps(inferred: tuple[int, ...], skipped: tuple[FeedGap, ...]) -> None:
    if inferred:
        note(f"Inferred from files, not recorded: versions {', '.join(map(str, inferred))}.")
    for hole in skipped:
        first, last = hole.from_version, hole.to_version
        where = f"version {first}" if first == last else f"versions {first} to {last}"
        note(f"Skipped: {where}, {hole.detail}.")
