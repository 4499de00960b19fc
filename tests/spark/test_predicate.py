"""What a predicate may be, and how a refusal tells why."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import RequestError
from explorer.spark.predicate import check_text, filtered
from explorer.spark.session import Engine

REFUSED_TEXTS = [
    ("", "empty"),
    ("  ", "empty"),
    ("reflect('java.lang.System', 'exit', '1') = 'x'", "reflect"),
    ("java_method('java.lang.System', 'exit') = 'x'", "java_method"),
    ("JAVA_METHOD ('a') = 'x'", "java_method"),
    ("`java_method`('a') = 'x'", "java_method"),
    ("system.builtin.reflect('a') = 'x'", "reflect"),
    ("reflect/* hide */('a') = 'x'", "reflect"),
    ("reflect -- hide\n('a') = 'x'", "reflect"),
    ("IDENTIFIER('re' || 'flect')('a') = 'x'", "identifier"),
    ("id IN (SELECT 1)", "subqueries"),
    ("EXISTS (SELECT 1)", "subqueries"),
    ("id = (FROM t)", "subqueries"),
    ("id IN (TABLE t)", "subqueries"),
    ("id IN (VALUES 1)", "subqueries"),
    ("rand() < 0.5", "rand"),
    ("id = 1; DROP TABLE t", "';'"),
    ("id = 1) OR (id = 2", "closes a parenthesis"),
    ("(id = 1", "leaves a parenthesis open"),
    ("s = 'open", "quote"),
    ("`open = 1", "quote"),
]
GOOD = [
    "id > 1",
    "s = 'reflect(1)' OR s = \"SELECT\" OR s LIKE '%;%)'",
    "`select` = 1 OR t.select = 1",
    "exists(a, x -> x > 1) AND from_unixtime(id) > '2024'",
    "EXTRACT(YEAR FROM d) = 2024 AND trim(BOTH ' ' FROM s) = 'x'",
    "map('a', 1)['a'] = id AND (map('a', 1))['a'] = 1",
    "s = 'it''s' AND s <> 'a\\'b' /* ) */ -- (",
    "s = r'\\d' AND id = 1.5e3 AND 1.id = 2",
]


@pytest.mark.parametrize(("text", "words"), REFUSED_TEXTS)
def test_a_text_that_is_no_plain_expression_is_refused_and_says_what(text: str, words: str) -> None:
    with pytest.raises(RequestError, match=words.replace("'", ".")):
        check_text(text)


@pytest.mark.parametrize("text", GOOD)
def test_a_text_that_only_looks_dangerous_passes(text: str) -> None:
    check_text(text)


@given(st.text(alphabet="a1'\"`()\\-/* \n.;rR", max_size=30))
def test_any_text_passes_or_is_a_request_error(text: str) -> None:
    with contextlib.suppress(RequestError):
        check_text(text)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "words", "nearest"),
    [
        ("ident > 1", "Did you mean", "id"),
        ("id", "gives bigint, not a boolean", None),
        ("null", "gives void", None),
        ("id >", "ends where more is expected", None),
        ("id = 1 AND", "ends where more is expected", None),
        ("id = = 1", r"line 1, position 6", None),
        ("sum(id) > 1", "aggregate|invalid expressions", None),
        ("row_number() OVER (ORDER BY id) > 1", "window", None),
        ("explode(array(true))", "generator", None),
        ("nope(id)", "Cannot resolve routine", None),
        ("s.x = 1", "extract", None),
    ],
)
def test_what_spark_refuses_comes_back_typed_with_its_suggestion(
    spark_engine: Engine, text: str, words: str, nearest: str | None
) -> None:
    frame = spark_engine.session().createDataFrame([(1, "a")], "id long, s string")
    with pytest.raises(RequestError, match=words) as caught:
        filtered(frame, text)
    assert nearest is None or nearest in caught.value.nearest
    assert "SQLSTATE" not in str(caught.value)
