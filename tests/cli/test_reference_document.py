"""The document of the command line says what the commands are."""

import re
from itertools import pairwise

import pytest

from explorer.cli.app import command_group
from tests.cli.conftest import Call
from tests.cli.reference import DOCUMENT, render, render_whole
from tests.support.at_least_one import at_least_one


def test_document_is_what_the_commands_say() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render(), "run python -m tests.cli.reference"


def test_the_page_of_the_site_has_every_option_that_a_help_shows(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    commands = at_least_one(list(command_group().commands))
    sections = dict(zip(commands, render_whole().split("\n## ")[2:], strict=True))
    for command in commands:
        title, _, section = sections[command].partition("\n")
        shown = set(re.findall(r"(?<=[ │])--[a-z][a-z-]+", cli(command, "--help").out.partition("╭")[2])) - {"--help"}
        assert title == command
        assert {option for option in shown if f"`{option}" not in section and f" {option}" not in section} == set()


@pytest.mark.parametrize("command", ["", *command_group().commands])
def test_help_is_as_wide_as_the_screen_and_a_flag_has_no_type(
    cli: Call, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text, _, options = cli(*filter(None, [command]), "--help").out.partition("╭")
    assert "--help" in options
    assert "<bool>" not in options
    for line, following in pairwise(text.splitlines()):
        if line.strip() and following.strip():
            # A line ends where the next word finds no place.
            assert len(line.rstrip()) + 1 + len(following.split()[0]) > 78
