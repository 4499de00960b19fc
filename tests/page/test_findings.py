"""Findings on the pages: the same everywhere, with evidence and remedies as links that lead somewhere."""

import re
from html import unescape
from pathlib import Path

import pytest

from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.web.home.tables import home_page
from explorer.web.served_tables import Catalog
from tests.support.comparison.audited_tables import loaded
from tests.support.logs import small_logs
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.page_elements import assert_harmless


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = tmp_path_factory.mktemp("served") / "w"
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    gone = [
        small_logs.commit_info("DELETE", user_name=HOSTILE),
        small_logs.remove("1.parquet", deletion_timestamp=32_503_680_000_000),
    ]
    small_logs.write_log(root / "lossy", [created, loaded("0.parquet"), loaded("1.parquet"), gone])
    small_logs.write_log(root / "clean", [created, loaded("0.parquet")])
    small = [small_logs.commit_info("WRITE"), *(small_logs.add(f"{n}.parquet", 1) for n in range(120))]
    small_logs.write_log(root / "small", [created, small])
    broken = small_logs.write_log(root / "broken", [created, loaded("0.parquet"), loaded("1.parquet")])
    last = broken / "_delta_log" / f"{2:020}.json"
    last.write_bytes(last.read_bytes()[:-30])
    return Catalog([str(root)])


def _page(catalog: Catalog, query: str) -> Rendered:
    return table_page(catalog, Address.parse(query), "light", idle_work(catalog))


def _findings(page: Rendered) -> str:
    return re.split(r"(?=<section)", page.regions["lead"])[2]


def _links(html: str) -> dict[str, str]:
    return {
        unescape(re.sub(r"<[^>]+>", "", text)).strip(): unescape(href)
        for href, text in re.findall(r'<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>', html, re.DOTALL)
    }


def test_the_bar_the_overview_and_the_list_name_the_same_worst_finding(catalog: Catalog) -> None:
    page = _page(catalog, "?t=w/lossy")
    assert "bulk loss, v3" in page.regions["bar"]
    assert "1,000 rows fewer after one commit" in _findings(page)
    rows = [catalog.summary(ref) for ref in list(catalog.roots.tables())]
    home = home_page(catalog, Address(), rows).regions["lead"]
    assert "bulk loss, v3" in home
    assert {row.ref.title: row.status for row in rows} == {
        "broken": "broken", "clean": "fine", "lossy": "watch", "small": "watch",
    }  # fmt: skip


@pytest.mark.parametrize("query", ["?t=w/lossy&v=0", "?t=w/lossy&v=1&tab=diff"])
def test_an_older_version_shows_the_findings_of_the_table_as_it_is_now(catalog: Catalog, query: str) -> None:
    page = _page(catalog, query)
    assert "bulk loss, v3" in page.regions["bar"]
    if "diff" not in query:
        assert "as it is now, v3" in _findings(page)


def test_the_audit_says_the_first_deadline_and_what_was_looked_at_without_a_click(catalog: Catalog) -> None:
    # The file was removed as the year 3000 began, and a vacuum leaves it for the seven days that are the default.
    lead = _page(catalog, "?t=w/lossy&tab=audit").regions["lead"]
    assert "first deadline 8 Jan 3000 00:00 UTC: 1,000 rows fewer after one commit" in lead
    basis = re.search(r'<p class="muted small basis-line">([^<]*)', lead)
    assert basis is not None
    assert "v3, from the log alone" in basis.group(1)
    assert "first deadline" not in _page(catalog, "?t=w/clean&tab=audit").regions["lead"]


def test_evidence_leads_to_the_difference_that_shows_it(catalog: Catalog) -> None:
    links = _links(_findings(_page(catalog, "?t=w/lossy&v=0&fold=1")))
    address = Address.parse(links["50 % of the rows"])
    assert (address.table, address.tab, address.version, address.compared) == ("w/lossy", "diff", "3", "2")
    shown = _page(catalog, links["50 % of the rows"])
    assert shown.view is not None
    assert (shown.view.version, shown.view.other) == (3, 2)


def test_the_remedy_opens_the_change_filled_in(catalog: Catalog) -> None:
    href = _links(_findings(_page(catalog, "?t=w/lossy")))["Restore v2\u2026"]
    address = Address.parse(href)
    assert (address.tab, address.act, dict(address.answers)) == ("act", "restore", {"version": "2"})
    form = "".join(_page(catalog, href).regions.values())
    assert re.search(r'<input[^>]*name="f.version"[^>]*value="2"', form)


def test_a_remedy_that_writes_rows_opens_its_change_too(catalog: Catalog) -> None:
    address = Address.parse(_links(_findings(_page(catalog, "?t=w/small")))["Compact the files\u2026"])
    assert (address.table, address.tab, address.act) == ("w/small", "act", "optimize")


def test_a_table_without_findings_says_what_was_looked_for_and_what_is_open(catalog: Catalog) -> None:
    page = _page(catalog, "?t=w/clean")
    html = _findings(page)
    assert "No findings" in html
    assert "commits that lost a fifth of the rows or more" in html
    assert "missing live files: Files were not checked" in html
    assert "log alone" in html
    assert 'class="chip warning' not in page.regions["bar"]


def test_a_history_that_cannot_be_read_is_not_called_nothing_found(catalog: Catalog) -> None:
    html = _findings(_page(catalog, "?t=w/broken&v=1"))
    assert "The log cannot be read from v" in html
    assert "No findings" not in html


def test_hostile_names_in_findings_stay_text(catalog: Catalog) -> None:
    rows = [catalog.summary(ref) for ref in list(catalog.roots.tables())]
    for page in (_page(catalog, "?t=w/lossy"), home_page(catalog, Address(), rows)):
        assert_harmless("".join(page.regions.values()))


def test_the_worst_alone_is_tinted(catalog: Catalog) -> None:
    assert _findings(_page(catalog, "?t=w/lossy")).count(" worst") == 1


def test_the_lane_under_the_bars_shows_what_is_safe_to_read(tmp_path: Path) -> None:
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    replaced = [small_logs.remove("0.parquet"), small_logs.add("1.parquet")]
    small_logs.write_log(tmp_path / "w" / "t", [created, loaded("0.parquet"), replaced])
    # The page looks for the file that a vacuum may take.
    (tmp_path / "w" / "t" / "0.parquet").write_bytes(b"rows")
    view = _page(Catalog([str(tmp_path / "w")]), "?t=w/t").view
    assert view is not None
    log, data = view.lanes
    assert [(span.first, span.last, span.state) for span in log.spans] == [(0, 2, "readable")]
    assert [(span.first, span.last, span.state) for span in data.spans] == [
        (0, 0, "readable"),
        (1, 1, "at risk"),
        (2, 2, "readable"),
    ]
    found = [(span.first, span.last, span.state) for span in view.facts.states().spans()]
    assert found == [(0, 0, "readable"), (1, 1, "at risk"), (2, 2, "readable")]


def test_retention_that_cannot_be_read_leaves_the_page_and_says_so(tmp_path: Path) -> None:
    described = small_logs.metadata({"id": "long"}, (), {"delta.deletedFileRetentionDuration": "soon"})
    small_logs.write_log(tmp_path / "w" / "t", [[small_logs.PROTOCOL, described], loaded("0.parquet")])
    page = _page(Catalog([str(tmp_path / "w")]), "?t=w/t")
    assert page.view is not None
    (span,) = page.view.lanes[0].spans
    assert (span.state, span.label.partition(":")[0]) == ("unknown", "until when is unknown")
    assert "delta.deletedFileRetentionDuration" in _findings(page)


def test_evidence_at_the_first_version_leads_there(tmp_path: Path) -> None:
    # A vacuum takes the file of v0 alone: `v=0` is a version, and no address without one.
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    replaced = [*loaded("1.parquet", operation="OPTIMIZE"), small_logs.remove("0.parquet")]
    small_logs.write_log(tmp_path / "w" / "early", [[*created, small_logs.add("0.parquet", 1_000)], replaced])
    served = Catalog([str(tmp_path / "w")])
    page = _page(served, "?t=w/early")
    ways = [href for text, href in _links(_findings(page)).items() if text == "v0"]
    assert len(ways) == 1
    address = Address.parse(ways[0])
    assert (address.table, address.version) == ("w/early", "0")
    shown = table_page(served, address, "light", idle_work(served))
    assert shown.view is not None
    assert shown.view.version == 0
