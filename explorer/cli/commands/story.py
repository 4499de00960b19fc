"""``story``: what each version did to one row, and where the row is stored; small tables need no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, SparkConfOption, SparkOption, TableArgument, checked_version, use_spark
from explorer.cli.named_times import version_of
from explorer.cli.output import emit, listing, note, patience
from explorer.cli.row_output import waiting
from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.records import records
from explorer.core.protocol.json_values import JsonRecord

if TYPE_CHECKING:
    from explorer.changed_rows.followed_range import FollowedRange
    from explorer.changed_rows.row_story import RowStep, RowStory

_HEADINGS = ["version", "when", "what", "changed", "who", "operation", "reason", "file", "row"]


class StoryRow(JsonRecord, frozen=True, kw_only=True):
    """A stored row.

    Attributes:
        path: The decoded path of its file.
        row: Its place in the file, from 0.
        values: By column, as `rows` prints them.
    """

    path: str
    row: int
    values: dict[str, object]


class StoryLine(JsonRecord, frozen=True, kw_only=True):
    """What a version did to the row; null where the log does not record it.

    Attributes:
        kind: present (it was there when the range began), insert, update, delete, move (rewritten with the same
            values), or several (the key is not unique).
        changed: Columns with other values, of an update.
        rows: The rows after the version: one, none after a delete, more where the key is not unique.
    """

    version: int
    timestamp: datetime | None
    kind: str
    changed: tuple[str, ...]
    user_name: str | None
    operation: str | None
    reason: str | None
    rows: tuple[StoryRow, ...]


def story(
    table: TableArgument,
    *,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key", metavar="COLUMN=VALUE", help="Follow the row with this value of a key column. Repeatable."
        ),
    ] = None,
    row_id: Annotated[
        int | None, typer.Option("--row-id", metavar="ID", min=0, help="Follow the row with this row ID.")
    ] = None,
    from_version: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="A", callback=checked_version, help="First version, or a time (default: oldest readable)."
        ),
    ] = None,
    to_version: Annotated[
        str | None,
        typer.Option("--to", metavar="B", callback=checked_version, help="Last version, or a time (default: newest)."),
    ] = None,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
) -> None:
    """Show the story of one row: what each version did to it, who did that and why, and which file stores it.

    The row is identified by the values of its key columns, under the names of the last version, or by its row ID. Rows
    of a small table are read directly; Spark reads everything else.
    """
    use_spark(spark, spark_conf)
    with patience("Reading the log"):
        opened = explorer.open_table(table)
        first, last = (None if text is None else version_of(opened, text) for text in (from_version, to_version))
        followed = _followed(opened, key or [], row_id, (first, last))
    story = _read(opened, followed, by_spark=spark is not None)
    people = {row["version"]: row for row in records(opened.provenance())}
    if json:
        values = _values(story)
        for step in story.steps:
            emit(_line(step, people.get(step.version, {}), values))
    else:
        rows = (_row(step, people.get(step.version, {})) for step in story.steps)
        empty = f"No row of versions {followed.first} to {followed.last} has this key."
        listing(_HEADINGS, rows, empty, numbers=("row",), whole=("version", "when", "what"))
    for name, reason in dict.fromkeys((column.column, column.reason) for column in story.left_out):
        note(f"The column {name} is not shown: {reason}.")


def _followed(
    table: explorer.Table, key: Sequence[str], row_id: int | None, versions: tuple[int | None, int | None]
) -> FollowedRange:
    """The range in which the row is followed."""
    from explorer.changed_rows.followed_range import followed_range
    from explorer.views.rows.row_reference import typed_key

    if bool(key) == (row_id is not None):
        raise RequestError("A story needs either --key COLUMN=VALUE, or --row-id ID.", field="key")
    if row_id is not None:
        return followed_range(table, row_id, *versions)
    values: dict[str, str] = {}
    for each in key:
        name, equals, value = each.partition("=")
        if not equals or name in values:
            raise RequestError(f"--key {each!r} must be COLUMN=VALUE, each column once, for example id=7.", field="key")
        values[name] = value
    return followed_range(table, typed_key(table.snapshot(versions[1]), values), *versions)


def _read(table: explorer.Table, followed: FollowedRange, *, by_spark: bool) -> RowStory:
    from explorer.changed_rows.small_story import small_story
    from explorer.first_rows.first_rows import SparkOnly

    reason = ""
    if not by_spark:
        with patience("Reading the files that may hold the row"):
            here = small_story(table, followed)
        if not isinstance(here, SparkOnly):
            return here
        reason = here.reason
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    from explorer.spark.rows.key_history import story_job

    story: RowStory = waiting(story_job(table, followed, reason))
    return story


def _values(story: RowStory) -> list[dict[str, object]]:
    """The values of each stored row, as `rows` prints them."""
    from explorer.cli.row_files import plain_columns

    names = story.rows.column_names
    return [dict(zip(names, row, strict=True)) for row in zip(*plain_columns(story.rows), strict=True)]


def _line(step: RowStep, commit: Mapping[str, Any], values: Sequence[dict[str, object]]) -> StoryLine:
    return StoryLine(
        version=step.version,
        timestamp=commit.get("timestamp"),
        kind=step.kind,
        changed=step.changed,
        user_name=commit.get("user_name"),
        operation=commit.get("operation"),
        reason=commit.get("reason"),
        rows=tuple(StoryRow(path=each.path, row=each.row, values=values[each.number]) for each in step.rows),
    )


def _row(step: RowStep, commit: Mapping[str, Any]) -> tuple[object, ...]:
    when = "" if commit.get("timestamp") is None else fmt.timestamp(commit["timestamp"])
    why = (commit.get(name) or "" for name in ("user_name", "operation", "reason"))
    what = f"{fmt.plural(len(step.rows), 'row')} with this key" if step.kind == "several" else step.kind
    file, row = (step.rows[0].path, step.rows[0].row) if step.rows else ("", "")
    return f"v{step.version}", when, what, ", ".join(step.changed), *why, file, row
