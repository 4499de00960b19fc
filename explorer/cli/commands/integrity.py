"""``verify``: whether a log keeps to the protocol and to itself."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, TableArgument
from explorer.cli.output import emit, listing, note, patience
from explorer.cli.tables import location_of
from explorer.core.log.catalog_commits import CommitCatalog
from explorer.core.log.verify import integrity
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from explorer.storage.roots import is_catalog_address
from explorer.storage.served_root import options_of

_FINDINGS: Final = 1
_BROKEN: Final = 3


class ProblemLine(JsonRecord, frozen=True, kw_only=True):
    """A problem of a log; ``version`` is null if it concerns the log as a whole."""

    kind: str
    version: int | None
    file: str
    detail: str
    next_step: str


class VerifyDocument(JsonRecord, frozen=True, kw_only=True):
    """The problems of a log.

    Attributes:
        first_version: The oldest version that can be rebuilt; null if none can.
        chain_head: The head of a hash chain over the commits; null if the newest commit is not stored.
    """

    table: str
    first_version: int | None
    last_version: int
    problems: tuple[ProblemLine, ...]
    chain_head: str | None


def _opened(table: str) -> tuple[LogStore, CommitCatalog | None]:
    """Return the store of a table, and the catalog of its commits where it is named by its name in one."""
    if not is_catalog_address(table):
        location = location_of(table)
        return open_store(location, options_of(location)), None
    from explorer.catalogs.opening import open_catalog_table

    opened = open_catalog_table(table, read_only=True)
    return opened.store, opened.commits


def verify(table: TableArgument, json: JsonFlag = False) -> int:
    """Verify the log: gaps, invalid or contradictory commits, invalid metadata, checksums and checkpoints.

    Exit code 0 if there are no problems, 3 if a problem prevents versions from being read, otherwise 1. Tables that
    need an unsupported feature can be verified too.
    """
    with patience("Reading the whole log"):
        store, catalog = _opened(table)
        report = integrity.verify(store, catalog)
    if json:
        problems = tuple(ProblemLine.of(each) for each in report.problems)
        emit(VerifyDocument.of(report, table=store.root, problems=problems))
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
