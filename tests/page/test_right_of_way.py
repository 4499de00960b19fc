"""Pages come before what is read in the background."""

import threading
import time

import pytest

from explorer.page.tables import RightOfWay


def test_the_background_waits_until_the_last_page_is_made() -> None:
    order, went = RightOfWay(), threading.Event()

    def background() -> None:
        order.give_way(30)
        went.set()

    with order.page():
        with order.page():
            thread = threading.Thread(target=background)
            thread.start()
        assert not went.wait(0.05)
    thread.join(30)
    assert went.is_set()


def test_the_background_goes_on_after_some_time_though_pages_are_made_all_the_time() -> None:
    order = RightOfWay()
    with order.page():
        began = time.monotonic()
        assert not order.give_way(0.05)
        assert time.monotonic() - began >= 0.05
    assert order.give_way(0)


def test_a_page_that_fails_is_made_no_more() -> None:
    order = RightOfWay()
    with pytest.raises(ValueError, match="no page"), order.page():
        raise ValueError("no page")
    assert order.give_way(0)
