"""Live rows of files, described again by the engine.

Protocol section: Per-file Statistics.
"""

from __future__ import annotations

from explorer.core.transaction.carried_fields import unknown_fields
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.new_files.file_actions import adds
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Proposal
from explorer.core.transaction.proposals.rewriting.partition_files import partition_files
from explorer.core.transaction.proposals.rewriting.recompute_statistics import (
    described_leaves,
    recompute_statistics,
)
from explorer.core.transaction.row_preparation.found_files import OnVersion, vet_partitions
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

__all__ = ["describing"]


def describing(log: DeltaLog, intent: intents.RecomputeStatistics, context: Context) -> OnVersion:
    """What proposes statistics of live rows; nothing else is written."""
    engine = context.row_engine("recompute-statistics")

    def describe(snapshot: Snapshot) -> Proposal:
        files = partition_files(intent.where, snapshot)
        vet_partitions(engine, snapshot, intent.where)
        leaves = described_leaves(intent, snapshot, FileLayout.of(snapshot).described)
        facts = engine.live_facts(log, snapshot, files, [(leaf.path, leaf.field) for leaf in leaves])
        named = adds(files, data_change=False, unknown=unknown_fields(log, snapshot))
        chosen = dict(zip(files.column("path").to_pylist(), named, strict=True))
        return recompute_statistics(intent, snapshot, chosen, leaves, facts)

    return describe
