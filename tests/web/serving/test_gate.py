"""The gate before every handler: hosts, origins, and the names of other documents."""

from __future__ import annotations

import pytest

from tests.support.pages.raw_pages import Pages

EVERYWHERE = ("/", "/?t=w/orders", "/ws", "/static/js/bokeh.min.js", "/nowhere", "/login")


@pytest.mark.parametrize("path", EVERYWHERE)
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "[::1", ""])
def test_a_host_that_is_not_ours_is_refused_everywhere_in_words(reading: Pages, path: str, host: str) -> None:
    named = host.format(port=reading.port)
    answer = reading.ask(path, Host=named, Origin=f"http://{named}", Upgrade="websocket", Connection="Upgrade")
    if named:
        assert answer.status == 403
        assert "is not an address of this server" in answer.text
        assert "--public-url" in answer.text
    else:
        assert answer.status in (400, 403)
    assert "Traceback" not in answer.text


def test_the_names_of_this_machine_are_ours(reading: Pages) -> None:
    for host in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        assert reading.ask(Host=f"{host}:{reading.port}").status == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1"]
)
@pytest.mark.parametrize("path", ["/ws", "/nowhere", "/"])
def test_a_message_of_another_origin_is_refused(reading: Pages, path: str, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin.format(port=reading.port)}
    if path == "/ws":
        headers |= {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec_WebSocket_Key": "eA==",
            "Sec_WebSocket_Version": "13",
        }
    answer = reading.ask(path, "GET" if path == "/ws" else "POST", **headers)
    assert (answer.status, "What to do." in answer.text) == (403, True)


def test_an_origin_that_equals_a_foreign_host_is_refused_too(reading: Pages) -> None:
    # Tornado itself lets every origin pass that equals the host: a page whose name resolves to this machine.
    answer = reading.ask(
        "/ws", Host=f"evil.example:{reading.port}", Origin=f"http://evil.example:{reading.port}", Upgrade="websocket",
        Connection="Upgrade", Sec_WebSocket_Key="eA==", Sec_WebSocket_Version="13",
    )  # fmt: skip
    assert answer.status == 403


@pytest.mark.parametrize("query", ["bokeh-session-id=x", "bokeh-token=x", "t=w/orders&bokeh-session-id="])
def test_the_session_of_another_page_cannot_be_named(reading: Pages, query: str) -> None:
    assert reading.ask(f"/?{query}x").status == 403
    assert reading.ask("/", Bokeh_Session_Id="x").status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/autoload.js?bokeh-autoload-element=1", "/metadata", "/liveness", "/rest/session_info", "/admin", "/login",
        "/logout",
        "/static/", "/static/js/../../bokeh.py", "/static/js/bokeh.json", "/static/extensions/panel/../panel.py",
        "/components/this/x/__css__/y", "/page/0123456789ab/session.py", "/favicon.ico",
        "/ws/",
    ],
)  # fmt: skip
def test_what_is_not_listed_does_not_exist(reading: Pages, path: str) -> None:
    answer = reading.ask(path)
    assert (answer.status, "There is no page at this address" in answer.text) == (404, True)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "POST", "CONNECT", "PROPFIND"])
def test_pages_and_files_are_only_read(reading: Pages, method: str) -> None:
    statuses = {
        reading.ask(path, method, Origin=reading.origin).status for path in ("/", "/ws", "/static/js/bokeh.min.js")
    }
    assert statuses <= {405, 403}


def test_a_name_that_no_file_can_have_is_not_found(reading: Pages) -> None:
    assert reading.ask("/static/extensions/panel/%00.js").status == 404


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/static/extensions/panel/%2e%2e/x.js", 403),
        ("GET", "/static/extensions/panel/x/../../x.js", 403),
        ("GET", "/static/absent.js", 404),
        ("GET", "/static/extensions/panel/%00.js", 404),
        ("GET", "/page/000000000000/script/absent.js", 404),
        ("POST", "/static/first.js", 405),
        ("PROPFIND", "/page/000000000000/style/app.css", 405),
    ],
)
def test_a_file_that_is_refused_is_answered_in_words(reading: Pages, method: str, path: str, status: int) -> None:
    answer = reading.ask(path, method, Origin=reading.origin)
    assert answer.status == status
    assert "What to do." in answer.text
    assert f"The server answered with {status}." in answer.text
