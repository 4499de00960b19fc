"""Expressions that a table stores, over rows: where one cannot be evaluated, the error names it and not the rows.

Protocol sections: CHECK Constraints, Column Invariants, Generated Columns, Default Columns. Invariants: an expression
is blamed only where it fails alone over rows that are sound without it; the error of Spark stays its cause; where types
are compared nothing is evaluated, and an expression that gives another value each time is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import Cancelled, CorruptTable, EngineUnavailable, ExplorerError, ExpressionRefused
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.transaction.new_files.row_constraints import RowRule, StoredExpression
from explorer.core.transaction.proposal import GuardResult
from explorer.spark.engine.expressions import expression
from explorer.spark.engine.failures import PLANNING_ERRORS, failure_of, first_sentence
from explorer.spark.engine.session import engine
from explorer.spark.scan.physical import spark_type
from explorer.spark.scan.predicate import stable_type
from explorer.spark.writes.new_rows import breaks_rules

_TYPES: Final = "generated-types"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An expression of the table over some rows.

    Attributes:
        stored: The expression.
        rows: The rows.
        value: Its value for each.
    """

    stored: StoredExpression
    rows: DataFrame
    value: Column


def evaluated(stored: StoredExpression, rows: DataFrame) -> Evaluated:
    """Analyze an expression of the table over some rows; nothing of them is read.

    Raises:
        CorruptTable: Spark does not accept it.
        ExpressionRefused: It may not be evaluated.
        EngineUnavailable: Spark ended, or lacks a part.
    """
    try:
        return Evaluated(stored, rows, expression(rows, stored.text))
    except (*PLANNING_ERRORS, ExpressionRefused) as error:
        raise _broken(stored, error) from error


def fault_of(
    rows: DataFrame, sound: Sequence[Column], made: Sequence[Evaluated], judged: DataFrame, rules: Sequence[RowRule]
) -> ExplorerError | None:
    """Find the expression for which a pass over rows failed; None where the rows themselves fail.

    Args:
        rows: The rows before anything was evaluated.
        sound: The values that must be readable for an expression to be blamed.
        made: Generated columns and defaults, over rows of their own.
        judged: The rows that the rules judge.
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


def column_types(schema: StructType, expressions: Mapping[str, str]) -> GuardResult:
    """Judge the types of generated columns by analysis over no rows; see `RowEngine.column_types`."""
    columns = spark_type(schema)
    assert isinstance(columns, st.StructType)
    frame = engine().session().createDataFrame([], columns)
    faults: dict[str, str] = {}
    for name, text in expressions.items():
        wanted = columns[name].dataType
        try:
            actual = stable_type(frame, text)
        except ExpressionRefused as error:
            faults[name] = error.message
        except PLANNING_ERRORS as error:
            if isinstance(failure := failure_of(error), EngineUnavailable):
                raise failure from error
            faults[name] = first_sentence(error)
        else:
            if actual != wanted:
                faults[name] = f"{text} gives {actual.simpleString()}, and the column is {wanted.simpleString()}"
    evidence = {"expressions": dict(expressions)}
    if not faults:
        return GuardResult(_TYPES, "pass", evidence | {"detail": "Every expression gives the type of its column."})
    detail = "; ".join(f"{name}: {fault}" for name, fault in faults.items())
    return GuardResult(_TYPES, "fail", evidence | {"faults": faults, "detail": detail}, "Cast it to the column's type.")


def _rule_failure(rows: DataFrame, rule: RowRule) -> Exception | None:
    try:
        return _failure(rows, breaks_rules(rows, [rule]))
    except (*PLANNING_ERRORS, ExpressionRefused) as error:
        return error


def _failure(rows: DataFrame, values: Sequence[Column]) -> Exception | None:
    """Return what Spark raises where it computes values of all rows; None if nothing."""
    if not values:
        return None
    try:
        # The length of its text: Spark would not work out whether a value is null that never can be.
        texts = (value.cast("string") for value in values)
        rows.agg(*(sf.max(sf.length(text)).alias(f"v{place}") for place, text in enumerate(texts))).collect()
    except PLANNING_ERRORS as error:
        return error
    return None


def _broken(stored: StoredExpression, error: Exception) -> ExplorerError:
    if isinstance(failure := failure_of(error), EngineUnavailable | Cancelled):
        return failure
    why = error.message if isinstance(error, ExpressionRefused) else first_sentence(error)
    sentences = (f"{stored.name}, {stored.text}, cannot be evaluated: {why.rstrip('.')}.", stored.doubt, stored.advice)
    message = " ".join(filter(None, sentences))
    if isinstance(error, ExpressionRefused):
        return error.with_facts(message=message)
    return CorruptTable(message, column=stored.column, found=stored.text)
