"""What a column's statistics say about one comparison, for every file at once.

Protocol section: Per-file Statistics. Invariants: constants are compared with bounds exactly (whole numbers and
decimals by their digits, never through a float), texts by their UTF-8 bytes; bounds of which the least is above the
greatest are no bounds; a comparison that Spark would make through a conversion that may round is left unanswered.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import flags, numbers, strings, validity
from explorer.core.protocol.arrow.typed_arrays import micros, typed_column, without_nan
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField
from explorer.core.protocol.schema.field_metadata import CHAR_VARCHAR, TYPE_CHANGES
from explorer.core.protocol.sql.predicates import Comparison, IsNull, Like, LiteralValue
from explorer.core.protocol.statistics.file_statistics import FileStatistics, StatisticsColumn

__all__ = [
    "ColumnFacts",
    "Side",
    "Truth",
    "comparison_truth",
    "constant_of",
    "like_truth",
    "null_truth",
    "thresholds",
    "unanswerable",
]

_MILLISECOND: Final = 1_000
_LAST: Final = np.iinfo(np.int64).max


class Truth(msgspec.Struct, frozen=True):
    """For every file whether some row may make a condition TRUE, and FALSE (NumPy arrays of bool)."""

    can_be_true: Any
    can_be_false: Any


class Side(msgspec.Struct, frozen=True):
    """One bound in every file: NumPy numbers, or an Arrow column of texts or decimals; and where it is known."""

    values: Any
    known: Any

    def holds(self, operator: str, constant: Any, kind: PrimitiveType, *, unknown: bool) -> Any:
        """Where the bound stands so to a constant; ``unknown`` is the answer where the bound is not known."""
        found = _compared(self.values, operator, constant, kind)
        return (found & self.known) | ~self.known if unknown else found & self.known


class ColumnFacts(msgspec.Struct, frozen=True):
    """What is known of a column in every file.

    Attributes:
        type: The column's type.
        partition: Whether it is a partition column.
        low: Least values.
        high: Greatest values; times already raised.
        all_null: Files in which every row is null (NumPy array of bool).
        none_null: Files in which no row is.
        uncounted: Files without a null count.
    """

    type: PrimitiveType
    partition: bool
    low: Side
    high: Side
    all_null: Any
    none_null: Any
    uncounted: Any

    @classmethod
    def of(cls, statistics: FileStatistics, column: StatisticsColumn) -> ColumnFacts:
        """The facts of a column; a null count counts only where it is 0 or all rows, as wide bounds demand."""
        bounds = statistics.bounds(column)
        if column.partition:
            there = validity(bounds.low)
            side = _side(bounds.low, column.type)
            return cls(column.type, True, side, side, ~there, there, np.zeros(len(there), bool))
        nulls, counted = numbers(bounds.nulls)
        records, sized = numbers(statistics.num_records)
        low, high = _side(bounds.low, column.type), _raised(_side(bounds.high, column.type), column.type)
        low, high = _in_order(low, high)
        all_null = counted & sized & (nulls == records)
        return cls(column.type, False, low, high, all_null, counted & (nulls == 0), ~counted)

    def knowing_nothing(self) -> ColumnFacts:
        """The column as if it had no statistics."""
        nothing = np.zeros(len(self.all_null), bool)
        return msgspec.structs.replace(self.knowing_nulls(), all_null=nothing, none_null=nothing)

    def knowing_nulls(self) -> ColumnFacts:
        """The column as if it had null counts alone."""
        nothing = np.zeros(len(self.all_null), bool)
        low, high = Side(self.low.values, nothing), Side(self.high.values, nothing)
        return msgspec.structs.replace(self, low=low, high=high)


def comparison_truth(part: Comparison, facts: ColumnFacts, hopeful: bool) -> Truth:
    """A column against a constant.

    Args:
        part: The comparison.
        facts: What is known of its column.
        hopeful: Take a missing bound for the best, so that it rules out both answers.
    """
    if part.value.kind == "null":
        never = np.zeros(len(facts.all_null), bool)
        return null_truth(facts, hopeful) if part.operator == "<=>" else Truth(never, never)
    constant = constant_of(part.value, facts.type)

    def low(operator: str) -> Any:
        return facts.low.holds(operator, constant, facts.type, unknown=hopeful)

    def high(operator: str) -> Any:
        return facts.high.holds(operator, constant, facts.type, unknown=hopeful)

    match part.operator:
        case "=" | "<=>":
            found = Truth(~(low(">") | high("<")), ~(low(">=") & high("<=")))
        case "<":
            found = Truth(~low(">="), ~high("<"))
        case "<=":
            found = Truth(~low(">"), ~high("<="))
        case ">":
            found = Truth(~high("<="), ~low(">"))
        case ">=":
            found = Truth(~high("<"), ~low(">="))
    if not facts.partition and facts.type.name in {"float", "double"}:
        found = _with_nan(found, part.operator)
    if part.operator != "<=>":
        return _of_values(found, facts)
    missing = facts.uncounted & hopeful
    return Truth(found.can_be_true & ~facts.all_null, found.can_be_false | ~(facts.none_null | missing))


def _with_nan(found: Truth, operator: str) -> Truth:
    """The same for values that may be NaN, which is above all others; writers leave it out of bounds (STATS-016)."""
    always = np.ones(len(found.can_be_true), bool)
    if operator in {">", ">="}:
        return Truth(always, found.can_be_false)
    return Truth(found.can_be_true, always)


def like_truth(part: Like, facts: ColumnFacts, hopeful: bool) -> Truth:
    """A column of texts that begin so."""
    after = _successor(part.prefix)
    beyond = np.zeros(len(facts.all_null), bool) if after is None else None

    def holds(side: Side, operator: str, text: str) -> Any:
        return side.holds(operator, text, facts.type, unknown=hopeful)

    above = holds(facts.low, ">=", after) if after is not None else beyond
    can_be_true = ~(holds(facts.high, "<", part.prefix) | above)
    if not part.exact:
        return _of_values(Truth(can_be_true, np.ones(len(facts.all_null), bool)), facts)
    within = holds(facts.high, "<", after) if after is not None else np.ones(len(facts.all_null), bool)
    return _of_values(Truth(can_be_true, ~(holds(facts.low, ">=", part.prefix) & within)), facts)


def null_truth(facts: ColumnFacts, hopeful: bool) -> Truth:
    """A column that is null."""
    missing = facts.uncounted & hopeful
    return Truth(~(facts.none_null | missing), ~(facts.all_null | missing))


def unanswerable(part: Comparison | Like | IsNull, kind: PrimitiveType, field: StructField) -> str | None:
    """Why statistics cannot answer a condition on a column; None if they can."""
    if isinstance(part, IsNull):
        return None
    if kind.name in {"binary", "variant", "void"}:
        return f"a column of type {kind.name} has no bounds"
    if any(key == "__COLLATIONS" for key in field.metadata):
        return "texts of this column are compared by a collation"
    if str(field.metadata.get(CHAR_VARCHAR, "")).startswith("char"):
        return "texts of this column are padded before they are compared"
    if kind.name == "double" and _was_float(field):
        return "older files state its bounds in the fewest digits of a float, which no longer enclose the values"
    if isinstance(part, Like):
        return None if kind.name == "string" else f"LIKE turns a column of type {kind.name} into text"
    if part.value.kind != "null" and constant_of(part.value, kind) is None:
        return f"comparing type {kind.name} with {part.value.text!r} needs a conversion"
    return None


def _was_float(field: StructField) -> bool:
    changes = field.metadata.get(TYPE_CHANGES)
    recorded = changes if isinstance(changes, list) else []
    return any(isinstance(change, dict) and change.get("fromType") == "float" for change in recorded)


def _of_values(found: Truth, facts: ColumnFacts) -> Truth:
    """A null row makes a comparison null, which is neither."""
    return Truth(found.can_be_true & ~facts.all_null, found.can_be_false & ~facts.all_null)


def _side(column: pa.Array, kind: PrimitiveType) -> Side:
    if kind.name in {"binary", "variant", "void"}:
        return Side(np.zeros(len(column), np.int64), np.zeros(len(column), bool))
    if kind.name in {"string", "decimal"}:
        return Side(column, validity(column))
    if kind.name in {"float", "double"}:
        exact = without_nan(column).cast(pa.float64())
        data = np.frombuffer(exact.buffers()[1], np.float64)[exact.offset : exact.offset + len(exact)]
        return Side(data, validity(exact))
    if kind.name == "boolean":
        return Side(flags(column).astype(np.int64), validity(column))
    return Side(*numbers(_as_integers(column)))


def _as_integers(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        return column.view(pa.int64())
    return column.cast(pa.int64())


def _raised(side: Side, kind: PrimitiveType) -> Side:
    """Greatest times a millisecond later: writers cut them to milliseconds (D-37)."""
    if kind.name not in {"timestamp", "timestamp_ntz"}:
        return side
    return Side(np.minimum(side.values, _LAST - _MILLISECOND) + _MILLISECOND, side.known)


def _in_order(low: Side, high: Side) -> tuple[Side, Side]:
    """Bounds that contradict each other say nothing."""
    import pyarrow.compute as pc

    if isinstance(low.values, pa.Array):
        wrong = flags(pc.greater(low.values, high.values))
    else:
        wrong = (low.values > high.values) & low.known & high.known
    return Side(low.values, low.known & ~wrong), Side(high.values, high.known & ~wrong)


_ARROW: Final = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_NUMPY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _compared(values: Any, operator: str, constant: Any, kind: PrimitiveType) -> Any:
    if kind.name in {"float", "double"}:
        return _NUMPY[operator](values, constant)
    if kind.name == "string":
        return _arrow(values, operator, strings([constant])[0])
    below, limit, above = thresholds(constant, operator, kind)
    if below or above:
        # The constant lies outside the type: every value stands to it alike.
        return np.full(len(values), (operator in {">", ">="}) if below else (operator in {"<", "<="}))
    if kind.name == "decimal":
        return _arrow(values, operator, typed_column([limit], kind)[0])
    return _NUMPY[operator](values, limit)


def _arrow(values: pa.Array, operator: str, constant: pa.Scalar) -> Any:
    import pyarrow.compute as pc

    return flags(pc.call_function(_ARROW[operator], [values, constant]))


def _successor(prefix: str) -> str | None:
    """The least text above every text that begins so, by code points, which is the order of UTF-8 bytes."""
    for place in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[place]) + 1
        code = 0xE000 if 0xD800 <= code <= 0xDFFF else code
        if code <= 0x10FFFF:
            return prefix[:place] + chr(code)
    return None


_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64, "date": 64, "timestamp": 64, "timestamp_ntz": 64}
_EXACT: Final = Context(prec=2_000)
_MOST_DIGITS: Final = 300
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?(?P<zone>Z|[+-]\d{2}:\d{2})?\Z", re.ASCII
)


def constant_of(value: LiteralValue, kind: PrimitiveType) -> Any:
    """The constant as it is compared with a column of a type, or None if that needs a conversion that may round.

    Returns:
        A Decimal for whole numbers, decimals and booleans, days or microseconds since the epoch as Decimal for times, a
        float for floats, a str for texts.
    """
    if len(value.text) > _MOST_DIGITS and value.kind != "string":
        return None
    try:
        return _constant(value, kind)
    except (ValueError, ArithmeticError):
        return None


def thresholds(constant: Decimal, operator: str, kind: PrimitiveType) -> tuple[bool, Any, bool]:
    """The constant as a value of the type that gives the same answer.

    Returns:
        Whether the constant is below every value of the type; the value (an int; a Decimal for a decimal type) to be
        compared by the same operator; whether the constant is above every value of the type.
    """
    step = Decimal(1).scaleb(-kind.scale)
    rounding = ROUND_CEILING if operator in {"<", ">="} else ROUND_FLOOR
    value = constant.quantize(step, rounding, _EXACT)
    if kind.name == "decimal":
        limit = Decimal(10) ** (kind.precision - kind.scale)
        return value <= -limit, value, value >= limit
    half = 1 << (_BITS.get(kind.name, 64) - 1)
    whole = int(value)
    return whole < -half, whole, whole >= half


def _constant(value: LiteralValue, kind: PrimitiveType) -> Any:
    match kind.name:
        case "byte" | "short" | "integer" if value.kind == "double":
            number = float(value.text)
            return Decimal(number) if math.isfinite(number) else None
        case "byte" | "short" | "integer" | "long" | "decimal":
            return Decimal(value.text) if value.kind in {"integer", "decimal"} else None
        case "float" | "double":
            return _float(value, kind.name == "float")
        case "string":
            return _text(value.text) if value.kind == "string" else None
        case "boolean":
            return Decimal(value.text == "true") if value.kind == "boolean" else None
        case "date":
            fits = value.kind in {"date", "string"} and _DATE.match(value.text)
            return Decimal(date.fromisoformat(value.text).toordinal() - _EPOCH_DAY) if fits else None
        case "timestamp" | "timestamp_ntz":
            return _moment(value, zoned=kind.name == "timestamp")
    return None


def _float(value: LiteralValue, single: bool) -> float | None:
    if value.kind not in {"integer", "decimal", "double"}:
        return None
    number = float(value.text)
    if not math.isfinite(number):
        return None
    # Whether Spark compares a float with a whole number as floats or as doubles depends on its settings.
    rounds = single and value.kind == "integer" and Decimal(float(np.float32(number))) != Decimal(value.text)
    return None if rounds else number


def _text(text: str) -> str | None:
    return text if text.encode("utf-8", "ignore").decode() == text else None


def _moment(value: LiteralValue, *, zoned: bool) -> Decimal | None:
    kinds = {"string", "date", "timestamp" if zoned else "timestamp_ntz"}
    found = _TIME.match(value.text)
    if value.kind not in kinds or found is None or (found["zone"] and not zoned):
        return None
    if value.kind == "date" and not _DATE.match(value.text):
        return None
    moment = datetime.fromisoformat(value.text)
    return Decimal(micros(moment if moment.tzinfo else moment.replace(tzinfo=UTC)))
