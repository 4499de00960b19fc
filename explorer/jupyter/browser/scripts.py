"""The scripts of this package, as models hold them: without comments and indentation."""

from __future__ import annotations

from pathlib import Path

__all__ = ["script"]


def script(*names: str) -> str:
    """Return scripts one after the other; lines that hold a comment alone are left out, and so is indentation.

    Args:
        *names: Their files: ``figure.js``.
    """
    text = "\n".join(Path(__file__).with_name(name).read_text("utf-8") for name in names)
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
