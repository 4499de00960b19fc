"""The head of the list of tables: which tables need attention, and what came since the last visit."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from explorer.page.address import Address
from explorer.web.home.morning import Morning, morning, new_commits
from explorer.web.home.tables import home_page
from explorer.web.served_tables import Catalog, TableSummary
from tests.support.comparison.audited_tables import loaded
from tests.support.logs import small_logs
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.pages.page_elements import assert_harmless

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Three tables whose commits came a day apart, the newest now: a clean one, one that lost rows, a broken one."""
    root = tmp_path_factory.mktemp("served") / "w"
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    gone = [
        small_logs.commit_info("DELETE", user_name=HOSTILE),
        small_logs.remove("1.parquet", deletion_timestamp=32_503_680_000_000),
    ]
    small_logs.write_log(root / "clean", [created, *(loaded(f"{n}.parquet") for n in range(4))])
    small_logs.write_log(root / "lossy", [created, loaded("0.parquet"), loaded("1.parquet"), gone])
    small_logs.write_log(root / "broken", [created, [b'{"add":']])
    for log in root.glob("*/_delta_log"):
        commits = sorted(log.glob("*.json"))
        for age, commit in enumerate(reversed(commits)):
            at = (NOW - timedelta(days=age)).timestamp()
            lines = [json.loads(line) for line in commit.read_bytes().splitlines() if line != b'{"add":']
            for line in lines:
                if "commitInfo" in line:
                    line["commitInfo"]["timestamp"] = int(at * 1_000)
            if lines:
                commit.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
            os.utime(commit, (at, at))
    return Catalog([str(root)])


def _rows(catalog: Catalog) -> list[TableSummary]:
    return [catalog.summary(ref) for ref in list(catalog.roots.tables())]


def _morning(catalog: Catalog, days: float | None) -> Morning:
    return morning(_rows(catalog), None if days is None else NOW - timedelta(days=days))


def test_tables_that_need_somebody_come_the_worst_first_and_clean_ones_do_not(catalog: Catalog) -> None:
    found = _morning(catalog, None)
    assert [(need.row.ref.title, need.finding is None) for need in found.needs] == [("broken", True), ("lossy", False)]
    assert found.needing == 2
    assert (found.since, found.commits, found.writers) == (None, 0, ())


def test_commits_since_the_last_look_are_counted_by_table_and_by_author(catalog: Catalog) -> None:
    found = _morning(catalog, 1.5)
    assert (found.commits, found.changed, found.read) == (4, 2, 3)
    assert {writer.name: writer.commits for writer in found.writers} == {"etl": 3, HOSTILE: 1}
    assert found.writers[0].name == "etl"
    assert _morning(catalog, -0.1).commits == 0
    clean = next(row for row in _rows(catalog) if row.ref.title == "clean")
    assert [new_commits(clean, NOW - timedelta(days=days)) for days in (0.5, 2.5, 99)] == [1, 3, 5]
    assert new_commits(clean, None) is None


def test_the_page_says_it_and_no_text_of_a_table_is_markup(catalog: Catalog) -> None:
    html = home_page(catalog, Address(), _rows(catalog), None, NOW - timedelta(days=1.5)).regions["lead"]
    assert "2 tables need attention" in html
    assert "4 commits on 2 of 3 tables" in html
    assert "New commits by author" in html
    assert_harmless(html)


def test_a_first_visit_calls_nothing_new(catalog: Catalog) -> None:
    html = home_page(catalog, Address(), _rows(catalog)).regions["lead"]
    assert "since your last visit" not in html
    assert "Mark all as seen" not in html


def test_new_commits_order_the_list(catalog: Catalog) -> None:
    since = NOW - timedelta(days=2.5)
    page = home_page(catalog, Address(sort="-new"), _rows(catalog), None, since).regions["lead"]
    listed = page[page.index("All tables") :]
    assert listed.index("<b>clean</b>") < listed.index("<b>lossy</b>") < listed.index("<b>broken</b>")


def test_sparklines_of_all_tables_show_the_same_days(catalog: Catalog) -> None:
    bars = {row.ref.title: row.bars for row in _rows(catalog)}
    assert len(bars["clean"]) == len(bars["lossy"]) == 30
    assert sum(bar.added > 0 for bar in bars["clean"]) == 2
    assert bars["lossy"][-1].taken > 0
    assert not any(bar.added or bar.taken for bar in bars["clean"][:-3])
