"""Constants of SQL: what is written is read back as the same value, and hostile text stays inside its quotes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.protocol.schema.data_types import parse_type
from explorer.core.protocol.sql.constants import constant_text, equality_text, quoted_column, range_text
from explorer.core.protocol.sql.predicates import IsNull, LiteralValue, SqlComparison, parse_predicate
from explorer.core.protocol.sql.tokens import tokens_of
from explorer.core.protocol.statistics.skipping_constants import constant_of

PATHS = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=3).map(tuple)


@example(path=("c",), text="no\xa0break, em\u2003, ideographic\u3000")
@given(path=PATHS, text=st.text(st.characters(codec="utf-8"), max_size=20))
def test_a_text_never_leaves_its_quotes(path: tuple[str, ...], text: str) -> None:
    condition = equality_text(path, text, parse_type("string"))
    assert condition is not None
    assert "${" not in condition.replace(quoted_column(path), "")
    tokens = tokens_of(condition.removeprefix(quoted_column(path)))
    texts = [token for token in tokens if token.kind == "string"]
    rest = [token.text for token in tokens if token.kind not in ("string", "end")]
    assert len(texts) == 1 + text.count("${")
    assert set(rest) <= {"=", "concat", "(", ",", ")"}
    constant = condition.removeprefix(f"{quoted_column(path)} = ")
    assert constant.isprintable()


@given(value=st.integers(-(2**63), 2**63 - 1))
def test_integers_are_read_back(value: int) -> None:
    _comparison("long", value, LiteralValue("integer", str(value)))


@given(value=st.decimals(-(10**20), 10**20, places=6))
def test_decimals_keep_their_digits(value: Decimal) -> None:
    condition = equality_text(("c",), value, parse_type("decimal(38,6)"))
    parsed = parse_predicate(str(condition))
    assert isinstance(parsed, SqlComparison)
    assert constant_of(parsed.value, parse_type("decimal(38,6)")) == value


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_doubles_and_keep_every_digit(value: float) -> None:
    parsed = parse_predicate(str(equality_text(("c",), value, parse_type("double"))))
    assert isinstance(parsed, SqlComparison)
    assert parsed.value.kind == "double"
    assert float(parsed.value.text) == value


@given(value=st.datetimes(timezones=st.just(UTC) | st.just(timezone(timedelta(hours=-7)))))
def test_times_name_their_zone(value: datetime) -> None:
    try:
        moment = value.astimezone(UTC)
    except OverflowError:
        return
    parsed = parse_predicate(str(equality_text(("c",), value, parse_type("timestamp"))))
    assert isinstance(parsed, SqlComparison)
    assert parsed.value.kind == "timestamp"
    assert datetime.fromisoformat(parsed.value.text) == moment


def test_dates_booleans_bytes_and_null() -> None:
    assert equality_text(("a b", "c`d"), None, parse_type("long")) == "`a b`.`c``d` IS NULL"
    assert parse_predicate("`x` IS NULL") == IsNull(("x",))
    assert constant_text(date(33, 4, 3), parse_type("date")) == "DATE '0033-04-03'"
    assert constant_text(True, parse_type("boolean")) == "TRUE"
    assert constant_text(b"\x00'", parse_type("binary")) == "X'0027'"
    assert constant_text(datetime.fromisoformat("2026-03-29T02:30"), parse_type("timestamp_ntz")) == (
        "TIMESTAMP_NTZ '2026-03-29 02:30:00'"
    )
    assert constant_text(float("nan"), parse_type("float")) == "CAST('NaN' AS FLOAT)"


@pytest.mark.parametrize(("value", "kind"), [("x", "long"), (1, "string"), ({}, "string"), (True, "long")])
def test_a_value_of_another_type_has_no_constant(value: Any, kind: str) -> None:
    assert constant_text(value, parse_type(kind)) is None


def test_a_range_includes_its_first_value_and_not_its_last() -> None:
    assert range_text(("n",), 0, 50, parse_type("long")) == "`n` >= 0 AND `n` < 50"
    beyond = Decimal(10) ** 38
    assert range_text(("n",), Decimal(0), beyond, parse_type("decimal(38,0)")) == "`n` >= 0"


def _comparison(kind: str, value: Any, literal: LiteralValue) -> None:
    assert parse_predicate(str(equality_text(("c",), value, parse_type(kind)))) == SqlComparison(("c",), "=", literal)
