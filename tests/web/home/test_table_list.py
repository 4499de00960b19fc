"""The list of tables while it is searched for: on stores, with folders that are denied, and again while it is shown."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explorer.page.address import Address
from explorer.storage.served_root import ServedRoot
from explorer.web.home.tables import home_page
from explorer.web.served_tables import Catalog, TableSummary
from explorer.web.table_list import TableListing
from tests.support.at_least_one import at_least_one
from tests.support.folder_s3 import FolderS3, folder_s3
from tests.support.lakes import small_tables
from tests.support.logs import small_logs
from tests.support.pages.open_windows import Window


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[FolderS3]:
    (tmp_path / "buckets" / "lake").mkdir(parents=True)
    with folder_s3(tmp_path / "buckets") as server:
        yield server


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search again as soon as a search has ended."""
    for name in ("_FRESH", "_LONGER", "_PACE", "_WHOLE"):
        monkeypatch.setattr(f"explorer.web.table_list.{name}", 0)


def root_of(bucket: FolderS3, place: str = "s3://lake", name: str = "") -> ServedRoot:
    return ServedRoot(place, name, bucket.options)


def listed(catalog: Catalog) -> TableListing:
    catalog.list.begin(patience=60)
    return catalog.list.listing()


def names(listing: TableListing) -> list[str]:
    return [ref.name for ref in listing.refs]


def lead(catalog: Catalog, listing: TableListing) -> str:
    rows = [TableSummary(ref, pending=True) for ref in listing.refs]
    return home_page(catalog, Address(), rows, listing=listing).regions["lead"]


def until(done: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not done():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_tables_are_there_before_the_search_has_ended_and_it_is_stopped_and_goes_on(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["t", *(f"a/b/c/d/t{number}" for number in range(5))])
    bucket.delay = 0.4
    catalog = Catalog(root_of(bucket))
    catalog.list.begin()
    until(lambda: bool(catalog.list.listing().refs))
    early = catalog.list.listing()
    catalog.list.stop()
    assert (names(early), early.searching) == (["lake/t"], True)
    assert "1 table so far, still looking" in lead(catalog, TableListing(early.refs, searching=True, seconds=1.5))
    until(lambda: not catalog.list.listing().searching)
    stopped = catalog.list.listing()
    assert stopped.stopped
    assert "search ended after 1 table" in lead(catalog, stopped)
    assert listed(catalog).refs == stopped.refs, "what a person ended does not begin by itself"
    bucket.delay = 0
    catalog.list.go_on()
    assert len(listed(catalog).refs) == 6
    assert not catalog.list.listing().stopped


def test_what_one_visitor_ends_goes_on_for_the_others(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["t", *(f"a/b/c/d/t{number}" for number in range(5))])
    bucket.delay = 1.5
    catalog = Catalog(root_of(bucket))
    one, other = catalog.visits.begin(catalog.list), catalog.visits.begin(catalog.list)
    heard = list[str]()
    for name, visit in at_least_one([("one", one), ("other", other)]):
        visit.attend()
        visit.follow(lambda name=name: heard.append(name))
    one.begin()
    until(lambda: bool(one.listing().refs))
    one.stop()
    assert (one.listing().stopped, one.listing().searching, names(one.listing())) == (True, False, ["lake/t"])
    assert (other.listing().stopped, other.listing().searching) == (False, True)
    heard.clear()
    bucket.delay = 0
    other.begin(patience=60)
    assert len(other.listing().refs) == 6
    assert names(one.listing()) == ["lake/t"]
    assert "one" not in heard
    one.go_on()
    assert len(one.listing().refs) == 6


@pytest.mark.whole("test_what_one_visitor_ends_goes_on_for_the_others")
def test_a_search_that_all_visitors_ended_ends_and_goes_on_for_the_next_one(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["t", *(f"a/b/c/d/t{number}" for number in range(5))])
    bucket.delay = 1.5
    catalog = Catalog(root_of(bucket))
    one, leaves = catalog.visits.begin(catalog.list), catalog.visits.begin(catalog.list)
    one.attend()
    leaves.attend()
    one.begin()
    until(lambda: bool(one.listing().refs))
    one.stop()
    leaves.leave()
    until(lambda: catalog.list.listing().stopped and not catalog.list.listing().searching)
    one.begin(patience=1)
    assert catalog.list.listing().stopped, "what all ended does not begin by itself"
    bucket.delay = 0
    late = catalog.visits.begin(catalog.list)
    late.attend()
    late.begin(patience=60)
    assert (len(late.listing().refs), late.listing().stopped, one.listing().stopped) == (6, False, True)


def test_a_search_that_a_visitor_asks_for_is_shown_to_that_visitor(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["t", "a/b/c/u"])
    catalog = Catalog(root_of(bucket))
    asks, other = catalog.visits.begin(catalog.list), catalog.visits.begin(catalog.list)
    asks.begin(patience=60)
    bucket.delay = 0.4
    asks.again()
    assert (asks.listing().searching, other.listing().searching) == (True, False)
    until(lambda: not asks.listing().searching)


@pytest.mark.usefixtures("at_once")
def test_a_new_table_comes_and_a_removed_one_goes_without_a_reload(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["a/old", "a/stays"])
    window = Window(Catalog(root_of(bucket)), "")
    again = window.host.repeated[2_000]
    assert "<b>old</b>" in window.session.shown.regions["lead"]
    small_tables(bucket.folder / "lake", ["a/new"])
    shutil.rmtree(bucket.folder / "lake" / "a" / "old")

    def changed() -> bool:
        again()
        window.turn()
        html = window.session.shown.regions["lead"]
        return "<b>new</b>" in html and "<b>old</b>" not in html and "<b>stays</b>" in html

    until(changed)
    window.host.close()


def test_a_root_that_cannot_be_listed_is_said_and_the_others_work(bucket: FolderS3, tmp_path: Path) -> None:
    small_tables(bucket.folder / "lake", ["t"])
    small_tables(tmp_path / "here", ["u"])
    catalog = Catalog([root_of(bucket, "s3://nothing/deep"), root_of(bucket), str(tmp_path / "here")])
    listing = listed(catalog)
    assert names(listing) == ["here/u", "lake/t"]
    html = lead(catalog, listing)
    assert "<b>Root:</b> Cannot list s3://nothing/deep" in html
    assert "NoSuchBucket" in html
    assert "Tables in all other folders are listed below." in html
    assert "search-again" in html
    alone = Catalog(root_of(bucket, "s3://nothing/deep"))
    assert "No table can be listed" in lead(alone, listed(alone))


@pytest.mark.usefixtures("at_once")
def test_tables_below_a_folder_that_is_denied_later_stay_and_a_store_that_is_back_is_listed(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["a/t", "b/u"])
    catalog = Catalog(root_of(bucket))
    assert names(listed(catalog)) == ["lake/a/t", "lake/b/u"]
    bucket.denied.add("lake/b/")
    denied = listed(catalog)
    assert names(denied) == ["lake/a/t", "lake/b/u"]
    assert [each.location for each in denied.unlisted] == ["s3://lake/b"]
    bucket.denied.clear()
    small_tables(bucket.folder / "lake", ["b/v"])
    back = listed(catalog)
    assert (names(back), back.unlisted) == (["lake/a/t", "lake/b/u", "lake/b/v"], ())


def test_many_folders_that_are_denied_are_a_few_lines_and_the_others_behind_them(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["a/t", *(f"secret{number}/t" for number in range(8))])
    bucket.denied |= {f"lake/secret{number}/" for number in range(8)}
    catalog = Catalog(root_of(bucket))
    html = lead(catalog, listed(catalog))
    shown, _, behind = html.partition('<details class="rest"')
    assert (shown.count("AccessDenied") // 2, behind.count("AccessDenied") // 2) == (5, 3)
    assert "3 more folders that are not listed" in html


def test_roots_that_overlap_are_said_and_each_table_is_listed_once(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["a/t", "sales/u", "sales/eu/v"])
    catalog = Catalog([root_of(bucket), root_of(bucket, "s3a://lake/sales/", "money")])
    listing = listed(catalog)
    assert names(listing) == ["lake/a/t", "money/eu/v", "money/u"]
    assert "money is inside lake. Tables there are listed once, under money." in lead(catalog, listing)
    assert catalog.location("lake/sales/u") == "s3://lake/sales/u", "addresses of before go on working"


def test_of_a_long_list_only_the_tables_on_show_are_read_until_the_person_asks(
    bucket: FolderS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.web.home.session._ALL_READ", 20)
    monkeypatch.setattr("explorer.web.home.tables.PAGE", 10)
    small_tables(bucket.folder / "lake", [f"s/t{number:03}" for number in range(30)])
    window = Window(Catalog(root_of(bucket)), "")
    # The first page has it already where the tables were read while it was made.
    if "10 of 30 read" not in window.session.shown.regions["lead"]:
        window.until(lambda message: "10 of 30 read" in message.get("regions", {}).get("lead", ""))
    assert {key.split("/")[2] for key in bucket.reads} == {f"t{number:03}" for number in range(10)}
    html = window.session.shown.regions["lead"]
    assert "1–10 of 30" in html
    assert "No tables need attention so far" in html
    window.ask("go", query="?page=2")
    window.until(lambda message: "20 of 30 read" in message.get("regions", {}).get("lead", ""))
    window.send("read-on", number=50)
    window.until(lambda message: "healthy 30" in message.get("regions", {}).get("lead", ""))
    window.host.close()


@pytest.mark.parametrize("name", ["50%", "x#y?", "a b", "ünï", "<b>&"])
def test_a_table_below_a_root_on_a_store_has_its_page(bucket: FolderS3, name: str) -> None:
    small_tables(bucket.folder / "lake", [f"odd/{name}"])
    window = Window(Catalog(root_of(bucket)), Address(table=f"lake/odd/{name}").to())
    assert "<dt>table id</dt>" in "".join(window.session.shown.regions.values())
    window.host.close()


def test_the_same_address_on_two_servers_is_two_tables(bucket: FolderS3, tmp_path: Path) -> None:
    small_tables(bucket.folder / "lake", ["t"])
    small_tables(tmp_path / "others" / "lake", ["t"])
    small_logs.write_log(tmp_path / "others" / "lake" / "t", [[small_logs.add("a.parquet", 3)]], 1)
    with folder_s3(tmp_path / "others") as other:
        catalog = Catalog([root_of(bucket), root_of(other)])
        rows = [catalog.summary(ref) for ref in listed(catalog).refs]
    assert [(row.ref.name, row.version) for row in rows] == [("lake/t", 0), ("lake~2/t", 1)]


def test_a_search_that_finds_nothing_for_long_shows_itself_and_the_store_that_is_silent(
    bucket: FolderS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.storage.silence.SILENT", 1.0)
    bucket.delay = 20
    window = Window(Catalog(root_of(bucket)), "")
    again = window.host.repeated[2_000]
    assert "Looking for tables" in window.session.shown.regions["lead"]

    def shown() -> bool:
        again()
        window.turn()
        said = [message.get("regions", {}).get("home-search", "") for message in window.heard]
        return any("Waiting for s3://lake: no answer for" in html and "stop-search" in html for html in said)

    until(shown)
    window.send("stop-search", number=50)
    window.until(lambda message: "search ended after 0 tables" in message.get("regions", {}).get("lead", ""))
    window.host.close()


def test_the_tables_beside_one_on_a_store_are_those_of_all_roots_and_what_is_denied(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["a/t", "b/u", "secret/v"])
    bucket.denied.add("lake/secret/")
    others, looked_in = Catalog(root_of(bucket)).beside()
    assert sorted(other.name for other in others) == ["lake/a/t", "lake/b/u", "s3://lake/secret"]
    assert looked_in == ("s3://lake",)
