"""The matrix of rights: everything that the pages can be asked, by everyone, on own, other, and hidden tables.

What there is comes from the program: the messages of its windows, its exports, tabs, fields of addresses, and paths.
What is right comes from `tests.support.pages.decided_rights`. A person has a role, or one right beside that to see the
table, so that each right makes a difference; by the person's name, or by a group.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from explorer.activity.event import Event
from explorer.activity.record import ActivityRecord
from explorer.given_roles import GivenRole
from explorer.page.address import _KEYS as FIELDS
from explorer.page.entry import right_of_message, right_of_tab
from explorer.page.tabs import TABS as ALL_TABS
from explorer.rights import ROLES, Right
from explorer.web.serving.application import ExplorerApplication
from explorer.web.serving.people.password_file import write_user
from tests.support.at_least_one import at_least_one
from tests.support.dose import some_of
from tests.support.pages.decided_rights import EXPORTS, MESSAGES, OF_THE_LIST, TABS
from tests.support.pages.open_windows import Window
from tests.support.pages.raw_pages import served_here
from tests.web.test_roles import NAMES, SECRET, Server, leaks, table, told

_TRIAL = "trial"
ABSENT = NAMES["hidden"].replace("table", "tablx")
HOLDERS = [
    *[(role, ROLES[role], by) for by in ("name", "group") for role in sorted(ROLES)],
    *[(f"only {right.name.lower()}", frozenset({Right.SEE, right}), "name") for right in Right],
]
"""Who asks: what they are called here, their rights on the own table, and by what they have them."""
holders = pytest.mark.parametrize(
    ("rights", "by"), [each[1:] for each in HOLDERS], ids=[f"{each[0]} by {each[2]}" for each in HOLDERS]
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    table(root / "lake" / "eu" / "own", "own")
    table(root / "lake" / "us" / "other", "other")
    table(root / "lake" / SECRET / f"{SECRET}-table", SECRET)
    table(root / f"{SECRET}-root" / "orders", SECRET)
    return root


@pytest.fixture
def record(tmp_path: Path) -> Iterator[ActivityRecord]:
    record = ActivityRecord(tmp_path / "record.jsonl", program="tests/1")
    yield record
    record.writer.flush(60)


def server(
    monkeypatch: pytest.MonkeyPatch, root: Path, record: ActivityRecord, rights: frozenset[Right], by: str
) -> Server:
    """The served tables, with a role of these rights."""
    monkeypatch.setitem(ROLES, _TRIAL, rights)  # type: ignore[arg-type]  # it is a dict
    return Server(root, record, _TRIAL, by)


def on_each_table(rights: frozenset[Right]) -> Mapping[str, frozenset[Right]]:
    """The rights on each kind of table."""
    return {"own": rights, "other": ROLES["viewer"], "hidden": frozenset()}


def alike(text: str) -> str:
    """A text in which both names that are typed are the same, also where they are cut short, and so are all times."""
    times = r"\d\d:\d\d(:\d\d)?|just now|\d+ (s|min|seconds?|minutes?)( ago)?\b"
    return re.sub(times, "TIME", text.replace("tablx", "table"))


# --- nothing is left out


def test_all_that_there_is_has_a_right_that_was_decided(root: Path, record: ActivityRecord) -> None:
    made = Server(root, record, "admin")
    of_table, of_list = (made.window(query, "root").session._handlers for query in (f"?t={NAMES['own']}", ""))
    assert {*of_table, *of_list} - {"download"} == set(MESSAGES)
    assert of_list.keys() - of_table.keys() == OF_THE_LIST
    assert {name for tab in ALL_TABS for name in tab.exports} == set(EXPORTS)
    assert {tab.key for tab in ALL_TABS} == set(TABS)
    # Of the cases below, each run tries a few: here, a wrong right of anything is noticed by every run.
    assert {name: right_of_message(name) for name in MESSAGES} == MESSAGES
    assert {name: right_of_message("download", name) for name in EXPORTS} == EXPORTS
    assert {key: right_of_tab(key) for key in TABS} == TABS
    assert right_of_tab("act", "receipt") is Right.SEE
    assert right_of_tab("act", "request") is right_of_tab("act", decides=True) is Right.REQUESTS


# --- the matrix


@pytest.mark.sampled(cases=3)
@holders
def test_no_message_or_export_does_more_than_its_right(
    monkeypatch: pytest.MonkeyPatch, root: Path, record: ActivityRecord, rights: frozenset[Right], by: str
) -> None:
    """Each message is sent from a window on each table: it is handled exactly where the person has its right."""
    made, checked = server(monkeypatch, root, record, rights, by), 0
    for kind, held in at_least_one(on_each_table(rights).items()):
        window = made.window(f"?t={NAMES[kind]}")
        handled: list[str] = []
        handlers = window.session._handlers
        names = [name for name in handlers if name != "download"] + [f"download:{name}" for name in EXPORTS]
        window.session._handlers = {name: partial(_noted, handled, name) for name in handlers}
        for name in at_least_one(names):
            message, _, export = name.partition(":")
            handled.clear()
            window.number += 1
            window.send(message, number=window.number, list=export, query=window.session.query)
            # What is recorded first is handled in a later turn.
            assert record.writer.flush(60)
            window.settle()
            right = EXPORTS[export] if export else MESSAGES[message]
            # The page of a table that is not there can be left, and says no more.
            allowed = right in held or (kind == "hidden" and right is Right.SEE)
            assert (handled == [message]) == allowed, (kind, name, right)
            checked += 1
        assert leaks(told(window)) == 0
    assert checked == 3 * (len(MESSAGES.keys() - OF_THE_LIST) + len(EXPORTS))


def _noted(handled: list[str], name: str, _message: object) -> None:
    handled.append(name)


@pytest.mark.sampled(cases=3)
@holders
def test_no_tab_shows_more_than_its_right(
    monkeypatch: pytest.MonkeyPatch, root: Path, record: ActivityRecord, rights: frozenset[Right], by: str
) -> None:
    made, counted = server(monkeypatch, root, record, rights, by), Counter[str]()
    for kind, held in at_least_one(on_each_table(rights).items()):
        window = made.window(f"?t={NAMES[kind]}")
        for tab in at_least_one(ALL_TABS):
            window.ask("go", query=f"?t={NAMES[kind]}&tab={tab.key}")
            window.settle()
            regions = json.dumps(window.session.shown.regions)
            if kind == "hidden":
                counted["leaks"] += leaks(told(window))
                assert "No Delta table here" in window.session.shown.regions["lead"]
            else:
                refused = "Not among your rights" in regions
                assert refused == (TABS[tab.key] not in held), (kind, tab.key)
                if Right.ROWS not in held:
                    counted["leaks"] += regions.count(f"{kind}-row")
            counted["addresses"] += 1
    assert (counted["leaks"], counted["addresses"]) == (0, 3 * len(ALL_TABS))


# --- as if it were not there


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("tab", some_of([tab.key for tab in ALL_TABS], 3))
def test_each_field_of_an_address_takes_a_hidden_table_for_one_that_is_not_there(
    root: Path, record: ActivityRecord, tab: str
) -> None:
    """A committer, who may do the most besides an admin, types the name of the hidden table wherever one can type."""
    record.add(Event(kind="rows", person=f"{SECRET}-person", table=NAMES["hidden"]))
    made, compared = Server(root, record, "committer"), 0
    for beginning in at_least_one([f"?t={NAMES['own']}&tab={tab}", "?"]):
        windows = [made.window(beginning) for _ in range(2)]
        for key in at_least_one(sorted({*FIELDS.values(), "f.name"} - {"t", "tab"})):
            for window, name in zip(windows, _TYPED, strict=True):
                _type(window, beginning, key, name)
            shown = _alike_at_last(windows)
            assert shown[0] == shown[1], (beginning, key)
            assert leaks(shown[0]) == 0, (beginning, key)
            compared += 1
    assert compared == 2 * (len(set(FIELDS.values())) - 1)


_TYPED = (NAMES["hidden"], ABSENT)


def _type(window: Window, beginning: str, key: str, name: str) -> None:
    """Open an address that has a name in one of its fields."""
    separator = "" if beginning.endswith("?") else "&"
    window.ask("go", query=f"{beginning}{separator}{key}={quote_plus(name)}")
    window.settle()


def _alike_at_last(windows: list[Window]) -> list[str]:
    """Return the pages of two windows, once what they read by themselves is on show in both."""
    ends = time.monotonic() + 20
    while True:
        shown = [alike(json.dumps(window.session.shown.regions)) for window in windows]
        if shown[0] == shown[1] or time.monotonic() > ends:
            return shown
        for window in windows:
            window.turn()


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize("role", sorted(ROLES))
def test_no_message_of_the_list_tells_of_a_hidden_table(root: Path, record: ActivityRecord, role: str) -> None:
    """Each is sent with the name of the hidden table, or of one that is not there, in every field of any message."""
    made, checked = Server(root, record, role), 0
    for name in at_least_one(sorted(OF_THE_LIST)):
        answers = []
        for typed in _TYPED:
            window = made.window("?show=timeline")
            window.settle()
            heard = len(window.heard)
            fields = dict.fromkeys(("name", "table", "id", "text", "query", "list", "reason", "action"), typed)
            window.ask(name, first=0, last=1, pinned=True, **fields)
            window.settle()
            answers.append(alike(json.dumps(window.heard[heard:], default=str)))
            checked += 1
        assert leaks(answers[0]) == 0, name
        assert answers[0].count(SECRET) == answers[1].count(SECRET), "what was typed alone"
    assert checked == 2 * len(OF_THE_LIST)


# --- the paths of the server


def test_no_path_of_the_server_tells_of_a_hidden_table_or_anything_to_nobody(root: Path, tmp_path: Path) -> None:
    for name in ("ana", "root"):
        write_user(tmp_path / "users.json", name, f"secret-of-{name}")
    roles = [GivenRole("committer", people=("ana",), tables=("lake/eu",)), GivenRole("admin", people=("root",))]
    options = {"basic_auth": tmp_path / "users.json", "roles": roles, "activity": tmp_path / "activity"}
    with served_here(root / "lake", allow_commits=True, **options) as pages:
        application = pages.server._tornado
        assert isinstance(application, ExplorerApplication)
        paths = [rule.matcher.regex.pattern.rstrip("$") for rule in application.wildcard_router.rules]
        assert {"/", "/ws", "/login", "/logout"} <= set(paths)
        cookies = {name: pages.signed_in(name, f"secret-of-{name}") for name in ("ana", "root")}
        assert f"{SECRET}-reason" in pages.ask(f"/?t={NAMES['hidden']}", Cookie=cookies["root"]).text
        checked = 0
        for path in at_least_one([*paths, "/healthz", "/nothing"]):
            for person in ("ana", ""):
                headers = {"Cookie": cookies[person]} if person else {}
                answers = []
                for name in _TYPED:
                    filled = re.sub(r"\((?:[^()]|\([^()]*\))*\)", quote(name), path)
                    for query in (f"?t={quote_plus(name)}", f"?q={SECRET}", "?show=activity", "?show=timeline", ""):
                        answer = pages.ask(f"{filled}{query}", **headers)
                        assert leaks(answer.text) == 0, (path, query, person)
                        assert f"{SECRET}-root" not in answer.text, (path, query, person)
                        assert person or "own-" not in answer.text, (path, query)
                        answers.append((answer.status, query.partition("=")[0]))
                        checked += 1
                assert answers[: len(answers) // 2] == answers[len(answers) // 2 :], (path, person)
    assert checked == (len(paths) + 2) * 2 * 2 * 5
