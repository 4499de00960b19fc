"""A rule (one question to a table, and the function that answers it), and next steps that change nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Final

import msgspec

from explorer.auditing.finding import Aspect, Finding, Place, Remedy, Severity
from explorer.auditing.subject import Subject


class NotAnswered(msgspec.Struct, frozen=True):
    """A rule that could not run: why, and what would answer it."""

    reason: str


class Rule(msgspec.Struct, frozen=True):
    """One rule.

    Attributes:
        id: Its name in reports, stable.
        severity: The worst that it finds.
        title: What it detects, as the answer to "Checked for".
        meaning: Why it matters.
        judge: Returns its findings on a table, most severe first, or why it was not checked.
    """

    id: str
    severity: Severity
    title: str
    meaning: str
    judge: Callable[[Subject], tuple[Finding, ...] | NotAnswered]


COMMANDS: Final[dict[Aspect, str]] = {
    "difference": "diff",
    "commit": "history",
    "files": "files",
    "columns": "columns",
    "masked rows": "deletion-vectors",
    "statistics": "statistics",
    "changes": "changes",
    "state": "snapshot",
    "clients": "compatibility",
}
"""The command that lists what of a table."""
_OF_A_VERSION: Final = frozenset({"files", "masked rows", "statistics", "state"})


def see(subject: Subject, label: str, place: Place) -> Remedy:
    """Return a step to a place, which a page links to and a command lists."""
    return Remedy(label, command=table_command(subject, COMMANDS[place.aspect], *_options(place)), place=place)


def table_command(subject: Subject, command: str, *options: str) -> str:
    """Return a command of Delta Table Explorer for the table."""
    return f"delta-explorer {command} {shlex.join([subject.log.location, *options])}"


def verify_command(subject: Subject) -> str:
    """Return the command that lists every problem of the log with its file."""
    return table_command(subject, "verify")


def written_again(subject: Subject, how: str = "") -> Remedy:
    """Return the step to recreate the table from its rows.

    Args:
        subject: The table.
        how: What is then different, as ``with fewer partition columns``; empty for from its rows alone.
    """
    label = f"Export the rows and recreate the table {how or 'from them'}"
    return Remedy(label, command=table_command(subject, "rows", "--output", "rows.parquet"))


def _options(place: Place) -> list[str]:
    version, before = place.version, place.compared
    if version is not None and place.aspect == "difference":
        return [str(version - 1 if before is None else before), str(version)]
    if version is not None and place.aspect == "changes":
        return ["--from", str(version if before is None else before + 1), "--to", str(version), "--inferred"]
    options = ["--version", str(version)] if version is not None and place.aspect in _OF_A_VERSION else []
    return [*options, *(["--column", place.column] if place.aspect == "statistics" and place.column else [])]
