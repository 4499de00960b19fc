"""Vet a predicate before Spark evaluates anything of it, and filter by it.

`explorer.core.protocol.sql.vetting` checks the text first, then Spark analyses it over no rows. Invariants: only one
boolean expression over the given columns and Spark's own functions passes; everything else raises an ExpressionRefused
with the reason and the place, with Spark's suggestion where it has one; no row is read for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as st

from explorer.core.errors import EngineUnavailable, ExpressionRefused
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.schema.edit import choices, first_names
from explorer.core.protocol.sql.tokens import NormalizedExpression
from explorer.core.protocol.sql.vetting import check_clock, normalized_expression, quoted_text
from explorer.data_files.column_sources import case_collides
from explorer.spark.engine.expressions import analysed
from explorer.spark.engine.failures import PLANNING_ERRORS, condition_of, failure_of, first_sentence
from explorer.spark.engine.session import engine
from explorer.spark.scan.physical import spark_type

# Spark's condition, and the reason that a program may act on.
_REASONS: Final = {
    "PARSE_": "syntax",
    "UNRESOLVED_COLUMN": "unknown column",
    "FIELD_NOT_FOUND": "unknown column",
    "UNRESOLVED_ROUTINE": "unknown function",
    "INVALID_WHERE_CONDITION": "aggregate",
    "MISSING_GROUP_BY": "aggregate",
    "WINDOW_FUNCTION": "window",
    "UNSUPPORTED_EXPR_FOR_OPERATOR": "window",
    "UNSUPPORTED_GENERATOR": "generator",
    "UNBOUND_SQL_PARAMETER": "parameter",
}
_VARIABLE: Final = re.compile(r"variablereference\(([^)=]+)")
_MOMENT: Final = re.compile(
    r"(?:cast|to_timestamp|to_date)\w*\((?:now|today|tomorrow|yesterday)\b[^#()]*[,)]", re.IGNORECASE
)
# A constant that is computed and then cast to a time: it may be a word for the present.
_COMPUTED_MOMENT: Final = re.compile(r"cast\(\w+\([^#]*\) as (?:date|timestamp\w*)\)")


def vet(schema: StructType, text: str, *, repeatable: bool = True) -> None:
    """Check that a predicate may be evaluated over the rows of a table; starts the engine if necessary.

    Args:
        text: SQL of one boolean expression over them.
        repeatable: Refuse also what depends on the time or the session (``current_date``, ``current_user``).

    Raises:
        ExpressionRefused: With ``position``, ``reason`` and, for an unknown column, the ``nearest`` ones.
        EngineUnavailable: Spark or Java is missing.
    """
    (refusal,) = vetted(schema, [text], repeatable=repeatable)
    if refusal is not None:
        raise refusal


def vetted(schema: StructType, texts: Iterable[str], *, repeatable: bool = True) -> Iterator[ExpressionRefused | None]:
    """Check several predicates as `vet` does; why each is refused, or None."""
    nothing: DataFrame | None = None
    for text in texts:
        try:
            remade = normalized_expression(text)
            nothing = _no_rows(schema) if nothing is None else nothing
            _condition(nothing, remade, repeatable=repeatable)
        except ExpressionRefused as refusal:
            yield refusal
        else:
            yield None


def filtered(frame: DataFrame, where: str) -> DataFrame:
    """Keep the rows for which the predicate is TRUE.

    Args:
        frame: Rows with logical columns.
        where: SQL text of one boolean expression.

    Raises:
        ExpressionRefused: The text is not such an expression; ``nearest`` has Spark's suggestion for an unknown column.
    """
    return frame.where(condition(frame.sparkSession, frame.schema, where))


def condition(session: SparkSession, columns: st.StructType, text: str, *, repeatable: bool = False) -> Column:
    """Return the predicate as a Column, once it is vetted.

    Args:
        columns: The columns it may use.
        text: SQL of one boolean expression.
        repeatable: As in `vet`.

    Raises:
        ExpressionRefused: It is not such an expression.
        EngineUnavailable: Spark's Java process died.
    """
    remade = normalized_expression(text)
    try:
        # Over columns alone, not over the frame that is read: a frame has hidden ones too.
        nothing = session.createDataFrame([], columns)
    except PLANNING_ERRORS as error:
        raise _refusal(remade, error) from error
    return _condition(nothing, remade, repeatable=repeatable)


def stable_type(rows: DataFrame, text: str) -> st.DataType:
    """Return the type of an expression over some rows, which gives the same value for a row each time.

    Raises:
        ExpressionRefused: It may not be evaluated, or depends on the time or the session.
        PySparkException: Spark does not accept it.
    """
    remade = normalized_expression(text)
    check_clock(text, remade.tokens, {name.lower() for name in rows.columns})
    analysis = analysed(rows, [remade])
    _check_plan(remade, analysis.plan, rows.columns, repeatable=True)
    return analysis.frame.schema.fields[0].dataType


def _no_rows(schema: StructType) -> DataFrame:
    running = engine()
    session = running.case_sensitive_session() if case_collides(schema) else running.session()
    columns = spark_type(schema)
    assert isinstance(columns, st.StructType)
    return session.createDataFrame([], columns)


def _condition(nothing: DataFrame, remade: NormalizedExpression, *, repeatable: bool) -> Column:
    """Return the predicate, whose text was checked, over the columns of a frame without rows."""
    text = remade.original
    if repeatable:
        check_clock(text, remade.tokens, {name.lower() for name in nothing.columns})
    try:
        analysis = analysed(nothing, [remade])
        _check_plan(remade, analysis.plan, nothing.columns, repeatable=repeatable)
        kind = analysis.frame.schema.fields[0].dataType
    except PLANNING_ERRORS as error:
        raise _refusal(remade, error) from error
    if not isinstance(kind, st.BooleanType):
        raise ExpressionRefused(
            f"The condition {quoted_text(text)} cannot be used: it returns {kind.simpleString()}, not a boolean. "
            "Compare it with something, for example (...) = ... or IS NOT NULL.",
            expression=text,
            reason="not boolean",
            found=kind.simpleString(),
            expected="boolean",
        )
    return analysis.columns[0]


def _check_plan(remade: NormalizedExpression, plan: str, columns: Sequence[str], *, repeatable: bool) -> None:
    text = remade.original
    if (variable := _VARIABLE.search(plan)) is not None:
        name = variable[1].rsplit(".", 1)[-1]
        raise ExpressionRefused(
            f"The condition {quoted_text(text)} uses the session's variable {name}, which is not a column. "
            f"Columns: {first_names(columns)}.",
            expression=text,
            position=next((t.start + 1 for t in remade.tokens if t.value.lower() == name.lower()), None),
            reason="unknown column",
            nearest=choices(columns),
        )
    if repeatable and (_MOMENT.search(plan) or _COMPUTED_MOMENT.search(plan)):
        raise ExpressionRefused(
            f"The condition {quoted_text(text)} casts a string to a time that may mean the present (such as 'today'), "
            "so its result changes from day to day. Write the time itself.",
            expression=text,
            reason="clock",
        )


def _refusal(remade: NormalizedExpression, error: Exception) -> ExpressionRefused | EngineUnavailable:
    text = remade.original
    if not isinstance(error, PySparkException):
        failure = failure_of(error)
        if isinstance(failure, EngineUnavailable):
            return failure
    if "StackOverflow" in str(error) or "FAILED_TO_PARSE_TOO_COMPLEX" in str(error):
        return ExpressionRefused(
            f"The condition of {len(text)} characters is nested too deeply for Spark's parser.",
            expression=text,
            reason="too deep",
        )
    spark_condition = condition_of(error)
    reason = next((word for start, word in _REASONS.items() if (spark_condition or "").startswith(start)), "types")
    message, position = (
        f"The condition {quoted_text(text)} cannot be used: {first_sentence(error)}",
        _position(remade, error),
    )
    if reason == "syntax" and position is not None and position > len(text):
        message = f"The condition {quoted_text(text)} cannot be used: it ends where more is expected."
    elif position is not None:
        message = f"{message.rstrip('.')} ({_place(text, position)})."
    return ExpressionRefused(
        message,
        expression=text,
        position=None if position is None else min(position, len(text)),
        reason=reason,
        condition=spark_condition,
        nearest=_suggestions(error),
    )


def _position(remade: NormalizedExpression, error: Exception) -> int | None:
    """Return the place of the fault in the text as written, from 1; past the end if the text ends too early."""
    match = re.search(r"\(line (\d+), pos (\d+)\)", str(error))
    if match is not None:
        line, column = int(match[1]), int(match[2])
        lines = remade.text.split("\n")
        # One character of ours, the parenthesis, is before the first line, and one after the last.
        place = sum(len(before) + 1 for before in lines[: line - 1]) + column - (line == 1)
        return remade.original_position(place) + 1
    contexts = error.getQueryContext() if isinstance(error, PySparkException) else []
    starts = [context.startIndex() for context in contexts if str(context.contextType()).endswith("SQL")]
    return None if not starts or starts[0] <= 0 else remade.original_position(starts[0] - 1) + 1


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position - 1)
    return f"line {line + 1}, position {position - (text.rfind(chr(10), 0, position - 1) + 1)}"


def _parameters(error: Exception) -> dict[str, str]:
    parameters = error.getMessageParameters() if isinstance(error, PySparkException) else None
    return dict(parameters or {})


def _suggestions(error: Exception) -> list[str] | None:
    proposal = _parameters(error).get("proposal")
    if not proposal:
        return None
    return [name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)*)`(?!`)", proposal)]
