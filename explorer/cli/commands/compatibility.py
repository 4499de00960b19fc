"""``compatibility``: which other clients read and write a table, and which get wrong results."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

import explorer
from explorer.cli.arguments import ClientsOption, JsonFlag, TableArgument, VersionOption, use_clients
from explorer.cli.commands.plans import read_intent
from explorer.cli.named_times import version_of
from explorer.cli.output import emit, listing, note, patience
from explorer.cli.tables import open_named
from explorer.core.compatibility.access import Access, AccessLoss, Requirements, losses
from explorer.core.compatibility.access import compatibility as judge
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.matrix import MatrixRow, matrix
from explorer.core.compatibility.my_clients import MyClient, with_writers
from explorer.core.compatibility.releases import writers_seen
from explorer.core.errors import ExplorerError, RequestError
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.transaction.planner import access_change
from explorer.system import my_clients

_HEADINGS = ["client", "from version", "read", "write", "because of", "source", "as of"]
_ABOUT_MINE = ("mine", "seen", "version", "role", "owner", "note")
_LOSS_HEADINGS = ["client that loses", "from version", "operation", "before", "after", "because of"]

AfterOption = Annotated[
    str | None,
    typer.Option("--after", metavar="INTENT", help="Show the verdicts after this change, an intent as for `plan`."),
]


class CompatibilityLine(JsonRecord, frozen=True, kw_only=True):
    """What a client can do, of one range of its versions. With clients that you use, also what follows ``as_of``.

    Attributes:
        version_from: The first version, or date, for which this is so; null if nothing is known of the release.
        read, write: ``no``: it refuses. ``wrong``: it gives wrong results.
        because: The features and protocol versions that keep it from ``yes``.
        as_of: The date of the oldest statement; null if nothing is known of the release.
        mine: It is one of your clients.
        seen: It wrote the table, and the file of --clients does not name it.
        version: The version that you use.
        role: ``reader``, ``writer`` or ``both``.
    """

    client: str
    version_from: str | None
    read: Access
    write: Access
    because: tuple[str, ...]
    source: str
    as_of: str | None
    mine: bool | msgspec.UnsetType = msgspec.UNSET
    seen: bool | msgspec.UnsetType = msgspec.UNSET
    version: str | msgspec.UnsetType = msgspec.UNSET
    role: str | msgspec.UnsetType | None = msgspec.UNSET
    owner: str | msgspec.UnsetType = msgspec.UNSET
    note: str | msgspec.UnsetType = msgspec.UNSET


def compatibility(
    table: TableArgument,
    version: VersionOption = None,
    after: AfterOption = None,
    clients: ClientsOption = None,
    json: JsonFlag = False,
) -> None:
    """Show which other clients read and write the table, and which get wrong results; now, or after a change.

    Also works for tables that this program cannot read. Unknown means that no source was found. Changes nothing. The
    worst come first: wrong results, then refusals, then unknown. With --clients, or the environment variable
    DELTA_EXPLORER_CLIENTS, your clients come before all others: those in the file, and those that wrote the table.
    """
    if after is not None and version is not None:
        raise RequestError("A change is made to the newest version: give --after or --version, not both.")
    use_clients(clients)
    with patience("Reading the log"):
        opened = open_named(table)
        requirements, lost = _requirements(opened, None if version is None else version_of(opened, version), after)
        mine, unknown = _mine(opened) if my_clients() else ((), "")
    rows = matrix(requirements, judge(requirements, client_facts()), client_facts(), mine)
    if json:
        for row in rows:
            emit(_line(row, with_mine=bool(mine)))
        return
    if unknown:
        note(f"Who wrote the table is not known: {unknown}")
    listing(_HEADINGS, map(_row, rows), "No client is known.", whole=("client", "read", "write"))
    if after is not None:
        listing(_LOSS_HEADINGS, map(_loss_row, lost), "No known client loses access or returns wrong results.")


def _requirements(
    opened: explorer.Table, version: int | None, after: str | None
) -> tuple[Requirements, tuple[AccessLoss, ...]]:
    """Return what the table demands, of which version or after which change, and who loses by the change."""
    plan = None if after is None else opened.plan(read_intent(after), check_rows=False)
    if not isinstance(plan, CommitPlan):
        return opened.requirements(version), ()
    before, then = access_change(opened.snapshot(), plan.proposal, always=True)
    return then, losses(before, then, client_facts())


def _mine(opened: explorer.Table) -> tuple[tuple[MyClient, ...], str]:
    """Return the clients in use; and why those that wrote the table are missing, if its history cannot be read."""
    try:
        seen = writers_seen(opened.provenance_record().commits, client_facts())
    except ExplorerError as error:
        return my_clients(), str(error)
    return with_writers(my_clients(), seen), ""


def _line(row: MatrixRow, *, with_mine: bool) -> CompatibilityLine:
    omitted = {} if with_mine else dict.fromkeys(_ABOUT_MINE, msgspec.UNSET)
    return CompatibilityLine.of(row, as_of=row.as_of or None, **omitted)


def _row(each: MatrixRow) -> tuple[str, ...]:
    called = f"{each.client} (yours)" if each.mine else each.client
    return called, each.version, each.read, each.write, ", ".join(each.because), each.source, each.as_of


def _loss_row(each: AccessLoss) -> tuple[str, ...]:
    return each.client, each.version_from, each.operation, each.before, each.after, ", ".join(each.because)
