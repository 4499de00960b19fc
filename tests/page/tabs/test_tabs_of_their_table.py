"""What a tab shows is of its own table and its own question: pins of a case, searches of copies, pages of rows."""

from __future__ import annotations

import json
import re
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import msgspec
import pyarrow as pa
import pytest

from explorer.auditing.erasure import Erasure
from explorer.auditing.erasure.neighbour_tables import NeighbourTable
from explorer.auditing.erasure.proof import Basis
from explorer.auditing.erasure.stored_files import StoredFiles
from explorer.core.errors import Cancelled, ExpressionRefused, RequestError
from explorer.core.versions.file_search import SearchResult
from explorer.first_rows.first_rows import SparkOnly
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.page.tabs import case, export_named, handlers
from explorer.page.tabs.data import RowsWork
from explorer.page.tabs.erasure import ErasureDesk
from explorer.page.window import Message, WindowWork
from explorer.report.case_desk import CaseDesk
from explorer.report.case_file import CaseFile, CommitPin, RowsPin, read_case
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.rows import row_work
from explorer.web.served_tables import Catalog
from tests.support.comparison.audited_tables import loaded
from tests.support.logs import small_logs
from tests.support.pages.idle_windows import idle_work

REFUSED: Final = "There is no column customer in a."
OTHER_ID: Final = "7d9f0a52-8f0e-4b63-8f0e-111111111111"


def _log(folder: Path, commits: int = 2, table_id: str = small_logs.METADATA.id) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    metadata = msgspec.structs.replace(small_logs.metadata({"id": "long"}), id=table_id)
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, metadata]
    small_logs.write_log(folder, [created, *(loaded(f"{at}.parquet") for at in range(commits))])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in "ab":
        _log(tmp_path / "w" / name)
    return tmp_path / "w"


class _Job:
    """A job of Spark's without Spark: it runs until it is stopped, or its result is there at once."""

    name, phase, done, total, elapsed, error = "job", "Reading the log", 0, 0, 0.0, None

    def __init__(self, found: object = None) -> None:
        self.found, self.state = found, "running" if found is None else "done"

    def subscribe(self, told: Callable[[Any], None]) -> None:
        if self.found is not None:
            told(self)

    def result(self, timeout: float | None = None) -> object:
        if self.found is None:
            raise Cancelled("It was stopped.")
        return self.found

    def cancel(self) -> None:
        self.state = "cancelled"


def _begun() -> None:
    """Wait until the jobs that were asked for have begun, or could not: some begin on a thread."""
    for thread in threading.enumerate():
        if thread.name == "job-begin":
            thread.join(30)


def _view(root: Path, query: str, work: WindowWork) -> TableView:
    view = table_page(Catalog([str(root)]), Address.parse(query), "light", work).view
    assert view is not None
    return view


def _regions(root: Path, query: str, work: WindowWork) -> dict[str, str]:
    return dict(table_page(Catalog([str(root)]), Address.parse(query), "light", work).regions)


def _refuse(*_args: object, **_values: object) -> Any:
    raise ExpressionRefused(REFUSED, expression="customer = 1", reason="there is none")


# --- pins


class _CaseWindow:
    """A window with a case of three commits, each with a note."""

    def __init__(self, root: Path, file: CaseFile | None = None) -> None:
        self.root, self.query = root, "?t=w/a&tab=case"
        self.work = idle_work(Catalog([str(root)]))
        self.desk = self.work.of(CaseDesk)
        pins = [CommitPin(version=version, note=f"n{version}") for version in (0, 1, 2)]
        self.desk.load((file or CaseFile(title="t", pins=tuple(pins))).document().decode(), "case.json")

    def answer(self, *_args: object, **_values: object) -> None:
        """Nobody hears it."""

    redraw = answer

    def send(self, kind: str, **fields: object) -> None:
        handlers(self)[kind](Message(kind, 1, fields))  # type: ignore[arg-type]  # what a case needs of a window

    def names(self) -> list[str]:
        lead = _regions(self.root, self.query, self.work)["lead"]
        names = re.findall(r'data-do="unpin" data-pin="([^"]*)"', lead)
        assert re.findall(r'id="pin-note-([^"]*)"', lead) == names
        assert re.findall(r'name="pin" value="([^"]*)"', lead) == names
        return names

    def notes(self) -> list[str]:
        return [pin.note for pin in self.desk.file.pins]


def test_a_pin_that_is_taken_out_twice_takes_no_other_with_it(root: Path) -> None:
    window = _CaseWindow(root)
    first, second, third = window.names()
    window.send("unpin", pin=first)
    for kind in ("unpin", "case-note"):
        with pytest.raises(RequestError, match="already removed"):
            window.send(kind, pin=first, note="of the first")
    assert window.notes() == ["n1", "n2"]
    # What is typed at a pin is found again by the name of its field.
    assert window.names() == [second, third]
    window.send("case-note", pin=third, note="last")
    assert window.notes() == ["n1", "last"]
    assert window.names() == [second, third]


@pytest.mark.parametrize("name", ["", "0", "-1", "\u0661", "x" * 9_000])
def test_a_name_that_no_pin_has_changes_nothing(root: Path, name: str) -> None:
    window = _CaseWindow(root)
    for kind in ("unpin", "case-note"):
        with pytest.raises(RequestError, match="already removed"):
            window.send(kind, pin=name, note="x")
    assert window.notes() == ["n0", "n1", "n2"]


def test_equal_pins_of_a_file_keep_their_own_names(root: Path) -> None:
    pins = tuple(CommitPin(version=0, note=note) for note in "abc")
    window = _CaseWindow(root, CaseFile(title="t", pins=pins))
    first, second, third = window.names()
    window.send("unpin", pin=first)
    with pytest.raises(RequestError):
        window.send("unpin", pin=first)
    assert window.names() == [second, third]
    assert window.notes() == ["b", "c"]


def test_a_saved_case_is_as_it_was_and_its_pins_are_named_the_same_again(root: Path) -> None:
    window = _CaseWindow(root)
    names, text = window.names(), window.desk.text
    assert "note" in text
    assert not any(name in text for name in names)
    assert read_case(text.encode(), "case.json") == window.desk.file
    other = _CaseWindow(root)
    other.desk.load(text, "case.json")
    assert other.names() == names


# --- the search of copies


def _found(table_id: str = small_logs.METADATA.id, version: int = 2) -> Erasure:
    read = SearchResult(pa.table({"key": ["a"], "rows": [5], "digest": ["0"]}), pa.table({"key": ["a"]}), {})
    basis = Basis(
        table="a",
        table_id=table_id,
        version=version,
        now=small_logs.LONG_AGO,
        chain_head=None,
        program="0",
        stored=StoredFiles(pa.table({"key": ["a"]}), (), 0, (), 86_400_000),
        results=read,
    )
    return Erasure(
        basis=basis, where="id = 1", places=(), traces=(), log_files=1, not_answered=(), not_read=(), other_tables=(),
        steps=(),
    )  # fmt: skip


def _searched(root: Path, monkeypatch: pytest.MonkeyPatch, begin: Callable[..., object]) -> WindowWork:
    work = idle_work(Catalog([str(root)]))
    monkeypatch.setattr(ErasureDesk, "_begin", begin)
    work.of(ErasureDesk).start(_view(root, "?t=w/a&tab=erasure", work).facts, ["id = 1"])
    _begun()
    return work


SEARCH: Final = "?t=w/a&tab=erasure&where=id+%3D+1"


def test_a_search_that_failed_is_said_only_where_it_was_asked_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _searched(root, monkeypatch, _refuse)
    assert REFUSED in _regions(root, SEARCH, work)["lead"]
    for other in ("?t=w/b&tab=erasure&where=id+%3D+1", "?t=w/a&tab=erasure&where=id+%3D+2", "?t=w/a&tab=erasure"):
        lead = _regions(root, other, work)["lead"]
        assert REFUSED not in lead, other
        assert "Search every file" in lead, other


def test_a_search_that_runs_is_stopped_only_where_it_was_asked_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _searched(root, monkeypatch, lambda *_: _Job())
    assert 'data-do="erasure-cancel"' in _regions(root, SEARCH, work)["lead"]
    lead = _regions(root, "?t=w/b&tab=erasure&where=id+%3D+1", work)["lead"]
    assert "erasure-cancel" not in lead
    assert "<progress" not in lead


def test_a_proof_is_of_the_table_that_was_searched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _searched(root, monkeypatch, lambda *_: _Job({"id = 1": _found()}))
    side = _regions(root, SEARCH, work)["side"]
    assert "States that the rows are erased from this table." in side
    assert "search again" not in side
    _log(root / "a", table_id=OTHER_ID)
    regions = _regions(root, SEARCH, work)
    assert "erased from this table" not in regions["side"]
    assert "Search every file" in regions["lead"]


def test_a_shared_search_is_seen_by_another_window_of_the_server_until_it_is_forgotten(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = Catalog([str(root)])
    own, other = idle_work(catalog), idle_work(catalog)
    monkeypatch.setattr(ErasureDesk, "_begin", lambda *_: _Job({"id = 1": _found()}))
    facts = _view(root, SEARCH, own).facts
    with pytest.raises(RequestError, match="Search first"):
        own.of(ErasureDesk).share(facts, ["id = 1"])
    own.of(ErasureDesk).start(facts, ["id = 1"])
    _begun()
    shared = f"{SEARCH}&result={own.of(ErasureDesk).share(facts, ['id = 1'])}"
    assert "States that the rows are erased from this table." in _regions(root, shared, other)["side"]
    assert "Kept until" in _regions(root, shared, other)["side"]
    # It is of its table and its condition alone.
    for query in (shared.replace("t=w/a", "t=w/b"), shared.replace("where=id+%3D+1", "where=id+%3D+2"), SEARCH):
        assert "erased from this table" not in _regions(root, query, other)["side"], query
    lead = _regions(root, f"{SEARCH}&result=another", other)["lead"]
    assert "The shared result is not kept here any more." in lead
    assert "Search every file" in lead


def test_a_table_that_cannot_be_read_is_named_and_not_offered_to_be_searched(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = (
        NeighbourTable("w/b", "w/b", columns=("id",)),
        NeighbourTable("w/damaged", "w/damaged", problem="Line 2 is no action."),
    )
    proof = msgspec.structs.replace(_found(), other_tables=others)
    side = _regions(root, SEARCH, _searched(root, monkeypatch, lambda *_: _Job({"id = 1": proof})))["side"]
    assert "w/damaged, which cannot be read: Line 2 is no action." in side
    assert re.findall(r'href="([^"]*)">Search it too', side) == ["?t=w/b&amp;tab=erasure&amp;where=id+%3D+1"]


def test_a_proof_of_an_older_version_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = {where: msgspec.structs.replace(_found(), where=where) for where in ("id = 1", "id = 2")}
    work = idle_work(Catalog([str(root)]))
    monkeypatch.setattr(ErasureDesk, "_begin", lambda *_: _Job(proofs))
    work.of(ErasureDesk).start(_view(root, SEARCH, work).facts, list(proofs))
    _begun()
    query = SEARCH + "&requests=id+%3D+1%0Aid+%3D+2"
    before = _regions(root, query, work)
    assert before["lead"].count('<span class="chip ok">erased</span>') == 2
    _log(root / "a", commits=3)
    # Whichever version is on show: the statement is of the table.
    for chosen in ("", "&v=2"):
        after = _regions(root, query + chosen, work)
        assert "v2 was searched; v3 came since: search again." in after["side"]
        assert "Says that the rows are erased" not in after["side"]
        assert "may say erased" not in after["side"]
        assert '<span class="chip ok">erased</span>' not in after["lead"]
        assert "Download the statement" in after["side"]


# --- pages of rows


def _read(
    root: Path, monkeypatch: pytest.MonkeyPatch, begin: Callable[..., object], query: str = "?t=w/a&tab=data"
) -> WindowWork:
    work = idle_work(Catalog([str(root)]))
    monkeypatch.setitem(sys.modules, "explorer.spark.rows.pages", SimpleNamespace(row_page=begin))
    # Its files hold nothing: the rows are left to Spark.
    monkeypatch.setattr(row_work, "first_rows", lambda *_, **__: SparkOnly("a test reads them"))
    work.of(RowsWork).start(_view(root, query, work), Address.parse(query))
    _begun()
    return work


def _page_of_rows(*_args: object, **_values: object) -> _Job:
    rows, places = pa.table({"id": [1]}), pa.table({"path": ["0.parquet"], "row": [0], "masked": [False]})
    return _Job(
        SimpleNamespace(
            table=rows, places=places, note="One row.", by_spark=True, reason="", following=("0.parquet", 1)
        )
    )


OTHER_PAGES: Final = ("?t=w/b&tab=data", "?t=w/a&tab=data&where=id+%3D+2", "?t=w/a&tab=data&v=1")


def test_rows_that_could_not_be_read_are_said_only_where_they_were_asked_for(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = _read(root, monkeypatch, _refuse)
    for same in ("", "&v=2", "&q=1"):
        assert REFUSED in _regions(root, f"?t=w/a&tab=data{same}", work)["lead"]
    for other in OTHER_PAGES:
        lead = _regions(root, other, work)["lead"]
        assert REFUSED not in lead, other
        assert "Show 100 rows" in lead, other


def test_a_read_that_runs_is_stopped_only_where_it_was_asked_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _read(root, monkeypatch, lambda *_, **__: _Job())
    assert 'data-do="rows-cancel"' in _regions(root, "?t=w/a&tab=data", work)["lead"]
    for other in OTHER_PAGES:
        assert "rows-cancel" not in _regions(root, other, work)["lead"], other


def test_the_next_page_of_rows_is_followed_where_it_was_asked_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _read(root, monkeypatch, _page_of_rows)
    older = "?t=w/a&tab=data&v=1"
    assert "not the version shown above" in _regions(root, older, work)["lead"]
    running = SimpleNamespace(row_page=lambda *_, **__: _Job())
    monkeypatch.setitem(sys.modules, "explorer.spark.rows.pages", running)
    other = _view(root, "?t=w/b&tab=data", work)
    with pytest.raises(RequestError, match="does not exist"):
        work.of(RowsWork).turn(other, Address.parse("?t=w/b&tab=data"), back=False)
    work.of(RowsWork).turn(_view(root, older, work), Address.parse(older), back=False)
    _begun()
    for query in (older, "?t=w/a&tab=data"):
        assert "rows-cancel" in _regions(root, query, work)["lead"], query
    assert "rows-cancel" not in _regions(root, "?t=w/a&tab=data&v=0", work)["lead"]


def test_rows_of_one_table_are_neither_exported_nor_pinned_as_those_of_the_next(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = _read(root, monkeypatch, _page_of_rows)
    export = export_named("data")
    query = "?t=w/a&tab=data"
    listing = export(_view(root, query, work), Address.parse(query), work)
    assert isinstance(listing, Listing)
    assert [row["id"] for row in json.loads(listing.to_json())] == [1]
    for other in ("?t=w/b&tab=data", "?t=w/b"):
        with pytest.raises(RequestError, match="No rows have been read yet"):
            export(_view(root, other, work), Address.parse(other), work)
    window: Any = SimpleNamespace(work=work)
    wanted = Message.read({"kind": "pin", "pin": "rows", "number": 1})
    assert wanted is not None
    assert isinstance(case._wanted(wanted, _view(root, query, work), window), RowsPin)
    with pytest.raises(RequestError, match="No rows have been read yet"):
        case._wanted(wanted, _view(root, "?t=w/b", work), window)


def test_rows_of_a_table_are_not_those_of_the_one_that_takes_its_place(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = _read(root, monkeypatch, _page_of_rows)
    assert "Read by Spark at v2" in _regions(root, "?t=w/a&tab=data", work)["lead"]
    _log(root / "a", table_id=OTHER_ID)
    lead = _regions(root, "?t=w/a&tab=data", work)["lead"]
    assert "Read by Spark at v2" not in lead
    assert "Show 100 rows" in lead
