"""A shared server over a while: people who look and go on, others who commit, and pages that are opened and left.

The people are scripted sockets, each with a login and a page of its own, which ask as a person does: tabs, versions,
the list of tables, the palette, other themes, and the page anew. Two programs commit meanwhile, this one and deltalake.
DELTA_SOAK_SECONDS sets how long the first part takes, DELTA_SOAK_THINKS, DELTA_SOAK_COMMIT_EVERY, and
DELTA_SOAK_PATIENCE how busy it is and how long an answer may take, in seconds, for a machine that has other work.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from deltalake import DeltaTable
from tornado.iostream import StreamClosedError
from tornado.simple_httpclient import HTTPStreamClosedError
from tornado.websocket import WebSocketClosedError

from explorer.web.serving.people.password_file import write_user
from tests.prove.racers.steady_writer import begin
from tests.support.dose import WHOLE_DOSE
from tests.support.own_loop import run_apart
from tests.support.pages.raw_pages import Pages
from tests.support.pages.scripted_page import ScriptedPage
from tests.support.shared_tables import REPOSITORY

PEOPLE: Final = 30 if WHOLE_DOSE else 4
SECONDS: Final = float(os.environ.get("DELTA_SOAK_SECONDS", "1800" if WHOLE_DOSE else "12"))
COMMIT_EVERY: Final = float(os.environ.get("DELTA_SOAK_COMMIT_EVERY", "10" if WHOLE_DOSE else "3"))
THINKS: Final = float(os.environ.get("DELTA_SOAK_THINKS", "8" if WHOLE_DOSE else "1"))
"""Seconds that a person looks at a page, on the average."""
LEFT: Final = 500 if WHOLE_DOSE else 24
"""Pages that are opened and left."""
AT_ONCE: Final = 25 if WHOLE_DOSE else 8
WARM: Final = min(300.0, SECONDS / 3)
"""Seconds after which what is kept for good has been loaded."""
MOST_GROWTH: Final = 96
"""MiB that the server may take more at the end than when it was warm, and after pages that were left."""
_PATIENCE: Final = float(os.environ.get("DELTA_SOAK_PATIENCE", "300"))
_TRIES: Final = 6
_TABS: Final = ("overview", "diff", "columns", "files", "statistics", "data", "changes", "audit", "deletion-vectors")

pytestmark = [
    pytest.mark.timeout(SECONDS + 3_600),
    pytest.mark.whole("tests/web/test_limits.py, and tests/prove/test_server_attacks.py for sockets that are left"),
]

_SERVE: Final = """
import sys
from explorer.web import serve
serve(sys.argv[1:2], basic_auth=sys.argv[2], activity=sys.argv[3], ready=lambda url: print(url, flush=True))
"""


@dataclass
class Soaked:
    """A server in a process of its own.

    Attributes:
        root: The folder that it serves.
        pages: It.
        process: Its process number.
        log: What it wrote to its standard error.
        sizes: Its resident memory in MiB, by the seconds since the start.
    """

    root: Path
    pages: Pages
    process: int
    log: Path
    sizes: dict[int, int] = field(default_factory=dict)

    @property
    def memory(self) -> int:
        """Its resident memory now, in MiB."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) // 1024

    @property
    def threads(self) -> int:
        """How many threads it has."""
        return len(list(Path(f"/proc/{self.process}/task").iterdir()))

    def cookie(self, person: str) -> str:
        """Sign a person in."""
        return self.pages.signed_in(person, f"secret-of-{person}")

    def complaints(self) -> list[str]:
        """Return the lines of its log that are about an error."""
        lines = self.log.read_text().splitlines()
        return [line for line in lines if "Traceback" in line or "ERROR" in line or "failed" in line]


@pytest.fixture
def soaked(tmp_path: Path) -> Iterator[Soaked]:
    """Serve a table to people who sign in."""
    root, users = tmp_path / "w", tmp_path / "users.json"
    begin(str(root / "orders"))
    for number in range(PEOPLE):
        write_user(users, f"person{number}", f"secret-of-person{number}")
    log = tmp_path / "server.log"
    command = [sys.executable, "-c", _SERVE, str(root), str(users), str(tmp_path / "activity")]
    with (
        log.open("w") as said,
        subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=said, text=True) as process,
    ):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, log.read_text()
        try:
            yield Soaked(root, Pages(int(url.rstrip("/").rpartition(":")[2])), process.pid, log)
        finally:
            process.terminate()
            process.communicate(timeout=60)


@contextmanager
def commits(folder: Path) -> Iterator[list[int]]:
    """Let another process commit; the list is filled with its versions at the end."""
    versions: list[int] = []
    command = [sys.executable, "-m", "tests.prove.racers.steady_writer", str(folder), str(COMMIT_EVERY)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        try:
            yield versions
        finally:
            told, _ = writer.communicate(timeout=_PATIENCE)
            versions += map(int, told.split())
    assert writer.returncode == 0


class Person:
    """Somebody who looks at the table until it is time to go home.

    Args:
        server: The server.
        number: Which one.
    """

    def __init__(self, server: Soaked, number: int) -> None:
        self._server, self._random = server, random.Random(number)  # repeats the same presses
        self._cookie = server.cookie(f"person{number}")
        self.page: ScriptedPage | None = None
        self.did: Counter[str] = Counter()
        self.heard = 0
        self.notices: set[str] = set()

    async def look_until(self, ends: float) -> None:
        """Do one thing after the other; stay on a page of the table."""
        await asyncio.sleep(self._random.random() * min(THINKS, 5))
        await self._open("?t=w/orders")
        while time.monotonic() < ends:
            await asyncio.sleep(min(self._random.expovariate(1 / THINKS), max(ends - time.monotonic(), 0)))
            await self._next()
        assert self.page is not None
        await self.page.go("?t=w/orders", patience=_PATIENCE)

    async def leave(self) -> None:
        """Close the page."""
        if self.page is not None:
            await self.page.close()
            self._forget()

    async def _next(self) -> None:
        assert self.page is not None
        what = self._random.choices(("tab", "version", "theme", "palette", "home", "anew"), (55, 15, 5, 5, 8, 12))[0]
        self.did[what] += 1
        newest = max(self.page.news, self.page.last, 0)
        match what:
            case "tab":
                await self._go(f"?t=w/orders&tab={self._random.choice(_TABS)}")
            case "version":
                await self._go(f"?t=w/orders&v={self._random.randint(0, newest)}&tab={self._random.choice(_TABS)}")
            case "theme":
                await self.page.ask("theme", theme=self._random.choice(("light", "dark")), patience=_PATIENCE)
            case "palette":
                await self.page.ask("palette", text=self._random.choice(("ord", "v1", "files")), patience=_PATIENCE)
            case "home":
                # The list is another kind of page, so its address is opened anew; so is the way back.
                await self._open("?")
                await asyncio.sleep(min(THINKS, 2))
                await self._open("?t=w/orders")
            case "anew":
                await self._open(f"?t=w/orders&tab={self._random.choice(_TABS)}")

    async def _go(self, query: str) -> None:
        assert self.page is not None
        await self.page.go(query, patience=_PATIENCE)

    async def _open(self, query: str) -> None:
        """Open another page; the one before is closed, or its network is gone."""
        if self.page is not None:
            await (self.page.close() if self._random.random() < 0.7 else self.page.leave())
            self._forget()
        for _ in range(_TRIES):
            self.did["opened"] += 1
            try:
                origin, cookie = self._server.pages.origin, self._cookie
                self.page = await ScriptedPage.open(origin, query, cookie=cookie, patience=_PATIENCE)
            except (HTTPStreamClosedError, StreamClosedError, WebSocketClosedError):
                # The server closes a connection that says nothing for 20 s, as of a machine that does not get to it. A
                # browser opens another one.
                self.did["opened again"] += 1
            else:
                return
        pytest.fail(f"{query} could not be opened {_TRIES} times")

    def _forget(self) -> None:
        assert self.page is not None
        self.heard += self.page.heard
        self.notices |= self.page.notices
        self.page = None


async def measured(server: Soaked, started: float) -> None:
    """Measure the memory of the server again and again."""
    while True:
        second = round(time.monotonic() - started)
        server.sizes[second] = server.memory
        print(f"{second} s: {server.memory} MiB, {server.threads} threads", flush=True)
        await asyncio.sleep(max(1.0, SECONDS / 60))


async def soak(server: Soaked, people: list[Person]) -> list[int]:
    """Let all people look while others commit; return the versions of the commits."""
    started = time.monotonic()
    measuring = asyncio.create_task(measured(server, started))
    with commits(server.root / "orders") as versions:
        await asyncio.gather(*(person.look_until(started + SECONDS) for person in people))
    newest = DeltaTable(str(server.root / "orders")).version()
    # Nothing is pressed any more: each page hears of the newest version by itself.
    await until(lambda: all(seen(person) == newest for person in people), "every page is told of the newest version")
    for person in people:
        assert person.page is not None
        await person.page.go("?t=w/orders", patience=_PATIENCE)
        assert person.page.title.startswith(f"orders v{newest} "), (person.page.title, newest)
    measuring.cancel()
    server.sizes[round(time.monotonic() - started)] = server.memory
    return versions


def seen(person: Person) -> int:
    """Return the newest version that a page shows or offers."""
    assert person.page is not None
    return max(person.page.news, person.page.last)


async def until(holds: Callable[[], bool], what: str, seconds: float = _PATIENCE) -> None:
    """Wait until something holds."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, what
        await asyncio.sleep(0.2)


def nearest(sizes: dict[int, int], second: float) -> int:
    """Return the size that was measured nearest to a time."""
    return sizes[min(sizes, key=lambda each: abs(each - second))]


def test_people_look_while_others_commit(soaked: Soaked, record_property: Callable[[str, object], None]) -> None:
    people = [Person(soaked, number) for number in range(PEOPLE)]
    before = soaked.memory

    async def run() -> list[int]:
        versions = await soak(soaked, people)
        for person in people:
            await person.leave()
        return versions

    versions = run_apart(run())
    sizes = soaked.sizes
    warm, last = nearest(sizes, WARM), sizes[max(sizes)]
    did = sum((person.did for person in people), Counter[str]())
    found = {
        "people": PEOPLE,
        "pages opened": did["opened"],
        "messages heard": sum(person.heard for person in people),
        "commits": len(versions),
        "MiB at first": before,
        **{f"MiB after {each} min": nearest(sizes, each * 60) for each in (5, 15, 30) if each * 60 <= SECONDS},
        "MiB at the end": last,
    }
    record_property("found", found)
    print(json.dumps(found | {"did": did}), flush=True)
    assert versions
    assert not set().union(*(person.notices for person in people)), "a page said that something is wrong"
    assert soaked.complaints() == []
    assert last - warm <= MOST_GROWTH, sizes


def test_pages_that_are_opened_and_left_give_their_memory_back(
    soaked: Soaked, record_property: Callable[[str, object], None]
) -> None:
    cookies = [soaked.cookie(f"person{number}") for number in range(PEOPLE)]

    async def visit(number: int) -> None:
        tab = _TABS[number % len(_TABS)]
        cookie = cookies[number % PEOPLE]
        page = await ScriptedPage.open(soaked.pages.origin, f"?t=w/orders&tab={tab}", cookie=cookie, patience=_PATIENCE)
        await (page.close() if number % 3 else page.leave())

    async def visits(numbers: range) -> None:
        waiting = list(numbers)

        async def some() -> None:
            while waiting:
                await visit(waiting.pop())

        await asyncio.gather(*(some() for _ in range(AT_ONCE)))

    async def settled() -> int:
        """Return the memory once no page is kept any more."""
        await asyncio.sleep(20)
        return soaked.memory

    async def run() -> tuple[int, int, int]:
        await visits(range(2 * AT_ONCE))  # what is loaded once, is loaded
        before = await settled()
        await visits(range(LEFT))
        return before, soaked.memory, await settled()

    before, most, after = run_apart(run())
    found = {"pages left": LEFT, "MiB before": before, "MiB just after": most, "MiB later": after}
    record_property("found", found)
    print(json.dumps(found), flush=True)
    assert soaked.complaints() == []
    assert after - before <= MOST_GROWTH, found
