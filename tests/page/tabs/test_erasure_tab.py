"""The Erasure tab: the due day is read in words, and the address has its date."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from explorer.page.address import Address
from explorer.web.served_tables import Catalog
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log
from tests.support.pages.open_windows import Window


@pytest.fixture
def window(tmp_path: Path) -> Window:
    write_log(tmp_path / "w" / "t", [[PROTOCOL, metadata({"id": "long"}), add("a", 1)]])
    return Window(Catalog([str(tmp_path / "w")]), "?t=w/t&tab=erasure")


def test_a_due_day_in_words_is_a_date_in_the_address(window: Window) -> None:
    # Without a condition nothing is searched; what was written stays in the form.
    window.ask("erasure", where="", due="next Monday")
    today = datetime.now(UTC).date()
    due = date.fromisoformat(Address.parse(window.session.query).due)
    assert (due.weekday(), timedelta(0) < due - today <= timedelta(7)) == (0, True)
    window.ask("erasure", where="", due="6 Dec 2026")
    assert Address.parse(window.session.query).due == "2026-12-06"
    window.ask("erasure", where="", due="2026-12-07")
    assert Address.parse(window.session.query).due == "2026-12-07"


@pytest.mark.parametrize(("text", "words"), [("3/4/2026", "is two dates"), ("soon", "is not a time")])
def test_what_is_no_day_is_refused_and_nothing_is_searched(window: Window, text: str, words: str) -> None:
    window.ask("erasure", where="id = 1", due=text)
    assert words in str(window.heard)
    assert not Address.parse(window.session.query).where
