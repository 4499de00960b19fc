"""How well names match what a person typed: in columns, so that hundreds of thousands are ranked in a moment.

A text is words; each must be in the name, or in what the name belongs to. A name that is the word comes before one that
begins with it, that before one in which another word begins so, and that before one that has the letters somewhere.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

EXACT: Final = 100.0
LAST_WORD: Final = 90.0
BEGINS: Final = 80.0
WORD: Final = 60.0
INSIDE: Final = 40.0
BESIDE: Final = 20.0
"""The word is in what the name belongs to, such as its table."""
SPREAD: Final = 10.0
"""The letters are in the name in this order, with others between them."""
_MOST_WORDS: Final = 8
_FEWEST_SPREAD: Final = 3


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, in the letters in which names are compared."""
    return tuple(dict.fromkeys(text.casefold().split()))[:_MOST_WORDS]


def name_scores(names: pa.StringArray, words: tuple[str, ...]) -> list[Floats]:
    """Return, for each word, a score for each name; 0 where the word is not in it.

    Args:
        names: Case-folded names.
        words: As `words_of` returns them.
    """
    return [_word_scores(names, word) for word in words]


def joined_scores(own: list[Floats], beside: list[Flags], count: int) -> Floats:
    """Return one score for each name; 0 where a word is neither in it nor in what it belongs to, or none is in it.

    Args:
        own: For each word, the scores of the names.
        beside: For each word, whether it is in what the name belongs to.
        count: How many names there are; without words all of them match.
    """
    if not own:
        return np.full(count, BESIDE)
    scores = [np.where(near & (score == 0), BESIDE, score) for score, near in zip(own, beside, strict=True)]
    fits = np.logical_and.reduce([score > 0 for score in scores])
    some = np.logical_or.reduce([score > 0 for score in own])
    total: Floats = np.where(fits & some, np.add.reduce(scores) / len(scores), 0.0)
    return total


def spread_scores(names: pa.StringArray, word: str) -> Floats:
    """Return `SPREAD` for each name that has the letters of a word in their order; for words that are in no name."""
    if len(word) < _FEWEST_SPREAD:
        return np.zeros(len(names))
    pattern = ".*?".join(re.escape(letter) for letter in word)
    return np.where(_mask(pc.match_substring_regex(names, pattern)), SPREAD, 0.0)


def marked(name: str, words: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    """Return a name in pieces, each with whether it is one of the words."""
    if not words:
        return ((name, False),)
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pieces = re.split(f"({pattern})", name, flags=re.IGNORECASE)
    return tuple((piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece)


def _word_scores(names: pa.StringArray, word: str) -> Floats:
    at = np.asarray(pc.find_substring(names, word))
    scores = np.zeros(len(names))
    places = np.flatnonzero(at >= 0)
    if not len(places):
        return scores
    matches = names.take(pa.array(places))
    starts = np.frombuffer(matches.buffers()[1], dtype=np.int32)[: len(matches) + 1]
    letters = np.frombuffer(matches.buffers()[2], dtype=np.uint8)
    first = at[places]
    ends = first + len(word.encode()) == starts[1:] - starts[:-1]
    begins = first == 0
    # The letter before it: of another script than English every letter counts as one.
    before = letters[np.maximum(starts[:-1] + first - 1, 0)]
    edge = begins | ~(((before >= 97) & (before <= 122)) | ((before >= 48) & (before <= 57)) | (before >= 128))
    conditions = [begins & ends, edge & ends, begins, edge]
    scores[places] = np.select(conditions, [EXACT, LAST_WORD, BEGINS, WORD], INSIDE)
    return scores


def _mask(flags: pa.BooleanArray) -> Flags:
    return np.asarray(flags.to_numpy(zero_copy_only=False), dtype=bool)
