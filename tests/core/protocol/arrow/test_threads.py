"""Work on several threads: the order of its results, what is taken ahead, and what fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from explorer.core.protocol.arrow.threads import in_parallel


@pytest.fixture(autouse=True)
def two_processors() -> Iterator[None]:
    before = pa.cpu_count()
    pa.set_cpu_count(2)
    yield
    pa.set_cpu_count(before)


def test_results_keep_the_order_of_their_items_on_one_thread_and_on_several() -> None:
    own = threading.get_ident()
    assert in_parallel(lambda item: (item, threading.get_ident() == own), [7]) == [(7, True)]
    assert in_parallel(lambda item: (item, threading.get_ident() == own), [7, 5]) == [(7, False), (5, False)]
    assert in_parallel(lambda item: item * 2, range(50)) == list(range(0, 100, 2))
    assert in_parallel(lambda item: item, []) == []
    pa.set_cpu_count(1)
    assert in_parallel(lambda item: (item, threading.get_ident() == own), [7, 5]) == [(7, True), (5, True)]


def test_items_are_made_as_they_are_needed() -> None:
    made: list[int] = []
    behind: list[int] = []

    def items() -> Iterator[int]:
        for item in range(100):
            made.append(item)
            yield item

    def act(item: int) -> int:
        behind.append(len(made) - item)
        return item

    assert in_parallel(act, items()) == list(range(100))
    # Two are worked on, and as many wait; one more is made before there is room for it.
    assert 0 < max(behind) <= 6


def test_inside_of_such_work_no_more_threads_start() -> None:
    def outer(item: int) -> set[int]:
        return {threading.get_ident(), *in_parallel(lambda _: threading.get_ident(), range(item))}

    assert [len(idents) for idents in in_parallel(outer, [5, 6, 7])] == [1, 1, 1]
    assert threading.get_ident() not in in_parallel(lambda _: threading.get_ident(), range(9))


@pytest.mark.parametrize("count", [1, 2, 9])
def test_what_fails_is_told_and_no_thread_waits_for_it(count: int) -> None:
    def fail(item: int) -> int:
        raise ValueError(item)

    def damaged() -> Iterator[int]:
        yield from range(count)
        raise OSError("the next page")

    before = threading.active_count()
    with pytest.raises(ValueError, match="0"):
        in_parallel(fail, range(count))
    with pytest.raises(OSError, match="the next page"):
        in_parallel(lambda item: item, damaged())
    assert threading.active_count() == before
