"""A change is planned, approved and committed in the notebook as in the browser; who plans only never writes."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import explorer
from explorer.page.act.form import ActDesk
from explorer.views.act.desk.state import Ready
from tests.support.pages.page_elements import Elements
from tests.support.pages.widget_view import View

PLAN = "?t=sales&tab=act&act=set-description&step=plan&f.description=first"


@pytest.fixture
def location(tmp_path: Path) -> str:
    write_deltalake(str(tmp_path / "sales"), pa.table({"id": pa.array([1], pa.int64())}))
    return str(tmp_path / "sales")


def planned(location: str, *, allow_commits: bool) -> tuple[View, str]:
    """A view that shows a plan, and the digest of the plan."""
    view = View(explorer.open_table(location).explore(tab="act", allow_commits=allow_commits))
    view.ask("person", name="<b>ana</b>")
    view.go(PLAN)
    assert view.shows("data-plan")
    desk = view.widget._windows[view.name].work.of(ActDesk)
    ends = time.monotonic() + 30
    while not isinstance(desk.state, Ready) and time.monotonic() < ends:
        time.sleep(0.02)
    assert isinstance(desk.state, Ready), desk.state
    return view, desk.state.draft.plan.digest


def test_a_plan_is_committed_by_its_digest_the_name_and_a_reason(location: str) -> None:
    view, digest = planned(location, allow_commits=True)
    view.ask("commit", name="sales", reason="So that there is one.", digest=digest)
    assert view.shows("Committed v1")
    table = DeltaTable(location)
    assert (table.version(), table.metadata().description) == (1, "first")
    assert "<b>ana" not in view.html
    assert "<b>ana</b>" in Elements(view.html).text


@pytest.mark.parametrize("wrong", [{"name": "sale"}, {"reason": ""}, {"digest": "0" * 64}])
def test_a_commit_without_its_approval_is_refused(location: str, wrong: dict[str, str]) -> None:
    view, digest = planned(location, allow_commits=True)
    view.ask("commit", **({"name": "sales", "reason": "So.", "digest": digest} | wrong))
    assert DeltaTable(location).version() == 0


def test_a_widget_that_plans_only_says_so_and_writes_nothing_whatever_it_is_sent(location: str) -> None:
    view, digest = planned(location, allow_commits=False)
    assert "This widget is read-only." in Elements(view.html).text
    assert "table.explore(allow_commits=True)" in view.html
    view.say("commit", number=99, name="sales", reason="So.", digest=digest)
    assert DeltaTable(location).version() == 0
    assert [path.name for path in (Path(location) / "_delta_log").iterdir()] == [f"{0:020}.json"]
