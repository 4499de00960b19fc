"""A finding: what a rule says of a table, with its evidence, its effect and one remedy."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from explorer.core.transaction.intents.records import Intent

Severity = Literal["error", "warning", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")
"""The severities, most severe first: wrong results or unreadable; action needed; good to know."""

Aspect = Literal["difference", "commit", "files", "columns", "masked rows", "statistics", "changes", "state", "clients"]
"""What of a table shows a piece of evidence: a difference of two versions, a commit, its live files, and so on."""


class Place(msgspec.Struct, frozen=True):
    """Where evidence can be seen.

    Attributes:
        aspect: What of the table.
        version: The version; None for the newest.
        compared: The version to compare it with; None for the one before.
        column: A column, by its dotted name.
    """

    aspect: Aspect
    version: int | None = None
    compared: int | None = None
    column: str = ""


class Evidence(msgspec.Struct, frozen=True):
    """A piece of evidence in words, and where it can be seen; None where the words are all there is."""

    text: str
    place: Place | None = None


class Remedy(msgspec.Struct, frozen=True):
    """The next step: an intent filled in, or a command; a place to look at has the command that lists it."""

    label: str
    intent: Intent | None = None
    command: str = ""
    place: Place | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if there is neither an intent nor a command."""
        if self.intent is None and not self.command:
            raise ValueError(f"The step {self.label!r} has neither an intent nor a command.")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A result of a rule.

    Attributes:
        rule: The id of the rule.
        severity: How bad it is.
        label: Two or three words for a chip.
        title: The claim.
        evidence: What shows it, in words.
        effect: What it means for this table.
        remedy: The next step.
        subject: What of the table it is about, where a rule may find the same of several things: the finding of a later
            audit is the same one if rule and subject are.
        versions: The versions concerned, as inclusive ranges.
        files, rows, size: How many files, rows and bytes; None if that is not the point, or not known.
        cause: The version of the one commit that caused it and that can be undone; None where no one commit did.
        deadline: When the remedy stops working, ms since the epoch; None if it does not.
    """

    rule: str
    severity: Severity
    label: str
    title: str
    evidence: tuple[Evidence, ...]
    effect: str
    remedy: Remedy
    subject: str = ""
    versions: tuple[tuple[int, int], ...] = ()
    files: int | None = None
    rows: int | None = None
    size: int | None = None
    cause: int | None = None
    deadline: int | None = None
