"""The socket of a page: whose it is, and which messages it takes."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

from tests.support.own_loop import run_apart
from tests.support.pages.raw_pages import Pages, Talk, bokeh_map, served_here

ORDERS = "/?t=w/orders"


def of_page(pages: Pages, then: Callable[[Talk], Awaitable[Any]], path: str = ORDERS, **headers: str) -> Any:
    """Open a page and its socket, and do something with it."""

    async def talk() -> Any:
        opened = await Talk.begin(pages, pages.ask(path, **headers).token, **headers)
        try:
            return await then(opened)
        finally:
            await opened.close()

    return run_apart(talk())


def refused(pages: Pages, token: str, **headers: str) -> int:
    """The status with which the socket of a token is refused."""
    with pytest.raises(HTTPClientError) as error:
        run_apart(Talk.begin(pages, token, **headers))
    return int(error.value.code)


def test_the_page_of_an_address_talks_with_its_server(reading: Pages) -> None:
    async def step(talk: Talk) -> bool:
        await talk.ask("hello", query="?t=w/orders")
        return await talk.hears('"patch"')

    assert of_page(reading, step)


def test_a_token_and_a_page_hold_nothing_of_the_login(committing: Pages) -> None:
    cookie = committing.entered()
    answer = committing.ask(ORDERS, Cookie=f"{cookie}; other=secret-of-another", User_Agent="told-by-the-browser")
    secret = cookie.partition("=")[2]
    token = answer.token.partition(".")[0]
    content = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    payload = json.loads(content)
    assert set(payload) == {"session_id", "session_expiry", "__bk__zlib_"}
    for text in (answer.text, content.decode()):
        for word in (secret, "secret-of-another", "told-by-the-browser"):
            assert word not in text
    from bokeh.util.token import get_token_payload

    assert set(get_token_payload(answer.token)) == {"session_expiry", "arguments"}


def test_a_page_opens_its_socket_for_its_own_login_alone(committing: Pages) -> None:
    mine, theirs = committing.entered(), committing.entered()
    token = committing.ask(ORDERS, Cookie=mine).token
    assert refused(committing, token, Cookie=theirs) == 403
    assert refused(committing, token) == 403
    assert refused(committing, token, Cookie=f"{mine}x") == 403


def test_a_page_has_one_socket_at_a_time(reading: Pages) -> None:
    token = reading.ask(ORDERS).token

    async def twice() -> int:
        first = await Talk.begin(reading, token)
        try:
            await Talk.begin(reading, token)
        except HTTPClientError as error:
            return int(error.code)
        finally:
            await first.close()
        return 0

    assert run_apart(twice()) == 403


@pytest.mark.parametrize(
    "token",
    [
        "", "x", "x.y", "e30.e30", "eyJzZXNzaW9uX2lkIjoieCIsInNlc3Npb25fZXhwaXJ5Ijo5OTk5OTk5OTk5fQ", "%00", "a." * 200,
        "\u00ff.\u00ff",
    ],
)  # fmt: skip
def test_a_made_up_token_opens_nothing(reading: Pages, token: str) -> None:
    with pytest.raises((HTTPClientError, ValueError, UnicodeError)) as error:
        run_apart(Talk.begin(reading, token))
    assert getattr(error.value, "code", 403) == 403


def test_a_token_of_another_server_opens_nothing(reading: Pages, tables: Path) -> None:
    with served_here(tables) as other:
        assert refused(reading, other.ask(ORDERS).token) == 403


def test_a_socket_is_refused_from_another_origin_and_without_one(reading: Pages) -> None:
    token = reading.ask(ORDERS).token
    for origin in ("http://evil.example", "", "null", reading.origin.replace("http", "https")):
        assert refused(reading, token, Origin=origin) == 403


def message(name: str, values: dict[str, Any]) -> dict[str, Any]:
    data = {"type": "event", "name": name, "values": bokeh_map(values)}
    return {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": data}


def changed(model: str, attribute: str, new: object) -> dict[str, Any]:
    return {"kind": "ModelChanged", "model": {"id": model}, "attr": attribute, "new": new}


OBJECT = {"type": "object", "name": "CustomJS", "id": "p9999", "attributes": bokeh_map({"code": "alert(1)"})}
DEEP: Any = 1
for _ in range(40):
    DEEP = [DEEP]
# Each of them is sent with the IDs of the page's models in place.
FOREIGN: dict[str, tuple[str, Any]] = {
    "the document is replaced": ("PUSH-DOC", {"doc": {"defs": [], "roots": [], "title": "x", "version": "3.9.2"}}),
    "the server is asked for its version": ("SERVER-INFO-REQ", {}),
    "an answer of the server": ("OK", {}),
    "an error of the server": ("ERROR", {"text": "x", "traceback": "y"}),
    "no type of Bokeh": ("NONSENSE", {}),
    "a request for the document with a content": ("PULL-DOC-REQ", {"x": 1}),
    "no events": ("PATCH-DOC", {}),
    "events that are no list": ("PATCH-DOC", {"events": {}}),
    "a list of words": ("PATCH-DOC", {"events": ["x"]}),
    "another key": ("PATCH-DOC", {"events": [], "references": []}),
    "the title": ("PATCH-DOC", {"events": [{"kind": "TitleChanged", "title": "x"}]}),
    "a root is added": ("PATCH-DOC", {"events": [{"kind": "RootAdded", "model": OBJECT}]}),
    "a root is removed": ("PATCH-DOC", {"events": [{"kind": "RootRemoved", "model": {"id": "PAGE"}}]}),
    "the script of the page": ("PATCH-DOC", {"events": [changed("PAGE", "esm", "alert(1)")]}),
    "data of the page": ("PATCH-DOC", {"events": [changed("PAGE", "data", OBJECT)]}),
    "another property of the page": ("PATCH-DOC", {"events": [changed("PAGE", "layout", bokeh_map({}))]}),
    "a callback of a model": ("PATCH-DOC", {"events": [changed("PAGE", "js_property_callbacks", OBJECT)]}),
    "a model that is not there": ("PATCH-DOC", {"events": [changed("p0", "relayout", None)]}),
    "an event of another name": ("PATCH-DOC", {"events": [message("dom_event", {"model": {"id": "PAGE"}, "data": 1})]}),
    "an event of no model": ("PATCH-DOC", {"events": [message("data_event", {"model": None, "data": 1})]}),
    "an event of plotly": ("PATCH-DOC", {"events": [message("plotly_event", {"model": {"id": "PAGE"}, "data": 1})]}),
    "a message of no event": ("PATCH-DOC", {"events": [{"kind": "MessageSent", "msg_type": "x", "msg_data": 1}]}),
    "an object in a message": (
        "PATCH-DOC", {"events": [message("data_event", {"model": {"id": "PAGE"}, "data": OBJECT})]},
    ),
    "a reference in a message": (
        "PATCH-DOC", {"events": [message("data_event", {"model": {"id": "PAGE"}, "data": [{"id": "PAGE"}]})]},
    ),
    "a deep message": ("PATCH-DOC", {"events": [message("data_event", {"model": {"id": "PAGE"}, "data": DEEP})]}),
    "a number that is too large": (
        "PATCH-DOC", {"events": [message("data_event", {"model": {"id": "PAGE"}, "data": [10**30]})]},
    ),
    "columns of data": ("PATCH-DOC", {"events": [{"kind": "ColumnsStreamed", "model": {"id": "PAGE"}, "data": {}}]}),
}  # fmt: skip


def closes(pages: Pages, token: str, send: Callable[[Talk], Awaitable[None]]) -> tuple[int | None, bool]:
    """How the socket of a page is closed after something was sent, and whether the server told of its inside."""

    async def talk() -> tuple[int | None, bool]:
        opened = await Talk.begin(pages, token)
        await send(opened)
        code = await opened.close_code()
        await opened.close()
        return code, any(word in text for text in opened.heard for word in ("ERROR", "raceback"))

    return run_apart(talk())


@pytest.fixture
def token(reading: Pages) -> str:
    """The token of a page of its own: one that is opened again may still have the socket before."""
    return reading.ask(ORDERS).token


@pytest.mark.sampled(cases=9)
@pytest.mark.parametrize("what", FOREIGN)
def test_a_message_that_is_not_of_our_script_closes_the_socket(
    reading: Pages, token: str, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    kind, content = FOREIGN[what]

    async def send(talk: Talk) -> None:
        page = await talk.model("ReactiveESM")
        await talk.send(kind, json.loads(json.dumps(content).replace("PAGE", page)))

    assert closes(reading, token, send) == (4400, False)
    assert any("A socket was closed" in record.getMessage() for record in caplog.records)
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.sampled(cases=3)
@pytest.mark.parametrize(
    "fragment", [b"bytes", "no JSON", "[]", "null", '{"msgid": "1"}', "\ud7ff" * 10, '{"a":' * 5000]
)
def test_what_is_no_message_closes_the_socket(reading: Pages, token: str, fragment: str | bytes) -> None:
    async def send(talk: Talk) -> None:
        with suppress(WebSocketClosedError, StreamClosedError):
            for part in (fragment, "{}", "{}"):
                await talk.say(part)

    assert closes(reading, token, send) == (4400, False)


def test_a_flood_of_messages_closes_the_socket(reading: Pages, token: str, caplog: pytest.LogCaptureFixture) -> None:
    async def send(talk: Talk) -> None:
        with suppress(WebSocketClosedError, StreamClosedError):
            for _ in range(1_500):
                await talk.say('{"msgid": "1", "msgtype": "PULL-DOC-REQ"}')

    closes(reading, token, send)
    assert any("A socket was closed" in record.getMessage() for record in caplog.records)


def test_a_handshake_that_fails_leaves_the_page_to_the_next_one(reading: Pages) -> None:
    token = reading.ask(ORDERS).token
    for version in ("1", "99"):
        answer = reading.ask(
            "/ws", Origin=reading.origin, Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Key="eA==",
            Sec_WebSocket_Version=version, Sec_WebSocket_Protocol=f"bokeh, {token}",
        )  # fmt: skip
        assert answer.status == 426

    async def talk() -> None:
        await (await Talk.begin(reading, token)).close()

    run_apart(talk())


def test_a_socket_whose_document_was_detached_closes_quietly(reading: Pages, caplog: pytest.LogCaptureFixture) -> None:
    # As Bokeh does where a ping cannot be sent, before the socket hears that it is closed.
    async def detach(talk: Talk) -> None:
        server = reading.server
        for connection in list(server._tornado._clients):
            server.io_loop.add_callback(server._tornado.client_lost, connection)
        await talk.hears("\0never\0", 0.3)

    of_page(reading, detach)
    assert reading.ask(ORDERS).status == 200
    assert not any(record.exc_info for record in caplog.records)
