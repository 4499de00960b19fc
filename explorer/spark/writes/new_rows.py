"""New data files and change files, written by Spark's workers.

Protocol sections: Add File, Add CDC File, Data Files, Identity Columns. Invariants: no row passes through the driver;
a file that a lost attempt of a task leaves is named by nothing; rules are judged over exactly the rows that are
written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

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
from explorer.spark.writes.row_widths import unweighed

if TYPE_CHECKING:
    from explorer.core.protocol.log_store import LogStore

__all__ = ["NewRows", "breaks_rules", "broken_rules", "write_files"]

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
        store: The table's store.
        layout: The layout that the table asks for.
        new: The rows.
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
        told = rows.mapInArrow(file_writer.writer(placed), _TOLD)
        with unweighed(rows, new.widest):
            found: list[dict[str, Any]] = to_arrow(Reading(told, new.planned.failure)).to_pylist()
        return found

    return written_files.write_files(store, plan, run)


def broken_rules(rules: Sequence[RowRule], made: WrittenFiles) -> Iterator[tuple[RowRule, int]]:
    """The rules that rows in the files break, and how many rows."""
    return ((rule, count) for rule, count in zip(rules, made.broken, strict=True) if count)


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
    names = [field.name for field in held_fields(layout, changes=new.changes)] + list(new.extra.values())
    names += [CHANGE_TYPE] if new.changes else []
    columns = [*(sf.col(quoted(name)) for name in names), *map(sf.col, partitions), *breaks_rules(frame, new.rules)]
    columns += [] if new.groups is None else [sf.col(new.groups)]
    return frame.select(*(column.alias(f"c{place}") for place, column in enumerate(columns)))


def _numbers(one: Numbering, tasks: int) -> Column:
    """The values of an identity column: each task takes every so-manieth one, so none waits for another."""
    row = sf.monotonically_increasing_id().bitwiseAND(sf.lit(_ROW_IN_TASK))
    place = sf.spark_partition_id().cast("long") + row * sf.lit(tasks)
    return sf.lit(one.first).cast("long") + place * sf.lit(one.step).cast("long")


def breaks_rules(rows: DataFrame, rules: Sequence[RowRule]) -> list[Column]:
    """For each rule, whether a row breaks it: it is not TRUE for it."""
    found = expressions(rows, [rule.expression for rule in rules])
    return [~sf.coalesce(column, sf.lit(False)) for column in found]
