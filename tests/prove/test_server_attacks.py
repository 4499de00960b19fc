"""The server under attack: every address, method and odd header, and messages that no page sends.

Each run tries the same seeded attacks; the whole dose tries many more of them, and DELTA_ATTACK_SEED and
DELTA_ATTACK_SECONDS try others, for as long as you like. Whatever is sent, the server answers in words or closes the
socket, shows nothing of another person's and nothing of its inside, writes nothing, plans nothing, and answers a
person's page afterwards.
"""

from __future__ import annotations

import json
import logging
import random
import re
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
from tornado.httpclient import HTTPClientError
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

from explorer.views.act.desk.desk import Desk
from explorer.views.rows.spark_work import SparkStart
from explorer.web.serving.people.password_file import write_user
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.logs import hostile_tables, small_logs
from tests.support.own_loop import run_apart
from tests.support.pages.raw_pages import Pages, Talk, bokeh_map, served_here
from tests.support.seeded_rounds import FIRST_SEED, LASTS, LIMIT, repeated_by, rounds

pytestmark = pytest.mark.timeout(LIMIT)

PATHS = (
    "/",
    "/?t=w/orders",
    "/?t=w/orders&tab=act&act=set-description&f.description=x&step=plan",
    "/ws",
    "/login",
    "/logout",
    "/?t=w/orders&tab=data&where=1=1",
    "/autoload.js?bokeh-autoload-element=x",
    "/metadata",
    "/static/js/bokeh.min.js",
    "/static/../../pyproject.toml",
    "/static/%2e%2e/%2e%2e/pyproject.toml",
    "/static/js/..%2f..%2fpyproject.toml",
    "/components/os/path/__css__/x",
    "/page/0123456789ab/style/app.css",
    "/page/0123456789ab/style/fonts/..%2f..%2f..%2fsession.py",
    "/static/extensions/panel/../x.js",
    "/?bokeh-session-id=x",
    "/?bokeh-token=x",
    "/?token=x",
    "/login?next=//evil.example",
    "//evil.example/",
    "/%00",
    "/\u00e9",
    "/rest/session_info",
    "/liveness",
    "/admin",
    "/favicon.ico",
    "/lake/",
    "http://evil.example/",
    "*",
    "/?" + "a=b&" * 900,
)
METHODS = (
    *["GET"] * 5,
    *["POST"] * 3,
    "HEAD",
    "PUT",
    "DELETE",
    "PATCH",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "get",
    "PROPFIND",
    "X",
)
HEADERS: tuple[dict[str, str], ...] = (
    {},
    {"Host": "evil.example"},
    {"Host": ""},
    {"Host": "127.0.0.1:%p,evil.example"},
    {"Host": "127.0.0.1:%p@evil.example"},
    {"Host": "127.0.0.1:%p", "X-Forwarded-Host": "evil.example"},
    {"Host": "localhost.:%p"},
    {"Host": "0.0.0.0:%p"},
    {"Host": "2130706433:%p"},
    {"Host": "127.1:%p"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://127.0.0.1:%p.evil.example"},
    {"Origin": "http://127.0.0.1:%p/"},
    {"Origin": "http://evil@127.0.0.1:%p"},
    {"Origin": "http://127.0.0.1:%p http://evil.example"},
    {"Bokeh-Session-Id": "x"},
    {"Cookie": "explorer-session-%p=x"},
    {"Cookie": "user=ana; explorer-session-%p=" + "A" * 43},
    {"Upgrade": "websocket", "Connection": "Upgrade"},
    {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "eA==",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": "bokeh, eyJzZXNzaW9uX2lkIjoieCJ9.x",
        "Origin": "http://127.0.0.1:%p",
    },
    {"Transfer-Encoding": "chunked"},
    {"Content-Length": "-1"},
    {"Content-Length": "1, 2"},
    {"Expect": "100-continue"},
    {"X-Forwarded-Proto": "https"},
    {"Range": "bytes=0-99999999999,5-1"},
    {"If-None-Match": "*"},
    {"Accept": "\u00ff" * 99},
)
COOKIES: dict[str, str] = {}
INSIDE = ("Traceback", 'File "', "/site-packages/", "explorer/web", "RuntimeError", "KeyError", "secret-of-ana")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("attacked") / "w"
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(found / "orders", [created, [small_logs.add("1.parquet", 3)]])
    return found


@pytest.fixture(scope="module")
def attacked(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """Serve the table to two people, with commits: where most could be won."""
    users = tmp_path_factory.mktemp("people") / "users.json"
    for name in ("ana", "ben"):
        write_user(users, name, f"secret-of-{name}")
    with served_here(root, allow_commits=True, basic_auth=users) as pages:
        # Before the attacks: some of them are failed logins, which make the next one wait.
        COOKIES.update({name: pages.signed_in(name, f"secret-of-{name}") for name in ("ana", "ben")})
        yield pages


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is planned or started meanwhile."""
    seen: list[str] = []
    for name in ("_plan", "_begin_plan", "commit"):
        real = getattr(Desk, name)
        watched = lambda self, *values, real=real, name=name: seen.append(name) or real(self, *values)  # noqa: E731
        monkeypatch.setattr(Desk, name, watched)
    monkeypatch.setattr(SparkStart, "begin", lambda _self: seen.append("spark"))
    return seen


Request = tuple[str, str, dict[str, str]]
"""Method, address, and headers."""


def sent(pages: Pages, method: str, path: str, headers: dict[str, str]) -> bytes:
    """What comes back for a request, written byte by byte as it is given."""
    named = {"Host": pages.host, "Connection": "close"} | headers
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "", ""]
    text = "\r\n".join(lines).replace("%p", str(pages.port)).encode("utf-8")
    with socket.create_connection(("127.0.0.1", pages.port), timeout=60) as client:
        client.sendall(text)
        client.shutdown(socket.SHUT_WR)
        parts = []
        with suppress(OSError):
            while part := client.recv(65_536):
                parts.append(part)
    return b"".join(parts)


def still_well(pages: Pages, root: Path) -> None:
    """A person works on, and nothing was written."""
    assert pages.ask("/?t=w/orders", Cookie=COOKIES["ana"]).status == 200
    assert sorted(file.name for file in (root / "orders" / "_delta_log").iterdir()) == [
        f"{version:020}.json" for version in range(2)
    ]


ODD_PARTS: Final = (
    *("/", "//", "\\", "..", "%2e", "%2f", "%00", "%0d%0a", "?", "&", ";", "=", "@", "\u202e", "%ff"),
    "A" * 300,
)
ODD_REQUESTS: Final = 500 if WHOLE_DOSE or LASTS else 50


def odd_request(chosen: random.Random) -> Request:
    """A request made of two of the others, with odd characters somewhere in its address."""
    path = chosen.choice(PATHS)
    for _ in range(chosen.choice((0, 1, 1, 2, 5))):
        place = chosen.randrange(len(path) + 1)
        path = path[:place] + chosen.choice(ODD_PARTS) + path[place:]
    return chosen.choice(METHODS), path, chosen.choice(HEADERS) | chosen.choice(HEADERS)


def check_answer(request: Request, answer: bytes) -> str:
    """Check what came back; return its status."""
    method, path, headers = request
    status = answer.partition(b"\r\n")[0].decode("latin-1").partition(" ")[2][:3]
    text = answer.decode("utf-8", "replace")
    assert not any(word in text for word in INSIDE), request
    if path in PATHS:  # else the echo of an odd address may have the name
        assert "w/orders" not in text.replace("t=w/orders", "").replace("w%2Forders", ""), request
    if "evil" in headers.get("Host", "") or ("evil" in headers.get("Origin", "") and method == "POST"):
        assert not status.startswith(("2", "3")), request
    head, _, _ = text.partition("\r\n\r\n")
    assert not re.search("(?im)^location: (?!/(?![/\\\\])|http://127.0.0.1)", head), (request, head)
    return status or "closed"


def test_every_address_method_and_odd_header(
    attacked: Pages, root: Path, begun: list[str], caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    statuses: Counter[str] = Counter()
    ends = time.monotonic() + LASTS
    with caplog.at_level(logging.ERROR):
        for seed in rounds(1):
            attacks = [odd_request(chosen) for chosen in [random.Random(seed)] for _ in range(ODD_REQUESTS)]
            if seed == FIRST_SEED:
                listed = list(product(METHODS, PATHS, HEADERS))
                random.Random(seed).shuffle(listed)  # repeats the same attacks
                attacks = [*some_of(listed, 150), *attacks]
            with repeated_by(seed):
                for attack in attacks:
                    statuses[check_answer(attack, sent(attacked, *attack))] += 1
                    if LASTS and time.monotonic() > ends:
                        break
                assert not any(record.exc_info for record in caplog.records)
    assert begun == []
    still_well(attacked, root)
    request.node.user_properties.append(("found", dict(statuses)))
    print(f"requests: {sum(statuses.values()):,}; answers: {dict(statuses)}")  # the count of the proof


class Mutations:
    """Messages of a page, changed at random."""

    def __init__(self, seed: int, page: str) -> None:
        self._random = random.Random(seed)  # repeats the same messages
        self._page = page

    def message(self) -> list[str | bytes]:
        """The parts of a message; of three, two are of the form that our script sends, with odd data."""
        if self._random.random() < 0.66:
            return [
                json.dumps({"msgid": "1", "msgtype": "PATCH-DOC"}),
                "{}",
                json.dumps({"events": [self._odd_event()]}),
            ]
        header: dict[str, Any] = {"msgid": "1", "msgtype": "PATCH-DOC"}
        metadata: Any = {}
        content: Any = {"events": [self._event() for _ in range(self._random.choice((0, 1, 1, 1, 2, 5)))]}
        for _ in range(self._random.choice((0, 1, 1, 2, 4))):
            change = self._random.randrange(5)
            if change == 0:
                header["msgtype"] = self._random.choice(
                    ("PUSH-DOC", "SERVER-INFO-REQ", "PULL-DOC-REQ", "OK", "ERROR", "ACK", "PULL-DOC-REPLY", "", None, 7)
                )
            elif change == 1:
                header[self._random.choice(("num_buffers", "reqid", "x"))] = self._random.choice(
                    (1, -1, 10**9, "1", None)
                )
            elif change == 2:
                metadata = self._value(0)
            else:
                content = self._changed(content)
        parts: list[str | bytes] = [json.dumps(header), json.dumps(metadata), json.dumps(content)]
        if self._random.random() < 0.15:
            place = self._random.randrange(3)
            parts[place] = self._broken(str(parts[place]))
        return parts

    def _odd_event(self) -> dict[str, Any]:
        """A message of our page with data that its script would not send."""
        kinds = (
            "hello",
            "go",
            "commit",
            "download",
            "pin",
            "unpin",
            "person",
            "draft",
            "look",
            "accept",
            "case-load",
            "raw",
            "try-again",
            "plan-again",
            "cancel-plan",
            "theme",
            "screen",
            "visible",
            "seen",
            "stop-reading",
            "x",
        )
        queries = (
            "?t=w/orders",
            "?t=w/orders&tab=act&act=set-description&f.description=x&step=plan",
            "?t=../..",
            "?",
            "x=1",
            "?t=w/orders&v=99999999999999999999",
            "?t=w/orders&zoom=1-2&page=-1",
            "?t=%00",
            "?" + "f.a=b&" * 500,
        )
        fields = {
            name: self._plain(0) for name in self._random.sample(("list", "format", "text", "digest", "name", "pin"), 3)
        }
        data = {"kind": self._random.choice(kinds), "number": self._random.choice((1, -1, 10**30, "1", None)), **fields}
        data |= {"query": self._random.choice(queries), "asked": self._random.choice((True, False, "", "x"))}
        values = bokeh_map({"model": {"id": self._page}, "data": bokeh_map(data)})
        event = {"type": "event", "name": "data_event", "values": values}
        return {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}

    def _plain(self, depth: int) -> Any:
        if depth > 2 or self._random.random() < 0.7:
            return self._random.choice(
                (None, 0, -1, 1e300, "", "x" * 5000, "\u202e", True, "data", "plan", "json", "csv")
            )
        inner = self._plain(depth + 1)
        return [inner, inner] if self._random.random() < 0.5 else bokeh_map({"a": inner, "kind": inner})

    def _event(self) -> dict[str, Any]:
        kinds = (
            "hello",
            "go",
            "commit",
            "rows",
            "download",
            "pin",
            "person",
            "draft",
            "erasure",
            "\u202e",
            "__class__",
            "",
        )
        if self._random.random() < 0.5:
            data = bokeh_map(
                {"kind": self._random.choice(kinds), "number": 1, "query": self._value(3), "x": self._value(2)}
            )
            values = bokeh_map({"model": {"id": self._model()}, "data": data})
            name = self._random.choice(("data_event", "data_event", "dom_event", "document_ready", "plotly_event"))
            return {
                "kind": "MessageSent",
                "msg_type": "bokeh_event",
                "msg_data": {"type": "event", "name": name, "values": values},
            }
        attribute = self._random.choice(
            ("relayout", "viewport", "data", "layout", "esm", "name", "tags", "js_event_callbacks")
        )
        kind = self._random.choice(
            ("ModelChanged", "ModelChanged", "RootAdded", "TitleChanged", "ColumnsPatched", "ColumnDataChanged")
        )
        return {"kind": kind, "model": {"id": self._model()}, "attr": attribute, "new": self._value(1)}

    def _model(self) -> str:
        return self._random.choice((self._page, self._page, "p1", "p0", "", "\0"))

    def _value(self, depth: int) -> Any:
        if depth > 3 or self._random.random() < 0.5:
            return self._random.choice((None, 0, -1, 1e300, "", "x" * 1000, "?t=w/orders&tab=act", "\ud7ff", True))
        choice = self._random.randrange(5)
        inner = self._value(depth + 1)
        return (
            [inner, inner],
            {"type": "map", "entries": [["a", inner]]},
            {
                "type": "object",
                "name": "CustomJS",
                "id": "p1",
                "attributes": {"type": "map", "entries": [["code", inner]]},
            },
            {"id": self._page},
            {"type": "ndarray", "array": inner, "shape": [1], "dtype": "int32", "order": "little"},
        )[choice]

    def _changed(self, value: Any) -> Any:
        """The value with a part of it exchanged."""
        if isinstance(value, dict) and value and self._random.random() < 0.85:
            key = self._random.choice(sorted(value))
            return value | {key: self._changed(value[key])}
        if isinstance(value, list) and value and self._random.random() < 0.85:
            place = self._random.randrange(len(value))
            return [*value[:place], self._changed(value[place]), *value[place + 1 :]]
        return self._value(1)

    def _broken(self, text: str) -> str | bytes:
        place = self._random.randrange(len(text) + 1)
        return self._random.choice((text[:place], text[:place] + "\0" + text[place:], text.encode(), "[" * 5_000, ""))


def test_messages_that_no_page_sends(
    attacked: Pages, root: Path, begun: list[str], caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    outcomes: Counter[str] = Counter()
    cookie = COOKIES["ben"]

    async def attack(seed: int, token: str) -> None:
        talk = await Talk.begin(attacked, token, Cookie=cookie)
        mutations = Mutations(seed, await talk.model("ReactiveESM"))
        try:
            for _ in range(25):
                outcomes["messages"] += 1
                for part in mutations.message():
                    await talk.say(part)
                if not await talk.hears("\0never\0", 0.02) and talk.is_closed:
                    outcomes["closed"] += 1
                    break
        except (WebSocketClosedError, StreamClosedError):
            outcomes["closed"] += 1
        await talk.close()
        for text in talk.heard:
            assert "raceback" not in text
            assert "secret-of" not in text

    with caplog.at_level(logging.ERROR):
        for seed in rounds(600 if WHOLE_DOSE else 12):
            # A page of its own for each: one that is opened again may still have the socket before.
            page = attacked.ask("/?t=w/orders", Cookie=cookie)
            outcomes["sockets"] += 1
            with repeated_by(seed):
                run_apart(attack(seed, page.token))
                assert not any(record.exc_info for record in caplog.records)
    assert outcomes["closed"] > 0
    assert "commit" not in begun
    still_well(attacked, root)
    request.node.user_properties.append(("found", dict(outcomes)))
    print(dict(outcomes))  # the count of the proof


def test_neither_of_two_people_opens_or_uses_a_page_of_the_other(attacked: Pages, root: Path) -> None:
    ana, ben = COOKIES["ana"], COOKIES["ben"]
    pages = {who: attacked.ask("/?t=w/orders&tab=act", Cookie=who) for who in (ana, ben)}

    async def socket_of(owner: str, visitor: str | None, **headers: str) -> int:
        try:
            talk = await Talk.begin(
                attacked, pages[owner].token, **({} if visitor is None else {"Cookie": visitor}), **headers
            )
        except HTTPClientError as error:
            return int(error.code)
        await talk.close()
        return 101

    tried = 0
    for owner, visitor in ((ana, ben), (ben, ana), (ana, None), (ben, None)):
        assert run_apart(socket_of(owner, visitor)) == 403
        both = f"{ana}; {ben}" if visitor is not None else "explorer-session=x"
        # A browser sends one cookie of a name; of two the last counts, and it is one person's.
        assert run_apart(socket_of(owner, both)) == (101 if owner == ben and visitor is not None else 403)
        tried += 2
    for owner in (ana, ben):
        assert run_apart(socket_of(owner, owner, Origin="http://evil.example")) == 403
        assert run_apart(socket_of(owner, owner)) == 101
        tried += 2
    for header in ("x-frame-options", "access-control-allow-origin"):
        assert pages[ana].headers.get(header, "DENY") == "DENY"
    still_well(attacked, root)
    print(f"sockets of others: {tried}")  # the count of the proof
