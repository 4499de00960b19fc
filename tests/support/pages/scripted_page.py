"""A page whose script is a test: opened over HTTP, connected by its socket; one loop carries many of them.

It keeps what a check needs of what it hears, and forgets the rest: it can stay open for hours.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, WebSocketClosedError, websocket_connect

from tests.support.pages.raw_pages import bokeh_map

__all__ = ["PageFailed", "ScriptedPage"]

_TOKEN: Final = re.compile(r'"token": ?"([^"]+)"')
_MARK: Final = re.compile(r'data-mark="(\w+)"')
_MODEL: Final = re.compile(r'"name":\s*"[^"]*\bReactiveESM[^"]*",\s*"id":\s*"(\w+)"')
_NEWS: Final = re.compile(r"New: v(\d+)")
_LAST: Final = re.compile(r'data-version-last="[^"]*[?;]v=(\d+)')
_PROBLEM: Final = re.compile(r'data-kind="(\w+)"><b>([^<]*)</b> <span>([^<]*)')
_LARGEST: Final = 2**27
_PATIENCE: Final = 120.0
_CLOSES_IN: Final = 20.0


class PageFailed(AssertionError):
    """A page was refused, closed, or did not answer."""


@dataclass
class ScriptedPage:
    """One page.

    Attributes:
        query: Its address.
        heard: How many messages came.
        news: The newest version that the page was told of.
        last: The newest version that its strip has.
        title: The title of its window.
        notices: What stood above its content, in words, each once.
        closed: Whether its socket is closed.
    """

    query: str
    heard: int = 0
    news: int = -1
    last: int = -1
    title: str = ""
    notices: set[str] = field(default_factory=set)
    closed: bool = False

    _number: int = 0
    _model: str = ""
    _connection: WebSocketClientConnection | None = None
    _answers: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    _reading: asyncio.Task[None] | None = None
    _opened: asyncio.Future[Any] | None = None
    _document: asyncio.Future[Any] | None = None

    @classmethod
    async def open(cls, origin: str, query: str, *, cookie: str = "", patience: float = _PATIENCE) -> ScriptedPage:
        """Open an address, connect its socket, and say hello.

        Args:
            origin: Of the server, such as ``http://127.0.0.1:5006``.
            query: The address.
            cookie: Of the person.
            patience: Seconds to wait for each answer.

        Raises:
            PageFailed: It is refused, or does not answer.
        """
        page = cls(query)
        headers = {"Cookie": cookie} if cookie else {}
        request = HTTPRequest(f"{origin}/{query}", headers=headers, request_timeout=patience, connect_timeout=patience)
        answer = await AsyncHTTPClient().fetch(request, raise_error=False)
        text = answer.body.decode() if answer.body else ""
        token, mark = _TOKEN.search(text), _MARK.search(text)
        if answer.code != 200 or token is None or mark is None:
            raise PageFailed(f"{query}: answered with {answer.code} {answer.error or ''}")
        page._see(text)
        await page._connect(origin, token[1], headers, patience)
        screen = {"width": 1440, "height": 900}
        await page.ask("hello", query=query, theme="light", shown="light", mark=mark[1], patience=patience, **screen)
        return page

    async def ask(self, kind: str, *, patience: float = _PATIENCE, **fields: object) -> dict[str, Any]:
        """Send a message of the page's script, and return what answers it.

        Raises:
            PageFailed: Nothing does.
        """
        self._number += 1
        number = self._number
        if self.closed:
            raise PageFailed(f"{self.query}: {kind} was asked of a closed page")
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await self.tell(kind, number=number, **fields)
            return await asyncio.wait_for(answer, patience)
        except (TimeoutError, WebSocketClosedError) as error:
            raise PageFailed(f"{self.query}: {kind} was not answered ({type(error).__name__})") from error
        finally:
            self._answers.pop(number, None)

    async def go(self, query: str, *, patience: float = _PATIENCE) -> dict[str, Any]:
        """Ask for another address, as a person does."""
        self.query = query
        return await self.ask("go", query=query, asked=True, patience=patience)

    async def tell(self, kind: str, **fields: object) -> None:
        """Send a message that nothing answers."""
        values = bokeh_map({"model": {"id": self._model}, "data": bokeh_map({"kind": kind, **fields})})
        event = {"type": "event", "name": "data_event", "values": values}
        sent = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}
        await self._send("PATCH-DOC", {"events": [sent]})

    async def close(self) -> None:
        """Leave the page."""
        if self._connection is not None:
            self._connection.close()
        await self._end()

    async def leave(self) -> None:
        """Break the connection off, as a machine does that loses its network."""
        if self._connection is not None:
            if self._connection.stream is not None:
                self._connection.stream.close()
            self._connection.close()
        await self._end()

    async def _end(self) -> None:
        """Read to the end, which does not come by itself where the other side says nothing more."""
        if self._reading is not None:
            await asyncio.wait({self._reading}, timeout=_CLOSES_IN)
            self._reading.cancel()
            await asyncio.wait({self._reading})

    async def _connect(self, origin: str, token: str, headers: dict[str, str], patience: float) -> None:
        address = origin.replace("http", "ws", 1) + "/ws"
        request = HTTPRequest(
            address, headers={"Origin": origin, **headers}, connect_timeout=patience, request_timeout=patience
        )
        self._connection = await websocket_connect(request, subprotocols=["bokeh", token], max_message_size=_LARGEST)
        self._opened, self._document = (asyncio.get_running_loop().create_future() for _ in range(2))
        self._reading = asyncio.create_task(self._read())
        try:
            # What is sent before the server has taken the socket is lost.
            await asyncio.wait_for(self._opened, patience)
            await self._send("PULL-DOC-REQ", {})
            document = await asyncio.wait_for(self._document, patience)
        except TimeoutError as error:
            raise PageFailed(f"{self.query}: the document did not come") from error
        model = _MODEL.search(document)
        assert model is not None, document[:200]
        self._model = model[1]

    async def _send(self, msgtype: str, content: object) -> None:
        assert self._connection is not None
        for part in ({"msgid": "1", "msgtype": msgtype}, {}, content):
            await self._connection.write_message(json.dumps(part))

    async def _read(self) -> None:
        """Read messages until the socket is closed; an error is that of everything that waits for an answer."""
        assert self._connection is not None
        why = "the socket was closed"
        try:
            while (head := await self._connection.read_message()) is not None:
                header = json.loads(head)
                rest = [await self._connection.read_message() for _ in range(2 + 2 * header.get("num_buffers", 0))]
                if None in rest:
                    break
                self._take(header["msgtype"], str(rest[1]))
        except Exception as error:
            why = f"a message could not be read: {error!r}"
            raise
        finally:
            self.closed = True
            self._fail(f"{self.query}: {why} ({self._connection.close_code})")

    def _fail(self, why: str) -> None:
        for answer in (*self._answers.values(), self._opened, self._document):
            if answer is not None and not answer.done():
                answer.set_exception(PageFailed(why))

    def _take(self, msgtype: str, content: str) -> None:
        awaited = {"ACK": self._opened, "PULL-DOC-REPLY": self._document}.get(msgtype)
        if awaited is not None and not awaited.done():
            awaited.set_result(content)
        if msgtype == "ERROR":
            self.notices.add(content[:300])
        if msgtype != "PATCH-DOC":
            return
        for event in json.loads(content)["events"]:
            sent = event.get("msg_data")
            values = _plain(sent.get("values")) if isinstance(sent, dict) else None
            data = values.get("data") if isinstance(values, dict) else None
            if isinstance(data, dict):
                self._hear(data)

    def _hear(self, data: dict[str, Any]) -> None:
        self.heard += 1
        self.title = data.get("title", self.title)
        self.query = data.get("query", self.query)
        if news := _NEWS.search(data.get("say", "")):
            self.news = max(self.news, int(news[1]))
        regions = data.get("regions", {})
        if notice := regions.get("notice"):
            self.notices |= {" ".join(parts) for parts in _PROBLEM.findall(notice)}
        self._see(regions.get("strip", ""))
        answer = self._answers.get(data.get("number", 0))
        if answer is not None and not answer.done():
            answer.set_result(data)

    def _see(self, html: str) -> None:
        if last := _LAST.search(html):
            self.last = max(self.last, int(last[1]))


def _plain(value: Any) -> Any:
    """Return a value as Bokeh's server writes it as plain data."""
    if isinstance(value, dict):
        if value.get("type") == "map":
            return {name: _plain(each) for name, each in value.get("entries", [])}
        return value
    return [_plain(each) for each in value] if isinstance(value, list) else value
