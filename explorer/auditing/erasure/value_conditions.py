"""The part of a condition on one column, and whether a value that the log holds meets it.

Protocol sections: Per-file Statistics, Partition Value Serialization, Column Mapping, Type Widening. Invariants: a
value is judged as Spark judges every value that it may stand for; an unsure result is open. Of each way to meet a
condition only the part on the one column counts, so that every row that meets it that way has a value that meets the
part. A condition is taken in full or not at all. Of each readable version, the same column by lineage counts, and the
column that had the name then, even if no file of that version is stored: the log outlives the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from explorer.auditing.erasure.logged_values import LoggedPlace, Range, has_zone, quoted_values, range_of
from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.typed_arrays import typed_column
from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.schema.column_mapping import physical_paths
from explorer.core.protocol.schema.data_types import DataType, PrimitiveType, StructType, format_column, parse_schema
from explorer.core.protocol.schema.nested_types import Path, walk_structs
from explorer.core.protocol.schema.type_widening import widens
from explorer.core.protocol.sql.predicates import (
    And,
    Constant,
    Expression,
    IsNull,
    Not,
    Or,
    SqlComparison,
    Unsplittable,
    parts_of,
)
from explorer.core.protocol.statistics.column_facts import ColumnFacts
from explorer.core.protocol.statistics.data_skipping import answerable, unsplittable_in
from explorer.core.protocol.statistics.skipping_truth import truth_of
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot


class LoggedColumn(msgspec.Struct, frozen=True):
    """A column of the newest version as some version stores it, or a column that had its name then.

    Attributes:
        column: Its path in the newest version, logical names.
        stored: Its path in statistics and partition values.
        type: Its type then.
    """

    column: Path
    stored: Path
    type: DataType


def logged_columns(log: DeltaLog) -> tuple[LoggedColumn, ...]:
    """Return the fields of the newest version, those inside arrays and maps left out, each in every way it was stored.

    Raises:
        TableError: A version's metadata is broken.
    """
    lineage = log.history_record().lineage()
    newest = log.snapshot()
    now = lineage.lines_at(newest.version)
    paths = [path for path, _, _ in walk_structs(newest.schema)]
    of_name = {folded(path): path for path in paths}
    of_line = {now[format_column(path)]: path for path in paths if format_column(path) in now}
    columns: dict[tuple[Path, Path, str], LoggedColumn] = {}
    for version, schema, stored in _layouts(log):
        then = lineage.lines_at(version)
        for path, _, field in walk_structs(schema):
            same = (of_name.get(folded(path)), of_line.get(then.get(format_column(path), -1)))
            for column in filter(None, same):
                known = LoggedColumn(column, stored[path], field.type)
                columns.setdefault((column, stored[path], repr(field.type)), known)
    return tuple(columns.values())


def folded(path: Path) -> Path:
    """Return a path in lower case, as readers compare names."""
    return tuple(part.casefold() for part in path)


def _layouts(log: DeltaLog) -> Iterator[tuple[int, StructType, dict[Path, Path]]]:
    """Yield the schemas of the readable versions, each with its first version and the stored path of each field."""
    history = log.history_record()
    for version in history.layout_changes(history.first_readable, history.latest):
        metadata = history.metadata_at(version)
        if metadata is not None and metadata.schema_string is not None:
            schema = parse_schema(metadata.schema_string)
            yield version, schema, physical_paths(schema, history.mapping_mode(version))


class _ConditionPart(msgspec.Struct, frozen=True):
    """What is asked of a column, in one way in which the log has it.

    Attributes:
        column: Its path in the newest version.
        stored: Its path in the log.
        condition: What is asked; it names this column alone.
        type: Its type in the newest version.
        comparable: Whether its type in the log is that, or was widened to it.
    """

    column: Path
    stored: Path
    condition: Expression
    type: PrimitiveType
    comparable: bool

    def judged(self, ranges: Sequence[Range]) -> list[bool | None]:
        """Return whether each value meets it; None if unknown."""
        if not self.comparable:
            return [None] * len(ranges)
        low, high = (typed_column([each[end] for each in ranges], self.type) for end in (0, 1))
        facts = {self.column: ColumnFacts.of_ranges(low, high, self.type)}
        truth = truth_of(self.condition, facts, len(ranges), hopeful=False)
        pairs = zip(truth.can_be_true.tolist(), truth.can_be_false.tolist(), strict=True)
        return [None if true and false else true for true, false in pairs]

    @property
    def any_zone(self) -> bool:
        """Whether it compares moments with times without a zone, which the settings of a session place."""
        compared = (each for each in parts_of(self.condition) if isinstance(each, SqlComparison))
        return self.type.name == "timestamp" and not all(has_zone(each.value.text) for each in compared)


class ValueCondition(msgspec.Struct, frozen=True):
    """A condition, by the columns whose values the log holds."""

    parts: tuple[_ConditionPart, ...]

    def stored(self, path: Path) -> bool:
        """Return whether the log has values of a condition's column under a path."""
        return any(folded(part.stored) == folded(path) for part in self.parts)

    def folder(self, name: str) -> Path | None:
        """Return the stored path of the values of a folder ``name=value``; None for a column without a condition."""
        for part in self.parts:
            if len(part.stored) == 1 and name.casefold() in {part.stored[0].casefold(), part.column[0].casefold()}:
                return part.stored
        return None

    def judged(self, path: Path, place: LoggedPlace, values: Sequence[JsonValue]) -> list[bool | None]:
        """Return whether rows that have these values of a column meet what is asked of it; None where that is open."""
        parts = [part for part in self.parts if folded(part.stored) == folded(path)]
        results = [
            part.judged([range_of(value, part.type, place, any_zone=part.any_zone) for value in values])
            for part in parts
        ]
        return [True if True in each else None if None in each else False for each in zip(*results, strict=True)]

    def may_be_quoted(self, text: str) -> bool:
        """Return whether a text may quote a value of a row that meets the condition."""
        of_columns = {(part.column, part.comparable): part for part in self.parts}
        return any(
            match is not False
            for part in of_columns.values()
            for match in part.judged(list(dict.fromkeys(quoted_values(text, part.type))))
        )


def value_condition(where: str, snapshot: Snapshot, logged: Iterable[LoggedColumn]) -> ValueCondition | str:
    """Take a condition apart by the columns that it names; the reason, as text, where that cannot be done.

    Args:
        where: SQL over the columns of the newest version.
        snapshot: The newest version.
        logged: Its columns in the log.
    """
    try:
        condition, used = answerable(where, snapshot.schema, snapshot.statistics_columns)
    except RequestError as error:
        return error.message
    for unread in unsplittable_in(condition):
        return f"{unread.text}: {unread.reason}"
    for part in parts_of(condition):
        if isinstance(part, IsNull | Constant) or (isinstance(part, SqlComparison) and part.value.kind == "null"):
            return "a null check or a constant alone cannot be compared with values"
    for path, column in used.items():
        if column.type.name == "boolean":
            return f"{format_column(path)}: the log does not record all values of type boolean"
    parts = []
    for each in logged:
        condition_part, _ = _branches(condition, each.column)
        if condition_part is not None and each.column in used:
            kind = used[each.column].type
            parts.append(
                _ConditionPart(each.column, each.stored, condition_part, kind, _is_comparable(each.type, kind))
            )
    return ValueCondition(tuple(parts))


def _is_comparable(then: DataType, now: PrimitiveType) -> bool:
    """Return whether values of two types can be compared; of floats, the log has the fewest digits."""
    return then == now or (widens(then, now) and then != PrimitiveType("float"))


def _branches(part: Expression, column: Path, *, negated: bool = False) -> tuple[Expression | None, bool]:
    """Return the part of a condition on a column, and whether the condition can be met without the column."""
    match part:
        case Not():
            return _branches(part.part, column, negated=not negated)
        case And() | Or():
            branches = [_branches(each, column, negated=negated) for each in part.parts]
            own = [branch for branch, _ in branches if branch is not None]
            if isinstance(part, Or) is not negated:
                return _joined(Or, own), any(free for _, free in branches)
            needed = [branch for branch, free in branches if not free and branch is not None]
            # Where each part can be met without the column, one of them may be met with it.
            return (_joined(And, needed), False) if needed else (_joined(Or, own), True)
        case Constant() | Unsplittable():
            return None, True
    if part.column != column:
        return None, True
    return (Not(part) if negated else part), False


def _joined(make: type[And] | type[Or], parts: list[Expression]) -> Expression | None:
    return make(tuple(parts)) if len(parts) > 1 else next(iter(parts), None)
