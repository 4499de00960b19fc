"""``compatibility``: which other clients read and write a table, and which answer wrongly."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

import explorer
from explorer.cli.arguments import JsonFlag, TableArgument, VersionOption
from explorer.cli.commands.plans import read_intent
from explorer.cli.output import emit, listing, patience
from explorer.core.compatibility.access import AccessLoss, ClientVerdict, losses
from explorer.core.compatibility.access import compatibility as judge
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.errors import RequestError
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.transaction.planner import access_change

__all__ = ["register"]

_HEADINGS = ["client", "from version", "read", "write", "because of", "source", "as of"]
_LOSS_HEADINGS = ["client that loses", "from version", "operation", "before", "after", "because of"]

AfterOption = Annotated[
    str | None,
    typer.Option("--after", metavar="INTENT", help="The verdicts after this change, an intent as for plan."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compatibility")(compatibility)


def compatibility(
    table: TableArgument, version: VersionOption = None, after: AfterOption = None, json: JsonFlag = False
) -> None:
    """Show which other clients read and write the table, and which answer wrongly; now, or after a change.

    Works also for tables that this program cannot read. What no source states is unknown. Changes nothing.

    JSON, a line a client, or several if its versions differ: client, versionFrom (the first version or date of which
    this is true), read, write (yes; no: it refuses; wrong: it answers wrongly; unknown), because (the features and
    protocol versions that keep it from yes), source, asOf (the date of the oldest statement).
    """
    if after is not None and version is not None:
        raise RequestError("A change is made to the newest version: give --after or --version, not both.")
    with patience("Reading the log"):
        opened = explorer.open_table(table)
        lost: tuple[AccessLoss, ...] = ()
        if after is None:
            verdicts = opened.compatibility(version)
        else:
            verdicts, lost = _after(opened, read_intent(after))
    if json:
        for verdict in verdicts:
            emit(msgspec.to_builtins(verdict))
        return
    listing(_HEADINGS, map(_row, verdicts), "No client is known.", whole=("client", "read", "write"))
    if after is not None:
        listing(_LOSS_HEADINGS, map(_loss_row, lost), "No known client loses access or gives wrong answers.")


def _after(opened: explorer.Table, intent: str) -> tuple[tuple[ClientVerdict, ...], tuple[AccessLoss, ...]]:
    """The verdicts after a change, and who loses by it; an intent without a commit changes nothing."""
    plan = opened.plan(intent, check_rows=False)
    if not isinstance(plan, CommitPlan):
        return opened.compatibility(), ()
    before, then = access_change(opened.snapshot(), plan.proposal, look=True)
    return judge(then, client_facts()), losses(before, then, client_facts())


def _row(each: ClientVerdict) -> tuple[str, ...]:
    return each.client, each.version_from, each.read, each.write, ", ".join(each.because), each.source, each.as_of


def _loss_row(each: AccessLoss) -> tuple[str, ...]:
    return each.client, each.version_from, each.operation, each.before, each.after, ", ".join(each.because)
