"""What is asked before a window's message is handled, or a tab is drawn: whether its person may, and the record.

A message or an export without an entry here is refused wherever rights are given, and a test names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from explorer.activity.event import Event
from explorer.rights import Right
from explorer.turns import Line

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class OnShow:
    """What a window shows: the served name in its address, and the table and the version that are drawn.

    Attributes:
        name: The name in the address; the table that is drawn may still be another one.
        location: Where the table is that is drawn; empty without one.
        version: Its version; None without one.
    """

    name: str = ""
    location: str = ""
    version: int | None = None


class Entry(Protocol):
    """The one way in for the messages of a window; its methods are called on the loop, or on a thread that draws.

    Attributes:
        line: The line in which the person's jobs wait for Spark; None where they do not wait.
    """

    line: Line | None

    def require(self, right: Right, shown: OnShow) -> None:
        """Raise `NotAllowed` if the person lacks a right on what is shown."""

    def may(self, right: Right, shown: OnShow) -> bool:
        """Return whether the person has a right on what is shown."""

    def refuse_unknown(self, name: str) -> None:
        """Raise `NotAllowed` for a message or an export that has no right here, where rights are given."""

    def record(self, event: Event) -> Future[Any] | None:
        """Begin to record what is about to be done, and must not be done before the result is there.

        Returns:
            A result once it is on the disk, or a `StorageError`; None where nothing is recorded.
        """

    def export(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Return the making of an export, which counts as the person's until it has ended.

        Raises:
            LimitReached: As many are being made for the person as one person may have.
        """


class OpenEntry:
    """The entry of a place without rights, without a record, and without limits."""

    line: Line | None = None

    def require(self, right: Right, shown: OnShow) -> None:
        """Allow everything."""

    def may(self, right: Right, shown: OnShow) -> bool:  # noqa: ARG002  # as the protocol has it
        """Allow everything."""
        return True

    def refuse_unknown(self, name: str) -> None:
        """Allow everything."""

    def record(self, event: Event) -> Future[Any] | None:  # noqa: ARG002  # as the protocol has it
        """Record nothing."""
        return None

    def export(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Return the work as it is."""
        return work


_MESSAGES: Final = {
    Right.SEE: (
        "hello go theme screen visible stop-reading stop-waiting wake-spark find-column",
        "read-on seen stop-search search-on search-again pin-table lane-card palette footer footer-cancel",
        "pin unpin case-note case-describe case-load",
    ),
    Right.ROWS: (
        "rows rows-turn rows-cancel changes changes-cancel differences differences-cancel",
        "row row-keys row-read row-cancel profile profile-cancel erasure erasure-cancel erasure-share",
        # The lines of the log hold bounds, which are values of rows.
        "pair-rows pair-rows-cancel raw",
        "changes-share differences-share story-share pair-share profile-share audit-share audit-rows",
    ),
    Right.REPORT: ("audit-run audit-cancel",),
    Right.NOTICES: ("notice",),
    Right.APPROVE: ("request-approve request-decline",),
    Right.COMMIT: (
        "request-ask request-withdraw",
        "draft person look cancel-look accept commit outcome-read cancel-commit cancel-plan plan-again try-again",
    ),
}
_EXPORTS: Final = {
    Right.SEE: ("diff files columns deletion-vectors form-changes commits schema receipt",),
    Right.ROWS: ("data changes statistics erasure erasure-proof case-file table-differences compared-bounds intents",),
    Right.REPORT: ("erasure-statement erasure-page report case-report clients settings",),
    Right.COMMIT: ("plan",),
}


def _by_name(groups: Mapping[Right, tuple[str, ...]]) -> dict[str, Right]:
    return {name: right for right, lines in groups.items() for line in lines for name in line.split()}


MESSAGES: Final[Mapping[str, Right]] = _by_name(_MESSAGES)
"""The right that each message needs; a download needs that of `EXPORTS`."""
ROWS_OPENED: Final = frozenset(
    [
        "rows",
        "rows-turn",
        "changes",
        "differences",
        "row",
        "row-keys",
        "row-read",
        "profile",
        "erasure",
        "pair-rows",
        "audit-rows",
        "look",
    ]
)
"""Messages that read rows."""
EXPORTS: Final[Mapping[str, Right]] = _by_name(_EXPORTS)
"""The right that each export needs."""
TABS: Final[Mapping[str, Right]] = dict.fromkeys(("data", "changes", "row", "statistics"), Right.ROWS) | {
    "act": Right.COMMIT,
    "audit": Right.REPORT,
    "erasure": Right.REPORT,
}
"""The right that a tab needs; others need `Right.SEE`."""
OPENS_ROWS: Final = frozenset({"data", "changes", "row", "diff"})
"""Tabs that read rows once they are on show."""


def right_of_tab(tab: str, step: str = "", *, decides: bool = False) -> Right:
    """Return the right that a tab needs at a step of the address.

    Args:
        tab: The tab.
        step: The step of a change.
        decides: Requests for approval can be shown in place of the changes that can be planned.
    """
    if tab == "act" and step == "receipt":
        return Right.SEE
    if tab == "act" and (step == "request" or decides):
        return Right.REQUESTS
    return TABS.get(tab, Right.SEE)


def right_of_message(kind: str, export: str = "") -> Right | None:
    """Return the right that a message needs; None for one that is not known here."""
    return EXPORTS.get(export) if kind == "download" else MESSAGES.get(kind)
