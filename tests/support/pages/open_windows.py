"""A window without a screen: a session over the host of the tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from explorer.page.address import address_of
from explorer.page.approvals import Approvals
from explorer.page.entry import Entry
from explorer.page.host import Identity
from explorer.page.table_session import TableSession
from explorer.page.tables import Tables
from explorer.views.many_tables.record import KeptRecord
from explorer.web.home.session import HomeSession
from explorer.web.home.tables import ListView
from tests.support.pages.page_host import PageHost
from tests.support.pages.quiet import busy_threads

__all__ = ["Window"]

_QUIET_TURNS = 4
"""So many turns one after the other: a thread that was just given something may not have begun."""


class Window:
    """A table's page, or the list of tables, whose script is a test.

    Args:
        tables: The tables; for the list of them a `explorer.web.served_tables.Catalog`.
        query: The address.
        early_spark: As for `TableSession`.
        wait: Wait until the page is drawn.
        silent: The script has not said anything yet.
        identity: The person, as the server knows it.
        entry: Is asked before a message is handled.
        approvals: The requests for approval, for the list of tables.
    """

    def __init__(
        self,
        tables: Tables,
        query: str,
        *,
        early_spark: bool = False,
        wait: bool = True,
        silent: bool = False,
        identity: Identity | None = None,
        entry: Entry | None = None,
        approvals: Approvals | None = None,
    ) -> None:
        self.host = PageHost(identity)
        self.number = 0
        self.session: Any  # of either kind
        if address_of(query).table:
            self.session = TableSession(tables, self.host, query, "light", entry=entry, early_spark=early_spark)
        else:
            kept = ListView(kept=KeptRecord(), approvals=approvals)
            self.session = HomeSession(tables, self.host, query, "light", entry=entry, list_view=kept)
        if wait and not silent:
            self.ask("go", query=query)
        elif not silent:
            self.number = 1
            self.send("go", number=1, query=query)

    @property
    def heard(self) -> list[dict[str, Any]]:
        """The messages to the script."""
        return self.host.heard

    def ask(self, kind: str, **fields: object) -> dict[str, Any]:
        """Send a message, and wait for the last thing that answers it."""
        self.number += 1
        self.send(kind, number=self.number, **fields)
        return self.answer()

    def hello(self, query: str) -> dict[str, Any]:
        """Say hello as the script of the page that came with the window."""
        return self.ask("hello", query=query, theme="light", shown="light", mark=self.session.mark)

    def send(self, kind: str, **fields: object) -> None:
        """Send a message; an address is asked for by a person on the open page, unless a test says otherwise."""
        if kind == "go":
            fields.setdefault("asked", True)
        self.host.say({"kind": kind, **fields})

    def answer(self) -> dict[str, Any]:
        """Wait until the newest number is answered."""
        return self.until(lambda message: message.get("number") == self.number)

    def until(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = 30) -> dict[str, Any]:
        """Wait for a message."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            if found := [message for message in self.heard if wanted(message)]:
                return found[-1]
            self.turn()
        pytest.fail(f"it did not come: {self.heard}")

    def settle(self, seconds: float = 60) -> Window:
        """Wait until nothing is under way: no thread works, and nothing waits for a turn of the loop."""
        ends, quiet = time.monotonic() + seconds, 0
        while quiet < _QUIET_TURNS:
            heard, busy = len(self.heard), busy_threads()
            self.host.turn()
            quiet = quiet + 1 if not busy and not self.host.has_calls and len(self.heard) == heard else 0
            if time.monotonic() > ends:
                pytest.fail(f"it does not end: {busy or 'each turn asks for another'}")
            time.sleep(0.003)
        return self

    def turn(self) -> None:
        """Take a turn of the loop."""
        self.host.turn()
        time.sleep(0.01)
