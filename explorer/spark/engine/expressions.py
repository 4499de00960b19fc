"""The one place of this program that gives Spark's parser a text.

An expression of a user or a table is checked word by word, made anew from its tokens, parsed, and its analysed plan
is checked again by the classes that it is made of. Invariants: no other module calls ``expr``, ``selectExpr`` or
``sql``, nor gives ``where`` a text (`tests/architecture` says so); nothing of a table or a user gets to the parser
unchecked; no row is read here; Spark puts no variables into what it parses, and the session's settings do not change
its meaning.

Limits of the second check: on Spark Connect the plan is text, so there it looks for the names of functions that
are refused, and not for classes; a parser that a user's own session was extended with reads the text as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from explorer.core.errors import ExpressionRefused
from explorer.core.protocol.sql.constants import quoted_column
from explorer.core.protocol.sql.functions import REFUSED
from explorer.core.protocol.sql.tokens import NormalizedExpression
from explorer.core.protocol.sql.vetting import called_functions, normalized_expression, quoted_text
from explorer.spark.engine.deadline import analysis_deadline
from explorer.spark.engine.expression_classes import foreign_class
from explorer.spark.engine.session import is_connect

T = TypeVar("T")

_SUBSTITUTION: Final = "spark.sql.variable.substitute"
# Settings that give a text another meaning, and what of a text they change: the kind of a token, its beginning, and a
# mark in it.
_MEANINGS: Final = (
    ("spark.sql.ansi.doubleQuotedIdentifiers", "string", '"', None, "strings in double quotes", "Use single quotes"),
    (
        "spark.sql.parser.escapedStringLiterals",
        "string",
        "",
        "\\",
        "strings with a backslash",
        "Write r'...' or no backslash",
    ),
    (
        "spark.sql.legacy.consecutiveStringLiterals.enabled",
        "string",
        "",
        "quote",
        "strings with a doubled quote",
        "Write concat('it', r\"'\", 's')",
    ),
    ("spark.sql.parser.quotedRegexColumnNames", "name", "`", None, "names in backticks", "Use names without backticks"),
)
_WORD: Final = re.compile(r"\w+")
_COLLATION: Final = re.compile(r"\w+", re.ASCII)
_CALLED: Final = re.compile(r"\b(\w+)\(")
# How Scala writes a value that may be missing, such as the time zone of a cast; the aggregate is written `some`.
_OPTION: Final = "Some"
_NUMBER: Final = re.compile(r"#\d+L?")


@dataclass(frozen=True, slots=True)
class Analysed:
    """Expressions as Spark analysed them over the columns of some rows.

    Attributes:
        columns: The expressions, in their order.
        frame: A column ``e0``, ``e1`` and so on for each, planned and not run.
        plan: The analysed plan as text.
    """

    columns: tuple[Column, ...]
    frame: DataFrame
    plan: str


def expression(rows: DataFrame, text: str) -> Column:
    """Return an expression as a Column; see `expressions`."""
    return expressions(rows, [text])[0]


def expressions(rows: DataFrame, texts: Sequence[str]) -> tuple[Column, ...]:
    """Check expressions of a user or a table, and return them as Columns.

    Args:
        rows: The rows whose columns they may use; nothing of them is read.
        texts: SQL, an expression of any type each.

    Raises:
        ExpressionRefused: One is not a single expression that may be evaluated.
        PySparkException: Spark does not accept one, such as for a column that is not there.
    """
    return analysed(rows, [normalized_expression(text) for text in texts]).columns if texts else ()


def analysed(rows: DataFrame, remade: Sequence[NormalizedExpression]) -> Analysed:
    """Return the same for expressions that were made anew, with Spark's analysis of them.

    Args:
        rows: As for `expressions`.
        remade: At least one expression.
    """
    session = rows.sparkSession
    with analysis_deadline(session, "; ".join(one.original for one in remade)):
        for one in remade:
            _check_settings(session, one)
        _check_own_functions(session, remade)
        # The parentheses keep a trailing word from being taken for an alias.
        columns = tuple(sf.expr(f"({one.text})") for one in remade)
        frame = rows.select(*(column.alias(f"e{place}") for place, column in enumerate(columns)))
        plan = _checked_plan(frame, rows, remade)
    return Analysed(columns, frame, plan)


def joined(parts: Sequence[T], join: Callable[[T, T], T]) -> T:
    """Join expressions in their order, such as conditions by AND, as a balanced tree.

    Joined one after the other, a hundred nest a hundred deep, and Spark Connect refuses more levels than that.

    Args:
        parts: At least one expression.
        join: Makes one of two; associative.
    """
    while len(parts) > 1:
        pairs = [join(one, other) for one, other in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*pairs, *parts[len(pairs) * 2 :]]
    return parts[0]


def catalog_description(session: SparkSession, parts: Sequence[str]) -> list[Row]:
    """Describe a table from a session's catalog: rows of ``col_name`` and ``data_type``.

    Args:
        parts: The parts of the table's name.

    Raises:
        ExpressionRefused: The name holds what Spark takes for a variable.
        PySparkException: There is no such table.
    """
    name = quoted_column(parts)
    _check_settings(session, normalized_expression(name))
    return session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()


def catalog_listing(session: SparkSession, parts: Sequence[str]) -> str | None:
    """Return what a session's catalog lists of a table, for which its data source is not loaded.

    Args:
        parts: The parts of the table's name.

    Returns:
        Lines such as ``Location: file:/lake/orders``; None if the catalog lists no such table, or the name is not of
        letters, digits and underscores alone, as each is of a table in a metastore: others would be patterns.

    Raises:
        ExpressionRefused: The name holds what Spark takes for a variable.
        PySparkException, Py4JError: The catalog does not answer.
    """
    inside, name = quoted_column(parts[:-1]), parts[-1]
    if _WORD.fullmatch(name) is None:
        return None
    _check_settings(session, normalized_expression(quoted_column(parts)))
    rows = session.sql(f"SHOW TABLE EXTENDED {f'IN {inside} ' if inside else ''}LIKE '{name}'").collect()
    matches = [row for row in rows if str(row["tableName"]).lower() == name.lower() and not row["isTemporary"]]
    return str(matches[0]["information"]) if len(matches) == 1 else None


def has_collation(session: SparkSession, name: str) -> bool:
    """Return whether a session has a collation of a name.

    Raises:
        PySparkException, Py4JJavaError: Spark fails for another reason.
    """
    if _COLLATION.fullmatch(name) is None:
        return False
    try:
        _ = session.sql(f"SELECT CAST('' AS STRING COLLATE {name})").schema
    except (PySparkException, Py4JJavaError) as error:
        if "COLLATION" not in str(error):
            raise
        return False
    return True


def _check_settings(session: SparkSession, one: NormalizedExpression) -> None:
    """Refuse what the session would read in another way, and switch variables off in it."""
    _switch_variables_off(session, one.original)
    for setting, kind, quote, mark, what, advice in _MEANINGS:
        if any(_is_touched(token.text, quote, mark) for token in one.tokens if token.kind == kind) and (
            str(session.conf.get(setting, "false")).lower() == "true"
        ):
            raise ExpressionRefused(
                f"The condition {quoted_text(one.original)} has {what}, which this session reads differently from "
                f"others: its setting {setting} is true. {advice}, or set it to false.",
                expression=one.original,
                reason="session",
                found=setting,
            )


def _is_touched(text: str, quote: str, mark: str | None) -> bool:
    if mark == "quote":
        return text[0] in text[1:-1]
    return text.startswith(quote) if mark is None else mark in text


def _switch_variables_off(session: SparkSession, text: str) -> None:
    if str(session.conf.get(_SUBSTITUTION, "true")).lower() == "false":
        return
    cause: PySparkException | None = None
    try:
        session.conf.set(_SUBSTITUTION, "false")
        if str(session.conf.get(_SUBSTITUTION, "true")).lower() == "false":
            return
    except PySparkException as error:
        cause = error
    raise ExpressionRefused(
        f"The condition {quoted_text(text)} cannot be evaluated in this Spark session: it replaces variables in "
        f"SQL text, and its setting {_SUBSTITUTION} cannot be set to false. Use a session where it is false.",
        expression=text,
        reason="session",
        found=_SUBSTITUTION,
    ) from cause


def _check_own_functions(session: SparkSession, remade: Sequence[NormalizedExpression]) -> None:
    """Refuse the user's functions, also those with the name of one of Spark's."""
    called = [(one, called_functions(one.original, one.tokens)) for one in remade]
    if not any(functions for _, functions in called):
        return
    names = {str(row[0]).lower().rsplit(".", 1)[-1] for row in session.sql("SHOW `USER` FUNCTIONS").collect()}
    for one, functions in called:
        for name, token in functions.items():
            if name in names:
                raise ExpressionRefused(
                    f"The condition {quoted_text(one.original)} calls {name} at position {token.start + 1}, which is a "
                    "function of this session or its catalog. Only Spark's own functions may be called.",
                    expression=one.original,
                    position=token.start + 1,
                    reason="user function",
                    found=name,
                )


def _checked_plan(frame: DataFrame, rows: DataFrame, remade: Sequence[NormalizedExpression]) -> str:
    """Return the analysed plan as text; asking for it is the analysis."""
    private: Any = frame
    if is_connect(frame):
        _ = frame.schema
        plan = _analysed_text(frame)
        _check_names(_without_rows(plan, _analysed_text(rows)), frame, remade)
        return plan
    analyzed = private._jdf.queryExecution().analyzed()
    parts = analyzed.expressions()
    for place in range(parts.size()):
        name = foreign_class(parts.apply(place))
        if name is not None and name != "VariableReference":
            raise _foreign(remade[min(place, len(remade) - 1)], name)
    return str(analyzed.toString())


def _analysed_text(frame: DataFrame) -> str:
    private: Any = frame
    explained = str(private._explain_string(extended=True))
    return explained.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized Logical Plan ==")[0]


def _without_rows(plan: str, rows: str) -> str:
    """Return a plan without that of the rows which it is computed over, whose own functions are this program's.

    Where the two texts do not fit, the plan as it is: then all of it is checked.
    """
    lines, below = _plan_lines(plan), _plan_lines(rows)[1:]
    if below and lines[-len(below) :] == below:
        return "\n".join(lines[: -len(below)])
    return plan


def _plan_lines(plan: str) -> list[str]:
    """Return the lines of a plan, the first its columns, without indentation and without the numbers of columns."""
    return [_NUMBER.sub("", line.lstrip(" :+-")) for line in plan.strip("\n").split("\n")]


def _check_names(plan: str, frame: DataFrame, remade: Sequence[NormalizedExpression]) -> None:
    """Refuse functions that the text of a plan shows; strings and names of columns in it are ignored."""
    for one in remade:
        for token in one.tokens:
            if token.kind in ("string", "raw", "name"):
                plan = plan.replace(token.text.lstrip("rR")[1:-1], "")
    for name in frame.columns:
        plan = plan.replace(name, "")
    for call in _CALLED.finditer(plan):
        if call[1].lower() in REFUSED and call[1] != _OPTION:
            raise _foreign(remade[0], call[1])


def _foreign(one: NormalizedExpression, name: str) -> ExpressionRefused:
    return ExpressionRefused(
        f"The condition {quoted_text(one.original)} becomes a plan with {name}, which is not part of a plain "
        "expression over one row. Use plain functions and the table's columns.",
        expression=one.original,
        reason="plan",
        found=name,
    )
