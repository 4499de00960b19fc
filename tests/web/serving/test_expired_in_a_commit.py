"""A login that ends while its commit is made: carried out or not, never half, said, and found again afterwards."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from explorer.activity.files import RecordFiles
from explorer.activity.reading import check_record, entries
from explorer.web.serving.people.oidc.access import OidcAccess
from explorer.web.serving.people.oidc.settings import OidcSettings
from explorer.web.serving.sockets import SIGNED_OUT
from tests.support.issuers.small_issuer import CLIENT, SECRET, issuer
from tests.support.logs import hostile_tables, small_logs
from tests.support.own_loop import run_apart
from tests.support.pages.raw_pages import Pages, Talk, served_here
from tests.web.serving.test_single_sign_on import signed_in

ACT = "?t=w/orders&tab=act&act=set-description&f.description=new"


@dataclass(frozen=True)
class Place:
    """A server at which people sign in at an issuer, and where it keeps what."""

    pages: Pages
    log: Path
    record: RecordFiles

    def events(self) -> list[tuple[str, str]]:
        """What the record has of plans and commits, oldest first."""
        found = [entry.event for entry in entries(self.record)]
        return [(event.kind, event.outcome) for event in reversed(found) if event.kind in {"plan", "commit"}]

    def committed(self) -> list[str]:
        """Who committed after the table's own commit."""
        files = sorted(self.log.glob("*.json"))[1:]
        lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return [line["commitInfo"]["userName"] for line in lines if "commitInfo" in line]

    def let_tokens_expire(self) -> None:
        """Let all sessions reach their end, as time does."""
        own = f"explorer-session-{self.pages.port}"
        (access,) = (each for each in gc.get_objects() if isinstance(each, OidcAccess) and each.cookie == own)
        access._clock = lambda: time.monotonic() + 9 * 3600


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    small_logs.write_log(tmp_path / "w" / "orders", [[*hostile_tables.created({"id": "long"})]])
    record = tmp_path / "record.jsonl"
    with issuer() as one:
        settings = OidcSettings(one.url, CLIENT, SECRET)
        with served_here(tmp_path / "w", allow_commits=True, oidc=settings, activity=record) as pages:
            yield Place(pages, tmp_path / "w" / "orders" / "_delta_log", RecordFiles.at(record))


async def planned(pages: Pages, cookie: str) -> tuple[Talk, str]:
    """A plan on show, and its digest."""
    answer = await asyncio.to_thread(pages.ask, f"/{ACT}", Cookie=cookie)
    talk = await Talk.begin(pages, answer.token, Cookie=cookie)
    await talk.ask("hello", 1, query=ACT)
    assert await talk.hears('"patch"')
    await talk.ask("go", 2, query=f"{ACT}&step=plan", asked=True)
    assert await talk.hears("data-plan=")
    found = re.search(r'data-plan=\\"([0-9a-f]+)', " ".join(talk.heard))
    assert found is not None
    return talk, found[1]


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(300):
        if holds():
            return
        await asyncio.sleep(0.1)
    pytest.fail("it did not come to that")


async def expired(place: Place, *, seconds: float) -> int | None:
    """Commit, and let the login end while the record is held by another program; how the socket was closed."""
    talk, digest = await planned(place.pages, await asyncio.to_thread(signed_in, place.pages))
    await until(lambda: place.events() == [("plan", "done")])
    with place.record.lock.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        await talk.ask("commit", 3, name="orders", reason="why", digest=digest)
        assert await talk.hears("Committing v1")
        place.let_tokens_expire()
        # The next thing that the page says is not heard any more.
        await talk.ask("theme", 4, theme="dark")
        code = await talk.close_code()
        await asyncio.sleep(seconds)
    await talk.close()
    return code


def test_a_commit_that_has_begun_is_carried_out_once_though_its_login_ends(place: Place) -> None:
    assert run_apart(expired(place, seconds=0.0)) == SIGNED_OUT

    async def settled() -> None:
        await until(lambda: place.events()[-1:] == [("commit", "committed")])

    run_apart(settled())
    assert place.committed() == ["ana"]
    assert place.events() == [("plan", "done"), ("commit", "begun"), ("commit", "committed")]
    assert check_record(place.record).problems == []


@pytest.mark.whole("tests/activity/test_writer.py, and tests/web/test_recorded.py")
def test_a_commit_that_could_not_be_recorded_in_time_is_not_carried_out(place: Place) -> None:
    assert run_apart(expired(place, seconds=12.0)) == SIGNED_OUT
    time.sleep(1)
    assert place.committed() == []
    # Either nothing was announced, or the announcement is followed by what became of it.
    assert ("commit", "committed") not in place.events()
    begun = place.events().count(("commit", "begun"))
    assert place.events().count(("commit", "failed")) == begun


def test_the_page_says_that_a_commit_goes_on_and_leads_to_the_login_and_back(place: Place) -> None:
    page = place.pages.ask(f"/{ACT}", Cookie=signed_in(place.pages)).text
    assert "A commit that had begun continues" in page
    assert re.search(r'<a class="button ended"[^>]* href="">Sign in again</a>', page), "the address that is open"
    place.let_tokens_expire()
    answer = place.pages.ask(f"/{ACT}&step=plan", Cookie="explorer-session-0=x")
    assert answer.status == 303
    assert answer.headers["location"].startswith("/login?next=%3Ft%3Dw%2Forders%26tab%3Dact"), "the way back to it"
