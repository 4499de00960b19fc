"""Words of SQL as columns of a condition: Spark reserves hardly any, and what it takes for a column prunes."""

from __future__ import annotations

import pytest

from explorer.core.protocol.sql.predicates import (
    And,
    Expression,
    IsNull,
    LiteralValue,
    Not,
    SqlComparison,
    Unsplittable,
    parse_predicate,
    parts_of,
)
from explorer.core.protocol.sql.stored_expressions import mentions

WORDS = (
    *("date", "timestamp", "timestamp_ntz", "interval", "case", "end", "cast", "exists", "like", "between", "is", "in"),
    *("and", "or", "div", "distinct", "user", "values", "from"),
)


def _equal(column: str, text: str) -> SqlComparison:
    return SqlComparison((column,), "=", LiteralValue("integer", text))


@pytest.mark.parametrize("word", [*WORDS, *map(str.upper, WORDS)])
def test_a_word_that_spark_does_not_reserve_is_a_column(word: str) -> None:
    assert parse_predicate(f"{word} = 1") == _equal(word, "1")
    assert parse_predicate(f"x = 1 AND 2 = {word}") == And((_equal("x", "1"), _equal(word, "2")))
    assert parse_predicate(f"{word} IS NULL OR s.{word} = 3").parts[0] == IsNull((word,))  # type: ignore[union-attr]
    assert parse_predicate(f"NOT {word} IN (1)") == Not(_equal(word, "1"))


@pytest.mark.parametrize(
    "text",
    [
        *("null = 1", "TRUE = 1", "current_path = 1", "not IN (1)", "date(x) = 1"),
        *(
            "interval '1' day > x",
            "interval 1 day > x",
            "timestamp_ltz '2020-01-01' = x",
            "x = date",
            "cast(x AS int) = 1",
        ),
    ],
)
def test_what_spark_does_not_take_for_a_column_leaves_out_no_file(text: str) -> None:
    assert any(isinstance(part, Unsplittable) for part in parts_of(parse_predicate(text)))


def test_a_typed_text_and_a_column_of_its_type_are_told_apart() -> None:
    typed = LiteralValue("date", "2026-05-01")
    assert parse_predicate("date = DATE '2026-05-01'") == SqlComparison(("date",), "=", typed)
    assert parse_predicate("DATE'2026-05-01' < date") == SqlComparison(("date",), ">", typed)


@pytest.mark.parametrize(("text", "value"), [("1L", "1"), ("-2s", "-2"), ("+3Y", "3"), ("0012l", "0012")])
def test_a_whole_number_may_have_its_type_behind_it(text: str, value: str) -> None:
    assert parse_predicate(f"id = {text}") == _equal("id", value)


@pytest.mark.parametrize(
    "text",
    [
        "CASE WHEN end = 1 AND z = 2 AND w = 3 THEN a = 4 ELSE true END",
        "CASE end WHEN 1 THEN z = 2 ELSE CASE WHEN y THEN end = 3 AND z = 5 END END",
        "x AND CASE WHEN end > 0 AND z = 2 AND y THEN end END = 1",
    ],
)
def test_a_column_called_end_does_not_end_a_case(text: str) -> None:
    found: list[Expression] = list(parts_of(parse_predicate(text)))
    assert SqlComparison(("z",), "=", LiteralValue("integer", "2")) not in found


@pytest.mark.parametrize("text", ["and = 1", 'x > 0 AND "and" = 1', "not < 3", '"AND" IS NULL', "f(`and`)"])
def test_a_rule_mentions_a_column_that_is_called_like_an_operator_or_in_double_quotes(text: str) -> None:
    assert mentions(text, ("not",) if text.startswith("not") else ("and",))
