"""The timeline of all tables as a page, and the filters of the list: tables of others, broken ones, hostile texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import deltalake
import pytest

from explorer.page.address import Address
from explorer.views.many_tables.record import KeptRecord
from explorer.web.home.filtering import filtered
from explorer.web.home.tables import ListView, home_page
from explorer.web.home.timeline import lane_card, timeline_page
from explorer.web.served_tables import Catalog, TableSummary
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import loaded
from tests.support.logs import small_logs
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.pages.open_windows import Window
from tests.support.pages.page_elements import assert_harmless
from tests.support.shared_tables import reference_root

REFERENCE = ("deletion-vectors", "column-mapping", "change-feed", "optimize")


def known(catalog: Catalog) -> list[TableSummary]:
    return [catalog.summary(ref) for ref in list(catalog.roots.tables())]


def names(rows: Sequence[TableSummary]) -> set[str]:
    return {row.ref.title for row in rows}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Half of the tables cannot be read; one has hostile names everywhere."""
    root = tmp_path_factory.mktemp("served") / "lake"

    def created(**columns: str) -> list[small_logs.Line]:
        return [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata(columns)]

    small_logs.write_log(root / "sales" / "orders", [created(id="long", contact_email="string"), loaded("0.parquet")])
    small_logs.write_log(root / "sales" / "returns", [created(id="string"), loaded("0.parquet")])
    hostile = [small_logs.commit_info("WRITE", user_name=HOSTILE, engine_info=HOSTILE), small_logs.add("0.parquet", 3)]
    small_logs.write_log(root / "odd" / "hostile", [created(**{HOSTILE: "string"}), hostile])
    for name in "abc":
        small_logs.write_log(root / "odd" / f"broken-{name}", [created(id="long"), [b'{"add":']])
    return Catalog([str(root)])


def test_a_table_is_found_by_a_part_of_a_column_s_name_its_type_and_both_of_one_column(lake: Catalog) -> None:
    rows = known(lake)
    assert names(filtered(Address.parse("?col=EMAIL"), rows).rows) == {"orders"}
    assert names(filtered(Address.parse("?col=id&facet=type:string"), rows).rows) == {"returns"}
    assert names(filtered(Address.parse("?facet=folder:lake/sales"), rows).rows) == {"orders", "returns"}
    html = home_page(lake, Address.parse("?col=email"), rows).regions["lead"]
    assert "contact_email</a>" in html
    assert "tab=columns" in html


def test_tables_that_need_attention_obey_the_filters_and_those_left_out_are_counted(lake: Catalog) -> None:
    rows = known(lake)
    found = filtered(Address.parse("?facet=folder:lake/odd"), rows)
    needing = sum(row.status in {"broken", "wrong", "unread", "watch"} for row in rows)
    shown = sum(row.status in {"broken", "wrong", "unread", "watch"} for row in found.rows)
    assert shown == 3
    assert found.needing_outside == needing - shown
    html = home_page(lake, Address.parse("?facet=feature:rowTracking"), rows).regions["lead"]
    assert "3 tables need attention outside these filters" in html
    assert "No table matches these filters" in html
    assert "3 tables not read, or not readable: only the filter by folder finds them." in html


def test_counts_of_the_statuses_obey_the_facets(lake: Catalog) -> None:
    found = filtered(Address.parse("?facet=folder:lake/odd&standing=broken"), known(lake))
    assert found.counts["broken"] == len(found.rows) == 3
    assert found.named == 4


@pytest.mark.parametrize("query", ["?show=timeline", "?show=timeline&sort=lost", "?show=timeline&range=2020-01-01~"])
def test_half_of_a_lake_may_fail_and_the_rest_is_drawn(lake: Catalog, query: str) -> None:
    page = timeline_page(lake, Address.parse(query), known(lake), None, ListView())
    html = page.regions["lead"]
    assert html.count("A line of the log cannot be read.</b>") == 3
    assert html.count("data-marks=") == 3
    assert "3 tables need attention" in html
    assert_harmless(html)
    assert_harmless(home_page(lake, Address.parse(query.replace("timeline", "")), known(lake)).regions["lead"])


def test_rows_of_the_timeline_have_in_numbers_what_their_lanes_show(lake: Catalog) -> None:
    html = timeline_page(
        lake, Address.parse("?show=timeline&range=2020-01-01~"), known(lake), None, ListView()
    ).regions["lead"]
    row = html[html.index("<b>orders</b>") :].partition("</tr>")[0]
    assert '<td class="num">2</td>' in row
    assert '<span class="added">+1,000</span>' in row or '<span class="added">+1 k</span>' in row
    assert "6 tables, 6 commits" in html


def test_a_mark_tells_its_commits(lake: Catalog) -> None:
    html = lane_card(lake.facts("lake/odd/hostile"), "lake/odd/hostile", 0, 1)
    assert "v0 to v1" in html
    assert "+3 rows" in html
    assert_harmless(html)
    assert "1 more commit" not in html


def test_a_window_shows_the_timeline_a_mark_and_why_a_range_is_refused(lake: Catalog) -> None:
    window = Window(lake, "?show=timeline&range=30d")
    if "data-marks" not in window.session.shown.regions["lead"]:
        window.until(lambda message: "data-marks" in message.get("regions", {}).get("lead", ""))
    card = window.ask("lane-card", name="lake/sales/orders", first=1, last=1)
    assert "v1" in card["regions"]["lane-card"]
    refused = window.ask("lane-card", name="../outside", first=1, last=1)
    assert "notice" in refused["regions"]
    window.ask("go", query="?show=timeline&range=soon")
    assert "is not a range of time" in window.session.shown.regions["notice"]
    assert "data-marks" in window.session.shown.regions["lead"]
    window.ask("go", query="?facet=colour:red")
    assert "There is no facet" in window.session.shown.regions["notice"]
    assert "<b>orders</b>" in window.session.shown.regions["lead"]
    window.host.close()


def test_pinned_tables_are_on_top_of_the_list_and_those_opened_last_above_it(lake: Catalog) -> None:
    window = Window(lake, "")
    window.ask("pin-table", name="lake%2Fsales%2Freturns", pins="lake/sales/returns lake%2Fgone")
    html = window.session.shown.regions["lead"]
    listed = html[html.index("<tbody>", html.index("All tables")) :]
    assert listed.index("Pinned") < listed.index("<b>returns</b>") < listed.index("<b>orders</b>")
    assert 'aria-pressed="true"' in listed
    recent = home_page(lake, Address(), known(lake), list_view=ListView(recent=("lake/sales/orders", "lake/gone")))
    above = recent.regions["lead"].partition("<tbody>")[0]
    assert "Opened last" in above
    assert "lake/gone" not in above
    window.host.close()


def test_groups_are_of_folders_of_catalogs_or_none(lake: Catalog) -> None:
    rows = known(lake)
    grouped = home_page(lake, Address(), rows).regions["lead"]
    assert grouped.count('class="group-row"') == 2
    flat = home_page(lake, Address(grouping="none"), rows).regions["lead"]
    assert 'class="group-row"' not in flat
    assert "lake/sales /</span>" in flat[flat.index("<tbody>") :]
    assert "in no catalog" in home_page(lake, Address(grouping="catalog"), rows).regions["lead"]


def test_another_window_shows_what_was_read_before_until_it_has_read_it_itself(lake: Catalog) -> None:
    row = next(row for row in known(lake) if row.problem is None)
    assert lake.summary_before(row.ref) is lake.summary(row.ref)


@pytest.mark.reference
def test_facts_of_reference_tables_are_those_that_another_reader_sees(tmp_path: Path) -> None:
    for name in REFERENCE:
        shutil.copytree(reference_root() / "tables" / name, tmp_path / "lake" / name)
    catalog = Catalog([str(tmp_path / "lake")])
    rows = {row.ref.title: row for row in known(catalog)}
    for name in at_least_one(REFERENCE):
        traits, log = rows[name].traits, sorted((tmp_path / "lake" / name / "_delta_log").glob("*.json"))
        lines = [json.loads(line) for file in log for line in file.read_text("utf-8").splitlines()]
        protocol = [line["protocol"] for line in lines if "protocol" in line][-1]
        schema = json.loads([line["metaData"] for line in lines if "metaData" in line][-1]["schemaString"])
        assert traits.protocol == f"reader {protocol['minReaderVersion']} \u00b7 writer {protocol['minWriterVersion']}"
        assert set(protocol.get("writerFeatures", [])) <= set(traits.features)
        assert {field["name"] for field in schema["fields"]} == {n for n, _ in traits.columns if "." not in n}
        engines = {line["commitInfo"]["engineInfo"].partition("/")[0] for line in lines if "commitInfo" in line}
        assert set(traits.engines) == engines
        if name == "optimize":
            other = deltalake.DeltaTable(tmp_path / "lake" / name)
            actions = other.get_add_actions(flatten=True)
            assert traits.files == len(actions)
            assert traits.size == sum(actions.column("size_bytes").to_pylist())


def test_the_record_of_a_list_is_kept_while_no_table_changed(lake: Catalog) -> None:
    kept, rows = KeptRecord(), known(lake)
    filtered(Address(), rows, kept)
    record = kept.of([row.traits for row in rows])
    filtered(Address.parse("?col=id"), known(lake), kept)
    assert kept.of([row.traits for row in rows]) is record
