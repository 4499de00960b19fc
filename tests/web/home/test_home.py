"""The list of tables: names at once, the rest as it is read, in place, with a way to stop."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from explorer.page.address import STATUSES, Address
from explorer.storage.served_roots import TableRef
from explorer.web.home.reading import HomeReading, Progress
from explorer.web.home.tables import home_page, home_rows, progress_line
from explorer.web.served_tables import Catalog, TableSummary
from tests.support.comparison.audited_tables import loaded
from tests.support.logs import small_logs

TABLES = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served") / "w"
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    for number in range(TABLES):
        small_logs.write_log(root / f"t{number:02}", [created, loaded("0.parquet")])
    return root


class _Report:
    """Collects what a reading reports, and waits for its end."""

    def __init__(self, folder: Path) -> None:
        self.catalog = Catalog([str(folder)])
        self.refs = list(self.catalog.roots.tables())
        self.heard: list[Sequence[TableSummary]] = []
        self.came = threading.Event()
        self.reading = HomeReading(self.catalog, self._hear)

    def _hear(self, summaries: Sequence[TableSummary]) -> None:
        self.heard.append(summaries)
        self.came.set()

    def end(self) -> None:
        """Wait until nothing runs any more."""
        ends = time.monotonic() + 30
        while self.reading.progress.running:
            assert time.monotonic() < ends
            time.sleep(0.01)


def test_tables_that_were_not_read_are_listed_by_name_in_the_same_columns(folder: Path) -> None:
    catalog = Catalog([str(folder)])
    rows = [TableSummary(ref, pending=True) for ref in list(catalog.roots.tables())]
    html = home_page(catalog, Address(), rows).regions["lead"]
    assert "t07" in html
    assert html.count("<col ") == 9
    assert html.count("<td") == TABLES * 9
    assert "not read yet 24" in html


def test_a_row_that_comes_takes_the_place_of_its_name(folder: Path) -> None:
    catalog = Catalog([str(folder)])
    ref, other = list(catalog.roots.tables())[7:9]
    page = home_page(catalog, Address(), [TableSummary(ref, pending=True)])
    read = catalog.summary(ref)
    ((row_id, html),) = home_rows([read], page.rows).items()
    assert f'<tr id="{row_id}">' in page.regions["lead"]
    assert html.count("<td") == 9
    assert "healthy" in html
    assert home_rows([catalog.summary(other)], page.rows) == {}


def test_everything_is_reported_once_and_then_known(folder: Path) -> None:
    report = _Report(folder)
    report.reading.begin(report.refs, patience=30)
    report.end()
    named = [summary.ref.name for summaries in report.heard for summary in summaries]
    assert sorted(named) == sorted(ref.name for ref in report.refs)
    assert not any(row.pending for row in report.reading.rows(report.refs))
    heard = len(report.heard)
    report.reading.begin(report.refs)
    assert (report.reading.progress.running, len(report.heard)) == (False, heard)


def test_reading_that_is_stopped_keeps_what_it_has_and_reads_on_when_asked(folder: Path) -> None:
    report = _Report(folder)
    report.reading.begin(report.refs)
    report.reading.stop()
    report.end()
    progress = report.reading.progress
    assert progress.stopped
    left = [row for row in report.reading.rows(report.refs) if row.pending]
    assert len(left) == progress.total - progress.done
    report.reading.begin(report.refs, patience=30)
    assert [row for row in report.reading.rows(report.refs) if row.pending] == left
    report.reading.read_on()
    report.reading.begin(report.refs, patience=30)
    report.end()
    assert not any(row.pending for row in report.reading.rows(report.refs))


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        (Progress(0, 1_000, running=True, seconds=0.5), ""),
        (Progress(312, 1_000, running=True, seconds=1.5), "reading 312 / 1,000"),
        (Progress(312, 1_000, running=False, seconds=9.0), "312 of 1,000 read"),
        (Progress(1_000, 1_000, running=False, seconds=9.0), ""),
    ],
)
def test_progress_is_said_after_a_second(progress: Progress, said: str) -> None:
    html = progress_line(progress)
    assert said in html
    assert bool(said) == bool(html.strip())


def test_chips_count_what_they_show_and_their_counts_add_up(folder: Path) -> None:
    catalog = Catalog([str(folder)])
    refs = list(catalog.roots.tables())
    rows = [catalog.summary(ref) for ref in refs[:20]] + [TableSummary(ref, pending=True) for ref in refs[20:]]
    page = home_page(catalog, Address(), rows).regions["lead"]
    assert "all 24" in page
    assert "healthy 20" in page
    assert "not read yet 4" in page
    fine = home_page(catalog, Address(status="fine"), rows).regions["lead"]
    assert fine.count('<tr id="row-') == 20
    for status in STATUSES:
        assert home_page(catalog, Address(status=status), rows).regions["lead"]


def test_a_thousand_tables_are_pages(folder: Path) -> None:
    catalog = Catalog([str(folder)])
    rows = [TableSummary(TableRef(f"w/x{n:04}", "", ""), pending=True) for n in range(1_000)]
    first = home_page(catalog, Address(), rows).regions["lead"]
    assert first.count('<tr id="row-') == 100
    assert "1–100 of 1,000" in first
    last = home_page(catalog, Address(page="99"), rows).regions["lead"]
    assert "901–1,000 of 1,000" in last


def test_a_root_with_more_tables_than_are_listed_is_said_and_lists_more(folder: Path) -> None:
    catalog = Catalog([str(folder)], most=TABLES - 1)
    catalog.list.begin(patience=30)
    listing = catalog.list.listing()
    rows = [TableSummary(ref, pending=True) for ref in listing.refs]
    assert len(rows) == TABLES - 1
    lead = home_page(catalog, Address(), rows, listing=listing).regions["lead"]
    assert f"more tables are under {folder}" in lead
    assert "List more" in lead
    catalog.list.go_on()
    catalog.list.begin(patience=30)
    listing = catalog.list.listing()
    assert (len(listing.refs), listing.cut) == (TABLES, ())
