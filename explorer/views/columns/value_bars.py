"""The values of a column in some rows, as bars: a label, a count, and the condition that chooses the rows of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.errors import RequestError
from explorer.core.protocol.schema.data_types import DataType, PrimitiveType
from explorer.core.protocol.sql.constants import equality_text, range_text
from explorer.core.protocol.sql.predicates import And, Expression, parse_predicate
from explorer.core.protocol.sql.tokens import tokens_of
from explorer.first_rows.column_values import MOST_VALUES, ColumnValues, ValueBar, column_values, has_ranges

_LONGEST_CONDITION: Final = 8_000
_LABEL: Final = 32
_FULL: Final = 200


@dataclass(frozen=True, slots=True)
class Bar:
    """Rows with one value, or with values of one range.

    Attributes:
        label: The value or the range, short.
        words: The same in full.
        count: How many rows.
        share: Of the longest bar, from 0 to 1.
        where: The condition that chooses them; empty where SQL has no constant for it.
    """

    label: str
    words: str
    count: int
    share: float
    where: str


@dataclass(frozen=True, slots=True)
class ValuesGlance:
    """The values of a column in some rows.

    Attributes:
        rows: Of which rows: ``in these 100 rows``.
        bars: The commonest values, or values or ranges in their order.
        in_order: The bars are in the order of their values.
        all_different: They are many, and no two rows have the same, so that single ones say nothing.
        distinct: How many different values there are: ``7 different values``, ``about 900 different values``.
        others: Rows with a value that is in no bar.
        nulls: Rows without a value.
        null_where: The condition that chooses these.
    """

    rows: str
    bars: tuple[Bar, ...]
    in_order: bool
    all_different: bool
    distinct: str
    others: int
    nulls: int
    null_where: str


def values_glance(values: ColumnValues, path: tuple[str, ...], kind: DataType, rows: str) -> ValuesGlance:
    """Return the values of a column for people.

    Args:
        values: What was counted.
        path: The column.
        kind: Its type.
        rows: Of which rows.
    """
    bars: tuple[Bar, ...] = ()
    if isinstance(kind, PrimitiveType):
        bars = tuple(_bar(bar, path, kind, values.largest) for bar in values.bars)
    null_where = equality_text(path, None, kind) if isinstance(kind, PrimitiveType) else None
    different = values.largest == 1 and len(bars) == MOST_VALUES and not has_ranges(kind)
    return ValuesGlance(
        rows, bars, has_ranges(kind), different, _distinct(values), values.others, values.nulls, null_where or ""
    )


def live_values(rows: pa.Table, masked: pa.ChunkedArray, path: tuple[str, ...], kind: DataType) -> ColumnValues | None:
    """Return what a column has in rows that were read, without masked ones; None if it is not among them.

    Args:
        rows: The table's columns.
        masked: Whether each row is masked.
        path: The column.
        kind: Its type.
    """
    places = rows.schema.get_all_field_indices(path[0])
    if len(places) != 1:
        return None
    column = rows.column(places[0]).filter(pc.invert(masked))
    for name in path[1:]:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(name) < 0:
            return None
        column = pc.struct_field(column, name)
    return column_values(column, kind)


class Narrowing:
    """A condition that rows are chosen by, and others that are added to it.

    Args:
        before: The condition; empty for all rows.
    """

    def __init__(self, before: str) -> None:
        self._before = _without_comments(before.strip())
        self._parts = _conjuncts(self._before)

    def by(self, more: str) -> str:
        """Return the condition that rows meet both; one that is a part of it already is not written again."""
        if not self._before:
            return more
        if more == self._before or (self._parts and all(part in self._parts for part in _conjuncts(more))):
            return self._before
        joined = f"({self._before}) AND ({more})"
        return joined if len(joined) <= 2 * _LONGEST_CONDITION else more


def _conjuncts(condition: str) -> tuple[Expression, ...]:
    """Return the conditions that all must hold; none of one that cannot be read."""
    try:
        parsed = parse_predicate(condition) if condition else None
    except RequestError:
        return ()
    return tuple(_flat(parsed)) if parsed is not None else ()


def _flat(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, And):
        for part in condition.parts:
            yield from _flat(part)
    else:
        yield condition


def _without_comments(condition: str) -> str:
    """Return a condition without comments, which would hide what is written after it."""
    if "--" not in condition and "/*" not in condition:
        return condition
    try:
        return " ".join(token.text for token in tokens_of(condition)).strip()
    except RequestError:
        return condition


def _bar(bar: ValueBar, path: tuple[str, ...], kind: PrimitiveType, largest: int) -> Bar:
    if bar.high is None:
        where, words = equality_text(path, bar.low, kind), _text(bar.low, _FULL)
        label = _text(bar.low, _LABEL)
    else:
        where = range_text(path, bar.low, bar.high, kind)
        low, high = _ends(bar.low, bar.high)
        label, words = f"{low} to {high}", f"from {low} to before {high}"
    fits = where is not None and len(where) <= _LONGEST_CONDITION
    return Bar(label, words, bar.count, bar.count / largest if largest else 0.0, where or "" if fits else "")


def _ends(low: Any, high: Any) -> tuple[str, str]:
    """Return the ends of a range without what all round ends have in common."""
    if isinstance(low, datetime) and low.time() == high.time() == low.time().min:
        return low.date().isoformat(), high.date().isoformat()
    if isinstance(low, Decimal) and low == low.to_integral_value() and high == high.to_integral_value():
        return f"{int(low)}", f"{int(high)}"
    return _text(low, _LABEL), _text(high, _LABEL)


def _text(value: Any, most: int) -> str:
    if isinstance(value, str):
        shown = fmt.shorten(value, most)
        return shown if shown.strip() else f"\u201c{shown}\u201d"
    return fmt.value_text(value, most)


def _distinct(values: ColumnValues) -> str:
    if values.distinct is None:
        return ""
    about = "" if values.exact else "about "
    return about + fmt.plural(values.distinct, "different value")
