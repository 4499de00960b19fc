"""How long something takes that the kernel does before it answers: a page never stands still without a word."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from explorer.jupyter.markup import tag

__all__ = ["told"]

_SECOND: Final = 1.0


@contextmanager
def told(place: Any, doing: str) -> Iterator[None]:
    """Say in a place, each second, what is done and for how long by now; nothing of what takes less than a second.

    Args:
        place: An `ipywidgets.HTML` that nothing else writes to.
        doing: ``listing the files``.
    """
    done = threading.Event()

    def tell() -> None:
        seconds = 0
        while not done.wait(_SECOND):
            seconds += 1
            place.value = tag("span", f"{doing}: {seconds} s", class_="dte-caption", role="status")

    telling = threading.Thread(target=tell, name="waiting", daemon=True)
    telling.start()
    try:
        yield
    finally:
        done.set()
        telling.join()
        place.value = ""
