"""The pages served on a thread of this process, and a client that sends what no browser would."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tornado.httpclient import HTTPRequest
from tornado.ioloop import IOLoop
from tornado.websocket import WebSocketClientConnection, WebSocketClosedError, websocket_connect

from explorer.web import serve

__all__ = ["Answer", "Pages", "Talk", "served_here"]

_PATIENCE: Final = 90


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered with; ``headers`` by name in lower case."""

    status: int
    headers: dict[str, str]
    text: str
    cookies: tuple[str, ...] = ()
    """Each cookie that it sets, as a request sends it back."""

    @property
    def cookie(self) -> str:
        """The cookie that it sets, as a request sends it back."""
        return self.headers["set-cookie"].partition(";")[0]

    @property
    def token(self) -> str:
        """The token by which the page opens its socket."""
        found = re.search(r'"token": ?"([^"]+)"', self.text)
        assert found is not None, self.text[:500]
        return found[1]


@dataclass
class Pages:
    """A running server."""

    port: int
    urls: list[str] = field(default_factory=list)
    """The URLs that it has told, in their order."""
    server: Any = None

    @property
    def host(self) -> str:
        """As the header has it."""
        return f"127.0.0.1:{self.port}"

    @property
    def origin(self) -> str:
        """The origin of its pages."""
        return f"http://{self.host}"

    @property
    def access_token(self) -> str:
        """The one-time token that was told last."""
        return self.urls[-1].partition("token=")[2]

    def ask(self, path: str = "/", method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        """Send a request; an underscore in the name of a header is a hyphen."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            client.putrequest(method, path, skip_host="Host" in named, skip_accept_encoding=True)
            if body is not None:
                named |= {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(body))}
            for name, value in named.items():
                client.putheader(name, value)
            client.endheaders(None if body is None else body.encode())
            found = client.getresponse()
            text = found.read().decode("utf-8", "replace")
            headers = {name.lower(): value for name, value in found.getheaders()}
            cookies = found.headers.get_all("Set-Cookie", [])
            return Answer(found.status, headers, text, tuple(cookie.partition(";")[0] for cookie in cookies))
        finally:
            client.close()

    def entered(self) -> str:
        """Open the address with the token; return the cookie."""
        return self.ask(f"/?token={self.access_token}").cookie

    def signed_in(self, name: str, password: str) -> str:
        """Sign in; return the cookie."""
        answer = self.ask("/login", "POST", f"name={name}&password={password}", Origin=self.origin)
        assert answer.status == 303, answer.text
        return answer.cookie


class Talk:
    """A socket of a page."""

    def __init__(self, connection: WebSocketClientConnection) -> None:
        self._connection = connection
        self.heard: list[str] = []
        self.is_closed = False
        """Whether the end of the connection was heard."""

    @classmethod
    async def begin(cls, pages: Pages, token: str, *, path: str = "/ws", **headers: str) -> Talk:
        """Open the socket of a token.

        Raises:
            tornado.httpclient.HTTPClientError: It is refused.
        """
        named = {"Origin": pages.origin} | {name.replace("_", "-"): value for name, value in headers.items()}
        request = HTTPRequest(f"ws://{pages.host}{path}", headers={name: text for name, text in named.items() if text})
        connection = await websocket_connect(request, subprotocols=["bokeh", token], max_message_size=2**27)
        talk = cls(connection)
        assert await talk.hears('"ACK"')
        for _rest in ("metadata", "content"):
            assert await connection.read_message() == "{}"
        return talk

    async def send(self, msgtype: str, content: object, **header: object) -> None:
        """Send a message of Bokeh's protocol, or what of it goes out before the server closes the socket."""
        await self.say(json.dumps({"msgid": "1", "msgtype": msgtype, **header}))
        with suppress(WebSocketClosedError):
            for part in ({}, content):
                await self.say(json.dumps(part))

    async def say(self, fragment: str | bytes) -> None:
        """Send a part of a message as it is."""
        await self._connection.write_message(fragment, binary=isinstance(fragment, bytes))

    async def ask(self, kind: str, number: int = 1, **fields: object) -> None:
        """Send a message of the page's script."""
        data = bokeh_map({"kind": kind, "number": number, **fields})
        values = bokeh_map({"model": {"id": await self.model("ReactiveESM")}})
        values["entries"].append(["data", data])
        event = {"type": "event", "name": "data_event", "values": values}
        await self.send(
            "PATCH-DOC", {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}]}
        )

    async def model(self, name: str) -> str:
        """Return the ID of a model of the document, by the end of its class's name."""
        if not any("PULL-DOC-REPLY" in text for text in self.heard):
            await self.send("PULL-DOC-REQ", {})
            assert await self.hears('"roots"')
        document = next(text for text in self.heard if '"roots"' in text)
        found = re.search(rf'"name":\s*"[^"]*\b{name}[^"]*",\s*"id":\s*"(\w+)"', document)
        assert found is not None, name
        return found[1]

    async def hears(self, wanted: str, seconds: float = _PATIENCE) -> bool:
        """Whether something with a text comes before the socket closes or the time is over."""
        ends = asyncio.get_running_loop().time() + seconds
        if any(wanted in text for text in self.heard):
            return True
        if self.is_closed:
            return False
        while (left := ends - asyncio.get_running_loop().time()) > 0:
            try:
                text = await asyncio.wait_for(self._connection.read_message(), left)
            except TimeoutError:
                return False
            if text is None:
                self.is_closed = True
                return False
            self.heard.append(str(text))
            if wanted in self.heard[-1]:
                return True
        return False

    async def close_code(self) -> int | None:
        """Wait until the server closes the socket; return its code, None if it stays open."""
        await self.hears("\0never\0", 30)
        return self._connection.close_code

    async def close(self) -> None:
        """Close it, and wait until it is closed."""
        self._connection.close()
        while not self.is_closed:
            self.is_closed = await self._connection.read_message() is None


def bokeh_map(values: dict[str, Any]) -> dict[str, Any]:
    """A map as Bokeh's client writes it."""
    return {"type": "map", "entries": [[name, value] for name, value in values.items()]}


@contextmanager
def served_here(root: Path, **options: Any) -> Iterator[Pages]:
    """Serve the tables under a folder; the options are those of `explorer.web.serve`."""
    ready, pages = threading.Event(), Pages(0)
    failures: list[Exception] = []

    def run() -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        try:
            pages.server = serve(
                [str(root)], start=False, ready=pages.urls.append, renewed=pages.urls.append, **options
            )
        except Exception as error:  # noqa: BLE001  # raised again below
            failures.append(error)
            ready.set()
            return
        pages.port = pages.server.port
        pages.server.start()
        loop = IOLoop.current()
        loop.add_callback(ready.set)
        loop.start()
        pages.server.stop()
        loop.close(all_fds=True)

    thread = threading.Thread(target=run, name="served-pages")
    thread.start()
    assert ready.wait(_PATIENCE)
    if failures:
        thread.join()
        raise failures[0]
    try:
        yield pages
    finally:
        loop = pages.server.io_loop
        loop.add_callback(loop.stop)
        thread.join(_PATIENCE)
