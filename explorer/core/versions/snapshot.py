"""The table at one version, immutable, lazy about files and statistics.

Protocol sections: Action Reconciliation, Reader Requirements. Invariants: the protocol of the version itself was
checked before anything else (PROTO-004, D-39); a file that cannot be read correctly raises an error, none is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.errors import CorruptDeletionVector, MalformedAction, RequestError
from explorer.core.log.contested import ContestedFiles, contested_files, files_of_empty_strings, respelled_files
from explorer.core.log.table_state import TableState
from explorer.core.protocol import deletion_vectors as vectors
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.arrow.arrays import exact_sum, numbers, one_array, strings
from explorer.core.protocol.clustering import clustering_columns
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import (
    PUBLIC_COLUMNS,
    SCHEMA,
    LogicalFiles,
    vector_descriptors,
)
from explorer.core.protocol.partition_values import ZoneWarning
from explorer.core.protocol.row_tracking import RowTracking, row_tracking
from explorer.core.protocol.schema.column_mapping import MappingMode, physical_paths
from explorer.core.protocol.schema.data_types import StructType, UnreadColumn, format_column, parse_column
from explorer.core.protocol.schema.edit import first_names
from explorer.core.protocol.sql.predicates import Expression
from explorer.core.protocol.statistics.clustering_estimate import (
    ClusteringEstimate,
    Overlap,
    clustering_estimates,
    overlap_depth,
)
from explorer.core.protocol.statistics.column_summary import ColumnSummary, column_summary
from explorer.core.protocol.statistics.data_skipping import SkippingResult, skip_files
from explorer.core.protocol.statistics.file_statistics import (
    FileStatistics,
    StatisticsColumn,
    StatisticsProblem,
    column_ranges,
    coverage,
    statistics_columns,
    statistics_table,
)
from explorer.core.protocol.table_definition import TableDefinition, read_definition
from explorer.core.protocol.table_features import active_features, check_readable

_FOR_ROWS = tuple(
    name
    for name in SCHEMA.names
    if name in ("path", "raw_path", "partition_values", "size", "num_records") or name.startswith("dv_")
)


class Snapshot:
    """One version of a table.

    Attributes:
        version: The version.
        protocol: Versions and features in force.
        metadata: Metadata in force.
        time_zone: The zone of partition values without a zone, as given when the table was opened.
    """

    def __init__(
        self,
        store: LogStore,
        version: int,
        state: TableState,
        load_files: Callable[[], LogicalFiles],
        load_timestamp: Callable[[], datetime],
        *,
        by_catalog: bool = False,
        time_zone: tzinfo = UTC,
    ) -> None:
        check_readable(state.protocol, version, by_catalog=by_catalog)
        self._store = store
        self._by_catalog = by_catalog
        self._state = state
        self._load_files = load_files
        self._load_timestamp = load_timestamp
        self.version = version
        self.time_zone = time_zone
        self.protocol: Protocol = state.protocol
        self.metadata: Metadata = state.metadata
        self._known = read_definition(self.protocol, self.metadata, version) if self.has_schema else None

    def __repr__(self) -> str:
        columns = len(self.schema.fields) if self.has_schema else "unknown"
        return f"Snapshot(version={self.version}, columns={columns})"

    @property
    def has_schema(self) -> bool:
        """Whether the log has a schema; without one the files and the history are known, but not the rows."""
        return self.metadata.schema_string is not None

    @property
    def _definition(self) -> TableDefinition:
        return self._known or read_definition(self.protocol, self.metadata, self.version)

    def require_schema(self) -> None:
        """Check that the log has a schema.

        Raises:
            CorruptTable: It does not.
        """
        _ = self._definition

    @property
    def schema(self) -> StructType:
        """The schema, logical names.

        Raises:
            CorruptTable: The log has none.
        """
        return self._definition.schema

    @property
    def column_mapping_mode(self) -> MappingMode:
        """``none``, ``name`` or ``id``.

        Raises:
            CorruptTable: The log has no schema.
        """
        return self._definition.mapping_mode

    def changed(self, protocol: Protocol, metadata: Metadata) -> Snapshot:
        """Return this version with another protocol and metadata; its files stay.

        Raises:
            CorruptTable: The two do not make a valid table.
            UnsupportedFeature: The protocol is one that this program does not read.
        """
        state = msgspec.structs.replace(self._state, protocol=protocol, metadata=metadata)
        return Snapshot(
            self._store,
            self.version,
            state,
            self._load_files,
            self._load_timestamp,
            by_catalog=self._by_catalog,
            time_zone=self.time_zone,
        )

    def holding(self, files: LogicalFiles) -> Snapshot:
        """Return this version with other files."""
        zone = self.time_zone
        return Snapshot(
            self._store, self.version, self._state, lambda: files, self._load_timestamp, by_catalog=True, time_zone=zone
        )

    def loaded_by(self, change: Callable[[Callable[[], Any]], Callable[[], Any]]) -> Snapshot:
        """Return this version, with what was loaded of it so far; something else loads the rest.

        Args:
            change: Returns what loads its files, or its time, given what does so here.
        """
        snapshot = copy(self)
        snapshot._load_files, snapshot._load_timestamp = change(self._load_files), change(self._load_timestamp)
        return snapshot

    @property
    def state(self) -> TableState:
        """The small actions in force, as records."""
        return self._state

    @property
    def transactions(self) -> dict[str, int]:
        """Latest transaction version of each application (TXN-001)."""
        return {app: txn.version for app, txn in self._state.transactions.items()}

    @property
    def domain_metadata(self) -> dict[str, str]:
        """Configuration of each live domain."""
        return {name: domain.configuration for name, domain in self._state.domains.items()}

    @property
    def properties(self) -> dict[str, str]:
        """Table properties as stored."""
        return dict(self.metadata.configuration)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Logical names of the partition columns as the schema spells them, in partition order, without unread ones."""
        unread = {column.name for column in self.unread_columns}
        names = (name for name in self.metadata.partition_columns if name not in unread)
        return tuple(names) if self._known is None else tuple(map(self._known.spelled, names))

    @property
    def unread_columns(self) -> tuple[UnreadColumn, ...]:
        """The columns that are not in ``schema`` because this program does not read their types; of a log without a
        schema, none are known."""
        return () if self._known is None else self._known.unread

    @property
    def clustering_columns(self) -> tuple[str, ...]:
        """Dotted logical names of the clustering columns, in their order; empty if the table is not clustered."""
        paths = clustering_columns(self.schema, self.column_mapping_mode, self.domain_metadata)
        return tuple(format_column(path) for path in paths)

    @property
    def row_tracking(self) -> RowTracking:
        """Whether rows have stable ids, and where these are stored."""
        return row_tracking(self.protocol, self.metadata, self.domain_metadata)

    @cached_property
    def timestamp(self) -> datetime:
        """When the version was committed, UTC."""
        return self._load_timestamp()

    @cached_property
    def _files(self) -> LogicalFiles:
        return self._load_files()

    @property
    def file_columns(self) -> LogicalFiles:
        """Live files, column by column, with statistics in whatever form they have."""
        return self._files

    @cached_property
    def contested(self) -> ContestedFiles | None:
        """The files of which other readers read other rows or values; None without any (D-03, PART-003)."""
        if self._files.respelled is not None:
            return respelled_files(self.version, self._files)
        masks = "deletionVectors" in active_features(self.protocol)
        by_vectors = contested_files(self.version, self._files) if masks else None
        return self._empty_partition_values if by_vectors is None else by_vectors

    @property
    def _empty_partition_values(self) -> ContestedFiles | None:
        columns = () if self._known is None else self.statistics_columns
        texts = [(each.name, each.physical[0]) for each in columns if each.partition and each.type.name == "string"]
        try:
            return files_of_empty_strings(self.version, self._files, texts) if texts else None
        except MalformedAction:
            return None  # Values that cannot be decoded are refused where the files are read.

    @cached_property
    def logical_files(self) -> pa.Table:
        """Live files with all columns of `explorer.core.protocol.logical_files.SCHEMA`."""
        return self._files.select(SCHEMA.names)

    def files(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return live files, one row each.

        Args:
            columns: Which columns to read; None for all.

        Returns:
            path (decoded), raw_path, partition_values (map<string, string>), size (bytes), modification_time (ms since
            the epoch), data_change, num_records (physical rows, null if not in statistics), dv_unique_id,
            dv_storage_type, dv_cardinality, base_row_id, default_row_commit_version, tags.
        """
        chosen = PUBLIC_COLUMNS if columns is None else columns
        unknown = [name for name in chosen if name not in PUBLIC_COLUMNS]
        if unknown:
            names = ", ".join(PUBLIC_COLUMNS)
            raise RequestError(f"There is no column {unknown[0]!r} of files. Columns: {names}.", column=unknown[0])
        return self._files.select(chosen)

    def file_part(self, start: int, stop: int) -> pa.Table:
        """Return what reading the live files from one of `logical_files` to before another needs of them."""
        return self._files.part(start, stop, _FOR_ROWS)

    @cached_property
    def repeated_path(self) -> str | None:
        """The decoded path of a file that is listed twice; None without any."""
        return self._files.repeated_path()

    @property
    def num_files(self) -> int:
        """Number of live files."""
        return self._files.num_rows

    @property
    def size_in_bytes(self) -> int | None:
        """Bytes of all live files; None if the log lacks that of one of them."""
        return _total(self._files.column("size"))

    @property
    def num_records(self) -> int | None:
        """Physical rows of all live files, masked ones included; None if one file lacks the count (STATS-003)."""
        return _total(self._files.column("num_records"))

    @property
    def num_deleted_records(self) -> int:
        """Rows that deletion vectors hide."""
        return _sum(self._files.column("dv_cardinality"))

    def statistics(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return statistics, one row a file and column.

        Args:
            columns: Dotted logical names; None for all leaf columns.

        Returns:
            path, column, min, max, null_count, num_records, tight; min and max in the columns' type if all share
            one, else a dense union.

        Raises:
            RequestError: A column is not in the schema or has no statistics by its type.
        """
        chosen = self.statistics_columns if columns is None else [self.statistics_column(name) for name in columns]
        return statistics_table(self._statistics, chosen)

    def column_ranges(self, column: str) -> pa.Table:
        """Return bounds of one column: path, min, max (typed), null_count, num_records, tight; one row a file."""
        return column_ranges(self._statistics, self.statistics_column(column))

    def column_ranges_of(
        self, columns: Sequence[str | StatisticsColumn] | None = None, *, known: bool = False
    ) -> Iterator[tuple[StatisticsColumn, pa.Table]]:
        """Yield several columns with their bounds, as `column_ranges` returns them, one at a time.

        Args:
            columns: Dotted logical names, or columns of `statistics_columns`; None for all leaf columns.
            known: Leave out the columns of which no file states anything: most of a wide table.

        Raises:
            RequestError: A column is not in the schema or has no statistics by its type; before the first is yielded.
        """
        named = self.statistics_columns if columns is None else columns
        chosen = [self.statistics_column(column) if isinstance(column, str) else column for column in named]
        for some, statistics in self._statistics.parts(chosen):
            for column in some:
                if not known or statistics.is_known(column):
                    yield column, column_ranges(statistics, column)

    def column_summaries(self, columns: Sequence[str] | None = None) -> tuple[ColumnSummary, ...]:
        """Return columns over all live files, by the log: null counts, minimum and maximum, and how sure they are.

        Args:
            columns: Dotted logical names; None for all leaf columns.

        Raises:
            RequestError: A column is not in the schema or has no statistics by its type.
        """
        chosen = self.statistics_columns if columns is None else [self.statistics_column(name) for name in columns]
        parts = self._statistics.parts(chosen)
        return tuple(column_summary(statistics, column) for some, statistics in parts for column in some)

    def statistics_coverage(self) -> pa.Table:
        """Return which columns have statistics in how many files: column, type, files, files_total, tight."""
        return coverage(self._statistics, self.statistics_columns)

    def skipping(self, where: str | Expression) -> SkippingResult:
        """Return which files a condition needs, and by which rule the others can be skipped.

        Args:
            where: A boolean SQL expression over logical columns, as text or parsed; times without a zone are UTC.

        Raises:
            RequestError: The text is not a condition, or names a column that the table does not have.
        """
        return skip_files(where, self.schema, self.statistics_columns, self._statistics)

    def misleading(self, where: str, matched: Collection[str]) -> tuple[str, ...]:
        """Return the files with matching rows that data skipping skips, in the order of the log.

        Each file returned proves that its statistics contradict its data, as its rows were read and matched.

        Args:
            where: The condition; one that the core cannot read excludes no file.
            matched: Decoded paths of live files in which a row matches.
        """
        if not matched:
            return ()
        try:
            files = self.skipping(where).files
        except RequestError:
            return ()
        pairs = zip(files.column("path").to_pylist(), files.column("kept").to_pylist(), strict=True)
        return tuple(path for path, needed in pairs if not needed and path in matched)

    def clustering(self, where: str | Expression) -> tuple[ClusteringEstimate, ...]:
        """Estimate the files that a condition would read if the table were ordered by one of its columns, one a column.

        Args:
            where: As for `skipping`.

        Raises:
            RequestError: The text is not a condition, or names a column that the table does not have.
        """
        sizes = one_array(self._files.select(["size"]).column(0).chunks, pa.int64())
        return clustering_estimates(where, self.schema, self.statistics_columns, self._statistics, sizes)

    def overlap(self, column: str) -> Overlap:
        """Return how many files may contain a value of a column: files with bounds, average and greatest depth."""
        return overlap_depth(self._statistics, self.statistics_column(column))

    def statistics_problems(self) -> tuple[StatisticsProblem, ...]:
        """Return statistics that could not be used, and so count as unknown (STATS-002): path and detail."""
        return self._statistics.problems()

    def zone_warnings(self) -> tuple[ZoneWarning, ...]:
        """Return partition columns whose values are times without a zone, so that they depend on `time_zone` (D-18)."""
        return self._statistics.zone_warnings()

    @cached_property
    def statistics_columns(self) -> tuple[StatisticsColumn, ...]:
        """Leaf columns that may have statistics, in schema order."""
        paths = physical_paths(self.schema, self.column_mapping_mode)
        return statistics_columns(self.schema, paths, self.partition_columns)

    @cached_property
    def _statistics_columns_by_name(self) -> dict[tuple[str, ...], list[StatisticsColumn]]:
        by_name: dict[tuple[str, ...], list[StatisticsColumn]] = {}
        for column in self.statistics_columns:
            by_name.setdefault(_lower(column.path), []).append(column)
        return by_name

    def deletion_vectors(self) -> pa.Table:
        """Return files with a deletion vector, one row each.

        Returns:
            path, raw_path, num_records (physical), cardinality (rows masked), storage_type, unique_id, file (decoded
            location of the vector's file, null when inline), offset, size_in_bytes.
        """
        masked = self.logical_files.filter(self.logical_files.column("dv_unique_id").is_valid())
        where = [vectors.location(vector.id) for vector in vector_descriptors(masked) if vector is not None]
        return pa.table(
            {
                "path": masked.column("path"),
                "raw_path": masked.column("raw_path"),
                "num_records": masked.column("num_records"),
                "cardinality": masked.column("dv_cardinality"),
                "storage_type": masked.column("dv_storage_type"),
                "unique_id": masked.column("dv_unique_id"),
                "file": strings(where),
                "offset": masked.column("dv_offset"),
                "size_in_bytes": masked.column("dv_size_in_bytes"),
            }
        )

    def deletion_vector_rows(self, raw_path: str) -> npt.NDArray[np.uint64]:
        """Return masked row indexes of one file, ascending; empty if it has no deletion vector.

        Raises:
            RequestError: The version has no such file.
            CorruptDeletionVector: The vector's bytes do not match its descriptor, or it masks rows that the file does
                not have (DV-020).
        """
        paths = self._files.select(["raw_path"]).column(0).to_pylist()
        if raw_path not in paths:
            raise RequestError(f"Version {self.version} has no live file {raw_path!r}.", path=raw_path)
        return self.masked_rows(paths.index(raw_path))

    def masked_rows(self, file: int, known: npt.NDArray[np.uint64] | None = None) -> npt.NDArray[np.uint64]:
        """Return masked row indexes of a file by its number; see `deletion_vector_rows`.

        Args:
            file: Its row in `logical_files`.
            known: The same as its vector was read before; only their agreement with the file is checked then.
        """
        live = self.file_part(file, file + 1)
        (descriptor,) = vector_descriptors(live)
        if descriptor is None:
            return np.empty(0, np.uint64)
        masked = vectors.read_rows(self._store, descriptor) if known is None else known
        records, raw_path = live.column("num_records")[0].as_py(), live.column("raw_path")[0].as_py()
        if records is not None and len(masked) and int(masked[-1]) >= records:
            raise CorruptDeletionVector(
                f"The deletion vector {descriptor.unique_id} of {raw_path} masks row {int(masked[-1])}, but the file's "
                f"statistics count {records} rows. One of the two was written for another file.",
                path=raw_path,
                unique_id=descriptor.unique_id,
                version=self.version,
            )
        return masked

    @cached_property
    def _statistics(self) -> FileStatistics:
        return FileStatistics(self._files, self.statistics_columns, self.time_zone)

    def statistics_column(self, name: str) -> StatisticsColumn:
        """Return the column of that name, in its own spelling or the only one that differs by case (SCHEMA-010)."""
        try:
            path = parse_column(name)
        except ValueError:
            path = ()
        same_letters = self._statistics_columns_by_name.get(_lower(path), [])
        matches = [column for column in same_letters if column.path == path] or same_letters
        if len(matches) == 1:
            return matches[0]
        names = first_names(column.name for column in matches or self.statistics_columns)
        what = f"{name!r} may be several columns" if matches else f"There is no column {name!r} with statistics"
        raise RequestError(f"{what} at version {self.version}. Columns: {names}.", column=name)


def _lower(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in path)


def _total(column: pa.Array) -> int | None:
    return None if column.null_count else _sum(column)


def _sum(column: pa.Array) -> int:
    return exact_sum(numbers(column)[0]) if column.null_count < len(column) else 0
