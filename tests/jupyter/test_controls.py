"""Every control of the widget is pressed, in every part: each is answered in words, and nothing goes wrong.

Wrong is an exception, an error in the log, a fault of the program on show, and work that does not end. A small dose
presses what the log alone answers, on a small table; the whole dose presses what Spark answers too, on the demo tables.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

import explorer
from explorer.jupyter.tabs import TABS
from explorer.table import Table
from tests.jupyter.conftest import shown
from tests.notebooks.stories import java_is_there
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE, some_of

TYPED = "id'\"<b>&"
ASKS_SPARK = ("Show 100 rows", "Next 100 rows", "Rows before", "Read", "Compare", "Check the rows")
FAULT = "This is a fault of the program"
WITHIN = 120
"""Seconds in which work on Spark must end on a busy machine."""


def controls(widget: Any) -> Iterator[Any]:
    """What a person can press, choose or type into, as far as it is on show."""
    if getattr(widget.layout, "display", None) == "none":
        return
    takes = isinstance(widget, ipywidgets.Button) or hasattr(widget, "value")
    if takes and not isinstance(widget, ipywidgets.HTML) and not getattr(widget, "disabled", False):
        yield widget
    for child in getattr(widget, "children", ()):
        yield from controls(child)


def press(control: Any, *, spark: bool) -> None:
    """Do with a control what a person would; of a choice the whole dose tries all that it offers."""
    match control:
        case ipywidgets.Button():
            control.click()
        case ipywidgets.Checkbox():
            control.value = not control.value
        case ipywidgets.IntSlider() | ipywidgets.BoundedIntText():
            for value in (control.min, control.max):
                control.value = value
        case ipywidgets.ToggleButtons() | ipywidgets.Dropdown():
            for _, value in some_of(control.options, 3):
                control.value = value
        case _:
            control.value = TYPED
            if spark:
                control._handle_custom_msg({"event": "submit"}, [])  # what the browser's half sends at Enter


def press_all(widget: Any, part: Any, wrong: list[str], *, spark: bool) -> int:
    """Press each control of a part, those that come while others are pressed too; return how many were pressed."""
    pressed: set[tuple[str, ...]] = set()
    while found := [control for control in controls(part) if known_by(control) not in pressed]:
        control, named = found[0], known_by(found[0])
        pressed.add(named)
        if getattr(control, "description", "").startswith(ASKS_SPARK) and not spark:
            continue
        press(control, spark=spark)
        idle(widget)
        assert wrong == [], f"{widget!r}: {named}"
        assert FAULT not in shown(widget), f"{widget!r}: {named}"
    return len(pressed)


def known_by(control: Any) -> tuple[str, ...]:
    """What a control is known by: one that is made again, as a form does with each answer, is the same."""
    named = (str(getattr(control, name, "")) for name in ("description", "placeholder", "tooltip"))
    return (type(control).__name__, *named)


def idle(widget: Any) -> None:
    """Wait until nothing runs."""
    end = time.monotonic() + WITHIN
    while any(getattr(control, "description", "") == "Cancel" for control in controls(widget)):
        assert time.monotonic() < end, shown(widget)
        time.sleep(0.02)


@pytest.fixture
def wrong() -> Iterator[list[str]]:
    """Errors in the log, and warnings of ipywidgets, which logs what a handler of a control raises, and goes on."""
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(self.format(record))

    listeners = {"": Listener(logging.ERROR), "traitlets": Listener(logging.WARNING)}
    for name, listener in listeners.items():
        logging.getLogger(name).addHandler(listener)
    yield said
    for name, listener in listeners.items():
        logging.getLogger(name).removeHandler(listener)


@pytest.mark.parametrize("tab", TABS)
def test_every_control_of_a_part_is_answered(orders: Table, tab: str, wrong: list[str]) -> None:
    widget = orders.explore(tab=tab, version=3, allow_commits=True)
    pressed = press_all(widget, widget.panel(tab), wrong, spark=False)
    assert pressed > 0 or "No live file of v3 masks a row." in shown(widget)
    assert orders.latest_version() == 5, "nothing is committed without the name of the table"
    widget.close()


def test_every_control_above_the_parts_is_answered(orders: Table, wrong: list[str]) -> None:
    widget = orders.explore(version=3)
    above = ipywidgets.VBox([child for child in widget.children if child is not widget._place])
    assert press_all(widget, above, wrong, spark=False) == 7


def test_every_form_of_a_change_is_answered(orders: Table, wrong: list[str]) -> None:
    widget = orders.explore(tab="act", allow_commits=True)
    panel = widget.panel("act")
    for _, kind in at_least_one(some_of(panel.kind.options[1:], 3)):
        panel.kind.value = kind
        press_all(widget, panel.form, wrong, spark=False)
        assert panel.kind.value == kind
    assert orders.latest_version() == 5


@pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; the tests above press a small table's")
@pytest.mark.skipif(not java_is_there(), reason="Spark needs Java 17 or 21, and there is none")
@pytest.mark.spark
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("tab", TABS)
def test_every_control_of_the_demo_is_answered(demo_warehouse: Path, tab: str, wrong: list[str]) -> None:
    for name in ("sales/orders", "crm/customers", "web/events", "finance/ledger"):
        table = explorer.open_table(demo_warehouse / name)
        newest = table.latest_version()
        widget = table.explore(tab=tab, allow_commits=True)
        pressed = press_all(widget, widget.panel(tab), wrong, spark=True)
        assert pressed > 0 or "masks a row." in shown(widget)
        assert table.latest_version() == newest
        widget.close()
