"""Rows for a change may come from each folder that the server serves, and a refusal says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.core.errors import NotAllowed
from explorer.page.act.form import ActDesk, redrawn_parts
from explorer.page.address import Address
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables, small_logs


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Two served folders, one with a table; a folder beside them that is not served."""
    for name in ("tables", "incoming", "private"):
        (tmp_path / name).mkdir()
    small_logs.write_log(tmp_path / "tables" / "orders", [hostile_tables.created({"id": "long"})])
    for name in ("tables", "incoming", "private"):
        (tmp_path / name / "new.parquet").write_bytes(b"x")
    (tmp_path / "incoming" / "link.parquet").symlink_to(tmp_path / "private" / "new.parquet")
    (tmp_path / "incoming" / "batch").mkdir()
    (tmp_path / "incoming" / "batch" / "link.parquet").symlink_to(tmp_path / "private" / "new.parquet")
    return Catalog([str(tmp_path / "tables"), str(tmp_path / "incoming")])


SERVED = ("tables/new.parquet", "incoming/new.parquet")
OUTSIDE = (
    "private/new.parquet", "incoming/link.parquet", "incoming/batch", "incoming/../private/new.parquet",
    "incoming/*.parquet",
)  # fmt: skip


@pytest.mark.parametrize("path", [*SERVED, *OUTSIDE])
def test_form_and_plan_take_rows_from_each_served_folder_and_from_no_other(
    catalog: Catalog, tmp_path: Path, path: str
) -> None:
    source = f"{tmp_path}/{path}"
    address = Address(table="tables/orders", tab="act", act="append", answers=(("source", source),))
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    regions = redrawn_parts(catalog.facts("tables/orders"), address, desk.sheet, 0)
    assert ("Ready." in regions["act-check"]) is (path in SERVED)
    opened = catalog.open("tables/orders")
    if path in SERVED:
        opened.check_source(source)
        return
    with pytest.raises(NotAllowed) as refused:
        opened.plan({"kind": "append", "source": source})
    step = (
        "Put the file itself in its place." if path == "incoming/batch" else f"Copy it into {tmp_path / 'tables'} or "
    )
    assert step in refused.value.message
    assert step.split("/", maxsplit=1)[0] in regions["act-note-source"]


def test_a_log_still_names_files_under_the_root_of_its_table_alone(catalog: Catalog, tmp_path: Path) -> None:
    opened = catalog.open("tables/orders")
    opened.check_source(f"{tmp_path}/incoming/new.parquet")
    with pytest.raises(NotAllowed):
        opened.find_missing([f"{tmp_path}/incoming/new.parquet"])
