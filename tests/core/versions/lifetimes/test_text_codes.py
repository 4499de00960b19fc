"""Numbers of texts in a hash table: those that a dictionary gives, however the texts are spread."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from explorer.core.errors import LimitExceeded
from explorer.core.protocol import limits
from explorer.core.protocol.arrow.text_spans import TextSpans
from explorer.core.versions.lifetimes import text_codes
from explorer.core.versions.lifetimes.text_codes import TextCodes


def _texts(chance: random.Random, count: int) -> list[str]:
    heads = ("", "\u00e9", "\ud800", "\0", "x" * 7, "x" * 8, "x" * 9, "\0" * 8)
    tails = ("", "", "", "\0", "y" * 600)
    return [
        chance.choice(heads) + str(chance.randrange(500)) * (chance.random() < 0.9) + chance.choice(tails)
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("collide", [False, True])
def test_numbers_are_those_of_a_dictionary(seed: int, collide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where all texts have one hash, or all of a length."""
    if collide:
        monkeypatch.setattr(text_codes, "_factors", lambda count: np.zeros((2, count), np.uint64))
    chance, codes, meant = random.Random(seed), TextCodes(), dict[str, int]()
    for count in (0, 1, 3, 0, 200, 50, 700, 1):
        texts = _texts(chance, count)
        found = codes.of(TextSpans.of_texts(texts))
        assert (found.dtype, found.tolist()) == (np.int32, [meant.setdefault(text, len(meant)) for text in texts])
        assert len(codes) == len(meant)
    assert codes.distinct() == [*meant]
    plain = [text for text in meant if "\ud800" not in text]
    rows = np.array([meant[text] for text in reversed(plain)], np.int64)
    assert codes.texts(rows).to_pylist() == plain[::-1]


def test_factors_of_few_words_are_the_first_of_those_of_many() -> None:
    few, many = text_codes._factors(3), text_codes._factors(2_000)
    assert (few.shape, many.shape, few.tolist()) == ((2, 3), (2, 2_000), many[:, :3].tolist())
    assert (many % 2 == 1).all()
    assert len(np.unique(many)) == many.size


def test_texts_that_differ_in_the_last_byte_of_a_word_are_spread() -> None:
    """A product alone would give as many hashes as a byte has values, whatever it is multiplied with."""
    texts = [f"abcdefg{chr(33 + place % 90)}hijklmn{chr(33 + place // 90)}" for place in range(8_100)]
    codes = TextCodes()
    assert codes.of(TextSpans.of_texts(texts)).tolist() == [*range(8_100)]
    assert len(np.unique(codes._hashes[:8_100])) == 8_100


def test_a_copy_goes_on_apart() -> None:
    codes = TextCodes()
    codes.of(TextSpans.of_texts(["a", "b"]))
    copy = codes.copy()
    assert codes.of(TextSpans.of_texts(["c", "a"])).tolist() == [2, 0]
    assert copy.of(TextSpans.of_texts(["d", "b", "e"])).tolist() == [2, 1, 3]
    assert (codes.distinct(), copy.distinct()) == (["a", "b", "c"], ["a", "b", "d", "e"])
    assert codes.column().to_pylist() == ["a", "b", "c"]


def test_nothing_has_no_numbers() -> None:
    codes = TextCodes()
    assert (codes.of(TextSpans.of_texts([])).tolist(), codes.distinct(), codes.column().to_pylist()) == ([], [], [])


@pytest.mark.parametrize("most", [1, 40, 1 << 20])
def test_long_texts_are_looked_up_a_few_at_a_time(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_codes, "_MOST_WORDS", most)
    texts = ["short", "x" * 513, "short", "y" * 100, "x" * 513, "x" * 9_000, "z", "x" * 9_000]
    codes = TextCodes()
    assert codes.of(TextSpans.of_texts(texts)).tolist() == [0, 1, 0, 2, 1, 3, 4, 3]
    assert codes.distinct() == [texts[row] for row in (0, 1, 3, 5, 6)]


def test_more_text_than_a_column_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = TextCodes()
    codes.of(TextSpans.of_texts(["abc", "de"]))
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", 4)
    with pytest.raises(LimitExceeded, match="2 texts together have 5 bytes"):
        codes.column()
    assert codes.texts(np.array([1, 1])).to_pylist() == ["de", "de"]


def test_texts_that_were_kept_are_enough_until_another_is_numbered() -> None:
    kept = pa.array(["b", "a", ""])
    codes = TextCodes(kept)
    assert (len(codes), codes.column() is kept, codes.distinct()) == (3, True, ["b", "a", ""])
    assert codes.texts(np.array([2, 0, 2], np.int32)).to_pylist() == ["", "b", ""]
    copy = codes.copy()
    assert codes.of(TextSpans.of_texts(["a", "n", ""])).tolist() == [1, 3, 2]
    assert (codes.distinct(), copy.distinct(), len(codes)) == (["b", "a", "", "n"], ["b", "a", ""], 4)
    assert copy.of(TextSpans.of_texts([])).tolist() == []
    assert copy.of(TextSpans.of_texts(["m"])).tolist() == [3]
