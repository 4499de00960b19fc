"""``compatibility``: which other clients read and write a table, and which answer wrongly."""

from __future__ import annotations

import msgspec
import typer

import explorer
from explorer.cli.arguments import JsonFlag, TableArgument, VersionOption
from explorer.cli.output import emit, listing, patience

__all__ = ["register"]

_HEADINGS = ["client", "from version", "read", "write", "because of", "source", "as of"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compatibility")(compatibility)


def compatibility(table: TableArgument, version: VersionOption = None, json: JsonFlag = False) -> None:
    """Show which other clients read and write the table, and which answer wrongly.

    Works for tables too that this program cannot read. What no source states is unknown.

    JSON, a line a client, or several where its versions differ: client, versionFrom (the first version or date that
    stands so), read, write (yes; no: it refuses; wrong: it answers, and wrongly; unknown), because (the features and
    protocol versions that keep it from yes), source, asOf (the date of the oldest statement).
    """
    with patience("Reading the log"):
        verdicts = explorer.open_table(table).compatibility(version)
    if json:
        for verdict in verdicts:
            emit(msgspec.to_builtins(verdict))
        return
    rows = (
        (each.client, each.version_from, each.read, each.write, ", ".join(each.because), each.source, each.as_of)
        for each in verdicts
    )
    listing(_HEADINGS, rows, "No client is known.", whole=("client", "read", "write"))
