"""The traits are the state: from code, by a link, by the controls, and by a click on the timeline."""

from __future__ import annotations

from typing import Any

import ipywidgets
import numpy as np
import pytest
import traitlets

from explorer import RequestError
from explorer.core.errors import VersionNotFound
from explorer.jupyter.widget import TableExplorer
from explorer.table import Table
from tests.jupyter.conftest import figure_of, shown
from tests.support.page_elements import Elements


@pytest.fixture
def widget(orders: Table) -> TableExplorer:
    return orders.explore()


def controls(widget: TableExplorer) -> Any:
    return next(child for child in widget.children if hasattr(child, "slider"))


def click(widget: TableExplorer, place: float, *, shift: bool = False) -> None:
    """Send what the browser's half of the figure sends at a click on its last trace."""
    last = len(figure_of(widget).data) - 1
    figure_of(widget)._js2py_pointsCallback = {
        "event_type": "plotly_click",
        "points": {"trace_indexes": [last], "point_indexes": [0], "xs": [place], "ys": [0.0]},
        "device_state": {
            "alt": False, "ctrl": False, "meta": False, "shift": shift, "button": 0, "buttons": 1,
        },
        "selector": None,
    }  # fmt: skip


def cursor(widget: TableExplorer) -> tuple[float, float]:
    shape = figure_of(widget).layout.shapes[0]
    return shape.x0, shape.x1


def test_is_a_widget_that_boxes_take(widget: TableExplorer) -> None:
    assert isinstance(widget, ipywidgets.VBox)
    assert widget in ipywidgets.VBox([widget]).children


def test_newest_version_is_chosen_at_first(widget: TableExplorer) -> None:
    assert (widget.version, widget.compare_version) == (5, None)
    assert repr(widget) == "TableExplorer('orders', version=5, compare_version=None, tab='diff')"
    assert "v4 \u2192 v5" in shown(widget)


def test_versions_can_be_given_at_the_start(orders: Table) -> None:
    widget = orders.explore(version=3, compare_version=1)
    assert (widget.version, widget.compare_version) == (3, 1)
    assert "v1 \u2192 v3" in shown(widget)


def test_setting_the_trait_moves_every_part(widget: TableExplorer) -> None:
    widget.version = 2
    assert controls(widget).slider.value == 2
    assert controls(widget).other.value == 1
    assert cursor(widget) == (1.5, 2.5)
    assert "v1 \u2192 v2" in shown(widget)
    assert "part-2.parquet" in shown(widget)


def test_moving_the_slider_sets_the_trait_and_tells_observers_once(widget: TableExplorer) -> None:
    seen: list[int] = []
    widget.observe(lambda change: seen.append(change["new"]), "version")
    controls(widget).slider.value = 3
    assert (widget.version, seen) == (3, [3])


def test_buttons_step_and_stop_at_the_ends(widget: TableExplorer) -> None:
    assert controls(widget).onward.disabled
    for _ in range(5):
        controls(widget).back.click()
    assert (widget.version, controls(widget).back.disabled) == (0, True)
    controls(widget).onward.click()
    assert widget.version == 1


def test_link_to_another_widget_works_both_ways(widget: TableExplorer) -> None:
    other = ipywidgets.IntSlider(value=1, min=0, max=5)
    link = traitlets.link((other, "value"), (widget, "version"))
    assert widget.version == 1
    widget.version = 4
    assert other.value == 4
    other.value = 2
    assert (widget.version, controls(widget).slider.value) == (2, 2)
    link.unlink()


def test_compared_version_changes_the_diff_and_can_be_let_go(widget: TableExplorer) -> None:
    widget.compare_version = 1
    assert "v1 \u2192 v5" in shown(widget)
    assert controls(widget).other.value == 1
    widget.version = 3
    assert "v1 \u2192 v3" in shown(widget)
    controls(widget).reset.click()
    assert widget.compare_version is None
    assert "v2 \u2192 v3" in shown(widget)


def test_typed_compared_version_sets_the_trait(widget: TableExplorer) -> None:
    controls(widget).other.value = 0
    assert widget.compare_version == 0


def test_a_version_or_a_time_that_is_typed_is_gone_to_or_refused_in_words(widget: TableExplorer) -> None:
    controls(widget).named.value = "v2"
    assert widget.version == 2
    controls(widget).named.value = "1999-01-01"
    assert widget.version == 2
    assert "TimestampOutOfRange" in shown(widget)
    controls(widget).named.value = "3"
    assert widget.version == 3
    assert "TimestampOutOfRange" not in shown(widget)


def test_what_was_refused_is_said_until_another_part_is_opened(widget: TableExplorer) -> None:
    with pytest.raises(VersionNotFound):
        widget.version = 10_000
    assert "No such version" in shown(widget)
    widget.tab = "columns"
    assert "No such version" not in shown(widget)


def test_compared_version_may_be_the_later_one(widget: TableExplorer) -> None:
    widget.go(1, 3)
    assert "back in time" in shown(widget)
    assert "\u22122 files" in shown(widget)


def test_both_ends_move_in_one_step(widget: TableExplorer) -> None:
    states: list[tuple[int, int]] = []
    widget.observe(lambda _: states.append((widget.version, widget.compare_version)), ["version", "compare_version"])
    widget.go(3, 1)
    assert set(states) == {(3, 1)}


@pytest.mark.parametrize("version", [-1, 6, 99_999])
def test_version_that_is_not_there_is_refused_and_nothing_moves(widget: TableExplorer, version: int) -> None:
    before = shown(widget)
    with pytest.raises(VersionNotFound) as refused:
        widget.version = version
    assert refused.value.nearest == (0 if version < 0 else 5)
    assert f"orders has no version {version} to show: versions 0 to 5 can be shown." in Elements(shown(widget)).text
    with pytest.raises(VersionNotFound):
        widget.compare_version = version
    with pytest.raises(VersionNotFound):
        widget.go(2, version)
    with pytest.raises(VersionNotFound), widget.hold_trait_notifications():
        widget.version = version
    assert (widget.version, widget.compare_version) == (5, None)
    assert (controls(widget).slider.value, _without_notice(widget)) == (5, before)
    widget.version = 4
    assert "VersionNotFound" not in shown(widget)


def _without_notice(widget: TableExplorer) -> str:
    widget._notice.value = ""
    return shown(widget)


WRONG = [
    ("version", "3", "must be a number"),
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


@pytest.mark.parametrize(("name", "value", "why"), WRONG)
def test_a_wrong_value_is_a_typed_error_is_said_in_the_widget_and_changes_nothing(
    orders: Table, name: str, value: object, why: str
) -> None:
    widget = orders.explore(tab="statistics", selected_files=["part-1.parquet"], predicate="amount > 1")
    before = {trait: getattr(widget, trait) for trait in STATE}
    seen: list[object] = []
    widget.observe(seen.append, list(STATE))
    with pytest.raises(RequestError, match=why):
        setattr(widget, name, value)
    assert ({trait: getattr(widget, trait) for trait in STATE}, seen) == (before, [])
    assert 'role="alert"' in shown(widget)
    assert why in Elements(shown(widget)).text
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


def test_a_box_that_is_ticked_selects_the_file_in_every_list(orders: Table) -> None:
    widget = orders.explore(version=4, compare_version=0)
    files = widget.panel("diff").files
    host = next(child for child in widget.children if hasattr(child, "_esm") and child.has_trait("theme"))

    def tick(name: str, row: int, *, selected: bool) -> None:
        """Send what the page sends."""
        host._handle_custom_msg({"list": name, "row": row, "selected": selected}, [])

    tick(files.name, 1, selected=True)
    tick(files.name, 99, selected=True)
    tick(files.name, -1, selected=True)
    tick("list-0", 0, selected=True)
    assert widget.selected_files == ("part-2.parquet",)
    assert files.rows.value.count(" checked") == 1
    widget.tab = "files"
    tick(widget.panel("files").list.name, 0, selected=True)
    assert widget.selected_files == ("part-2.parquet", "part-1.parquet")
    tick(widget.panel("files").list.name, 1, selected=False)
    assert widget.selected_files == ("part-1.parquet",)
    widget.panel("files").list.select_all.click()
    assert set(widget.selected_files) == {"part-1.parquet", "part-2.parquet", "part-3.parquet"}
    assert widget.panel("files").list.rows.value.count(" checked") == 3
    widget.panel("files").list.select_none.click()
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


def test_the_predicate_is_one_for_statistics_and_rows(orders: Table) -> None:
    widget = orders.explore(predicate="amount > 10")
    assert widget.panel("data").where.value == "amount > 10"
    assert widget.panel("statistics").where.value == "amount > 10"
    widget.panel("statistics").where.value = "amount > 20"
    assert (widget.predicate, widget.panel("data").where.value) == ("amount > 20", "amount > 20")
    widget.tab = "statistics"
    widget.panel("statistics").where.value = "nope >"
    assert widget.predicate == "amount > 20"
    assert 'role="alert"' in shown(widget)
    widget.predicate = ""
    assert widget.panel("statistics").where.value == ""
    assert 'role="alert"' not in shown(widget)


def test_a_version_may_be_a_number_of_numpy(widget: TableExplorer) -> None:
    widget.version = np.int64(3)
    assert (widget.version, type(widget.version)) == (3, int)


def test_version_is_never_none_on_a_table_that_can_be_read(widget: TableExplorer) -> None:
    with pytest.raises(RequestError, match="must be a number, not None"):
        widget.version = None
    assert widget.version == 5


def test_click_on_the_timeline_chooses_and_shift_click_compares(widget: TableExplorer) -> None:
    click(widget, 3.0)
    assert (widget.version, widget.compare_version) == (3, None)
    click(widget, 1.0, shift=True)
    assert (widget.version, widget.compare_version) == (3, 1)


def test_click_beside_the_versions_moves_nothing(widget: TableExplorer) -> None:
    click(widget, 9.0)
    assert widget.version == 5


def test_colours_follow_the_page_or_the_trait(widget: TableExplorer) -> None:
    added = dict.fromkeys(("light", "dark", "back"))
    host = next(child for child in widget.children if hasattr(child, "_esm") and child.has_trait("theme"))
    added["light"] = figure_of(widget).data[0].marker.color
    host.theme = "dark"
    added["dark"] = figure_of(widget).data[0].marker.color
    assert "dte-dark" in widget._dom_classes
    widget.theme = "light"
    added["back"] = figure_of(widget).data[0].marker.color
    assert "dte-dark" not in widget._dom_classes
    assert added["light"] == added["back"] != added["dark"]
