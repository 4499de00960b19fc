"""What each kind of table property takes, and what is said to be written instead."""

from __future__ import annotations

import pytest

from explorer.core.protocol.table_properties.table_property import Integer

LARGEST = 2**31 - 1


@pytest.mark.parametrize(
    ("minimum", "maximum", "value", "taken"),
    [
        (0, None, "0", True),
        (0, None, "+7", True),
        (0, None, "-0", True),
        (0, None, "-1", False),
        (-1, None, "-1", True),
        (-1, None, "-2", False),
        (1, None, "0", False),
        (0, None, str(LARGEST), True),
        (0, None, str(LARGEST + 1), False),
        (0, 10, "10", True),
        (0, 10, "11", False),
        (0, None, "0" * 19 + "7", True),
        (0, None, "0" * 20 + "7", False),
        (0, None, "+" + "0" * 19 + "7", True),
        (0, None, "", False),
        (0, None, "-", False),
        (0, None, "--1", False),
        (0, None, "1.0", False),
        (0, None, " 1", False),
        (0, None, "1-", False),
        (0, None, "\u0661", False),
        (0, None, "\u00b2", False),
        (0, None, "many", False),
    ],
)
def test_a_whole_number_between_its_bounds_is_taken(minimum: int, maximum: int | None, value: str, taken: bool) -> None:
    kind = Integer("delta.logs", "", minimum=minimum, maximum=maximum)
    bounds = f"an integer from {minimum}" if maximum is None else f"an integer from {minimum} to {maximum}"
    assert kind.refusal(value) == (() if taken else (bounds,))
