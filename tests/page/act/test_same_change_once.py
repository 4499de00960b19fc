"""The same change is not carried out a second time because the page was loaded anew, or opened twice."""

import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.transaction.commit_plan import CommitResult
from explorer.views.act.desk.draft import Question
from explorer.views.act.desk.state import Committing, Ended, Ready
from explorer.web.served_tables import Catalog
from tests.page.act.test_outcomes_kept import DESCRIBE, REAL, commits, desk_of, lead, press_commit, settle, slow, until
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.open_windows import Window

pytestmark = pytest.mark.sampled(tests=4)

OTHER = "?t=w/orders&tab=act&act=set-properties&f.key.0=team&f.value.0=sales&step=plan"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(tmp_path / "w" / "orders", [created, [small_logs.add("1.parquet", 3)]])
    return Catalog([str(tmp_path / "w")], allow_commits=True)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What every commit waits for."""
    event = threading.Event()
    commits(monkeypatch, slow(event))
    yield event
    event.set()


def newest(catalog: Catalog) -> int:
    return catalog.open("w/orders").latest_version()


def opened(catalog: Catalog, query: str = DESCRIBE) -> Window:
    window = Window(catalog, query)
    until(window, lambda: isinstance(desk_of(window).state, Ready))
    return window


def pressed(window: Window) -> str:
    """Press Commit, and return the complaint that answers it; empty if it was approved."""
    press_commit(window)
    window.answer()
    settle(window)
    return "".join(message["regions"].get("notice", "") for message in window.heard[-3:] if "regions" in message)


def test_a_page_loaded_anew_does_not_commit_what_is_being_committed(catalog: Catalog, held: threading.Event) -> None:
    first = opened(catalog)
    pressed(first)
    assert isinstance(desk_of(first).state, Committing)
    again = opened(catalog)
    assert "The same change was under way" in lead(again)
    assert "is already committing the same change" in pressed(again)
    assert not isinstance(desk_of(again).state, Committing)
    held.set()
    until(first, lambda: isinstance(desk_of(first).state, Ended))
    assert newest(catalog) == 2


def test_a_plan_made_before_the_same_commit_is_not_carried_out_unread(catalog: Catalog, held: threading.Event) -> None:
    first, second = opened(catalog), opened(catalog)
    held.set()
    pressed(first)
    until(first, lambda: isinstance(desk_of(first).state, Ended))
    assert newest(catalog) == 2
    assert "Another page committed the same change after this plan was made" in pressed(second)
    assert newest(catalog) == 2


def test_a_new_plan_of_a_change_that_was_committed_says_so(catalog: Catalog, held: threading.Event) -> None:
    held.set()
    first = opened(catalog, DESCRIBE)
    pressed(first)
    until(first, lambda: isinstance(desk_of(first).state, Ended))
    second = opened(catalog, DESCRIBE)
    assert "The same change was carried out as v2" in lead(second)
    assert "v=2" in lead(second)


def test_another_change_may_begin_meanwhile(catalog: Catalog, held: threading.Event) -> None:
    first, other = opened(catalog), opened(catalog, OTHER)
    pressed(first)
    assert pressed(other) == ""
    assert isinstance(desk_of(other).state, Committing)
    assert "The same change" not in lead(other)
    held.set()
    until(first, lambda: isinstance(desk_of(first).state, Ended))
    until(other, lambda: isinstance(desk_of(other).state, Ended))
    # Both change the metadata: the log lets one of them in.
    states = [desk_of(window).state for window in (first, other)]
    assert sorted(state.receipt.outcome for state in states if isinstance(state, Ended)) == ["committed", "conflicted"]


def test_a_commit_in_doubt_is_said_to_a_new_page_and_tried_again_by_its_own(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_table: explorer.Table, plan: Any, **_named: Any) -> CommitResult:
        return CommitResult(outcome="unknown", plan=plan, version=plan.commit_version)

    first = opened(catalog)
    commits(monkeypatch, unknown)
    pressed(first)
    until(first, lambda: isinstance(desk_of(first).state, Ended))
    assert "whether it was written as v2 is not known" in lead(opened(catalog))
    commits(monkeypatch, REAL)
    first.ask("try-again")
    until(first, lambda: newest(catalog) == 2)
    assert "The same change was carried out as v2" not in lead(first)


def test_a_change_that_was_refused_is_no_attempt(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    def rejected(_table: explorer.Table, plan: Any, **_named: Any) -> CommitResult:
        return CommitResult(outcome="rejected", plan=plan, version=None)

    first, second = opened(catalog), opened(catalog)
    commits(monkeypatch, rejected)
    pressed(first)
    until(first, lambda: isinstance(desk_of(first).state, Ended))
    commits(monkeypatch, REAL)
    assert pressed(second) == ""
    until(second, lambda: newest(catalog) == 2)


class Somebody:
    """Who tries a change."""


def test_what_was_carried_out_keeps_no_window_in_memory(catalog: Catalog) -> None:
    desk = Somebody()
    gone, question = weakref.ref(desk), Question("w/orders", "vacuum", (), "")
    catalog.attempts.begin(desk, question, None)
    catalog.attempts.end(desk, question, "committed", None)
    del desk
    assert gone() is None
    found = catalog.attempts.last(question)
    assert found is not None
    assert found.outcome == "committed"


def test_the_oldest_attempts_are_forgotten_and_no_running_one(catalog: Catalog) -> None:
    attempts, desk = catalog.attempts, Somebody()
    questions = [Question("w/orders", "vacuum", (("hours", str(hours)),), "") for hours in range(1_100)]
    for question in questions:
        attempts.begin(desk, question, None)
        if question is not questions[0]:
            attempts.end(desk, question, "committed", None)
    known = [attempts.last(question) is not None for question in questions]
    assert known == [True] + [False] * 100 + [True] * 999
