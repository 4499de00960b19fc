"""A window's session: each request is answered, whatever goes wrong on the way."""

import logging
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import explorer
from explorer.page.tabs import TABS
from explorer.page.window import Message
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.open_windows import Window
from tests.support.pages.page_elements import Elements


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = tmp_path_factory.mktemp("served") / "w"
    hostile_tables.hostile_table(root / "hostile")
    created = hostile_tables.created({"id": "long", "other": "string"})
    adds = [[small_logs.add(f"{n}.parquet", 3, bounds={"id": (n, n + 5)})] for n in range(60)]
    small_logs.write_log(root / "orders", [created, *adds])
    return Catalog([str(root)])


@pytest.fixture
def opened(catalog: Catalog) -> Callable[[str], Window]:
    return lambda query: Window(catalog, query)


CONTROLS = ("", "&view=table", "&fold=1", "&q=1", "&sort=-size", "&page=2", "&zoom=1", "&v=3", "&c=1", "&metric=size")


@pytest.mark.sampled(cases=6)
@pytest.mark.parametrize("tab", [tab.key for tab in TABS])
@pytest.mark.parametrize("table", ["orders", "hostile"])
def test_every_control_of_a_tab_draws_it_again(opened: Callable[[str], Window], table: str, tab: str) -> None:
    start = f"?t=w/{table}&tab={tab}"
    window = opened(start)
    for control in CONTROLS:
        if table == "hostile" and control == "&v=3":
            continue
        answer = window.ask("go", query=start + control)
        assert answer["regions"].get("notice", "") == "", control
        assert "title" in answer, control


@pytest.mark.parametrize("typed", ["v=soon", "v=99", "c=soon&tab=diff", "v=yesterday+25:99", "c=1000-01-01"])
def test_what_is_typed_and_names_no_version_leaves_the_page_and_says_so(
    opened: Callable[[str], Window], typed: str
) -> None:
    start = "?t=w/orders&tab=files&v=3"
    window = opened(start)
    answer = window.ask("go", query=f"?t=w/orders&{typed}", asked=True)
    assert re.search(r"<b>No (such )?version", answer["regions"]["notice"])
    assert re.search(r'href="\?t=w/orders&amp;v=\d+&amp;tab=files">Show v\d+</a>', answer["regions"]["notice"])
    assert (list(answer["regions"]), answer["query"], window.session.query) == (["notice"], start, start)
    assert window.session.shown.view is not None
    assert window.ask("go", query="?t=w/orders&v=4", asked=True)["regions"]["notice"] == ""


def test_the_version_on_show_is_not_offered_in_place_of_one_that_does_not_exist(
    opened: Callable[[str], Window],
) -> None:
    window = opened("?t=w/orders&tab=files")
    notice = window.ask("go", query="?t=w/orders&tab=files&v=99", asked=True)["regions"]["notice"]
    assert "<b>No such version" in notice
    assert "Show v" not in notice


def test_an_address_that_names_no_version_is_a_page_that_says_so(opened: Callable[[str], Window]) -> None:
    window = opened("?t=w/orders&v=soon")
    assert "No such version" in window.session.shown.regions["lead"]
    answer = window.ask("go", query="?t=w/orders&v=soon", asked=True)
    assert "query" not in answer


def test_a_fault_on_a_thread_is_a_notice_with_its_cause_and_a_way_on(
    opened: Callable[[str], Window], caplog: pytest.LogCaptureFixture
) -> None:
    window = opened("?t=w/orders&tab=files")
    window.number = 7
    with caplog.at_level(logging.ERROR, "explorer"):
        window.session.compute(Message("x", 7, {}), lambda: 1 / 0, print)
        notice = window.answer()["regions"]["notice"]
    assert "ZeroDivisionError: division by zero" in notice
    assert 'data-do="retry"' in notice
    (record,) = [each for each in caplog.records if each.name.startswith("explorer")]
    assert record.getMessage() == "request 7 for ?t=w/orders&tab=files failed: ZeroDivisionError: division by zero."
    assert record.exc_info is None
    assert window.ask("go", query="?t=w/orders&tab=files")["regions"]["notice"] == ""


def test_a_fault_on_the_loop_answers_the_request_too(opened: Callable[[str], Window]) -> None:
    window = opened("?t=w/orders")
    window.number = 3

    def breaks(_value: object) -> None:
        raise KeyError("shapes")

    window.session.compute(Message("x", 3, {}), lambda: 1, breaks)
    assert "KeyError" in window.answer()["regions"]["notice"]


def test_what_was_asked_for_wrongly_offers_no_second_try(opened: Callable[[str], Window]) -> None:
    notice = opened("?t=w/orders").ask("download", list="nothing")["regions"]["notice"]
    assert "There is no list" in notice
    assert "retry" not in notice


@pytest.mark.parametrize("data", [None, "x", 3, {}, {"kind": 3}, {"kind": "go", "number": "x"}, {"kind": "draft"}])
def test_what_no_page_sends_does_no_harm(opened: Callable[[str], Window], data: object) -> None:
    window = opened("?t=w/orders&tab=act")
    window.host.say(data)
    assert window.ask("go", query="?t=w/orders")["title"].startswith("orders")


def test_a_window_that_is_seen_follows_the_log_and_one_that_is_not_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.page.tables._FRESH", 0.0)
    table = hostile_tables.empty_table(tmp_path / "w" / "t")
    window = Window(Catalog([str(tmp_path / "w")]), "?t=w/t&tab=act&act=set-description&f.description=x&step=plan")
    window.send("visible", visible=False)
    other = explorer.open_table(table)
    other.commit(other.plan({"kind": "set-transaction", "appId": "other", "version": 1}))
    window.session.check_table()
    assert not window.session._checking
    heard = len(window.heard)
    window.send("visible", visible=True)
    landed = window.until(lambda message: "The table has a newer version." in message["regions"].get("lead", ""))
    assert "Go to newest, v1" in Elements(landed["regions"]["strip"]).text
    (said,) = [message for message in window.heard[heard:] if message.get("say")]
    assert (said["say"], "v=0" in said["query"].split("&")) == ("New: v1", True)


def test_the_list_of_tables_is_filled_in_row_by_row_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.web.home.session.PATIENCE", 0.0)
    for number in range(40):
        hostile_tables.empty_table(tmp_path / "w" / f"t{number:02}")
    catalog = Catalog([str(tmp_path / "w")])
    catalog.list.begin(patience=30)
    window = Window(catalog, "", silent=True)
    assert window.session.shown.regions["lead"].count('<tr id="row-') == 40
    window.hello("")
    window.ask("stop-reading")
    window.ask("read-on")
    whole = window.until(lambda message: "not read yet" not in message.get("regions", {}).get("lead", "not read yet"))
    assert whole["regions"]["lead"].count("not read yet") == 0
    rows = [(name, html) for message in window.heard for name, html in message.get("regions", {}).items()]
    assert all("not read yet" not in html for name, html in rows if name.startswith("row-"))
    window.host.close()


def test_of_many_tables_the_names_are_sent_before_the_first_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.web.home.session._FEW_TABLES", 2)
    for number in range(3):
        hostile_tables.empty_table(tmp_path / "w" / f"t{number}")
    window = Window(Catalog([str(tmp_path / "w")]), "", silent=True)
    assert window.session.shown.regions["lead"].count("not read yet") >= 3
    assert window.session._reading.progress.total == 0
    assert not window.session.drawing.complete
    window.hello("")
    assert window.session._reading.progress.total == 3
    ends = time.monotonic() + 30
    while "not read yet" in window.session.shown.regions["lead"] and time.monotonic() < ends:
        window.ask("go", query="")
    assert "not read yet" not in window.session.shown.regions["lead"]
    window.host.close()


def test_a_page_without_findings_says_so_and_shows_them_when_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the table had so many commits that nobody waits for what the rules find.
    monkeypatch.setattr("explorer.views.table.facts._FEW_COMMITS", 0)
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(tmp_path / "w" / "t", [created, *([small_logs.add(f"{n}", 3)] for n in range(5))])
    window = Window(Catalog([str(tmp_path / "w")]), "?t=w/t", silent=True)
    first = window.session.shown
    assert "Checking the table" in first.regions["lead"]
    for claim in ("No findings", "finding ", "some not answered", "readable at least"):
        assert claim not in "".join(first.regions.values()), claim
    assert first.timeline is not None
    assert window.session.drawing.complete
    window.hello("?t=w/t")
    drawn = window.until(lambda message: " passed" in message.get("regions", {}).get("lead", ""))
    assert "Checking the table" not in drawn["regions"]["lead"]
    # The strip has its lanes now; their place was kept.
    assert drawn["strip"]["layout"]["height"] == first.timeline.figure["layout"]["height"]
    window.host.close()


def test_what_was_drawn_before_the_browser_listened_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.web.home.session.PATIENCE", 0.0)
    for number in range(40):
        hostile_tables.empty_table(tmp_path / "w" / f"t{number:02}")
    catalog = Catalog([str(tmp_path / "w")])
    # Tables that are found later come with the next look at the folders, which is not what is tried here.
    catalog.list.begin(patience=60)
    window = Window(catalog, "", silent=True)
    # The page loads slowly: all tables are read, and what is sent of them reaches nobody.
    window.until(lambda message: "not read yet" not in message.get("regions", {}).get("lead", "not read yet"))
    window.heard.clear()
    answer = window.hello("")
    assert "not read yet" not in answer["regions"]["lead"]
    window.host.close()


@pytest.mark.parametrize("query", ["?t=w/orders&tab=files", "?t=w/orders&tab=statistics", ""])
def test_a_browser_whose_page_was_made_by_a_session_that_is_gone_is_sent_the_whole_page(
    catalog: Catalog, query: str
) -> None:
    window = Window(catalog, query)
    whole, timeline = window.session.shown.regions, window.session.shown.timeline
    hello = {"query": query, "theme": "light", "shown": "light"}
    assert window.ask("hello", **hello, mark=window.session.mark)["regions"].keys() <= {"lead"}
    answer = window.ask("hello", **hello, mark="of another session")
    assert answer["regions"] == window.session.shown.regions
    assert answer["regions"].keys() == whole.keys()
    assert ("strip" in answer) == (timeline is not None)
    assert (timeline is None) == (query == "")


@pytest.mark.parametrize("kind", ["screen", "theme"])
def test_a_page_that_is_drawn_anew_keeps_a_question_that_the_browsers_address_does_not_have_yet(
    catalog: Catalog, kind: str
) -> None:
    window = Window(catalog, "?t=w/orders&tab=act")
    asked = "?t=w/orders&tab=act&act=set-properties&f.key.0=a"
    # The window is made smaller while the answer to what was typed is on its way.
    window.ask("draft", query=asked, pairs=1)
    window.ask(kind, query="?t=w/orders&tab=act", width=900, height=460, theme="dark")
    assert window.session.query == asked
    assert "set-properties" in window.session.shown.regions["lead"]
