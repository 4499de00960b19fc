"""A table whose log takes long to read: its newest part is on the page meanwhile, with a count and a way to end it."""

import os
import re
import threading
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import Cancelled
from explorer.page.tables import TableReading
from explorer.storage import open_store
from explorer.storage.served_roots import TableRef
from explorer.views import TableFacts
from explorer.web.served_tables import Catalog
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.pages.open_windows import Window

COMMITS = 1_500
CHECKPOINT = 1_480
QUERY = "?t=w/t"


class Gated(Catalog):
    """Served tables of whose older commits a part is read only once a gate is open."""

    def __init__(self, root: Path) -> None:
        super().__init__([str(root)])
        self.gate = threading.Event()
        self.opened = 0

    def _opened(self, ref: TableRef) -> explorer.Table:
        self.opened += 1
        store = FaultyStore(
            open_store(ref.location, None, None), between=lambda number: self._wait(store.requests[number])
        )
        return explorer.Table(store, read_only=True)

    def _wait(self, request: str) -> None:
        # Commits are read some thousand at a time; the second time is the one that waits.
        if request == "read 477":
            assert self.gate.wait(120)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gated:
    monkeypatch.setattr("explorer.page.table_session.PATIENCE", 0.2)
    columns = metadata({"id": "long"})
    commits = [[commit_info("WRITE", user_name=f"writer {n % 3}"), add(f"{n}.parquet", 2)] for n in range(COMMITS)]
    folder = write_log(tmp_path / "w" / "t", [[commit_info("CREATE TABLE"), PROTOCOL, columns], *commits])
    # Times of commits that share a millisecond depend on those before them, which the newest part does not have.
    for version in range(COMMITS + 1):
        os.utime(folder / "_delta_log" / f"{version:020}.json", (1_750_000_000 + version,) * 2)
    files = [add(f"{n}.parquet", 2) for n in range(CHECKPOINT)]
    write_checkpoint(open_store(str(folder), None, None), CHECKPOINT, [PROTOCOL, columns, *files], "classic")
    return Gated(folder.parent)


def _early(served: Gated) -> Window:
    """A window that shows the newest part, while the reading of all waits."""
    window = Window(served, QUERY, wait=False)
    while (reading := served.reading("w/t")) is None or not reading.done or not window.session.shown.is_early:
        window.session._report()
        window.turn()
    return window


def _progress(window: Window) -> str:
    """What the page says next of the reading."""
    window.heard.clear()
    while not window.heard:
        window.session._report()
        window.turn()
    return str(window.heard[-1]["regions"]["table-reading"])


def test_the_newest_part_is_shown_while_the_rest_is_read(served: Gated) -> None:
    window = _early(served)
    shown = window.session.shown
    # 2 rows in each of 1,500 files; the statement is of the newest version, whatever is not read yet.
    assert "3,000 live rows in 1,500 files" in shown.regions["lead"]
    assert "Versions 1,480 to 1,500 are read; older ones are being read" in shown.regions["lead"]
    assert "v1500" in shown.regions["strip"]
    assert "<rect" in shown.regions["still"]
    assert shown.timeline is not None
    assert shown.hidden["tabs"]
    # The twelve newest commits, its schema and the newest commit itself fill the page.
    assert re.findall(r'<td class="version">v(\d+)</td>', shown.regions["rest"]) == [
        str(version) for version in range(COMMITS, COMMITS - 12, -1)
    ]
    assert "writer 2" in shown.regions["rest"]
    assert '<td class="mono" title="long">long</td>' in shown.regions["rest"]
    assert "This commit" in shown.regions["side"]
    said = "".join(shown.regions.values())
    for claim in ("log gone", "data gone", "finding", "since v1480"):
        assert claim not in said.replace("Findings, older versions", ""), claim
    # What is read is said batch by batch; the last of them waits.
    while ": 1,000 of 1,501 commits" not in (said := _progress(window)):
        assert re.search(r": [2468]00 of 1,501 commits", said)
    served.gate.set()
    whole = window.answer()
    assert whole["title"].startswith("t v1500")
    assert not window.session.shown.is_early
    assert window.session.drawing.complete
    assert "table-reading" not in window.session.shown.regions["lead"]
    assert served.reading("w/t") is None


@pytest.mark.whole("test_the_newest_part_is_shown_while_the_rest_is_read")
def test_the_reading_can_be_ended_and_begun_again(served: Gated) -> None:
    window = _early(served)
    assert "being read" in _progress(window)
    window.send("stop-reading", number=9)
    served.gate.set()
    ended = window.until(lambda message: "was stopped" in message.get("regions", {}).get("lead", ""))
    assert "at 1,200 of 1,501 commits" in ended["regions"]["lead"]
    assert 'data-do="read-on"' in ended["regions"]["lead"]
    # Nothing reads on by itself.
    opened = served.opened
    window.session.check_table()
    window.session._report()
    window.turn()
    assert served.opened == opened
    window.number = 10
    window.send("read-on", number=10)
    assert window.answer()["title"].startswith("t v1500")
    assert not window.session.shown.is_early


@pytest.mark.whole("test_the_newest_part_is_shown_while_the_rest_is_read")
def test_who_waits_for_a_reading_that_is_ended_does_not_begin_it_again(served: Gated) -> None:
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            served.facts("w/t")
        except Cancelled as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    while (reading := served.reading("w/t")) is None or not reading.done:
        threading.Event().wait(0.01)
    served.stop_reading("w/t")
    served.gate.set()
    for thread in threads:
        thread.join(30)
    assert len(errors) == 3
    assert served.opened == 2
    assert served.facts("w/t").commits.last == COMMITS


def test_a_log_without_an_older_part_has_no_newest_part(tmp_path: Path) -> None:
    created = [[commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})], [add("a", 1)]]
    table = explorer.open_table(write_log(tmp_path / "t", created))
    reading = TableReading(table, "t")
    assert reading.newest() is None
    assert TableFacts(table).last == 1


@pytest.mark.whole("test_the_newest_part_is_shown_while_the_rest_is_read")
def test_the_newest_part_says_of_its_commits_what_the_whole_log_says(served: Gated) -> None:
    served.gate.set()
    table = served.open("w/t")
    part = table.newest_part()
    assert part is not None
    rows = part.history()
    assert rows.num_rows == COMMITS - CHECKPOINT
    assert rows.equals(table.history(limit=rows.num_rows))
    assert part.version_range() == (CHECKPOINT, COMMITS)
    assert table.version_range() == (0, COMMITS)


@pytest.mark.whole("test_the_newest_part_is_shown_while_the_rest_is_read")
def test_the_newest_part_of_a_log_that_ends_with_a_checkpoint_begins_with_the_one_before(tmp_path: Path) -> None:
    columns = metadata({"id": "long"})
    commits = [[commit_info("WRITE"), add(f"{n}.parquet", 2)] for n in range(30)]
    folder = write_log(tmp_path / "t", [[commit_info("CREATE TABLE"), PROTOCOL, columns], *commits])
    store = open_store(str(folder), None, None)
    for version in (10, 20, 30):
        files = [add(f"{n}.parquet", 2) for n in range(version)]
        write_checkpoint(store, version, [PROTOCOL, columns, *files], "classic")
    (folder / "_delta_log" / "_last_checkpoint").write_text('{"version": 30, "size": 32}')
    part = explorer.open_table(folder).newest_part()
    assert part is not None
    assert part.version_range() == (20, 30)
    assert part.history().column("version").to_pylist() == list(range(30, 20, -1))


@pytest.mark.whole("test_the_newest_part_is_shown_while_the_rest_is_read")
def test_the_newest_part_is_known_before_the_older_commits_are_read(tmp_path: Path, served: Gated) -> None:
    reading = TableReading(served.open("w/t"), "t")
    assert reading._facts is None
    reading._tell(0, COMMITS + 1)
    assert reading._facts is not None
    assert reading._facts.first == CHECKPOINT
    few = TableReading(served.open("w/t"), "t")
    few._tell(0, 50)
    assert few._facts is None


def test_a_log_that_begins_with_its_newest_checkpoint_is_not_read_twice(tmp_path: Path) -> None:
    columns = metadata({"id": "long"})
    commits = [[commit_info("WRITE"), add(f"{n}.parquet", 2)] for n in range(12)]
    folder = write_log(tmp_path / "t", [[commit_info("CREATE TABLE"), PROTOCOL, columns], *commits])
    store = open_store(str(folder), None, None)
    files = [add(f"{n}.parquet", 2) for n in range(10)]
    write_checkpoint(store, 10, [PROTOCOL, columns, *files], "classic")
    assert explorer.open_table(folder).newest_part() is not None
    for version in range(10):
        (folder / "_delta_log" / f"{version:020}.json").unlink()
    cleaned = explorer.open_table(folder)
    assert cleaned.newest_part() is None
    assert cleaned.version_range() == (10, 12)
