"""The same racer before a catalog that is away for a while: it waits, and asks again until the outcome is known.

``python -m tests.prove.racers.patient_racer LOCATION NAME COMMITS OPTIONS``, as of `tests.prove.racers.racer`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from explorer.core.errors import StorageError
from tests.prove.racers.racer import main

__all__ = ["patiently"]

_SECONDS = 1_200.0
_Result = TypeVar("_Result")


def patiently(ask: Callable[[], _Result]) -> _Result:
    """Return what a call returns once the catalog is there.

    A plan has an identifier, so that the same plan again is not made twice.
    """
    until = time.monotonic() + _SECONDS
    while True:
        try:
            return ask()
        except StorageError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


if __name__ == "__main__":
    main(patiently)
