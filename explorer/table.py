"""The table that a person or a program opens: its log, joined to the engine of rows and to the committer.

Invariants: nothing is decided here. The table's state comes from `explorer.core.versions.delta_log`, rows from
`explorer.spark`, changes from `explorer.core.transaction` and `explorer.core.maintenance`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

import pyarrow as pa

from explorer.configuration.in_force import in_force
from explorer.core.errors import NotAllowed
from explorer.core.log.catalog_commits import CommitCatalog
from explorer.core.log.index_cache import IndexCache
from explorer.core.protocol.limits import CHECKPOINT_VARIABLE, DECODED_VARIABLE
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.times import zone_named
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.located import learning, located
from explorer.storage import open_store
from explorer.storage.roots import AllowedRoots, Roots, is_catalog_address
from explorer.storage.served_root import GivenRoots, options_of, with_options
from explorer.variables import ACTIVITY_VARIABLE, OFF

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from explorer.auditing import Audit, AuditOptions, Subject
    from explorer.auditing.erasure import Erasure
    from explorer.catalogs.entry import CatalogEntry
    from explorer.core.compatibility.access import ClientVerdict, Requirements
    from explorer.core.compatibility.matrix import MatrixRow
    from explorer.core.maintenance.journal import MaintenanceEntry
    from explorer.core.transaction.alignment import AlignmentStep
    from explorer.core.transaction.approval import Approval
    from explorer.core.transaction.commit.batch_writer import BatchWriter
    from explorer.core.transaction.commit_plan import Plan, PlanResult
    from explorer.core.transaction.context import Context
    from explorer.core.transaction.intents.records import Intent
    from explorer.core.transaction.row_engine import CheckReport, RowJob
    from explorer.core.transaction.undoing.undo import Undo
    from explorer.core.versions.retention.horizon import Horizon
    from explorer.core.versions.retention.readable_until import FolderScan
    from explorer.core.versions.snapshot import Snapshot
    from explorer.core.versions.table_comparison import TableComparison
    from explorer.job import Job
    from explorer.jupyter.widget import TableExplorer
    from explorer.report import Signer, TableReport
    from explorer.report.case_file import CaseFile
    from explorer.report.since import EarlierReport
    from explorer.spark.changes.row_diff import RowDiff
    from explorer.spark.changes.table_rows import TableRowDiff
    from explorer.spark.checks.column_profile import Profile
    from explorer.spark.rows.key_history import RowHistory

Result = TypeVar("Result", bound="PlanResult")


def open_table(
    location: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    roots: Roots | None = None,
    catalog: CommitCatalog | None = None,
    read_only: bool = False,
    time_zone: str | tzinfo = UTC,
    cache: bool = True,
    spark: SparkSession | None = None,
) -> Table:
    """Open a Delta table. Only its log is read, and no engine is started.

    Args:
        location: A folder, a URL with one of the schemes of `explorer.storage.schemes`, or the name of a table in the
            Unity Catalog that ``UNITY_CATALOG_URL`` names: ``uc://catalog.schema.table``, or in AWS Glue:
            ``glue://database.table``.
        storage_options: Options of the object store; None for those of the configuration file, if it has some.
        roots: Places that may be read, or one place; None allows every place. Absolute paths inside the log must be in
            them too. Where a catalog's table may be: `explorer.catalogs.opening`.
        catalog: What its catalog ratified, for a table whose commits a catalog manages and that is opened by its
            location; without it such a table is refused. A table opened by its name asks its catalog itself.
        read_only: Refuse every commit through this object.
        time_zone: The zone of partition values that name none, for instance ``Europe/Berlin``: statistics, skipping and
            rows use it. No log records it; `Snapshot.zone_warnings` says where it matters.
        cache: Keep what the log says in the user's cache folder, and read only new commits the next time. The variable
            ``DELTA_EXPLORER_CACHE`` names another folder, or switches it off with ``off``.
        spark: A session whose catalog names the table: ``location`` is then ``orders``, ``shop.orders`` or
            ``catalog.shop.orders``. Rows use the session that runs in this process, whether it is given or not.

    Raises:
        TableNotFound: There is no log, or the catalog has no such table.
        NotAllowed: The location is outside ``roots``.
        CatalogError: The catalog refused, failed, or did not answer.
        RequestError: There is no such time zone, or the catalog names something that is not a Delta table.
        InvalidConfiguration: The configuration file that this process found is not valid.
    """
    in_force()
    if os.environ.get(CHECKPOINT_VARIABLE) or os.environ.get(DECODED_VARIABLE):
        from explorer.system import set_limits

        set_limits()
    if spark is not None:
        from explorer.spark.engine.catalog_table import catalog_location

        location = catalog_location(spark, os.fspath(location))
    if storage_options is None:
        storage_options = options_of(os.fspath(location))
    if os.fspath(location).lower().startswith("glue://"):
        from explorer.catalogs.glue import glue_location

        location = glue_location(os.fspath(location), storage_options)
    zone = zone_named(time_zone) if isinstance(time_zone, str) else time_zone
    indexes = _indexes if cache else None
    opened = partial(Table, read_only=read_only, time_zone=zone, indexes=indexes)
    if is_catalog_address(location):
        from explorer.catalogs.opening import open_catalog_table

        table = open_catalog_table(
            os.fspath(location), storage_options=storage_options, roots=roots, read_only=read_only
        )
        return opened(table.store, table.commits, roots=table.roots, catalog_entry=table.entry)
    allowed = None if roots is None else AllowedRoots(roots)
    return opened(open_store(location, storage_options, allowed), catalog, roots=allowed)


def compare(
    first: Table | str | os.PathLike[str],
    second: Table | str | os.PathLike[str],
    *,
    version: int | None = None,
    second_version: int | None = None,
) -> TableComparison:
    """Compare two tables by their logs: schema, properties, protocol, constraints, partitioning, counts, sizes, bounds.

    A table that needs options is opened with `open_table` first. Rows are compared by `Table.compare_rows`; what would
    make the second table like the first is `Table.alignment`.

    Args:
        first, second: The tables, opened or by their location; a table may be compared with itself.
        version, second_version: Of the first table and of the second; None for the newest.

    Returns:
        What differs in the definition of the two, the numbers of both, and the bounds of each column.

    Raises:
        VersionNotFound: One of the versions cannot be read; ``table`` says whose.
        TableNotFound, RequestError, CatalogError, TableError: As for `open_table` and `Table.snapshot`.
    """
    one, other = (table if isinstance(table, Table) else open_table(table) for table in (first, second))
    return one.compare(other, version=version, other_version=second_version)


def _indexes() -> IndexCache | None:
    """What is kept of tables; imported late, as opening a table needs none of it."""
    from explorer.storage.index_folder import user_indexes
    from explorer.version import VERSION

    return user_indexes(VERSION)


def context_of(roots: AllowedRoots | None) -> Context:
    """Return what the core needs to plan and commit: this machine, and Spark for the rows.

    Args:
        roots: The places that rows may be read from; None allows every place.
    """
    from explorer.spark.row_engine import spark_row_engine
    from explorer.system import system_context

    return system_context(spark_row_engine(), None if roots is None else roots.check_source)


class Table(DeltaLog):
    """A Delta table: its log, its rows through Spark, and changes to it.

    Attributes:
        read_only: True if commits through this object are refused.
        roots: The places that may be read; None allows every place.
        sources: The places that rows of a change may be read from: ``roots``, unless others are allowed too.
        catalog_entry: What the catalog says of the table; None if it was opened by its location.
        known_by: How the record of activity, where one is configured, has it that the person who commits is known;
            None where the host records commits itself.
    """

    known_by: str | None = ""

    def __init__(
        self,
        store: LogStore,
        catalog: CommitCatalog | None = None,
        *,
        read_only: bool = False,
        time_zone: tzinfo = UTC,
        roots: AllowedRoots | None = None,
        indexes: Callable[[], IndexCache | None] | None = None,
        catalog_entry: CatalogEntry | None = None,
    ) -> None:
        super().__init__(store, catalog, time_zone, indexes)
        self.read_only, self.roots, self.sources = read_only, roots, roots
        self.catalog_entry = catalog_entry

    @located
    def snapshot(self, version: int | None = None, timestamp: datetime | str | None = None) -> Snapshot:
        """Return the table at a version, at a time, or now.

        Args:
            timestamp: An aware datetime, or a text that `explorer.core.versions.commits.time_words` reads: ISO 8601, or
                words such as ``yesterday 18:00``; UTC unless it names a zone. The newest version committed at or before
                it.

        Raises:
            RequestError: The text is not a time, or more than one.
            VersionNotFound, TimestampOutOfRange, UnsupportedFeature, TableError: As for `DeltaLog.snapshot`.
        """
        if isinstance(timestamp, str) and version is None:
            from explorer.core.versions.named_version import version_at

            return super().snapshot(version_at(timestamp, datetime.now(UTC), self.provenance_record).version)
        return super().snapshot(version, timestamp)

    @learning
    def changes(
        self,
        from_version: int,
        to_version: int | None = None,
        inferred: bool = False,
        *,
        skip: bool = False,
        schema_version: int | None = None,
        keys: Sequence[str] = (),
        where: str | None = None,
        by_id: bool = False,
    ) -> DataFrame:
        """Return what changed in a range of versions, both ends included, as a Spark DataFrame.

        The table's columns, then ``_change_type``, ``_commit_version`` and ``_commit_timestamp``; arguments, errors
        and what was inferred, paired or skipped: `explorer.spark.changes.changes.changes`.
        """
        from explorer.spark.engine.session import require_pyspark

        require_pyspark()
        from explorer.spark.changes.changes import changes

        frame = changes(
            self,
            from_version,
            to_version,
            inferred=inferred,
            skip=skip,
            schema_version=schema_version,
            keys=keys,
            where=where,
            by_id=by_id,
        )
        return frame.frame

    @learning
    def changed_rows(
        self,
        from_version: int,
        to_version: int | None = None,
        inferred: bool = False,
        *,
        skip: bool = False,
        schema_version: int | None = None,
        keys: Sequence[str] = (),
        where: str | None = None,
        by_id: bool = False,
    ) -> pa.Table:
        """Return what changed in a small range of versions as Arrow, ascending by version; starts no Spark.

        Columns, arguments and rows are those of `changes`; variants are JSON text.

        Raises:
            UnsupportedFeature: Only Spark reads them, or they take too much to be read here; the message says why.
            ChangeFeedGap, RequestError, VersionNotFound, StorageError, CorruptTable: As in `changes`.
        """
        from explorer.changed_rows.small_changes import changed_rows

        last = self.latest_version() if to_version is None else to_version
        sources = self.change_sources(
            from_version, last, inferred, schema_version=schema_version, skip=skip, by_id=by_id
        )
        return changed_rows(self, sources, keys, where)

    @learning
    def row_diff(self, from_version: int, to_version: int, keys: Sequence[str] | None = None) -> RowDiff:
        """Compare the rows of two versions, matched by key columns if given; see `explorer.spark.changes.row_diff`."""
        from explorer.spark.engine.session import require_pyspark

        require_pyspark()
        from explorer.spark.changes.row_diff import row_diff

        return row_diff(self, from_version, to_version, keys)

    @learning
    def row_history(
        self, key: Mapping[str, Any], from_version: int | None = None, to_version: int | None = None
    ) -> RowHistory:
        """Which versions had the rows of a key, with what values; see `explorer.spark.rows.key_history`."""
        from explorer.spark.engine.session import require_pyspark

        require_pyspark()
        from explorer.spark.rows.key_history import row_history

        return row_history(self, key, from_version, to_version)

    def compare(
        self, other: DeltaLog, *, version: int | None = None, other_version: int | None = None
    ) -> TableComparison:
        """Compare this table with another one, or with itself elsewhere or at another version; only logs are read.

        Args:
            other: The table to compare with.
            version, other_version: Of this table, and of the other; None for the newest.

        Returns:
            What differs in the definition of the two, the numbers of both, and the bounds of each column.

        Raises:
            VersionNotFound: One of the versions cannot be read; ``table`` says whose.
        """
        from explorer.core.versions.table_comparison import compare_tables

        names = self.location, other.location
        return compare_tables(self.snapshot(version), other.snapshot(other_version), names)

    def alignment(
        self, other: DeltaLog, *, version: int | None = None, other_version: int | None = None
    ) -> tuple[AlignmentStep, ...]:
        """Return the intents that would make another table like this one, without its rows; nothing is planned.

        Args:
            other: The table that would be changed.
            version, other_version: As in `compare`.
        """
        from explorer.core.transaction.alignment import alignment
        from explorer.core.versions.table_comparison import compare_tables

        model, changed = self.snapshot(version), other.snapshot(other_version)
        return alignment(model, changed, compare_tables(model, changed, (self.location, other.location)).differences)

    def compare_rows(
        self,
        other: DeltaLog,
        keys: Sequence[str] | None = None,
        *,
        version: int | None = None,
        other_version: int | None = None,
    ) -> TableRowDiff:
        """Compare the rows of two tables through Spark, matched by key columns if given.

        Columns, rules and errors: `explorer.spark.changes.table_rows.table_row_diff`; an error's ``table`` says whose
        rows it is about.
        """
        from explorer.spark.engine.session import require_pyspark

        require_pyspark()
        from explorer.spark.changes.table_rows import table_row_diff

        return table_row_diff((self, self.snapshot(version)), (other, other.snapshot(other_version)), keys)

    @located
    def leftovers(self) -> pa.Table:
        """List temporary files of writers that were stopped: path, size, modified; see
        `explorer.core.maintenance.folder_listing`."""
        from explorer.core.maintenance.folder_listing import leftovers

        return leftovers(self.store)

    @located
    def compatibility(self, version: int | None = None) -> tuple[ClientVerdict, ...]:
        """Which other clients read and write a version, even one that this program cannot read."""
        from explorer.core.compatibility.access import compatibility
        from explorer.core.compatibility.client_facts import client_facts

        return compatibility(self.requirements(version), client_facts())

    @located
    def requirements(self, version: int | None = None) -> Requirements:
        """What a version demands of its clients, even one that this program cannot read."""
        from explorer.core.compatibility.access import stored_requirements
        from explorer.storage.schemes import STORAGES

        wanted = self.latest_version() if version is None else version
        return self.on_segment(wanted, lambda segment: stored_requirements(self.store, segment, STORAGES))

    @learning
    def rows(
        self,
        version: int | None = None,
        timestamp: datetime | str | None = None,
        where: str | None = None,
        row_identity: bool = False,
    ) -> DataFrame:
        """Return the rows of a version as a Spark DataFrame; starts Spark at the first call.

        Args:
            version, timestamp: As in `snapshot`.
            where: A boolean SQL expression over logical column names.
            row_identity: Add the columns ``_file``, ``_row_index``, ``_row_id`` and ``_row_commit_version``; see
                `explorer.spark.scan.scan.rows`.

        Raises:
            EngineUnavailable: Spark or Java is missing.
            RequestError: The table has a column of a name that ``row_identity`` adds.

        Warns:
            ContestedWarning: Other clients read other rows of the version, as its log contradicts itself.
        """
        from explorer.core.log.contested import ContestedWarning
        from explorer.spark.scan.scan import rows

        snapshot = self.snapshot(version, timestamp)
        frame = rows(self, snapshot, where, row_identity)
        if snapshot.contested is not None:
            warnings.warn(snapshot.contested.message, ContestedWarning, stacklevel=2)
        return frame

    @learning
    def head(
        self,
        limit: int = 10,
        *,
        where: str | None = None,
        version: int | None = None,
        timestamp: datetime | str | None = None,
    ) -> pa.Table:
        """Return the first live rows of a version as Arrow, in the order of the log's files; starts no Spark.

        Args:
            limit: Rows at most.
            where: SQL of one boolean expression, such as ``amount > 0``; only rows for which it is TRUE.
            version, timestamp: As in `snapshot`.

        Returns:
            The table's columns, logical names, types as in `rows`, variants as JSON text.

        Raises:
            RequestError: ``limit`` is negative.
            UnsupportedFeature: Only Spark reads them, or they take too much to be read here; the message says why.
            StorageError: A data file is missing.
            CorruptTable: A data file's size, a partition value or a deletion vector contradicts the log.

        Warns:
            ContestedWarning: As in `rows`.
        """
        from explorer.core.log.contested import ContestedWarning
        from explorer.first_rows.first_rows import head

        snapshot = self.snapshot(version, timestamp)
        rows = head(self, snapshot, limit, where).table
        if snapshot.contested is not None:
            warnings.warn(snapshot.contested.message, ContestedWarning, stacklevel=2)
        return rows

    def files_frame(self, version: int | None = None, *, statistics: Sequence[str] | None = None) -> DataFrame:
        """Return the live files of a version as a Spark DataFrame, replayed by Spark; the driver holds no file list.

        Args:
            version: As in `snapshot`.
            statistics: Dotted names of the columns whose bounds are given; None for all.

        Returns:
            The columns of `Snapshot.files`, ``partition`` and ``statistics``; see
            `explorer.spark.log.live_files.files_frame`.

        Raises:
            EngineUnavailable: Spark or Java is missing.
            RequestError: A column is not in the schema or has no statistics by its type.
        """
        from explorer.spark.log.live_files import files_frame

        return files_frame(self, self.snapshot(version), statistics).frame

    def check_source(self, source: str) -> None:
        """Check that rows of a change may be read from a place.

        Raises:
            NotAllowed: It is outside ``sources``.
        """
        if self.sources is not None:
            self.sources.check_source(source)

    @located
    @learning
    def plan(
        self,
        intent: Intent | Mapping[str, object] | str,
        *,
        accept: Sequence[str] = (),
        check_rows: bool = True,
        user: str | None = None,
        rows: pa.Table | DataFrame | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
    ) -> Plan:
        """Plan a change: the exact actions, every guard with its evidence, what follows. Nothing is written.

        Args:
            intent: A record of `explorer.core.transaction.intents.records`, or its JSON.
            accept: Names of guards that may stay unknown, or fail where they say that they can be accepted.
            check_rows: Let Spark check the rows if a guard needs it; otherwise such a guard is unknown.
            user: Who would commit.
            rows: An Arrow table or a Spark DataFrame that append, overwrite and merge take instead of their source.
            watch: Called with the job that checks the rows, once it has begun.

        Returns:
            A `MaintenancePlan` for an intent that makes no version (checkpoint, compact-log, clean-log, vacuum), else a
            `CommitPlan`.

        Raises:
            InvalidIntent: The intent makes no sense, in itself or on this table.
            Cancelled: The check of the rows was cancelled.
        """
        from explorer.core.maintenance.planner import plan_maintenance
        from explorer.core.transaction.commit_info import check_provenance
        from explorer.core.transaction.intents.documents import parse_intent
        from explorer.core.transaction.intents.named_times import dated
        from explorer.core.transaction.intents.records import MaintenanceIntent
        from explorer.core.transaction.planner import Request, make_plan
        from explorer.core.transaction.preparation import prepared

        wanted, context = dated(parse_intent(intent), datetime.now(UTC)), context_of(self.sources)
        check_provenance(user=user)
        if isinstance(wanted, MaintenanceIntent):
            return plan_maintenance(self, wanted, context, accept)
        self.refresh()
        propose = prepared(self, wanted, context, rows)
        return make_plan(self, Request(wanted, propose, tuple(accept), check_rows, user), context, watch)

    @located
    @learning
    def undo(self, version: int | None = None) -> Undo:
        """Return what undoes a commit: its exact inverse, else a restore and the later commits that it undoes too.

        Nothing is planned or written: ``table.plan(table.undo(7).steps[0])`` plans the first step.

        Args:
            version: The version that the commit wrote; None for the newest.

        Raises:
            VersionNotFound: The table has no such version, or the commit is no longer in the log.
        """
        from explorer.core.transaction.undoing.undo import undo_of

        self.refresh()
        return undo_of(self, version)

    @located
    @learning
    def commit(
        self,
        plan: Plan,
        *,
        reason: str | None = None,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
        approval: Approval | None = None,
    ) -> PlanResult:
        """Carry out a plan; returns the outcome.

        Args:
            plan: The plan. After later commits it is made again on top of them, unless they conflict with it.
            reason: Why; recorded in the history.
            user: Who commits.
            watch: Called with the job that checks the rows again for that, once it has begun.
            approval: The approval of a second person; the commit names both, and a plan that is no longer the approved
                one is rejected.

        Raises:
            NotAllowed: The table was opened read-only.
            StorageError: The record of activity, where one is configured, cannot be written. Nothing was committed.
        """
        self._check_writable()
        commit = partial(self._committed, plan, reason=reason, user=user, watch=watch, approval=approval)
        return commit() if self.known_by is None else recorded(plan, self.location, commit, user, self.known_by)

    def _committed(
        self,
        plan: Plan,
        *,
        reason: str | None,
        user: str | None,
        watch: Callable[[RowJob[CheckReport]], None] | None,
        approval: Approval | None,
    ) -> PlanResult:
        from explorer.core.maintenance.planner import do_maintenance
        from explorer.core.transaction.commit.committer import commit_plan
        from explorer.core.transaction.commit_info import check_provenance
        from explorer.core.transaction.commit_plan import CommitPlan

        context = context_of(self.sources)
        if isinstance(plan, CommitPlan):
            return commit_plan(self, plan, context, reason=reason, user=user, watch=watch, approval=approval)
        check_provenance(user=user, reason=reason)
        from explorer.storage.journal.journal_folder import user_journal

        return do_maintenance(self, plan, context, user=user, reason=reason, journal=user_journal(), approval=approval)

    @located
    @learning
    def maintenance(self) -> tuple[MaintenanceEntry, ...]:
        """Return what is known of the table's maintenance, the newest first.

        That is what this user's programs did on this machine (vacuum, clean-log, checkpoint, compact-log), with person,
        reason, digest and deleted paths, and every VACUUM that the log records.

        Raises:
            StorageError: The log or the journal cannot be read.
        """
        from explorer.core.maintenance.journal import maintenance_of
        from explorer.storage.journal.journal_folder import user_journal

        return maintenance_of(self, user_journal())

    def batch_writer(
        self,
        app_id: str,
        intent: Intent | Mapping[str, object],
        *,
        user: str | None = None,
        reason: str | None = None,
    ) -> BatchWriter:
        """Return what ``writeStream.foreachBatch`` takes to write the batches of a stream here, each of them once.

        Args:
            app_id: The name under which the table records the batches; the same each time the stream is started.
            intent: What is done with a batch: append, overwrite or merge; its source is the batch.
            user: Who commits.
            reason: Why; recorded in the history.

        Raises:
            InvalidIntent: The intent makes no sense in itself, or does not take rows.
            NotAllowed: The table was opened read-only.
        """
        from explorer.core.transaction.commit.batch_writer import BatchWriter

        self._check_writable()
        writer = BatchWriter(self, app_id, intent, context_of(self.sources), user, reason)
        writer.check()
        return writer

    def _check_writable(self) -> None:
        if self.read_only:
            raise NotAllowed(
                f"The table {self.location} was opened read-only. To change it, open it with read_only=False.",
                location=self.location,
            )

    @located
    def matrix(
        self, version: int | None = None, clients: str | os.PathLike[str] | None = None
    ) -> tuple[MatrixRow, ...]:
        """Which clients read and write a version: those in use first, then the worst before the others.

        Args:
            version: The version; None for the newest.
            clients: The file that names the clients in use; None for the one that the environment names. The clients
                that wrote the table count as in use, too.
        """
        from explorer.core.compatibility.access import compatibility
        from explorer.core.compatibility.client_facts import client_facts
        from explorer.core.compatibility.matrix import matrix
        from explorer.core.compatibility.my_clients import with_writers
        from explorer.core.compatibility.releases import writers_seen
        from explorer.system import my_clients

        facts, needed = client_facts(), self.requirements(version)
        seen = writers_seen(self.provenance_record().commits, facts)
        return matrix(needed, compatibility(needed, facts), facts, with_writers(my_clients(clients), seen))

    def audit(
        self,
        now: datetime | None = None,
        *,
        check_files: bool = False,
        verify: bool = False,
        check_rows: bool = False,
        check_footers: bool = False,
        chain_head: str | None = None,
        clients: str | os.PathLike[str] | None = None,
    ) -> Audit:
        """Ask every rule of the newest version: findings with their evidence, from the log alone unless more is asked.

        Args:
            now: The present, with a zone; else that of this machine.
            check_files: Also list the table's folder: files that are missing, changed in size, or named by nothing.
            verify: Also replay the whole log against each checksum and each checkpoint, as `verify` does.
            check_rows: Also check the table's own rules against all its rows, through Spark, and do what
                ``check_footers`` does.
            check_footers: Also hold the statistics of the log against the Parquet footer of every live file.
            chain_head: A head of the hash chain that `verify` gave earlier: whether the log still holds what it held.
            clients: The file that names the clients in use; None for the one that the environment names.

        Raises:
            EngineUnavailable: ``check_rows`` is asked for, and Spark or Java is missing.
            RequestError: ``chain_head`` is no head of a hash chain.
        """
        from explorer.auditing import AuditOptions, audit

        options = AuditOptions(
            check_files=check_files,
            verify=verify,
            check_rows=check_rows,
            check_footers=check_footers,
            chain_head=chain_head,
            clients=clients,
        )
        return audit(self._subject(now, options))

    def _subject(self, now: datetime | None, options: AuditOptions) -> Subject:
        """Return the table as rules read it, with the additional inputs of the options."""
        from explorer.auditing import Subject
        from explorer.auditing.options import read_inputs
        from explorer.system import my_clients

        inputs = read_inputs(self, options, lambda snapshot, rules: self.check(rules, snapshot.version))
        present = datetime.now(UTC) if now is None else now
        return Subject(self, present, inputs=inputs, mine=my_clients(options.clients))

    @located
    def horizon(self, now: datetime | None = None, *, scan: FolderScan | None = None, folder: bool = False) -> Horizon:
        """Find out what a VACUUM now would leave readable, and what it would free, for every retention.

        Args:
            now: The present, with a zone; else that of this machine.
            scan: The listing of the folder, if it is known already.
            folder: List the folder: files that nobody recorded as deleted, and those that no action names, count then.
        """
        listed = self.folder() if folder and scan is None else scan
        return super().horizon(datetime.now(UTC) if now is None else now, scan=listed)

    @located
    def folder(self) -> FolderScan:
        """List the table's folder and hold it against the log: unused files, orphans, and files that are missing."""
        from explorer.core.maintenance.folder_listing import scan_folder

        return scan_folder(self)

    def report(
        self,
        now: datetime | None = None,
        *,
        check_files: bool = False,
        check_rows: bool = False,
        check_footers: bool = False,
        chain_head: str | None = None,
        clients: str | os.PathLike[str] | None = None,
        by: str | None = None,
        since: Sequence[EarlierReport] | None = None,
        case: CaseFile | None = None,
        signer: Signer | None = None,
        one_of_many: bool = False,
    ) -> TableReport:
        """Audit the newest version, verify its log, and state both in a document with its digest.

        Args:
            now, check_files, check_rows, check_footers, chain_head, clients: As in `audit`.
            by: Who makes the report.
            since, case, signer, one_of_many: As in `explorer.report.table_report.table_report`.

        Raises:
            RequestError: The earlier report is not of this table.
            EngineUnavailable: ``check_rows`` is asked for, and Spark or Java is missing.
        """
        from explorer.auditing import AuditOptions, audit
        from explorer.report import table_report

        options = AuditOptions(
            check_files=check_files,
            verify=True,
            check_rows=check_rows,
            check_footers=check_footers,
            chain_head=chain_head,
            clients=clients,
        )
        subject = self._subject(now, options)
        return table_report(
            subject,
            audit(subject),
            by=by,
            since=since,
            case=case,
            signer=signer,
            scan=self.folder if check_files else None,
            maintenance=self.maintenance,
            one_of_many=one_of_many,
        )

    @overload
    def erasure(self, where: str, *, beside: GivenRoots = ()) -> Erasure: ...

    @overload
    def erasure(self, where: Mapping[str, str], *, beside: GivenRoots = ()) -> dict[str, Erasure]: ...

    def erasure(self, where: str | Mapping[str, str], *, beside: GivenRoots = ()) -> Erasure | dict[str, Erasure]:
        """Find every stored copy of the rows that match: live, masked, history, change feed, orphans, and the log.

        Args:
            where: A boolean SQL expression over the columns of the newest version; or several by name, which are
                searched in one pass over the files.
            beside: Tables, or places that hold tables: those that share files with this one, or have a column of a
                predicate, are named as not searched. Only their logs are read. Those that are not a `ServedRoot` with
                options of its own have the options of the configuration file.

        Returns:
            A proof; of several predicates one each, by name.

        Raises:
            ExpressionRefused: A predicate cannot be used, or fails on some row.
            TableError, StorageError: The log is broken, or the folder cannot be listed.
            EngineUnavailable: Spark or Java is missing.
        """
        if isinstance(where, str):
            return self.erasure_job({"": where}, beside=beside).result()[""]
        return self.erasure_job(where, beside=beside).result()

    def erasure_job(
        self, predicates: Mapping[str, str], now: datetime | None = None, *, beside: GivenRoots = ()
    ) -> Job[dict[str, Erasure]]:
        """Begin what `erasure` does, as a job that reports progress and can be cancelled.

        Args:
            predicates: SQL by name.
            now: The present, with a zone; else that of this machine.
            beside: As in `erasure`.

        Raises:
            EngineUnavailable: Spark is missing.
            TableNotFound: There is no such place to look beside this table.
        """
        from explorer.auditing.erasure import Neighbour, out_of_reach
        from explorer.auditing.erasure.search import erasure_job
        from explorer.catalogs.folders import served_roots

        places = served_roots(with_options(beside, None), most=None)

        def others() -> Iterator[Neighbour]:
            for ref in places.tables():
                opened = partial(open_table, ref.location, storage_options=ref.storage_options, read_only=True)
                yield Neighbour(ref.location, opened)
            yield from (out_of_reach(each.location, each.why) for each in places.unlisted)

        present = datetime.now(UTC) if now is None else now
        return erasure_job(self, predicates, present, others=others(), looked_in=places.locations)

    @learning
    def check(self, predicates: Mapping[str, str], version: int | None = None) -> CheckReport:
        """Check SQL predicates, by name, against all live rows of a version; NULL breaks them
        (`explorer.spark.checks.constraint_check`).

        Raises:
            EngineUnavailable: Spark or Java is missing.
        """
        from explorer.spark.engine.session import require_pyspark

        require_pyspark()
        from explorer.spark.checks.constraint_check import check

        return check(self, self.snapshot(version), predicates).result()

    @learning
    def profile(
        self, columns: Sequence[str] | None = None, version: int | None = None, *, values: bool = False
    ) -> Profile:
        """Count nulls and values of the columns of a version, and compare bounds with the statistics in the log.

        Args:
            columns: Dotted logical names; None takes all.
            version: The version; None for the newest.
            values: Also count the commonest values of each column, or its values by range.

        Raises:
            EngineUnavailable: Spark or Java is missing.
        """
        from explorer.spark.engine.session import require_pyspark

        require_pyspark()
        from explorer.spark.checks.column_profile import profile

        return profile(self, self.snapshot(version), columns, values=values).result()

    def explore(
        self,
        version: int | str | None = None,
        compare_version: int | str | None = None,
        tab: str = "diff",
        *,
        selected_files: Sequence[str] = (),
        predicate: str = "",
        theme: str = "auto",
        allow_commits: bool = False,
        beside: Sequence[DeltaLog] = (),
    ) -> TableExplorer:
        """Return a notebook widget: the versions, what each commit did, what differs between two of them, and rows.

        Args:
            version: The version chosen at first, by number or a time such as ``yesterday 18:00``; None is the newest.
            compare_version: The version to compare it with, in the same forms; None is the one before.
            tab: The part that is shown: ``overview``, ``diff``, ``files``, ``columns``, ``deletion-vectors``,
                ``statistics``, ``data`` (rows), ``changes`` (rows that changed), ``row`` (one row), ``audit`` or
                ``act`` (what a change would do).
            selected_files: Decoded paths of data files.
            predicate: A boolean SQL expression: which files it reads, and which rows are shown.
            theme: ``auto`` (as the page), ``light`` or ``dark``.
            allow_commits: Let the widget commit what it plans.
            beside: Other tables, to compare this one with.

        Raises:
            EngineUnavailable: The packages of the ``jupyter`` extra are missing.
            RequestError: A value asked for cannot be shown.
        """
        from explorer.jupyter import explore

        return explore(
            self,
            version=version,
            compare_version=compare_version,
            tab=tab,
            selected_files=selected_files,
            predicate=predicate,
            theme=theme,
            allow_commits=allow_commits,
            beside=beside,
        )


def recorded(plan: Plan, location: str, commit: Callable[[], Result], user: str | None, known_by: str = "") -> Result:
    """Carry out a plan, and record it where a record of activity is configured.

    Args:
        plan, location: The plan, and where its table is.
        commit: Carries it out.
        user, known_by: Who commits, and how that is known.

    Raises:
        StorageError: The record cannot be written. Nothing was committed.
    """
    if os.environ.get(ACTIVITY_VARIABLE, "") in ("", OFF):
        return commit()
    from explorer.activity.configured import commit_in_record

    return commit_in_record(plan, location, commit, person=user or "", known_by=known_by)
