"""Two people at two browsers, each a process with a profile of its own, and a server started as a person starts it.

One of them tries to act, read, and sign as the other: by cookies, links, frames, forms, messages, and sockets, on the
pages themselves and on a page of another server of the same machine, to which browsers send the same cookies.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import settle
from tests.support.at_least_one import at_least_one
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.ports import free_port
from tests.support.pages.serving_command import serving
from tests.support.shared_tables import REPOSITORY

pytestmark = [pytest.mark.e2e, pytest.mark.whole("tests/e2e/people/test_two_people.py and tests/web/serving")]

ACT = "?t=w/orders&tab=act&act=set-description&f.description="
PROGRAM = "from explorer.cli import main; main()"
# What the script of a page would send, from the console of its own browser.
SEND = """([kind, fields]) => new Promise((done) => {
  const before = explorerPage.answered;
  const number = explorerPage.sent + 1;
  explorerPage.host.send({ kind, number, ...fields });
  setTimeout(done, 700);
})"""
OPEN = """([url, protocols]) => new Promise((done) => {
  try {
    const socket = new WebSocket(url, protocols);
    socket.onopen = () => done("open");
    socket.onclose = (event) => done(`closed ${event.code}`);
  } catch (error) { done(String(error)); }
})"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(tmp_path / "w" / "orders", [created, [small_logs.add("1.parquet", 3)]])
    return tmp_path / "w"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "steward", "-f", str(tmp_path / "key")], check=True
    )
    return tmp_path / "key"


@pytest.fixture
def two_browsers(browser_type: Any, browser_type_launch_args: dict[str, Any], tmp_path: Path) -> Iterator[list[Any]]:
    """A browser each: two processes, and two profiles on the disk."""
    made = [
        browser_type.launch_persistent_context(tmp_path / f"profile-{number}", **browser_type_launch_args)
        for number in range(2)
    ]
    yield made
    for each in made:
        each.close()


@contextmanager
def other_site(folder: Path) -> Iterator[str]:
    """Serve a folder on another port of this machine, as another application of the same host."""
    folder.mkdir(exist_ok=True)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def commits(root: Path) -> list[dict[str, Any]]:
    """The commits that were made after the table's own."""
    files = sorted((root / "orders" / "_delta_log").glob("*.json"))[2:]
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [line["commitInfo"] for line in lines if "commitInfo" in line]


def add_person(file: Path, name: str) -> None:
    """As a person writes a password file."""
    subprocess.run(
        [sys.executable, "-c", PROGRAM, "passwd", str(file), name], cwd=REPOSITORY, check=True, text=True,
        input=f"secret-of-{name}\n", capture_output=True,
    )  # fmt: skip


def sign_in(browser: Any, url: str, name: str) -> Any:
    page = browser.new_page()
    page.set_default_timeout(60_000)
    page.goto(url)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(f"secret-of-{name}")
    page.get_by_role("button", name="Sign in").click()
    settle(page)
    return page


def plan(page: Any, url: str, description: str) -> str:
    """Plan a new description with a click; return the plan's digest."""
    page.goto(f"{url}{ACT}{description}&step=plan")
    settle(page)
    page.locator("#act-plan").click()
    form = page.locator("form[data-confirm]")
    form.wait_for()
    digest = re.search(r'data-plan="([0-9a-f]+)"', page.content())
    assert digest is not None
    return digest[1]


def token_of(page: Any) -> str:
    """The token with which a page opened its socket."""
    return str(json.loads(page.locator("#sessions").text_content())[0]["token"])


def send(page: Any, kind: str, **fields: object) -> None:
    page.evaluate(SEND, [kind, fields])


def test_neither_of_two_who_signed_in_acts_reads_or_signs_as_the_other(
    two_browsers: list[Any], root: Path, key: Path, tmp_path: Path
) -> None:
    for name in ("ana", "ben"):
        add_person(tmp_path / "users.json", name)
    port = free_port()
    words = ["--basic-auth", str(tmp_path / "users.json"), "--allow-commits", "--sign", str(key), "--port", str(port)]
    with serving("serve", str(root), *words) as (line, _):
        (url,) = re.findall(r"http://\S+", line)
        ana, ben = (sign_in(each, url, name) for each, name in zip(two_browsers, ("ana", "ben"), strict=True))
        hers, his = plan(ana, url, "secret-plan-of-ana"), plan(ben, url, "his")
        ana.locator("#confirm-reason").fill("the reason of ana")
        socket = f"{url.replace('http', 'ws')}ws"

        # Sockets: her page's token, alone and beside his own, opens nothing in his browser.
        stolen, own = token_of(ana), token_of(ben)
        for protocols in at_least_one([["bokeh", stolen], ["bokeh", stolen, own], ["bokeh", own], ["bokeh"], []]):
            assert ben.evaluate(OPEN, [socket, protocols]) == "closed 1006", protocols

        # Cookies: no script sees a login. The mark of her browser, her name, and a made-up login are no login.
        assert "explorer-session" not in ben.evaluate("document.cookie")
        login = f"explorer-session-{port}"
        of_ana = {cookie["name"]: cookie["value"] for cookie in two_browsers[0].cookies()}
        ben.evaluate("document.cookie = 'explorer-person=ana; path=/'")
        two_browsers[1].add_cookies(
            [
                {"name": f"explorer-browser-{port}", "value": of_ana[f"explorer-browser-{port}"], "url": url},
                {"name": f"explorer-session-{port + 1}", "value": of_ana[login], "url": url},
            ]
        )
        # A script cannot replace the cookie of the login, nor put another one before it that counts as hers.
        ben.evaluate(f"document.cookie = '{login}=x; path=/'")
        ben.reload()
        settle(ben)
        assert "ben" in ben.locator("#person-card").inner_text()

        # Links: her address, opened by him, is his page; nothing is planned, and nothing of hers is named.
        session = json.loads(ana.locator("#sessions").text_content())[0]
        for query in at_least_one([f"{ACT}x&step=plan&person=ana&user=ana", f"?t=w/orders&tab=act&plan={hers}"]):
            ben.goto(f"{url}{query}")
            settle(ben)
            assert "secret-plan-of-ana" not in ben.content()
            assert ben.locator("form[data-confirm]").count() == 0
        for name, value in (("bokeh-session-id", "x"), ("bokeh-token", session["token"])):
            answer = ben.goto(f"{url}?t=w/orders&{name}={value}")
            assert answer is not None
            assert answer.status == 403

        # Messages: he names her, and her plan. What he commits is his own plan, under his own name.
        his = plan(ben, url, "his")
        send(ben, "person", name="ana")
        send(ben, "commit", name="orders", reason="as ana", digest=hers, person="ana", user="ana", identity="ana")
        assert commits(root) == []
        send(ben, "commit", name="orders", reason="as ana", digest=his, person="ana", user="ana", identity="ana")
        ben.locator("[data-outcome=committed]").wait_for()
        (made,) = commits(root)
        assert made["userName"] == "ben"

        # Signatures: a report names him, whatever his page sends.
        ben.goto(f"{url}?t=w/orders&tab=case")
        settle(ben)
        send(ben, "person", name="ana")
        send(ben, "case-describe", title="Mine", author="ana", notes="")
        send(ben, "case-load", name="case.json", text=json.dumps({"title": "Mine", "author": "ana", "pins": []}))
        send(ben, "pin", pin="commit")
        with ben.expect_download(lambda download: download.suggested_filename.endswith(".html")) as download:
            ben.get_by_role("button", name="Download the report").click()
        report = Path(download.value.path()).read_text()
        assert "ana" not in re.findall(r'"(?:by|author)":\s*"([^"]*)"', report)
        assert "ben" in re.findall(r'"(?:by|author)":\s*"([^"]*)"', report)

        # Frames, windows, forms, requests, and sockets of another application of the same machine: his browser sends
        # the cookies of the login to it, and with its requests.
        with other_site(tmp_path / "other") as site:
            attacks(ben, url, site, tmp_path / "other", stolen)
        assert len(commits(root)) == 1
        ben.goto(f"{url}?t=w/orders&tab=act")
        settle(ben)
        assert "ben" in ben.locator("#person-card").inner_text()
        # Her page has stayed hers: it says that her plan has to be made anew, and keeps what she typed.
        assert "ana" in ana.locator("#person-card").inner_text()
        stale = ana.get_by_role("alert").filter(has_text="The table has a newer version.")
        stale.get_by_role("button", name="Update plan to v2").click()
        ana.locator("form[data-confirm]").wait_for()
        assert ana.locator("#confirm-reason").input_value() == "the reason of ana"
        assert "secret-plan-of-ana" in ana.locator("#lead").inner_text()
        assert len(commits(root)) == 1


def attacks(page: Any, url: str, site: str, folder: Path, token: str) -> None:
    """A page of another server of this machine tries everything that a page can."""
    (folder / "index.html").write_text(
        f"""<!doctype html><title>other</title>
        <iframe id=f src="{url}?t=w/orders&tab=act"></iframe>
        <iframe id=s sandbox="allow-scripts allow-forms" src="{url}?t=w/orders"></iframe>
        <object id=o data="{url}?t=w/orders"></object>
        <form id=out method=post action="{url}logout" target=hidden></form>
        <form id=in method=post action="{url}login" target=hidden><input name=name value=ana>
        <input name=password value=secret-of-ana></form><iframe name=hidden></iframe>"""
    )
    page.goto(f"{site}/index.html")
    # A document that is refused a frame is replaced by an error page of another origin, without any of ours inside.
    page.wait_for_timeout(1_500)
    framed = [frame for frame in page.frames if frame is not page.main_frame]
    assert len(framed) >= 3
    assert not any("orders" in frame.content() for frame in framed if frame.url.startswith("http"))
    for form in ("out", "in"):
        with page.expect_response(lambda answer: answer.request.method == "POST") as answer:
            page.evaluate(f"document.getElementById('{form}').submit()")
        assert answer.value.status == 403
    socket = f"{url.replace('http', 'ws')}ws"
    for protocols in (["bokeh", token], ["bokeh"], []):
        assert page.evaluate(OPEN, [socket, protocols]) == "closed 1006"
    read = "(url) => fetch(url, { credentials: 'include' }).then((answer) => answer.text(), (error) => String(error))"
    assert "Failed to fetch" in page.evaluate(read, f"{url}?t=w/orders")
    # The page that it opens cannot be reached from the window that opened it.
    with page.expect_popup() as opened:
        page.evaluate("(url) => { window.theirs = window.open(url); }", f"{url}?t=w/orders&tab=act")
    popup = opened.value
    settle(popup)
    assert page.evaluate("window.theirs.closed") is True
    assert popup.evaluate("window.opener") is None
    popup.close()


def test_a_token_opens_one_browser_and_no_page_of_the_other(two_browsers: list[Any], root: Path) -> None:
    with serving("serve", str(root), "--allow-commits", "--port", str(free_port())) as (line, process):
        (url,) = re.findall(r"http://\S+", line)
        first, second = (each.new_page() for each in two_browsers)
        first.goto(url)
        plain = url.partition("?")[0]
        assert "token" not in first.url
        # The address opens nothing again, and the plain one asks for a token.
        for address in (url, plain, f"{plain}?t=w/orders"):
            answer = second.goto(address)
            assert answer is not None
            assert answer.status == 403
            assert "0e8a4c6e" not in second.content()
        assert process.stderr is not None
        renewed = next(line for line in process.stderr if "For another browser" in line)
        second.goto(re.findall(r"http://\S+", renewed)[0])
        hers, his = plan(first, plain, "hers"), plan(second, plain, "his")
        assert hers != his
        socket = f"{plain.replace('http', 'ws')}ws"
        for page, other in ((first, second), (second, first)):
            assert page.evaluate(OPEN, [socket, ["bokeh", token_of(other)]]) == "closed 1006"
        send(second, "person", name="ben")
        send(second, "commit", name="orders", reason="as the other", digest=hers)
        assert commits(root) == []
        assert "hers" not in second.locator("main").inner_text()
