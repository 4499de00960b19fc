"""Guards over the rows: what plans say of predicates that rows break, cannot be held against, or need not be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.transaction.proposal import GuardResult
from explorer.page.act.form import ActDesk
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.views.act.desk.draft import RowCheckProgress
from explorer.views.act.desk.state import Committing, Ended, Ready
from explorer.web.served_tables import Catalog
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.pages.idle_windows import work_at

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]

RULE = "&tab=act&step=plan&act=add-constraint&f.name=c&f.expression=id+%3E%3D+0"


@pytest.fixture
def orders(tmp_path: Path) -> explorer.Table:
    files = [
        DataFile("one.parquet", pa.table({"id": [1, 2, 3], "text": ["a", "<b>\x1b[1m", None]})),
        DataFile("two.parquet", pa.table({"id": [4, 0, 6], "text": ["d", "e" * 500, "f"]}), masked=(2,)),
    ]
    write_table(tmp_path / "orders", [column("id", "long"), column("text", "string")], files)
    return explorer.open_table(tmp_path / "orders")


def guard(table: explorer.Table, expression: str, **options: Any) -> GuardResult:
    plan = table.plan({"kind": "add-constraint", "name": "c", "expression": expression}, **options)
    (found,) = [guard for guard in plan.guards if guard.name == "existing-rows"]
    return found


@pytest.mark.conformance("CONSTR-008")
def test_rows_that_break_a_predicate_are_counted_and_shown(orders: explorer.Table) -> None:
    assert guard(orders, "id >= 0").status == "pass"
    broken = guard(orders, "length(text) < 100")
    assert broken.status == "fail"
    assert (broken.evidence["rows"], broken.evidence["violations"], broken.evidence["numFiles"]) == (5, 2, 2)
    assert broken.evidence["detail"] == "2 of 5 rows do not satisfy it."
    assert [file["violations"] for file in broken.evidence["files"]] == [1, 1]
    first, second = broken.evidence["examples"]
    assert first == {"file": "one.parquet", "rowIndex": 2, "row": {"id": "3", "text": None}}
    assert second["row"] == {"id": "0", "text": "e" * 200 + "…"}
    assert broken.remedy


@pytest.mark.always
def test_a_predicate_that_fails_on_a_row_is_a_failed_guard(orders: explorer.Table) -> None:
    found = guard(orders, "10 / id > 0")
    assert found.status == "fail"
    assert "fails on a row" in found.evidence["detail"]


@pytest.mark.parametrize("expression", ["nope(id) > 1", "id + 1", "id > (SELECT 1)", "rand() > 0.5", "count(id) > 1"])
def test_a_predicate_that_may_not_be_held_against_rows_is_refused(orders: explorer.Table, expression: str) -> None:
    with pytest.raises(InvalidIntent) as refused:
        guard(orders, expression)
    assert refused.value.field == "expression"


def test_rows_that_were_not_looked_at_leave_the_guard_unknown(orders: explorer.Table) -> None:
    plan = orders.plan({"kind": "add-constraint", "name": "c", "expression": "id >= 0"}, check_rows=False)
    assert [guard.name for guard in plan.blocking] == ["existing-rows"]
    assert orders.commit(plan).outcome == "rejected"
    accepted = orders.plan(
        {"kind": "add-constraint", "name": "c", "expression": "id >= 0"}, check_rows=False, accept=["existing-rows"]
    )
    assert orders.commit(accepted).outcome == "committed"


@pytest.mark.always
def test_rows_that_cannot_be_read_leave_the_guard_unknown(orders: explorer.Table, tmp_path: Path) -> None:
    (tmp_path / "orders" / "two.parquet").unlink()
    found = guard(orders, "id >= 0")
    assert found.status == "unknown"
    assert "two.parquet" in found.evidence["detail"]


def test_a_table_without_rows_needs_vetting_only(tmp_path: Path) -> None:
    write_table(tmp_path / "empty", [column("id", "long")], [])
    empty = explorer.open_table(tmp_path / "empty")
    assert guard(empty, "id > 0").evidence["detail"] == "The table has no rows."
    with pytest.raises(InvalidIntent):
        guard(empty, "nope(id) > 1")


@pytest.mark.always
def test_rows_are_looked_at_again_when_others_came_first(orders: explorer.Table) -> None:
    plan = orders.plan({"kind": "add-constraint", "name": "c", "expression": "id >= 0"})
    other = explorer.open_table(orders.location)
    assert other.commit(other.plan({"kind": "set-transaction", "appId": "x", "version": 1})).outcome == "committed"
    result = orders.commit(plan)
    assert (result.outcome, result.plan.read_version) == ("committed", 1)
    assert [each.status for each in result.plan.guards if each.name == "existing-rows"] == ["pass"]


def check_again(desk: ActDesk) -> RowCheckProgress | None:
    return desk.state.progress if isinstance(desk.state, Committing) else None


def approved(orders: explorer.Table, catalog: Catalog, changed: Callable[[ActDesk], None]) -> ActDesk:
    """A desk with a rule that was held against the rows and approved, after which another commit came first."""
    desk = ActDesk(catalog, "ana", signed_in=False, changed=lambda: changed(desk))
    (ref,) = list(catalog.roots.tables())
    address = Address.parse(f"?t={ref.name}{RULE}")
    desk.ask(address, newest=0, show=True)
    assert desk.start_row_check()
    desk.run_row_check()
    assert isinstance(desk.state, Ready)
    plan = desk.state.draft.plan
    orders.commit(orders.plan({"kind": "set-transaction", "appId": "other", "version": 1}))
    desk.approve("orders", "why", plan.digest)
    return desk


def test_a_commit_that_has_to_look_again_shows_how_far_it_is(orders: explorer.Table, tmp_path: Path) -> None:
    shown: list[RowCheckProgress | None] = []
    catalog = Catalog([str(tmp_path)], allow_commits=True)
    desk = approved(orders, catalog, lambda desk: shown.append(check_again(desk)))
    shown.clear()
    desk.commit()
    assert isinstance(desk.state, Ended)
    assert (desk.state.receipt.outcome, desk.state.receipt.version) == ("committed", 2)
    seen = [look for look in shown if look is not None]
    assert seen
    assert all(look.outcome == "running" and look.phase for look in seen)


def test_a_commit_that_looks_again_is_cancelled_and_says_that_nothing_was_committed(
    orders: explorer.Table, tmp_path: Path
) -> None:
    pages: list[str] = []
    wanted = Address.parse(f"?t={tmp_path.name}/orders{RULE}")

    catalog = Catalog([str(tmp_path)], allow_commits=True)

    def shown(desk: ActDesk) -> None:
        if check_again(desk) is not None:
            pages.append(table_page(catalog, wanted, "light", work_at(desk)).regions["lead"])
            desk.cancel_commit()

    desk = approved(orders, catalog, shown)
    desk.commit()
    assert 'data-do="cancel-commit"' in pages[0]
    assert "The table has a newer version" not in pages[0]
    assert (type(desk.state), explorer.open_table(orders.location).latest_version()) == (Ready, 1)
    lead = table_page(catalog, wanted, "light", work_at(desk)).regions["lead"]
    assert "Cancelled: nothing was committed." in lead
    assert "Update plan to v1" in lead
    desk.cancel_commit()
    desk.forget()
    assert "nothing was committed" not in table_page(catalog, wanted, "light", work_at(desk)).regions["lead"]
