"""The text of a predicate, refused word by word: each refusal whole, with its place, and what passes as tokens."""

from __future__ import annotations

import pytest

from explorer.core.errors import ExpressionRefused
from explorer.core.protocol.sql.vetting import called_functions, check_clock, check_text

PLAIN = "give one plain expression only"
UNQUOTED = "write a function's name without quotes"
ROW = "subqueries are refused, a condition sees one row only. If {0} is a column, write `{0}`"


def refused(text: str) -> ExpressionRefused:
    with pytest.raises(ExpressionRefused) as caught:
        check_text(text)
    assert caught.value.expression == text
    return caught.value


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_an_empty_text_is_said_to_be_empty(text: str) -> None:
    error = refused(text)
    assert str(error) == ("The condition is empty. Give a boolean expression such as amount > 0, or leave it out.")
    assert (error.reason, error.position, error.found) == ("empty", None, None)


@pytest.mark.parametrize(
    ("text", "reason", "position", "found", "what"),
    [
        ("a = 1; b", "syntax", 6, ";", f"contains ';' at position 6: {PLAIN}"),
        ("a = $x", "syntax", 5, "$", f"contains '$' at position 5: {PLAIN}"),
        ("*", "star", 1, "*", "means all columns by '*' at position 1: name the columns"),
        ("f(*)", "star", 3, "*", "means all columns by '*' at position 3: name the columns"),
        ("f(a, *)", "star", 6, "*", "means all columns by '*' at position 6: name the columns"),
        ("t.* = 1", "star", 3, "*", "means all columns by '*' at position 3: name the columns"),
        ("'f'(a)", "syntax", 1, "'f'", f"calls 'f' at position 1: {UNQUOTED}"),
        ("r'f'(a)", "syntax", 1, "r'f'", f"calls r'f' at position 1: {UNQUOTED}"),
        ("a\u0007b", "syntax", 2, "\u0007", "contains the character '\\x07' at position 2: write it without"),
        ("a)", "syntax", 2, ")", "closes a parenthesis that was never opened at position 2"),
        ("(a) + b)", "syntax", 8, ")", "closes a parenthesis that was never opened at position 8"),
        ("(a", "syntax", 3, None, "leaves a parenthesis open at position 3"),
        ("((a)", "syntax", 5, None, "leaves a parenthesis open at position 5"),
        ("a IN (SELECT 1)", "subquery", 7, "SELECT", f"contains SELECT at position 7: {ROW.format('SELECT')}"),
        ("with", "subquery", 1, "with", f"contains with at position 1: {ROW.format('with')}"),
        ("a = (from t)", "subquery", 6, "from", f"contains from at position 6: {ROW.format('from')}"),
        ("a = (table t)", "subquery", 6, "table", f"contains table at position 6: {ROW.format('table')}"),
        ("a = (values 1)", "subquery", 6, "values", f"contains values at position 6: {ROW.format('values')}"),
        ("a = (map b)", "subquery", 6, "map", f"contains map at position 6: {ROW.format('map')}"),
        ("a = (reduce b)", "subquery", 6, "reduce", f"contains reduce at position 6: {ROW.format('reduce')}"),
        ("a = (execute b)", "subquery", 6, "execute", f"contains execute at position 6: {ROW.format('execute')}"),
    ],
)
def test_a_refusal_says_what_stands_where_and_what_to_do(
    text: str, reason: str, position: int, found: str | None, what: str
) -> None:
    error = refused(text)
    assert (error.reason, error.position, error.found) == (reason, position, found)
    assert str(error) == f"The condition {text!r} {what}."


@pytest.mark.parametrize("name", ["reflect", "java_method", "`reflect`", "REFLECT"])
def test_a_function_that_must_not_run_is_refused_wherever_it_is_called(name: str) -> None:
    error = refused(f"a = {name}('x')")
    plain = name.strip("`").lower()
    assert error.position == 5
    assert f"calls {plain} at position 5: it is refused because " in str(error)
    assert str(error).endswith(". Use plain functions.")
    assert check_text(f"a = {name}")[-1].kind == "end"


def test_two_hundred_parentheses_are_read_and_one_more_is_too_deep() -> None:
    assert len(check_text("(" * 200 + "a" + ")" * 200)) == 402
    error = refused("(" * 201 + "a" + ")" * 201)
    assert (error.reason, error.position, error.found) == ("too deep", 201, "(")
    assert "is nested more than 200 times at position 201" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "a*2>1",
        "`select`='t.*'",
        "t.select=(map(a))",
        "(b,from)=1",
        "abs(a)*2=('x')",
        "`$;*`=';'",
        "(exists(a,b))",
        "a.with",
    ],
)
def test_what_only_looks_like_that_passes_as_its_tokens(text: str) -> None:
    tokens = check_text(text)
    assert "".join(token.text for token in tokens) == text
    assert tokens[-1].kind == "end"


def test_a_long_text_is_shown_by_its_beginning() -> None:
    error = refused(f"'{'x' * 300}' = a;")
    assert str(error).startswith(f"The condition {chr(39) + 'x' * 299 + '...'!r} contains ';' at position 307: ")


def test_calls_are_found_once_in_lower_case_and_only_those_of_spark_itself() -> None:
    text = "ABS(a) > abs(b) AND system.builtin.`Sqrt`(c) = builtin.exp (d) AND e.f = 1"
    found = called_functions(text, check_text(text))
    assert {name: token.start for name, token in found.items()} == {"abs": 0, "sqrt": 35, "exp": 55}
    with pytest.raises(ExpressionRefused) as caught:
        called_functions("1 = db.house(a)", check_text("1 = db.house(a)"))
    assert (caught.value.reason, caught.value.position, caught.value.found) == ("user function", 8, "house")
    assert "calls db.house at position 8: only Spark's own functions may be called" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("a < now()", "now"),
        ("a < current_date", "current_date"),
        ("unix_timestamp() > a", "unix_timestamp"),
        ("a > DATE 'today'", "DATE"),
        ("a > timestamp ' Now '", "timestamp"),
        ("unix_timestamp(a) > 1", None),
        ("user = 'me'", None),
        ("t.current_date = a", None),
        ("a > DATE '2026-01-01'", None),
        ("`b` = 1", None),
    ],
)
def test_what_asks_for_the_time_or_the_session_is_refused_unless_it_is_a_column(text: str, asked: str | None) -> None:
    tokens = check_text(text)
    if asked is None:
        check_clock(text, tokens, {"user", "a"})
        assert tokens[-1].kind == "end"
        return
    with pytest.raises(ExpressionRefused) as caught:
        check_clock(text, tokens, {"user", "a"})
    assert (caught.value.reason, caught.value.found) == ("clock", asked)
    place = text.index(asked) + 1
    assert f"asks for {asked} at position {place}: its result changes with the time or the session" in str(caught.value)
