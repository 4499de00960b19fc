"""``blame``: since when a column, property, constraint, feature or domain is as it is, by whom and why."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, TableArgument
from explorer.cli.named_times import moment_of
from explorer.cli.output import emit, listing, patience
from explorer.cli.tables import open_named
from explorer.core.protocol.arrow.records import records
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.versions.record_search import EntryFilter, matching_entries
from explorer.core.versions.settings_history import SETTING_TEXTS

_HEADINGS = ["version", "when", "who", "what", "name", "before", "after", "operation", "reason"]

NameArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="A column, property, constraint, feature or domain, or protocol, partitioning, clustering, description.",
        show_default=False,
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="Without NAME: list every change, not only the current state.")]
ByOption = Annotated[str | None, typer.Option("--by", metavar="PERSON", help="Changes by this person.")]
OperationOption = Annotated[str | None, typer.Option("--operation", metavar="OP", help="Changes by this operation.")]
TextOption = Annotated[
    str | None,
    typer.Option("--text", metavar="T", help="Changes whose name, old or new value, or reason contains this text."),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="DATE",
        help="Changes at or after this time, for example 2026-03-02, 2026-03-02T14:05:11Z, or 'last Monday'.",
    ),
]


class BlameLine(JsonRecord, frozen=True, kw_only=True):
    """A change of a setting; null where the log does not record it.

    Attributes:
        kind: column, name, type, nullability, comment, default, generation, order, partitioning, clustering, property,
            constraint, feature, protocol, description, domain or table.
        name: Its name at that time.
        before: Null if it did not exist.
        after: Null if it was removed.
        initial: It came with the first version.
        known: False if the log begins after the table was created: it was set in that version or an earlier one.
        current: This is its current state; null if every change was requested.
        current_name: Its newest name; null if every change was requested.
    """

    version: int
    timestamp: datetime | None
    kind: str
    name: str
    before: str | None
    after: str | None
    user_name: str | None
    operation: str | None
    reason: str | None
    engine_info: str | None
    initial: bool
    known: bool
    current: bool | None
    current_name: str | None


def blame(  # noqa: PLR0917  # options of the command line come by position in Typer's signature
    table: TableArgument,
    name: NameArgument = None,
    every: AllOption = False,
    by: ByOption = None,
    operation: OperationOption = None,
    text: TextOption = None,
    since: SinceOption = None,
    json: JsonFlag = False,
) -> None:
    """Show who last changed each column, property, constraint or feature, when and why; newest first.

    With NAME: every change to it, also under earlier names, and the constraints that mention it. Otherwise the current
    state of everything. The options search all changes; parts of words are enough, and case does not count.
    """
    earliest = None if since is None else moment_of(since)
    wanted = EntryFilter(by=by, operation=operation, text=text, since=earliest)
    with patience("Reading the log"):
        opened = open_named(table)
        entries = opened.settings_history() if name is None and (every or wanted) else opened.blame(name)
    rows = records(matching_entries(entries, wanted, SETTING_TEXTS))
    if json:
        for row in rows:
            emit(_line(row))
        return
    listing(_HEADINGS, map(_row, rows), "No change was found.", whole=("version", "when", "what"))


def _line(row: dict[str, Any]) -> BlameLine:
    fields: dict[str, Any] = {name: row.get(name) for name in BlameLine.__struct_fields__}
    return BlameLine(**fields)


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    name = row.get("current_name") or row["name"]
    called = name if name == row["name"] else f"{name} (then {row['name']})"
    if not row["known"]:
        before = f"before v{row['version']}: unknown"
        return before, "", "", row["kind"], called, "", row["after"] or "", "", ""
    when = "" if row["timestamp"] is None else fmt.timestamp(row["timestamp"])
    was = "" if row["before"] is None else row["before"]
    now = "gone" if row["after"] is None else row["after"]
    people = row["user_name"] or "", row["kind"], called, was, now
    return f"v{row['version']}", when, *people, row["operation"] or "", row["reason"] or ""
