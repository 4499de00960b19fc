"""Which columns an expression mentions, what no table may keep, and how an expression is written down."""

import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.protocol.sql.stored_expressions import (
    check_stored_expression,
    expression_columns,
    expression_text,
    mentions,
    unknown_columns,
)

SCHEMA = parse_schema(
    '{"type":"struct","fields":['
    '{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"date","type":"date","nullable":true,"metadata":{}},'
    '{"name":"odd col","type":"string","nullable":true,"metadata":{}},'
    '{"name":"s","type":{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true,"metadata":{}}]},'
    '"nullable":true,"metadata":{}},'
    '{"name":"l","type":{"type":"array","elementType":"integer","containsNull":true},"nullable":true,"metadata":{}}]}'
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("amount > 0", {("amount",)}),
        ("s . a > 0 AND `odd col` <> 'id'", {("s", "a"), ("odd col",)}),
        ("length(name) < 10", {("name",)}),
        ("date > DATE '2020-01-01'", {("date",)}),
        ("exists(l, x -> x > limit)", {("l",), ("limit",)}),
        ("aggregate(l, 0, (acc, x) -> acc + x) > 3", {("l",)}),
        ("-- id\n a = 1 /* b */", {("a",)}),
        ("`a``b`.`c.d` = 1", {("a`b", "c.d")}),
        ("m['id'] = \"id\"", {("m",)}),
        ("1e3 < x", {("x",)}),
    ],
)
def test_the_columns_of_an_expression_are_told_as_written(text: str, columns: set[tuple[str, ...]]) -> None:
    assert set(expression_columns(text)) == columns


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("S.A > 0", ("s", "a"), True),
        ("s > 0", ("s", "a"), True),
        ("s.a > 0", ("s",), True),
        ("s.b > 0", ("s", "a"), False),
        ("l.x > 0", ("l", "element", "x"), True),
        ("length(name) > 0", ("length",), False),
        ("x = 'id'", ("id",), False),
        ("x = 'open", ("id",), True),
    ],
)
def test_an_expression_mentions_a_column_its_parts_and_its_whole(
    text: str, path: tuple[str, ...], expected: bool
) -> None:
    assert mentions(text, path) is expected


@pytest.mark.conformance("CONSTR-009")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("id > 0 AND DATE '2020-01-01' < date", ()),
        ("CAST(id AS INT) = 1 OR CASE WHEN s.a IS NULL THEN true ELSE false END", ()),
        ("l.anything > 0 AND exists(l, x -> x > 0)", ()),
        ("nope > 1", ("nope",)),
        ("s.b > 1", ("s.b",)),
        ("id.x > 1", ("id.x",)),
    ],
)
def test_names_that_are_no_columns_are_told(text: str, names: tuple[str, ...]) -> None:
    assert unknown_columns(text, SCHEMA) == names


@pytest.mark.parametrize(
    "text",
    [
        "",
        " -- nothing",
        "id > 0)",
        "(id > 0",
        "id > 0; DROP TABLE x",
        "id > (SELECT 1)",
        "id > (select max(id) from t)",
        "rand() > 0.5",
        "`rand`() > 0.5",
        "reflect('java.lang.Runtime', 'getRuntime') IS NOT NULL",
        "sum(id) > 1",
        "id > 'open",
        "id > 0 /* open",
    ],
)
def test_expressions_that_no_table_may_keep_are_refused(text: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        check_stored_expression(text, "expression")
    assert caught.value.message


def test_functions_that_look_at_the_clock_are_told() -> None:
    assert check_stored_expression("ts < current_timestamp() OR d < current_date", "expression") == (
        "current_date",
        "current_timestamp",
    )
    assert check_stored_expression("a < unix_timestamp( )", "expression") == ("unix_timestamp",)
    assert check_stored_expression("a < unix_timestamp(t) AND unix_timestamp > 3", "expression") == ()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("amount > 0 OR amount IS NULL", "amount > 0 OR amount IS NULL"),
        ("length(name) < 10 AND s.a > 0 OR name IS NULL", "length ( name ) < 10 AND s . a > 0 OR name IS NULL"),
        ("id < 100 AND amount >= -1", "id < 100 AND amount >= - 1"),
        ("current_timestamp() > TIMESTAMP'2020-01-01'", "current_timestamp ( ) > TIMESTAMP '2020-01-01'"),
        ("a||b = 'c' AND x->>1 IS NULL", "a || b = 'c' AND x -> > 1 IS NULL"),
        ("x = 10.5BD AND y = 1L", "x = 10.5BD AND y = 1L"),
        ("a\n  =\t'it''s' -- why", "a = 'it''s'"),
    ],
)
def test_an_expression_is_written_as_its_tokens(text: str, written: str) -> None:
    assert expression_text(text) == written
