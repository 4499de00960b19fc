"""The pages' Content-Security-Policy: nothing of the program is stopped by it, and what is injected is."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from explorer.page.tabs import TABS
from tests.e2e.conftest import settle
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE
from tests.support.pages.waiting import wait_until

pytestmark = pytest.mark.e2e

LISTEN = """
window.stopped = [];
window.ran = [];
document.addEventListener("securitypolicyviolation", (event) => window.stopped.push(
    `${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""
TABLES = ("shop/reference/deletion-vectors&v=8", "shop/reference/column-mapping") if WHOLE_DOSE else ()
HOSTILE = "shop/odd/hostile"

# Each puts something into the page as an injection would, and what must stop it.
INJECTED = {
    "a handler in markup": ("put('<img src=data:, onerror=\"ran.push(1)\">')", "script-src-attr"),
    "a handler of a drawing": ("put('<svg onload=\"ran.push(1)\"></svg>')", "script-src-attr"),
    "a handler as an attribute": ("at().setAttribute('onclick', 'ran.push(1)'); at().click()", "script-src-attr"),
    "a script's text": ("script({ textContent: 'ran.push(1)' })", "script-src-elem"),
    "a script of this server": ("script({ src: 'static/js/bokeh.min.js' })", "script-src-elem"),
    "a script in an address": ("script({ src: 'data:text/javascript,ran.push(1)' })", "script-src-elem"),
    "a script of the page's memory": (
        "script({ src: URL.createObjectURL(new Blob(['ran.push(1)'], { type: 'text/javascript' })) })",
        "script-src-elem",
    ),
    "a module of the page's memory": (
        "script({ src: URL.createObjectURL(new Blob(['ran.push(1)'], { type: 'text/javascript' })), type: 'module' })",
        "script-src-elem",
    ),
    "a module in markup": ("script({ textContent: 'ran.push(1)', type: 'module' })", "script-src-elem"),
    "a script with a guessed nonce": ("script({ textContent: 'ran.push(1)', nonce: 'guessed' })", "script-src-elem"),
    "text made a script": ("setTimeout(() => { try { Function('ran.push(1)')() } catch {} })", "script-src"),
    "text as a timer": ("setTimeout(() => setTimeout('ran.push(1)'))", "script-src"),
    "an address that is a script": (
        "put('<a href=\"javascript:ran.push(1)\">x</a>'); at().querySelector('a').click()", "script-src-elem"
    ),
    "a style in markup": ("put('<b style=\"color: red\">x</b>')", "style-src-attr"),
    "a style sheet in markup": ("put('<style>body { color: red }</style>')", "style-src-elem"),
    "a style sheet elsewhere": ("put(`<link rel=stylesheet href=${ELSEWHERE}/x.css>`)", "style-src-elem"),
    "a picture elsewhere": ("put(`<img src=${ELSEWHERE}/x.png>`)", "img-src"),
    "a picture that the allowed styles would load": (
        "put(`<i data-style='background-color:url(${ELSEWHERE}/x.png)'>x</i>`); explorerStyled(at())", ""
    ),
    "a frame": ("put('<iframe src=\"/\"></iframe>')", "frame-src"),
    "an object": ("put('<object data=\"/\"></object>')", "object-src"),
    "a form elsewhere": (
        "put(`<form action=${ELSEWHERE}><button>x</button></form>`); at().querySelector('button').click()",
        "form-action",
    ),
    "another base": ("put('<base href=\"/elsewhere/\">')", "base-uri"),
    "a request elsewhere": ("fetch(ELSEWHERE).catch(() => 0)", "connect-src"),
    "a socket elsewhere": ("try { new WebSocket(ELSEWHERE.replace('http', 'ws')) } catch {}", "connect-src"),
    "a message elsewhere": ("navigator.sendBeacon(ELSEWHERE, 'x')", "connect-src"),
    "a worker": ("try { new Worker('static/js/bokeh.min.js') } catch {}", "worker-src"),
    "a film elsewhere": ("put(`<video src=${ELSEWHERE}/x.mp4></video>`)", "media-src"),
}  # fmt: skip
INJECT = """
([what, ELSEWHERE]) => {
    const at = () => document.getElementById("lead");
    const put = (html) => { at().innerHTML = html; };
    const script = (given) => document.body.append(Object.assign(document.createElement("script"), given));
    stopped.length = 0;
    eval(what);
}
"""


@pytest.fixture
def listening(windows: Any) -> Iterator[Any]:
    """Yield a page that notes what its policy stops, and every origin that it asks."""
    windows.clear_cookies()
    page = windows.new_page()
    page.set_default_timeout(30_000)
    page.add_init_script(LISTEN)
    yield page
    page.close()


def asked_origins(page: Any) -> set[str]:
    """The origins of a page's requests from now on; a data URL is no request."""
    origins: set[str] = set()
    page.on("request", lambda request: request.url.startswith("data:") or origins.add(origin_of(request.url)))
    page.on("websocket", lambda opened: origins.add(origin_of(opened.url)))
    return origins


def origin_of(url: str) -> str:
    """The origin of an address; of what a page holds itself, that page's."""
    parts = urlsplit(url.removeprefix("blob:"))
    return f"{parts.scheme.replace('ws', 'http')}://{parts.netloc}"


def look_at_every_tab(page: Any, table: str) -> None:
    """Go through the tabs of the table that is shown."""
    for tab in at_least_one(TABS):
        page.evaluate("query => explorerPage.go(query)", f"?t={table}&tab={tab.key}")
        settle(page)


def touch(page: Any) -> None:
    """Do what draws without an answer: hover, tips, dialogs, menus, paper, another theme."""
    for figure in at_least_one(page.locator(".js-plotly-plot").all()):
        if box := figure.bounding_box():
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            page.wait_for_timeout(80)
    page.keyboard.press("?")
    page.keyboard.press("Escape")
    page.locator("#bar [data-do=copy-link]").first.evaluate("button => button.click()")
    page.emulate_media(media="print")
    page.emulate_media(media="screen")
    page.locator("#bar [data-do=theme]").click()
    settle(page)


def test_nothing_that_a_page_does_is_stopped_and_nothing_is_asked_elsewhere(listening: Any, address: str) -> None:
    page, origins = listening, asked_origins(listening)
    stopped: list[str] = []
    for table in at_least_one((*TABLES, HOSTILE)):
        page.goto(f"{address}/?t={table}")
        settle(page)
        look_at_every_tab(page, table)
        for tab in ("statistics", "overview"):
            page.evaluate("query => explorerPage.go(query)", f"?t={table}&tab={tab}")
            settle(page)
            touch(page)
        if WHOLE_DOSE:
            look_at_every_tab(page, table)
        page.evaluate("query => explorerPage.go(query)", f"?t={table}&tab=files")
        settle(page)
        with page.expect_download() as download:
            page.locator("[data-do=download][data-format=csv]").first.evaluate("button => button.click()")
        assert download.value.suggested_filename.endswith(".csv")
        stopped += page.evaluate("stopped")
    for other in ("", "no/such/page"):
        page.goto(f"{address}/{other}")
        page.wait_for_selector("h1, main")
        assert page.evaluate("getComputedStyle(document.querySelector('.brand')).display") == "flex"
        assert page.evaluate("document.documentElement.dataset.theme") in {"light", "dark"}
        stopped += page.evaluate("stopped")
    assert stopped == []
    assert origins == {address}


def received(server: socket.socket) -> bytes:
    """Return all bytes sent to a server. Browsers open connections before they check the policy."""
    server.settimeout(0.3)
    found = b""
    with suppress(TimeoutError):
        while True:
            connection, _ = server.accept()
            with connection, suppress(TimeoutError):
                connection.settimeout(0.3)
                found += connection.recv(4096)
    return found


def test_what_is_injected_neither_runs_nor_loads_nor_sends(listening: Any, address: str) -> None:
    page = listening
    page.goto(f"{address}/?t={HOSTILE}")
    settle(page)
    base = page.evaluate("document.baseURI")
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        for name, (what, directive) in at_least_one(INJECTED.items()):
            page.evaluate(INJECT, [what, f"http://127.0.0.1:{elsewhere.getsockname()[1]}"])
            if directive:
                wait_until(
                    page, "name => stopped.some((told) => told.startsWith(name + ' '))", directive, within=10_000
                )
            assert page.evaluate("ran") == [], name
        assert received(elsewhere) == b""
    assert (page.evaluate("document.baseURI"), page.url) == (base, f"{address}/?t={HOSTILE}")
    assert page.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"


def test_a_first_picture_is_styled_before_any_script_of_the_body_runs(listening: Any, address: str) -> None:
    page = listening
    page.goto(f"{address}/?t=shop/reference/column-mapping")
    settle(page)  # the table is read: a server that is busy answers before that, without a picture
    head = ("/styled.js", "/first.js")
    page.route(
        "**/*.js*",
        lambda route: route.continue_() if any(name in route.request.url for name in head) else route.abort(),
    )
    page.goto(f"{address}/?t=shop/reference/column-mapping", wait_until="domcontentloaded")
    slot = page.locator("#timeline-slot")
    assert slot.evaluate("slot => slot.style.height") == slot.get_attribute("data-style").partition(":")[2]
    assert page.locator("#still rect").count() > 0
    assert page.locator("html[data-live]").count() == 0


@pytest.mark.whole("test_what_is_injected_neither_runs_nor_loads_nor_sends")
def test_hostile_names_are_shown_as_text_and_give_the_policy_nothing_to_stop(listening: Any, address: str) -> None:
    page = listening
    for tab in at_least_one(("overview", "columns", "files")):
        page.goto(f"{address}/?t={HOSTILE}&tab={tab}")
        settle(page)
        assert "<" in page.locator("main").inner_text()
        assert page.evaluate("[stopped, ran]") == [[], []]
