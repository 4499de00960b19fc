"""A table of many rows is printed without rich, and looks as rich prints it."""

from __future__ import annotations

import pytest

from explorer.cli import output

_HEADINGS = ["column", "n", "type"]


@pytest.mark.parametrize("cells", [("a", "1", "long"), ("é漢", "22", "a longer type"), ("", "", "")])
def test_many_rows_look_as_few_do(
    cells: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [cells, ("name", "3", "string")]
    output.listing(_HEADINGS, rows, "", numbers=("n",))
    expected = capsys.readouterr().out
    monkeypatch.setattr(output, "_MANY_ROWS", 1)
    output.listing(_HEADINGS, rows, "", numbers=("n",))
    assert capsys.readouterr().out == expected


def test_texts_wider_than_the_screen_are_broken_and_none_is_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "_MANY_ROWS", 1)
    monkeypatch.setattr(output, "_PIPE_WIDTH", 40)
    output.listing(_HEADINGS, [("abc" * 30, "1", "long"), ("b", "2", "long")], "", numbers=("n",))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert "".join(line.split()[0] for line in lines if line.strip().startswith(("a", "b", "c"))).count("abc") >= 20
