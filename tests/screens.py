"""Take screenshots of every page, light and dark, wide and narrow, into ``build/screens``.

    python -m tests.screens [--only PAGE,PAGE] [--whole] [FOLDER OF TABLES]

Every page is taken at 1440 and 1024 px in both themes; the `MAIN` ones also on a telephone, on a very wide window, at
200 % zoom and on paper. ``--only`` takes some of the `PAGES`, ``--whole`` to their ends. Without a folder the demo
warehouse is built in a temporary one. Screenshots are looked at by people; nothing is compared.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.e2e.conftest import ARGUMENTS, CHROMIUM, settle
from tests.support.pages.served_pages import SERVE
from tests.support.pages.waiting import wait_until
from tests.support.shared_tables import REPOSITORY

TARGET = REPOSITORY / "build" / "screens"
PAGES = {
    "home": "",
    "overview": "?t={root}/sales/orders",
    "diff": "?t={root}/sales/orders&tab=diff&v=22&c=14",
    "files": "?t={root}/web/events&tab=files&v=12",
    "columns": "?t={root}/crm/customers&tab=columns",
    "deletion-vectors": "?t={root}/sales/orders&tab=deletion-vectors&v=22",
    "statistics": "?t={root}/sales/orders&tab=statistics&col=ordered_at",
    "data": "?t={root}/sales/orders&tab=data",
    "changes": "?t={root}/sales/orders&tab=changes&v=33&c=29&feed=inferred",
    "act-choose": "?t={root}/sales/orders&tab=act",
    "act-fill": "?t={root}/sales/orders&tab=act&act=add-constraint&f.name=small&f.expression=amuont+%3C+100",
    "act-plan": "?t={root}/sales/orders&tab=act&act=enable-feature&f.feature=rowTracking&step=plan",
    "act-guard": "?t={root}/sales/orders&tab=act&act=set-column-mapping&f.mode=none&step=plan",
    "commits": "?t={root}/sales/orders&view=table&v=21",
    "cleaned-history": "?t={root}/finance/ledger&v=14",
    "statistics-asked": "?t={root}/sales/orders&tab=statistics&where=amount+%3E+300",
    "erasure": "?t={root}/sales/orders&tab=erasure",
    "audit": "?t={root}/sales/orders&tab=audit",
    "case": "?t={root}/sales/orders&tab=case",
    "activity": "?show=activity",
    "one-version": "?t={root}/sales/orders&v=0",
    "broken": "?t={root}/archive/sensors-damaged",
    "no-such-version": "?t={root}/sales/orders&v=99999",
}
MAIN = ("home", "overview", "diff", "statistics-asked", "act-plan")
SIZES = (("375", 375, 812, 1), ("2560", 2560, 1300, 1), ("zoom", 720, 450, 2))
"""Further sizes of the main pages: name, width, height, and pixels for each."""


def main() -> None:
    """Serve the tables and photograph the pages."""
    parser = argparse.ArgumentParser(prog="python -m tests.screens", description="Take screenshots of every page.")
    parser.add_argument("tables", nargs="?", type=Path, metavar="FOLDER", help="tables like those of the demo")
    parser.add_argument("--only", default=",".join(PAGES), help="pages by name, with commas between them")
    parser.add_argument("--whole", action="store_true", help="take each page to its end")
    asked = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("no Chromium on this machine")
    names = asked.only.split(",")
    unknown = [name for name in names if name not in PAGES]
    if unknown:
        parser.error(f"there is no page {unknown[0]!r}: {', '.join(PAGES)}")
    pages = {name: PAGES[name] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        if asked.tables is not None:
            root = asked.tables.resolve()
        else:
            from explorer.demo import build_warehouse

            root = Path(folder) / "demo"
            build_warehouse(root, datetime.now(UTC).date())
        server = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(root)], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
        )
        try:
            assert server.stdout is not None
            _photograph(server.stdout.readline().strip(), root.name, pages, whole=asked.whole)
        finally:
            server.terminate()
            server.wait(timeout=20)


def _photograph(url: str, root: str, pages: Mapping[str, str], *, whole: bool) -> None:
    from playwright.sync_api import sync_playwright

    TARGET.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for theme in ("light", "dark"):
            for width in (1440, 1024):
                page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
                for name, query in pages.items():
                    _open(page, url + query.format(root=root))
                    page.screenshot(path=TARGET / f"{name}-{theme}-{width}.png", full_page=whole)
                page.close()
        for size, width, height, pixels in SIZES:
            viewport = {"width": width, "height": height}
            page = browser.new_page(viewport=viewport, color_scheme="light", device_scale_factor=pixels)
            for name in (name for name in MAIN if name in pages):
                _open(page, url + PAGES[name].format(root=root))
                page.screenshot(path=TARGET / f"{name}-light-{size}.png", full_page=whole)
                if size == "2560":
                    page.wait_for_timeout(1_200)  # the page measures its figures for the paper once a second
                    page.pdf(path=TARGET / f"{name}.pdf", prefer_css_page_size=True)
            page.close()
        browser.close()
    print(f"{len(list(TARGET.iterdir()))} pictures in {TARGET}")


def _open(page: Any, url: str) -> None:
    page.goto(url)
    settle(page)
    wait_until(page, "!document.querySelector('.bone')")
    page.wait_for_timeout(700)


if __name__ == "__main__":
    main()
