"""Vet a predicate before Spark evaluates anything of it, and filter by it.

A predicate is SQL text from a person. Spark's own expressions can run any Java method (``reflect``), read other data
(subqueries) and hide both behind quoted or computed names, so the text is looked over first, token by token.
Invariants: what passes is one boolean expression over the table's columns; what does not is a RequestError that says
why, with Spark's suggestion where it has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import RequestError
from explorer.spark.failures import condition_of, first_sentence

__all__ = ["check_text", "filtered"]

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<string>[rR]?'(?:[^'\\]|\\.|'')*'|[rR]?"(?:[^"\\]|\\.|"")*")
      | (?P<name>`(?:[^`]|``)*`)
      | (?P<number>\d\w*(?:\.\d\w*)?|\.\d\w*)
      | (?P<word>\w+)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
# They run code, read other data, call a model, leave the machine, or build a name that this check cannot see.
_REFUSED_FUNCTIONS: Final = frozenset(
    {
        *("java_method", "reflect", "try_reflect", "identifier", "ai_query", "http_request", "read_files", "sql"),
        *("from_avro", "to_avro", "schema_of_avro", "from_protobuf", "to_protobuf"),
        *("input_file_name", "input_file_block_start", "input_file_block_length"),
        *("monotonically_increasing_id", "spark_partition_id", "uuid", "shuffle"),
        *("rand", "randn", "random", "randstr", "uniform", "raise_error", "assert_true"),
    }
)
_REFUSED_WORDS: Final = frozenset({"select", "with", "transform"})
_REFUSED_AFTER_PARENTHESIS: Final = frozenset({"from", "table", "values", "map", "reduce", "execute"})


def filtered(frame: DataFrame, where: str) -> DataFrame:
    """Keep the rows for which the predicate is TRUE.

    Args:
        frame: Rows with logical columns.
        where: SQL text of one boolean expression.

    Raises:
        RequestError: The text is no such expression; ``nearest`` holds Spark's suggestion for an unknown column.
    """
    check_text(where)
    try:
        # The parentheses keep a trailing word from being taken for an alias, the newline ends a comment.
        condition = sf.expr(f"({where}\n)")
        kind = frame.select(condition.alias("condition")).schema["condition"].dataType
        if isinstance(kind, st.BooleanType):
            kept = frame.where(condition)
            _ = kept.schema
            return kept
    except PySparkException as error:
        raise _refusal(where, error) from error
    raise RequestError(
        f"The condition {where!r} gives {kind.simpleString()}, not a boolean. Compare it with something, for example "
        f"({where}) = ... or ({where}) IS NOT NULL.",
        found=kind.simpleString(),
        expected="boolean",
    )


def check_text(where: str) -> None:
    """Refuse what is no single expression, or names what must not run; evaluates nothing.

    Raises:
        RequestError: Naming the word and its position (from 1).
    """
    if not where.strip():
        raise RequestError("The condition is empty. Give a boolean expression such as amount > 0, or leave it out.")
    depth = 0
    tokens = list(_tokens(where))
    for index, (kind, text, start) in enumerate(tokens):
        around = (tokens[index - 1][1] if index else "", tokens[index + 1][1] if index + 1 < len(tokens) else "")
        if text == "(":
            depth += 1
        elif text == ")":
            depth -= 1
            if depth < 0:
                raise _unbalanced(where, start, "closes a parenthesis that was never opened")
        elif kind in ("word", "name"):
            _check_word(where, tokens[index], around)
        elif text == ";":
            raise RequestError(f"The condition {where!r} holds ';' at position {start + 1}: give one expression only.")
    if depth > 0:
        raise _unbalanced(where, len(where), "leaves a parenthesis open")


def _tokens(where: str) -> Iterator[tuple[str, str, int]]:
    for match in _TOKEN.finditer(where):
        kind = match.lastgroup
        assert kind is not None
        if kind == "mark" and match[0] in "'\"`":
            raise _unbalanced(where, match.start(), "opens a quote that never ends")
        if kind != "space":
            yield kind, match[0], match.start()


def _check_word(where: str, token: tuple[str, str, int], around: tuple[str, str]) -> None:
    kind, text, start = token
    before, following = around
    name = text.strip("`").lower()
    if following == "(" and name in _REFUSED_FUNCTIONS:
        raise RequestError(
            f"The condition {where!r} calls {name} at position {start + 1}, which is refused: it could run code, reach "
            "other data, or differ from one reading to the next. Use the table's columns and plain functions.",
            found=name,
        )
    if kind == "name" or before == ".":
        return
    if name in _REFUSED_WORDS or (before == "(" and name in _REFUSED_AFTER_PARENTHESIS and following != "("):
        raise RequestError(
            f"The condition {where!r} holds {text} at position {start + 1}: subqueries are refused, a condition sees "
            f"this table's rows only. If {text} is a column, write `{text}`.",
            found=name,
        )


def _unbalanced(where: str, start: int, what: str) -> RequestError:
    return RequestError(f"The condition {where!r} {what} at position {start + 1}.")


def _refusal(where: str, error: PySparkException) -> RequestError:
    condition = condition_of(error)
    message = f"The condition {where!r} cannot be used: {first_sentence(error)}"
    position = _position(str(error))
    if condition is not None and condition.startswith("PARSE_") and position is not None:
        line, column = position
        # One character of ours, the parenthesis, stands before the first line.
        column -= line == 1
        if line > where.count("\n") + 1:
            message = f"The condition {where!r} cannot be used: it ends where more is expected."
        else:
            message = f"{message.rstrip('.')} (line {line}, position {column + 1})."
    return RequestError(message, condition=condition, nearest=_suggestions(error))


def _position(text: str) -> tuple[int, int] | None:
    match = re.search(r"\(line (\d+), pos (\d+)\)", text)
    return None if match is None else (int(match[1]), int(match[2]))


def _suggestions(error: PySparkException) -> list[str] | None:
    proposal = (error.getMessageParameters() or {}).get("proposal")
    if not proposal:
        return None
    return [name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)*)`(?!`)", proposal)]
