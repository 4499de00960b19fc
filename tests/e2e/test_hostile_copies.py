"""What is saved of a page with hostile names and values runs nothing, asks for nothing, and leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.conftest import plotted, settle
from tests.support.at_least_one import at_least_one
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.pages.served_pages import SERVE, served

pytestmark = pytest.mark.e2e
TABLE = "=cmd <img src=x onerror=window.hacked=1>\"'\u202e"
LINK = "<a href='https://elsewhere.invalid/'>link</a>"
COLUMNS = (LINK, HOSTILE, "=HYPERLINK(1)", "</title></style></script><svg onload=window.hacked=1>")
TABS = ("overview", "columns", "statistics", "files")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a table all of whose names are hostile."""
    root = tmp_path_factory.mktemp("copies") / "served"
    described = metadata(dict.fromkeys(COLUMNS, "string"), comment=HOSTILE)
    bounds = {name: (f"{name} {LINK}", f"{HOSTILE} {LINK}") for name in COLUMNS}
    made = [[commit_info(LINK, user_name=LINK), PROTOCOL, described]]
    made += [[commit_info(HOSTILE, user_name=LINK), add(f"{n}.parquet", n, bounds=bounds)] for n in (3, 4)]
    write_log(root / TABLE, made)
    with served(root, SERVE, root.parent / "server.log") as url:
        yield url


def saved(page: Any, button: Any, path: Path) -> Path:
    with page.expect_download() as download:
        button.evaluate("button => button.click()")
    assert set(download.value.suggested_filename).isdisjoint("<>\"'=/\\\u202e")
    download.value.save_as(path)
    return path


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("tab", TABS)
def test_a_copy_of_a_hostile_page_is_dead(hostile: str, windows: Any, tmp_path: Path, tab: str) -> None:
    page = windows.new_page()
    page.goto(f"{hostile}/?t=served/{quote(TABLE)}&tab={tab}&column={quote(LINK)}")
    settle(page)
    plotted(page, "timeline-slot")
    copies = [saved(page, page.locator("[data-do=save-page]").first, tmp_path / "page.html")]
    for number, button in enumerate(page.locator("[data-format=svg]").all()):
        if button.evaluate("button => getComputedStyle(button.closest('details')).visibility === 'visible'"):
            copies.append(saved(page, button, tmp_path / f"{number}.svg"))
    assert len(copies) >= 2
    for copy in at_least_one(copies):
        look = windows.new_page()
        asked: list[str] = []
        look.on("request", lambda request, asked=asked: asked.append(request.url))
        look.goto(copy.as_uri())
        assert look.evaluate("window.hacked") is None
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        leads = look.evaluate(
            "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]).filter((a) => "
            "/^on|^(xlink:)?href$|^src$|^action$/.test(a.name)).map((a) => a.value)"
        )
        leads = [to for to in leads if not to.startswith("data:image/")]
        assert [
            to for to in leads if "elsewhere" in to.partition("?")[0] or to.startswith(("javascript", "data"))
        ] == []
        assert look.evaluate("document.querySelectorAll('script, iframe, object, embed, base').length") == 0
        look.close()
    assert page.evaluate("window.hacked") is None
    page.close()
