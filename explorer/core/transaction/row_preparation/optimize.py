"""Files to be rewritten into larger or better ordered ones.

Protocol sections: Add File and Remove File, Clustered Table.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from explorer.core.transaction.carried_fields import unknown_fields
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Circumstances, Estimate, Proposal, Writing, Written
from explorer.core.transaction.proposals.rewriting.optimize_files import Compaction, compaction, optimize_files
from explorer.core.transaction.row_preparation.found_files import OnVersion, vet_partitions
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import reuse_unchanged
from explorer.core.versions.snapshot import Snapshot

__all__ = ["optimizing"]

_LEAST_KNOWN = 1 << 20
"""Bytes of a file below which its footer weighs too much to tell the size of its rows in another file."""


def optimizing(log: DeltaLog, intent: intents.Optimize, context: Context, circumstances: Circumstances) -> OnVersion:
    """What proposes a commit that rewrites files into others with the same rows."""
    engine = context.row_engine("optimize")

    def find(snapshot: Snapshot) -> tuple[Compaction, Callable[[], Written]]:
        found = compaction(intent, snapshot, unknown_fields(log, snapshot))
        vet_partitions(engine, snapshot, intent.where)
        layout = FileLayout.of(snapshot)
        return found, lambda: engine.compact(log, snapshot, found.arrangement, layout)

    found_at = reuse_unchanged(find, lambda found: found[0].gone)

    def optimize(snapshot: Snapshot) -> Proposal:
        found, write = found_at(snapshot)

        def complete(written: Written) -> Proposal:
            return optimize_files(intent, snapshot, found, written, circumstances)

        planned = complete(Written(()))
        if not found.gone:
            return planned
        size = sum(add.size for add in found.gone)
        known = size >= _LEAST_KNOWN * len(found.gone)
        estimate = Estimate(rows=found.rows, files=found.arrangement.files, bytes=size if known else None)
        return msgspec.structs.replace(planned, writing=Writing(write, complete), estimate=estimate)

    return optimize
