"""The version of this program, as commits and pages state it."""

from typing import Final

VERSION: Final = "0.1.0"
