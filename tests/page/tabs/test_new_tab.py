"""A tab is a module with its `TabSpec`, a template, and a line in the list of tabs: nothing else knows it.

It is in the browser and in the notebook.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pytest

from explorer import open_table
from explorer.jupyter.widget import TableExplorer
from explorer.page import tabs
from explorer.page.render import environment
from explorer.page.tab_spec import Tab, TabSpec
from explorer.page.window import Handler, Message, Window
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables
from tests.support.pages.open_windows import Window as OpenWindow
from tests.support.pages.page_elements import Elements
from tests.support.pages.widget_view import View

TEMPLATE = """
{% block lead %}<p id="greeting">{{ greeting }}</p>{% endblock %}
{% block charthead %}{% endblock %}{% block chartfoot %}{% endblock %}{% block rest %}{% endblock %}
{% block side %}{% endblock %}
"""


def _greet(window: Window) -> dict[str, Handler]:
    def greet(message: Message) -> None:
        window.answer(message, {"greeting": f"Hello {message.text('name')}"})

    return {"greet": greet}


TAB = TabSpec(
    "greeting", "Greeting", "greeting", lambda view, address, work: Tab({"greeting": "<Good day>"}), messages=_greet
)


@pytest.fixture
def greeting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A table, and one more tab: its module is this one."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "greeting.html").write_text(TEMPLATE, "utf-8")
    for made in (environment(), environment("explorer.web")):
        loaders = [jinja2.FileSystemLoader(tmp_path / "templates"), made.loader]
        monkeypatch.setattr(made, "loader", jinja2.ChoiceLoader([each for each in loaders if each is not None]))
    before = tabs.TABS
    for module in [module for name, module in sys.modules.items() if name.startswith("explorer.")]:
        if getattr(module, "TABS", None) is before:
            monkeypatch.setattr(module, "TABS", (*before, TAB))
    hostile_tables.empty_table(tmp_path / "w" / "t")
    return Catalog([str(tmp_path / "w")])


def test_a_new_tab_is_on_the_page_in_its_row_and_answers_its_messages(greeting: Catalog) -> None:
    window = OpenWindow(greeting, "?t=w/t&tab=greeting")
    regions = window.session.shown.regions
    assert Elements(regions["lead"]).text.strip() == "<Good day>"
    assert "Greeting" in Elements(regions["tabs"]).text
    assert "tab=greeting" in regions["tabs"]
    assert window.ask("greet", name="Ana")["regions"] == {"greeting": "Hello Ana"}


def test_a_new_tab_is_in_the_widget_a_value_of_its_trait_and_answers_its_messages(
    greeting: Catalog, tmp_path: Path
) -> None:
    widget = TableExplorer(open_table(tmp_path / "w" / "t"), tab="greeting")
    view = View(widget)
    assert Elements(view.regions["lead"]).text.strip() == "<Good day>"
    assert "tab=greeting" in view.regions["tabs"]
    assert view.ask("greet", name="Ana")["regions"] == {"greeting": "Hello Ana"}
    view.go("?t=t&tab=files")
    assert widget.tab == "files"
    view.go("?t=t&tab=greeting")
    assert widget.tab == "greeting"
