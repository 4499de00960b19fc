"""The widget in a browser's page without a notebook: a kernel of its own in a thread, and a comm between the two."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, Final

from explorer.jupyter.widget import TableExplorer
from tests.support.pages.waiting import wait_until

__all__ = ["shown_widget"]

# One model with a view in each place. `draw` draws one, `sent` takes up what the views say, `gone` has what ends each.
_VIEWS: Final = """async ([script, theme]) => {
  const { default: made } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const traits = { theme };
  const heard = {};
  const emit = (name, ...given) => [...(heard[name] ?? [])].forEach((call) => call(...given));
  const change = (name, value) => {
    if (traits[name] === value) return;
    traits[name] = value;
    emit(`change:${name}`);
  };
  const bytes = (text) => Uint8Array.from(atob(text), (part) => part.charCodeAt(0));
  const leaving = [];
  const turn = async () => {
    for (const { content, state, buffers } of await exchange(leaving.splice(0))) {
      if (content) emit("msg:custom", content, buffers.map(bytes));
      for (const [name, value] of Object.entries(state ?? {})) change(name, value);
    }
    setTimeout(turn, 10);
  };
  window.sent = [];
  window.model = {
    get: (name) => traits[name],
    set: change,
    save_changes: () => leaving.push({ state: { ...traits } }),
    on: (name, call) => (heard[name] ??= []).push(call),
    off: (name, call) => { heard[name] = (heard[name] ?? []).filter((other) => other !== call); },
    send(content) {
      sent.push(content);
      leaving.push({ content });
    },
  };
  window.draw = (el) => made().render({ model, el });
  window.gone = [...document.querySelectorAll("body > div")].map(draw);
  turn();
}"""


@contextmanager
def shown_widget(page: Any, widget: TableExplorer, html: str, *, plotly: bytes | None = None) -> Iterator[None]:
    """Show a widget in a page, a view in each ``div`` of its body, until the block ends.

    Args:
        page: The browser's page.
        widget: The widget.
        html: The page around it.
        plotly: What comes in place of plotly.js.
    """
    kernel = _Kernel(widget, plotly)
    page.set_content(html)
    page.expose_function("exchange", kernel.exchange)
    page.evaluate(_VIEWS, [widget._esm, widget.theme])
    wait_until(page, "[...document.querySelectorAll('body > div')].every((el) => el.firstChild.shadowRoot)")
    try:
        yield
    finally:
        kernel.close()


class _Kernel:
    """The loop that hears the views, as that of a kernel does, and what it has for them."""

    def __init__(self, widget: TableExplorer, plotly: bytes | None) -> None:
        self._widget, self._plotly = widget, plotly
        self._leaving: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        widget.send = self._send
        widget.observe(self._changed, "theme")

    def exchange(self, arrived: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Take what the views say, and return what is there for them."""
        for message in arrived:
            self._loop.call_soon_threadsafe(self._take, message)
        found = []
        while True:
            try:
                found.append(self._leaving.get_nowait())
            except Empty:
                return found

    def close(self) -> None:
        """Close the widget, and end the loop."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._widget.close()
        if begun := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(begun)  # pages that are being made

    def _take(self, message: Mapping[str, Any]) -> None:
        if "state" in message:
            self._widget.set_state(message["state"])
        else:
            self._widget._handle_custom_msg(message["content"], [])

    def _send(self, content: Mapping[str, Any], buffers: Sequence[bytes] = ()) -> None:
        if content["kind"] == "plotly" and self._plotly is not None:
            buffers = [self._plotly]
        packed = [base64.b64encode(part).decode() for part in buffers]
        # What a comm carries is JSON.
        self._leaving.put({"content": json.loads(json.dumps(content)), "buffers": packed})

    def _changed(self, change: Mapping[str, Any]) -> None:
        self._leaving.put({"state": {change["name"]: change["new"]}})
