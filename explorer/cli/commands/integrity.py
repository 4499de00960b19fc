"""``verify``: whether a log keeps to the protocol and to itself."""

from __future__ import annotations

from typing import Final

import typer

from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, TableArgument
from explorer.cli.output import emit, listing, note, patience
from explorer.core.log.verify.verify import verify
from explorer.storage import open_store

__all__ = ["register"]

_FINDINGS: Final = 1
_BROKEN: Final = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify_log)


def verify_log(table: TableArgument, json: JsonFlag = False) -> int:
    """Verify the log: gaps, invalid or contradictory commits, invalid metadata, checksums and checkpoints.

    Exit code 0 without problems, 3 if one of them keeps versions from being read, else 1. A table that needs a feature
    which this program lacks is verified too.

    JSON: table, firstVersion (oldest that can be rebuilt, or null), lastVersion, problems [{kind, version, file,
    detail, nextStep}], chainHead (of a hash chain over the commits, or null).
    """
    with patience("Reading the whole log"):
        store = open_store(table)
        report = verify(store)
    if json:
        emit(
            {
                "table": store.root,
                "firstVersion": report.first_version,
                "lastVersion": report.last_version,
                "problems": [
                    {
                        "kind": each.kind,
                        "version": each.version,
                        "file": each.file,
                        "detail": each.detail,
                        "nextStep": each.next_step,
                    }
                    for each in report.problems
                ],
                "chainHead": report.chain_head,
            }
        )
    else:
        rows = (
            (each.kind, "" if each.version is None else each.version, each.file, each.detail, each.next_step)
            for each in report.problems
        )
        columns = ["kind", "version", "file", "detail", "next step"]
        listing(columns, rows, "No problems were found.", numbers=("version",))
        note(f"Chain head {report.chain_head or fmt.UNKNOWN}, last version {report.last_version}.")
    if any(each.breaking for each in report.problems):
        return _BROKEN
    return _FINDINGS if report.problems else 0
