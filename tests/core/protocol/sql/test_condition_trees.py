"""What is understood of a condition, as a tree, and what is said of the rest: its text, its place, and why."""

from __future__ import annotations

import pytest

from explorer.core.errors import ExpressionRefused, RequestError
from explorer.core.protocol.sql.predicates import (
    And,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Like,
    LiteralValue,
    Not,
    Or,
    Unsplittable,
    parse_predicate,
    parts_of,
)

SIMPLE = "only a comparison of a column with plain constants can be answered"


def integer(text: str) -> LiteralValue:
    return LiteralValue("integer", text)


def string(text: str) -> LiteralValue:
    return LiteralValue("string", text)


def equal(column: str, value: int) -> Comparison:
    return Comparison((column,), "=", integer(str(value)))


A, B, C, D = (equal(name, value) for name, value in zip("abcd", range(1, 5), strict=True))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", A),
        ("a == 1", A),
        ("1 = a", A),
        ("`a` = 1", A),
        ("(a = 1)", A),
        ("((a = 1))", A),
        ("a = 1 OR b = 2 AND c = 3", Or((A, And((B, C))))),
        ("a = 1 AND b = 2 OR c = 3 OR d = 4", Or((And((A, B)), C, D))),
        ("(a = 1 OR b = 2) AND c = 3 and d = 4", And((Or((A, B)), C, D))),
        ("NOT a = 1 AND b = 2", And((Not(A), B))),
        ("NOT NOT (a = 1 OR b = 2)", Not(Not(Or((A, B))))),
        ("a <> 1", Not(A)),
        ("a != 1", Not(A)),
        ("1 <> a", Not(A)),
        ("a < 1", Comparison(("a",), "<", integer("1"))),
        ("a <= 1", Comparison(("a",), "<=", integer("1"))),
        ("a > 1", Comparison(("a",), ">", integer("1"))),
        ("a >= 1", Comparison(("a",), ">=", integer("1"))),
        ("a <=> 1", Comparison(("a",), "<=>", integer("1"))),
        ("1 < a", Comparison(("a",), ">", integer("1"))),
        ("1 <= a", Comparison(("a",), ">=", integer("1"))),
        ("1 > a", Comparison(("a",), "<", integer("1"))),
        ("1 >= a", Comparison(("a",), "<=", integer("1"))),
        ("1 <=> a", Comparison(("a",), "<=>", integer("1"))),
        ("a = -1", Comparison(("a",), "=", integer("-1"))),
        ("a = 1.5", Comparison(("a",), "=", LiteralValue("decimal", "1.5"))),
        ("a = NULL", Comparison(("a",), "=", LiteralValue("null", "null"))),
        ("a = 'x'", Comparison(("a",), "=", string("x"))),
        ("a = true", Comparison(("a",), "=", LiteralValue("boolean", "true"))),
        ("a = DATE '2020-01-01'", Comparison(("a",), "=", LiteralValue("date", "2020-01-01"))),
        ("a.`b c`.d = 1", Comparison(("a", "b c", "d"), "=", integer("1"))),
        ("a", Comparison(("a",), "=", LiteralValue("boolean", "true"))),
        ("NOT a.b", Not(Comparison(("a", "b"), "=", LiteralValue("boolean", "true")))),
        ("`date` IS NULL", IsNull(("date",))),
        ("a IS NULL", IsNull(("a",))),
        ("a IS NOT NULL", Not(IsNull(("a",)))),
        ("a is true", Comparison(("a",), "<=>", LiteralValue("boolean", "true"))),
        ("a IS NOT FALSE", Not(Comparison(("a",), "<=>", LiteralValue("boolean", "false")))),
        ("a IN (1)", A),
        ("a IN (1, 2)", Or((A, equal("a", 2)))),
        ("a NOT IN (1, 2, 3)", Not(Or((A, equal("a", 2), equal("a", 3))))),
        ("a BETWEEN 1 AND 2", And((Comparison(("a",), ">=", integer("1")), Comparison(("a",), "<=", integer("2"))))),
        (
            "a NOT BETWEEN 1 AND 2 AND b = 2",
            And((Not(And((Comparison(("a",), ">=", integer("1")), Comparison(("a",), "<=", integer("2"))))), B)),
        ),
        ("a LIKE 'x%'", Like(("a",), "x%")),
        ("a LIKE 'x%%'", Like(("a",), "x%%")),
        ("a LIKE '%'", Like(("a",), "%")),
        ("a LIKE 'x%y'", Like(("a",), "x%y")),
        ("a LIKE 'xy_'", Like(("a",), "xy_")),
        ("a LIKE '%x'", Like(("a",), "%x")),
        ("a LIKE 'aX%'", Like(("a",), "aX%")),
        ("a LIKE 'a%X'", Like(("a",), "a%X")),
        ("(b = 2 AND a + 1 BETWEEN 2) OR c = 3", Or((And((B, Unsplittable("a + 1 BETWEEN 2", 12, SIMPLE))), C))),
        ("a LIKE 'xy'", Comparison(("a",), "=", string("xy"))),
        ("a NOT LIKE 'x%'", Not(Like(("a",), "x%"))),
        ("a LIKE NULL", Constant(None)),
        ("TRUE", Constant(True)),
        ("false", Constant(False)),
        ("NULL", Constant(None)),
        ("TRUE AND a = 1", And((Constant(True), A))),
    ],
)
def test_what_is_understood_is_this_tree(text: str, tree: Expression) -> None:
    assert parse_predicate(text) == tree


@pytest.mark.parametrize(
    ("text", "part", "position", "reason"),
    [
        ("a = b", "a = b", 1, SIMPLE),
        ("a + 1 = 2", "a + 1 = 2", 1, SIMPLE),
        ("nvl(a, (b)) = 2", "nvl(a, (b)) = 2", 1, SIMPLE),
        ("a[1] = 2", "a[1] = 2", 1, SIMPLE),
        ("a = 1 + 1", "a = 1 + 1", 1, SIMPLE),
        ("1 = 1", "1 = 1", 1, SIMPLE),
        ("1", "1", 1, "a constant alone is not a condition"),
        ("'x'", "'x'", 1, "a constant alone is not a condition"),
        ("a IS DISTINCT FROM 1", "a IS DISTINCT FROM 1", 1, "only IS NULL, IS TRUE and IS FALSE are understood"),
        ("a BETWEEN 1 + 1 AND 2", "a BETWEEN 1 + 1 AND 2", 1, "BETWEEN is understood only with two constants"),
        ("a LIKE 1", "a LIKE 1", 1, "LIKE is understood only with a plain text"),
        ("a LIKE b", "a LIKE b", 1, SIMPLE),
        ("a ILIKE 'x'", "a ILIKE 'x'", 1, SIMPLE),
        ("a LIKE r'x%'", "a LIKE r'x%'", 1, SIMPLE),
        (r"a LIKE 'x\%'", r"a LIKE 'x\%'", 1, SIMPLE),
        ("abs(a AND b) = 1", "abs(a AND b) = 1", 1, SIMPLE),
        ("a NOT RLIKE 'x'", "a NOT RLIKE 'x'", 1, SIMPLE),
        ("a IN (1, b)", "a IN (1, b)", 1, SIMPLE),
        ("a IN [1]", "a IN [1]", 1, SIMPLE),
        ("a NOT", "a NOT", 1, SIMPLE),
        ("a % 2 = 0", "a % 2 = 0", 1, SIMPLE),
        ("current_path = 1", "current_path = 1", 1, SIMPLE),
        ("(a, b) = 1", "(a, b) = 1", 1, SIMPLE),
        ("CASE WHEN a = 1 AND b = 2 THEN 3 END = 3", "CASE WHEN a = 1 AND b = 2 THEN 3 END = 3", 1, SIMPLE),
        ("a LIKE 'x' ESCAPE '!'", "a LIKE 'x' ESCAPE '!'", 1, SIMPLE),
    ],
)
def test_what_is_not_understood_is_told_with_its_text_and_its_place(
    text: str, part: str, position: int, reason: str
) -> None:
    found = Unsplittable(part, position, reason)
    assert parse_predicate(text) == found
    # Beside others it ends where they begin.
    assert parse_predicate(f"b = 2 AND {text}  OR c = 3") == Or((And((B, Unsplittable(part, 11, reason))), C))
    assert parse_predicate(f"{text} AND b = 2") == And((found, B))
    assert parse_predicate(f"NOT ({text}) OR b = 2") == Or((Not(Unsplittable(part, 6, reason)), B))


@pytest.mark.parametrize(
    ("text", "character", "reason"),
    [
        ("", 1, "a condition is missing before the end"),
        ("a = 1 AND", 10, "a condition is missing before the end"),
        ("a = 1 OR OR b", 10, "a condition is missing before 'OR'"),
        ("NOT AND a", 5, "a condition is missing before 'AND'"),
        ("()", 2, "a condition is missing before ')'"),
        ("a =", 4, "a value is missing"),
        ("a = )", 5, "a value is missing"),
        ("a BETWEEN 1 AND", 16, "a value is missing"),
        ("a IN (1, )", 10, "a value is missing"),
        ("a LIKE AND b", 8, "a value is missing"),
        ("(a = 1", 7, "a parenthesis is not closed"),
        ("f(a = 1", 8, "a parenthesis is not closed"),
        ("a = 1)", 6, "')' does not belong here"),
        ("f(a)) = 1", 5, "')' does not belong here"),
    ],
)
def test_what_is_no_condition_is_told_with_its_character_and_why(text: str, character: int, reason: str) -> None:
    with pytest.raises(RequestError) as error:
        parse_predicate(text)
    assert error.value.message == f"The condition cannot be read at character {character}: {reason}."


def test_a_condition_is_a_hundred_levels_deep_at_most() -> None:
    for depth in (100, 101):
        text = "(" * depth + "a = 1" + ")" * depth, "NOT " * depth + "a = 1"
        for each in text:
            if depth == 100:
                assert parse_predicate(each) is not None
            else:
                with pytest.raises(RequestError, match="it is nested deeper than 100"):
                    parse_predicate(each)


def test_the_parts_of_a_condition_come_in_the_order_of_its_text() -> None:
    condition = parse_predicate("a = 1 OR NOT (b = 2 AND c = 3) OR d = 4")
    inner = And((B, C))
    assert list(parts_of(condition)) == [condition, A, Not(inner), inner, B, C, D]
    assert list(parts_of(A)) == [A]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a IN (SELECT 1)", "subquery"),
        ("(SELECT 1) = a", "subquery"),
        ("a = 1 AND reflect('x') = 'y'", "code"),
        ("a = '${env:HOME}'", "variable"),
        ("a = 1 -- ${system:line.separator}", "variable"),
        ("a = repeat('x', 2000000000)", "too large"),
        ("f(a) = 1", "unknown function"),
    ],
)
def test_what_no_row_may_be_asked_is_not_answered_by_statistics_either(text: str, reason: str) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        parse_predicate(text)
    assert refused.value.reason == reason
