"""Two people in two browsers: each works on a page of their own, and neither gets at the other's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.web.serving.people.password_file import remove_user, write_user
from tests.e2e.conftest import settle
from tests.support.pages.raw_pages import Pages, served_here

pytestmark = pytest.mark.e2e


@pytest.fixture
def users(tmp_path: Path) -> Path:
    for name in ("ana", "ben"):
        write_user(tmp_path / "users.json", name, f"secret-of-{name}")
    return tmp_path / "users.json"


@pytest.fixture
def pages(warehouse: Path, tmp_path: Path, users: Path) -> Iterator[Pages]:
    shutil.copytree(warehouse / "reference" / "optimize", tmp_path / "w" / "optimize")
    with served_here(tmp_path / "w", allow_commits=True, basic_auth=users) as pages:
        yield pages


def signed_in(browser: Any, pages: Pages, name: str) -> Any:
    """The page of a table in a browser of the person's own."""
    page = browser.new_context().new_page()
    page.set_default_timeout(30_000)
    page.goto(f"{pages.origin}/?t=w/optimize&tab=act")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(f"secret-of-{name}")
    page.get_by_role("button", name="Sign in").click()
    settle(page)
    assert page.url.endswith("?t=w%2Foptimize&tab=act") or page.url.endswith("?t=w/optimize&tab=act")
    return page


@pytest.mark.whole("test_approvals.py, where two people sign in")
def test_each_is_who_signed_in_and_is_out_with_the_login(browser: Any, pages: Pages, users: Path) -> None:
    plan = f"{pages.origin}/?t=w/optimize&tab=act&act=set-description&f.description=new&step=plan"
    ana, ben = (signed_in(browser, pages, name) for name in ("ana", "ben"))
    for page, name in ((ana, "ana"), (ben, "ben")):
        page.goto(plan)
        settle(page)
        # The address alone plans nothing; the person's click does.
        assert page.locator("#act-plan").is_visible()
        page.locator("#act-plan").click()
        page.locator("form[data-confirm]").wait_for()
        assert name in page.locator("#person-card").inner_text()
    # The cookie of one is of no use to a page of the other.
    cookies = {cookie["name"]: cookie for cookie in ana.context.cookies()}
    (login,) = [cookie for name, cookie in cookies.items() if name.startswith("explorer-session-")]
    assert (login["httpOnly"], login["sameSite"]) == (True, "Strict")
    remove_user(users, "ana")
    ana.locator("#tabs a").first.click()
    ana.wait_for_selector('html[data-silence="ended"]')
    assert "You are signed out." in ana.locator("#silence").inner_text()
    ana.reload()
    assert ana.get_by_role("heading", name="Sign in").is_visible()
    ben.get_by_role("link", name="Files", exact=True).click()
    settle(ben)
    assert "tab=files" in ben.url
    # Signing out in another window ends the pages of the same login.
    other = ben.context.new_page()
    other.goto(f"{pages.origin}/logout")
    other.get_by_role("button", name="Sign out").click()
    ben.wait_for_selector('html[data-silence="ended"]')
    for page in (ana, ben):
        page.context.close()


@pytest.mark.whole("tests/web/serving, without a browser")
def test_a_page_whose_socket_is_refused_says_so(browser: Any, pages: Pages) -> None:
    page = signed_in(browser, pages, "ben")
    page.context.route("**/*", lambda route: route.continue_())
    page.add_init_script(
        "const Real = WebSocket; window.WebSocket = class extends Real { constructor(url, [kind, token]) "
        "{ super(url, [kind, `${token}x`]); } };"
    )
    page.goto(f"{pages.origin}/?t=w/optimize")
    page.wait_for_selector('html[data-silence="refused"]')
    said = page.locator("#silence").inner_text()
    assert "The server refused the connection of this page." in said
    assert "--public-url" in said
    page.context.close()
