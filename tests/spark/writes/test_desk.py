"""A change of rows at the desk of a window: planned on a thread of its own, with progress; cancelled; committed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.page.act.form import ActDesk
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.views.act.desk.state import Ended, Idle, Planning, Ready, Unplannable
from explorer.web.served_tables import Catalog
from tests.support.logs.spark_tables import column, write_table
from tests.support.pages.idle_windows import work_at

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=2)]

UPDATE = "?t=w/orders&tab=act&act=update&f.key.0=v&f.value.0=v+%2B+1&step=plan&f.where="
LONG = "aggregate(sequence(1, 30000), 0L, (a, x) -> a + aggregate(sequence(1, 30000), 0L, (b, y) -> b + x * y)) > 0"


@pytest.fixture
def orders(tmp_path: Path) -> explorer.Table:
    table = explorer.open_table(write_table(tmp_path / "w" / "orders", [column("id", "long"), column("v", "long")], []))
    rows = pa.table({"id": range(100), "v": range(100)})
    assert table.commit(table.plan({"kind": "append", "source": "rows"}, rows=rows)).outcome == "committed"
    return table


class _Window:
    """A desk, and what its page shows."""

    def __init__(self, root: Path, changed: Callable[[_Window], Any] = lambda _: None) -> None:
        self.catalog = Catalog([str(root)], allow_commits=True)
        self.desk = ActDesk(self.catalog, "ana", signed_in=False, changed=lambda: changed(self))

    def lead(self, where: str) -> str:
        found: str = table_page(self.catalog, self.at(where), "light", work_at(self.desk)).regions["lead"]
        return found

    def at(self, where: str) -> Address:
        return Address.parse(UPDATE) if not where else Address.parse(UPDATE + where.replace(" ", "+"))

    def settled(self) -> Any:
        deadline = time.monotonic() + 60
        while isinstance(self.desk.state, Planning):
            assert time.monotonic() < deadline, "the plan never came"
            time.sleep(0.05)
        return self.desk.state


def test_a_plan_that_reads_rows_shows_how_far_it_is_and_then_the_plan(orders: explorer.Table, tmp_path: Path) -> None:
    shown: list[str] = []
    window = _Window(tmp_path / "w", lambda window: shown.append(window.lead("id < 10")))
    assert "Making the plan" in window.lead("id < 10")
    assert isinstance(window.settled(), Ready)
    assert "10 updated in 1 file" in window.lead("id < 10")
    state = window.desk.state
    window.lead("id < 10")
    assert window.desk.state.draft.plan is state.draft.plan, "a page that is drawn again plans nothing"
    shown.clear()
    window.desk.approve("orders", "why", state.draft.plan.digest)
    window.desk.commit()
    assert isinstance(window.desk.state, Ended)
    assert any("Spark writes the rows" in page and 'data-do="cancel-commit"' in page for page in shown)
    found = explorer.open_table(orders.location).rows(where="v = id + 1").count()
    assert found == 10


def test_a_plan_that_is_not_wanted_any_longer_stops(orders: explorer.Table, tmp_path: Path) -> None:
    window = _Window(tmp_path / "w")
    assert 'data-do="cancel-plan"' in window.lead(LONG)
    job = window.desk.state.job
    window.desk.forget()
    assert isinstance(window.desk.state, Idle)
    with pytest.raises(explorer.ExplorerError):
        job.result(timeout=20)
    assert (job.state, type(window.desk.state)) == ("cancelled", Idle)
    assert "Making the plan" in window.lead("id < 3"), "another change is planned at once"
    assert isinstance(window.settled(), Ready)
    assert orders.latest_version() == 1


def test_a_condition_that_is_refused_is_told_in_the_form(orders: explorer.Table, tmp_path: Path) -> None:
    window = _Window(tmp_path / "w")
    window.lead("idd < 3")
    assert isinstance(window.settled(), Unplannable)
    assert "idd" in window.lead("idd < 3")
    assert orders.latest_version() == 1


def test_a_commit_that_is_cancelled_while_rows_are_written_leaves_nothing(
    orders: explorer.Table, tmp_path: Path
) -> None:
    window = _Window(tmp_path / "w", lambda window: window.desk.cancel_commit())
    window.lead("id < 10")
    state = window.settled()
    window.desk.approve("orders", "why", state.draft.plan.digest)
    before = sorted((tmp_path / "w" / "orders").rglob("*"))
    window.desk.commit()
    assert isinstance(window.desk.state, Ready)
    lead = window.lead("id < 10")
    assert "Cancelled: nothing was committed." in lead
    assert "What was written until then is removed." in lead
    assert explorer.open_table(orders.location).latest_version() == 1
    assert sorted((tmp_path / "w" / "orders").rglob("*")) == before
