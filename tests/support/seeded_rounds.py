"""How long random attacks last, and from which seed they are made."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.support.dose import WHOLE_DOSE

__all__ = ["FIRST_SEED", "LASTS", "LIMIT", "repeated_by", "rounds"]

FIRST_SEED: Final = int(os.environ.get("DELTA_ATTACK_SEED", "48"))
LASTS: Final = float(os.environ.get("DELTA_ATTACK_SECONDS", "0"))
"""Seconds that each random attack lasts; 0 for a number of rounds."""
_MOST_SECONDS: Final = 1_500.0 if WHOLE_DOSE else 150.0
LIMIT: Final = max(LASTS, _MOST_SECONDS) + 600
"""Seconds for the time limit of pytest, which work that stops by itself does not reach on a busy machine."""


def rounds(number: int) -> Iterator[int]:
    """Yield the seeds of the rounds: a number of them, or as many as there is time for, and at least one.

    Args:
        number: How many rounds there are at most, unless DELTA_ATTACK_SECONDS is set.
    """
    ends = time.monotonic() + (LASTS or _MOST_SECONDS)
    seed = FIRST_SEED
    while seed == FIRST_SEED or (time.monotonic() < ends and (LASTS or seed - FIRST_SEED < number)):
        yield seed
        seed += 1


@contextmanager
def repeated_by(seed: int) -> Iterator[None]:
    """Add to a failure how to repeat it."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"The seed was {seed}. To repeat it, set DELTA_ATTACK_SEED={seed}.")
        raise
