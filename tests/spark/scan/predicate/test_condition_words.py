"""Conditions on columns that are called like words of SQL mean here what they mean to Spark's own parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import RequestError
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
from explorer.core.protocol.sql.vetting import normalized_expression
from explorer.spark.engine.session import Engine
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE

pytestmark = pytest.mark.spark

FORMS = (
    *("{w} = 1", "{w} = 'a'", "{w}", "{w} IS NULL", "1 = {w}", "'a' < {w}", "{w} IN (1, 2)", "{w} NOT IN (1)"),
    *("{w} BETWEEN 1 AND 2", "{w} LIKE 'a%'", "NOT {w}", "z = 1 AND {w} = 1", "{w}.f = 1", "s.{w} = 1", "{w} IS TRUE"),
    *("{w} = -1L", "{w} <=> NULL", "z = {w} 'a'", "{w} 'a' = z", "{w}(z) = 1", "{w} 1 = z", "{w} = 1 OR z = 2"),
)
_MOMENTS = ("date", "timestamp", "timestamp_ntz")
TRIED = 20_000 if WHOLE_DOSE else 120
SEED = 20_261_128


@pytest.fixture
def parser(spark_engine: Engine) -> Any:
    """Spark's own parser of expressions."""
    if spark_engine.connected_remotely:
        pytest.skip("the parser of a Connect server is not at hand")
    session: Any = spark_engine.session()
    return session._jsparkSession.sessionState().sqlParser()


@pytest.fixture
def words(spark_engine: Engine) -> list[str]:
    """Every word of Spark's grammar."""
    rows = spark_engine.session().sql("SELECT keyword FROM sql_keywords()").collect()
    return sorted({row.keyword.lower() for row in rows} | {"current_path", "x"})


@pytest.mark.whole("test_random_conditions_on_such_columns_are_true_of_the_same_rows")
def test_each_word_of_the_grammar_is_a_column_where_spark_takes_it_for_one(parser: Any, words: list[str]) -> None:
    assert len(words) > 300
    read = 0
    for word in at_least_one(words if WHOLE_DOSE else words[:: max(len(words) // 60, 1)]):
        for form in FORMS:
            read += _is_read_alike(parser, form.format(w=word))
    assert read > 500


def test_words_in_each_setting_of_ansi_are_the_same_columns(parser: Any, spark_engine: Engine) -> None:
    session = spark_engine.session()
    texts = [f"{word} = 1" for word in ("date", "timestamp", "interval", "case", "end", "between", "select", "from")]
    trees = [_tree(parser, text) for text in texts]
    before = session.conf.get("spark.sql.ansi.enabled")
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert [_tree(parser, text) for text in texts] == trees
    finally:
        session.conf.set("spark.sql.ansi.enabled", str(before))


def test_random_conditions_on_such_columns_are_true_of_the_same_rows(spark_engine: Engine) -> None:
    names = ("date", "timestamp", "interval", "case", "end", "and", "or", "between", "is", "in", "like", "not", "x y")
    kind = st.StructType([st.StructField(name, st.LongType()) for name in names])
    random = Random(SEED)
    rows = [tuple(random.choice([None, 0, 1, 2, 3]) for _ in names) for _ in range(12)]
    frame = spark_engine.session().createDataFrame(rows, kind)
    texts = list(_understood(random, names))
    assert len(texts) > TRIED / 8
    for first in range(0, len(texts), 100):
        some = texts[first : first + 100]
        alike = [
            (sf.expr(f"({text})").eqNullSafe(sf.expr(_written(parse_predicate(text))))).alias(f"c{place}")
            for place, text in enumerate(some)
        ]
        told = frame.select(*alike).agg(*(sf.min(f"c{place}") for place in range(len(some)))).collect()[0]
        assert [text for text, same in zip(some, told, strict=True) if not same] == []


def _is_read_alike(parser: Any, text: str) -> bool:
    """Whether the core reads all of a text; then Spark reads the same."""
    try:
        found = parse_predicate(text)
    except RequestError:
        return False
    if any(isinstance(part, Unsplittable) for part in parts_of(found)):
        return False
    if any(isinstance(part, SqlComparison) and part.value.kind in _MOMENTS for part in parts_of(found)):
        return False  # whether its text is one is only judged beside the type of the column
    # Spark gets the normalized text: a column that it begins with would open a query in parentheses.
    wanted = _tree(parser, normalized_expression(text).text)
    assert wanted is not None, f"{text!r} is no expression of Spark"
    columns = [part.column for part in parts_of(found) if isinstance(part, SqlComparison | Like | IsNull)]
    for column in columns:
        # A column that is read as such stays the same in backticks.
        quoted = ".".join(f"`{part}`" for part in column)
        assert _tree(parser, _replaced(text, ".".join(column), quoted)) == wanted, text
    return True


def _replaced(text: str, plain: str, quoted: str) -> str:
    """The text with its column in backticks; all forms name it once."""
    place = re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", text)
    assert place is not None, text
    return text[: place.start()] + quoted + text[place.end() :]


def _tree(parser: Any, text: str) -> str | None:
    try:
        return str(parser.parseExpression(f"({text})").toString())
    except PySparkException:
        return None


def _understood(random: Random, names: tuple[str, ...]) -> Iterator[str]:
    for _ in range(TRIED):
        text = _condition(random, names, 2)
        try:
            parts = list(parts_of(parse_predicate(text)))
        except RequestError:
            continue
        if not any(isinstance(part, Unsplittable) for part in parts):
            yield text


def _condition(random: Random, names: tuple[str, ...], depth: int) -> str:
    if depth and random.random() < 0.6:
        left, right = (_condition(random, names, depth - 1) for _ in range(2))
        return random.choice([f"{left} AND {right}", f"{left} or {right}", f"NOT ({left}) AND {right}", f"NOT {left}"])
    name = random.choice(names)
    name = f"`{name}`" if " " in name or random.random() < 0.1 else random.choice([name, name.upper()])
    number = random.choice(["0", "1L", "2", "-1", "+3S", "1.0", "NULL"])
    return random.choice(
        [
            f"{name} {random.choice(['=', '<', '>=', '<>', '<=>', '=='])} {number}",
            *(f"{number} < {name}", f"{name} IS NOT NULL", f"{name} IN ({number}, 2)", f"{name} NOT IN (1, {number})"),
            *(f"{name} BETWEEN {number} AND 2", f"{name} NOT BETWEEN 1 AND {number}", f"{name} IS NULL", "TRUE"),
        ]
    )


def _written(found: Expression) -> str:
    """What was understood, with every column in backticks and every part in parentheses."""
    match found:
        case And() | Or():
            return f"({(' AND ' if isinstance(found, And) else ' OR ').join(map(_written, found.parts))})"
        case Not():
            return f"(NOT {_written(found.part)})"
        case SqlComparison():
            return f"({'.'.join(f'`{part}`' for part in found.column)} {found.operator} {found.value.text})"
        case IsNull():
            return f"({'.'.join(f'`{part}`' for part in found.column)} IS NULL)"
        case Constant():
            return {True: "TRUE", False: "FALSE", None: "CAST(NULL AS BOOLEAN)"}[found.value]
    raise AssertionError(found)
