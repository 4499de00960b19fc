"""The table that rules are asked of: each part of it is read at first need, once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence, Set
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.auditing.options import NOWHERE, AuditInputs
from explorer.core.compatibility.access import ClientVerdict, Requirements, compatibility, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.demands import demands_of_contested, demands_of_paths
from explorer.core.compatibility.matrix import MatrixRow, matrix
from explorer.core.compatibility.my_clients import MyClient, with_writers
from explorer.core.compatibility.releases import writers_seen
from explorer.core.errors import ExplorerError, TableError
from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.arrow.arrays import (
    Int64s,
    exact_sum,
    joined,
    numbers,
    numpy_array,
    strings,
)
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn, StatisticsProblem
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.commit_times import moment
from explorer.core.versions.commits.commits import Commits
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.history import History
from explorer.core.versions.retention.missing_files import absent, data_locations
from explorer.core.versions.retention.version_states import VersionRisks, VersionStates
from explorer.core.versions.snapshot import Snapshot
from explorer.storage.schemes import STORAGES

_MOST_STATISTICS: Final = 200_000


class Subject:
    """A table at its newest version, with all that its log says.

    Args:
        log: The table's log.
        now: The present, with a zone.
        missing: Those of its needed locations at which a file is missing; None if not checked.
        inputs: Additional inputs, on request.
        commits, lineage, risks, contradictions: The same as the log would give, if they were already read;
            contradictions are None while the log is being read for them.
        problem: Why the history cannot be read, if that is known already.
        mine: Your clients, as named.

    Attributes:
        version: The newest version.
        now: The present, ms since the epoch.
        named_clients: Your clients, as named.
    """

    def __init__(
        self,
        log: DeltaLog,
        now: datetime,
        *,
        missing: Set[str] | None = None,
        inputs: AuditInputs = NOWHERE,
        commits: Callable[[], pa.Table] | None = None,
        lineage: Callable[[], Lineage] | None = None,
        risks: Callable[[], VersionRisks] | None = None,
        contradictions: Callable[[], tuple[tuple[int, str, str], ...] | None] | None = None,
        problem: ExplorerError | None = None,
        mine: Sequence[MyClient] = (),
    ) -> None:
        self.named_clients = tuple(mine)
        self.log = log
        self.version = log.latest_version()
        self.now = milliseconds(now)
        self.inputs = inputs
        self._missing = missing
        self._commits, self._lineage = commits or log.history, lineage or log.column_lineage
        self._risks, self._contradictions = risks or log.version_risks, contradictions or log.contradictions
        self._unreadable = problem

    @property
    def checked_files(self) -> bool:
        """Whether missing files were searched for."""
        return self._missing is not None or self.inputs.stored is not None

    @property
    def basis(self) -> tuple[str, ...]:
        """The inputs: ``log``, ``files``, ``replay`` (of checksums and checkpoints), ``chain``, ``rows``."""
        inputs = self.inputs
        parts = {
            "log": True,
            "files": self.checked_files,
            "replay": inputs.integrity is not None,
            "chain": inputs.chain_head is not None,
            "rows": inputs.rows is not None,
            "footers": inputs.footers is not None,
        }
        return tuple(name for name, done in parts.items() if done)

    @cached_property
    def lists_files(self) -> bool:
        """Whether what the log records of each live file can be decoded; another rule says why not."""
        try:
            self.snapshot.require_schema()
            self.snapshot.file_columns.select(["partition_values", "tags"])
        except TableError:
            return False
        return True

    @cached_property
    def missing(self) -> Set[str] | None:
        """Those of its needed locations at which a file is missing; None if not checked."""
        if self._missing is not None or self.inputs.stored is None:
            return self._missing
        needed = strings(data_locations(self.history.lifetimes))
        listed = pc.is_in(needed, value_set=self.inputs.stored.column("path"))
        # A listing leaves out links, and files outside of the folder.
        return absent(self.log.store, needed.filter(pc.invert(listed)).to_pylist())

    @property
    def listing(self) -> LogListing:
        """What the log folder holds."""
        return self.log.listing

    @property
    def history(self) -> History:
        """The recorded commits."""
        return self.read()

    def read(self) -> History:
        """Read the recorded commits, unless that is done; a history that cannot be read is read once."""
        if self._unreadable is not None:
            raise self._unreadable
        try:
            return self.log.history_record()
        except ExplorerError as error:
            self._unreadable = error
            raise

    @cached_property
    def commits(self) -> Commits:
        """The commits as columns."""
        self.read()
        return Commits(self._commits())

    @cached_property
    def contradictions(self) -> tuple[tuple[int, str, str], ...] | None:
        """What commits must not say of a file and do: version, kind and path; never from the cached log.

        None while the log is being read for it.
        """
        self.read()
        return self._contradictions()

    @cached_property
    def times(self) -> Int64s:
        """When each commit was made, ms since the epoch; 0 where its file is gone."""
        history = self.history
        return np.array([history.timestamp(version) or 0 for version in self.commits.versions.tolist()], np.int64)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The newest version."""
        return self.log.snapshot()

    @cached_property
    def protocol(self) -> Protocol:
        """The protocol in force, also of a version that cannot be read for another reason."""
        try:
            return self.snapshot.protocol
        except ExplorerError:
            known = self.history.protocol_at(self.version)
            if known is None:
                raise
            return known

    @cached_property
    def metadata(self) -> Metadata:
        """The metadata in force, also of a version that cannot be read for another reason."""
        try:
            return self.snapshot.metadata
        except ExplorerError:
            known = self.history.metadata_at(self.version)
            if known is None:
                raise
            return known

    @cached_property
    def live(self) -> Int64s:
        """The live files, as rows of the lifetimes: what is known of them without reading a checkpoint again."""
        life = self.history.lifetimes
        return np.flatnonzero(life.live(life.last))

    def partitions(self, rows: Int64s) -> Int64s:
        """Return a number for the partition of each of some rows of the lifetimes, equal for equal values."""
        values = joined(self.history.lifetimes.take(rows, ["partition_values"]).column(0))
        offsets = numpy_array(values.offsets)
        lengths = np.diff(offsets)
        width = int(lengths.max(initial=0))
        if not width or (lengths != width).any():
            return np.zeros(len(values), np.int64)
        items = values.items.slice(int(offsets[0]), len(values) * width)
        places, known = numbers(items.dictionary_encode().indices)
        codes = np.where(known, places, -1).astype(np.int64).reshape(-1, width)
        kinds = int(codes.max(initial=0)) + 2
        if kinds**width >= 1 << 62:
            return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
        combined = np.zeros(len(codes), np.int64)
        for column in codes.T:
            combined = combined * kinds + column + 1
        return np.unique(combined, return_inverse=True)[1]

    @cached_property
    def live_partitions(self) -> Int64s:
        """The same of the live files."""
        return self.partitions(self.live)

    @property
    def too_many_statistics(self) -> str | None:
        """Why the statistics of all files are not read here; None if they are."""
        files, columns = len(self.live), len(self.snapshot.statistics_columns)
        if files * columns <= _MOST_STATISTICS:
            return None
        return (
            f"The statistics of {fmt.plural(files, 'file')} and {fmt.plural(columns, 'column')} are not all checked "
            "here. See the Statistics tab."
        )

    def column_ranges(self, column: str) -> pa.Table:
        """Return `Snapshot.column_ranges`; all columns are parsed in one pass, as other rules need them."""
        ((_, ranges),) = self.column_ranges_of([column])
        return ranges

    def column_ranges_of(
        self, columns: Sequence[str | StatisticsColumn], *, known: bool = False
    ) -> Iterator[tuple[StatisticsColumn, pa.Table]]:
        """Yield `Snapshot.column_ranges_of`, likewise."""
        _ = self.statistics_problems
        return self.snapshot.column_ranges_of(columns, known=known)

    @cached_property
    def statistics_problems(self) -> tuple[StatisticsProblem, ...]:
        """Statistics of live files that cannot be used."""
        return self.snapshot.statistics_problems()

    @property
    def num_rows(self) -> int | None:
        """Live rows that a reader sees; None if the log does not say."""
        rows, known = self.history.lifetimes.rows
        return exact_sum(rows[self.live]) if known[self.live].all() else None

    @cached_property
    def lineage(self) -> Lineage:
        """How each column was named and typed."""
        self.read()
        return self._lineage()

    @cached_property
    def risks(self) -> VersionRisks:
        """What leads to the loss of versions."""
        self.read()
        return self._risks()

    @cached_property
    def states(self) -> VersionStates:
        """The state of every version now."""
        return self.risks.at(self.now, self.missing)

    @cached_property
    def requirements(self) -> Requirements:
        """What the newest version demands of its clients."""
        some = bool(self.history.lifetimes.with_vector[self.live].any())
        paths = self.history.lifetimes.take(self.live, ["raw_path"]).column(0)
        of_files = demands_of_paths(paths, self.log.location, STORAGES)
        with contextlib.suppress(ExplorerError):
            of_files |= demands_of_contested(self.snapshot.contested)
        return requirements(self.protocol, self.metadata, has_vectors=some, of_files=of_files)

    @cached_property
    def clients(self) -> tuple[ClientVerdict, ...]:
        """What each client can do with the newest version, as far as it is known of its newest release."""
        required, protocol = self.requirements, self.requirements.protocol
        versions = (protocol.min_reader_version, protocol.min_writer_version)
        features = (protocol.reader_features, protocol.writer_features)
        return newest_verdicts(
            versions,
            features,
            required.unused,
            by_id=required.by_id,
            keeps_names=required.keeps_names,
            maps_partitions=required.maps_partitions,
            demands=required.demands,
        )

    @cached_property
    def matrix(self) -> tuple[MatrixRow, ...]:
        """Every client at every version: those in use first, the writers of the table among them, then the worst."""
        facts, required = client_facts(), self.requirements
        mine = with_writers(self.named_clients, writers_seen(self.history.commits, facts))
        return matrix(required, compatibility(required, facts), facts, mine)

    @cached_property
    def my_clients(self) -> tuple[MatrixRow, ...]:
        """The access of your clients."""
        return matrix(self.requirements, (), client_facts(), self.named_clients) if self.named_clients else ()

    def when(self, version: int) -> datetime | None:
        """Return the time of a commit; None if it was deleted."""
        timestamp = self.history.timestamp(version)
        return None if timestamp is None else moment(timestamp)


@lru_cache(maxsize=256)
def newest_verdicts(
    versions: tuple[int, int],
    features: tuple[tuple[str, ...] | None, tuple[str, ...] | None],
    unused: frozenset[str],
    *,
    by_id: bool,
    keeps_names: bool,
    maps_partitions: bool,
    demands: frozenset[str],
) -> tuple[ClientVerdict, ...]:
    """Return the clients of tables with the same demands, judged once."""
    demanded = Requirements(
        Protocol(
            min_reader_version=versions[0],
            min_writer_version=versions[1],
            reader_features=features[0],
            writer_features=features[1],
        ),
        unused,
        by_id=by_id,
        keeps_names=keeps_names,
        maps_partitions=maps_partitions,
        demands=demands,
    )
    return tuple({verdict.client: verdict for verdict in compatibility(demanded, client_facts())}.values())
