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
from explorer.core.transaction.proposals.rows.recompute_statistics import described_leaves, recompute_statistics
from explorer.core.transaction.row_preparation.matched_files import (
    NONE_SKIPPED,
    MatchedFiles,
    OnVersion,
    files_with_rows,
    rewriting,
    skipped,
    statistics_guard,
    vet_partitions,
)
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads, reuse_unchanged
from explorer.core.versions.snapshot import Snapshot

_LEAST_KNOWN = 1 << 20
"""Bytes of a file below which its footer weighs too much to estimate the size of its rows in another file."""


def optimizing(log: DeltaLog, intent: intents.Optimize, context: Context, circumstances: Circumstances) -> OnVersion:
    """Return what proposes a commit that rewrites files into others with the same rows."""
    engine = context.row_engine("optimize")

    def find(snapshot: Snapshot) -> tuple[Compaction, Callable[[], Written]]:
        rewritten = compaction(intent, snapshot, unknown_fields(log, snapshot))
        vet_partitions(engine, snapshot, intent.where)
        layout = FileLayout.of(snapshot)
        return rewritten, lambda: engine.compact(log, snapshot, rewritten.arrangement, layout)

    matches_at = reuse_unchanged(find, lambda rewritten: rewritten[0].files)

    def optimize(snapshot: Snapshot) -> Proposal:
        rewritten, write = matches_at(snapshot)

        def complete(written: Written) -> Proposal:
            return optimize_files(intent, snapshot, rewritten, written, circumstances)

        planned = complete(Written(()))
        if not rewritten.files:
            return planned
        size = sum(add.size for add in rewritten.files)
        known = size >= _LEAST_KNOWN * len(rewritten.files)
        estimate = Estimate(rows=rewritten.rows, files=rewritten.arrangement.files, bytes=size if known else None)
        return msgspec.structs.replace(planned, writing=Writing(write, complete), estimate=estimate)

    return optimize


def describing(log: DeltaLog, intent: intents.RecomputeStatistics, context: Context) -> OnVersion:
    """Return what proposes statistics of live rows; nothing else is written."""
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
    """Return what proposes a commit that rewrites files without masked rows and dropped columns."""
    engine = context.row_engine("purge")

    def find(snapshot: Snapshot) -> _PurgeMatches:
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
            return engine.rewrite(log, snapshot, files_with_rows(touched), "false", layout, recorded=False)

        guards = statistics_guard(snapshot, None, (), unread)
        return _PurgeMatches(touched, Reads(), write, guards, with_dropped=len(dropped))

    matches_at = reuse_unchanged(find, _PurgeMatches.changed)

    def purge(snapshot: Snapshot) -> Proposal:
        matched_files = matches_at(snapshot)

        def complete(rewrite: Written) -> Proposal:
            return purge_rows(
                snapshot,
                matched_files.touched,
                rewrite,
                circumstances,
                with_dropped=matched_files.with_dropped,
                guards=matched_files.guards,
            )

        with_rows_left = files_with_rows(matched_files.touched)
        return rewriting(with_rows_left, matched_files.write, complete) if with_rows_left else complete(Written(()))

    return purge


class _PurgeMatches(MatchedFiles, frozen=True, kw_only=True):
    """The files that a purge rewrites, and how many of them hold a dropped column."""

    with_dropped: int
