"""Press every control of a page, and see that each is answered and nothing goes wrong.

A control is what a person can press, choose or type into: links, buttons, menus, lists, fields, sorted headers, cells,
and the keys of the page. Each is pressed on the page as it was opened; what a menu or a dialog holds is pressed too.
Wrong is a fault of the program shown on the page, an answer that does not come, an error in the console or of a script,
an answer of status 400 and above, and a request off the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.pages.served_pages import enter, watch
from tests.support.pages.waiting import wait_until

__all__ = ["Crawl", "Crawler"]

KEYS = ("t", "t", "ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowRight", "ArrowRight", "Home", "End", "?", "Escape")
ANSWER_WITHIN = 60_000  # ms: on a busy machine a page of 10,000 versions takes its time
TYPED = "id'\"<b>&"

# The controls in the order of the document. A control is known by what it does: a link by the parts of the address that
# it changes, with their values where each is to be pressed ("all", or in "main" alone); anything else by its kind, its
# names and, without those, its text.
FIND = """
singly => {
  const here = new URLSearchParams(location.search);
  const kind = element => {
    const every = singly === "all" || (singly === "main" && element.closest("main"));
    if (element.matches("a[href]")) {
      const href = element.getAttribute("href");
      if (!href.startsWith("?")) return `link ${href}`;
      const there = new URLSearchParams(href);
      const keys = new Set([...here.keys(), ...there.keys()]);
      const parts = [...keys].filter(key => here.get(key) !== there.get(key)).sort()
        .map(key => every || ["tab", "view", "fold", "step"].includes(key) ? `${key}=${there.get(key)}` : key);
      return `link ${parts.join(" ") || "here"}`;
    }
    const data = ["do", "list", "format", "follow", "what"].filter(name => name in element.dataset)
      .map(name => `${name}=${element.dataset[name]}`);
    const name = data.join(" ") || element.name || element.id || element.textContent.trim().slice(0, 40);
    const form = element.form ? ` of ${element.form.dataset.send || element.form.id || "a form"}` : "";
    const value = every && ["radio", "checkbox"].includes(element.type) ? `=${element.value}` : "";
    return `${element.tagName.toLowerCase()} ${name}${value}${form}`;
  };
  const known = new Map();
  // A script cannot choose a file; tests/e2e/test_case.py does.
  const all = "a[href], button, summary, select, input:not([type=hidden], [type=file]), textarea, [data-do], "
    + "[role=button]";
  for (const element of document.querySelectorAll(all)) {
    if (element.disabled || element.closest("#silence, .off, dialog:not([open])")) continue;
    const menu = element.closest("details");
    if (!element.getClientRects().length && !menu) continue;
    if (!known.has(kind(element))) known.set(kind(element), element);
  }
  window.controls = known;
  return [...known.keys()];
}
"""

# Press one of them as a person would; returns what the press began: "" for an answer, "dialog", or "leave" for a load.
PRESS = """
([name, typed]) => {
  const element = window.controls.get(name);
  if (!element || !element.isConnected) return "gone";
  const menu = element.closest("details");
  if (menu && element.tagName !== "SUMMARY") menu.open = true;
  if (element.matches("select")) {
    const last = [...element.options].filter(option => !option.disabled).at(-1);
    if (!last) return "";
    element.value = last.value;
    element.dispatchEvent(new Event("change", { bubbles: true }));
    return "";
  }
  if (element.matches("input, textarea") && !["checkbox", "radio", "submit"].includes(element.type)) {
    element.focus();
    element.value = typed;
    element.dispatchEvent(new Event("input", { bubbles: true }));
    return "typed";
  }
  if (element.matches('a[href^="?"]:not([data-nav])')) return "leave";
  element.scrollIntoView({ block: "center" });
  element.click();
  return document.querySelector("dialog[open]") ? "dialog" : "";
}
"""


@dataclass
class Crawl:
    """What was pressed on how many pages, and what went wrong.

    Attributes:
        pages: Queries of the pages that were opened.
        pressed: How many controls and keys were pressed.
        wrong: A line for each thing that went wrong: page, control, what happened.
    """

    pages: list[str] = field(default_factory=list)
    pressed: int = 0
    wrong: list[str] = field(default_factory=list)


class Crawler:
    """Presses the controls of pages in one window.

    Args:
        page: The browser's page.
        address: The address of the server, without its last slash.
        every: Press each control of the first page, and on later pages each of the page's own part; of what stands
            around it there, and without this everywhere, one of those that change the same part of the address.
        once: Press a control on the first page that has it, and on no later one.
        without: Beginnings of the names of controls that are not pressed.
    """

    def __init__(
        self, page: Any, address: str, *, every: bool = False, once: bool = False, without: Iterable[str] = ()
    ) -> None:
        enter(page.context, address)
        self.crawl = Crawl()
        self._page, self._address, self._events = page, address, watch(page)
        self._every, self._once, self._without = every, once, tuple(without)
        self._known: set[str] = set()
        self._singly = "all" if every else ""

    def visit(self, query: str) -> int:
        """Open a page and press what is on it.

        Returns:
            How many controls and keys it has, those pressed on an earlier page included.
        """
        if not self.look(query):
            return 0
        controls = [name for name in self._controls() if not name.startswith(self._without)]
        for name in self._not_yet(controls):
            self._press(query, name)
        for key in self._not_yet(KEYS):
            self._page.keyboard.press(key)
            self.crawl.pressed += 1
            self._judge(query, f"key {key}")
        self._singly = "main" if self._every else ""
        return len(controls) + len(KEYS)

    def _not_yet(self, names: Sequence[str]) -> list[str]:
        """Those that are to be pressed here."""
        found = [name for name in names if name not in self._known]
        if self._once:
            self._known.update(names)
        return found

    def look(self, query: str) -> bool:
        """Only open a page; True if nothing went wrong."""
        before = len(self.crawl.wrong)
        self.crawl.pages.append(query)
        self._page.goto(f"{self._address}/{query}")
        self._page.wait_for_selector("html[data-live]")
        self._judge(query, "opened")
        return len(self.crawl.wrong) == before

    def _controls(self) -> list[str]:
        return list(self._page.evaluate(FIND, self._singly))

    def _press(self, query: str, name: str) -> None:
        self._again(query)
        if name not in self._controls():
            return  # it shows the end of something that another press began
        began = self._page.evaluate(PRESS, [name, TYPED])
        self.crawl.pressed += 1
        if began == "leave":
            self._page.evaluate("name => location.assign(window.controls.get(name).href)", name)
            self._page.wait_for_selector("html[data-live]")
        if began == "typed":
            self._page.wait_for_timeout(200)  # the page waits for the end of the typing
        if began == "dialog":
            self._page.evaluate("document.querySelector('dialog[open]').close()")
        self._judge(query, name)

    def _again(self, query: str) -> None:
        """Bring the page back to a query."""
        if self._page.evaluate("window.explorerPage ? location.search : ''") == query and query:
            self._page.evaluate("for (const menu of document.querySelectorAll('details[open]')) menu.open = false")
        elif query and self._page.evaluate("!!window.explorerPage && !!new URLSearchParams(location.search).get('t')"):
            self._page.evaluate("query => explorerPage.go(query, true)", query)
        else:
            self._page.goto(f"{self._address}/{query}")
            self._page.wait_for_selector("html[data-live]")
        self._settle(query, "brought back")

    def _settle(self, query: str, name: str) -> None:
        from playwright.sync_api import TimeoutError as Late

        try:
            wait_until(
                self._page, "window.explorerPage && explorerPage.answered >= explorerPage.sent", within=ANSWER_WITHIN
            )
        except Late:
            self._wrong(query, name, "no answer")

    def _judge(self, query: str, name: str) -> None:
        self._settle(query, name)
        if self._page.get_by_text("This failed unexpectedly").count():
            self._wrong(query, name, self._page.locator("main").inner_text()[:300])
        for event in self._events:
            self._wrong(query, name, event)
        self._events.clear()

    def _wrong(self, query: str, name: str, what: str) -> None:
        self.crawl.wrong.append(f"{query} | {name} | {what}")
