"""Press every control of a page, and see that each is answered and nothing goes wrong.

A control is what a person can press, choose or type into: links, buttons, menus, lists, fields, sorted headers, cells,
and the keys of the page. Each is pressed on the page as it was opened; what a menu or a dialog holds is pressed too.
Wrong is a fault of the program shown on the page, an answer that does not come, an error in the console or of a script,
an answer of status 400 and above, and a request off the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qs

from tests.support.pages.served_pages import enter, watch
from tests.support.pages.waiting import wait_until

__all__ = ["Crawl", "Crawler", "Place", "ServedPages", "WidgetView"]

KEYS = ("t", "t", "ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowRight", "ArrowRight", "Home", "End", "?", "Escape")
ANSWER_WITHIN = 60_000  # ms: on a busy machine a page of 10,000 versions takes its time
TYPED = "id'\"<b>&"

# The controls in the order of the document. A control is known by what it does: a link by the parts of the address that
# it changes, with their values where each is to be pressed ("all", or in "main" alone); anything else by its kind, its
# names and, without those, its text.
FIND = """
(page, singly) => {
  const here = new URLSearchParams(page.host.query());
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
  // A script cannot choose a file; tests/e2e/tabs/test_case.py does.
  const all = "a[href], button, summary, select, input:not([type=hidden], [type=file]), textarea, [data-do], "
    + "[role=button]";
  for (const element of page.root.querySelectorAll(all)) {
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
(page, [name, typed, leaving]) => {
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
  if (element.matches(leaving)) return "leave";
  element.scrollIntoView({ block: "center" });
  element.click();
  return page.root.querySelector("dialog[open]") ? "dialog" : "";
}
"""


class Place(Protocol):
    """Where the pages are shown that a crawler presses.

    Attributes:
        script: An expression of JavaScript: the page's script (`Page`), which knows its root and its address.
        scope: The part of the browser's page that holds the page.
        leaving: The links that lead the whole window to another page, as a selector.
    """

    script: str
    scope: Any
    leaving: str

    def open(self, query: str) -> None:
        """Show the page of a query from its beginning."""

    def focus(self) -> None:
        """Make keys go to the page."""

    def leave(self, href: str) -> None:
        """Follow a link that leads the whole window to another page."""

    def wrong(self) -> Iterable[str]:
        """Return what went wrong around the page, and forget it."""


class ServedPages:
    """Pages of a server, each in the whole window.

    Args:
        page: The browser's page.
        address: The address of the server, without its last slash.
    """

    def __init__(self, page: Any, address: str) -> None:
        enter(page.context, address)
        self.script, self.scope, self.leaving = "window.explorerPage", page, 'a[href^="?"]:not([data-nav])'
        self._address = address

    def open(self, query: str) -> None:
        """Load the page."""
        self.scope.goto(f"{self._address}/{query}")
        self.scope.wait_for_selector("html[data-live]")

    def focus(self) -> None:
        """Do nothing: the window has the keys."""

    def leave(self, href: str) -> None:
        """Load what the link leads to."""
        self.scope.evaluate("href => location.assign(href)", href)
        self.scope.wait_for_selector("html[data-live]")

    def wrong(self) -> Iterable[str]:
        """Return nothing: there is nothing around the page."""
        return ()


class WidgetView:
    """A view of the widget in the page of a notebook, which must stay as it is around the widget.

    Args:
        page: The browser's page, which shows the notebook.
        number: Of the views in the notebook.
    """

    def __init__(self, page: Any, number: int = 0) -> None:
        self.scope, self.leaving = page.locator(".dte-view").nth(number), 'a[href]:not([data-nav], main [href^="#"])'
        self.script = f"document.querySelectorAll('.dte-view')[{number}].explorerPage"
        self._page, self._wrong = page, list[str]()
        page.on("framenavigated", lambda frame: self._wrong.append(f"the notebook was led to {frame.url}"))
        page.on("popup", lambda window: self._wrong.append(f"a window was opened: {window.url}"))

    def open(self, query: str) -> None:
        """Lead the view to the page: what was typed and opened before is gone with the parts that are drawn anew."""
        self._page.evaluate(f"query => {self.script}.go(query)", query)

    def focus(self) -> None:
        """Give the keys to the timeline, unless a part of the page has them."""
        self._page.evaluate(
            f"(({{ root }}) => root.activeElement || root.getElementById('timeline-slot').focus())({self.script})"
        )

    def leave(self, href: str) -> None:
        """Take the link for a mistake: it would end the notebook."""
        self._wrong.append(f"a link leads the notebook to {href}")

    def wrong(self) -> Iterable[str]:
        """Return what led the notebook to another address, or opened a window."""
        found, self._wrong = self._wrong, []
        return found


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
    """Presses the controls of pages in one place.

    Args:
        page: The browser's page.
        place: Where in it the pages are; an address stands for the pages of the server there.
        every: Press each control of the first page, and on later pages each of the page's own part; of what stands
            around it there, and without this everywhere, one of those that change the same part of the address.
        once: Press a control on the first page that has it, and on no later one.
        without: Beginnings of the names of controls that are not pressed.
    """

    def __init__(
        self, page: Any, place: Place | str, *, every: bool = False, once: bool = False, without: Iterable[str] = ()
    ) -> None:
        self.crawl = Crawl()
        self._place = ServedPages(page, place) if isinstance(place, str) else place
        self._page, self._events = page, watch(page)
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
            self._place.focus()
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
        self._place.open(query)
        self._judge(query, "opened")
        return len(self.crawl.wrong) == before

    def _controls(self) -> list[str]:
        return list(self._run(FIND, self._singly))

    def _run(self, function: str, given: Any = None) -> Any:
        """Call a function of JavaScript with the page's script, and what it is given besides."""
        return self._page.evaluate(f"given => ({function})({self._place.script}, given)", given)

    def _press(self, query: str, name: str) -> None:
        self._again(query)
        if name not in self._controls():
            return  # it shows the end of something that another press began
        began = self._run(PRESS, [name, TYPED, self._place.leaving])
        self.crawl.pressed += 1
        if began == "leave":
            self._place.leave(self._page.evaluate("name => window.controls.get(name).href", name))
        if began == "typed":
            self._page.wait_for_timeout(200)  # the page waits for the end of the typing
        if began == "dialog":
            self._run("({ root }) => root.querySelector('dialog[open]').close()")
        self._judge(query, name)

    def _again(self, query: str) -> None:
        """Bring the page back to a query."""
        here = self._run("page => page ? page.host.query() : ''")
        if here == query and query:
            self._run("({ root }) => { for (const menu of root.querySelectorAll('details[open]')) menu.open = false; }")
        elif query and "t" in parse_qs(here.removeprefix("?")):
            self._run("(page, query) => page.go(query, true)", query)
        else:
            self._place.open(query)
        self._settle(query, "brought back")

    def _settle(self, query: str, name: str) -> None:
        from playwright.sync_api import TimeoutError as Late

        try:
            answered = f"(page => page && page.answered >= page.sent)({self._place.script})"
            wait_until(self._page, answered, within=ANSWER_WITHIN)
        except Late:
            self._wrong(query, name, "no answer")

    def _judge(self, query: str, name: str) -> None:
        self._settle(query, name)
        if self._place.scope.get_by_text("This failed unexpectedly").count():
            self._wrong(query, name, self._place.scope.locator("main").inner_text()[:300])
        for event in (*self._events, *self._place.wrong()):
            self._wrong(query, name, event)
        self._events.clear()

    def _wrong(self, query: str, name: str, what: str) -> None:
        self.crawl.wrong.append(f"{query} | {name} | {what}")
