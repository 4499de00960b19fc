"""Expressions joined into one: each is in it, in its place, and none lies deep."""

import math

import pytest

from explorer.spark.engine.expressions import joined


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 63, 64, 130, 2_000])
def test_the_order_stays_and_the_nesting_is_that_of_a_balanced_tree(count: int) -> None:
    text = joined([str(number) for number in range(count)], lambda one, other: f"({one}|{other})")
    assert text.replace("(", "").replace(")", "").split("|") == [str(number) for number in range(count)]
    deepest = level = 0
    for letter in text:
        level += {"(": 1, ")": -1}.get(letter, 0)
        deepest = max(deepest, level)
    assert deepest == math.ceil(math.log2(count))
