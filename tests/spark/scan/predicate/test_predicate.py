"""What a predicate may be, and how a refusal tells why."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import ExpressionRefused, RequestError
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.protocol.sql.vetting import called_functions, check_text
from explorer.spark.engine.session import Engine
from explorer.spark.scan.predicate import filtered, vet

pytestmark = pytest.mark.sampled(tests=20)

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
    # Spark ends a raw text at the next quote, a comment at any end of a line, and nests comments.
    (r"s = r'\' AND reflect('a') = '\''", "reflect"),
    ("id = 1 -- \r AND reflect('a')", "reflect"),
    ("id = 1 -- \\\n ' \n AND reflect('a') -- '", "reflect"),
    ("id = 1 /* /* */ ' */ AND reflect('a') /* ' */", "comment"),
    ("id = 1 /* open", "comment"),
    ("$$ '' $$ = reflect('a')", "holds '.'"),
    ('"reflect"(id)', "without quotes"),
    ("coalesce(*) = 1", "all columns"),
    ("mydb.f(id)", "mydb.f"),
    ("session.f(id)", "session.f"),
    ("secret('scope', 'key') = s", "secret"),
    ("ai_classify(s, array('a')) = s", "ai_classify"),
    ("(" * 300 + "true" + ")" * 300, "nested more than"),
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
    "forall(transform(a, x -> x + 1), x -> x > 0) AND system.builtin.abs(id) * 2 > 1",
]


@pytest.mark.parametrize(("text", "words"), REFUSED_TEXTS)
def test_a_text_that_is_no_plain_expression_is_refused_and_says_what(text: str, words: str) -> None:
    with pytest.raises(ExpressionRefused, match=words.replace("'", ".")) as caught:
        called_functions(text, check_text(text))
    assert caught.value.expression == text
    assert caught.value.reason == "empty" or 1 <= caught.value.position <= len(text) + 1


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
        ("id", "returns bigint, not a boolean", None),
        ("null", "gives void", None),
        ("id >", "ends where more is expected", None),
        ("id = 1 AND", "ends where more is expected", None),
        ("id = = 1", r"line 1, position 6", None),
        ("sum(id) > 1", "aggregate|invalid expressions", None),
        ("row_number() OVER (ORDER BY id) > 1", "window", None),
        ("explode(array(true))", "generator", None),
        ("nope(id)", "not one of the functions of Spark", None),
        ("lenght(s) > 1", "Did you mean length", "length"),
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


SCHEMA = parse_schema(
    """{"type": "struct", "fields": [
        {"name": "id", "type": "long", "nullable": true, "metadata": {}},
        {"name": "s", "type": "string", "nullable": true, "metadata": {}},
        {"name": "user", "type": "string", "nullable": true, "metadata": {}},
        {"name": "t", "type": "timestamp", "nullable": true, "metadata": {}},
        {"name": "d", "type": "date", "nullable": true, "metadata": {}},
        {"name": "v", "type": "variant", "nullable": true, "metadata": {}},
        {"name": "n", "type": {"type": "struct", "fields": [
            {"name": "a b", "type": "integer", "nullable": true, "metadata": {}}]}, "nullable": true, "metadata": {}}
    ]}"""
)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        ("id > 1 AND nope = 2", "unknown column", 12),
        ("n.nope = 2", "unknown column", None),
        ("id > 1 AND nope(id)", "unknown function", 12),
        ("id > 1\nAND = 2", "syntax", 12),
        ("sum(id) > 1", "aggregate", None),
        ("row_number() OVER (ORDER BY id) > 1", "window", None),
        ("explode(array(true))", "generator", None),
        ("id", "not boolean", None),
        ("void IS NULL", "unknown column", 1),
        (":a = 1", "parameter", None),
        ("id = :a", "parameter", None),
        ("id = now()", "clock", 6),
        ("id = unix_timestamp()", "clock", 6),
        ("d = current_date", "clock", 5),
        ("d = `current_date`", "clock", 5),
        ("s = current_user()", "clock", 5),
        ("d = DATE 'today'", "clock", 5),
        ("t = timestamp ' NOW '", "clock", 5),
        ("t > 'now'", "clock", None),
        ("d > cast('tomorrow' AS date)", "clock", None),
        ("t > concat('n', 'ow')", "clock", None),
        ("t > to_timestamp('now')", "clock", None),
    ],
)
def test_a_predicate_that_would_not_stay_true_or_is_no_predicate_is_refused_with_its_place(
    spark_engine: Engine, text: str, reason: str, position: int | None
) -> None:
    with pytest.raises(ExpressionRefused) as caught:
        vet(SCHEMA, text)
    assert (reason, text) == (caught.value.reason, caught.value.expression)
    assert position is None or position == caught.value.position


@pytest.mark.spark
def test_a_predicate_too_deep_for_the_parser_is_refused(spark_engine: Engine) -> None:
    with pytest.raises(ExpressionRefused) as caught:
        vet(SCHEMA, "NOT " * 20_000 + "id > 1")
    # A Connect server does not say what went wrong in its parser.
    assert spark_engine.connected_remotely or caught.value.reason == "too deep"
    assert len(str(caught.value)) < 1000


@pytest.mark.spark
def test_what_the_session_brings_along_is_no_part_of_a_predicate(spark_engine: Engine) -> None:
    session = spark_engine.session()
    for name in ("doubled", "abs"):
        session.udf.register(name, lambda value: value, "long")
    session.sql("DECLARE OR REPLACE VARIABLE secretly INT DEFAULT 1")
    try:
        for text, reason in (
            ("id > 1 AND doubled(id) > 2", "unknown function"),
            ("id > 1 AND abs(id) > 2", "user function"),
            ("id > 1 AND secretly > 2", "unknown column"),
        ):
            with pytest.raises(ExpressionRefused) as caught:
                vet(SCHEMA, text)
            assert (reason, 12) == (caught.value.reason, caught.value.position)
    finally:
        for name in ("doubled", "abs"):
            session.sql(f"DROP TEMPORARY FUNCTION {name}")
        session.sql("DROP TEMPORARY VARIABLE secretly")


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [
        "abs(id) > 1 AND `user` = 'today' AND user <> 'now'",
        "t > '2020-01-01' AND d < DATE '2020-01-01' AND unix_timestamp(t) > 0",
        "n.`a b` > 1 -- the rest is a comment",
        "id > 1 OR id IS NULL /* ' */",
        "variant_get(v, '$.a', 'int') > 1 OR v:a::int = 2",
        "CASE WHEN id > 1 THEN true END",
        "id IN (1, 2) AND NOT s LIKE '%)' AND id BETWEEN 1 AND 2",
    ],
)
def test_a_plain_predicate_passes(spark_engine: Engine, text: str) -> None:
    vet(SCHEMA, text)


@pytest.mark.whole("tests/spark/scan/test_scan.py, where filters are asked")
@pytest.mark.spark
def test_a_filter_may_look_at_the_clock_and_sees_no_hidden_column(spark_engine: Engine) -> None:
    frame = spark_engine.session().createDataFrame([(1, "a")], "id long, s string")
    assert filtered(frame, "current_date() > DATE '2020-01-01'").count() == 1
    with pytest.raises(ExpressionRefused, match="_metadata"):
        filtered(frame, "_metadata.file_path = 'x'")
