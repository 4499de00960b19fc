"""What a page does with its answers: a lost answer is said, figures fill their place, links name versions."""

from typing import Any

import pytest

from tests.e2e.conftest import settle

pytestmark = [pytest.mark.e2e, pytest.mark.sampled(tests=1)]
TABLE = "?t=shop/reference/deletion-vectors&v=8"


def width_of(plot: Any) -> float:
    return float(plot.locator(".main-svg").first.bounding_box()["width"])


def test_an_answer_that_never_comes_is_a_notice_with_a_way_on(opened: Any) -> None:
    page = opened(f"{TABLE}&tab=files")
    page.evaluate("window.kept = explorerPage.host.send, explorerPage.host.send = () => {}, 0")
    page.evaluate("explorerPage.patience = 200")
    page.keyboard.press("ArrowLeft")
    page.locator("#silence").wait_for()
    assert "The server has not answered yet." in page.locator("#silence").inner_text()
    assert "The connection" not in page.locator("#silence").inner_text()
    page.evaluate("explorerPage.host.send = kept, explorerPage.patience = 20000, 0")
    page.get_by_role("button", name="Ask again").click()
    settle(page)
    assert not page.locator("#silence").is_visible()
    assert page.locator("h1.version").inner_text() == "v7"


def test_a_lost_connection_is_said_at_once(watched: Any, address: str) -> None:
    page = watched
    page.add_init_script("""
        const Original = WebSocket;
        window.WebSocket = class extends Original {
            constructor(...given) { super(...given); window.socket = this; }
        };
    """)
    page.goto(f"{address}/{TABLE}")
    settle(page)
    page.evaluate("socket.close()")
    page.locator("#silence").wait_for()
    assert "The connection to the server is lost." in page.locator("#silence").inner_text()
    page.get_by_role("button", name="Reload the page").click()
    page.wait_for_selector("html[data-live]:not([data-silence])")
    settle(page)


def test_a_copied_link_names_both_versions_and_may_follow_the_newest(opened: Any) -> None:
    page = opened("?t=shop/reference/deletion-vectors&tab=files")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def copied(name: str) -> str:
        page.get_by_role("button", name="Copy a link to this view").click()
        page.get_by_role("button", name=name).click()
        page.get_by_text("link copied").wait_for()
        return str(page.evaluate("navigator.clipboard.readText()")).partition("?")[2]

    assert copied("Link to v17, compared with v16") == "t=shop/reference/deletion-vectors&tab=files&v=17&c=16"
    assert copied("Link that follows") == "t=shop/reference/deletion-vectors&tab=files"
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert {"v=16", "c=15"} < set(copied("Link to v16, compared with v15").split("&"))
    assert copied("Link that follows") == "t=shop/reference/deletion-vectors&tab=files"


def test_a_result_that_comes_is_brought_into_sight(opened: Any) -> None:
    page = opened(f"{TABLE}&tab=erasure")
    seen = """() => {
        const box = document.querySelector('[data-result]').getBoundingClientRect();
        return box.top >= 0 && box.bottom <= innerHeight;
    }"""
    lead = '<div data-style="height:3000px"></div><p data-result>100 rows</p>'
    show = "lead => explorerPage.patch({regions: {lead}, hidden: {}, number: explorerPage.sent})"
    page.evaluate(show, lead)
    assert not page.evaluate(seen), "what nobody asked for takes nobody along"
    page.reload()
    settle(page)
    page.evaluate("explorerPage.host.send = () => {}, 0")  # what is asked is answered here
    page.locator("#erasure-where").fill("id = 1")
    page.locator("#erasure-go").click()
    page.evaluate(show, lead)
    assert page.evaluate(seen)
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(show, lead)
    assert not page.evaluate(seen), "what was seen before takes nobody along"


def test_the_address_of_a_question_is_shown_unless_the_person_has_gone_on(opened: Any) -> None:
    page = opened(f"{TABLE}&tab=diff")
    asked = f"{TABLE}&tab=diff&keys=id"
    answered = """([number, query]) => explorerPage.patch({regions: {}, hidden: {}, number, query})"""
    number = page.evaluate("explorerPage.sent += 1")
    page.evaluate("explorerPage.ask('screen', explorerPage.host.size())")
    page.evaluate(answered, [number, asked])
    assert page.url.endswith(asked), "a window of another size is on the same page"
    page.evaluate("query => explorerPage.go(query)", f"{TABLE}&tab=files")
    page.evaluate(answered, [number, asked])
    settle(page)
    assert page.url.endswith(f"{TABLE}&tab=files")


_HELD = """
    const send = WebSocket.prototype.send, waiting = [];
    WebSocket.prototype.send = function (data) {
        if (window.open_) send.call(this, data); else waiting.push(() => send.call(this, data));
    };
    window.letGo = () => { window.open_ = true; for (const call of waiting) call(); };
"""


def test_what_is_pressed_before_the_page_is_connected_is_done_once_it_is(watched: Any, address: str) -> None:
    page = watched
    page.add_init_script(_HELD)
    page.goto(f"{address}/{TABLE}&tab=case")
    page.fill("#case-title", "Where it went")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_timeout(300)
    assert page.locator("html[data-live]").count() == 0
    assert f"{TABLE}&tab=case" in page.url, "a form left for an address of its fields"
    page.evaluate("letGo()")
    settle(page)
    page.reload()
    page.evaluate("letGo()")
    settle(page)
    assert page.input_value("#case-title") == "Where it went"

    page.goto(f"{address}/{TABLE}")
    page.get_by_role("button", name="Keyboard shortcuts").first.click()
    assert not page.locator("#shortcuts").is_visible()
    page.evaluate("letGo()")
    page.locator("#shortcuts").wait_for(state="visible")
