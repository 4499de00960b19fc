"""The interface through which a commit reads and writes rows; Spark implements it.

Protocol sections: CHECK Constraints, Generated Columns, Deletion Vectors. Invariants: the core judges, the
engine reads, evaluates and writes; an expression that may run code is refused by the engine before it is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec
import pyarrow as pa

from explorer.core.errors import ExpressionRefused
from explorer.core.protocol.actions import AddCDCFile
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.transaction.intents.records import Merge, Update
from explorer.core.transaction.new_files.file_facts import Arrangement, LiveFacts, Numbering, RowIndexes, Touched
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.new_files.row_constraints import RowRule
from explorer.core.transaction.proposal import GuardResult, RowCounts, SourceContent, Written
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

_Answer_co = TypeVar("_Answer_co", covariant=True)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result for one predicate.

    Attributes:
        name: Its name.
        expression: Its SQL.
        violations: Rows for which it is not TRUE; None if it could not be checked.
        rows_checked: Live rows that it was checked against; None if it could not be checked.
        files: The files with violations, in the order of the log: path, raw_path, violations, first_row_index (the
            place of the first one, from 0, masked rows counted), rows_checked.
        samples: Some of the violating rows, from the first files with any: ``_file`` (decoded path) and ``_row_index``,
            then the table's columns, variants as JSON text. The two have more underscores in front where the table has
            columns of these names.
        error: Why it could not be checked: its ``reason`` is ``runtime`` if it fails on some row (a division by
            zero, say); otherwise it describes what is wrong with the SQL.
        has_nulls: Whether it is NULL, and not FALSE, for some of the violating rows; None where that was not checked.
    """

    name: str
    expression: str
    violations: int | None
    rows_checked: int | None
    files: pa.Table
    samples: pa.Table
    error: ExpressionRefused | None = None
    has_nulls: bool | None = None

    @property
    def passed(self) -> bool:
        """True if every row satisfies it."""
        return self.violations == 0


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Predicates checked against one version.

    Attributes:
        version: The version.
        predicates: One result for each predicate, in the order given.
    """

    version: int
    predicates: tuple[CheckResult, ...]

    def __repr__(self) -> str:
        passed = sum(result.passed for result in self.predicates)
        return f"CheckReport(version={self.version}, {passed} of {len(self.predicates)} predicates passed)"

    @property
    def passed(self) -> bool:
        """True if every row satisfies every predicate."""
        return all(result.passed for result in self.predicates)


class Incoming(msgspec.Struct, frozen=True):
    """Rows to write in the table's schema; they stay in the engine.

    Attributes:
        rows: How many there are.
        given: Names of the table's columns that they bring.
        guards: The table's rules, judged over them.
        source: What the engine needs to write them.
        partitions: The partitions they are in, values as in the log in the order of the partition columns; None where
            that was not requested.
        content: Reads what their files contain; see `Proposal.source`.
    """

    rows: int
    given: tuple[str, ...]
    guards: tuple[GuardResult, ...]
    source: object
    partitions: frozenset[tuple[str | None, ...]] | None = None
    content: Callable[[], SourceContent] | None = None


class MatchedChanges(msgspec.Struct, frozen=True):
    """Rows that an update or a merge changes; they stay in the engine.

    Attributes:
        matched: Indexes of the rows that change or go, by decoded path of their file.
        counts: How many rows change.
        guards: The table's rules, judged over the new rows, and whether each row of the table has one match.
        source: What the engine needs to write the new rows.
        given: Columns that every inserted row brings a value for.
        content: Reads what the files of a merge's source contain; see `Proposal.source`.
    """

    matched: Mapping[str, RowIndexes]
    counts: RowCounts
    guards: tuple[GuardResult, ...]
    source: object
    given: tuple[str, ...] = ()
    content: Callable[[], SourceContent] | None = None


class RowJob(Protocol[_Answer_co]):
    """A job over rows that takes time: its progress and its result."""

    @property
    def state(self) -> str:
        """``running``, ``done``, ``failed`` or ``cancelled``."""
        ...

    @property
    def phase(self) -> str:
        """What it does now, in words."""
        ...

    @property
    def done(self) -> int:
        """Parts of the phase that are done."""
        ...

    @property
    def total(self) -> int:
        """Parts of the phase, as far as they are known."""
        ...

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        ...

    def subscribe(self, callback: Callable[[RowJob[_Answer_co]], None]) -> Callable[[], None]:
        """Call back on every step of progress; the function returned ends this."""
        ...

    def result(self, timeout: float | None = None) -> _Answer_co:
        """Wait for the answer.

        Raises:
            Cancelled: It was cancelled.
            ExplorerError: It failed.
        """
        ...

    def cancel(self) -> None:
        """Ask it to stop."""
        ...

    def check_cancelled(self) -> None:
        """Raise Cancelled if it was cancelled."""
        ...


class RowEngine(Protocol):
    """What a commit needs of the rows. Every method raises EngineUnavailable where the engine is missing."""

    def check(self, log: DeltaLog, snapshot: Snapshot, predicates: Mapping[str, str]) -> RowJob[CheckReport]:
        """Begin to check SQL predicates, by name, against all live rows of a version; NULL breaks them."""
        ...

    def vet(self, schema: StructType, expression: str) -> None:
        """Check that a predicate may be evaluated on rows of a schema.

        Raises:
            ExpressionRefused: It may not.
        """
        ...

    def reads_like_core(self, snapshot: Snapshot) -> bool:
        """Return whether names and times in a predicate mean the same to the engine and to the core, so that files can
        be skipped by statistics."""
        ...

    def column_types(self, schema: StructType, expressions: Mapping[str, str]) -> GuardResult:
        """Judge whether the expressions of generated columns, by column, give the types of their columns."""
        ...

    def matching_rows(
        self, log: DeltaLog, snapshot: Snapshot, where: str, doubted: Collection[str] = ()
    ) -> Mapping[str, RowIndexes]:
        """Find the live rows for which a predicate is TRUE: row indexes by decoded path of the file.

        Args:
            doubted: Decoded paths of files to read although their statistics exclude them.

        Raises:
            RequestError: The predicate cannot be used.
        """
        ...

    def files_masking(self, log: DeltaLog, snapshot: Snapshot, where: str) -> Collection[str]:
        """Return decoded paths of the live files that mask a row for which a predicate is TRUE.

        Raises:
            ExpressionRefused: The predicate cannot be used.
        """

    def files_with_dropped_columns(self, log: DeltaLog, snapshot: Snapshot) -> Collection[str]:
        """Return decoded paths of the live files that hold a column, or a nested field, that the schema lacks."""
        ...

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
        """Write the rows of some files that a deletion leaves; its workers write, no row comes here.

        Args:
            touched: The files; of one that keeps no row only the deleted rows are written.
        """
        ...

    def extreme(self, log: DeltaLog, snapshot: Snapshot, column: str, *, greatest: bool) -> int | None:
        """Return the maximum or the minimum of a column of integers; None if no row has one."""
        ...

    def new_fields(self, schema: StructType, source: object) -> tuple[JsonObject, ...]:
        """Return the columns and nested fields of a source that a schema lacks, as schemaString has them, names dotted.

        Args:
            source: As for `incoming_rows`.

        Raises:
            InvalidIntent: The source cannot be read.
        """
        ...

    def incoming_rows(
        self, snapshot: Snapshot, source: object, *, rules: Sequence[RowRule] = (), partitions: bool = False
    ) -> Incoming:
        """Count rows to write on top of a version, and check them against its rules; nothing is written.

        Args:
            source: A Parquet or CSV file or folder, an Arrow table, or a DataFrame of the engine.

        Raises:
            InvalidIntent: The source cannot be read, or its columns do not fit the table.
        """
        ...

    def live_facts(
        self, log: DeltaLog, snapshot: Snapshot, files: pa.Table, leaves: Sequence[tuple[tuple[str, ...], StructField]]
    ) -> Mapping[str, LiveFacts]:
        """Describe the live rows of some files, by decoded path; files without a live row are left out.

        Args:
            files: Rows of ``snapshot.logical_files``.
        """
        ...

    def compact(self, log: DeltaLog, snapshot: Snapshot, arrangement: Arrangement, layout: FileLayout) -> Written:
        """Write the rows of some files into others, masked ones left out; its workers write, no row comes here.

        Args:
            arrangement: The files, and how the new ones are made of them.
        """
        ...

    def find_changes(
        self, log: DeltaLog, snapshot: Snapshot, intent: Update | Merge, source: object, doubted: Collection[str] = ()
    ) -> MatchedChanges:
        """Find the rows that an update or a merge changes, and check the new rows; nothing is written.

        Args:
            source: What a merge takes its rows from, as for `incoming_rows`; an update has none.
            doubted: As for `matching_rows`, of an update; a merge reads every file.

        Raises:
            RequestError: An expression cannot be used, or the source does not fit the table.
        """
        ...

    def write_changes(
        self,
        log: DeltaLog,
        snapshot: Snapshot,
        matched: MatchedChanges,
        touched: Sequence[Touched],
        layout: FileLayout,
        *,
        numbered: Sequence[Numbering],
        masked: bool,
        recorded: bool,
    ) -> Written:
        """Write the new rows, and of files that are rewritten the rows that stay; its workers write.

        Args:
            log: The table's log.
            snapshot: The version.
            matched: The changes.
            touched: The files with rows that change or go.
            layout: The file layout that the table asks for.
            numbered: The identity columns to fill in inserted rows that bring no value for them.
            masked: Old rows will be masked, so that rows that stay are not written.
            recorded: Record the changes as change data.
        """
        ...

    def write_rows(
        self, store: LogStore, incoming: Incoming, layout: FileLayout, numbered: Sequence[Numbering]
    ) -> Written:
        """Write such rows as new data files; its workers write, no row comes here.

        Args:
            incoming: The rows; they are judged again as they are written, as their source may have changed.
        """
        ...

    def record_inserts(
        self, log: DeltaLog, snapshot: Snapshot, written: Written, layout: FileLayout
    ) -> tuple[AddCDCFile, ...]:
        """Record the rows of files that were just written as inserted, with the values that they got there."""
        ...
