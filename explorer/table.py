"""The shell round the core: listing -> segment -> snapshot and history. It holds the store and the caches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from explorer.core.errors import ExplorerError, RequestError, VersionNotFound
from explorer.core.log.catalog_commits import CatalogCommits, CatalogStore
from explorer.core.log.commit import Commit
from explorer.core.log.replay import read_commits
from explorer.core.log.verify.verify import IntegrityReport, verify
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.times import aware_moment, zone_named
from explorer.core.versions.change_feed.feed import ChangeSources, change_sources, check_sources, without_vacuumed
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.delta_log import TableLog
from explorer.core.versions.diff import SnapshotDiff, diff_versions
from explorer.core.versions.history import History
from explorer.core.versions.retention.missing_files import absent, data_locations
from explorer.core.versions.retention.retention import version_retention
from explorer.core.versions.snapshot import Snapshot
from explorer.storage import open_store
from explorer.storage.roots import Roots

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from explorer.core.compatibility.access import ClientVerdict
    from explorer.core.transaction.commit_plan import CommitPlan, CommitResult
    from explorer.core.transaction.intents.records import Intent
    from explorer.jupyter.widget import TableExplorer
    from explorer.spark.changes.row_diff import RowDiff
    from explorer.spark.checks.column_profile import Profile
    from explorer.spark.checks.constraint_check import CheckReport
    from explorer.spark.rows.key_history import RowHistory

__all__ = ["Table", "open_table"]

_T = TypeVar("_T")
_KEPT_SNAPSHOTS: Final = 16


def open_table(
    location: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    roots: Sequence[str] | None = None,
    catalog: CatalogCommits | None = None,
    read_only: bool = False,
    time_zone: str | tzinfo = UTC,
) -> Table:
    """Open a Delta table. Nothing but its log is read, and no engine is started.

    Args:
        location: A folder, or a ``file://``, ``s3://``, ``gs://``, ``az://`` or ``memory://`` URL.
        storage_options: Options of the object store.
        roots: Places that may be read; None allows every place. Absolute paths inside the log are held to it too.
        catalog: What its catalog ratified, for a table whose commits a catalog manages; without it such a table is
            refused.
        read_only: Refuse every commit through this object.
        time_zone: Where partition values that say no zone were written, for instance ``Europe/Berlin``: statistics,
            skipping and rows go by it. No log records it; `Snapshot.zone_doubts` says where it matters.

    Raises:
        TableNotFound: There is no log.
        NotAllowed: The location lies outside ``roots``.
        RequestError: There is no such time zone.
    """
    allowed = None if roots is None else Roots(roots)
    zone = zone_named(time_zone) if isinstance(time_zone, str) else time_zone
    store = open_store(location, storage_options, allowed)
    return Table(store, catalog, read_only=read_only, time_zone=zone, roots=allowed)


class Table:
    """A Delta table, as its log says.

    What was read is kept until `refresh`: versions never change, only new ones appear.

    Attributes:
        store: Where its bytes are.
        log: What was read of its log.
        read_only: True if commits through this object are refused.
        roots: The places that may be read; None allows every place.
    """

    def __init__(
        self,
        store: LogStore,
        catalog: CatalogCommits | None = None,
        *,
        read_only: bool = False,
        time_zone: tzinfo = UTC,
        roots: Roots | None = None,
    ) -> None:
        self.read_only, self.roots = read_only, roots
        self.store = store if catalog is None else CatalogStore(store, catalog)
        self.log = self._located(lambda: TableLog(self.store, catalog, time_zone))

    def __repr__(self) -> str:
        return f"Table({self.location!r})"

    @property
    def location(self) -> str:
        """The table's root as a URL."""
        return self.store.root

    @property
    def name(self) -> str:
        """The last part of the location."""
        return self.location.rstrip("/").rsplit("/", 1)[-1]

    def refresh(self) -> None:
        """Look for new versions."""
        self._located(self.log.refresh)

    def outdate(self) -> None:
        """Look for new versions at the next question."""
        self.log.outdate()

    def latest_version(self) -> int:
        """The newest version, whether it can be rebuilt or not."""
        return self.log.latest

    def version_range(self) -> tuple[int, int]:
        """The oldest and the newest version that can be rebuilt.

        Raises:
            VersionGap: Not even the newest can.
        """
        return self._located(lambda: (self.log.listing.earliest(), self.log.listing.latest))

    def snapshot(self, version: int | None = None, timestamp: datetime | str | None = None) -> Snapshot:
        """Return the table at a version, at a time, or now.

        Args:
            version: The version.
            timestamp: An aware datetime, or ISO 8601 text with a zone; the newest version committed at or before it.

        Raises:
            VersionNotFound: There is no such version, or it can no longer be rebuilt.
            TimestampOutOfRange: No readable version was current then.
            UnsupportedFeature: The version uses a feature this program does not read.
            TableError: The log is broken.
        """
        if version is not None and timestamp is not None:
            raise RequestError("Give a version or a timestamp, not both.")
        if timestamp is not None:
            version = self.history_record().version_at(aware_moment(timestamp))
        return self._located(lambda: self.log.snapshot(self.log.latest if version is None else version))

    def history_record(self) -> History:
        """The recorded commits and lifetimes, read at the first call."""
        return self._located(lambda: self.log.history)

    def history(self, limit: int | None = None) -> pa.Table:
        """Return the commits, newest first.

        Returns:
            version, timestamp (ms, UTC), operation, user_name, engine_info, parameters, metrics (maps of text),
            is_blind_append, num_files_added / _removed / _remasked, bytes_added / _removed, rows_added / _removed
            (rows a reader sees in the files that came and went), rows_masked (rows hidden more than before in files
            that stay), rows_rewritten (rows among those added that were there before), num_files, num_bytes, num_rows,
            num_deleted_rows (after the commit), metadata_changed, protocol_changed, schema_changed, data_change,
            change_files, change_feed, reason. Null means that the log does not say.
        """
        return self.history_record().table(limit)

    def diff(self, from_version: int, to_version: int) -> SnapshotDiff:
        """Compare two versions, in either direction.

        Raises:
            VersionNotFound: One of them cannot be read.
        """
        return self._located(lambda: diff_versions(self.history_record(), from_version, to_version))

    def change_sources(
        self,
        from_version: int,
        to_version: int,
        inferred: bool = False,
        *,
        schema_version: int | None = None,
        skip: bool = False,
    ) -> ChangeSources:
        """Find the files that hold the changes of a range of versions, both ends included, and check that they exist.

        Args:
            from_version, to_version: The range.
            inferred: Tell versions without a recorded change feed by the files that came and went; rows that a commit
                copied from one file to another then appear as deleted and inserted.
            schema_version: Version whose schema the rows are shown with; see `explorer.core.versions.change_feed.feed`.
            skip: Leave out versions that cannot be told, and name them, instead of refusing the range.

        Raises:
            RequestError: The range runs backwards.
            VersionNotFound: It leaves the versions that the log tells of.
            ChangeFeedGap: The feed was off in between, the schema changed, or a file was deleted by VACUUM.
        """

        def find() -> ChangeSources:
            found = change_sources(
                self.store,
                self.log.listing,
                self.history_record(),
                from_version,
                to_version,
                inferred=inferred,
                schema_version=schema_version,
                skip=skip,
            )
            if skip:
                return without_vacuumed(self.store, found)
            check_sources(self.store, found)
            return found

        return self._located(find)

    def changes(
        self, from_version: int, to_version: int | None = None, inferred: bool = False, *, skip: bool = False
    ) -> DataFrame:
        """Return what changed in a range of versions, both ends included, as a Spark DataFrame.

        The table's columns, then ``_change_type``, ``_commit_version`` and ``_commit_timestamp``; arguments, errors
        and what was inferred or skipped: `explorer.spark.changes.changes.changes`.
        """
        from explorer.spark.engine.session import require_pyspark

        require_pyspark()
        from explorer.spark.changes.changes import changes

        return changes(self, from_version, to_version, inferred=inferred, skip=skip).frame

    def row_diff(self, from_version: int, to_version: int, keys: Sequence[str] | None = None) -> RowDiff:
        """Compare the rows of two versions, matched by key columns if given; see `explorer.spark.changes.row_diff`."""
        from explorer.spark.engine.session import require_pyspark

        require_pyspark()
        from explorer.spark.changes.row_diff import row_diff

        return row_diff(self, from_version, to_version, keys)

    def row_history(
        self, key: Mapping[str, Any], from_version: int | None = None, to_version: int | None = None
    ) -> RowHistory:
        """Which versions had the rows of a key, with what values; see `explorer.spark.rows.key_history`."""
        from explorer.spark.engine.session import require_pyspark

        require_pyspark()
        from explorer.spark.rows.key_history import row_history

        return row_history(self, key, from_version, to_version)

    def retention(self, now: datetime) -> pa.Table:
        """Say of every version whether it can be read, and until when that is safe; looks for all its files.

        Args:
            now: The present, with a zone.

        Returns:
            One row a version, ascending: version, status (readable, at risk, log gone, data gone), at_risk_from (ms,
            UTC), by (the property that sets the time), reason, missing_files (some of those that are gone),
            num_missing_files; see `explorer.core.versions.retention.retention`.
        """

        def judge() -> pa.Table:
            history = self.history_record()
            missing = absent(self.store, data_locations(history.lifetimes))
            return version_retention(history, self.log.listing, now, missing)

        return self._located(judge)

    def verify(self) -> IntegrityReport:
        """Verify the whole log: gaps, broken and contradictory commits, checksums and checkpoints against replay.

        Returns:
            The problems, the range of versions, and the head of a hash chain over the commits.
        """
        return self._located(lambda: verify(self.store))

    def leftovers(self) -> pa.Table:
        """List temporary files of writers that were stopped: path, size, modified; see
        `explorer.core.maintenance.temporary_files`."""
        from explorer.core.maintenance.temporary_files import leftovers

        return self._located(lambda: leftovers(self.store))

    def column_lineage(self) -> Lineage:
        """How each column was named and typed over the readable versions."""
        return self._located(lambda: self.history_record().lineage())

    def compatibility(self, version: int | None = None) -> tuple[ClientVerdict, ...]:
        """Which other clients read and write a version, also one that this program cannot read."""
        from explorer.core.compatibility.access import compatibility, stored_requirements
        from explorer.core.compatibility.client_facts import client_facts

        wanted = self.log.latest if version is None else version
        found = self._located(
            lambda: self.log.on_segment(wanted, lambda segment: stored_requirements(self.store, segment))
        )
        return compatibility(found, client_facts())

    def commits(self, from_version: int, to_version: int) -> Iterator[Commit]:
        """Read the commits of a range of versions, both ends included, as far as they are in the log."""
        found = self.log.listing.commits.items()
        return read_commits(self.store, [path for version, path in found if from_version <= version <= to_version])

    def commit_actions(self, version: int) -> list[bytes]:
        """Return the lines of one commit as they stand in the log.

        Raises:
            VersionNotFound: The commit's file is gone.
        """
        path = self.log.listing.commits.get(version)
        if path is None:
            raise VersionNotFound(f"The commit of version {version} is not in the log.", version=version)
        return [line for line in self.store.read(path.path).splitlines() if line.strip()]

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
        """
        from explorer.spark.scan.scan import rows

        return rows(self, self.snapshot(version, timestamp), where, row_identity)

    def plan(
        self,
        intent: Intent | Mapping[str, Any] | str,
        *,
        accept: Sequence[str] = (),
        check_rows: bool = True,
        user: str | None = None,
        rows: Any = None,
        watch: Callable[[Any], None] | None = None,
    ) -> CommitPlan:
        """Plan a change: the exact actions, every guard with its evidence, what follows. Nothing is written.

        Args:
            intent: A record of `explorer.core.transaction.intents.records`, or its JSON.
            accept: Names of guards that may stay unknown.
            check_rows: Let Spark look at the rows where a guard needs it; else such a guard is unknown.
            user: Who would commit.
            rows: An Arrow table or a Spark DataFrame that an append takes instead of its source.
            watch: Called with the `explorer.spark.engine.job.Job` that looks at the rows, once it has begun.

        Raises:
            InvalidIntent: The intent makes no sense, in itself or on this table.
            Cancelled: The look at the rows was cancelled.
        """
        from explorer.core.transaction.planner import make_plan

        asked = {"accept": accept, "check_rows": check_rows, "user": user, "rows": rows, "watch": watch}
        return self._located(lambda: make_plan(self, intent, **asked))

    def commit(
        self,
        plan: CommitPlan,
        *,
        reason: str | None = None,
        user: str | None = None,
        watch: Callable[[Any], None] | None = None,
    ) -> CommitResult:
        """Commit a plan; what came of it is a value.

        Args:
            plan: The plan. If commits came since, it is made anew on top of them where they do not stand against it.
            reason: Why; kept in the history.
            user: Who commits.
            watch: Called with the `explorer.spark.engine.job.Job` that looks at the rows again for that, once it has
                begun.

        Raises:
            NotAllowed: The table was opened for reading only.
        """
        from explorer.core.transaction.commit.committer import commit_plan

        return self._located(lambda: commit_plan(self, plan, reason=reason, user=user, watch=watch))

    def check(self, predicates: Mapping[str, str], version: int | None = None) -> CheckReport:
        """Hold SQL predicates, by name, against all live rows of a version; NULL breaks them
        (`explorer.spark.checks.constraint_check`).

        Raises:
            EngineUnavailable: Spark or Java is missing.
        """
        from explorer.spark.checks.constraint_check import check

        return check(self, self.snapshot(version), predicates).result()

    def profile(self, columns: Sequence[str] | None = None, version: int | None = None) -> Profile:
        """Count nulls and values of the columns of a version, and compare bounds with the statistics in the log.

        Raises:
            EngineUnavailable: Spark or Java is missing.
        """
        from explorer.spark.checks.column_profile import profile

        return profile(self, self.snapshot(version), columns).result()

    def explore(self, version: int | None = None, compared: int | None = None, tab: str = "diff") -> TableExplorer:
        """Return a notebook widget: the versions, what each commit did, what differs between two of them, and rows.

        Args:
            version: The version chosen at first; None is the newest.
            compared: The version to compare it with; None is the one before.
            tab: The part on show: ``diff``, ``data`` (rows) or ``changes`` (rows that changed).

        Raises:
            EngineUnavailable: The packages of the ``jupyter`` extra are missing.
            VersionNotFound: A version asked for cannot be shown.
        """
        from explorer.jupyter import explore

        return explore(self, version=version, compared=compared, tab=tab)

    def _located(self, action: Callable[[], _T]) -> _T:
        """Run a step and put the table's location into the error it may raise."""
        try:
            return action()
        except ExplorerError as error:
            error.table = error.table or self.location
            raise
