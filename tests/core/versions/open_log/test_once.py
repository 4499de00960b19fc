"""A value that several threads need is made by one of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from explorer.core.versions.open_log.histories import Once

WAIT = 10.0


def test_a_value_is_made_at_the_first_need_and_then_stays() -> None:
    once, made = Once[str](), list[int]()

    def make() -> str:
        made.append(1)
        return f"value {len(made)}"

    assert once.value is None
    assert [once.get(make), once.get(make), once.value] == ["value 1"] * 3
    assert once.get_anew(lambda value: value == "another", make) == "value 1"
    assert once.get_anew(lambda value: value == "value 1", make) == once.value == "value 2"


def test_a_value_that_could_not_be_made_is_made_by_the_next_who_needs_it() -> None:
    once = Once[str]()

    def fail() -> str:
        raise KeyError("no")

    with pytest.raises(KeyError):
        once.get(fail)
    assert once.get(lambda: "value") == "value"


def test_threads_that_need_it_meanwhile_wait_for_the_one_that_makes_it() -> None:
    once, begun, go_on, made = Once[object](), threading.Event(), threading.Event(), list[int]()

    def make() -> object:
        made.append(1)
        begun.set()
        assert go_on.wait(WAIT)
        return object()

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(once.get, make)
        assert begun.wait(WAIT)
        others = [threads.submit(once.get, make) for _ in range(2)]
        go_on.set()
        values = {first.result(WAIT), *(other.result(WAIT) for other in others)}
    assert (len(values), made) == (1, [1])


def test_a_copy_has_the_value_and_is_made_apart() -> None:
    once = Once[str]()
    empty = once.copy()
    assert once.get(lambda: "one") == "one"
    assert empty.value is None
    copied = once.copy()
    assert copied.get_anew(lambda _: True, lambda: "two") == "two"
    assert (once.value, copied.value) == ("one", "two")
