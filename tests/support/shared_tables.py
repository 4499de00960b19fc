"""Where the tables made by others are, beside the repository or where a variable says.

``golden_root`` and ``reference_root`` may be called at module level, to parametrize, and inside tests and fixtures.
``both_are_here`` answers without a skip.
"""

import os
from pathlib import Path

import pytest

__all__ = ["ABSENT", "REPOSITORY", "both_are_here", "golden_root", "reference_root"]

REPOSITORY = Path(__file__).resolve().parents[2]

ABSENT = "tables made by others are absent"
"""With this the reason begins why a test is skipped that needs them."""

_VARIABLES = {"golden": "DELTA_GOLDEN", "reference": "DELTA_REFERENCE"}


def golden_root() -> Path:
    """Return the folder of the golden tables, or skip with the reason."""
    return _shared_tables("golden")


def reference_root() -> Path:
    """Return the folder of the tables of the reference writer, or skip with the reason."""
    return _shared_tables("reference")


def both_are_here() -> bool:
    """Whether a run has all tables made by others: without them many tests are not even collected."""
    return all(_is_whole(_place(name)) for name in _VARIABLES)


def _place(name: str) -> Path:
    named = os.environ.get(_VARIABLES[name])
    return Path(named).resolve() if named else REPOSITORY.parent / "shared" / name


def _is_whole(root: Path) -> bool:
    return (root / "tables").is_dir() and (root / "expected").is_dir()


def _shared_tables(name: str) -> Path:
    """Find a folder with ``tables`` and ``expected`` by a variable, else beside the repository.

    Absent tables skip. They fail where they were promised: a variable that names a wrong folder, or a CI machine that
    has the shared folder without them.
    """
    root, variable = _place(name), _VARIABLES[name]
    if _is_whole(root):
        return root
    problem = f"{ABSENT}: no {name} tables at {root}. Set {variable} to a folder with tables/ and expected/"
    promised = os.environ.get("CI") == "true" and (REPOSITORY.parent / "shared").is_dir()
    if os.environ.get(variable) or promised:
        pytest.fail(problem, pytrace=False)
    pytest.skip(problem, allow_module_level=True)
