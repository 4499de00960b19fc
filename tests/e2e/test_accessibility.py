"""What axe-core finds on each tab, light and dark: nothing."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.e2e.conftest import settle
from tests.support.at_least_one import at_least_one
from tests.support.dose import some_of
from tests.support.pages.waiting import wait_until

pytestmark = pytest.mark.e2e
VECTORS = "?t=shop/reference/deletion-vectors"
PAGES = [
    "",
    "?show=activity",
    "?show=timeline&range=2026-01-01~",
    "?facet=folder%3Ashop%2Freference&col=id",
    VECTORS,
    f"{VECTORS}&tab=diff&v=6&c=2",
    f"{VECTORS}&tab=diff&with=shop/reference/column-mapping",
    f"{VECTORS}&tab=files",
    "?t=shop/reference/column-mapping&tab=columns&col=id",
    f"{VECTORS}&tab=deletion-vectors&v=6",
    f"{VECTORS}&tab=statistics&where=id+%3E+5&v=6&c=2",
    f"{VECTORS}&tab=data",
    f"{VECTORS}&tab=changes",
    f"{VECTORS}&tab=audit&keep=3",
    f"{VECTORS}&tab=erasure",
    f"{VECTORS}&tab=case",
    f"{VECTORS}&view=table",
    f"{VECTORS}&tab=act",
    f"{VECTORS}&tab=act&act=enable-feature&f.feature=rowTracking&step=plan",
    "?t=shop/odd/broken",
]


@pytest.mark.whole("the case light", cases=["dark"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(opened: Any, watched: Any, theme: str) -> None:
    pages = some_of(PAGES, 3)
    found: dict[str, list[str]] = {}
    for query in at_least_one(pages):
        watched.context.clear_cookies()  # the theme that was chosen last
        watched.emulate_media(color_scheme=theme)
        page = opened(query)
        wait_until(page, "!document.querySelector('.bone, .bones')")
        settle(page)
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        for violation in violations:
            nodes = [f"{violation['id']}: {node['html'][:120]}" for node in violation["nodes"]]
            found.setdefault(query, []).extend(nodes)
    assert found == {}


@pytest.mark.whole("test_axe_finds_nothing")
def test_axe_finds_nothing_in_a_plan_on_a_telephone(opened: Any, watched: Any) -> None:
    watched.set_viewport_size({"width": 375, "height": 812})
    page = opened(f"{VECTORS}&tab=act&act=enable-feature&f.feature=rowTracking&step=plan")
    page.get_by_role("button", name="Preview plan").click()
    page.locator("#losses table.losses").first.wait_for()
    settle(page)
    violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:120]) for each in violations] == []
