"""New data files and change files, written by Spark's workers.

Protocol sections: Add File, Add CDC File, Data Files, Identity Columns. Invariants: no row passes through the driver;
no version names a file that a lost attempt of a task leaves; rules are judged over exactly the rows that are written.

Spark weighs a whole batch again at every row, so that none outgrows the memory of a worker, which takes half of the
time of an append of narrow rows. Rows are handed over unweighed only where the widest of them is known and a batch of
such rows stays below Spark's own limit; a limit that the user sets stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema

from explorer import credentials
from explorer.core import errors
from explorer.core.protocol import file_paths, partition_values
from explorer.core.transaction.new_files.file_facts import Numbering
from explorer.core.transaction.new_files.layout import ROWS_PER_FILE, FileLayout
from explorer.core.transaction.new_files.row_constraints import RowRule
from explorer.data_files import file_plan, file_writer, physical_columns, written_files
from explorer.data_files.file_plan import CHANGE_TYPE, FilePlan, held_fields
from explorer.data_files.written_files import WrittenFiles
from explorer.spark.engine.expressions import expressions
from explorer.spark.scan.physical import quoted
from explorer.spark.scan.results import Planned, Reading, to_arrow

if TYPE_CHECKING:
    from explorer.core.protocol.log_store import LogStore
    from explorer.core.versions.snapshot import Snapshot

_ROWS_PER_TASK: Final = 1 << 17
_ROW_IN_TASK: Final = (1 << 33) - 1
_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ROWS_BY_DEFAULT: Final = 10_000
_MOST_BYTES: Final = 64 << 20
_UNLIMITED: Final = (1 << 31) - 1
# The widest are decimals.
_FIXED_BYTES: Final = 16
_TEXTS: Final = (st.StringType, st.CharType, st.VarcharType)
_FIXED: Final = (st.NumericType, st.BooleanType, st.DateType, st.TimestampType, st.TimestampNTZType)


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
        widest: The most bytes of text in a row, by `widest_row`; None where it is not known.
    """

    planned: Planned
    extra: Mapping[str, str] = field(default_factory=dict)
    rules: Sequence[RowRule] = ()
    numbered: Sequence[Numbering] = ()
    rows: int | None = None
    changes: bool = False
    groups: str | None = None
    arranged: bool = False
    widest: int | None = None


def write_files(store: LogStore, layout: FileLayout, new: NewRows, rows_per_file: int = ROWS_PER_FILE) -> WrittenFiles:
    """Write rows as new files of a table; no version names them yet.

    Args:
        rows_per_file: The most rows of a file.

    Raises:
        ExplorerError: What Spark raised, typed.
    """
    for module in (file_writer, physical_columns, file_plan, file_paths, partition_values, errors, credentials):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # PySpark's own
    plan = file_plan.file_plan(
        layout,
        extra=tuple(new.extra),
        rules=len(new.rules),
        numbered=new.numbered,
        changes=new.changes,
        grouped=new.groups is not None,
        most_rows=rows_per_file,
    )

    def run(placed: FilePlan) -> list[dict[str, Any]]:
        rows = _arranged(layout, new)
        reports = rows.mapInArrow(file_writer.writer(placed), from_arrow_schema(file_writer.WRITTEN))
        with unweighed(rows, new.widest):
            entries: list[dict[str, Any]] = to_arrow(Reading(reports, new.planned.failure)).to_pylist()
        return entries

    return written_files.write_files(store, plan, run)


def broken_rules(rules: Sequence[RowRule], made: WrittenFiles) -> Iterator[tuple[RowRule, int]]:
    """Return the rules that rows in the files break, and how many rows."""
    return ((rule, count) for rule, count in zip(rules, made.broken, strict=True) if count)


def _arranged(layout: FileLayout, new: NewRows) -> DataFrame:
    """Return the columns that the tasks expect, by place: they do not know names of the table."""
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
    names = [field.name for field in held_fields(layout, changes=new.changes)] + list(new.extra.values())
    names += [CHANGE_TYPE] if new.changes else []
    columns = [*(sf.col(quoted(name)) for name in names), *map(sf.col, partitions), *breaks_rules(frame, new.rules)]
    columns += [] if new.groups is None else [sf.col(new.groups)]
    return frame.select(*(column.alias(f"c{place}") for place, column in enumerate(columns)))


def _numbers(one: Numbering, tasks: int) -> Column:
    """Return the values of an identity column: each task takes every so-manieth one, so none waits for another."""
    row = sf.monotonically_increasing_id().bitwiseAND(sf.lit(_ROW_IN_TASK))
    place = sf.spark_partition_id().cast("long") + row * sf.lit(tasks)
    return sf.lit(one.first).cast("long") + place * sf.lit(one.step).cast("long")


def breaks_rules(rows: DataFrame, rules: Sequence[RowRule]) -> list[Column]:
    """Return for each rule, whether a row breaks it: it is not TRUE for it."""
    conditions = expressions(rows, [rule.expression for rule in rules])
    return [~sf.coalesce(column, sf.lit(False)) for column in conditions]


def id_columns(snapshot: Snapshot) -> dict[str, str]:
    """Return the columns that rows with stable IDs have in files, and the columns of a scan with their values."""
    tracking = snapshot.row_tracking
    names = (tracking.row_id_column, tracking.row_commit_version_column) if tracking.enabled else (None, None)
    return {name: source for name, source in zip(names, ("_row_id", "_row_commit_version"), strict=True) if name}


def widest_row(frame: DataFrame) -> Column | None:
    """Return the aggregate that gives the most bytes of text in a row; null without rows.

    Returns:
        None where a column is neither a text nor of a fixed width: nothing is known of such rows.
    """
    if not all(isinstance(field.dataType, _TEXTS + _FIXED) for field in frame.schema.fields):
        return None
    texts = [field.name for field in frame.schema.fields if isinstance(field.dataType, _TEXTS)]
    width = sf.lit(0).cast("long")
    for name in texts:
        width += sf.coalesce(sf.octet_length(sf.col(quoted(name))), sf.lit(0))
    return sf.max(width)


@contextmanager
def unweighed(frame: DataFrame, widest: int | None) -> Iterator[None]:
    """Let jobs of this thread hand rows over without weighing each, if a full batch of the widest is small enough.

    Args:
        widest: The most bytes of text in a row; None where it is not known.
    """
    session = frame.sparkSession
    fits = (
        widest is not None
        and (widest + _FIXED_BYTES * len(frame.columns)) * int(str(session.conf.get(_ROWS, str(_ROWS_BY_DEFAULT))))
        <= _MOST_BYTES
    )
    # A session of Spark Connect has no properties of threads.
    context = getattr(session, "_sc", None)
    if context is None or not fits:
        yield
        return
    before = context.getLocalProperty(_BYTES)
    context.setLocalProperty(_BYTES, str(_UNLIMITED))
    try:
        yield
    finally:
        context.setLocalProperty(_BYTES, before)
