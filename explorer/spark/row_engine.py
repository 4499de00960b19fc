"""Spark as the row engine of commits: the one implementation of `explorer.core.transaction.row_engine`.

Invariants: nothing of Spark is imported or started before a method is called; a commit's expressions may depend on the
time or the session, as CHECK constraints of the reference may.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from explorer.core.protocol.actions import AddCDCFile
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.transaction.intents.records import Merge, Update
from explorer.core.transaction.new_files.file_facts import Arrangement, LiveFacts, Numbering, RowIndexes, Touched
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.new_files.row_constraints import RowRule, row_rules
from explorer.core.transaction.proposal import GuardResult, Written
from explorer.core.transaction.row_engine import CheckReport, Incoming, MatchedChanges, RowJob
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot
from explorer.spark.engine.session import require_pyspark

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SparkRowEngine"]


class SparkRowEngine:
    """Answers through the session of this process, which starts at the first question."""

    def check(self, log: DeltaLog, snapshot: Snapshot, predicates: Mapping[str, str]) -> RowJob[CheckReport]:
        """See `RowEngine.check`."""
        require_pyspark()
        from explorer.spark.checks.constraint_check import check

        return check(log, snapshot, predicates, repeatable=False)

    def vet(self, schema: StructType, expression: str) -> None:
        """See `RowEngine.vet`."""
        require_pyspark()
        from explorer.spark.scan.predicate import vet

        vet(schema, expression, repeatable=False)

    def reads_like_core(self, snapshot: Snapshot) -> bool:
        """See `RowEngine.reads_like_core`."""
        require_pyspark()
        from explorer.spark.engine.session import engine
        from explorer.spark.scan.pruning import reads_like_core

        return reads_like_core(engine().session(), snapshot)

    def column_types(self, schema: StructType, expressions: Mapping[str, str]) -> GuardResult:
        """See `RowEngine.column_types`."""
        require_pyspark()
        from explorer.spark.checks.generated_types import type_guard

        return type_guard(schema, expressions)

    def matching_rows(
        self, log: DeltaLog, snapshot: Snapshot, where: str, doubted: Collection[str] = ()
    ) -> Mapping[str, RowIndexes]:
        """See `RowEngine.matching_rows`."""
        require_pyspark()
        from explorer.spark.engine.deadline import work_deadline
        from explorer.spark.engine.session import engine
        from explorer.spark.writes.matching_rows import matching_rows

        with work_deadline(engine().session(), where):
            return matching_rows(log, snapshot, where, doubted)

    def files_masking(self, log: DeltaLog, snapshot: Snapshot, where: str) -> Collection[str]:
        """See `RowEngine.files_masking`."""
        require_pyspark()
        from explorer.spark.engine.deadline import work_deadline
        from explorer.spark.engine.session import engine
        from explorer.spark.writes.matching_rows import files_masking

        with work_deadline(engine().session(), where):
            return files_masking(log, snapshot, where)

    def files_with_dropped_columns(self, log: DeltaLog, snapshot: Snapshot) -> Collection[str]:
        """See `RowEngine.files_with_dropped_columns`."""
        require_pyspark()
        from explorer.spark.writes.dropped_columns import files_with_dropped_columns

        return files_with_dropped_columns(log, snapshot)

    def rewrite(
        self,
        log: DeltaLog,
        snapshot: Snapshot,
        touched: Sequence[Touched],
        where: str,
        layout: FileLayout,
        *,
        recorded: bool,
    ) -> Written:
        """See `RowEngine.rewrite`."""
        require_pyspark()
        from explorer.spark.engine.deadline import work_deadline
        from explorer.spark.engine.session import engine
        from explorer.spark.writes.rewrites import rewritten

        with work_deadline(engine().session(), where):
            return rewritten(log, snapshot, touched, where, layout, recorded=recorded)

    def extreme(self, log: DeltaLog, snapshot: Snapshot, column: str, *, greatest: bool) -> int | None:
        """See `RowEngine.extreme`."""
        require_pyspark()
        from explorer.spark.writes.matching_rows import extreme

        return extreme(log, snapshot, column, greatest=greatest)

    def new_fields(self, schema: StructType, source: object) -> tuple[JsonObject, ...]:
        """See `RowEngine.new_fields`."""
        require_pyspark()
        from explorer.spark.writes.incoming import new_fields

        return new_fields(schema, source)

    def incoming_rows(
        self, snapshot: Snapshot, source: object, *, rules: Sequence[RowRule] = (), partitions: bool = False
    ) -> Incoming:
        """See `RowEngine.incoming_rows`."""
        require_pyspark()
        from explorer.spark.engine.deadline import work_deadline
        from explorer.spark.engine.session import engine
        from explorer.spark.writes.incoming import incoming_rows

        with work_deadline(engine().session(), _rules_of(snapshot)):
            return incoming_rows(snapshot, source, rules=rules, partitions=partitions)

    def live_facts(
        self,
        log: DeltaLog,
        snapshot: Snapshot,
        files: pa.Table,
        leaves: Sequence[tuple[tuple[str, ...], StructField]],
    ) -> Mapping[str, LiveFacts]:
        """See `RowEngine.live_facts`."""
        require_pyspark()
        from explorer.spark.writes.live_statistics import live_facts

        return live_facts(log, snapshot, files, leaves)

    def compact(self, log: DeltaLog, snapshot: Snapshot, arrangement: Arrangement, layout: FileLayout) -> Written:
        """See `RowEngine.compact`."""
        require_pyspark()
        from explorer.spark.writes.compaction import compacted

        return compacted(log, snapshot, arrangement, layout)

    def find_changes(
        self,
        log: DeltaLog,
        snapshot: Snapshot,
        intent: Update | Merge,
        source: object,
        doubted: Collection[str] = (),
    ) -> MatchedChanges:
        """See `RowEngine.find_changes`."""
        require_pyspark()
        from explorer.spark.engine.deadline import work_deadline
        from explorer.spark.engine.session import engine
        from explorer.spark.writes.row_changes import find_changes

        with work_deadline(engine().session(), _texts_of(intent)):
            return find_changes(log, snapshot, intent, source, doubted)

    def write_changes(
        self,
        log: DeltaLog,
        snapshot: Snapshot,
        found: MatchedChanges,
        touched: Sequence[Touched],
        layout: FileLayout,
        *,
        numbered: Sequence[Numbering],
        masked: bool,
        recorded: bool,
    ) -> Written:
        """See `RowEngine.write_changes`."""
        require_pyspark()
        from explorer.spark.engine.deadline import work_deadline
        from explorer.spark.engine.session import engine
        from explorer.spark.writes.row_changes import write_changes

        with work_deadline(engine().session(), _rules_of(snapshot)):
            return write_changes(
                log, snapshot, found, touched, layout, numbered=numbered, masked=masked, recorded=recorded
            )

    def write_rows(
        self,
        store: LogStore,
        incoming: Incoming,
        layout: FileLayout,
        numbered: Sequence[Numbering],
    ) -> Written:
        """See `RowEngine.write_rows`."""
        require_pyspark()
        from explorer.spark.engine.deadline import work_deadline
        from explorer.spark.engine.session import engine
        from explorer.spark.writes.incoming import written_rows

        with work_deadline(engine().session(), ""):
            return written_rows(store, incoming, layout, numbered)

    def record_inserts(
        self, log: DeltaLog, snapshot: Snapshot, written: Written, layout: FileLayout
    ) -> tuple[AddCDCFile, ...]:
        """See `RowEngine.record_inserts`."""
        require_pyspark()
        from explorer.spark.writes.recorded_inserts import recorded_inserts

        return tuple(map(layout.change_of, recorded_inserts(log, snapshot, written, layout)))


def _rules_of(snapshot: Snapshot) -> str:
    """The rules of a table that new rows are checked against, as one text."""
    return "; ".join(rule.expression for rule in row_rules(snapshot))


def _texts_of(intent: Update | Merge) -> str:
    """The expressions of an update, or the condition of a merge, as one text."""
    if isinstance(intent, Merge):
        return intent.on
    return "; ".join((intent.where or "", *intent.set.values()))
