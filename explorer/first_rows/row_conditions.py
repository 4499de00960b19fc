"""Plain conditions judged on rows in this process: comparisons of columns with constants, nulls, AND, OR, and NOT.

Invariants: a row is chosen where Spark finds the condition TRUE, by SQL's three-valued logic; a comparison that Spark
makes in another way than by the order of the column's own values, or by a setting of its session, is left to Spark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrays import Mask, flags, one_array, validity
from explorer.core.protocol.schema.data_types import PrimitiveType, format_column
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
from explorer.core.protocol.statistics.column_facts import side_of
from explorer.core.protocol.statistics.data_skipping import answerable
from explorer.core.protocol.statistics.skipping_constants import constant_of

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot

_MOST_DIGITS: Final = 38
_WHOLE_DIGITS: Final = {"byte": 3, "short": 5, "integer": 10, "long": 20}
_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_LONG: Final = PrimitiveType("long")
_LONGEST: Final = 19
# Digits with the letter of a type: Spark refuses what does not fit it.
_TYPED: Final = re.compile(r"\b[\d.]+(?:e[+-]?\d+)?[a-df-z]", re.IGNORECASE)
_ZONE: Final = re.compile(r"(?:Z|[+-]\d{2}:\d{2})\Z")


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A condition that is judged here.

    Attributes:
        expression: Its parts, columns as the schema spells them.
        types: The types of its columns.
    """

    expression: Expression
    types: dict[str, PrimitiveType]

    def holds(self, rows: pa.Table) -> Mask:
        """Return where the condition is TRUE."""
        return self._truth(self.expression, rows)[0]

    def _truth(self, part: Expression, rows: pa.Table) -> tuple[Mask, Mask]:
        """Where a part is TRUE, and where it is FALSE."""
        match part:
            case And() | Or():
                truths = [self._truth(each, rows) for each in part.parts]
                every, some = np.logical_and.reduce, np.logical_or.reduce
                true, false = (every, some) if isinstance(part, And) else (some, every)
                return true([each[0] for each in truths]), false([each[1] for each in truths])
            case Not():
                true_of_part, false_of_part = self._truth(part.part, rows)
                return false_of_part, true_of_part
            case Constant():
                return np.full(rows.num_rows, part.value is True), np.full(rows.num_rows, part.value is False)
            case IsNull():
                known = validity(_array(rows, part.column))
                return ~known, known
            case SqlComparison():
                return self._compared(part, rows)
            case Like() | Unsplittable():
                raise AssertionError("such a part is left to Spark (see `judged`)")
        assert_never(part)

    def _compared(self, part: SqlComparison, rows: pa.Table) -> tuple[Mask, Mask]:
        array = _array(rows, part.column)
        known = validity(array)
        if part.value.kind == "null":
            never = np.zeros(len(array), bool)
            return (~known, known) if part.operator == "<=>" else (never, never)
        kind = self.types[part.column[0]]
        constant = constant_of(part.value, kind)
        assert constant is not None, "a comparison that needs a conversion is left to Spark (see `judged`)"
        side = side_of(array, kind)
        if part.operator in ("=", "<=>"):
            true = side.holds(">=", constant, kind, unknown=False) & side.holds("<=", constant, kind, unknown=False)
        else:
            true = side.holds(part.operator, constant, kind, unknown=False)
            if kind.name in ("float", "double") and part.operator in (">", ">="):
                # NaN is above all other values.
                true |= flags(pc.is_nan(array))
        return true, ~true if part.operator == "<=>" else known & ~true


def judged(snapshot: Snapshot, where: str) -> RowCondition | str:
    """Return a condition that is judged here, or why it is left to Spark, for people.

    Args:
        snapshot: The version whose rows it is about.
        where: SQL of one boolean expression over logical columns.
    """
    try:
        condition, used = answerable(parse_predicate(where), snapshot.schema, snapshot.statistics_columns)
    except RequestError:
        # Spark's own message says more, and it may know what is not known here.
        return "only Spark can tell what is wrong with the condition"
    if _TYPED.search(where):
        return "a number of the condition has the letter of a type"
    kinds = {path[0]: column.type for path, column in used.items() if len(path) == 1}
    for part in parts_of(condition):
        reason = _left(part, kinds)
        if reason is not None:
            return f"only Spark evaluates a part of the condition: {reason}"
    return RowCondition(condition, kinds)


def _left(part: Expression, kinds: dict[str, PrimitiveType]) -> str | None:
    """Why one part of a condition is left to Spark; None if it is judged here."""
    match part:
        case Unsplittable():
            return f"{part.text} ({part.reason})"
        case Like():
            return f"{format_column(part.column)} LIKE a pattern"
        case SqlComparison() | IsNull() if len(part.column) > 1:
            return f"{format_column(part.column)} is inside another column"
        case SqlComparison() if part.value.kind != "null":
            return _left_by_type(part, kinds[part.column[0]])
    return None


def _left_by_type(part: SqlComparison, kind: PrimitiveType) -> str | None:
    text, name = part.value.text, format_column(part.column)
    if part.value.kind in ("integer", "decimal") and sum(_digits(text)) > _MOST_DIGITS:
        return f"{text} has too many digits"
    if kind.name == "timestamp" and not _ZONE.search(text):
        return f"{name} is compared with {text}, a time by the zone of its session"
    if kind.name in _WHOLE_DIGITS and _is_decimal(part) and not _is_in_range(Decimal(text), kind):
        # Spark finds this TRUE or FALSE of null too.
        return f"{name} is compared with {text}, which its type does not have"
    if kind.name in _WHOLE_DIGITS or kind.name == "decimal":
        return f"{name} is compared with {text}, which has too many digits" if _rounds(part, kind) else None
    return None


def _is_decimal(part: SqlComparison) -> bool:
    """Return whether a constant is a decimal in Spark: a whole number beyond 64 bits is too."""
    return part.value.kind == "decimal" or (
        part.value.kind == "integer" and not _is_in_range(Decimal(part.value.text), _LONG)
    )


def _is_in_range(value: Decimal, kind: PrimitiveType) -> bool:
    half = 1 << (_BITS[kind.name] - 1)
    return -half <= value < half


def _rounds(part: SqlComparison, kind: PrimitiveType) -> bool:
    """Return whether Spark would compare decimals of more digits than it has, and round them."""
    if part.value.kind == "double":
        return False
    whole, scale = _digits(part.value.text)
    if part.value.kind == "integer" and whole < _LONGEST and kind.name != "decimal":
        return False
    of_column = kind.precision - kind.scale if kind.name == "decimal" else _WHOLE_DIGITS[kind.name]
    of_scale = kind.scale if kind.name == "decimal" else 0
    # A whole number is a decimal of as many digits as its type may have.
    whole = max(whole, _WHOLE_DIGITS["long"] if part.value.kind == "integer" else 0)
    return max(whole, of_column) + max(scale, of_scale) > _MOST_DIGITS


def _digits(text: str) -> tuple[int, int]:
    """Return how many digits a number has before and after its point."""
    whole, _, fraction = text.lstrip("+-").partition(".")
    return max(1, len(whole.lstrip("0"))), len(fraction)


def _array(rows: pa.Table, column: tuple[str, ...]) -> pa.Array:
    (name,) = column
    values = rows.column(name)
    return one_array(values.chunks, values.type)
