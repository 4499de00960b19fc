"""``audit``: what rules over the whole log find in tables."""

from __future__ import annotations

from typing import Annotated, Final

import typer

import explorer
from explorer import formatting as fmt
from explorer.auditing.document import audit_document, verdict
from explorer.auditing.finding import SEVERITIES, Finding, Severity
from explorer.auditing.verdict import Audit
from explorer.cli.arguments import ClientsOption, JsonFlag, use_clients
from explorer.cli.errors import exit_code, facts_of
from explorer.cli.output import complain, emit, listing, note, patience
from explorer.core.errors import ExplorerError, TableNotFound
from explorer.storage.schemes import spellings
from explorer.storage.served_roots import ServedRoots

__all__ = ["register"]

_FINDINGS: Final = 1

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE|ROOT...",
        help=f"Tables, or folders that hold tables: folders, or a {spellings(lasting=True)} URL of a table.",
        show_default=False,
    ),
]
FailOn = Annotated[
    Severity | None, typer.Option("--fail-on", help="Exit with 1 if a finding is as severe as this, or more severe.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(audit)


def audit(tables: Tables, json: JsonFlag = False, fail_on: FailOn = None, clients: ClientsOption = None) -> int:
    """Ask every rule of tables, from their logs alone: lost rows, hazards, clients, holes, retention, files.

    With --clients, findings speak first of the clients that the file names, and one that answers wrongly is an error.

    A table that cannot be read never stops the rest: its error goes to stderr, and the exit code is that of the first
    such error. Else it is 1 if --fail-on is given and a finding is that severe, and 0 without one.

    JSON, a line a table: table, version (the newest), time (of the audit), basis (log), verdict (a sentence), findings
    [{id, severity (error, warning, info), title, evidence [{text, version}], effect, remedy ({label, intent, command},
    or null), versions [[first, last]], files, rows, bytes, deadline}], notAnswered [{id, reason}], foundNothing [id],
    digest (SHA-256 of the rest, as JSON with sorted keys and no spaces).
    """
    use_clients(clients)
    broken, severe = 0, False
    for given in tables:
        try:
            locations = _tables_at(given)
        except ExplorerError as error:
            locations = []
            complain(facts_of(error), as_json=json)
            broken = broken or exit_code(error)
        for location in locations:
            try:
                with patience(f"Reading {fmt.plain(location)}"):
                    table = explorer.open_table(location)
                    found = table.audit()
            except ExplorerError as error:
                complain(facts_of(error), as_json=json)
                broken = broken or exit_code(error)
                continue
            severe = severe or (fail_on is not None and any(_at_least(each, fail_on) for each in found.findings))
            if json:
                emit(audit_document(found, table.location))
            else:
                _print(found, table.location)
    return broken or (_FINDINGS if severe else 0)


def _tables_at(given: str) -> list[str]:
    """The table that is named, or those below a folder that is none itself.

    Raises:
        TableNotFound: There is neither.
    """
    found = [ref.location for ref in ServedRoots([given]).tables()]
    if not found:
        raise TableNotFound(f"There is no Delta table in {given} or below it. Give a table, or a folder of tables.")
    return found


def _at_least(finding: Finding, level: Severity) -> bool:
    return SEVERITIES.index(finding.severity) <= SEVERITIES.index(level)


def _print(found: Audit, location: str) -> None:
    listing(
        ["severity", "finding", "effect", "next step"],
        [
            (each.severity, each.title, each.effect, "" if each.remedy is None else each.remedy.label)
            for each in found.findings
        ],
        "Nothing found.",
    )
    note(f"{location}, v{found.version}: {verdict(found)}")
