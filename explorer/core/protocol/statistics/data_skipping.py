"""The files that a condition needs: each file is read or skipped, by a rule.

Protocol section: Per-file Statistics (data skipping). Invariants: a skipped file provably has no row for which the
condition is TRUE, by SQL's three-valued logic as Spark applies it; an unknown fact skips no file (STATS-002); wide
bounds are bounds too (STATS-005); a null count counts only where it is 0 or all rows (STATS-007); the maximum
time is raised by a millisecond (STATS-011, D-37). Everything is evaluated column by column, never file by file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, assert_never

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrays import Mask, flags, int64s, mask, numbers, strings, validity
from explorer.core.protocol.schema.char_types import is_padded
from explorer.core.protocol.schema.data_types import DataType, StructField, StructType, format_column
from explorer.core.protocol.schema.edit import first_names
from explorer.core.protocol.sql.predicates import (
    And,
    Constant,
    Expression,
    IsNull,
    Like,
    Not,
    Or,
    SqlComparison,
    Unsplittable,
    parse_predicate,
    parts_of,
)
from explorer.core.protocol.statistics.column_facts import ColumnFacts
from explorer.core.protocol.statistics.file_statistics import FileStatistics, StatisticsColumn
from explorer.core.protocol.statistics.skipping_truth import truth_of, unanswerable


class SkippingCounts(msgspec.Struct, frozen=True):
    """Files left after each step.

    Attributes:
        total: Live files.
        after_partitions: Left after partition values.
        after_statistics: Left after statistics: the files to be read.
        kept_without_statistics: Of these, those read only because statistics of a column are missing.
        kept_wide_bounds: Of these, those with wide bounds, which tight ones might have skipped.
    """

    total: int
    after_partitions: int
    after_statistics: int
    kept_without_statistics: int
    kept_wide_bounds: int


class SkippingResult(msgspec.Struct, frozen=True):
    """The result of data skipping.

    Attributes:
        files: path, kept, rule: for a skipped file ``no rows``, ``partition``, ``null count`` or ``min/max``; for one
            to be read ``no statistics``, ``wide bounds`` or ``may match``.
        counts: Files left after each step.
        unsplittable: Parts of the condition that statistics cannot answer; they skip no file.
    """

    files: pa.Table
    counts: SkippingCounts
    unsplittable: tuple[Unsplittable, ...]

    def __repr__(self) -> str:
        return f"SkippingResult({self.counts.after_statistics} of {self.counts.total} files kept)"


BY_STATISTICS: Final = ("no rows", "null count", "min/max")
"""The rules by which statistics alone skip a file."""
_DROPPING: Final = ("partition", *BY_STATISTICS)
_NILADIC: Final = frozenset(
    {"current_date", "current_timestamp", "current_user", "localtimestamp", "session_user", "user"}
)


def skip_files(
    where: str | Expression, schema: StructType, columns: Sequence[StatisticsColumn], statistics: FileStatistics
) -> SkippingResult:
    """Evaluate a condition on statistics.

    Args:
        where: A boolean SQL expression over logical columns, as text or parsed; times without a zone are UTC.

    Raises:
        RequestError: The text is not a condition, or names a column that the table does not have.
        CorruptTable: A partition value does not parse.
    """
    condition, used = answerable(where, schema, columns)
    statistics.load(used.values())
    facts = {path: ColumnFacts.of(statistics, column) for path, column in used.items()}
    return _Evaluation(condition, facts, statistics).result()


def answerable(
    where: str | Expression, schema: StructType, columns: Sequence[StatisticsColumn]
) -> tuple[Expression, dict[tuple[str, ...], StatisticsColumn]]:
    """Return a condition with names as the schema spells them, and the columns whose statistics can answer it.

    Args:
        where, schema, columns: As for `skip_files`. Parts that statistics cannot answer become `Unsplittable`.

    Raises:
        RequestError: The text is not a condition, or names a column that the table does not have.
    """
    if not isinstance(where, str | msgspec.Struct):
        raise RequestError(
            f"{where!r} is not a condition. Enter a SQL expression such as amount > 0.",
            field="where",
            found=repr(where),
        )
    resolver = _Resolver(schema, columns)
    condition = resolver.resolved(parse_predicate(where) if isinstance(where, str) else where)
    return condition, resolver.used


def unsplittable_in(condition: Expression) -> tuple[Unsplittable, ...]:
    """Return the parts of an `answerable` condition that statistics cannot answer; they skip no file."""
    return tuple(part for part in parts_of(condition) if isinstance(part, Unsplittable))


def counts_of_rules(of_rule: Mapping[str, int]) -> SkippingCounts:
    """Count the files left after each step, from the number of files by rule."""
    total, dropped = sum(of_rule.values()), sum(of_rule.get(rule, 0) for rule in _DROPPING)
    return SkippingCounts(
        total=total,
        after_partitions=total - of_rule.get("no rows", 0) - of_rule.get("partition", 0),
        after_statistics=total - dropped,
        kept_without_statistics=of_rule.get("no statistics", 0),
        kept_wide_bounds=of_rule.get("wide bounds", 0),
    )


class _Evaluation:
    """One condition over all files, rule by rule; the first rule that applies to a file counts."""

    def __init__(
        self, condition: Expression, facts: dict[tuple[str, ...], ColumnFacts], statistics: FileStatistics
    ) -> None:
        self._condition = condition
        self._facts = facts
        self._statistics = statistics
        self._count = statistics.num_files

    def result(self) -> SkippingResult:
        dropping = {
            "no rows": _without_rows(self._statistics),
            "partition": self._skipped(ColumnFacts.by_partition_values),
            "null count": self._skipped(ColumnFacts.by_null_counts),
            "min/max": self._skipped(lambda facts: facts),
        }
        keeping = {
            "no statistics": self._skipped(lambda facts: facts, hopeful=True),
            "wide bounds": self._wide(),
            "may match": np.ones(self._count, bool),
        }
        rules = {**dropping, **keeping}
        first = np.argmax(np.stack(list(rules.values())), axis=0)
        of_rule = dict(zip(rules, np.bincount(first, minlength=len(rules)).tolist(), strict=True))
        needed = ~np.logical_or.reduce(list(dropping.values()))
        counts = counts_of_rules(of_rule)
        names = strings(list(rules)).take(int64s(first))
        files = pa.Table.from_arrays([self._statistics.paths, mask(needed), names], ["path", "kept", "rule"])
        return SkippingResult(files, counts, unsplittable_in(self._condition))

    def _skipped(self, seen: Callable[[ColumnFacts], ColumnFacts], *, hopeful: bool = False) -> Mask:
        """Return the files in which no row can make the condition TRUE.

        Args:
            seen: Selects the facts of a column that may be used.
            hopeful: Assume the best of missing facts: the file has no such row. Files skipped only then are read for
                lack of statistics.
        """
        facts = {path: seen(column) for path, column in self._facts.items()}
        return ~truth_of(self._condition, facts, self._count, hopeful).can_be_true

    def _wide(self) -> Mask:
        """Return the files whose bounds are wide, if the condition needs bounds at all."""
        columns = [facts for facts in self._facts.values() if not facts.partition]
        if not columns:
            return np.zeros(self._count, bool)
        tight = self._statistics.tight()
        return validity(tight) & ~flags(tight)


class _Resolver:
    """Writes names in the schema's spelling, and `Unsplittable` where the column's type cannot be answered."""

    def __init__(self, schema: StructType, columns: Sequence[StatisticsColumn]) -> None:
        self._schema = schema
        self._columns = {column.path: column for column in columns}
        self.used: dict[tuple[str, ...], StatisticsColumn] = {}

    def resolved(self, part: Expression) -> Expression:
        match part:
            case And():
                return And(tuple(self.resolved(each) for each in part.parts))
            case Or():
                return Or(tuple(self.resolved(each) for each in part.parts))
            case Not():
                return Not(self.resolved(part.part))
            case Constant() | Unsplittable():
                return part
            case SqlComparison() | Like() | IsNull():
                return self._leaf(part)
        assert_never(part)

    def _leaf(self, part: SqlComparison | Like | IsNull) -> Expression:
        resolved = self._find(part.column)
        if isinstance(resolved, str):
            return Unsplittable(format_column(part.column), 0, resolved)
        column, field = resolved
        reason = unanswerable(part, column.type, field, padded=is_padded(self._schema, column.path))
        if reason is not None:
            return Unsplittable(format_column(part.column), 0, reason)
        self.used[column.path] = column
        return msgspec.structs.replace(part, column=column.path)

    def _find(self, path: tuple[str, ...]) -> tuple[StatisticsColumn, StructField] | str:
        kind: DataType = self._schema
        spelled: list[str] = []
        field: StructField | None = None
        for part in path:
            if not isinstance(kind, StructType):
                return "values inside arrays, maps and variants have no statistics"
            same_letters = [each for each in kind.fields if each.name.lower() == part.lower()]
            if not same_letters:
                return self._unknown(path)
            if len(same_letters) > 1:
                return "more than one column has this name"
            field = same_letters[0]
            spelled.append(field.name)
            kind = field.type
        column = self._columns.get(tuple(spelled))
        return (column, field) if column is not None and field is not None else "only simple columns have statistics"

    def _unknown(self, path: tuple[str, ...]) -> str:
        if len(path) == 1 and path[0].lower() in _NILADIC:
            return f"{path[0]} is a function"
        name = format_column(path)
        names = first_names(format_column((field.name,)) for field in self._schema.fields)
        raise RequestError(f"The table has no column {name}. Columns: {names}.", column=name)


def _without_rows(statistics: FileStatistics) -> Mask:
    """Return the files without rows, or whose rows are all hidden by a deletion vector."""
    records, known = numbers(statistics.num_records)
    masked, _ = numbers(statistics.num_masked)
    return known & (records <= masked)
