"""Shared results: found by ID for what they are about, bounded, and gone after their time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from explorer.page.kept_results import KeptResults

START = datetime(2026, 11, 29, tzinfo=UTC)


class _Clock:
    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time


def test_a_result_is_found_by_its_id_for_what_it_is_about_until_it_expires() -> None:
    clock = _Clock()
    results = KeptResults(now=clock.now, lifetime=timedelta(days=7))
    id_ = results.keep(("orders", "id = 1"), {"rows": 3}, 10)
    assert id_ is not None
    assert len(id_) >= 20
    found = results.find(id_, ("orders", "id = 1"))
    assert found is not None
    assert (found.value, found.until) == ({"rows": 3}, START + timedelta(days=7))
    assert results.find(id_, ("orders", "id = 2")) is None
    assert results.find("guessed", ("orders", "id = 1")) is None
    clock.time = START + timedelta(days=7)
    assert results.find(id_, ("orders", "id = 1")) is None


def test_the_oldest_results_go_where_there_are_too_many_or_too_large_ones() -> None:
    results = KeptResults(most=2, most_bytes=100)
    ids = [results.keep("t", number, 40) for number in range(3)]
    assert [results.find(id_ or "", "t") is not None for id_ in ids] == [False, True, True]
    large = results.keep("t", "large", 90)
    assert [results.find(id_ or "", "t") is not None for id_ in (*ids, large)] == [False, False, False, True]
    assert results.keep("t", "huge", 101) is None
