"""Bars of values: labels, and the conditions that choose their rows, alone and with another condition."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa

from explorer.core.protocol.schema.data_types import parse_type
from explorer.core.protocol.sql.predicates import parse_predicate
from explorer.first_rows.column_values import ColumnValues, ValueBar
from explorer.views.columns.value_bars import Narrowing, live_values, values_glance
from tests.support.at_least_one import at_least_one


def test_bars_have_labels_shares_and_conditions() -> None:
    values = ColumnValues(100, 3, 50, bars=(ValueBar(40, Decimal("0.00"), Decimal("50.00")), ValueBar(20, 50, 100)))
    glance = values_glance(values, ("a b",), parse_type("decimal(10,2)"), "in these 100 rows")
    first = glance.bars[0]
    assert (first.label, first.count, first.share) == ("0 to 50", 40, 1.0)
    assert first.where == "`a b` >= 0.00 AND `a b` < 50.00"
    assert first.words == "from 0 to before 50"
    assert glance.bars[1].share == 0.5
    assert (glance.distinct, glance.null_where) == ("50 different values", "`a b` IS NULL")
    assert glance.in_order


def test_a_day_is_a_condition_and_an_empty_text_is_seen() -> None:
    values = ColumnValues(2, 0, 1, bars=(ValueBar(2, date(2026, 5, 1)),))
    assert values_glance(values, ("d",), parse_type("date"), "").bars[0].where == "`d` = DATE '2026-05-01'"
    texts = ColumnValues(2, 0, 1, bars=(ValueBar(1, ""), ValueBar(1, "<b>\u202e")))
    labels = [bar.label for bar in values_glance(texts, ("s",), parse_type("string"), "").bars]
    assert labels == ["\u201c\u201d", "<b>\ufffd"]


def test_a_condition_too_long_for_an_address_is_none() -> None:
    values = ColumnValues(1, 0, 1, bars=(ValueBar(1, "x" * 9_000),))
    assert values_glance(values, ("s",), parse_type("string"), "").bars[0].where == ""


def test_single_values_that_are_all_different_say_so() -> None:
    bars = tuple(ValueBar(1, str(number)) for number in range(10))
    assert values_glance(ColumnValues(99, 0, 99, bars=bars), ("s",), parse_type("string"), "").all_different
    assert not values_glance(ColumnValues(3, 0, 3, bars=bars[:3]), ("s",), parse_type("string"), "").all_different


def test_a_condition_is_added_to_the_one_in_force() -> None:
    more = "`n` >= 0 AND `n` < 5"
    for before, joined in at_least_one(
        (
            ("", more),
            (more, more),
            ("a > 1 OR b", f"(a > 1 OR b) AND ({more})"),
            (f"(a > 1 OR b) AND ({more})", f"(a > 1 OR b) AND ({more})"),
            ("a > 1 -- why", f"(a > 1) AND ({more})"),
            ("upper(s) = 'A'", f"(upper(s) = 'A') AND ({more})"),
        )
    ):
        assert Narrowing(before).by(more) == joined
        parse_predicate(joined)


def test_masked_rows_are_not_counted_and_fields_of_structs_are() -> None:
    rows = pa.table({"s": [{"x": 1}, {"x": 2}, None], "n": [1, 1, 1]})
    masked = pa.chunked_array([[False, True, False]])
    made = live_values(rows, masked, ("s", "x"), parse_type("long"))
    assert made is not None
    assert (made.rows, made.nulls, [(bar.low, bar.count) for bar in made.bars]) == (2, 1, [(1, 1)])
    assert live_values(rows, masked, ("gone",), parse_type("long")) is None
    assert live_values(rows, masked, ("n", "x"), parse_type("long")) is None
