"""Where the tables made by others are, beside the repository or where a variable says.

``golden_root`` and ``reference_root`` may be called at module level, to parametrize, and inside tests and fixtures.
"""

import os
from pathlib import Path

import pytest

__all__ = ["REPOSITORY", "golden_root", "reference_root"]

REPOSITORY = Path(__file__).resolve().parents[2]


def golden_root() -> Path:
    """Return the folder of the golden tables, or skip with the reason."""
    return _shared_tables("golden", "DELTA_GOLDEN")


def reference_root() -> Path:
    """Return the folder of the tables of the reference writer, or skip with the reason."""
    return _shared_tables("reference", "DELTA_REFERENCE")


def _shared_tables(name: str, variable: str) -> Path:
    """Find a folder with ``tables`` and ``expected`` by a variable, else beside the repository.

    Absent tables skip. They fail where they were promised: a variable that names a wrong folder, or a CI machine that
    has the shared folder without them.
    """
    named = os.environ.get(variable)
    shared = REPOSITORY.parent / "shared"
    root = Path(named).resolve() if named else shared / name
    if (root / "tables").is_dir() and (root / "expected").is_dir():
        return root
    problem = f"no {name} tables at {root}: set {variable} to a folder with tables/ and expected/"
    if named or (os.environ.get("CI") == "true" and shared.is_dir()):
        pytest.fail(problem, pytrace=False)
    pytest.skip(problem, allow_module_level=True)
