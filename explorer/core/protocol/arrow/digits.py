"""Numbers in decimal digits inside of texts, eight digits at a time in all texts at once.

Invariant: a number is a JSON integer without a sign, of 18 digits at most, which fits 64 bits; anything else is
skipped, never read in part.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.core.protocol.arrow.arrays import Int64s, Mask
from explorer.core.protocol.arrow.text_spans import WORD, Words

MOST_DIGITS: Final = 18
"""The maximum digits of a number."""


def _each(byte: int) -> np.uint64:
    """Return a word of one byte, eight times."""
    return np.uint64(int.from_bytes(bytes([byte] * WORD), "little"))


_ZEROS, _HIGH, _SEVEN, _TO_HIGH, _TO_TEN, _HALF = map(_each, (0x30, 0x80, 0x7F, 0x76, 0x06, 0xF0))
# By number of bytes: a mask of a word's last ones, and zeros as digits before them.
_LAST_BYTES: Final = np.array(
    [((1 << 64) - 1) ^ ((1 << 8 * (WORD - count)) - 1) for count in range(WORD + 1)], np.uint64
)
_LEADING_ZEROS: Final = _ZEROS & ~_LAST_BYTES
# By number of digits: the smallest number that needs them.
_SMALLEST: Final = np.array([0, 0, *(10**digits for digits in range(1, MOST_DIGITS))], np.int64)
_PAIRS: Final = np.uint64(0x000000FF000000FF)
_HUNDREDS, _MYRIADS = np.uint64(100 + (1_000_000 << 32)), np.uint64(1 + (10_000 << 32))
_TEN, _BYTE, _TWO_BYTES, _FOUR_BYTES = map(np.uint64, (10, 8, 16, 32))
_ONE: Final = np.uint64(1)


def decimal_numbers(words: Words, starts: Int64s, ends: Int64s) -> tuple[Int64s, Mask]:
    """Return numbers between two bounds, and a mask of the valid ones; leading zeros are invalid.

    Args:
        words: The word that begins at each byte of the text; the first number begins after the first eight bytes.
    """
    lengths = ends - starts
    valid = (lengths > 0) & (lengths <= MOST_DIGITS)
    lengths = lengths if valid.all() else np.where(valid, lengths, 1)
    numbers, digits = _numbers(words, lengths, ends)
    valid &= digits
    valid &= numbers >= _SMALLEST[lengths]
    return numbers, valid


def digits_from(words: Words, starts: Int64s) -> tuple[Int64s, Int64s]:
    """Return the digits at some positions: the number that they make, and their count.

    Args:
        words: The word that begins at each byte of the text, with room for three words from each position on.

    Returns:
        Numbers, and counts of digits; where there are none or too many, the number is meaningless.
    """
    lengths = np.zeros(len(starts), np.int64)
    going = np.ones(len(starts), bool)
    for place in range(0, 3 * WORD, WORD):
        lengths += np.where(going, _leading_digits(words[starts + place]), 0)
        going = lengths == place + WORD
        if not going.any():
            break
    few = np.clip(lengths, 1, MOST_DIGITS)
    return _numbers(words, few, starts + few)[0], lengths


def _numbers(words: Words, lengths: Int64s, ends: Int64s) -> tuple[Int64s, Mask]:
    """Return numbers of some digits that end at some positions, and a mask of those with digits only."""
    longest = int(lengths.max(initial=1))
    numbers, digits = np.zeros(len(ends), np.uint64), np.ones(len(ends), bool)
    for done in range(0, longest, WORD):
        counts = np.clip(lengths - done, 0, WORD) if longest > WORD else lengths
        word = words[ends - (done + WORD)]
        word &= _LAST_BYTES[counts]
        word |= _LEADING_ZEROS[counts]
        word ^= _ZEROS
        digits &= ((word | (word + _TO_TEN)) & _HALF) == 0
        numbers += _eight_digits(word) * np.uint64(10**done)
    return numbers.view(np.int64), digits


def _eight_digits(word: Words) -> Words:
    """Return the number of eight digits: first of pairs, then of fours, then of all."""
    word = word * _TEN + (word >> _BYTE)
    number: Words = ((word & _PAIRS) * _HUNDREDS + ((word >> _TWO_BYTES) & _PAIRS) * _MYRIADS) >> _FOUR_BYTES
    return number


def _leading_digits(word: Words) -> Int64s:
    """Return the number of digits that a word begins with."""
    word = word ^ _ZEROS
    others = (((word & _SEVEN) + _TO_HIGH) | word) & _HIGH
    # Below the lowest bit that is set are as many bits as there are in the digits before it.
    counts: Int64s = np.bitwise_count((others & (~others + _ONE)) - _ONE).astype(np.int64) >> 3
    return counts
