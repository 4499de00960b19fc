"""Long searches have an address that a colleague opens: the story of a row, changes, rows that differ."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest

from explorer.page.address import Address
from explorer.page.kept_results import KeptResults
from explorer.page.tabs.shared_results import SharedState, shared_state, size_of
from explorer.page.tabs.table_pair import PairWork
from explorer.views import TableView
from explorer.views.rows.spark_work import Shareable
from explorer.web.personal_results import PersonalResults
from explorer.web.served_tables import Catalog
from tests.support.logs.changing_table import written
from tests.support.pages.open_windows import Window

STORY = "?t=w/t&v=3&tab=row&row=" + quote('{"id":3}')


@pytest.fixture
def root(tmp_path: Path) -> Path:
    written(tmp_path / "w" / "t")
    return tmp_path / "w"


def _wait(window: Window, query: str, wanted: str, region: str = "lead") -> str:
    seen = len(window.heard)
    window.ask("go", query=query)
    found = window.until(
        lambda message: message in window.heard[seen:] and wanted in message.get("regions", {}).get(region, "")
    )
    return str(found["regions"][region])


@pytest.mark.parametrize(
    ("query", "kind", "region", "wanted"),
    [
        (STORY, "story", "lead", "Story of the row with id 3"),
        ("?t=w/t&v=3&c=2&tab=changes", "changes", "lead", "Share result"),
        ("?t=w/t&v=3&c=2&tab=diff", "differences", "lead", "Share result"),
    ],
)
def test_a_shared_search_opens_in_the_window_of_a_colleague_without_its_files(
    root: Path, query: str, kind: str, region: str, wanted: str
) -> None:
    catalog = Catalog([str(root)])
    mine = Window(catalog, "?t=w/t")
    shown = _wait(mine, query, wanted, region)
    assert f'data-do="{kind}-share"' in shown
    answer = mine.ask(f"{kind}-share")
    link = answer["query"]
    assert Address.parse(link).result.startswith(f"{kind}-")
    # What was read is what is shown: nothing is read again.
    for file in (root / "t").glob("*.parquet"):
        file.unlink()
    theirs = Window(catalog, "?t=w/t")
    seen = _wait(theirs, link, "kept for others until", region)
    assert "Copy link" in seen
    assert "THREE" in seen
    other = Window(catalog, "?t=w/t")
    gone = _wait(other, Address.parse(link).to(result=f"{kind}-gone"), "not kept here any more", region)
    assert "THREE" not in gone


def test_what_was_not_read_is_not_shared(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t&tab=overview")
    window.ask("go", query="?t=w/t&tab=overview&v=1")
    window.ask("story-share")
    assert "There is no result to share" in str(window.heard)
    assert not Address.parse(window.session.query).result


def test_rows_of_two_tables_are_shared_for_the_versions_that_were_compared(root: Path) -> None:
    catalog = Catalog([str(root)])
    address = Address.parse("?t=w/t&tab=diff&with=w/t&wv=1&v=3")
    view = TableView(catalog.facts("w/t"), version=3)
    work = PairWork(catalog, lambda: None)
    unread = work.shareable(view, address)
    work.prepare(view, address)
    found = work.shareable(view, address)
    assert (found.value, found.pins) == (None, (("other_version", "1"),))
    assert unread.about != found.about
    found.adopt("rows")
    assert work.shareable(view, address).value == "rows"
    later = work.shareable(TableView(view.facts, version=2), address)
    assert later.value is None


def test_a_window_keeps_its_own_result_and_says_when_a_shared_one_is_gone() -> None:
    kept = KeptResults()
    taken: list[object] = []
    asked = Shareable("story", ("story", 1), None, taken.append)
    own = Shareable("story", ("story", 1), "own", taken.append)
    id_ = kept.keep(("story", 1), "shared", 10, kind="story")
    assert id_ is not None
    assert shared_state(own, kept, Address(result=id_)).until is not None
    assert taken == []
    assert shared_state(asked, kept, Address(result=id_)).message == "story-share"
    assert taken == ["shared"]
    assert shared_state(asked, kept, Address(result="story-gone")).expired
    # An ID of another kind is not of this tab, and a host for one person shares nothing.
    assert shared_state(asked, kept, Address(result="changes-gone")) == SharedState()
    assert shared_state(own, None, Address(result=id_)) == SharedState()


def test_results_of_one_table_are_the_same_for_all_who_may_read_its_rows() -> None:
    results = KeptResults()
    personal = PersonalResults(results, lambda proof: proof)
    id_ = personal.keep("t", (1, 2), 10, kind="story")
    assert id_ is not None
    assert re.fullmatch(r"story-[\w-]{20,}", id_)
    found = personal.find(id_, "t")
    assert found is not None
    assert found.value == (1, 2)


def test_the_size_of_a_result_is_at_least_that_of_its_columns_and_texts() -> None:
    table = pa.table({"text": ["x" * 1_000] * 50})
    assert size_of({"rows": table, "note": "n" * 500}) >= table.nbytes + 500
    assert size_of([table, (table, "word")]) >= 2 * table.nbytes
    assert size_of(None) < 200
