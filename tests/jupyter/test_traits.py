"""The traits are the page's address: from code, by a link, and by what a person presses in any view."""

from __future__ import annotations

import asyncio
from typing import Any

import ipywidgets
import numpy as np
import pytest
import traitlets

from explorer import RequestError
from explorer.core.errors import VersionNotFound
from explorer.jupyter.widget import TableExplorer
from explorer.jupyter.window import NotebookHost
from explorer.page.host import Identity
from explorer.page.tabs import TABS
from explorer.table import Table
from tests.support.own_loop import run_apart
from tests.support.pages.page_elements import Elements
from tests.support.pages.widget_view import View


@pytest.fixture
def widget(orders: Table) -> TableExplorer:
    return orders.explore()


def test_is_a_widget_that_boxes_take(widget: TableExplorer) -> None:
    assert widget in ipywidgets.VBox([widget]).children


def test_newest_version_is_chosen_at_first(widget: TableExplorer) -> None:
    assert (widget.version, widget.compare_version) == (5, None)
    assert repr(widget) == "TableExplorer('orders', version=5, compare_version=None, tab='diff')"


def test_versions_can_be_given_at_the_start(orders: Table) -> None:
    widget = orders.explore(version=3, compare_version=1)
    assert (widget.version, widget.compare_version) == (3, 1)
    assert View(widget).query == "?t=orders&v=3&c=1&tab=diff"


def test_setting_the_trait_moves_the_page(widget: TableExplorer) -> None:
    view = View(widget)
    widget.version = 2
    assert view.shows('data-pinned-version="2"')
    assert "part-2.parquet" in view.html
    assert view.query == "?t=orders&v=2&tab=diff"


def test_what_a_person_presses_sets_the_traits_and_tells_observers_once(widget: TableExplorer) -> None:
    view, seen = View(widget), list[object]()
    widget.observe(lambda change: seen.append((change["name"], change["new"])), ["version", "compare_version", "tab"])
    view.go("?t=orders&v=3&c=1&tab=files")
    assert seen == [("version", 3), ("compare_version", 1), ("tab", "files")]
    view.go("?t=orders&tab=files")
    assert (widget.version, widget.compare_version) == (5, None)


def test_a_page_that_shows_an_error_leaves_the_traits_as_they_were(widget: TableExplorer) -> None:
    view = View(widget)
    view.go("?t=orders&v=77&tab=files")
    assert "No such version" in view.html
    assert (widget.version, widget.tab) == (5, "diff")


def test_every_view_follows_and_each_has_an_address_of_its_own(widget: TableExplorer) -> None:
    one, other = View(widget, "one"), View(widget, "other")
    one.go("?t=orders&v=3&tab=files&sort=-size")
    assert other.shows('data-pinned-version="3"')
    assert "sort" not in other.query
    assert "tab=files" in other.query
    other.say("end")
    widget.version = 2
    assert one.shows('data-pinned-version="2"')
    assert 'data-pinned-version="3"' in other.html


def test_link_to_another_widget_works_both_ways(widget: TableExplorer) -> None:
    other = ipywidgets.IntSlider(value=1, min=0, max=5)
    link = traitlets.link((other, "value"), (widget, "version"))
    view = View(widget)
    assert widget.version == 1
    widget.version = 4
    assert other.value == 4
    view.go("?t=orders&v=2&tab=diff")
    assert other.value == 2
    link.unlink()


def test_both_ends_move_in_one_step(widget: TableExplorer) -> None:
    states: list[tuple[int, int]] = []
    widget.observe(lambda _: states.append((widget.version, widget.compare_version)), ["version", "compare_version"])
    widget.go(3, 1)
    assert set(states) == {(3, 1)}


@pytest.mark.parametrize("version", [-1, 6, 99_999])
def test_version_that_is_not_there_is_refused_is_said_and_nothing_moves(widget: TableExplorer, version: int) -> None:
    view = View(widget)
    before = view.query
    with pytest.raises(VersionNotFound) as refused:
        widget.version = version
    assert refused.value.nearest == (0 if version < 0 else 5)
    said = f"orders has no version {version} to show: versions 0 to 5 can be shown."
    view.until(lambda message: said in Elements(message.get("regions", {}).get("notice", "")).text)
    with pytest.raises(VersionNotFound):
        widget.compare_version = version
    with pytest.raises(VersionNotFound):
        widget.go(2, version)
    with pytest.raises(VersionNotFound), widget.hold_trait_notifications():
        widget.version = version
    assert (widget.version, widget.compare_version, view.query) == (5, None, before)
    widget.version = 4
    assert view.shows('data-pinned-version="4"')


WRONG = [
    ("version", "soon", "is not a version of"),
    ("version", "3/4/2026", "is two dates"),
    ("version", True, "must be a number"),
    ("compare_version", 1.5, "must be a number"),
    ("version", np.True_, "must be a number"),
    ("tab", "nowhere", "must be one of overview, diff, files"),
    ("tab", None, "must be one of"),
    ("theme", "<img src=x>", "must be one of auto, light, dark"),
    ("predicate", "amount >", "cannot be read at character 9"),
    ("predicate", "amont > 3", "no column amont"),
    ("predicate", 7, "must be a text"),
    ("selected_files", "part-1.parquet", "must be several paths"),
    ("selected_files", None, "must be several paths"),
    ("selected_files", ["part-1.parquet", 7], "by its path, a text"),
    ("selected_files", ["part-1.parquet", "part-9.parquet"], "no data file 'part-9.parquet'"),
]


@pytest.mark.sampled(cases=7)
@pytest.mark.parametrize(("name", "value", "why"), WRONG)
def test_a_wrong_value_is_a_typed_error_is_said_on_the_page_and_changes_nothing(
    orders: Table, name: str, value: object, why: str
) -> None:
    widget = orders.explore(tab="statistics", selected_files=["part-1.parquet"], predicate="amount > 1")
    view = View(widget)
    before = {trait: getattr(widget, trait) for trait in STATE}
    seen: list[object] = []
    widget.observe(seen.append, list(STATE))
    with pytest.raises(RequestError, match=why):
        setattr(widget, name, value)
    assert ({trait: getattr(widget, trait) for trait in STATE}, seen) == (before, [])
    view.until(lambda message: why in Elements(message.get("regions", {}).get("notice", "")).text)
    with pytest.raises(RequestError, match=why):
        orders.explore(**{name: value})


STATE = {
    "version": 2,
    "compare_version": 0,
    "tab": "files",
    "selected_files": ("part-2.parquet",),
    "predicate": "amount > 10",
    "theme": "dark",
}


@pytest.mark.sampled(cases=5)
@pytest.mark.parametrize("name", list(STATE))
def test_two_widgets_of_a_table_are_linked_by_any_trait(orders: Table, name: str) -> None:
    one, other = orders.explore(), orders.explore()
    link = traitlets.link((one, name), (other, name))
    setattr(one, name, STATE[name])
    assert getattr(other, name) == STATE[name]
    fresh = getattr(orders.explore(), name)
    setattr(other, name, fresh)
    assert getattr(one, name) == fresh
    link.unlink()


def test_the_widget_is_imported_by_its_name_and_takes_any_table(orders: Table) -> None:
    from explorer.jupyter import TableExplorer as ByName

    assert ByName is TableExplorer
    assert ByName(orders, version=3).version == 3


def test_a_file_is_selected_by_its_box_and_let_go(orders: Table) -> None:
    widget = orders.explore(version=4, tab="files")
    view = View(widget)
    boxes = [
        value
        for name, value in Elements(view.regions["lead"]).attributes
        if name == "href" and "pick=" in (value or "")
    ]
    assert len(boxes) == 3
    view.go(boxes[0])
    assert widget.selected_files == ("part-1.parquet",)
    assert 'aria-checked="true"' in view.regions["lead"]
    widget.selected_files = ["part-1.parquet", "part-3.parquet"]
    assert view.shows("2 selected")
    view.go("?t=orders&v=4&tab=files&pick=part-9.parquet")
    assert widget.selected_files == ("part-1.parquet", "part-3.parquet"), "no such file"
    view.go("?t=orders&v=4&tab=files")
    assert widget.selected_files == ()


def test_the_selected_files_are_a_table_with_the_version_in_which_each_is_live(orders: Table) -> None:
    widget = orders.explore(selected_files=["part-2.parquet", "part-1.parquet"])
    assert widget.selected.select(["version", "path", "num_records"]).to_pylist() == [
        {"version": 5, "path": "part-1.parquet", "num_records": 10},
        {"version": 4, "path": "part-2.parquet", "num_records": 20},
    ]
    assert widget.selected.column_names[1:] == orders.snapshot().files().column_names
    widget.go(1)
    assert widget.selected.column("path").to_pylist() == ["part-1.parquet"]
    assert widget.selected_files == ("part-2.parquet", "part-1.parquet")


def test_the_difference_is_that_of_the_chosen_versions(orders: Table) -> None:
    widget = orders.explore(version=3, compare_version=1)
    assert (widget.diff.from_version, widget.diff.to_version) == (1, 3)
    assert widget.diff.files.num_rows == 2


def test_the_predicate_is_the_condition_of_every_tab_that_has_one(orders: Table) -> None:
    widget = orders.explore(predicate="amount > 10", tab="statistics")
    view = View(widget)
    assert "amount &gt; 10" in view.html
    view.go("?t=orders&tab=data&where=amount+%3E+20")
    assert widget.predicate == "amount > 20"
    view.go("?t=orders&tab=statistics&where=amount+%3E")
    assert widget.predicate == "amount > 20", "half a condition is none"
    assert "cannot be read" in view.html
    widget.predicate = ""
    assert "where" not in view.query


def test_a_version_may_be_a_number_of_numpy(widget: TableExplorer) -> None:
    widget.version = np.int64(3)
    assert (widget.version, type(widget.version)) == (3, int)


def test_version_is_never_none_on_a_table_that_can_be_read(widget: TableExplorer) -> None:
    with pytest.raises(RequestError, match=r"must be a number, or a time such as .*, not None"):
        widget.version = None
    assert widget.version == 5


def test_the_figures_have_the_colors_of_the_notebook(widget: TableExplorer) -> None:
    view = View(widget, theme="dark")
    dark = view.figures["strip"]["data"][0]["marker"]["color"]
    view.ask("theme", theme="light")
    assert view.figures["strip"]["data"][0]["marker"]["color"] != dark


@pytest.mark.parametrize("tab", [tab.key for tab in TABS])
def test_every_tab_of_the_page_is_in_the_notebook(orders: Table, tab: str) -> None:
    widget = orders.explore(tab=tab)
    view = View(widget)
    label = next(found.label for found in TABS if found.key == tab)
    assert f'aria-current="page">{label}' in view.regions["tabs"]
    assert view.regions["lead"] + view.regions["rest"]
    assert view.regions["notice"] == ""


@pytest.mark.parametrize("message", [None, 7, {}, {"view": ""}, {"view": "x" * 41, "kind": "begin"}, ["begin"]])
def test_a_message_that_no_view_sends_is_dropped_and_logged(
    widget: TableExplorer, message: object, caplog: pytest.LogCaptureFixture
) -> None:
    widget._handle_custom_msg(message, [])
    assert "sent what it should not" in caplog.text


def test_of_many_views_the_oldest_is_let_go_and_begins_again_when_it_asks(widget: TableExplorer) -> None:
    first = View(widget, "first")
    for number in range(12):
        widget._handle_custom_msg({"kind": "begin", "view": f"later{number}", "width": 900, "height": 700}, [])
    assert len(widget._windows) == 12
    first.say("go", number=9, query="?t=orders&v=2", asked=True)
    assert first.heard[-1]["kind"] == "reload"


def test_a_trait_that_is_set_while_the_first_page_is_made_is_what_the_page_shows_then(orders: Table) -> None:
    async def shown() -> str:
        widget, heard = orders.explore(), list[Any]()
        widget.send = lambda message, _buffers=None: heard.append(message)
        widget._handle_custom_msg({"kind": "begin", "view": "one", "width": 900, "height": 700}, [])
        widget.version = 2
        for _ in range(600):
            if any(message.get("query", "") == "?t=orders&v=2&tab=diff" for message in heard):
                return "moved"
            await asyncio.sleep(0.05)
        return f"never: {[(message['kind'], message.get('query')) for message in heard]}"

    assert run_apart(shown()) == "moved"


def test_what_is_called_again_and_again_goes_on_after_a_call_that_fails() -> None:
    async def calls() -> int:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        host, made = NotebookHost("one", print, Identity()), list[int]()

        def call() -> None:
            made.append(1)
            raise ValueError

        host.every(5, call)
        for _ in range(200):
            if len(made) > 2:
                break
            await asyncio.sleep(0.02)
        host.close()
        return len(made)

    assert run_apart(calls()) > 2
