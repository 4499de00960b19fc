"""Expressions that a table keeps, over rows: where one cannot be evaluated, the error names it and not the rows.

Protocol sections: CHECK Constraints, Column Invariants, Generated Columns, Default Columns. Invariants: an expression
is blamed only where it fails alone over rows that are sound without it; what Spark said stays the cause of the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from explorer.core.errors import CorruptTable, ExpressionRefused
from explorer.core.transaction.new_files.row_constraints import RowRule, StoredExpression
from explorer.spark.engine.expressions import expression
from explorer.spark.engine.failures import first_sentence
from explorer.spark.writes.new_rows import breaks_rules

__all__ = ["Evaluated", "evaluated", "fault_of"]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An expression of the table over some rows.

    Attributes:
        stored: The expression.
        rows: The rows.
        value: What it gives for each.
    """

    stored: StoredExpression
    rows: DataFrame
    value: Column


def evaluated(kept: StoredExpression, rows: DataFrame) -> Evaluated:
    """Analyze an expression of the table over some rows; nothing of them is read.

    Raises:
        CorruptTable: Spark does not accept it.
        ExpressionRefused: It may not be evaluated.
    """
    try:
        return Evaluated(kept, rows, expression(rows, kept.text))
    except (PySparkException, ExpressionRefused) as error:
        raise _broken(kept, error) from error


def fault_of(
    rows: DataFrame, sound: Sequence[Column], made: Sequence[Evaluated], judged: DataFrame, rules: Sequence[RowRule]
) -> CorruptTable | ExpressionRefused | None:
    """Find the expression for which a pass over rows failed; None where the rows themselves fail.

    Args:
        rows: The rows before anything was evaluated.
        sound: What of them must be readable for an expression to be blamed.
        made: Generated columns and defaults, over rows of their own.
        judged: The rows that the rules judge.
        rules: The rules.
    """
    if _failure(rows, sound) is not None:
        return None
    for one in made:
        if (error := _failure(one.rows, [one.value])) is not None:
            return _broken(one.stored, error)
    for rule in rules:
        if rule.stored is not None and (error := _rule_failure(judged, rule)) is not None:
            return _broken(rule.stored, error)
    return None


def _rule_failure(rows: DataFrame, rule: RowRule) -> Exception | None:
    try:
        return _failure(rows, breaks_rules(rows, [rule]))
    except (PySparkException, ExpressionRefused) as error:
        return error


def _failure(rows: DataFrame, values: Sequence[Column]) -> Exception | None:
    """What Spark raises where it works out values of all rows; None if nothing."""
    if not values:
        return None
    try:
        # The length of its text: Spark would not work out whether a value is null that never can be.
        texts = (value.cast("string") for value in values)
        rows.agg(*(sf.max(sf.length(text)).alias(f"v{place}") for place, text in enumerate(texts))).collect()
    except PySparkException as error:
        return error
    return None


def _broken(kept: StoredExpression, error: Exception) -> CorruptTable | ExpressionRefused:
    why = error.message if isinstance(error, ExpressionRefused) else first_sentence(error)
    sentences = (f"{kept.name}, {kept.text}, cannot be evaluated: {why.rstrip('.')}.", kept.doubt, kept.advice)
    message = " ".join(filter(None, sentences))
    if not isinstance(error, ExpressionRefused):
        return CorruptTable(message, column=kept.column, found=kept.text)
    return ExpressionRefused(
        message,
        expression=error.expression,
        position=error.position,
        reason=error.reason,
        condition=error.condition,
        found=error.found,
        expected=error.expected,
        nearest=error.nearest,
    )
