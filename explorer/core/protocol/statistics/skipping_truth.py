"""Whether some row of a file may make a condition TRUE or FALSE, for every file at once.

Protocol section: Per-file Statistics. Invariants: a result that a column's facts do not rule out is possible; a null
row makes a comparison neither; NaN, which writers leave out of bounds, is above all other values (STATS-016); a
comparison that Spark would make in another way than by the bounds' own order is not answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Mask, flags
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField
from explorer.core.protocol.schema.field_metadata import COLLATIONS
from explorer.core.protocol.schema.type_widening import recorded_changes
from explorer.core.protocol.sql.predicates import (
    And,
    Constant,
    Expression,
    IsNull,
    Like,
    Not,
    Operator,
    Or,
    SqlComparison,
    Unsplittable,
)
from explorer.core.protocol.statistics.column_facts import ColumnFacts, Side
from explorer.core.protocol.statistics.skipping_constants import constant_of


class Truth(msgspec.Struct, frozen=True):
    """For every file whether some row may make a condition TRUE, and FALSE."""

    can_be_true: Mask
    can_be_false: Mask


def truth_of(part: Expression, facts: Mapping[tuple[str, ...], ColumnFacts], files: int, hopeful: bool) -> Truth:
    """Return whether some row may make a condition TRUE, and FALSE.

    Args:
        hopeful: Assume the best of a missing fact, so that it rules out both results.
    """
    match part:
        case And():
            parts = [truth_of(each, facts, files, hopeful) for each in part.parts]
            true = np.logical_and.reduce([each.can_be_true for each in parts])
            return Truth(true, np.logical_or.reduce([each.can_be_false for each in parts]))
        case Or():
            parts = [truth_of(each, facts, files, hopeful) for each in part.parts]
            true = np.logical_or.reduce([each.can_be_true for each in parts])
            return Truth(true, np.logical_and.reduce([each.can_be_false for each in parts]))
        case Not():
            inner = truth_of(part.part, facts, files, hopeful)
            return Truth(inner.can_be_false, inner.can_be_true)
        case Constant():
            return Truth(np.full(files, part.value is True), np.full(files, part.value is False))
        case Unsplittable():
            return Truth(np.ones(files, bool), np.ones(files, bool))
        case SqlComparison():
            return _comparison_truth(part, facts[part.column], hopeful)
        case Like():
            return _like_truth(part, facts[part.column], hopeful)
        case IsNull():
            return _null_truth(facts[part.column], hopeful)
    assert_never(part)


def unanswerable(
    part: SqlComparison | Like | IsNull, kind: PrimitiveType, field: StructField, *, padded: bool
) -> str | None:
    """Return why statistics cannot answer a condition on a column; None if they can."""
    if isinstance(part, IsNull):
        return None
    if kind.name in {"binary", "variant", "void"}:
        return f"a column of type {kind.name} has no bounds"
    if COLLATIONS in field.metadata:
        return "texts of this column are compared by a collation"
    if padded:
        return "texts of this column are padded before they are compared"
    if kind.name == "double" and _was_float(field):
        return "older files record its bounds in the fewest digits of a float, which may not enclose the values"
    if isinstance(part, Like):
        return None if kind.name == "string" else f"LIKE turns a column of type {kind.name} into text"
    if part.value.kind != "null" and constant_of(part.value, kind) is None:
        return f"comparing type {kind.name} with {part.value.text!r} needs a conversion"
    return None


def successor(prefix: str) -> str | None:
    """Return the smallest text above every text with this beginning, by code points, the order of UTF-8 bytes."""
    for place in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[place]) + 1
        code = 0xE000 if 0xD800 <= code <= 0xDFFF else code
        if code <= 0x10FFFF:
            return prefix[:place] + chr(code)
    return None


def _comparison_truth(part: SqlComparison, facts: ColumnFacts, hopeful: bool) -> Truth:
    """Return the truth of a comparison of a column with a constant.

    Args:
        hopeful: Assume the best of a missing bound, so that it rules out both results.
    """
    if part.value.kind == "null":
        never = np.zeros(len(facts.all_null), bool)
        return _null_truth(facts, hopeful) if part.operator == "<=>" else Truth(never, never)
    constant = constant_of(part.value, facts.type)
    assert constant is not None, "a comparison that needs a conversion is not answered (see `unanswerable`)"

    def low(operator: Operator) -> Mask:
        return facts.low.holds(operator, constant, facts.type, unknown=hopeful)

    def high(operator: Operator) -> Mask:
        return facts.high.holds(operator, constant, facts.type, unknown=hopeful)

    match part.operator:
        case "=" | "<=>":
            truth = Truth(~(low(">") | high("<")), ~(low(">=") & high("<=")))
        case "<":
            truth = Truth(~low(">="), ~high("<"))
        case "<=":
            truth = Truth(~low(">"), ~high("<="))
        case ">":
            truth = Truth(~high("<="), ~low(">"))
        case ">=":
            truth = Truth(~high("<"), ~low(">="))
    if not facts.partition and facts.type.name in {"float", "double"}:
        truth = _with_nan(truth, part.operator)
    if part.operator != "<=>":
        return _of_values(truth, facts)
    missing = facts.uncounted & hopeful
    return Truth(truth.can_be_true & ~facts.all_null, truth.can_be_false | ~(facts.none_null | missing))


def _like_truth(part: Like, facts: ColumnFacts, hopeful: bool) -> Truth:
    """Return the truth of a match of a column of texts with a pattern."""
    after = successor(part.prefix)
    never, always = np.zeros(len(facts.all_null), bool), np.ones(len(facts.all_null), bool)

    def holds(side: Side, operator: Operator, text: str) -> Mask:
        return side.holds(operator, text, facts.type, unknown=hopeful)

    above = holds(facts.low, ">=", after) if after is not None else never
    can_be_true = ~(holds(facts.high, "<", part.prefix) | above)
    if not part.exact:
        only = _fitting(part.pattern, facts) if facts.partition else None
        truth = Truth(can_be_true, always) if only is None else Truth(can_be_true & ~only[1], ~only[0])
        return _of_values(truth, facts)
    within = holds(facts.high, "<", after) if after is not None else always
    return _of_values(Truth(can_be_true, ~(holds(facts.low, ">=", part.prefix) & within)), facts)


def _fitting(pattern: str, facts: ColumnFacts) -> tuple[Mask, Mask]:
    """Return where the one value of all rows is known, whether it matches a pattern: surely, and surely not."""
    import pyarrow.compute as pc

    assert isinstance(facts.low.values, pa.Array), "only texts are matched with patterns (see `unanswerable`)"
    known = flags(pc.equal(facts.low.values, facts.high.values))
    fits = flags(pc.match_like(facts.low.values, pattern=pattern))
    return known & fits, known & ~fits


def _null_truth(facts: ColumnFacts, hopeful: bool) -> Truth:
    """Return the truth of a column being null."""
    missing = facts.uncounted & hopeful
    return Truth(~(facts.none_null | missing), ~(facts.all_null | missing))


def _with_nan(truth: Truth, operator: Operator) -> Truth:
    """Return the same for values that may be NaN, which is above all others and not in bounds (STATS-016)."""
    always = np.ones(len(truth.can_be_true), bool)
    if operator in {">", ">="}:
        return Truth(always, truth.can_be_false)
    return Truth(truth.can_be_true, always)


def _was_float(field: StructField) -> bool:
    return any(isinstance(change, dict) and change.get("fromType") == "float" for change in recorded_changes(field))


def _of_values(truth: Truth, facts: ColumnFacts) -> Truth:
    """Return the truth with null rows, which make a comparison null, neither true nor false."""
    return Truth(truth.can_be_true & ~facts.all_null, truth.can_be_false & ~facts.all_null)
