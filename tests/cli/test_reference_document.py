"""The document of the command line says what the commands are."""

from tests.cli.reference import DOCUMENT, render


def test_document_is_what_the_commands_say() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render(), "run python -m tests.cli.reference"
