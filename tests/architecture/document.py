"""The made parts of ``docs/architecture.md``, between ``<!-- made: NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.drawing import LEVELS, drawing
from tests.architecture.sources import REPOSITORY
from tests.architecture.walks import recorded, walk

DOCUMENT: Path = REPOSITORY / "docs" / "architecture.md"
COMMAND = "python -m tests.architecture --write"
_STAY = re.compile(r"^\d+\. ([\w.]+): (.+)$", re.MULTILINE)
_MADE = re.compile(r"(<!-- made: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def renewed(text: str) -> str:
    """The document with each made part made again."""
    parts = {level: drawing(level) for level in LEVELS}
    parts |= {name: walk(calls) for name, calls in recorded().items()}
    return _MADE.sub(lambda found: f"{found[1]}\n{parts[found[2]]}\n\n{found[3]}", text)


def walked(text: str) -> list[str]:
    """The functions that the walks name, as dotted names below the package."""
    return [f"{room}.{name.strip('`')}" for room, names in _STAY.findall(text) for name in names.split(", ")]
