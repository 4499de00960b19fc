"""Measure the pages in Chromium: how soon a page is there, how soon a chosen version is drawn everywhere.

    python -m tests.e2e.measure ROOT TABLE [--loads 5] [--steps 30]

``TABLE`` is the served name, the root's folder first: ``demo/sales/orders``. A load is from opening the URL; *drawn* is
the timeline's bars as a figure that can be clicked, *text* the first paint that holds the verdict and the bars as a
still. A step is from the key press to the last change anywhere in the document, the figures' shadow trees included.
"""

import argparse
import json
import statistics
import subprocess
import sys
from typing import Any

from tests.e2e.conftest import ARGUMENTS, CHROMIUM
from tests.support.served_pages import SERVE
from tests.support.shared_tables import REPOSITORY

SETTLED = "window.explorerPage && explorerPage.answered >= explorerPage.sent"
TABS = ("overview", "diff", "files", "columns", "deletion-vectors", "statistics")
DRAWN = """() => {
    const pierce = node => {
        if (node.querySelector('.js-plotly-plot .bars .point')) return true;
        for (const child of node.querySelectorAll('*')) if (child.shadowRoot && pierce(child.shadowRoot)) return true;
        return false;
    };
    return pierce(document.getElementById('timeline-slot')) && performance.now();
}"""
WATCH = """() => {
    window.lastChange = 0;
    const options = {subtree: true, childList: true, attributes: true, characterData: true};
    const watch = new MutationObserver(() => { window.lastChange = performance.now(); });
    const visit = node => {
        watch.observe(node, options);
        for (const child of node.querySelectorAll('*')) if (child.shadowRoot) visit(child.shadowRoot);
    };
    visit(document);
    document.addEventListener('keydown', () => { window.pressed = performance.now(); }, true);
}"""
QUIET = "performance.now() - Math.max(lastChange, pressed) > 350 && explorerPage.answered >= explorerPage.sent"


def main() -> None:
    """Serve, measure, print one JSON document."""
    parser = argparse.ArgumentParser(description="Measure the pages in Chromium.")
    parser.add_argument("root")
    parser.add_argument("table")
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    chosen = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("no Chromium on this machine")
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, chosen.root], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        print(json.dumps(_measured(f"{url}?t={chosen.table}", url, chosen.loads, chosen.steps), indent=2))
    finally:
        server.terminate()
        server.wait(timeout=20)


def _measured(table: str, home: str, loads: int, steps: int) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        _load(browser, table)  # the server is warm from here on
        report = {
            "load_table_cold_cache_ms": _summary([_load(browser, table) for _ in range(loads)]),
            "load_home_cold_cache_ms": _summary([_load(browser, home, home=True) for _ in range(loads)]),
            "step_ms": {tab: _steps(browser, f"{table}&tab={tab}", steps) for tab in TABS},
        }
        browser.close()
    return report


def _load(browser: Any, url: str, *, home: bool = False) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(url, wait_until="commit")
    drawn = 0.0 if home else page.wait_for_function(DRAWN, polling=20).json_value()
    page.wait_for_function(SETTLED, polling=20)
    settled = page.evaluate("performance.now()")
    text = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    context.close()
    return {"text": text, "settled": settled} | ({} if home else {"drawn": drawn})


def _steps(browser: Any, url: str, steps: int) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(url)
    page.wait_for_function(DRAWN, polling=20)
    page.wait_for_function(SETTLED)
    page.wait_for_timeout(800)
    page.evaluate(WATCH)
    times = []
    keys = ["ArrowLeft"] * 12 + ["ArrowRight"] * 12
    for number in range(steps + 3):
        page.keyboard.press(keys[number % len(keys)])
        page.wait_for_function(QUIET, polling=30)
        times.append(page.evaluate("lastChange - pressed"))
    context.close()
    return _spread(times[3:])


def _summary(samples: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    return {name: _spread([sample[name] for sample in samples]) for name in samples[0]}


def _spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    at = min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))
    return {"p50": round(statistics.median(ordered)), "p95": round(ordered[at]), "max": round(ordered[-1])}


if __name__ == "__main__":
    main()
