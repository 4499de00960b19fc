"""Rows to append: counted and judged for a plan, written when it is committed.

Protocol sections: Add File and Remove File, Identity Columns.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.transaction.context import Context
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Estimate, Proposal, Writing, Written
from explorer.core.transaction.proposals.rows.append_rows import Addition, append_rows, moved, numberings
from explorer.core.transaction.row_engine import Incoming
from explorer.core.transaction.row_preparation.found_files import OnVersion
from explorer.core.versions.snapshot import Snapshot

__all__ = ["appending"]


def appending(store: LogStore, source: object, context: Context) -> OnVersion:
    """What proposes to append the rows of a source; they are counted again only where the table's rules changed."""
    engine = context.row_engine("append")
    made: list[tuple[Snapshot, Incoming, StructType, Callable[[], Written]]] = []

    def append(snapshot: Snapshot) -> Proposal:
        if not made or _rules_moved(made[0][0], snapshot):
            incoming = engine.incoming_rows(snapshot, source)
            numbered = numberings(snapshot.schema, incoming.given, incoming.rows) if incoming.rows else ()
            layout = FileLayout.of(snapshot)

            def write() -> Written:
                return engine.write_rows(store, incoming, layout, numbered)

            expected = moved(snapshot.schema, {one.column: one.last(incoming.rows) for one in numbered})
            made[:] = [(snapshot, incoming, expected, write)]
        _, incoming, expected, write = made[0]
        return msgspec.structs.replace(
            append_rows(snapshot, Addition(expected, incoming.rows, incoming.guards)),
            writing=Writing(write, lambda written: append_rows(snapshot, _added(snapshot, incoming, written))),
            estimate=Estimate(rows=incoming.rows),
        )

    return append


def _added(snapshot: Snapshot, incoming: Incoming, written: Written) -> Addition:
    return Addition(moved(snapshot.schema, written.marks), written.rows, incoming.guards, written.adds)


def _rules_moved(before: Snapshot, after: Snapshot) -> bool:
    return before.metadata != after.metadata or before.protocol != after.protocol
