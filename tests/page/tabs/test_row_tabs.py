"""The tabs that show rows, before Spark is asked: where changes come from, what would be read, what is typed."""

import html
import json
import re
from pathlib import Path

import msgspec
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.page.tabs.changes import FeedWork
from explorer.page.tabs.data import RowsWork
from explorer.views.rows.change_spans import change_spans
from explorer.views.rows.row_work import names_in
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.idle_windows import idle_work

FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A table whose feed is off, then on for versions 3 and 4, then off; version 2 changes no row."""
    root = tmp_path_factory.mktemp("served") / "w"
    protocol = Protocol(min_reader_version=1, min_writer_version=4)

    def described(**configuration: str) -> Metadata:
        return small_logs.metadata({"id": "long", "v": "string"}, (), configuration, comment=hostile_tables.HOSTILE)

    small_logs.write_log(
        root / "feed",
        [
            [small_logs.commit_info("CREATE TABLE"), protocol, described()],
            [small_logs.commit_info("WRITE"), small_logs.add("a.parquet", 3, size=1_000)],
            [small_logs.commit_info("SET TBLPROPERTIES"), described(team="a")],
            [small_logs.commit_info("SET TBLPROPERTIES"), described(**FEED)],
            [small_logs.commit_info("WRITE"), small_logs.add("b.parquet", 5, size=1_000)],
            [small_logs.commit_info("SET TBLPROPERTIES"), described()],
        ],
    )
    for name in ("a", "b"):
        (root / "feed" / f"{name}.parquet").write_bytes(b"there")
    return Catalog([str(root)])


def page(catalog: Catalog, query: str) -> Rendered:
    return table_page(catalog, Address.parse(f"?t=w/feed&{query}"), "light", idle_work(catalog))


def test_every_version_of_the_range_has_its_source_or_its_hole(catalog: Catalog) -> None:
    table = catalog.facts("w/feed").log
    recorded, inferred = (
        [(span.versions, span.kind, span.is_hole) for span in change_spans(table.change_sources(0, 5, mode, skip=True))]
        for mode in (False, True)
    )
    assert recorded == [("v0\u2013v2", "off", True), ("v3", "none", False), ("v4", "files", False), ("v5", "off", True)]
    assert [span[:2] for span in inferred] == [
        ("v0", "none"), ("v1", "inferred"), ("v2\u2013v3", "none"), ("v4", "files"), ("v5", "none"),
    ]  # fmt: skip
    spans = change_spans(table.change_sources(0, 5, skip=True))
    assert sum(span.share for span in spans) == pytest.approx(1)


def test_the_changes_tab_draws_holes_and_says_what_would_be_read(catalog: Catalog) -> None:
    lead = page(catalog, "tab=changes&v=5&c=0").regions["lead"]
    assert "Rows that changed in v1 to v5" in lead
    assert 'class="from-off hole"' in lead
    assert "The changes are in 1 file, 1.0 kB." in lead
    assert "Read the changes" in lead
    assert "No row changed" in page(catalog, "tab=changes&v=3").regions["lead"]
    off = page(catalog, "tab=changes&v=1&feed=recorded").regions["lead"]
    assert "Rows that changed in v1<" in off
    assert "Nothing to read" in off
    assert "recorded or inferred" in off
    assert "Read the changes" in page(catalog, "tab=changes&v=1&feed=inferred").regions["lead"]


def test_before_rows_are_read_the_log_says_what_each_commit_did_and_other_ranges_are_offered(catalog: Catalog) -> None:
    one = page(catalog, "tab=changes&v=4").regions
    assert "What the log records for this commit" in one["rest"]
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", one["rest"])
    assert [re.sub("<[^>]*>", "", cell) for cell in cells if "Mar 2026" not in cell and "Nov" not in cell][-6:] == [
        "v4", "WRITE", "\u2014", "5", "0", "+1 \u22120",
    ]  # fmt: skip
    ways = re.findall(r'<li><a class="button" data-nav href="([^"]*)">([^<]*)</a>', one["side"])
    assert [(html.unescape(way), words) for way, words in ways] == [("?t=w/feed&v=4&c=0&tab=changes", "all since v0")]
    several = page(catalog, "tab=changes&v=5&c=0").regions
    assert several["rest"].count("<tr>") == 1 + 5
    assert "this commit alone" in several["side"]


def test_where_no_feed_was_recorded_changes_are_inferred_and_said_to_be(catalog: Catalog) -> None:
    off = page(catalog, "tab=changes&v=1").regions["lead"]
    assert "The change feed was off in this range, so the changes are inferred" in off
    assert "Read the changes" in off
    chosen = page(catalog, "tab=changes&v=1&feed=inferred").regions["lead"]
    assert "The change feed was off in this range" not in chosen
    nothing = page(catalog, "tab=changes&v=2&c=1").regions["lead"]
    assert "No row changed" in nothing
    assert "so the changes are inferred" not in nothing
    recorded = page(catalog, "tab=changes&v=4&c=3").regions["lead"]
    assert "The change feed was off in this range" not in recorded


def test_a_range_over_another_column_is_offered_in_parts(tmp_path: Path) -> None:
    def mapped(name: str) -> Metadata:
        mapping = {"delta.columnMapping.id": ord(name), "delta.columnMapping.physicalName": f"c-{name}"}
        fields = [{"name": name, "type": "long", "nullable": True, "metadata": mapping}]
        configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "98", **FEED}
        schema = json.dumps({"type": "struct", "fields": fields})
        return msgspec.structs.replace(small_logs.METADATA, schema_string=schema, configuration=configuration)

    commits = [
        [small_logs.commit_info("CREATE TABLE"), Protocol(min_reader_version=2, min_writer_version=5), mapped("a")],
        [small_logs.commit_info("WRITE"), small_logs.add("a.parquet", 3)],
        [small_logs.commit_info("REPLACE COLUMNS"), mapped("b")],
        [small_logs.commit_info("WRITE"), small_logs.add("b.parquet", 3)],
    ]
    small_logs.write_log(tmp_path / "w" / "feed", commits)
    for name in ("a", "b"):
        (tmp_path / "w" / "feed" / f"{name}.parquet").write_bytes(b"there")
    lead = page(Catalog([str(tmp_path / "w")]), "tab=changes&v=3&c=0").regions["lead"]
    ways = dict(re.findall(r'<a class="button" data-nav href="([^"]*)">(v[^<]*)</a>', lead))
    parts = {text: html.unescape(way) for way, text in ways.items()}
    assert set(parts) == {"v1", "v2 to v3"}
    assert parts["v1"].endswith("v=1&c=0&tab=changes")
    for way in parts.values():
        assert (
            "Read the changes" in page(Catalog([str(tmp_path / "w")]), way.removeprefix("?t=w/feed&")).regions["lead"]
        )


def test_the_diff_tab_says_what_comparing_rows_would_read(catalog: Catalog) -> None:
    lead = page(catalog, "tab=diff&v=4&c=0&keys=id").regions["lead"]
    assert "The comparison reads 2 files, 2.0 kB." in lead
    assert 'value="id"' in lead
    assert "No file differs, so no row differs." in page(catalog, "tab=diff&v=3&c=2").regions["lead"]
    assert page(catalog, "tab=diff&v=3&c=3").regions["rest"] == ""


def test_a_condition_stands_in_the_form_and_changes_the_estimate(catalog: Catalog) -> None:
    lead = page(catalog, "tab=data&where=id+%3C+%22x%22").regions["lead"]
    assert 'value="id &lt; &#34;x&#34;"' in lead
    assert "Files are read until 100 rows match: at most 2 files" in lead
    assert "masked rows" not in lead


def test_a_version_is_asked_for_by_a_time_and_the_links_stay_at_its_number(catalog: Catalog) -> None:
    times = catalog.facts("w/feed").log.history().column("timestamp").to_pylist()
    shown = page(catalog, f"tab=data&v={times[-1]:%Y-%m-%d+%H:%M:%S.%f}")
    assert shown.view is not None
    assert "v=20" not in shown.regions["tabs"]
    assert f"v={shown.view.version}" in shown.regions["tabs"]
    refused = page(catalog, "tab=data&v=1999-01-01").regions["lead"]
    assert "No version at that time" in refused
    assert "Show v0" in refused
    assert "by a time such as" in page(catalog, "tab=data&v=someday").regions["lead"]


def test_a_version_without_files_says_so(catalog: Catalog) -> None:
    lead = page(catalog, "tab=data&v=0").regions["lead"]
    assert "No rows at this version" in lead
    assert "Show 100 rows" not in lead


def test_there_is_no_page_of_rows_before_the_first(catalog: Catalog) -> None:
    work = idle_work(catalog)
    shown = page(catalog, "tab=data")
    assert shown.view is not None
    for back in (True, False):
        with pytest.raises(RequestError, match="does not exist"):
            work.of(RowsWork).turn(shown.view, Address.parse("?t=w/feed&tab=data"), back=back)
    for reading in (work.of(RowsWork), work.of(FeedWork)):
        with pytest.raises(RequestError, match="have been read yet"):
            reading.listing_required(shown.view)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("id", ["id"]),
        (" id , region ", ["id", "region"]),
        ("`a,b`, c", ["a,b", "c"]),
        ("`a``b`", ["a`b"]),
        ("a b", ["a b"]),
        (",,", []),
    ],
)
def test_key_columns_are_listed_with_commas(text: str, names: list[str]) -> None:
    assert names_in(text) == names


def test_an_absent_file_is_a_hole(tmp_path: Path) -> None:
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(
        tmp_path / "gone", [created, [small_logs.commit_info("WRITE"), small_logs.add("a.parquet", 3)]]
    )
    table = explorer.open_table(tmp_path / "gone")
    spans = change_spans(table.change_sources(0, 1, True, skip=True))
    assert [(span.versions, span.kind) for span in spans] == [("v0", "none"), ("v1", "vacuumed")]
