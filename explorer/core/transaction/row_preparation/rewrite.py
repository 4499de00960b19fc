"""Files rewritten or described again while their rows stay: optimize, purge, recomputed statistics.

Protocol sections: Add File and Remove File, Clustered Table, Deletion Vectors, Column Mapping, Per-file Statistics.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.new_files.file_actions import adds, unknown_fields
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Circumstances, Estimate, Proposal, Writing, Written
from explorer.core.transaction.proposals.rows.delete_rows import touched_files
from explorer.core.transaction.proposals.rows.optimize_files import (
    Compaction,
    compaction,
    optimize_files,
    partition_files,
)
from explorer.core.transaction.proposals.rows.purge_rows import files_to_purge, purge_rows
from explorer.core.transaction.proposals.rows.recompute_statistics import (
    described_leaves,
    recompute_statistics,
)
from explorer.core.transaction.row_preparation.matched_files import (
    NONE_SKIPPED,
    Found,
    OnVersion,
    kept_files,
    rewriting,
    skipped,
    statistics_guard,
    vet_partitions,
)
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads, reuse_unchanged
from explorer.core.versions.snapshot import Snapshot

__all__ = ["describing", "optimizing", "purging"]

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


def purging(log: DeltaLog, intent: intents.Purge, context: Context, circumstances: Circumstances) -> OnVersion:
    """What proposes a commit that rewrites files without what readers no longer see."""
    engine = context.row_engine("purge")

    def find(snapshot: Snapshot) -> _Purge:
        # Only a table that maps its columns can drop one and keep its files.
        mapped = snapshot.column_mapping_mode != "none"
        dropped = frozenset(engine.files_with_dropped_columns(log, snapshot)) if mapped else frozenset()
        masking, unread = None, NONE_SKIPPED
        if intent.where is not None:
            masking = frozenset(engine.files_masking(log, snapshot, intent.where))
            if dropped:
                unread = skipped(engine, log, snapshot, intent.where)
                dropped &= masking | engine.matching_rows(log, snapshot, intent.where, unread.doubted).keys()
        matched = files_to_purge(snapshot, masking, dropped)
        touched = touched_files(log.store, snapshot, matched, unknown_fields(log, snapshot))
        layout = FileLayout.of(snapshot)

        def write() -> Written:
            return engine.rewrite(log, snapshot, kept_files(touched), "false", layout, recorded=False)

        guards = statistics_guard(snapshot, None, (), unread)
        return _Purge(touched, Reads(), write, guards, with_dropped=len(dropped))

    found_at = reuse_unchanged(find, _Purge.changed)

    def purge(snapshot: Snapshot) -> Proposal:
        found = found_at(snapshot)

        def complete(rewrite: Written) -> Proposal:
            return purge_rows(
                snapshot, found.touched, rewrite, circumstances, with_dropped=found.with_dropped, guards=found.guards
            )

        kept = kept_files(found.touched)
        return rewriting(kept, found.write, complete) if kept else complete(Written(()))

    return purge


class _Purge(Found, frozen=True, kw_only=True):
    """What a purge found, and how many of its files hold a dropped column."""

    with_dropped: int
