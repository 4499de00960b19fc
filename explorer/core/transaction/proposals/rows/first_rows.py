"""The rows that a new table begins with: one commit makes the table and adds them (CREATE TABLE AS SELECT).

Protocol sections: Delta Log Entries, Change Metadata, Add File. Invariants: version 0 holds protocol, metadata and the
files, so nobody sees the table without its rows.
"""

from __future__ import annotations

import msgspec

from explorer.core.log.table_state import TableState
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.times import from_milliseconds
from explorer.core.transaction.proposal import Proposal, Writing
from explorer.core.versions.snapshot import Snapshot

__all__ = ["empty_version", "with_first_rows"]

_SOME_ROWS = "rows-found"


def empty_version(store: LogStore, creation: Proposal) -> Snapshot:
    """What a new table is before its first version: its protocol and metadata, and no file."""
    assert creation.protocol is not None, "a new table has a protocol"
    assert creation.metadata is not None, "a new table has metadata"
    domains = {domain.domain: domain for domain in creation.domains}
    state = TableState(creation.protocol, creation.metadata, {}, domains)
    made = from_milliseconds(creation.metadata.created_time or 0)
    return Snapshot(store, -1, state, lambda: LogicalFiles(()), lambda: made)


def with_first_rows(creation: Proposal, rows: Proposal) -> Proposal:
    """Return a proposal that makes a table with rows.

    Args:
        creation: The table.
        rows: The rows, proposed for `empty_version`; there may be none.
    """
    writing = rows.writing
    if writing is not None:
        complete = writing.complete
        writing = Writing(writing.write, lambda written: with_first_rows(creation, complete(written)))
    guards = tuple(guard for guard in rows.guards if guard.name != _SOME_ROWS)
    return msgspec.structs.replace(
        creation,
        operation="CREATE TABLE AS SELECT",
        metadata=rows.metadata or creation.metadata,
        adds=rows.adds,
        domains=(*creation.domains, *rows.domains),
        metrics=rows.metrics,
        tags=rows.tags,
        guards=(*creation.guards, *guards),
        writing=writing,
        estimate=rows.estimate,
    )
