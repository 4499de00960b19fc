"""What people come for, walked on the demo tables in a browser: each way from the list of tables to its end.

    python -m tests.e2e.journeys.journeys [--only LETTERS] [--write] [FOLDER FOR PICTURES]

prints a line for each journey: clicks, fields filled in, seconds. ``--write`` keeps what was walked to its end in
``journeys.json`` beside it and makes the table of ``docs/guide/jobs.md`` from it. ``test_journeys.py`` walks two of
those without Spark, and all of them in the whole dose. They write to the tables: a copy is built for them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.e2e.conftest import ARGUMENTS, CHROMIUM, settle
from tests.support.pages.served_pages import SERVE_COMMITS, enter, served, watch
from tests.support.pages.waiting import wait_until
from tests.support.shared_tables import REPOSITORY

__all__ = ["JOURNEYS", "PAGE", "WITHOUT_SPARK", "Walk", "page_of", "recorded"]

PAGE = REPOSITORY / "docs" / "guide" / "jobs.md"
RECORD = Path(__file__).parent / "journeys.json"
MARKS = ("<!-- made: journeys -->\n", "<!-- end -->\n")

_SPARK = 600_000  # ms that rows may take: the first of them start Spark


@dataclass
class Walk:
    """One person's way through the pages, which counts what the hand does.

    Attributes:
        page: The browser's page.
        pictures: Where each stop is photographed; None for nowhere.
        clicks, fields, stops: Clicks and pressed keys, fields that were filled in, pictures.
    """

    page: Any
    pictures: Path | None = None
    clicks: int = 0
    fields: int = 0
    stops: int = 0
    name: str = field(default="")

    def click(self, role: str, name: str, *, within: str = "body", exact: bool = False) -> None:
        """Click on the first link, button or tab of a name."""
        self.clicks += 1
        self.page.locator(within).get_by_role(role, name=name, exact=exact).first.click()
        settle(self.page)

    def click_at(self, selector: str) -> None:
        """Click on the first element of a selector."""
        self.clicks += 1
        self.page.locator(selector).first.click()
        settle(self.page)

    def press(self, key: str) -> None:
        """Press a key; it counts as a click."""
        self.clicks += 1
        self.page.keyboard.press(key)
        settle(self.page)

    def fill(self, selector: str, text: str) -> None:
        """Fill in a field."""
        self.fields += 1
        self.page.locator(selector).first.fill(text)

    def choose(self, selector: str, option: str) -> None:
        """Choose of a list; it counts as a field."""
        self.fields += 1
        self.page.locator(selector).select_option(option)
        settle(self.page)

    def see(self, text: str, within: str = "body", timeout: float = 300_000) -> None:
        """Wait until a text is on the page."""
        self.page.locator(within).get_by_text(text).first.wait_for(timeout=timeout)

    def wait(self, selector: str, timeout: float = _SPARK) -> None:
        """Wait until an element is on the page."""
        self.page.locator(selector).first.wait_for(timeout=timeout)
        settle(self.page)

    def stop(self) -> None:
        """Photograph what is on the screen."""
        self.stops += 1
        if self.pictures is not None:
            self.page.wait_for_timeout(500)
            self.page.screenshot(path=self.pictures / f"{self.name}-{self.stops}.png")

    def table(self, title: str) -> None:
        """Open a table from the list."""
        self.clicks += 1
        self.page.locator("table.tables td.name a", has=self.page.get_by_text(title, exact=True)).first.click()
        wait_until(self.page, "document.querySelector('#tabs a[aria-current]')")
        settle(self.page)


def last_night(walk: Walk) -> None:
    """a. What happened last night, and is anything wrong? Ends at the new rows."""
    walk.stop()
    walk.table("orders")
    walk.see("by etl@shop.example", "#strip")
    walk.stop()
    walk.click("link", "Change feed", within="#tabs")
    walk.click_at("#changes-go")
    walk.wait("#lead table.list tbody tr")
    walk.see("insert", "#lead")
    walk.stop()


def lost_rows(walk: Walk) -> None:
    """b. Rows are missing: which commit removed them, and how do I restore them? Ends at the receipt of a restore."""
    walk.table("customers")
    walk.stop()
    walk.press("t")
    walk.fill("#commits-find", "closed accounts")
    walk.wait("#commits tbody tr:only-child")
    settle(walk.page)
    walk.stop()
    walk.click("link", "before this commit", within="#side")
    walk.see("Ready.", "#act-check")
    walk.stop()
    walk.click("button", "Preview plan")
    walk.see("undoes", "#lead")
    walk.stop()
    walk.fill("#confirm-reason", "the accounts were not closed")
    walk.fill("#confirm-name", "customers")
    walk.click_at("#commit")
    walk.wait("[data-outcome=committed]")
    walk.stop()


def name_hazard(walk: Walk) -> None:
    """c. A column has changed its meaning: when, by whom, and why? Ends at its history."""
    walk.table("customers")
    walk.click("link", "Columns", within="#tabs")
    walk.see("Reused column name", "#side")
    walk.stop()
    walk.click("link", "first_name", within="#rest", exact=True)
    walk.see("History", "#side")
    walk.stop()


def slow_query(walk: Walk) -> None:
    """d. Why does a query read so much, and what would help? Ends at the plan that helps."""
    walk.table("orders")
    walk.click("link", "Statistics", within="#tabs")
    walk.stop()
    walk.fill("#funnel-where", "amount > 300")
    walk.click("button", "Find files")
    walk.wait(".funnels")
    walk.stop()
    walk.click("link", "Plan OPTIMIZE")
    walk.stop()
    walk.click("button", "Preview plan")
    walk.wait("[data-plan]")
    walk.stop()


def auditor(walk: Walk) -> None:
    """e. An auditor asks for the state of a table, with evidence. Ends at the report as a file."""
    walk.table("orders")
    walk.click("link", "Audit", within="#tabs")
    walk.stop()
    with walk.page.expect_download() as download:
        walk.click("button", "Download report")
    assert Path(download.value.path()).read_bytes().startswith(b"<!doctype html>")


def erasure(walk: Walk) -> None:
    """f. A customer asks to be forgotten: where are their rows, and until when? Ends at the statement as a file."""
    walk.table("orders")
    walk.click("link", "Erasure", within="#tabs")
    walk.stop()
    walk.fill("#erasure-where", "customer_id = 'C-00007'")
    walk.click("button", "Search every file")
    walk.wait(".stepper")
    walk.stop()
    with walk.page.expect_download() as download:
        walk.click("button", "Download the statement")
    assert b"C-00007" in Path(download.value.path()).read_bytes()
    walk.click("link", "Plan it", within=".stepper")
    walk.stop()


def rule_that_rows_break(walk: Walk) -> None:
    """g. A constraint that rows violate: which rows, what to do with them, then add it. Ends at its commit."""
    walk.table("events")
    walk.click("link", "Edit", within="#tabs")
    walk.stop()
    walk.click("link", "Add a constraint")
    walk.fill("#f-name", "known_user")
    walk.fill("#f-expression", "event_id % 97 <> 0")
    walk.see("Ready.", "#act-check")
    walk.click("button", "Preview plan")
    walk.click_at("#look-go")
    walk.wait(".guards .ways a")
    walk.stop()
    walk.click_at(".guards .ways a:has-text('Delete these')")
    walk.see("Ready", "#act-check")
    walk.stop()
    walk.click("button", "Preview plan")
    walk.wait("[data-plan]")
    walk.stop()
    walk.fill("#confirm-reason", "test events")
    walk.fill("#confirm-name", "events")
    walk.click_at("#commit")
    walk.wait("[data-outcome=committed]")
    walk.stop()
    walk.click_at(".back-note a")
    walk.wait("#look-go, #confirm-name")
    walk.click_at("#look-go")
    walk.wait("#confirm-name")
    walk.fill("#confirm-reason", "agreed with the team")
    walk.fill("#confirm-name", "events")
    walk.click_at("#commit")
    walk.wait("[data-outcome=committed]")
    walk.stop()


def one_key(walk: Walk) -> None:
    """h. What happened to one order over time? Ends at its changes, paired."""
    walk.table("orders")
    walk.click("link", "Change feed", within="#tabs")
    walk.stop()
    walk.click("link", "the last 10 commits", within="#side")
    walk.fill("#changes-keys", "order_id")
    walk.click_at("#changes-go")
    walk.wait("#lead table.list tbody tr")
    walk.stop()


def who_is_locked_out(walk: Walk) -> None:
    """i. Can I enable a feature: who could no longer read or write the table? Ends at the clients by name."""
    walk.table("orders")
    walk.click("link", "Edit", within="#tabs")
    walk.click("link", "Enable a feature")
    walk.stop()
    walk.choose("#f-feature", "rowTracking")
    walk.see("Ready.", "#act-check")
    walk.click("button", "Preview plan")
    walk.wait("#losses tbody tr")
    walk.stop()


def hidden_rows(walk: Walk) -> None:
    """j. Which rows are only masked, and how do I remove them from the files? Ends at the plan of a purge."""
    walk.table("orders")
    walk.click("link", "Deletion vectors", within="#tabs")
    walk.stop()
    walk.click_at("#rest table.list tbody a")
    walk.wait(".rowstrip")
    walk.click("link", "Plan the purge", within="#side")
    walk.click("button", "Preview plan")
    walk.wait("[data-plan]")
    walk.stop()


def colleague(walk: Walk) -> None:
    """k. Two versions differ: how do I show a colleague? Ends when the copied link opens the same page."""
    walk.table("orders")
    walk.click("link", "Diff", within="#tabs")
    walk.click_at("#strip summary:has-text('compare')")
    walk.fill("#strip input[name=c]", "14")
    walk.press("Enter")
    walk.see("compared with v14", "#strip")
    walk.stop()
    walk.click_at("#bar summary[aria-label^='Copy a link']")
    walk.click("button", "Link to v")
    copied = walk.page.evaluate("navigator.clipboard.readText()")
    there = walk.page.context.new_page()
    there.set_default_timeout(300_000)
    there.goto(copied)
    there.locator("#strip").get_by_text("compared with v14").first.wait_for()
    there.close()


def somewhere(walk: Walk) -> None:
    """l. Some table has this column: which one, and what is it? Ends at its card."""
    walk.press("Control+k")
    walk.fill("#palette input", "discount")
    walk.wait("#palette [role=option]:has-text('demo/sales/orders')")
    walk.press("Enter")
    walk.see("History", "#side")
    walk.stop()


def some_tables(walk: Walk) -> None:
    """m. Which tables have a loader that has stopped? Ends at their list."""
    if not walk.page.locator("#home-facets").get_by_role("checkbox", name="silent loader").first.is_visible():
        # Of many findings, the rarer ones are folded.
        walk.click_at("#home-facets .facet-rest summary")
    walk.click("checkbox", "silent loader", within="#home-facets")
    walk.wait("#home-facets [aria-checked=true]")
    walk.stop()


def one_row(walk: Walk) -> None:
    """n. What happened to one row, and who did it? Ends at its story."""
    walk.table("orders")
    walk.click("link", "Data", within="#tabs")
    walk.wait("#lead table.list tbody tr")
    walk.click_at("#lead table.list tbody tr a")
    walk.see("Story of the row", "#lead")
    walk.see("what happened", "#lead")
    walk.stop()


def one_commit(walk: Walk) -> None:
    """o. A load ran twice: how do I undo one commit? Ends at the receipt."""
    walk.table("invoices")
    walk.click("link", "Undo v", within="#side")
    walk.stop()
    walk.click("link", "Preview plan")
    walk.wait("#confirm-name")
    walk.stop()
    walk.fill("#confirm-reason", "loaded twice")
    walk.fill("#confirm-name", "invoices")
    walk.click_at("#commit")
    walk.wait("[data-outcome=committed]")
    walk.stop()


def small_files(walk: Walk) -> None:
    """p. Which files are small, and who wrote them? Ends at the card of a file."""
    walk.table("orders")
    walk.click("link", "Files", within="#tabs")
    walk.see("under 1 MB were written by", "#lead")
    walk.stop()
    walk.click_at("#rest table.list td.path a, #lead table.list td.path a")
    walk.see("Life in versions", "#side")
    walk.stop()


def lake(walk: Walk) -> None:
    """q. When did each table change, and which have stopped? Ends at the timeline, stopped tables first."""
    walk.click("link", "Timeline")
    walk.click("link", "30 days")
    walk.click("link", "silence", exact=True)
    walk.wait("#lanes tbody tr")
    walk.stop()


def two_tables(walk: Walk) -> None:
    """r. Two tables should be the same: are they? Ends at what differs, and what would align them."""
    for title in ("ledger", "invoices"):
        row = walk.page.locator("table.tables tr", has=walk.page.get_by_text(title, exact=True)).first
        row.hover()
        row.locator(".pick").click()
        walk.clicks += 1
    walk.click("link", "Compare", within="#home-pair")
    walk.see("The definition differs", "#pair")
    walk.stop()


def maintenance(walk: Walk) -> None:
    """s. Who vacuumed a table, and what did it delete? Ends at its line in the journal."""
    walk.table("ledger")
    walk.see("files deleted", "#side")
    walk.stop()


def deep_audit(walk: Walk) -> None:
    """t. Does the table contain what its log says, and can a colleague see it? Ends at the shared link."""
    walk.table("events")
    walk.click("link", "Audit", within="#tabs")
    for name in ("stored files", "log replay", "Parquet footers"):
        walk.click("checkbox", name, within="#deeper")
    walk.click("button", "Run checks")
    walk.wait("#deeper button:has-text('Share result')")
    walk.click("button", "Share result")
    walk.see("kept for others until", "#deeper")
    walk.stop()
    there = walk.page.context.new_page()
    there.set_default_timeout(300_000)
    there.goto(walk.page.url)
    there.locator("#deeper").get_by_text("kept for others until").wait_for()
    there.close()


JOURNEYS: dict[str, Callable[[Walk], None]] = {
    "a": last_night,
    "b": lost_rows,
    "c": name_hazard,
    "d": slow_query,
    "e": auditor,
    "f": erasure,
    "g": rule_that_rows_break,
    "h": one_key,
    "i": who_is_locked_out,
    "j": hidden_rows,
    "k": colleague,
    "l": somewhere,
    "m": some_tables,
    "n": one_row,
    "o": one_commit,
    "p": small_files,
    "q": lake,
    "r": two_tables,
    "s": maintenance,
    "t": deep_audit,
}
WITHOUT_SPARK = "ceiklmpqrst"
"""The journeys that need the logs alone: two of them are walked in each run of the tests."""


def recorded() -> dict[str, dict[str, float]]:
    """What is kept of each journey that was walked to its end: clicks, fields and seconds, by its letter."""
    found: dict[str, dict[str, float]] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return found


def page_of(page: str, record: dict[str, dict[str, float]]) -> str:
    """Return the page with its table made from a record."""
    before, _, rest = page.partition(MARKS[0])
    rows = ["| | Who asks what | Ends at | Clicks | Fields | Seconds |", "|---|---|---|---|---|---|"]
    for letter, walk in JOURNEYS.items():
        asked, _, end = (walk.__doc__ or "").removeprefix(f"{letter}. ").rstrip(".").partition(" Ends ")
        taken = record.get(letter)
        numbers = (
            [f"{taken[name]:.0f}" for name in ("clicks", "fields", "seconds")] if taken else ["not walked", "", ""]
        )
        rows.append(f"| {' | '.join([letter, asked, end.removeprefix('at '), *numbers])} |")
    return f"{before}{MARKS[0]}\n" + "\n".join(rows) + f"\n\n{MARKS[1]}" + rest.partition(MARKS[1])[2]


def main() -> None:
    """Build the demo tables, walk journeys on them, and print what each took."""
    from playwright.sync_api import sync_playwright

    from explorer.demo import build_warehouse

    parser = argparse.ArgumentParser(prog="python -m tests.e2e.journeys.journeys", description="Walk the journeys.")
    parser.add_argument("pictures", nargs="?", type=Path, metavar="FOLDER", help="where each stop is photographed")
    parser.add_argument("--only", default="".join(JOURNEYS), metavar="LETTERS", help="these journeys, such as ik")
    parser.add_argument("--write", action="store_true", help="renew the table of docs/guide/jobs.md")
    asked = parser.parse_args()
    if asked.pictures is not None:
        asked.pictures.mkdir(parents=True, exist_ok=True)
    record = recorded()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "demo"
        build_warehouse(root, datetime.now(UTC).date())
        with served(root, SERVE_COMMITS, Path(folder) / "server.log") as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            for letter in asked.only:
                record.pop(letter, None)
                if (taken := _walked(letter, browser, url, asked.pictures)) is not None:
                    record[letter] = taken
            browser.close()
    if asked.write:
        RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n")
        PAGE.write_text(page_of(PAGE.read_text(), record))


def _walked(letter: str, browser: Any, url: str, pictures: Path | None) -> dict[str, float] | None:
    """Walk one journey and print what it took; None if its end was not reached, or the page had a fault."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )
    enter(context, url)
    page = context.new_page()
    page.set_default_timeout(300_000)
    wrong = watch(page)
    walk = Walk(page, pictures, name=letter)
    started, end = time.monotonic(), "reached"
    try:
        page.goto(url)
        settle(page)
        wait_until(page, "!document.querySelector('.bone')")
        started = time.monotonic()
        JOURNEYS[letter](walk)
    except Exception as error:  # noqa: BLE001  # the other journeys are still to be walked
        walk.stop()
        end = f"not reached: {error}".splitlines()[0]
    seconds = round(time.monotonic() - started, 1)
    print(f"| {letter} | {walk.clicks} | {walk.fields} | {seconds} | {end} | {wrong or ''}", flush=True)
    context.close()
    whole = end == "reached" and not wrong
    return {"clicks": walk.clicks, "fields": walk.fields, "seconds": seconds} if whole else None


if __name__ == "__main__":
    main()
