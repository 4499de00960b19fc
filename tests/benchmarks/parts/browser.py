"""How soon a page shows what it was opened for, and a step to another version, in Chromium.

A page is opened in a window without a cache, on a server that has shown another table before. *Picture* is the first
paint with the table's totals and its commits, *drawn* when the timeline can be clicked, *whole* when nothing is being
read any more. *Again* is the same with a new server, and with what the first kept of the table. A step is from the key
press, and a change of the tab from the request, to the last change anywhere in the document. Steps are made on every
tab; Spark, which starts where rows are offered, has started before.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from explorer.page.tabs import TABS
from explorer.variables import CACHE_VARIABLE
from explorer.views.many_tables.choice import FacetChoice
from explorer.views.many_tables.facets import faceted
from explorer.views.many_tables.record import TraitsRecord
from explorer.views.many_tables.traits import TableTraits, folders_above
from tests.benchmarks.parts.rows import LINKED, prepare_linked
from tests.benchmarks.runs import environment
from tests.benchmarks.sets import FOLDER, REPOSITORY, prepared, prepared_demo
from tests.e2e.conftest import ARGUMENTS, CHROMIUM
from tests.e2e.crawl.odd_warehouse import write_odd_tables
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.loopback import variables_of
from tests.support.pages.served_pages import SERVE
from tests.support.pages.waiting import wait_until
from tests.support.slow_s3 import slow_s3

ROUNDS: Final = 1
TURNS: Final = 3
STEPS: Final = 10
CLICKS: Final = 12
MANY: Final = 1_000
FACETED: Final = 10_000
LONG: Final = "C"
"""The log on which the palette is measured too."""

PICTURES: Final = {"M": (1.5, 0.7), "L": (2.0, 2.0), "DV": (2.0, 2.0), "C": (None, 3.0)}
"""Seconds until the picture, the first time and again; None is no goal."""
STEP_GOAL: Final = 0.25
TAB_GOAL: Final = 1.0
LANES_GOAL: Final = 1.0
FACETS_GOAL: Final = 0.2
PALETTE_GOAL: Final = 0.15

_PATIENCE: Final = 300_000
"""Milliseconds within which many tables are read, also on a busy machine."""
_LOG_TABS: Final = ("overview", "diff", "files", "columns", "deletion-vectors", "statistics")
_STEPPED: Final = ("M", "demo/sales/orders")
_SETTLED = "window.explorerPage && explorerPage.answered >= explorerPage.sent"
_PICTURE = "document.querySelector('#lead .figures') && document.querySelector('#still svg') && performance.now()"
_NAMES = "document.querySelector('table.tables tbody tr td.name') && performance.now()"
_WHOLE = f"{_SETTLED} && !document.querySelector('.reading, .bone, .bones') && performance.now()"
_ALL_READ = f"{_WHOLE} && !document.body.innerText.includes('not read yet') && performance.now()"
_SPARK_STANDS = "['ready', 'failed'].includes(document.querySelector('#spark .chip')?.textContent.trim())"
_DRAWN = "document.querySelector('#timeline-slot .js-plotly-plot .bars .point') && performance.now()"
_ROWS = "document.querySelectorAll('.grid table.list tbody tr').length > 0 && performance.now()"
_TO_ROWS = f"""() => {{
    addEventListener('pointerdown', () => {{ window.pressed = performance.now(); }}, true);
    const watch = new MutationObserver(() => {{
        if (!({_ROWS})) return;
        watch.disconnect();
        requestAnimationFrame(() => setTimeout(() => {{ window.painted = performance.now(); }}, 0));
    }});
    watch.observe(document, {{subtree: true, childList: true}});
}}"""
_LANES = "document.querySelectorAll('#lanes td.lane canvas').length > 10 && performance.now()"
_WATCH = """() => {
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
_QUIET = "performance.now() - Math.max(lastChange, pressed) > 220 && explorerPage.answered >= explorerPage.sent"


def measure() -> Iterator[dict[str, Any]]:
    """One record a page or a way to move: what, and seconds."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        raise SystemExit("There is no Chromium on this machine.")
    _prepare()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield from _pictures(browser)
        with tempfile.TemporaryDirectory() as kept, _served(FOLDER, Path(kept)) as address:
            yield from _stepped(browser, f"{address}?t={FOLDER.name}")
            for tab, seconds in _turned(browser, f"{address}?t={FOLDER.name}/odd/wide"):
                yield {"of": "tab", "what": "wide", "tab": tab, "goal": TAB_GOAL, "seconds": seconds}
        browser.close()


def measure_lake() -> Iterator[dict[str, Any]]:
    """One record a way through many tables, or through a long log, to what is looked for: what, and seconds."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        raise SystemExit("There is no Chromium on this machine.")
    prepared(LONG)
    _made("many", _write_many)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield from _home(browser)
        with tempfile.TemporaryDirectory() as kept, _served(FOLDER / LONG, Path(kept)) as address:
            for text, seconds in _palette_of_a_log(browser, f"{address}?t={LONG}", _middle(FOLDER / LONG)):
                yield {"of": "palette", "what": text, "goal": PALETTE_GOAL, "seconds": seconds}
        browser.close()


def measure_data() -> Iterator[dict[str, Any]]:
    """One record a table: seconds from a click on Data until its first rows are painted."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        raise SystemExit("There is no Chromium on this machine.")
    prepared_demo()
    prepare_linked()
    with (
        sync_playwright() as playwright,
        tempfile.TemporaryDirectory() as kept,
        slow_s3(FOLDER, 0.02) as s3,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        store = f"s3://warehouse/{LINKED}"
        for what, root, table, goal in (
            ("orders", str(FOLDER), f"{FOLDER.name}/demo/sales/orders", 0.15),
            (LINKED, str(FOLDER), f"{FOLDER.name}/{LINKED}", 0.4),
            (store, store, LINKED, 0.5),
        ):
            with _served(root, Path(kept), variables_of(s3.options)) as address:
                yield {"of": "data", "what": what, "goal": goal} | _spread(_clicked(browser, f"{address}?t={table}"))
        browser.close()


def _clicked(browser: Any, url: str) -> list[float]:
    """Seconds from clicks on Data until its rows are painted, each in a window of its own, after one to warm up."""
    times = []
    for _ in range(CLICKS + 1):
        with _window(browser) as page:
            _watched(page, url, _WHOLE)  # a table of one commit has no timeline
            page.evaluate(_TO_ROWS)
            page.click("a[data-nav][href*='tab=data']")
            times.append((wait_until(page, "window.painted", every=50) - page.evaluate("pressed")) / 1e3)
    return times[1:]


def _prepare() -> None:
    """Make the tables that are not there yet."""
    for name in PICTURES:
        prepared(name)
    prepared_demo()
    _made("odd", write_odd_tables)


def _made(name: str, make: Callable[[Path], object]) -> None:
    if not (FOLDER / name).is_dir():
        make(FOLDER / name)


def _write_many(folder: Path) -> None:
    created = commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})
    for number in range(MANY):
        commits = [(commit_info("WRITE"), add(f"{version}.parquet", number + 1)) for version in range(19)]
        write_log(folder / f"t{number:04}", [created, *commits])


def _pictures(browser: Any) -> Iterator[dict[str, Any]]:
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as kept:
            for turn in ("first", "again"):
                with _served(FOLDER, Path(kept)) as address:
                    _opened(browser, f"{address}?t={FOLDER.name}/demo/crm/customers")
                    for name in ("demo/sales/orders", *PICTURES):
                        times = _opened(browser, f"{address}?t={FOLDER.name}/{name}")
                        found.setdefault((name, turn), []).append(times)
    for (name, turn), runs in found.items():
        goal = PICTURES.get(name, (None, None))[turn == "again"]
        medians = {key: round(statistics.median(one[key] for one in runs), 3) for key in runs[0]}
        yield {"of": "picture", "what": name.rpartition("/")[2], "turn": turn, "goal": goal} | medians


def _opened(browser: Any, url: str) -> dict[str, float]:
    """Seconds from opening an address."""
    with _window(browser) as page:
        page.goto(url, wait_until="commit")
        moments = {"picture": _PICTURE, "drawn": _DRAWN, "whole": _WHOLE}
        return {name: wait_until(page, asked) / 1e3 for name, asked in moments.items()}


def _stepped(browser: Any, root: str, tabs: Sequence[str] = tuple(tab.key for tab in TABS)) -> Iterator[dict[str, Any]]:
    """Steps of each table on each tab."""
    with _window(browser) as page:
        page.goto(f"{root}/demo/sales/orders&tab=data")
        page.click("#rows-where")  # the form that Spark answers: it starts
        wait_until(page, _SPARK_STANDS, every=200)
    for name in _STEPPED:
        for tab in tabs:
            times = _steps(browser, f"{root}/{name}&tab={tab}")
            yield {"of": "step", "what": name.rpartition("/")[2], "tab": tab, "goal": STEP_GOAL} | _spread(times)


def _steps(browser: Any, url: str) -> list[float]:
    """Seconds of steps back and forth, after three to warm up."""
    with _window(browser) as page:
        _watched(page, url)
        times = []
        keys = ["ArrowLeft"] * 9 + ["ArrowRight"] * 9
        for number in range(STEPS + 3):
            page.keyboard.press(keys[number % len(keys)])
            wait_until(page, _QUIET, every=30)
            times.append(page.evaluate("lastChange - pressed") / 1e3)
        return times[3:]


def _turned(browser: Any, url: str) -> Iterator[tuple[str, float]]:
    """Each tab and the seconds until it is drawn; the middle of three turns."""
    with _window(browser) as page:
        _watched(page, url)
        for tab in _LOG_TABS:
            times = []
            for _ in range(TURNS):
                for wanted in ("case" if tab == "overview" else "overview", tab):
                    query = f"?{url.partition('?')[2]}&tab={wanted}"
                    page.evaluate("query => { pressed = performance.now(); explorerPage.go(query, true); }", query)
                    wait_until(page, _QUIET, every=30)
                times.append(page.evaluate("lastChange - pressed") / 1e3)
            yield tab, round(statistics.median(times), 3)


def _home(browser: Any) -> Iterator[dict[str, Any]]:
    """The list of many tables: their names, and when all of them are read."""
    with tempfile.TemporaryDirectory() as kept, _served(FOLDER / "many", Path(kept)) as address:
        with _window(browser) as page:
            page.goto(address, wait_until="commit")
            shown = wait_until(page, _NAMES)
            # Of so many, those on the page are read; the others when a person says so.
            page.locator("[data-do=read-on]").click()
            waited = [shown, wait_until(page, _ALL_READ, within=_PATIENCE)]
            found = _found(page, "id column")
        names, whole = (time / 1e3 for time in waited)
        yield {"of": "home", "what": "names", "goal": 1.0, "seconds": round(names, 3)}
        yield {"of": "home", "what": "all read", "goal": None, "seconds": round(whole, 3)}
        yield {"of": "home", "what": "palette to a column", "goal": PALETTE_GOAL, "seconds": found}
        yield {"of": "home", "what": "timeline, in a new window", "goal": None} | _spread(_lanes(browser, address))
        yield {"of": "home", "what": "timeline, from the list", "goal": LANES_GOAL} | _spread(
            _to_lanes(browser, address)
        )
    yield {"of": "home", "what": f"facets of {FACETED:,} tables", "goal": FACETS_GOAL, "seconds": _faceted()}


def _lanes(browser: Any, address: str) -> list[float]:
    """Seconds until a new window shows lanes."""
    times = []
    for _ in range(TURNS):
        with _window(browser) as page:
            page.goto(f"{address}?show=timeline&range=30d", wait_until="commit")
            times.append(wait_until(page, _LANES) / 1e3)
    return times


def _to_lanes(browser: Any, address: str) -> list[float]:
    """Seconds from the list to lanes, in a window that is open."""
    with _window(browser) as page:
        page.goto(address)
        wait_until(page, _WHOLE, within=_PATIENCE)
        times = []
        for _ in range(TURNS + 1):
            page.evaluate("explorerPage.go('?')")
            wait_until(page, f"{_NAMES} && {_WHOLE}", within=_PATIENCE)
            pressed = page.evaluate("explorerPage.go('?show=timeline&range=30d'), performance.now()")
            times.append((wait_until(page, _LANES) - pressed) / 1e3)
        return times[1:]


def _faceted() -> float:
    """Seconds to filter many tables and to count all values of all facets; the middle of several turns."""
    chance = random.Random(54)
    names = [f"column_{number}" for number in range(2_000)]

    def traits(number: int) -> TableTraits:
        return TableTraits(
            folders=folders_above(f"lake/{number % 40}"),
            findings=(chance.choice(("none", "small-files", "silent-loader")),),
            features=tuple(chance.sample(("deletionVectors", "rowTracking", "clustering", "columnMapping"), 2)),
            protocol="reader 3 \u00b7 writer 7",
            writers=(f"writer-{chance.randrange(300)}",),
            engines=("Apache-Spark",),
            last=chance.randrange(10**12),
            size=chance.randrange(10**13),
            files=chance.randrange(10**6),
            columns=tuple((name, chance.choice(("string", "long"))) for name in chance.sample(names, 20)),
        )

    record = TraitsRecord([traits(number) for number in range(FACETED)])
    choice, all_tables = FacetChoice.parse("feature:rowTracking;size:1G,1T"), np.ones(FACETED, bool)
    times = []
    for _ in range(TURNS * 5):
        start = time.perf_counter()
        faceted(record, choice, all_tables, 10**12, "column_1")
        times.append(time.perf_counter() - start)
    return round(statistics.median(times), 3)


def _found(page: Any, text: str) -> float:
    """Seconds from the last key of a text to what the palette says of it, in the middle of some turns."""
    page.evaluate(_WATCH)
    return _answered(page, text, f"{MANY:,} columns")


def _answered(page: Any, text: str, said: str) -> float:
    """Seconds from the last key of a text to the palette's answer, which says something; the middle of some turns."""
    times = []
    for _ in range(TURNS):
        page.keyboard.press("Control+k")
        page.keyboard.type(text[:-1])
        wait_until(page, _QUIET)
        page.keyboard.type(text[-1])
        wait_until(page, _QUIET)
        times.append((page.evaluate("lastChange") - page.evaluate("pressed")) / 1e3)
        assert said in page.locator("#palette-said").inner_text()
        page.keyboard.press("Escape")
    return round(statistics.median(times), 3)


def _middle(table: Path) -> str:
    """The time of the commit in the middle of a long log, as a person types it."""
    commit = table / "_delta_log" / f"{50_000:020}.json"
    return datetime.fromtimestamp(commit.stat().st_mtime, UTC).strftime("%d %b %Y %H:%M:%S")


def _palette_of_a_log(browser: Any, url: str, time_in_words: str) -> Iterator[tuple[str, float]]:
    """What is looked for in a long log, and the seconds from its last key to the answer."""
    with _window(browser) as page:
        _watched(page, url)
        for text, said in (("v50000", "match"), (time_in_words, "match"), ("audit", "match")):
            yield ("a time" if text == time_in_words else text), _answered(page, text, said)


def _watched(page: Any, url: str, drawn: str = _DRAWN) -> None:
    page.goto(url)
    wait_until(page, drawn, within=_PATIENCE)
    wait_until(page, _WHOLE, within=_PATIENCE)
    page.wait_for_timeout(800)
    page.evaluate(_WATCH)


@contextmanager
def _window(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(120_000)
    yield page
    context.close()


@contextmanager
def _served(root: str | Path, kept: Path, variables: dict[str, str] | None = None) -> Iterator[str]:
    """Serve the tables below a folder or in a store, with a folder for what is kept of them."""
    command = [sys.executable, "-c", SERVE, str(root)]
    settings = {**environment(), "XDG_CACHE_HOME": str(kept), **(variables or {})}
    del settings[CACHE_VARIABLE]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=settings)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(timeout=20)


def _spread(times: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times)
    at = min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))
    return {"median": round(statistics.median(ordered), 3), "p95": round(ordered[at], 3)}
