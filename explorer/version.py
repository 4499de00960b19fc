"""The version of this program, as commits and pages state it."""

from typing import Final

__all__ = ["VERSION"]

VERSION: Final = "0.1.0"
