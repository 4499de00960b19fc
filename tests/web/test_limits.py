"""What one person may have of a server at once: refused in words beyond it, and free again afterwards."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from explorer.core.errors import LimitReached
from explorer.page.host import Identity, KnownBy
from explorer.turns import Line, own_line
from explorer.web.limits import PersonLimits, ServerLimits
from explorer.web.personal_tables import PersonalEntry, PersonalTables
from explorer.web.recorder import Recorder
from explorer.web.served_tables import Catalog
from explorer.web.serving.people.password_file import write_user
from tests.support.logs import hostile_tables, small_logs
from tests.support.own_loop import run_apart
from tests.support.pages.open_windows import Window
from tests.support.pages.raw_pages import Answer, Pages, Talk, served_here

ANA = Identity("s", "ana", KnownBy.LOGIN)
BEN = Identity("t", "ben", KnownBy.LOGIN)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    small_logs.write_log(tmp_path / "w" / "orders", [[*hostile_tables.created({"id": "long"})]])
    return tmp_path / "w"


def window(root: Path, limits: ServerLimits, identity: Identity = ANA, query: str = "?t=w/orders") -> Window:
    catalog, recorder = Catalog([str(root)]), Recorder(None, identity)
    catalog.server_state = limits.statement
    tables = PersonalTables(catalog, recorder)
    shown: Any = tables if "?t=" in query else catalog
    return Window(shown, query, identity=identity, entry=PersonalEntry(tables, recorder, limits))


@pytest.mark.whole("the other tests of this file")
def test_more_pages_than_one_person_may_have_are_refused_with_429_until_one_is_closed(
    root: Path, tmp_path: Path
) -> None:
    users = tmp_path / "users.json"
    for name in ("ana", "ben"):
        write_user(users, name, f"secret-of-{name}")
    with served_here(root, basic_auth=users, limits=PersonLimits(pages=2)) as pages:
        ana, ben = (pages.signed_in(name, f"secret-of-{name}") for name in ("ana", "ben"))
        run_apart(opened_and_closed(pages, ana, ben))


async def opened_and_closed(pages: Pages, ana: str, ben: str) -> None:
    async def asked(cookie: str) -> Answer:
        return await asyncio.to_thread(pages.ask, "/?t=w/orders", Cookie=cookie)

    # Pages that are connected stay open, however long the next one takes.
    talks = [await Talk.begin(pages, (await asked(ana)).token, Cookie=ana) for _ in range(2)]
    refused = await asked(ana)
    assert refused.status == 429
    assert "You have 2 pages open on this server, the most for one person" in refused.text
    assert 'href="/?t=w/orders"' in refused.text, "the way to the page that was refused"
    assert (await asked(ben)).status == 200
    await talks.pop().close()
    for _ in range(120):
        if (await asked(ana)).status == 200:
            break
        await asyncio.sleep(1)
    else:
        pytest.fail("a page that was closed is still counted")
    await talks.pop().close()


def test_people_whose_name_is_not_known_count_as_one(root: Path) -> None:
    with served_here(root, limits=PersonLimits(pages=1)) as pages:
        assert [pages.ask("/").status for _ in range(2)] == [200, 429]
        assert pages.ask("/healthz").status == 200


def test_more_exports_at_once_than_one_person_may_have_are_refused(root: Path) -> None:
    limits = ServerLimits(PersonLimits(exports=1))
    made = limits.export(ANA, lambda: "made")
    ana, ben = window(root, limits), window(root, limits, BEN)
    refused = ana.ask("download", list="schema", format="json")
    assert "1 export is being made for you" in str(refused)
    assert not any("schema-" in str(message) for message in ana.heard)
    sent = len(ben.heard)
    ben.ask("download", list="schema", format="json")
    assert any("schema-" in str(message) for message in ben.heard[sent:])
    assert made() == "made"
    sent = len(ana.heard)
    ana.ask("download", list="schema", format="json")
    assert any("schema-" in str(message) for message in ana.heard[sent:]), "one that has ended counts no more"


def test_an_export_that_fails_counts_no_more(root: Path) -> None:
    limits = ServerLimits(PersonLimits(exports=1))

    def fail() -> None:
        raise ZeroDivisionError

    failing = limits.export(ANA, fail)
    with pytest.raises(LimitReached):
        limits.export(ANA, fail)
    with pytest.raises(ZeroDivisionError):
        failing()
    limits.export(ANA, fail)
    del root


def test_the_activity_page_says_what_the_server_holds_and_names_nobody(root: Path) -> None:
    limits = ServerLimits(PersonLimits())
    limits.open_pages = lambda: (ANA, ANA, BEN)
    lead = window(root, limits, query="?show=activity").session.shown.regions["lead"]
    assert "This server has 3 pages open by 2 people, 0 jobs on Spark and 0 in its queue, 0 exports under way" in lead
    assert "in memory" in lead
    assert "ben" not in lead


def test_what_a_window_begins_is_in_the_line_of_its_person(root: Path) -> None:
    limits = ServerLimits(PersonLimits())
    opened, seen, done = window(root, limits), list[Line | None](), threading.Event()

    def work() -> None:
        seen.append(own_line())
        done.set()

    opened.session.begin(work)
    assert done.wait(60)
    opened.session.tasks.guarded(work, 0)
    assert seen == 2 * [Line(limits.queue, "ana")]
    assert own_line() is None, "what follows on the loop is somebody else's"
