"""A retention under an hour is planned, accepted by name, carried out and told, all on the pages."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.page.act.form import ActDesk
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.views.act.desk.state import Ended, Ready
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.idle_windows import work_at

SHORT = "&act=set-properties&f.key.1=delta.deletedFileRetentionDuration&f.value.1=interval+30+minutes"
VACUUM = "&act=vacuum"
FILES = "delta.deletedFileRetentionDuration"
FORTY_MINUTES_AGO = int(time.time() * 1000) - 40 * 60_000


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A table with a file that was removed, and last written, forty minutes ago."""
    removed = small_logs.remove("old.parquet", deletion_timestamp=FORTY_MINUTES_AGO)
    began = small_logs.commit_info("WRITE")
    adds = [small_logs.add(name, 2) for name in ("a.parquet", "old.parquet")]
    created = hostile_tables.created({"id": "long"})
    folder = small_logs.write_log(tmp_path / "w" / "orders", [created, [began, *adds], [began, removed]])
    for name in ("a.parquet", "old.parquet"):
        (folder / name).write_bytes(b"x" * 700)
        os.utime(folder / name, (FORTY_MINUTES_AGO / 1000,) * 2)
    return Catalog([str(tmp_path / "w")], allow_commits=True)


def _address(change: str) -> Address:
    return Address.parse(f"?t=w/orders&tab=act&step=plan{change}")


def _page(catalog: Catalog, desk: ActDesk, change: str) -> str:
    return table_page(catalog, _address(change), "light", work_at(desk)).regions["lead"]


def _planned(catalog: Catalog, desk: ActDesk, change: str) -> str:
    desk.ask(_address(change), newest=catalog.facts("w/orders").last, show=True)
    return _page(catalog, desk, change)


def _digest(desk: ActDesk) -> str:
    assert isinstance(desk.state, Ready)
    return desk.state.draft.plan.digest


def test_the_pages_say_what_it_may_cost_ask_for_the_name_and_name_it_in_the_receipt(catalog: Catalog) -> None:
    desk = ActDesk(catalog, "ana", signed_in=False, changed=list)
    shortened = _planned(catalog, desk, SHORT)
    assert "VACUUM may delete removed files after 30 minutes instead of 7 days." in shortened
    assert "It may also delete files that a running writer is about to commit" in shortened
    assert "interval 30 minutes." not in shortened
    desk.approve("orders", "because", _digest(desk))
    desk.commit()
    assert isinstance(desk.state, Ended)

    desk = ActDesk(catalog, "ana", signed_in=False, changed=list)
    asked = _planned(catalog, desk, VACUUM)
    assert "One guard is unknown. Fix the cause, or accept by name what cannot be known." in asked
    assert "Files written within the last hour can be deleted" in asked
    assert 'id="commit"' not in asked
    with pytest.raises(RequestError):
        desk.accept("live-files")
    desk.accept("retention")
    accepted = _page(catalog, desk, VACUUM)
    assert "You accepted this guard as unknown." in accepted
    assert 'id="commit"' in accepted
    desk.approve("orders", "storage", _digest(desk))
    desk.commit()

    assert isinstance(desk.state, Ended)
    facts = dict(desk.state.receipt.facts)
    assert (facts["files"], facts["accepted by name"]) == ("1 file", "retention")
    found = explorer.open_table(catalog.roots.locate("w/orders").location)
    assert [path for path in found.store.list_tree() if path.endswith(".parquet")] == ["a.parquet"]


def test_where_nothing_is_left_no_guard_asks_to_be_accepted(catalog: Catalog) -> None:
    desk = ActDesk(catalog, "ana", signed_in=False, changed=list)
    location = catalog.roots.locate("w/orders").location
    found = explorer.open_table(location)
    found.commit(found.plan({"kind": "set-properties", "properties": {FILES: "interval 30 minutes"}}))
    (Path(location) / "old.parquet").unlink()
    shown = _planned(catalog, desk, VACUUM)
    assert "Nothing to commit." in shown
    assert "One guard is unknown" not in shown
    assert "No file older than the cut-off has been unused since then." in shown
