"""``blame``: since when a column, property, constraint, feature or domain is as it is, by whom and why."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, TableArgument
from explorer.cli.output import emit, listing, patience
from explorer.core.protocol.arrow.records import records
from explorer.core.protocol.times import day_or_moment
from explorer.core.versions.record_search import Wanted, found_entries
from explorer.core.versions.settings_history import SETTING_TEXTS

__all__ = ["register"]

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
    str | None, typer.Option("--text", metavar="T", help="Changes whose name, old or new value, or reason contains this text.")
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="DATE", help="Changes at or after this time, for example 2026-03-02 or 2026-03-02T14:05:11Z."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("blame")(blame)


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

    With NAME, all that happened to it, through renames, and the constraints that mention it; else how everything is
    now. The options look among all changes; parts of words are enough, and case does not count.

    JSON, a line a change: version, timestamp, kind (column, name, type, nullability, comment, default, generation,
    order, partitioning, clustering, property, constraint, feature, protocol, description, domain, table), name (at that
    time), before, after (null for what was not there, or is gone), userName, operation, reason, engineInfo (null where
    the log does not say), initial (it came with the first version), known (false where the log does not begin with the
    table: it was set in that version or before it, by nobody knows whom), current (it says how the thing is now) and
    currentName (what it is called now, or was last); these two are null where every change was asked for.
    """
    earliest = None if since is None else day_or_moment(since)
    wanted = Wanted(by=by, operation=operation, text=text, since=earliest)
    with patience("Reading the log"):
        opened = explorer.open_table(table)
        found = opened.settings_history() if name is None and (every or wanted) else opened.blame(name)
    rows = records(found_entries(found, wanted, SETTING_TEXTS))
    if json:
        for row in rows:
            emit(_line(row))
        return
    listing(_HEADINGS, map(_row, rows), "No change was found.", whole=("version", "when", "what"))


def _line(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": row["version"],
        "timestamp": row["timestamp"],
        "kind": row["kind"],
        "name": row["name"],
        "before": row["before"],
        "after": row["after"],
        "userName": row["user_name"],
        "operation": row["operation"],
        "reason": row["reason"],
        "engineInfo": row["engine_info"],
        "initial": row["initial"],
        "known": row["known"],
        "current": row.get("current"),
        "currentName": row.get("current_name"),
    }


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
