"""The button of a finding holds its whole next step, on the list of tables and on the tab Audit."""

import re
from pathlib import Path

import pytest

from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.web.home.tables import home_page
from explorer.web.served_tables import Catalog
from tests.support.logs import small_logs
from tests.support.pages.idle_windows import idle_work

STEP = "See the files, and copy them to the table or allow their storage"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Serve a table whose log names a file in another storage."""
    elsewhere = small_logs.add("abfss://container@account.dfs.core.windows.net/t/a.parquet")
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    small_logs.write_log(tmp_path / "w" / "copied", [[*created, elsewhere]])
    return Catalog([str(tmp_path / "w")])


def _buttons(html: str) -> list[str]:
    return re.findall(r'class="button[^>]*>([^<]*)<', html)


def test_a_long_next_step_is_not_cut_on_the_list_of_tables(catalog: Catalog) -> None:
    rows = [catalog.summary(ref) for ref in list(catalog.roots.tables())]
    assert STEP in _buttons(home_page(catalog, Address(), rows).regions["lead"])


def test_a_long_next_step_is_not_cut_on_the_tab_audit(catalog: Catalog) -> None:
    page = table_page(catalog, Address.parse("?t=w/copied&tab=audit"), "light", idle_work(catalog))
    assert STEP in _buttons("".join(page.regions.values()))
