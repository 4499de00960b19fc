"""Changes in the widget: planned as on the pages, approved by the table's name, read by another client afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import EngineUnavailable, NotAllowed
from explorer.jupyter.act.panel import ActPanel
from explorer.jupyter.widget import TableExplorer
from explorer.spark.engine.java import find_java
from explorer.views.act.desk.state import Ended, Idle, Ready
from explorer.views.act.intents.registry import GROUPS
from tests.jupyter.conftest import shown
from tests.support.hostile_tables import HOSTILE
from tests.support.page_elements import Elements, assert_harmless
from tests.support.small_logs import PROTOCOL, add, commit_info, metadata, write_log

KINDS = [entry.kind for group in GROUPS for entry in group.entries]
TEXT = "What the shop sold."


@pytest.fixture
def location(tmp_path: Path) -> str:
    """A table of three rows, written by another client."""
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "amount": [10.0, 20.0, 30.0]})
    deltalake.write_deltalake(str(tmp_path / "sales"), rows)
    return str(tmp_path / "sales")


def act(location: str | Path, **state: Any) -> tuple[TableExplorer, ActPanel]:
    widget = explorer.open_table(location).explore(tab="act", **state)
    return widget, widget.panel("act")


def until(panel: ActPanel, reached: Callable[[], bool]) -> None:
    """Wait for what the threads of the desk do."""
    end = time.monotonic() + 120
    while not reached() or any(thread.name == "act" for thread in threading.enumerate()):
        assert time.monotonic() < end, Elements(shown(panel)).text
        time.sleep(0.05)


def visible(control: Any) -> bool:
    return bool(control.layout.display != "none")


def planned(panel: ActPanel, kind: str, **answers: str) -> None:
    panel.kind.value = kind
    for name, text in answers.items():
        panel.form.controls[name].value = text
    panel.show_plan.click()


def test_every_intent_is_offered_and_its_form_is_drawn_with_nothing_of_the_table_as_markup(tmp_path: Path) -> None:
    described = metadata({"id": "long", HOSTILE: "string"}, configuration={HOSTILE: HOSTILE})
    commits = [[commit_info("CREATE TABLE"), {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, described]]
    widget, panel = act(write_log(tmp_path / "t", commits))
    assert [kind for _, kind in panel.kind.options] == ["", *KINDS]
    assert len(KINDS) >= 30
    for kind in KINDS:
        panel.kind.value = kind
        html = shown(widget)
        assert 'role="alert"' not in html, kind
        assert_harmless(html)
        assert visible(panel.show_plan) or "Nothing to do here." in html, kind
    planned(panel, "set-properties", **{"key.0": HOSTILE, "value.0": HOSTILE})
    assert "Nothing has been written." in shown(widget)
    assert "What v1 would write" in shown(widget)
    assert_harmless(shown(widget))


def test_without_leave_it_says_what_a_change_would_do_and_makes_none(location: str) -> None:
    widget, panel = act(location)
    planned(panel, "set-description", description=TEXT)
    text = Elements(shown(widget)).text
    assert "This widget plans and never writes" in text
    assert "Nothing is done before you type" not in text
    assert TEXT in text
    assert "This can be committed." in text
    assert not visible(panel.commit)
    panel.name.value, panel.reason.value = "sales", "because"
    panel.commit.click()
    state = panel.desk.state
    assert isinstance(state, Ready)
    with pytest.raises(NotAllowed, match="allow_commits=True"):
        state.draft.table.commit(state.draft.plan, reason="because")
    panel.desk.approve("sales", "because", state.draft.plan.digest)
    panel.desk.commit()
    assert "NotAllowed" in str(panel.desk.state)
    assert deltalake.DeltaTable(location).version() == 0


def test_a_plan_that_cannot_be_committed_leads_with_the_guard_that_failed(tmp_path: Path) -> None:
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})]
    widget, panel = act(write_log(tmp_path / "t", [created, [commit_info("WRITE"), add("a.parquet", 3)]]))
    planned(panel, "set-column-mapping", mode="id")
    text = Elements(shown(widget)).text
    told = ["This must not be committed: 1 guard failed.", "mapping-mode", "Consequence, if it were done: "]
    places = [text.index(words) for words in told]
    assert places == sorted(places)


def test_a_table_opened_for_reading_only_is_not_changed_even_with_leave(location: str) -> None:
    widget = explorer.open_table(location, read_only=True).explore(tab="act", allow_commits=True)
    panel = widget.panel("act")
    planned(panel, "set-description", description=TEXT)
    assert "opened for reading only" in shown(widget)
    assert "explorer.open_table(location).explore(allow_commits=True)" in shown(widget)
    assert not visible(panel.commit)


def test_a_change_is_committed_by_the_name_of_the_table_and_another_client_reads_it(location: str) -> None:
    widget, panel = act(location, allow_commits=True)
    assert "never writes" not in shown(widget)
    assert "Nothing is done before you type" in shown(widget)
    panel.person.value = "ana"
    planned(panel, "set-description", description=TEXT)
    panel.name.value, panel.reason.value = "Sales", "The catalog was empty."
    panel.commit.click()
    assert "is not the table\u2019s name" in shown(widget)
    panel.name.value, panel.reason.value = "sales", " "
    panel.commit.click()
    assert "Say why" in shown(widget)
    assert deltalake.DeltaTable(location).version() == 0
    panel.name.value, panel.reason.value = "sales", "The catalog was empty."
    panel.commit.click()
    until(panel, lambda: isinstance(panel.desk.state, Ended))
    found = deltalake.DeltaTable(location)
    assert (found.version(), found.metadata().description) == (1, TEXT)
    written = found.history(1)[0]
    assert (written["userName"], "The catalog was empty." in str(written)) == ("ana", True)
    assert "Committed v1." in Elements(shown(widget)).text
    # The widget reaches the new version, and shows it when it is asked to.
    assert widget.version == 0
    panel.show_version.click()
    assert (widget.version, widget.tab) == (1, "diff")
    assert "What the shop sold." in shown(widget)
    widget.tab = "act"
    panel.back.click()
    assert (panel.kind.value, panel.desk.state) == ("", Idle())


def test_answers_are_checked_while_they_are_given(location: str) -> None:
    widget, panel = act(location)
    panel.kind.value = "rename-column"
    assert "Nothing to do here." in shown(widget)
    assert not visible(panel.show_plan)
    panel.kind.value = "add-constraint"
    assert "Still to fill in" in shown(widget)
    panel.show_plan.click()
    assert "Still to fill in" in shown(widget)
    panel.form.controls["name"].value = "positive"
    panel.form.controls["expression"].value = "nope > 0"
    assert 'role="alert"' in shown(widget)
    assert "nope" in Elements(shown(widget)).text
    panel.form.controls["expression"].value = "amount > 0"
    assert 'role="alert"' not in shown(widget)


def test_a_next_step_of_a_guard_opens_the_change_filled_in(location: str) -> None:
    widget, panel = act(location)
    asked = {"key.0": "delta.deletedFileRetentionDuration", "value.0": "interval 60 days"}
    planned(panel, "set-properties", **asked)
    ways = {button.description: button for button in panel._ways.children}
    ways["Set delta.logRetentionDuration too \u2026"].click()
    assert panel.kind.value == "set-properties"
    answers = panel.form.answers
    assert {answers[f"key.{place}"]: answers[f"value.{place}"] for place in (0, 1)} == {
        asked["key.0"]: asked["value.0"],
        "delta.logRetentionDuration": asked["value.0"],
    }
    assert "Ready." in shown(widget)


def test_a_plan_is_made_again_when_the_table_has_a_newer_version(location: str) -> None:
    widget, panel = act(location, allow_commits=True)
    planned(panel, "set-description", description=TEXT)
    deltalake.DeltaTable(location).alter.set_table_properties({"delta.logRetentionDuration": "interval 40 days"})
    widget.refresh()
    assert "The table has a newer version" in shown(widget)
    assert not visible(panel.commit)
    panel.again.click()
    assert "What v2 would write" in shown(widget)
    assert visible(panel.commit)


def test_old_versions_are_proposed_to_restore_and_upkeep_needs_no_reason(location: str) -> None:
    deltalake.DeltaTable(location).alter.set_table_properties({"delta.logRetentionDuration": "interval 40 days"})
    widget, panel = act(location, version=0, allow_commits=True)
    panel.kind.value = "restore"
    assert panel.form.controls["version"].value == "0"
    planned(panel, "checkpoint")
    assert not visible(panel.reason)
    panel.name.value = "sales"
    panel.commit.click()
    until(panel, lambda: isinstance(panel.desk.state, Ended))
    assert Path(location, "_delta_log", "_last_checkpoint").exists()
    assert widget.version == 0


@pytest.mark.spark
def test_rows_are_checked_deleted_and_cancelled_with_the_kernel_free(location: str) -> None:
    try:
        find_java()
    except EngineUnavailable as error:
        pytest.skip(str(error))
    widget, panel = act(location, allow_commits=True)
    planned(panel, "add-constraint", name="positive", expression="amount > 10")
    assert "The rows must be checked" in shown(widget)
    panel.look.click()
    panel.stop.click()
    until(panel, lambda: "Cancelled: the rows were not checked." in shown(widget))
    panel.look.click()
    assert "Cancelled" not in shown(widget)
    assert visible(panel.stop)
    until(panel, lambda: visible(panel.back))
    assert "This must not be committed" in shown(widget)
    next(button for button in panel._ways.children if button.description.startswith("Delete")).click()
    assert panel.kind.value == "delete"
    panel.show_plan.click()
    assert visible(panel.stop)
    panel.stop.click()
    assert visible(panel.show_plan)
    assert "Cancelled: no plan was made." in shown(widget)
    panel.show_plan.click()
    assert "Cancelled" not in shown(widget)
    until(panel, lambda: visible(panel.commit))
    panel.name.value, panel.reason.value = "sales", "They break the rule."
    offered: list[object] = []
    panel.stop.layout.observe(lambda change: offered.append(change["new"]), "display")
    panel.commit.click()
    until(panel, lambda: isinstance(panel.desk.state, Ended))
    assert None in offered, "while Spark writes, a person can cancel"
    assert deltalake.DeltaTable(location).to_pyarrow_table().column("amount").to_pylist() == [20.0, 30.0]
