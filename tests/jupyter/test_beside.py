"""A widget that has other tables beside its own compares with them, and says which it has."""

from __future__ import annotations

from pathlib import Path

import explorer
from explorer.table import Table
from tests.support.logs.small_logs import PROTOCOL, metadata, write_log
from tests.support.pages.widget_view import View


def test_a_table_that_was_given_is_compared_and_another_one_is_refused_by_name(orders: Table, tmp_path: Path) -> None:
    other = explorer.open_table(
        write_log(tmp_path / "bills", [[PROTOCOL, metadata({"order_id": "long", "due": "date"})]])
    )
    view = View(orders.explore(beside=[other]))
    view.ask("go", query="?t=orders&tab=diff&with=bills")
    assert view.shows("Make bills like this table")
    assert "The definition differs" in view.html
    view.ask("go", query="?t=orders&tab=diff&with=elsewhere")
    assert view.shows("This widget has no table")
    assert "explore(beside=[other])" in view.html


def test_a_widget_with_one_table_offers_no_other(orders: Table) -> None:
    assert "or another table" not in View(orders.explore()).html
