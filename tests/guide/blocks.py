"""The examples of the README and the guide.

A comment on the line before a block says what to do with it: ``<!-- not run: WHY -->``, ``<!-- whole: WHY -->`` (only
in the whole dose), ``<!-- file: NAME -->`` (a file that later examples of the page read). A command that ends with
``# exits with N`` has that exit code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.shared_tables import REPOSITORY

__all__ = ["LANGUAGES", "PAGES", "Block", "blocks_of"]

PAGES: Final = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs" / "guide").glob("*.md")))
LANGUAGES: Final = ("bash", "python", "toml", "nginx", "ini")
_BLOCK: Final = re.compile(r"(?:<!-- ([\w ]+): ([^\n]+) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One example.

    Attributes:
        language: One of `LANGUAGES`.
        text: Its lines.
        mark: ``not run``, ``whole``, ``file``, or empty.
        note: Why, or the name of the file.
    """

    language: str
    text: str
    mark: str
    note: str


def blocks_of(page: Path) -> list[Block]:
    """The examples of a page, in their order."""
    text = page.read_text("utf-8")
    return [Block(language, body, mark, note) for mark, note, language, body in _BLOCK.findall(text)]
