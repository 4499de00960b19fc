"""What a person may give by mistake: each is refused with a typed error, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.core.errors import NotAllowed, RequestError, TimestampOutOfRange
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, table

NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001  # a person's mistake


def small() -> explorer.Table:
    return table({0: [PROTOCOL, METADATA], 1: [add("a")]})


WRONG: list[tuple[Callable[[Any], object], str]] = [
    (lambda t: t.snapshot("1"), "'1' is not a version. Give a whole number."),
    (lambda t: t.snapshot(True), "True is not a version. Give a whole number."),
    (lambda t: t.snapshot(1.0), "1.0 is not a version. Give a whole number."),
    (lambda t: t.diff(None, 1), "None is not a version. Give a whole number."),
    (lambda t: t.change_sources(0, "1"), "'1' is not a version. Give a whole number."),
    (
        lambda t: t.snapshot(timestamp=date(2026, 1, 1)),
        "datetime.date(2026, 1, 1) is not a valid time. Use a datetime with a time zone, or an ISO 8601 string.",
    ),
    (lambda t: t.history(limit=-1), "The limit -1 is negative. Give a limit of 0 or more, or none."),
    (lambda t: t.provenance(limit=-5), "The limit -5 is negative. Give a limit of 0 or more, or none."),
    (lambda t: t.history(limit="x"), "'x' is not a limit. Give a whole number."),
    (lambda t: t.audit(NAIVE), "The time 2026-01-01 00:00:00 has no zone. Give it in UTC."),
    (lambda t: t.report(NAIVE), "The time 2026-01-01 00:00:00 has no zone. Give it in UTC."),
    (lambda t: t.horizon(NAIVE), "The time 2026-01-01 00:00:00 has no zone. Give it in UTC."),
    (
        lambda t: t.commit({"kind": "vacuum"}),
        "This is not a plan. Create one with table.plan(intent).",
    ),
    (lambda t: t.snapshot().skipping(None), "None is not a condition. Enter a SQL expression such as amount > 0."),
    (
        lambda t: t.check("a > 0"),
        "'a > 0' does not name its predicates. Give them as {'paid': 'amount > 0'}.",
    ),
]


@pytest.mark.parametrize(("ask", "told"), WRONG)
def test_what_cannot_be_meant_is_refused(ask: Callable[[Any], object], told: str) -> None:
    opened = small()
    with pytest.raises(RequestError) as refused:
        ask(opened)
    assert str(refused.value) == told
    assert told.startswith("There are no ") <= (refused.value.facts().get("field") == "limit")
    assert opened.snapshot(1).version == 1
    assert type(opened.snapshot(1).version) is int


def test_moments_in_the_facts_of_an_error_are_written_as_everywhere_else() -> None:
    wanted = datetime(2030, 1, 1, tzinfo=UTC)
    with pytest.raises(TimestampOutOfRange) as refused:
        small().snapshot(timestamp=wanted)
    facts = refused.value.facts()
    assert facts["timestamp"] == "2030-01-01T00:00:00Z"
    assert str(facts["earliest"]).endswith("Z")


def test_numbers_of_numpy_are_numbers() -> None:
    opened = small()
    assert opened.snapshot(np.int64(1)) is opened.snapshot(1)
    assert opened.history(limit=np.int32(1)).num_rows == opened.history(limit=1).num_rows == 1
    assert opened.history(limit=0).num_rows == 0


def test_one_root_is_that_place_and_not_its_letters(demo_warehouse: Path, tmp_path: Path) -> None:
    orders = demo_warehouse / "sales/orders"
    for root in (str(demo_warehouse), demo_warehouse):
        assert explorer.open_table(orders, roots=root).latest_version() > 0
    for root in (str(tmp_path / "none"), tmp_path / "none"):
        with pytest.raises(NotAllowed):
            explorer.open_table(orders, roots=root)
