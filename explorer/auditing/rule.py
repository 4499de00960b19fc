"""A rule: one question to a table, and the function that answers it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from explorer.auditing.finding import Finding, Severity
from explorer.auditing.subject import Subject

__all__ = ["NotAnswered", "Rule"]


class NotAnswered(msgspec.Struct, frozen=True):
    """A rule that could not look: why, and what would answer it."""

    reason: str


class Rule(msgspec.Struct, frozen=True):
    """One rule.

    Attributes:
        id: Its name in reports, stable.
        severity: The worst that it finds.
        title: What it looks for, as the answer to "Checked for".
        meaning: Why it matters.
        judge: Returns its findings on a table, most severe first, or why it was not checked.
    """

    id: str
    severity: Severity
    title: str
    meaning: str
    judge: Callable[[Subject], tuple[Finding, ...] | NotAnswered]
