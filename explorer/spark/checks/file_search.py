"""Search data files for rows that match predicates: counts a file, of masked and of other rows, and nothing else.

Protocol sections: Deletion Vectors, Column Mapping, Partition Value Serialization. First the tasks read every footer,
then Spark reads the columns that the predicates name. Invariants: no statistics of the log leave a file out; only
Spark's Parquet reader does, by row group, on what the file's own footer proves. A file that fails is set apart with
its reason and the others are searched without it, so no failure of one hides the rows of another; a fault of a
predicate is the caller's, and ends the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import (
    ExplorerError,
    NotAllowed,
    StorageError,
    TableError,
    UnsupportedFeature,
)
from explorer.core.protocol.arrow.arrays import int64s, strings
from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.logical_files import vector_descriptors
from explorer.core.versions.file_search import SearchGroup, SearchResult
from explorer.spark.engine.expressions import joined
from explorer.spark.engine.failures import failure_of
from explorer.spark.engine.file_addresses import FileAddress
from explorer.spark.engine.session import engine
from explorer.spark.scan.compared import as_compared
from explorer.spark.scan.layout import layout_of_schema
from explorer.spark.scan.masks import MaskWords, is_masked, mask_column, mask_words
from explorer.spark.scan.object_files import read_footers
from explorer.spark.scan.plan import MASK, addresses_of, file_facts, file_rows, session_of
from explorer.spark.scan.predicate import condition, vet
from explorer.spark.scan.results import Reading, to_arrow
from explorer.spark.scan.row_marks import RowMarks

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.job import Job

_FILE: Final = "__explorer_search_file"
_MASKED: Final = "__explorer_search_masked"
_OF_FILES: Final = (StorageError, TableError, UnsupportedFeature, NotAllowed)
"""Faults of a file, and not of the request or the engine."""


def search_files(
    job: Job[Any], log: DeltaLog, snapshot: Snapshot, groups: Sequence[SearchGroup], predicates: Mapping[str, str]
) -> SearchResult:
    """Search files for rows for which a predicate is TRUE.

    Args:
        job: The job that does it, and reports each phase.
        snapshot: The newest version, whose columns the predicates name.
        groups: The files; a key comes once.
        predicates: SQL by name, at least one.

    Raises:
        ExpressionRefused: A predicate cannot be used, or fails on some row.
        EngineUnavailable: Spark or Java is missing.
        Cancelled: The job was cancelled.
    """
    return _FileSearch(job, log, snapshot, predicates).run(groups)


class _FileSearch:
    """What one job does."""

    def __init__(self, job: Job[Any], log: DeltaLog, snapshot: Snapshot, predicates: Mapping[str, str]) -> None:
        self._job, self._log, self._snapshot = job, log, snapshot
        self._predicates = predicates
        self._failed: dict[str, str] = {}
        self._read: list[tuple[str, int, str]] = []
        self._matches: list[tuple[str, str, int, int]] = []

    def run(self, groups: Sequence[SearchGroup]) -> SearchResult:
        self._job.report("Vetting the predicates")
        for text in self._predicates.values():
            vet(self._snapshot.schema, text)
        count = sum(group.files.num_rows for group in groups)
        self._job.report(f"Reading the footers of {count:,} files")
        located = [self._files(group) for group in groups]
        footers: dict[str, dict[str, Any]] = {}
        for strict in (False, True):
            chosen = (files for group, files in zip(groups, located, strict=True) if bool(group.needed) == strict)
            footers |= self._footers([file for files in chosen for file in files], columns=strict)
        self._job.report(f"Searching {count:,} files")
        for group, files in zip(groups, located, strict=True):
            self._search(group, [file for file in files if self._is_sound(file, footers, group)])
        return self._result()

    def _files(self, group: SearchGroup) -> list[_GroupFile]:
        """Return the files of a group that have an address and whose deletion vector could be read."""
        files = []
        vectors = vector_descriptors(group.files)
        for place, address in enumerate(self._addresses(group)):
            key, raw_path = (group.files.column(name)[place].as_py() for name in ("key", "raw_path"))
            try:
                if isinstance(address, ExplorerError):
                    raise address
                vector = vectors[place]
                hidden = (
                    None
                    if vector is None
                    else mask_words(read_rows(self._log.store, vector, raw_path, self._snapshot.version))
                )
                files.append(_GroupFile(place, key, address, hidden))
            except _OF_FILES as error:
                self._failed[key] = error.message
        return files

    def _addresses(self, group: SearchGroup) -> Sequence[FileAddress | ExplorerError]:
        """Return where each file is, or why that is not known; one by one only if one of them fails."""
        try:
            return addresses_of(self._log, group.files)
        except _OF_FILES:
            return [self._address(group.files.slice(place, 1)) for place in range(group.files.num_rows)]

    def _address(self, file: pa.Table) -> FileAddress | ExplorerError:
        try:
            return addresses_of(self._log, file)[0]
        except _OF_FILES as error:
            return error

    def _footers(self, files: Sequence[_GroupFile], *, columns: bool) -> dict[str, dict[str, Any]]:
        """Read the footers, by the files' names, and on request which columns they have."""
        if not files:
            return {}
        addresses = [file.address for file in files]
        frame = read_footers(engine().session(), addresses)
        wanted = frame if columns else frame.drop("columns")
        footers = to_arrow(Reading(wanted, lambda error: _failure(error, addresses)))
        return {row["name"]: row for row in footers.to_pylist()}

    def _is_sound(self, file: _GroupFile, footers: Mapping[str, dict[str, Any]], group: SearchGroup) -> bool:
        footer = footers[file.address.metadata_path]
        reason = footer["failure"] or (_lacking(footer["columns"], group) if group.needed else "")
        if reason:
            self._failed[file.key] = reason
        else:
            self._read.append((file.key, footer["rows"], footer["digest"]))
        return not reason

    def _search(self, group: SearchGroup, files: list[_GroupFile]) -> None:
        """Count in some files; where that fails because of one of them, in the others without it."""
        if not files:
            return
        self._job.check_cancelled()
        try:
            self._matches += self._counted(group, files)
        except _OF_FILES as error:
            culprit = _culprit(error, files, group)
            if culprit is None and len(files) == 1:
                culprit = files[0]
            if culprit is not None:
                self._failed[culprit.key] = error.message
            left = [file for file in files if file is not culprit]
            middle = (len(left) + 1) // 2
            self._search(group, left[:middle])
            self._search(group, left[middle:])

    def _counted(self, group: SearchGroup, files: Sequence[_GroupFile]) -> list[tuple[str, str, int, int]]:
        """Count in files, and return request, key, visible and masked rows of those with a match."""
        version = self._snapshot.version
        layout = layout_of_schema(group.schema, group.partition_columns, version, by_id=group.by_id)
        session = session_of(layout)
        any_mask = any(file.hidden is not None for file in files)
        layout = replace(layout, zone=self._snapshot.time_zone, marks=_marks(any_mask))
        chosen = group.files.take(int64s([file.place for file in files]))
        masks = {MASK: mask_column([file.hidden for file in files])} if any_mask else {}
        addresses = [file.address for file in files]
        facts = file_facts(layout, chosen, addresses, masks, sf.lit(True))
        frame = as_compared(file_rows(session, layout, addresses, facts), layout.schema)
        conditions = self._conditions(session, frame.schema)
        counts = [
            sf.count_if(wanted).alias(f"{kind}{place}")
            for place, condition in enumerate(conditions)
            for kind, wanted in (("v", condition & ~sf.col(_MASKED)), ("m", condition & sf.col(_MASKED)))
        ]
        matches = frame.where(joined(conditions, lambda one, other: one | other)).groupBy(_FILE).agg(*counts)
        rows = to_arrow(Reading(matches, lambda error: _failure(error, addresses, self._texts())))
        answers = []
        for row in rows.to_pylist():
            for place, request in enumerate(self._predicates):
                visible, masked = row[f"v{place}"], row[f"m{place}"]
                if visible or masked:
                    answers.append((request, files[row[_FILE]].key, visible, masked))
        return answers

    def _conditions(self, session: Any, columns: st.StructType) -> list[Column]:
        table = st.StructType([field for field in columns.fields if field.name not in (_FILE, _MASKED)])
        return [condition(session, table, text, repeatable=True) for text in self._predicates.values()]

    def _texts(self) -> str:
        return "; ".join(self._predicates.values())

    def _result(self) -> SearchResult:
        read = [row for row in self._read if row[0] not in self._failed]
        matches = self._matches
        return SearchResult(
            pa.table(
                {
                    "key": strings([key for key, _, _ in read]),
                    "rows": int64s([rows for _, rows, _ in read]),
                    "digest": strings([digest for _, _, digest in read]),
                }
            ),
            pa.table(
                {
                    "request": strings([request for request, _, _, _ in matches]),
                    "key": strings([key for _, key, _, _ in matches]),
                    "visible": int64s([visible for _, _, visible, _ in matches]),
                    "masked": int64s([masked for _, _, _, masked in matches]),
                }
            ),
            self._failed,
        )


@dataclass(frozen=True, slots=True)
class _GroupFile:
    """A file of a group: its row there, its key, where it is, and what its deletion vector hides."""

    place: int
    key: str
    address: FileAddress
    hidden: MaskWords | None


def _marks(any_mask: bool) -> RowMarks:
    """Return marks with the number of a row's file, and whether the newest version masks the row."""

    def masked(row_index: Column) -> Column:
        return is_masked(sf.col(MASK), row_index) if any_mask else sf.lit(False)

    number = f"{_FILE}_number"
    numbers = (st.IntegerType(), lambda files: pa.array(range(files.num_rows), pa.int32()))
    return RowMarks({_FILE: ("int", lambda _: sf.col(number)), _MASKED: ("boolean", masked)}, {number: numbers})


def _lacking(columns: Sequence[Mapping[str, Any]], group: SearchGroup) -> str:
    """Return why a file whose columns no version describes cannot be searched; empty if it can."""
    paths = {tuple(part.lower() for part in column["path"]) for column in columns}
    ids = {column["id"] for column in columns}
    by_id: dict[tuple[str, ...], int | None] = {}
    if group.by_id:
        by_id = {(field.physical_name,): field.field_id for field in group.schema.fields}
    for path in group.needed:
        has_column = by_id[path] in ids if by_id.get(path) is not None else tuple(map(str.lower, path)) in paths
        if not has_column:
            return f"the file has no column {'.'.join(path)}, and no version says what its rows have there"
    return ""


def _culprit(error: ExplorerError, files: Sequence[_GroupFile], group: SearchGroup) -> _GroupFile | None:
    path = error.facts().get("path")
    named = dict(_pairs(group.files, "key", "raw_path"))
    return next((file for file in files if path in (named[file.key], file.key)), None)


def _failure(error: Exception, addresses: Sequence[FileAddress], where: str | None = None) -> ExplorerError:
    return failure_of(error, addresses, None, where)


def _pairs(files: pa.Table, one: str, other: str) -> list[tuple[str, str]]:
    return list(zip(files.column(one).to_pylist(), files.column(other).to_pylist(), strict=True))
