"""Vet a predicate before Spark evaluates anything of it, and filter by it.

`explorer.core.protocol.sql.vetting` checks the text first, then Spark analyses it over no rows. Invariants: only one
boolean expression over the given columns and Spark's own functions passes; everything else raises an ExpressionRefused
that says why and where, with Spark's suggestion where it has one; no row is read for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import EngineUnavailable, ExpressionRefused
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.sql.vetting import called_functions, check_clock, check_text, quoted_text
from explorer.spark.engine.failures import condition_of, failure_of, first_sentence
from explorer.spark.engine.session import engine
from explorer.spark.scan.physical import case_collides, spark_type

if TYPE_CHECKING:
    from explorer.core.protocol.sql.tokens import Token

__all__ = ["condition", "filtered", "vet", "vet_words", "vetted"]

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
    "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN": "not boolean",
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
        schema: The table's columns.
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
            tokens = check_text(text)
            nothing = _no_rows(schema) if nothing is None else nothing
            _condition(nothing, text, tokens, repeatable=repeatable)
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
        ExpressionRefused: The text is no such expression; ``nearest`` holds Spark's suggestion for an unknown column.
    """
    return frame.where(condition(frame.sparkSession, frame.schema, where))


def condition(session: SparkSession, columns: st.StructType, text: str, *, repeatable: bool = False) -> Column:
    """The predicate as a Column, once it is vetted.

    Args:
        session: Where it will be evaluated.
        columns: The columns it may use.
        text: SQL of one boolean expression.
        repeatable: As in `vet`.

    Raises:
        ExpressionRefused: It is no such expression.
        EngineUnavailable: Spark's Java process died.
    """
    tokens = check_text(text)
    try:
        # Over columns alone, not over the frame that is read: a frame has hidden ones too.
        nothing = session.createDataFrame([], columns)
    except (PySparkException, Py4JError) as error:
        raise _refusal(text, error) from error
    return _condition(nothing, text, tokens, repeatable=repeatable)


def vet_words(session: SparkSession, text: str) -> None:
    """Check the words of an expression of any type: that it is one expression, and calls only what may be called.

    Raises:
        ExpressionRefused: Naming the word and its position.
    """
    tokens = check_text(text)
    _check_own(session, text, called_functions(text, tokens))


def _no_rows(schema: StructType) -> DataFrame:
    running = engine()
    session = running.case_sensitive_session() if case_collides(schema) else running.session()
    columns = spark_type(schema)
    assert isinstance(columns, st.StructType)
    return session.createDataFrame([], columns)


def _condition(nothing: DataFrame, text: str, tokens: Sequence[Token], *, repeatable: bool) -> Column:
    """The predicate, whose text was checked, over the columns of a frame without rows."""
    called = called_functions(text, tokens)
    if repeatable:
        check_clock(text, tokens, {name.lower() for name in nothing.columns})
    try:
        _check_own(nothing.sparkSession, text, called)
        # The parentheses keep a trailing word from being taken for an alias, the newline ends a comment.
        found = sf.expr(f"({text}\n)")
        kept = nothing.where(found)
        _check_plan(text, tokens, kept, repeatable=repeatable)
        kind = nothing.select(found.alias("condition")).schema["condition"].dataType
    except (PySparkException, Py4JError) as error:
        raise _refusal(text, error) from error
    if not isinstance(kind, st.BooleanType):
        raise ExpressionRefused(
            f"The condition {quoted_text(text)} cannot be used: {_not_boolean(kind.simpleString())}",
            expression=text,
            reason="not boolean",
            found=kind.simpleString(),
            expected="boolean",
        )
    return found


def _not_boolean(kind: str) -> str:
    return f"it gives {kind}, not a boolean. Compare it with something, for example (...) = ... or IS NOT NULL."


def _check_own(session: SparkSession, text: str, called: dict[str, Token]) -> None:
    """Refuse the user's functions, also those with the name of one of Spark's."""
    if not called:
        return
    names = {str(row[0]).lower().rsplit(".", 1)[-1] for row in session.sql("SHOW USER FUNCTIONS").collect()}
    for name, token in called.items():
        if name in names:
            raise ExpressionRefused(
                f"The condition {quoted_text(text)} calls {name} at position {token.start + 1}, which is a function "
                "of this session or its catalog. Only Spark's own functions may be called.",
                expression=text,
                position=token.start + 1,
                reason="user function",
                found=name,
            )


def _check_plan(text: str, tokens: Sequence[Token], kept: DataFrame, *, repeatable: bool) -> None:
    plan = _analysed(kept)
    if (variable := _VARIABLE.search(plan)) is not None:
        name = variable[1].rsplit(".", 1)[-1]
        raise ExpressionRefused(
            f"The condition {quoted_text(text)} uses the session's variable {name}, which is not a column. "
            f"Columns: {', '.join(kept.columns)}.",
            expression=text,
            position=next((t.start + 1 for t in tokens if t.value.lower() == name.lower()), None),
            reason="unknown column",
            nearest=kept.columns,
        )
    if repeatable and (_MOMENT.search(plan) or _COMPUTED_MOMENT.search(plan)):
        raise ExpressionRefused(
            f"The condition {quoted_text(text)} casts a text to a time that may mean the present (such as 'today'), "
            "so its result changes from day to day. Write the time itself.",
            expression=text,
            reason="clock",
        )


def _analysed(frame: DataFrame) -> str:
    """The analysed plan as text; asking for it is the analysis."""
    private: Any = frame
    if not type(frame).__module__.startswith("pyspark.sql.connect"):
        return str(private._jdf.queryExecution().analyzed().toString())
    _ = frame.schema
    told = str(private._explain_string(extended=True))
    return told.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized Logical Plan ==")[0]


def _refusal(text: str, error: Exception) -> ExpressionRefused | EngineUnavailable:
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
        f"The condition {quoted_text(text)} cannot be used: {_said(error, reason)}",
        _position(text, error),
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


def _said(error: Exception, reason: str) -> str:
    if reason == "not boolean":
        return _not_boolean(str(_parameters(error).get("type", "")).strip('"').lower())
    return first_sentence(error)


def _position(text: str, error: Exception) -> int | None:
    """Where the fault is: a character, from 1; past the end if the text ends too early."""
    match = re.search(r"\(line (\d+), pos (\d+)\)", str(error))
    if match is not None:
        line, column = int(match[1]), int(match[2])
        # One character of ours, the parenthesis, is before the first line.
        lines = text.split("\n")
        if line > len(lines):
            return len(text) + 1
        return sum(len(before) + 1 for before in lines[: line - 1]) + column - (line == 1) + 1
    contexts = error.getQueryContext() if isinstance(error, PySparkException) else []
    starts = [context.startIndex() for context in contexts if str(context.contextType()).endswith("SQL")]
    return None if not starts or starts[0] <= 0 else starts[0]


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position - 1)
    return f"line {line + 1}, position {position - (text.rfind(chr(10), 0, position - 1) + 1)}"


def _parameters(error: Exception) -> dict[str, str]:
    found = error.getMessageParameters() if isinstance(error, PySparkException) else None
    return dict(found or {})


def _suggestions(error: Exception) -> list[str] | None:
    proposal = _parameters(error).get("proposal")
    if not proposal:
        return None
    return [name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)*)`(?!`)", proposal)]
