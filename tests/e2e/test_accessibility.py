"""What axe-core finds on each tab, light and dark: nothing."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.e2e.conftest import settle
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE

pytestmark = pytest.mark.e2e
VECTORS = "?t=shop/reference/deletion-vectors"
PAGES = [
    "",
    "?show=activity",
    VECTORS,
    f"{VECTORS}&tab=diff&v=6&c=2",
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


# Between the themes only colours differ: `make prove` holds every rule against both, each on pages opened in it.
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}


@pytest.mark.parametrize("themes", [["light"], ["dark"]] if WHOLE_DOSE else [["light", "dark"]], ids="+".join)
def test_axe_finds_nothing(opened: Any, watched: Any, themes: list[str]) -> None:
    found: dict[str, list[str]] = {}
    for query in PAGES:
        watched.context.clear_cookies()  # the theme that was chosen last
        watched.emulate_media(color_scheme=themes[0])
        page = opened(query)
        page.wait_for_function("!document.querySelector('.bone, .bones')")
        settle(page)
        for theme in at_least_one(themes):
            if theme != themes[0]:
                page.evaluate("explorerPage.theme()")
                settle(page)
            assert page.evaluate("document.documentElement.dataset.theme") == theme
            options = {"resultTypes": ["violations"]} | ({} if theme == themes[0] else COLOURS)
            for violation in Axe().run(page, options=options).response["violations"]:
                nodes = [f"{violation['id']}: {node['html'][:120]}" for node in violation["nodes"]]
                found.setdefault(f"{query} in {theme}", []).extend(nodes)
    assert found == {}
