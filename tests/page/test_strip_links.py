"""The strip's links: the undo of the chosen commit is one click away on every tab."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.web.served_tables import Catalog
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log
from tests.support.pages.idle_windows import idle_work


def _undo(root: Path, query: str) -> str | None:
    catalog = Catalog([str(root)])
    page = table_page(catalog, Address.parse(query), "light", idle_work(catalog))
    found = re.search(r'<a class="icon undo" data-nav href="([^"]*)"', page.regions["strip"])
    return None if found is None else html.unescape(found[1])


@pytest.mark.parametrize("tab", ["overview", "files", "diff"])
def test_the_strip_leads_to_what_undoes_the_chosen_commit(tmp_path: Path, tab: str) -> None:
    write_log(tmp_path / "w" / "t", [[PROTOCOL, metadata({"id": "long"})], [add("a", 1)], [add("b", 1)]])
    link = _undo(tmp_path / "w", f"?t=w/t&v=1&tab={tab}")
    assert link is not None
    address = Address.parse(link)
    assert (address.tab, address.step, address.version) == ("act", "undo", "1")
    # What the creation did is not undone.
    assert _undo(tmp_path / "w", f"?t=w/t&v=0&tab={tab}") is None
    assert _undo(tmp_path / "w", "?t=w/t&v=1&tab=act") is None
