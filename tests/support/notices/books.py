"""Notices for tests: a book whose clock is set by the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorer.notices.book import NoticeBook
from explorer.notices.notice import Notice
from explorer.notices.store import NoticeStore

NOW = 1_780_000_000_000
"""2026-05-28 20:26:40 UTC, in ms since the epoch."""


class Clock:
    """A clock that goes when a test says so."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        """Return the time, in ms since the epoch."""
        return self.now

    def pass_(self, seconds: float) -> None:
        """Let time pass, or go back."""
        self.now += round(seconds * 1000)


def book_at(folder: Path, clock: Clock | None = None) -> NoticeBook:
    """Return the notices of a folder."""
    return NoticeBook(NoticeStore(folder), clock or Clock())


def notice(key: str = "tripwire:rows gone:3:/lake/orders", **fields: Any) -> Notice:
    """Return a notice."""
    values = {
        "kind": "tripwire",
        "severity": "warning",
        "title": "orders: rows gone, v3",
        "text": "v3 by ben: 100 rows removed.",
        "table": "/lake/orders",
        "name": "lake/orders",
        "version": 3,
        "when": "2026-05-28T20:00:00Z",
    }
    return Notice(key=key, **(values | fields))
