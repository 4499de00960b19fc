"""Where the tables made by others are, beside the repository or where a variable says.

``golden_root``, ``reference_root`` and ``field_table`` may be called at module level, to parametrize, and inside tests
and fixtures. ``both_are_here`` answers without a skip.
"""

import os
from pathlib import Path

import pytest

__all__ = ["ABSENT", "REPOSITORY", "both_are_here", "field_root", "field_table", "golden_root", "reference_root"]

REPOSITORY = Path(__file__).resolve().parents[2]

ABSENT = "tables made by others are absent"
"""With this the reason begins why a test is skipped that needs them."""

_VARIABLES = {"golden": "DELTA_GOLDEN", "reference": "DELTA_REFERENCE", "field": "DELTA_FIELD"}

_CONTENTS = {"golden": ("tables", "expected"), "reference": ("tables", "expected"), "field": ("README.md", "servers")}
"""What each of the folders has in it, by which it is recognized."""


def golden_root() -> Path:
    """Return the folder of the golden tables, or skip with the reason."""
    return _shared_tables("golden")


def reference_root() -> Path:
    """Return the folder of the tables of the reference writer, or skip with the reason."""
    return _shared_tables("reference")


def field_root() -> Path:
    """Return the folder of the tables made after public reports, and of their servers, or skip with the reason."""
    return _shared_tables("field")


def field_table(name: str) -> Path:
    """Return one table made after a public report, or skip with the reason.

    Nothing may write to it: copy it first.
    """
    table = field_root() / name
    if not (table / "_delta_log").is_dir():
        pytest.fail(f"{field_root()} has no table {name}", pytrace=False)
    return table


def both_are_here() -> bool:
    """Whether a run has the golden and the reference tables: without them many tests are not even collected."""
    return all(_is_whole(name, _place(name)) for name in ("golden", "reference"))


def _place(name: str) -> Path:
    named = os.environ.get(_VARIABLES[name])
    # Without links: a table's address is what its files are compared with.
    return (Path(named) if named else REPOSITORY.parent / "shared" / name).resolve()


def _is_whole(name: str, root: Path) -> bool:
    return all((root / content).exists() for content in _CONTENTS[name])


def _shared_tables(name: str) -> Path:
    """Find a folder of tables, recognized by its contents, by a variable, else beside the repository.

    Absent tables skip. They fail where they were promised: a variable that names a wrong folder, or a CI machine that
    has the shared folder without them.
    """
    root, variable = _place(name), _VARIABLES[name]
    if _is_whole(name, root):
        return root
    contents = " and ".join(_CONTENTS[name])
    problem = f"{ABSENT}: no {name} tables at {root}. Set {variable} to a folder with {contents}"
    promised = os.environ.get("CI") == "true" and (REPOSITORY.parent / "shared").is_dir()
    if os.environ.get(variable) or promised:
        pytest.fail(problem, pytrace=False)
    pytest.skip(problem, allow_module_level=True)
