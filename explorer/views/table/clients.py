"""Which clients read and write a version: the newest known release of each, and all known releases as a list.

Invariants: a wrong answer comes before a refusal, as nobody notices it; what no source states is unknown.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from explorer.core.compatibility.access import Access, ClientVerdict, Requirements, compatibility, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.views.listing import Listing, ListingColumn
from explorer.views.table.facts import TableFacts

__all__ = ["client_listing", "newest_releases"]

_WORST_FIRST: Final[tuple[Access, ...]] = ("wrong", "no", "unknown", "yes")
_COLUMNS: Final = (
    ListingColumn("client", "client"),
    ListingColumn("version_from", "from release"),
    ListingColumn("read", "read"),
    ListingColumn("write", "write"),
    ListingColumn("because", "decided by"),
    ListingColumn("source", "source"),
    ListingColumn("as_of", "as of"),
)


def newest_releases(facts: TableFacts, version: int) -> tuple[ClientVerdict, ...]:
    """Return what the newest known release of each client does with a version, the worst first."""
    newest = {verdict.client: verdict for verdict in _verdicts(facts, version)}
    return tuple(sorted(newest.values(), key=_badness))


def client_listing(facts: TableFacts, version: int) -> Listing:
    """Return what every known release does with a version, by client."""
    found = _verdicts(facts, version)
    columns = {column.key: [getattr(verdict, column.key) for verdict in found] for column in _COLUMNS}
    columns["because"] = [", ".join(names) for names in columns["because"]]
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    return Listing(f"{facts.name}-v{version}-clients", _COLUMNS, table, ("client", "because"))


def _badness(verdict: ClientVerdict) -> tuple[int, int]:
    return _WORST_FIRST.index(verdict.read), _WORST_FIRST.index(verdict.write)


def _verdicts(facts: TableFacts, version: int) -> tuple[ClientVerdict, ...]:
    return facts.keep(("clients", version), lambda: compatibility(_requirements(facts, version), client_facts()))


def _requirements(facts: TableFacts, version: int) -> Requirements:
    snapshot = facts.snapshot(version)
    return requirements(snapshot.protocol, snapshot.metadata, has_vectors=snapshot.num_deleted_records > 0)
