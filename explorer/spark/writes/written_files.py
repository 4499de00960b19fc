"""New data files and change files, written by Spark's workers.

Protocol sections: Add File, Add CDC File, Data Files, Identity Columns. Invariants: no row passes through the driver;
a file that a lost attempt of a task leaves is named by nothing; rules are judged over exactly the rows that are
written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from explorer.core import errors
from explorer.core.protocol import file_paths, partition_values
from explorer.core.protocol.arrow.arrow_types import physical_arrow_schema
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField
from explorer.core.protocol.schema.nested_types import Path as ColumnPath
from explorer.core.protocol.sql.vetting import check_text
from explorer.core.transaction.new_files import parquet
from explorer.core.transaction.new_files.file_facts import FileFacts
from explorer.core.transaction.new_files.identity_values import Numbering
from explorer.core.transaction.new_files.layout import ROWS_PER_FILE, FileLayout
from explorer.core.transaction.new_files.parquet import stored_fields
from explorer.core.transaction.new_files.row_constraints import RowRule
from explorer.spark.scan.physical import quoted
from explorer.spark.scan.results import Planned, Reading, to_arrow
from explorer.spark.writes import task_files
from explorer.spark.writes.task_files import FilePlan, Leaf
from explorer.storage.local import LocalLogStore
from explorer.storage.objects import ObjectLogStore
from explorer.storage.schemes import scheme_of

if TYPE_CHECKING:
    from explorer.core.protocol.log_store import LogStore

__all__ = ["NewRows", "WrittenFiles", "breaks_rule", "write_files"]

_NO_BOUNDS: Final = frozenset(["boolean", "binary", "variant"])
_CHANGE_TYPE: Final = "_change_type"
_CHANGE_FOLDER: Final = "_change_data/"
_ROWS_PER_TASK: Final = 1 << 17
_ROW_IN_TASK: Final = (1 << 33) - 1
_TOLD: Final = (
    "location string, partition array<string>, size long, written_at long, rows long, nulls array<long>, "
    "extremes binary, broken array<long>"
)


@dataclass(frozen=True, slots=True)
class NewRows:
    """Rows to write.

    Attributes:
        planned: A column for each field of the schema, by logical name, and those of ``extra``.
        extra: Further columns of whole numbers that go into the files, such as materialised row ids: the name in the
            file, and the name in ``planned``.
        rules: What every row must satisfy.
        numbered: The identity columns to fill.
        rows: How many rows there are, if known: few rows go into few files.
        changes: They are rows of change files; ``planned`` has a column ``_change_type`` too.
        groups: A column of ``planned`` with the number of the group that rows go with; a file holds one group.
        arranged: Rows of one file lie together and in their order; otherwise they are sorted by partition.
    """

    planned: Planned
    extra: Mapping[str, str] = field(default_factory=dict)
    rules: Sequence[RowRule] = ()
    numbered: Sequence[Numbering] = ()
    rows: int | None = None
    changes: bool = False
    groups: str | None = None
    arranged: bool = False


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """What was written.

    Attributes:
        files: The files.
        marks: The furthest value in each identity column that was filled.
        broken: The rules that rows in them break, and how many rows.
    """

    files: tuple[FileFacts, ...]
    marks: Mapping[str, int]
    broken: tuple[tuple[RowRule, int], ...]

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)


def write_files(store: LogStore, layout: FileLayout, new: NewRows, rows_per_file: int = ROWS_PER_FILE) -> WrittenFiles:
    """Write rows as new files of a table; no version names them yet.

    Args:
        store: The table's store.
        layout: The layout that the table asks for.
        new: The rows.
        rows_per_file: The most rows of a file.

    Raises:
        ExplorerError: What Spark raised, typed.
    """
    _send_code()
    leaves = () if new.changes else _leaves(layout, new.numbered)
    with _place(store) as (sent, root, secrets):
        plan = _file_plan(layout, new, leaves, rows_per_file)
        told = _arranged(layout, new).mapInArrow(
            task_files.writer(replace(plan, store=sent, root=root, secrets=secrets)), _TOLD
        )
        found = to_arrow(Reading(told, new.planned.failure)).to_pylist()
        if sent is None and _of_this_process(store):
            for file in found:
                store.put_if_absent(file["location"], Path(root + file["location"]).read_bytes())
    return _facts(new, leaves, found)


def _send_code() -> None:
    for module in (task_files, file_paths, partition_values, parquet, errors):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # PySpark's own


@contextmanager
def _place(store: LogStore) -> Iterator[tuple[Any, str, tuple[str, ...]]]:
    """Where the tasks write: an obstore store or None for a folder, the root in it, and what no error may contain."""
    if isinstance(store, LocalLogStore):
        yield None, f"{store.folder}/", ()
    elif _of_this_process(store):
        with tempfile.TemporaryDirectory(prefix="delta-table-explorer-memory-") as folder:
            yield None, f"{folder}/", ()
    else:
        assert isinstance(store, ObjectLogStore), f"files of {store.root} are written by another store"
        sent, prefix = store.sendable("")
        yield sent, prefix, store.secrets


def _of_this_process(store: LogStore) -> bool:
    """Whether no other process reaches the table's store, so that its files pass through the disk."""
    return scheme_of(store.root).rows == "copied"


def _leaves(layout: FileLayout, numbered: Sequence[Numbering]) -> tuple[tuple[ColumnPath, StructField], ...]:
    """The leaves with statistics, then those whose furthest value becomes a high-water mark."""
    chosen = {one.column for one in numbered}
    marked = [field for field in layout.schema.fields if field.name in chosen]
    return (*layout.described, *(((field.physical_name,), field) for field in marked))


def _file_plan(
    layout: FileLayout, new: NewRows, leaves: Sequence[tuple[ColumnPath, StructField]], rows_per_file: int
) -> FilePlan:
    partitions = layout.metadata.partition_columns
    extra = [pa.field(name, pa.int64()) for name in new.extra]
    extra += [pa.field(_CHANGE_TYPE, pa.string())] if new.changes else []
    return FilePlan(
        store=None,
        root="",
        name=layout.file_name("cdc-00000-{}.c000" if new.changes else "part-00000-{}-c000"),
        folder=_CHANGE_FOLDER if new.changes else "",
        schema=pa.schema([*physical_arrow_schema(_stored(layout, new)), *extra]),
        partitions=tuple(_type_name(layout, name) for name in partitions),
        shown=None if layout.mode != "none" else tuple(partitions),
        rules=len(new.rules),
        leaves=tuple(Leaf(path, _has_bounds(field)) for path, field in leaves),
        codec=layout.codec,
        most_rows=rows_per_file,
        grouped=new.groups is not None,
    )


def _stored(layout: FileLayout, new: NewRows) -> tuple[StructField, ...]:
    """What the files hold; change files never hold partition columns."""
    return stored_fields(layout.schema, layout.metadata.partition_columns) if new.changes else layout.stored


def _type_name(layout: FileLayout, column: str) -> str:
    found = layout.schema.field(column)
    assert found is not None, f"{column} is a partition column that the schema lacks"
    assert isinstance(found.type, PrimitiveType)
    return found.type.name


def _has_bounds(field: StructField) -> bool:
    return isinstance(field.type, PrimitiveType) and field.type.name not in _NO_BOUNDS


def _arranged(layout: FileLayout, new: NewRows) -> DataFrame:
    """The columns that the tasks expect, by place: names of the table say nothing to them."""
    frame = new.planned.frame
    tasks = None if new.rows is None else max(1, -(-new.rows // _ROWS_PER_TASK))
    frame = frame if tasks is None else frame.coalesce(tasks)
    if new.numbered:
        assert tasks is not None, "rows are counted before they are numbered"
        values = {one.column: _numbers(one, tasks).alias(one.column) for one in new.numbered}
        frame = frame.select(*(values.get(name, sf.col(quoted(name))) for name in frame.columns))
    partitions = [quoted(name) for name in layout.metadata.partition_columns]
    if partitions and not new.arranged:
        frame = frame.sortWithinPartitions(*partitions)
    names = [field.name for field in _stored(layout, new)] + list(new.extra.values())
    names += [_CHANGE_TYPE] if new.changes else []
    columns = [*(sf.col(quoted(name)) for name in names), *map(sf.col, partitions), *map(breaks_rule, new.rules)]
    columns += [] if new.groups is None else [sf.col(new.groups)]
    return frame.select(*(column.alias(f"c{place}") for place, column in enumerate(columns)))


def _numbers(one: Numbering, tasks: int) -> Column:
    """The values of an identity column: each task takes every so-manieth one, so none waits for another."""
    row = sf.monotonically_increasing_id().bitwiseAND(sf.lit(_ROW_IN_TASK))
    place = sf.spark_partition_id().cast("long") + row * sf.lit(tasks)
    return sf.lit(one.first).cast("long") + place * sf.lit(one.step).cast("long")


def breaks_rule(rule: RowRule) -> Column:
    """Whether a row breaks a rule: it is not TRUE for it."""
    check_text(rule.expression)
    return ~sf.coalesce(sf.expr(f"(\n{rule.expression}\n)"), sf.lit(False))


def _facts(
    new: NewRows,
    leaves: Sequence[tuple[ColumnPath, StructField]],
    found: Sequence[Mapping[str, Any]],
) -> WrittenFiles:
    described = 0 if new.changes else len(leaves) - len(new.numbered)
    files, furthest = [], []
    for file in found:
        extremes = pa.ipc.open_stream(file["extremes"]).read_next_batch()
        furthest.append(extremes.select(list(map(str, range(described, len(leaves))))))
        files.append(
            FileFacts(
                file["location"],
                tuple(file["partition"]),
                file["size"],
                file["written_at"],
                file["rows"],
                tuple(file["nulls"][:described]),
                extremes.select(list(map(str, range(described)))),
            )
        )
    marks = {}
    names = [field.name for _, field in leaves[described:]]
    steps = {one.column: one.step for one in new.numbered}
    for place, name in enumerate(names):
        ends = [value for batch in furthest for value in batch.column(place).to_pylist() if value is not None]
        if ends:
            marks[name] = max(ends) if steps[name] > 0 else min(ends)
    counts = [sum(file["broken"][place] for file in found) for place in range(len(new.rules))]
    broken = tuple((rule, count) for rule, count in zip(new.rules, counts, strict=True) if count)
    return WrittenFiles(tuple(files), marks, broken)
