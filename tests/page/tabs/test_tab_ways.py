"""The ways on that the tabs offer: a form filled in, why something is missing, the newest order of what matters."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import msgspec
import pytest

from explorer.core.protocol.actions import Protocol
from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.page.tabs import export_named
from explorer.web.served_tables import Catalog
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add, commit_info, metadata, remove, vector
from tests.support.pages.idle_windows import idle_work

LONG_NAME = f"part-00000-{'f' * 70}.parquet"
LIMIT = {"delta.dataSkippingNumIndexedCols": "1"}


def _mapped(name: str) -> Any:
    mapping = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    field = {"name": name, "type": "long", "nullable": True, "metadata": mapping}
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    schema = json.dumps({"type": "struct", "fields": [field]})
    return msgspec.structs.replace(small_logs.METADATA, schema_string=schema, configuration=configuration)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = tmp_path_factory.mktemp("served") / "w"
    created = commit_info("CREATE TABLE", user_name="ana")
    small_logs.write_log(
        root / "narrow",
        [[created, small_logs.PROTOCOL, metadata({"a": "long", "b": "long"}, (), LIMIT), add("x.parquet")]],
    )
    renamed = commit_info("RENAME COLUMN", user_name="ben")
    mapped = Protocol(min_reader_version=2, min_writer_version=5)
    small_logs.write_log(root / "mapped", [[created, mapped, _mapped("a")], [renamed, _mapped("b")]])
    masked = add("m.parquet", 10, size=1_000, vector=vector("one", 2))
    more = add("m.parquet", 10, size=1_000, vector=vector("two", 5))
    small_logs.write_log(
        root / "masked",
        [
            [created, small_logs.MASKED, small_logs.METADATA],
            [commit_info("WRITE"), add("m.parquet", 10, size=1_000)],
            [commit_info("DELETE", user_name="eva", user_metadata="erasure 7"), remove("m.parquet"), masked],
            [commit_info("DELETE"), remove("m.parquet", vector=vector("one", 2)), more],
        ],
    )
    named = [small_logs.MASKED, small_logs.METADATA, add(LONG_NAME, 10, vector=vector("one", 2))]
    small_logs.write_log(root / "long-name", [[created, *named]])
    return Catalog([str(root)])


def _page(catalog: Catalog, query: str) -> Rendered:
    return table_page(catalog, Address.parse(query), "light", idle_work(catalog))


def _ways(text: str) -> dict[str, str]:
    return {
        words.strip(): html.unescape(way)
        for way, words in re.findall(r'<a class="[^"]*" data-nav href="([^"]*)">([^<]*)</a>', text)
    }


def test_a_column_without_statistics_says_why_and_leads_to_the_property(catalog: Catalog) -> None:
    page = _page(catalog, "?t=w/narrow&tab=statistics&col=b")
    assert "only the first 1 columns have statistics" in page.regions["lead"]
    way = _ways(page.regions["lead"])["Plan delta.dataSkippingNumIndexedCols = 2"]
    form = _page(catalog, way).regions["lead"]
    assert 'value="delta.dataSkippingNumIndexedCols"' in form
    assert 'value="2"' in form
    assert "Set the property" in page.regions["side"]


def test_a_column_tells_who_renamed_it_what_follows_and_leads_to_rename_and_drop(catalog: Catalog) -> None:
    side = _page(catalog, "?t=w/mapped&tab=columns&col=b").regions["side"]
    assert "renamed to b (RENAME COLUMN by ben" in side
    assert (
        "Its physical name is col-1, so clients that ignore column mapping cannot find it by its logical name." in side
    )
    ways = _ways(side)
    for words, title in (("Rename", "Rename a column"), ("Drop", "Drop a column")):
        form = _page(catalog, ways[words]).regions["lead"]
        assert title in form
        assert 'value="b"' in form


def test_what_the_overview_shows_says_since_when_by_whom_as_of_the_shown_version(catalog: Catalog) -> None:
    now, then = (_page(catalog, f"?t=w/mapped&v={version}").regions for version in (1, 0))
    assert re.search(r'title="long since v0, by ana[^"]*; called b since v1, by ben[^"]*"', now["rest"]) or re.search(
        r'title="called b since v1, by ben[^"]*; long since v0, by ana[^"]*"', now["rest"]
    )
    assert "by ben" not in then["rest"]
    narrow = _page(catalog, "?t=w/narrow").regions["side"]
    said = r'<a class="blamed" data-nav title="1 since v0, by ana[^"]*" href="([^"]*)">delta.dataSkipping'
    (way,) = re.findall(said, narrow)
    assert "tab=audit" in way
    assert "reader 1, writer 2 since v0, by ana" in narrow


def test_masked_files_say_since_when_and_how_many_bytes_are_dead_and_what_erases_them(catalog: Catalog) -> None:
    page = _page(catalog, "?t=w/masked&tab=deletion-vectors")
    assert page.view is not None
    rows = export_named("deletion-vectors")(page.view, Address.parse("?t=w/masked"), idle_work(catalog))
    (row,) = rows.matching().to_pylist()  # type: ignore[union-attr]  # it is a list
    assert (row["since"], row["dead"], row["share"]) == (2, 500, 0.5)
    assert page.chart is not None
    assert [list(trace["y"]) for trace in page.chart.figure["data"]] == [[50.0], [50.0]]  # type: ignore[call-overload]
    assert "Purge masked rows" in _page(catalog, _ways(page.regions["side"])["Plan the purge"]).regions["lead"]
    vacuum = _page(catalog, _ways(page.regions["side"])["Plan the vacuum"])
    assert "Vacuum: delete unused files" in vacuum.regions["lead"]


def test_the_rows_that_differ_come_before_the_files(catalog: Catalog) -> None:
    page = _page(catalog, "?t=w/masked&tab=diff&v=3&c=1")
    assert 'id="row-differences"' in page.regions["lead"]
    assert "Files that differ" in page.regions["rest"]
    assert "rows masked 0 \u2192 5 at v3" in page.regions["rest"]


def test_one_commit_has_no_chart_of_its_course(catalog: Catalog) -> None:
    assert _page(catalog, "?t=w/narrow").chart is None
    assert _page(catalog, "?t=w/masked").chart is not None


def test_one_commit_names_its_only_sign_and_offers_nothing_to_compare_with(catalog: Catalog) -> None:
    one, many = (_page(catalog, f"?t=w/{name}").regions for name in ("narrow", "masked"))
    assert "<small>created</small>" in one["opening"]
    for text in ('class="legend"', "compared with", "Choose the version to compare with"):
        assert text not in one["strip"], text
    assert 'class="legend"' in many["strip"]
    assert "compared with" in many["strip"]


def test_a_compared_version_zooms_the_totals_to_the_two_and_says_that_the_axis_is_cut(catalog: Catalog) -> None:
    chart = _page(catalog, "?t=w/masked&v=3&c=2").chart
    assert chart is not None
    assert chart.figure["layout"]["xaxis"]["range"] == [1.5, 3.5]  # type: ignore[index]


def test_the_table_of_commits_has_reasons_and_is_filtered_by_the_address(catalog: Catalog) -> None:
    commits = _page(catalog, "?t=w/masked&view=table").regions["commits"]
    assert "erasure 7" in commits
    chosen = '<td data-title="version" class="version"><a data-nav href="?t=w/masked&amp;v=3'
    assert f'<tr class="chosen" aria-current="true">{chosen}' in commits
    only = _page(catalog, "?t=w/masked&view=table&cop=DELETE&cby=eva").regions["commits"]
    assert "1 commit of 4" in only
    page = _page(catalog, "?t=w/masked&view=table&cop=DELETE")
    assert page.view is not None
    exported = export_named("commits")(page.view, Address.parse("?cop=DELETE"), idle_work(catalog))
    assert exported.matching().column("version").to_pylist() == [3, 2]  # type: ignore[union-attr]  # it is a list


def test_the_lines_of_a_commit_stand_in_the_wide_column(catalog: Catalog) -> None:
    regions = _page(catalog, "?t=w/masked").regions
    assert "Raw actions" in regions["rest"]
    assert "Raw actions" not in regions["side"]


def test_what_a_commit_did_is_told_whole_where_its_sentence_is_cut(catalog: Catalog) -> None:
    strip = _page(catalog, "?t=w/masked&v=2").regions["strip"]
    assert re.search(r'class="effect" title="2 rows masked">2 rows masked<', strip)


def test_the_name_of_a_masked_file_is_whole(catalog: Catalog) -> None:
    rest = _page(catalog, "?t=w/long-name&tab=deletion-vectors&file=" + LONG_NAME).regions["rest"]
    assert f'<b class="mono">{LONG_NAME}</b>' in rest


def test_headers_of_signs_are_not_empty(catalog: Catalog) -> None:
    page = _page(catalog, "?t=w/masked&tab=diff&v=3&c=1")
    assert not re.search(r"<th[^>]*>\s*</th>", page.regions["lead"] + page.regions["rest"])


def test_paths_are_whole_in_the_page_and_cut_by_the_room_they_have(catalog: Catalog) -> None:
    lead = _page(catalog, "?t=w/masked&tab=files").regions["lead"]
    assert re.sub(r"</?span[^>]*>", "", lead).count("m.parquet") >= 1
    assert 'class="mid"' in lead
