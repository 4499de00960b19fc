"""Requests for approval among the notices: open while they wait, over when somebody decided, and each told once."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from explorer.approvals.notices import post_request, settle_notices
from explorer.approvals.shelf import Shelf
from explorer.core.errors import StorageError
from explorer.notices.book import NoticeBook, PostedNotice
from explorer.notices.store import NoticeStore
from tests.approvals.conftest import DESCRIBE, TARGET, Office


@pytest.fixture
def book(tmp_path: Path) -> NoticeBook:
    return NoticeBook(NoticeStore(tmp_path / "notices"))


@pytest.fixture
def told(office: Office, book: NoticeBook, tmp_path: Path) -> Office:
    return replace(office, shelf=Shelf(tmp_path / "shelf", office.record.files, partial(post_request, book)))


def _all(book: NoticeBook) -> list[PostedNotice]:
    return list(book.notices(everything=True))


def test_a_request_is_a_notice_as_long_as_it_waits(told: Office, book: NoticeBook) -> None:
    number = told.ask(reason="the steward wants it").number
    (waiting,) = _all(book)
    assert (waiting.state, waiting.notice.kind, waiting.notice.name) == ("open", "approval", TARGET.name)
    assert waiting.notice.title == f"Request {number}: set-description of lake/orders is waiting for approval"
    assert "Reason of ana: the steward wants it" in waiting.notice.text
    assert waiting.notice.version == 1
    assert waiting.notice.table == str(told.table.resolve()), "as the list of tables knows it"
    told.approve(number)
    (decided,) = _all(book)
    assert (decided.state, decided.notice.text) == ("resolved", "Now approved by ben.")
    told.guarded().commit(told.plan())
    assert _all(book) == [decided]


@pytest.mark.parametrize("how", ["decline", "withdraw"])
def test_a_request_that_is_closed_waits_no_more(how: str, told: Office, book: NoticeBook) -> None:
    number = told.ask().number
    if how == "decline":
        told.desk("ben").decline(number, "not now", TARGET.place)
    else:
        told.desk("ana").withdraw(number)
    (over,) = _all(book)
    assert over.state == "resolved"
    again = told.ask().number
    assert again != number
    assert sorted(each.state for each in _all(book)) == ["open", "resolved"]


@pytest.mark.parametrize("how", ["approve", "decline", "withdraw", "stale"])
def test_a_request_that_another_program_decided_waits_no_more(
    how: str, told: Office, office: Office, book: NoticeBook
) -> None:
    """The office without the book is the command of another user, who cannot write the notices of the server."""
    number, waits = told.ask().number, told.ask(who="cleo").number
    match how:
        case "approve":
            office.approve(number)
        case "decline":
            office.desk("ben").decline(number, "not now", TARGET.place)
        case "withdraw":
            office.desk("ana").withdraw(number)
        case _:
            assert office.opened().commit(office.plan()).outcome == "committed"
            assert office.approve(number).state == "stale"
    assert [each.state for each in _all(book)] == ["open", "open"]
    assert settle_notices(book, told.shelf) == 1
    states = {each.notice.title.split(":")[0]: (each.state, each.notice.text) for each in _all(book)}
    assert states[f"Request {waits}"][0] == "open"
    state, text = states[f"Request {number}"]
    done = {"approve": "approved by ben", "decline": "declined by ben", "withdraw": "withdrawn by ana"}
    assert (state, text) == ("resolved", f"Now {done.get(how, 'stale')}.")
    assert settle_notices(book, told.shelf) == 0


def test_a_request_that_something_else_changed_closes_no_notice(told: Office, book: NoticeBook) -> None:
    request = told.ask()
    path = told.shelf.folder / "00000001.json"
    path.write_bytes(path.read_bytes().replace(b'"asked"', b'"declined"'))
    assert told.shelf.all()[0].state == "declined"
    assert settle_notices(book, told.shelf) == 0
    (waiting,) = _all(book)
    assert (waiting.state, waiting.notice.key) == ("open", f"approval:{request.token}")


def test_a_notice_that_cannot_be_written_is_said_and_the_request_stays(told: Office, tmp_path: Path) -> None:
    (tmp_path / "notices").write_text("no folder")
    with pytest.raises(StorageError, match="Request 1 is saved, but no notice of it could be written"):
        told.ask()
    assert told.shelf.get(1).state == "asked"


@pytest.mark.parametrize("when", ["soon", "2026-01-01T00:00:00", "0001-01-01T00:00:00+00:00"])
def test_a_forged_time_closes_no_notice_and_stops_nothing(told: Office, book: NoticeBook, when: str) -> None:
    """Each page of the list settles the notices first; another user of the machine may write to the shelf."""
    number = told.ask().number
    other = told.ask({**DESCRIBE, "description": "others"}).number
    path = told.shelf.folder / f"{number:08}.json"
    forged = json.loads(path.read_bytes())
    forged["state"], forged["steps"][0]["time"] = "approved", when
    path.write_text(json.dumps(forged))
    fresh = Shelf(told.shelf.folder, told.record.files)
    assert settle_notices(book, fresh) == 0
    assert [each.number for each in fresh.all()] == [other]
    with pytest.raises(StorageError, match="does not match the activity record"):
        fresh.get(number)
    assert [each.state for each in _all(book)] == ["open", "open"]
