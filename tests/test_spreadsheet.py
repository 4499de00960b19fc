"""Cells of exports: what a spreadsheet would run is text, and all else is as it was."""

from __future__ import annotations

import pyarrow as pa
import pytest

from explorer.spreadsheet import escaped_words, plain_cell, text_column

RUN = [
    ("=1+1", "'=1+1"),
    ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
    ("+1", "'+1"),
    ("-1", "'-1"),
    ("@SUM(A1)", "'@SUM(A1)"),
    ("\t=1", "'\t'=1"),
    ("\r=1", "'\r'=1"),
    ("\n=1", "'\n'=1"),
    ("\ttext", "'\ttext"),
    ("  =1", "'  =1"),
    ("\u00a0=1", "'\u00a0=1"),
    ("\ufeff=1", "'\ufeff=1"),
    ("\u200b=1", "'\u200b=1"),
    ("\u1680=1", "'\u1680=1"),
    ("\u3164=1", "'\u3164=1"),
    ("\ufe0f=1", "'\ufe0f=1"),
    ("\U000e0020=1", "'\U000e0020=1"),
    ('"=1', "'\"=1"),
    ("'=1", "''=1"),
    ("\uff1d1", "'\uff1d1"),
    ("\uff0b1", "'\uff0b1"),
    ("\uff0d1", "'\uff0d1"),
    ("\uff20x", "'\uff20x"),
    ("a;=1", "a;'=1"),
    ('a\t"=1', "a\t\"'=1"),
    ("a\n\n@b", "a\n\n'@b"),
    ("a;\n=1", "a;\n'=1"),
    ("=1\n=2", "'=1\n'=2"),
]
LEFT = ["", "text", "1", "1-1", "a=b", "a - b", "mail@host", "1;2", "a\nb", "'quoted'", "\u00e9=1", "{}", "2026-03-02"]
STEERING = [("\x1b]52;c;aGk=\x07", "\ufffd]52;c;aGk=\ufffd"), ("a\u202eb", "a\ufffdb"), ("\x00=1", "\ufffd=1")]


@pytest.mark.parametrize(("text", "cell"), [*RUN, *STEERING, *((text, text) for text in LEFT)])
def test_a_text_becomes_a_cell_that_no_spreadsheet_runs(text: str, cell: str) -> None:
    assert plain_cell(text) == cell
    column, changed = text_column(pa.array([text, None, "x"]))
    assert (column.to_pylist(), changed) == ([cell, None, "x"], int(text != cell))


def test_what_was_changed_is_said_with_its_number() -> None:
    assert escaped_words(0) == ""
    assert escaped_words(1).startswith("1 cell was changed")
    assert escaped_words(1200).startswith("1,200 cells were changed")
