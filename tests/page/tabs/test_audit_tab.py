"""The Audit tab: findings, the clients of the chosen version, and what a retention keeps and takes."""

from __future__ import annotations

import re
import shlex
from html import unescape
from pathlib import Path

import pytest

import explorer
from explorer.cli.app import command_group
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.versions.commit_times import moment
from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.page.tab_spec import export_files
from explorer.page.tabs import TABS, export_named
from explorer.report import verify_report
from explorer.views import TableFacts
from explorer.views.table.clients import client_listing, clients_in_use, newest_releases
from explorer.views.table.retention_curve import retention_curve
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import loaded
from tests.support.logs import small_logs
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.page_elements import Elements, assert_harmless

DAY = 86_400_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``t``: v3 and v4 remove a file each, 100 and 3 days ago; v5 makes deletion vectors a part of the protocol."""
    folder = tmp_path_factory.mktemp("served") / "w"
    now = small_logs.LONG_AGO
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    small_logs.write_log(
        folder / "t",
        [
            created,
            loaded("0.parquet", size=5),
            [*loaded("1.parquet", size=7), small_logs.add("2.parquet", 10, size=11)],
            [
                small_logs.commit_info("DELETE", user_name=HOSTILE),
                small_logs.remove("0.parquet", deletion_timestamp=now - 100 * DAY),
            ],
            [small_logs.commit_info("DELETE"), small_logs.remove("1.parquet", deletion_timestamp=now - 3 * DAY)],
            [
                small_logs.commit_info("SET TBLPROPERTIES"),
                small_logs.MASKED,
                small_logs.add("3.parquet", 9, size=1, vector=small_logs.vector("x", 4)),
            ],
        ],
    )
    small_logs.write_log(folder / "broken", [created, loaded("0.parquet"), [b'{"add":']])
    return folder


@pytest.fixture(scope="module")
def catalog(root: Path) -> Catalog:
    return Catalog([str(root)])


def _page(catalog: Catalog, query: str) -> Rendered:
    return table_page(catalog, Address.parse(query), "light", idle_work(catalog))


def test_what_a_page_does_not_ask_has_a_command_that_asks_it(root: Path, catalog: Catalog) -> None:
    lead = _page(catalog, "?t=w/t&tab=audit").regions["lead"]
    said = re.search(r'data-text="(delta-explorer [^"]*)"', lead)
    assert said is not None
    _, command, table, *options = shlex.split(unescape(said.group(1)))
    known = {name for each in command_group().commands[command].params for name in each.opts}
    assert set(options) <= known
    assert explorer.open_table(table).location == explorer.open_table(root / "t").location


def test_clients_are_those_of_the_chosen_version_and_the_worst_come_first(root: Path, catalog: Catalog) -> None:
    table, facts = explorer.open_table(root / "t"), catalog.facts("w/t")
    for version in (2, 5):
        judged = {(v.client, v.version_from): v for v in table.compatibility(version)}
        shown = newest_releases(facts, version)
        for each in shown:
            found = judged[each.client, str(each.version_from)]
            assert each.version == client_facts().versions[each.client][-1], "the newest, by what it is known to do"
            assert (each.read, each.write, each.because) == (found.read, found.write, found.because)
        ranks = [("wrong", "no", "unknown", "yes").index(each.read) for each in shown]
        assert ranks == sorted(ranks)
        assert client_listing(facts, version).total == len(judged) + len(clients_in_use(facts, version))
    reads = [{each.client: each.read for each in newest_releases(facts, version)} for version in (2, 5)]
    assert reads[0]["Presto"] == "yes"
    assert reads[1]["Presto"] == "wrong"
    html = _page(catalog, "?t=w/t&tab=audit&v=5").regions["side"]
    assert re.search(r"Presto.*?WRONG", html, re.DOTALL)
    assert "WRONG" not in _page(catalog, "?t=w/t&tab=audit&v=2").regions["side"]


def test_a_client_in_use_is_listed_once_and_all_are_counted(tmp_path: Path) -> None:
    created = [small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    engine = small_logs.commit_info("WRITE", engine_info="Apache-Spark/3.5.0 Delta-Lake/3.2.0")
    small_logs.write_log(tmp_path / "w" / "t", [[engine, *created]])
    served = Catalog([str(tmp_path / "w")])
    facts = served.facts("w/t")
    mine, others = clients_in_use(facts, 0), newest_releases(facts, 0)
    assert [each.client for each in mine] == ["delta-spark"]
    assert {each.client for each in others} == client_facts().versions.keys() - {"delta-spark"}
    side = Elements(_page(served, "?t=w/t&tab=audit").regions["side"]).text
    counts = re.findall(r"(\d+) (?:wrong results|refuse|not known|read it)", side)
    assert sum(map(int, counts)) == len(mine) + len(others)


def test_the_horizon_says_what_each_retention_keeps(root: Path) -> None:
    # Time stands still at LONG_AGO, three days after the last file was removed.
    facts = TableFacts(explorer.open_table(root / "t"), clock=lambda: moment(small_logs.LONG_AGO))
    own, short, long_ = (retention_curve(facts, days) for days in (None, 1, 120))
    assert (own.own.words, own.chosen) == ("7 days", own.own)
    assert (own.own.kept, own.own.lost, own.own.freed) == (4, "v1 to v2", "5 B in 1 file")
    assert (short.chosen.kept, short.chosen.lost, short.chosen.freed) == (3, "v1 to v3", "12 B in 2 files")
    assert (long_.chosen.kept, long_.chosen.lost, long_.chosen.freed) == (6, "", "nothing")
    assert own.top == 6
    assert own.days >= 101


def test_the_page_looks_at_the_retention_that_was_asked_for_and_opens_it_as_a_change(catalog: Catalog) -> None:
    side = unescape(_page(catalog, "?t=w/t&tab=audit&keep=45").regions["side"])
    assert "With <b>45 days</b>" in side
    href = re.search(r'href="([^"]*)">Change retention', side)
    assert href is not None
    assert dict(Address.parse(href[1]).answers)["value.0"] == "interval 45 days"
    assert "Preview vacuum" in side


def test_findings_are_shown_whole_and_nothing_of_the_table_is_markup(catalog: Catalog) -> None:
    page = _page(catalog, "?t=w/t&tab=audit")
    lead = page.regions["lead"]
    audit = catalog.facts("w/t").audit()
    assert lead.count("<article") == len(audit.findings) > 0
    for finding in audit.findings:
        assert finding.title in unescape(lead)
    assert_harmless("".join(page.regions.values()))


def test_a_history_that_cannot_be_read_still_shows_the_clients(catalog: Catalog) -> None:
    side = _page(catalog, "?t=w/broken&tab=audit&v=1").regions["side"]
    assert "Client compatibility" in side
    assert "Retention horizon" in side
    assert "not a valid action" in side or "cannot be read" in side


def test_who_changed_what_is_listed_by_person_without_the_first_version(tmp_path: Path) -> None:
    created = [small_logs.commit_info("CREATE TABLE", user_name="ana"), small_logs.PROTOCOL, small_logs.METADATA]
    first = [
        small_logs.commit_info("SET TBLPROPERTIES", user_name="ben", user_metadata="why"),
        small_logs.metadata({"id": "long"}, configuration={"delta.appendOnly": "true"}),
    ]
    small_logs.write_log(tmp_path / "w" / "t", [created, first])
    catalog = Catalog([str(tmp_path / "w")])
    html = _page(catalog, "?t=w/t&tab=audit").regions["rest"]
    assert "delta.appendOnly" in html
    assert ">ben 1</a>" in html
    assert "ana" not in html
    assert "delta.appendOnly" not in _page(catalog, "?t=w/t&tab=audit&q=zoe").regions["rest"]


def test_the_report_of_the_page_is_the_one_of_the_command(catalog: Catalog) -> None:
    view = _page(catalog, "?t=w/t&tab=audit").view
    assert view is not None
    page = export_named("report")(view, Address.parse("?t=w/t&tab=audit"), idle_work(catalog))
    (part,) = export_files(page, "report-1", "html")
    assert part["name"].endswith(".html")
    assert verify_report(part["text"].encode()).valid


def test_what_the_tab_keeps_does_not_stand_in_for_what_others_keep(catalog: Catalog) -> None:
    for tab in at_least_one((*(tab.key for tab in TABS), *(tab.key for tab in TABS))):
        page = _page(catalog, f"?t=w/t&tab={tab}&col=id")
        assert 'class="card problem' not in page.regions["lead"], tab


@pytest.mark.whole("the other tests of this file")
def test_the_line_of_a_long_history_has_no_more_points_than_its_drawing_has_places(tmp_path: Path) -> None:
    now = small_logs.LONG_AGO
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    commits = [
        [
            small_logs.commit_info("WRITE"),
            small_logs.add(f"{n + 1}.parquet", 1),
            small_logs.remove(f"{n}.parquet", deletion_timestamp=now - (2_000 - n) * DAY // 400),
        ]
        for n in range(1, 2_000)
    ]
    first = [small_logs.commit_info("WRITE"), small_logs.add("1.parquet", 1)]
    small_logs.write_log(tmp_path / "t", [created, first, *commits])
    facts = TableFacts(explorer.open_table(tmp_path / "t"), clock=lambda: moment(now))
    found = retention_curve(facts, None)
    points = [tuple(map(float, point.split(","))) for point in found.points.split(" ")]
    assert len(facts.horizon().retentions) > 1_900
    # Two for each of its 300 units, where it goes up.
    assert 200 < len(points) < 610
    assert points == sorted(points, key=lambda point: (point[0], -point[1]))
    assert points[-1][0] == 300.0
