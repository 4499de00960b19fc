"""Which clients read and write a version: those in use, the newest known release of each other one, and all as a list.

Invariants: wrong results come before a refusal, because they go unnoticed; access without a source is unknown.
"""

from __future__ import annotations

from typing import Final

import msgspec
import pyarrow as pa

from explorer.core.compatibility.access import compatibility, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.demands import demands_of_contested, demands_of_paths
from explorer.core.compatibility.matrix import WORST_FIRST, MatrixRow, matrix
from explorer.core.compatibility.my_clients import with_writers
from explorer.core.compatibility.releases import writers_seen
from explorer.storage.schemes import STORAGES
from explorer.system import my_clients
from explorer.views.listing import Listing, ListingColumn
from explorer.views.table.facts import TableFacts

_COLUMNS: Final = (
    ListingColumn("client", "client"),
    ListingColumn("version", "release"),
    ListingColumn("mine", "in use"),
    ListingColumn("read", "read"),
    ListingColumn("write", "write"),
    ListingColumn("because", "decided by"),
    ListingColumn("source", "source"),
    ListingColumn("as_of", "as of"),
)


def clients_in_use(facts: TableFacts, version: int) -> tuple[MatrixRow, ...]:
    """Return the access of your clients, and of those that wrote the table, to a version, most severe first."""
    return tuple(row for row in _matrix(facts, version) if row.mine)


def newest_releases(facts: TableFacts, version: int) -> tuple[MatrixRow, ...]:
    """Return what the newest known release of each other client does with a version, the worst first."""
    rows = _by_release(facts, version)
    mine = {row.client for row in rows if row.mine}
    last = {row.client: row for row in rows if row.client not in mine}
    known = client_facts().versions
    newest = (msgspec.structs.replace(row, version=known[row.client][-1]) for row in last.values())
    return tuple(sorted(newest, key=_badness))


def client_listing(facts: TableFacts, version: int) -> Listing:
    """Return what every known release does with a version: those in use first, the worst before the others."""
    matrix = _matrix(facts, version)
    texts = {
        "client": [row.client for row in matrix],
        "version": [row.version for row in matrix],
        "mine": ["wrote the table" if row.seen else "yes" if row.mine else "" for row in matrix],
        "read": [row.read for row in matrix],
        "write": [row.write for row in matrix],
        "because": [", ".join(row.because) for row in matrix],
        "source": [row.source for row in matrix],
        "as_of": [row.as_of for row in matrix],
    }
    table = pa.table({name: pa.array(values, pa.string()) for name, values in texts.items()})
    return Listing(f"{facts.name}-v{version}-clients", _COLUMNS, table, ("client", "because"))


def _badness(row: MatrixRow) -> tuple[int, int]:
    return WORST_FIRST.index(row.read), WORST_FIRST.index(row.write)


def _matrix(facts: TableFacts, version: int) -> tuple[MatrixRow, ...]:
    rows = _by_release(facts, version)
    return (*(row for row in rows if row.mine), *sorted((row for row in rows if not row.mine), key=_badness))


def _by_release(facts: TableFacts, version: int) -> tuple[MatrixRow, ...]:
    """Return your clients, then all clients in the order of the facts, oldest release first."""
    return facts.keep(("clients", version), lambda: _judged(facts, version))


def _judged(facts: TableFacts, version: int) -> tuple[MatrixRow, ...]:
    snapshot, known = facts.snapshot(version), client_facts()
    required = requirements(
        snapshot.protocol,
        snapshot.metadata,
        has_vectors=snapshot.num_deleted_records > 0,
        of_files=demands_of_paths(snapshot.files(["raw_path"]).column(0), facts.log.location, STORAGES)
        | demands_of_contested(snapshot.contested),
    )
    seen = () if facts.problem is not None else writers_seen(facts.log.history_record().commits, known)
    rows = matrix(required, compatibility(required, known), known, with_writers(my_clients(), seen))
    order = {client: place for place, client in enumerate(known.versions)}
    others = sorted((row for row in rows if not row.mine), key=lambda row: _release(row, order, known.versions))
    return (*(row for row in rows if row.mine), *others)


def _release(row: MatrixRow, order: dict[str, int], versions: dict[str, list[str]]) -> tuple[int, int]:
    return order[row.client], versions[row.client].index(row.version)
