"""Numbers in digits, many at once, are what the standard library takes them for."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from explorer.core.protocol.arrow.digits import MOST_DIGITS, decimal_numbers, digits_from
from explorer.core.protocol.arrow.text_spans import TextSpans, words_of

TEXTS = [
    "0",
    "7",
    "00",
    "01",
    "123456789",
    "9" * 18,
    "1" + "0" * 17,
    "1" + "0" * 18,
    "12a",
    "a12",
    "1a2",
    "",
    "-1",
    "1.5",
]
TEXTS += [
    " 1",
    "1 ",
    "/",
    ":",
    "\u0661",
    "12345678",
    "1234567",
    "87654321a",
    "123456789012345",
    "1234567890123456",
    "x" * 30,
]
TEXTS += [f"{'1' * place}{chr(byte)}{'1' * (9 - place)}" for place in (0, 4, 9) for byte in (0x2F, 0x3A, 0x7F, 0xB5)]


def _many(seed: int) -> list[str]:
    chance = random.Random(seed)
    return [str(chance.randrange(10 ** chance.randrange(1, MOST_DIGITS + 1))) for _ in range(200)]


@pytest.mark.parametrize("texts", [TEXTS, _many(1), _many(2), [text[:8] for text in _many(3)], ["5"], []])
def test_whole_numbers_are_those_of_json(texts: list[str]) -> None:
    whole = TextSpans.of_texts([" " * 8, *texts])
    values, found = decimal_numbers(words_of(whole.data), whole.starts[1:], whole.ends[1:])
    good = [re.fullmatch(r"0|[1-9][0-9]{0,17}", text) is not None for text in texts]
    assert (found.dtype, found.tolist()) == (np.bool_, good)
    assert values.dtype == np.int64
    assert values[found].tolist() == [int(text) for text, is_one in zip(texts, good, strict=True) if is_one]


@pytest.mark.parametrize("texts", [TEXTS, _many(4), [f"{text}," for text in _many(5)], ["5"], []])
def test_digits_at_the_start_of_a_text_are_counted_and_read(texts: list[str]) -> None:
    apart = TextSpans.of_texts([" " * 8, *(part for text in texts for part in (text, "|"))])
    rows = np.arange(1, 2 * len(texts) + 1, 2)
    values, counts = digits_from(words_of(apart.data), apart.starts[rows])
    found = [re.match("[0-9]*", text) for text in texts]
    digits = ["" if each is None else each[0] for each in found]
    assert [min(count, 24) for count in counts.tolist()] == [min(len(each), 24) for each in digits]
    read = [(value, int(each)) for value, each in zip(values.tolist(), digits, strict=True) if 0 < len(each) <= 18]
    assert [value for value, _ in read] == [meant for _, meant in read]


@pytest.mark.parametrize("count", [23, 24, 25, 40])
def test_no_more_than_three_words_are_looked_at(count: int) -> None:
    text = TextSpans.of_texts([" " * 8, "1" * count])
    assert digits_from(words_of(text.data), text.starts[1:])[1].tolist() == [min(count, 24)]
