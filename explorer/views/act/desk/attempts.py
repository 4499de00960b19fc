"""The attempts to commit of all desks of the same tables.

A page that is loaded anew has a new desk, which knows nothing of the commit that the old one began: without this the
same rows could be appended twice. What is known is that of this process; the log is the record.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from weakref import ref

from explorer.core.errors import RequestError
from explorer.views.act.desk.draft import Attempt, Question

__all__ = ["Attempts"]

_MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Entry:
    # Not the desk itself: with it would stay the window that it was of.
    desk: ref[object]
    attempt: Attempt


class Attempts:
    """The last attempt at each change that runs, was carried out, or may have been; the oldest are forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[Question, _Entry] = {}

    def last(self, question: Question) -> Attempt | None:
        """Return the last attempt at a change, by any person; None if it had no outcome, or none is known."""
        entry = self._entries.get(question.change)
        return None if entry is None else entry.attempt

    def begin(self, desk: object, question: Question, known: Attempt | None) -> None:
        """Take notice that a desk begins to carry out a change.

        Args:
            desk: The desk; it may always try its own change again.
            question: The change.
            known: The last attempt, as the plan that is carried out says it.

        Raises:
            RequestError: Another desk is carrying out the same change, or has done so since the plan was made.
        """
        key = question.change
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry.desk() is not desk:
                if entry.attempt.outcome == "running":
                    raise RequestError(
                        "Another page is already committing the same change. Wait for its outcome, then preview the "
                        "plan again.",
                        field="plan",
                    )
                if entry.attempt != known:
                    raise RequestError(
                        "Another page committed the same change after this plan was made. Read the plan again.",
                        field="plan",
                    )
            self._entries.pop(key, None)
            self._entries[key] = _Entry(ref(desk), Attempt("running", datetime.now(UTC), question.person))
            ended = [each for each, entry in self._entries.items() if entry.attempt.outcome != "running"]
            for each in ended[: max(0, len(self._entries) - _MOST)]:
                del self._entries[each]

    def end(self, desk: object, question: Question, outcome: str, version: int | None) -> None:
        """Take notice of what came of an attempt.

        Args:
            desk: Whose attempt it was.
            question: The change.
            outcome: As a receipt says it; all but ``committed`` and ``unknown`` mean that nothing was done.
            version: The version that was committed, or that may have been.
        """
        key = question.change
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.desk() is not desk:
                return
            if outcome in ("committed", "unknown"):
                self._entries[key] = replace(entry, attempt=replace(entry.attempt, outcome=outcome, version=version))
            else:
                del self._entries[key]
