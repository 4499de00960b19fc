"""The browser's parts of the widget, as they stand in the state of each model: without their comments."""

from __future__ import annotations

from pathlib import Path

__all__ = ["script"]


def script(name: str) -> str:
    """Return a script of this package; lines that hold a comment alone are left out.

    Args:
        name: Its file: ``figure.js``.
    """
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("//"))
