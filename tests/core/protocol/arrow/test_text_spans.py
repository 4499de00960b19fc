"""Texts inside of one buffer: as words, as columns, and one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from explorer.core.protocol.arrow.text_spans import TextSpans, is_at, windows, words_of

TEXTS = ["abc", "", "h\u00e9llo", "x" * 8, "y" * 9, "\ud800x", "abc", "/a%b"]


def _bytes(texts: list[str]) -> list[bytes]:
    return [text.encode("utf-8", "surrogatepass") for text in texts]


@pytest.mark.parametrize("texts", [TEXTS, ["a"], [""], [], ["abc", "de"], ["x" * 16]])
def test_texts_are_what_they_were_made_of(texts: list[str]) -> None:
    for spans in (TextSpans.of_texts(texts), TextSpans.of_bytes(_bytes(texts))):
        assert len(spans) == len(texts)
        assert spans.lengths.tolist() == [len(each) for each in _bytes(texts)]
        assert [spans.text(row) for row in range(len(texts))] == texts
        assert [spans.bytes(row) for row in range(len(texts))] == _bytes(texts)
        column = spans.column()
        column.validate(full=True)
        assert column.equals(pa.array(_bytes(texts), pa.large_binary()))


@pytest.mark.parametrize("rows", [[], [7, 0], [1], [2, 2, 1], [5, 4, 3, 2, 1, 0]])
def test_some_texts_in_any_order_are_those(rows: list[int]) -> None:
    spans = TextSpans.of_texts(TEXTS)[np.array(rows, np.int64)]
    assert [spans.text(row) for row in range(len(spans))] == [TEXTS[row] for row in rows]
    assert spans.column().to_pylist() == [_bytes(TEXTS)[row] for row in rows]
    assert [row.tobytes().rstrip(b"\0") for row in spans.words] == [_bytes(TEXTS)[row] for row in rows]


@pytest.mark.parametrize("texts", [TEXTS, ["a"], [""], [], ["abcdefgh"], ["abcdefghi", "a"]])
def test_words_are_the_text_and_zeros(texts: list[str]) -> None:
    longest = max([len(each) for each in _bytes(texts)] or [0])
    words = TextSpans.of_texts(texts).words
    width = max(-(-longest // 8), 1)
    assert (words.dtype, words.shape) == (np.uint64, (len(texts), width))
    assert [row.tobytes() for row in words] == [each.ljust(8 * width, b"\0") for each in _bytes(texts)]


def test_a_text_at_the_end_of_its_buffer_has_words() -> None:
    spans = TextSpans(np.frombuffer(b"0123456789", np.uint8), np.array([0, 9, 10]), np.array([3, 10, 10]))
    assert [row.tobytes() for row in spans.words] == [b"012".ljust(8, b"\0"), b"9".ljust(8, b"\0"), bytes(8)]
    assert spans.column().to_pylist() == [b"012", b"9", b""]


@pytest.mark.parametrize("other", ["", "%/" * 500])
def test_texts_that_have_a_byte_and_those_that_have_it_after_another(other: str) -> None:
    spans = TextSpans.of_texts([*TEXTS, other])[np.arange(len(TEXTS))]
    assert spans.having(b"%").tolist() == ["%" in text for text in TEXTS]
    assert spans.having(b"~").tolist() == [False] * len(TEXTS)
    odd = ["a//b", "./c", "d/../e", "/f/g.h", "i./j", "//", "", "k/l"]
    spans = TextSpans.of_texts([*odd, other])[np.arange(len(odd))]
    found = spans.having(b"/", after=b"/.").tolist()
    assert [(has, text) for has, text in zip(found, odd, strict=True) if has != ("//" in text or "./" in text)] == [], (
        "of texts that begin with a slash it may be either"
    )


@pytest.mark.parametrize("start", [0, 1, 3])
def test_texts_of_a_column_are_those_of_its_rows(start: int) -> None:
    column = pa.array(["ab", None, "", "cde"])[start:]
    spans = TextSpans.of_column(column)
    assert [spans.text(row) for row in range(len(spans))] == [text or "" for text in column.to_pylist()]
    assert len(TextSpans.of_column(column[:0])) == 0


def test_parts_of_one_buffer_are_put_together() -> None:
    whole = TextSpans.of_texts(TEXTS)
    parts = [whole[np.array(rows)] for rows in ([1, 0], [7], [2])]
    found = TextSpans.together(parts)
    assert [found.text(row) for row in range(4)] == [TEXTS[row] for row in (1, 0, 7, 2)]
    assert TextSpans.together(parts[:1]) is parts[0]


def test_windows_and_words_end_with_the_buffer() -> None:
    data = np.frombuffer(b"0123456789", np.uint8)
    assert [each.tobytes() for each in windows(data, 4)] == [b"0123456789"[place : place + 4] for place in range(7)]
    assert [each.tobytes() for each in words_of(data)] == [b"01234567", b"12345678", b"23456789"]
    assert (len(windows(data, 11)), len(words_of(data[:7]))) == (0, 0)


@pytest.mark.parametrize(
    ("text", "found"), [(b"ab", [True, False, True]), (b"abx", [False, False, True]), (b"y", [False] * 3)]
)
def test_a_text_is_looked_for_at_many_places(text: bytes, found: list[bool]) -> None:
    data = np.frombuffer(b"ab ba abx ", np.uint8)
    assert is_at(data, np.array([0, 3, 6]), text).tolist() == found
    assert is_at(data, np.zeros(0, np.int64), text).tolist() == []
    assert is_at(data, np.array([0]), b"ab").tolist() == [True]
