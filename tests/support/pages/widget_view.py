"""A view of the widget without a browser: what its page would be sent, and the messages that its script would send."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from explorer.jupyter.widget import TableExplorer

__all__ = ["View"]

_PATIENCE = 60.0


class View:
    """One view; without a loop, the kernel's part answers on its own threads.

    Args:
        widget: The widget.
        name: Names the view.
        theme: Of the notebook around it.
        width: Pixels.

    Attributes:
        heard: The messages for this view.
        regions: The page, as HTML by the id of its element.
        figures: The last data of the strip and the chart.
        query: The address on show.
    """

    def __init__(self, widget: TableExplorer, name: str = "v1", *, theme: str = "light", width: int = 1000) -> None:
        self.widget, self.name = widget, name
        self.heard: list[dict[str, Any]] = []
        self.regions: dict[str, str] = {}
        self.figures: dict[str, Any] = {}
        self.query = ""
        self._number = 0
        self._news = threading.Condition()
        self._theme, self._width = theme, width
        send: Callable[..., None] = widget.send

        def hear(message: dict[str, Any], buffers: Any = None) -> None:
            send(message, buffers)
            if message.get("view") == name:
                self._take(message)

        widget.send = hear
        self.say("begin", theme=theme, width=width, height=800)
        self.mark = self.until(lambda message: message["kind"] == "window")["mark"]
        # A page that another session made is sent whole.
        self.ask("hello", query=self.query, theme=theme, shown=theme, mark="", width=width, height=800)

    @property
    def html(self) -> str:
        """All of the page."""
        return "\n".join(self.regions.values())

    def say(self, kind: str, **fields: object) -> None:
        """Send a message, from a thread without a loop: that of the tests may have one that a browser left running."""
        content = {"kind": kind, "view": self.name, **fields}
        with ThreadPoolExecutor(1) as thread:
            thread.submit(self.widget._handle_custom_msg, content, []).result()

    def ask(self, kind: str, **fields: object) -> dict[str, Any]:
        """Send a message, and wait for its answer."""
        self._number += 1
        number = self._number
        self.say(kind, number=number, **fields)
        return self.until(lambda message: message.get("number") == number)

    def go(self, query: str) -> dict[str, Any]:
        """Ask for an address as a person does."""
        return self.ask("go", query=query, asked=True)

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a message."""
        with self._news:
            if not self._news.wait_for(lambda: any(map(wanted, self.heard)), timeout=_PATIENCE):
                pytest.fail(f"it did not come: {[message['kind'] for message in self.heard]}")
            return [message for message in self.heard if wanted(message)][-1]

    def shows(self, text: str) -> bool:
        """Wait until the page holds a text."""
        with self._news:
            return self._news.wait_for(lambda: text in self.html, timeout=_PATIENCE)

    def _take(self, message: dict[str, Any]) -> None:
        with self._news:
            self.heard.append(message)
            self.query = message.get("query", self.query)
            self.regions |= message.get("regions", {})
            figures = message.get("figures", message)
            self.figures |= {name: figures[name] for name in ("strip", "chart") if "data" in figures.get(name, {})}
            self._news.notify_all()
