"""Pages as HTML: hostile strings stay text, broken tables have their state, and no state is blank."""

import re
from pathlib import Path

import pytest

from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.page.tabs import TABS
from explorer.web.home.tables import home_page
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.page_elements import Elements, assert_harmless


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served") / "w"
    hostile_tables.hostile_table(root / "hostile")
    hostile_tables.broken_table(root / "broken")
    hostile_tables.gap_table(root / "gap")
    hostile_tables.future_table(root / "future")
    hostile_tables.empty_table(root / "empty")
    (root / "plain").mkdir()
    return root


@pytest.fixture(scope="module")
def catalog(served: Path) -> Catalog:
    return Catalog([str(served)])


def _page(catalog: Catalog, query: str) -> Rendered:
    return _shown(catalog, Address.parse(query))


def _shown(catalog: Catalog, address: Address) -> Rendered:
    return table_page(catalog, address, "light", idle_work(catalog))


def _html(page: Rendered) -> str:
    return "".join(page.regions.values())


@pytest.mark.parametrize("tab", [tab.key for tab in TABS])
@pytest.mark.parametrize("view", ["chart", "table"])
def test_hostile_strings_become_no_element_and_no_handler(catalog: Catalog, tab: str, view: str) -> None:
    hostile = Address(
        table="w/hostile",
        tab=tab,
        view=view,
        find=hostile_tables.HOSTILE,
        file=hostile_tables.HOSTILE,
        column=hostile_tables.HOSTILE,
    )
    for address in (Address(table="w/hostile", tab=tab, view=view), hostile):
        page = _shown(catalog, address)
        assert page.view is not None
        assert_harmless(_html(page))
        assert "49" not in re.sub(r"\d{3,}", "", page.title)
        for figure in (page.timeline, page.chart):
            sent = "" if figure is None else str(figure.message(None))
            assert "<img" not in sent
            assert "<script" not in sent


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("?t=w/broken", "MalformedAction"),
        ("?t=w/gap", "VersionGap"),
        ("?t=w/future", "UnsupportedFeature"),
        ("?t=w/plain", "TableNotFound"),
        ("?t=w/nothing", "TableNotFound"),
        ("?t=w/../../etc", "NotAllowed"),
        ("?t=elsewhere/x", "NotAllowed"),
        ("?t=w/hostile&v=99999", "VersionNotFound"),
        ("?t=w/hostile&v=abc", "VersionNotFound"),
        ("?t=w/hostile&c=7", "VersionNotFound"),
        ("?t=w/hostile&tab=acts", "RequestError"),
    ],
)
def test_each_failure_has_its_state(catalog: Catalog, query: str, kind: str) -> None:
    page = _page(catalog, query)
    assert f'data-kind="{kind}"' in page.regions["lead"]
    assert "What to do." in page.regions["lead"]
    assert "read-only" in page.regions["bar"]


def test_a_version_out_of_range_names_the_range_and_the_nearest(catalog: Catalog) -> None:
    lead = _page(catalog, "?t=w/hostile&v=99999").regions["lead"]
    assert "versions 0 to 1 can be shown" in lead
    assert "v=1" in lead


def test_the_versions_before_a_broken_line_are_shown(catalog: Catalog) -> None:
    page = _page(catalog, "?t=w/broken&v=1")
    assert "3 live rows in 1 file" in page.regions["lead"]
    assert "version 2" in page.regions["notice"]
    assert "v=1" in _page(catalog, "?t=w/broken").regions["lead"]


def test_the_versions_before_a_missing_commit_are_offered_and_shown(catalog: Catalog) -> None:
    assert "Show v1" in _page(catalog, "?t=w/gap").regions["lead"]
    page = _page(catalog, "?t=w/gap&v=1")
    assert "VersionGap" not in page.regions["lead"]
    assert "1 live row in 1 file" in page.regions["lead"]
    assert "The commit of version 2 is missing" in page.regions["notice"]
    assert "Go to newest, v4" in Elements(page.regions["strip"]).text
    assert "Show v1" in _page(catalog, "?t=w/gap&v=3").regions["lead"]


@pytest.mark.parametrize(
    ("tab", "text"),
    [
        ("overview", "created, no data yet"),
        ("diff", "v0 is the only version"),
        ("files", "No live files"),
        ("deletion-vectors", "does not use deletion vectors"),
        ("statistics", "No live files"),
        ("data", "no rows to read"),
    ],
)
def test_an_empty_table_says_what_would_be_here(catalog: Catalog, tab: str, text: str) -> None:
    assert text in _page(catalog, f"?t=w/empty&tab={tab}").regions["lead"]


def test_the_list_holds_every_table_and_the_cause_of_the_unreadable(served: Path) -> None:
    # A catalog of its own: one whose pages were drawn knows which files are missing.
    catalog = Catalog([str(served)])
    rows = [catalog.summary(ref) for ref in list(catalog.roots.tables())]
    assert {row.ref.title: row.health for row in rows} == {
        "broken": "danger", "empty": "ok", "future": "warning", "gap": "danger", "hostile": "ok",
    }  # fmt: skip
    html = home_page(catalog, Address(), rows).regions["lead"]
    assert "timeMachine" in html
    assert "not supported 1" in html


def test_the_list_without_tables_says_what_a_table_is(tmp_path: Path) -> None:
    html = home_page(Catalog([str(tmp_path)]), Address(), []).regions["lead"]
    assert "No Delta table found" in html


def test_unknown_sort_of_the_list_is_by_name(catalog: Catalog) -> None:
    rows = [catalog.summary(ref) for ref in list(catalog.roots.tables())]
    for sort in ("-size", "rows", "health", "nonsense", "-timestamp"):
        assert home_page(catalog, Address(sort=sort), rows).regions["lead"].count("<tr") == 6


def test_the_catalog_notices_a_new_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.page.tables._FRESH", 0.0)
    table = hostile_tables.empty_table(tmp_path / "w" / "t")
    catalog = Catalog([str(tmp_path / "w")])
    before = catalog.facts("w/t")
    assert catalog.facts("w/t") is before
    actions = [small_logs.commit_info("WRITE"), small_logs.add("a.parquet", 2)]
    small_logs.write_log(table, [actions], 1)
    assert (before.last, catalog.facts("w/t").last) == (0, 1)
