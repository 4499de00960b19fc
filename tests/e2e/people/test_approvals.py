"""Two people at two browsers, through a whole approval: asked, looked at, approved, committed, and its receipt."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.approvals.rules import GivenApprovals, GivenRule
from explorer.given_roles import GivenRole
from explorer.web.serving.people.password_file import write_user
from tests.e2e.conftest import settle
from tests.support.pages.raw_pages import Pages, served_here

pytestmark = pytest.mark.e2e
PLAN = "?t=w/optimize&tab=act&act=set-description&f.description=orders+of+the+shop&step=plan"


@pytest.fixture
def pages(warehouse: Path, tmp_path: Path) -> Iterator[Pages]:
    shutil.copytree(warehouse / "reference" / "optimize", tmp_path / "w" / "optimize")
    for name in ("ana", "ben"):
        write_user(tmp_path / "users.json", name, f"secret-of-{name}")
    with served_here(
        tmp_path / "w",
        allow_commits=True,
        basic_auth=tmp_path / "users.json",
        activity=tmp_path / "record",
        roles=[GivenRole("committer", people=("ana",)), GivenRole("approver", people=("ben",))],
        approvals=GivenApprovals((GivenRule(),)),
    ) as pages:
        yield pages


def signed_in(browser: Any, pages: Pages, name: str, query: str) -> Any:
    """A page in a browser of the person's own."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(90_000)
    page.goto(f"{pages.origin}/{query}")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(f"secret-of-{name}")
    page.get_by_role("button", name="Sign in").click()
    settle(page)
    return page


def picture(page: Any, name: str) -> None:
    """Keep pictures of a page where a person asked for them: at three widths, light and dark."""
    import os

    folder = os.environ.get("DELTA_PICTURES")
    if not folder:
        return
    for theme in ("light", "dark"):
        page.evaluate("(theme) => document.documentElement.dataset.theme = theme", theme)
        for width in (1440, 375):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(700)
            page.screenshot(path=f"{folder}/{name}-{theme}-{width}.png", full_page=True)
    page.evaluate("() => document.documentElement.dataset.theme = 'light'")
    page.set_viewport_size({"width": 1440, "height": 900})


@pytest.mark.whole("tests/web/test_approvals.py, without a browser")
def test_two_browsers_through_the_whole_approval(browser: Any, pages: Pages) -> None:
    ana = signed_in(browser, pages, "ana", PLAN)
    ana.locator("#act-plan").click()
    ana.locator("#ask").wait_for()
    assert ana.locator("#commit").count() == 0
    picture(ana, "1-ask")
    ana.locator("#ask-reason").fill("agreed with the shop")
    ana.locator("#ask").click()
    ana.locator('[data-state="asked"]').wait_for()
    settle(ana)
    assert "step=request&request=1" in ana.url
    assert ana.locator("#approve").count() == 0
    picture(ana, "2-asked-by-me")

    # The other person finds it on the list of tables.
    ben = signed_in(browser, pages, "ben", "")
    ben.locator("#home-requests .request-lines a").wait_for()
    picture(ben, "3-home")
    ben.locator("#home-requests .request-lines a").click()
    ben.locator("#approve").wait_for()
    settle(ben)
    assert ben.url.partition("?")[2] == ana.url.partition("?")[2], "one address for both"
    assert "agreed with the shop" in ben.locator(".act.request").inner_text()
    picture(ben, "4-to-decide")
    ben.locator("#approve-note").fill("looks right")
    ben.locator("#approve").click()
    ben.locator('[data-state="approved"]').wait_for()
    picture(ben, "5-approved")

    ana.reload()
    settle(ana)
    ana.locator("#to-commit").click()
    ana.locator("#approval-granted").wait_for()
    picture(ana, "6-granted")
    ana.locator("#confirm-name").fill("optimize")
    ana.locator("#commit").click()
    ana.locator('[data-outcome="committed"]').wait_for()
    settle(ana)
    receipt = ana.locator(".receipt-facts").inner_text()
    for text in ("ana", "ben", "agreed with the shop", "digest of the approved plan"):
        assert text in receipt, text
    picture(ana, "7-receipt")
    ben.reload()
    ben.locator('[data-state="committed"]').wait_for()
    picture(ben, "8-committed")
    ben.goto(f"{pages.origin}/?t=w/optimize&tab=act")
    ben.locator(".requests").wait_for()
    picture(ben, "9-list")
    for page in (ana, ben):
        page.context.close()
