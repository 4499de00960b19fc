"""Who may do what: every message, address, and export, by every role, on own, other, and hidden tables."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.activity.event import Event
from explorer.activity.newest import NewestEntries
from explorer.activity.reading import entries
from explorer.activity.record import ActivityRecord
from explorer.auditing.erasure import erasure_document
from explorer.auditing.erasure.search import prove_erasure
from explorer.core.errors import ExplorerError, NotAllowed, RequestError, TableNotFound
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.file_search import SearchResult
from explorer.given_roles import GivenRole, resolved_roles
from explorer.page.address import address_of
from explorer.page.host import Identity, KnownBy
from explorer.rights import ROLES, PersonalRights, Right
from explorer.web.personal_tables import PersonalEntry, PersonalTables
from explorer.web.recorder import Recorder
from explorer.web.served_tables import Catalog
from explorer.web.visible_tables import visible_catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.pages.open_windows import Window

SECRET = "Geheimnis"
"""It is in every name, row, reason, and statistic of the hidden table, and nowhere else."""
_KINDS = ("own", "other", "hidden")


def table(folder: Path, mark: str) -> None:
    folder.mkdir(parents=True)
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "word": [f"{mark}-row", f"{mark}-row-2"]})
    pq.write_table(rows, folder / "1.parquet")
    info = small_logs.commit_info("CREATE TABLE", user_name=f"{mark}-person", user_metadata=f"{mark}-reason")
    created = [info, small_logs.PROTOCOL, small_logs.metadata({"id": "long", "word": "string"})]
    size = (folder / "1.parquet").stat().st_size
    added = small_logs.add("1.parquet", 2, bounds={"word": (f"{mark}-row", f"{mark}-row-2")}, size=size)
    small_logs.write_log(folder, [created, [small_logs.commit_info("WRITE"), added]])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    table(root / "lake" / "eu" / "own", "own")
    table(root / "lake" / "us" / "other", "other")
    table(root / "lake" / SECRET / f"{SECRET}-table", SECRET)
    table(root / f"{SECRET}-root" / "orders", SECRET)
    # A link in a folder that can be seen, to a table that cannot.
    (root / "lake" / "eu" / "link").symlink_to(root / "lake" / SECRET / f"{SECRET}-table")
    return root


@pytest.fixture
def record(tmp_path: Path) -> ActivityRecord:
    return ActivityRecord(tmp_path / "record.jsonl", program="tests/1")


class Server:
    """The served tables with roles, and the windows of its people.

    Args:
        root: Where the tables are.
        record: Takes what they do.
        role: That of ana on the own table.
        by: Whether ana has her roles by ``name`` or by ``group``.
    """

    def __init__(self, root: Path, record: ActivityRecord, role: str, by: str = "name") -> None:
        places = [str(root / "lake"), str(root / f"{SECRET}-root")]
        lines = NewestEntries(record.files)
        self.catalog = Catalog(places, allow_commits=True, record=lines)
        people, groups = (("ana",), ()) if by == "name" else ((), ("sales",))
        given = [
            GivenRole(role, people=people, groups=groups, tables=("lake/eu",)),
            GivenRole("viewer", people=people, groups=groups, tables=("lake/us",)),
            GivenRole("admin", people=("root",)),
        ]
        self._groups: dict[str, tuple[str, ...]] = {"ana": ("others", *groups)}
        roles = resolved_roles(given, self.catalog.roots)
        assert roles is not None
        self.roles, self.record = roles, record

    def tables(self, name: str) -> PersonalTables:
        rights = self.rights(name)
        return PersonalTables(visible_catalog(self.catalog, rights), self.recorder(name), rights)

    def rights(self, name: str) -> PersonalRights:
        return self.roles.of(name, self._groups.get(name, ()))

    def recorder(self, name: str) -> Recorder:
        return Recorder(self.record, Identity("s", name, KnownBy.LOGIN))

    def window(self, query: str, name: str = "ana") -> Window:
        tables = self.tables(name)
        entry = PersonalEntry(tables, self.recorder(name))
        shown: Any = tables if address_of(query).table else visible_catalog(self.catalog, self.rights(name))
        window = Window(shown, query, identity=Identity("s", name, KnownBy.LOGIN), entry=entry)
        return window.settle()


NAMES = {"own": "lake/eu/own", "other": "lake/us/other", "hidden": f"lake/{SECRET}/{SECRET}-table"}


def told(window: Window) -> str:
    """Everything that the window was told, besides the name that it asked for itself."""
    heard = json.dumps([window.heard, window.session.shown.regions, window.session.shown.title], default=str)
    return heard.replace(f"lake/{SECRET}/{SECRET}-table", "").replace(f"lake%2F{SECRET}%2F{SECRET}-table", "")


def leaks(text: str) -> int:
    """How often something of the hidden table is in a text, which is not its name alone."""
    return text.count(f"{SECRET}-row") + text.count(f"{SECRET}-reason") + text.count(f"{SECRET}-person")


# --- what has no right


def test_a_message_without_a_right_is_refused_where_roles_are_given(root: Path, record: ActivityRecord) -> None:
    window = Server(root, record, "admin").window(f"?t={NAMES['own']}")
    called = []
    window.session._handlers = {**window.session._handlers, "new-message": called.append}
    window.ask("new-message")
    assert called == []
    assert "no right of its own" in told(window)


# --- as if it were not there


def test_a_hidden_table_and_one_that_does_not_exist_are_the_same_page(root: Path, record: ActivityRecord) -> None:
    server = Server(root, record, "viewer")
    absent = NAMES["hidden"].replace("table", "absent")
    pages = [
        json.dumps(server.window(f"?t={name}&tab=data").session.shown.regions).replace(name.rpartition("/")[2], "NAME")
        for name in (NAMES["hidden"], absent)
    ]
    assert pages[0] == pages[1]


def test_a_hidden_root_and_one_that_does_not_exist_are_the_same_page(root: Path, record: ActivityRecord) -> None:
    server = Server(root, record, "viewer")
    pages = [
        json.dumps(server.window(f"?t={name}/orders").session.shown.regions).replace(name, "NAME")
        for name in (f"{SECRET}-root", "no-such-root")
    ]
    assert pages[0] == pages[1]
    assert SECRET not in pages[0]


@pytest.mark.parametrize(
    "name",
    [
        "lake/eu/link",
        f"lake/eu/../{SECRET}/{SECRET}-table",
        f"lake/eu/own/../../{SECRET}/{SECRET}-table",
        f"lake//{SECRET}/{SECRET}-table",
        f"lake/{SECRET}/{SECRET}-table/",
        f"lake/eu%2f..%2f{SECRET}",
        f"/lake/{SECRET}/{SECRET}-table",
        f"{SECRET}-root/orders",
        f"lake/./{SECRET}/{SECRET}-table",
    ],
)
def test_no_spelling_of_a_name_leads_to_a_hidden_table(root: Path, record: ActivityRecord, name: str) -> None:
    tables = Server(root, record, "admin").tables("ana")
    for method in at_least_one([tables.facts, tables.open, tables.location, tables.reading, tables.is_being_read]):
        with pytest.raises((NotAllowed, TableNotFound)) as found:
            method(name)
        assert SECRET not in str(found.value).replace(name, "").replace(name.strip("/"), "").replace(
            f"{SECRET}/{SECRET}-table", ""
        )


def test_lists_show_nothing_of_what_is_hidden(root: Path, record: ActivityRecord) -> None:
    record.add(Event(kind="rows", person=f"{SECRET}-person", table=NAMES["hidden"]))
    record.add(Event(kind="sign-in", person=f"{SECRET}-person"))
    record.add(Event(kind="rows", person="ben", table=NAMES["own"]))
    for role in at_least_one(sorted(ROLES)):
        server = Server(root, record, role)
        for query in ("", "?q=lake", "?show=activity", "?show=activity&q=a", "?sort=-rows"):
            window = server.window(query)
            window.settle()
            assert SECRET not in json.dumps([window.heard, window.session.shown.regions], default=str), (role, query)
        activity = json.dumps(server.window("?show=activity").settle().session.shown.regions)
        assert ("ben" in activity) == (Right.ACTIVITY in ROLES[role]), role
    assert SECRET in json.dumps(server.window("?show=activity", "root").settle().session.shown.regions)


def test_a_search_in_other_tables_reads_those_whose_rows_may_be_read_alone(root: Path, record: ActivityRecord) -> None:
    others, folders = Server(root, record, "auditor").tables("ana").beside()
    assert [other.name for other in others] == [NAMES["other"]]
    assert folders == (), "no statement is about a folder that was not searched wholly"
    others, folders = Server(root, record, "auditor").tables("root").beside()
    assert len(list(others)) >= 4
    assert len(folders) == 2


def test_rows_are_taken_from_places_whose_rows_may_be_read_alone(root: Path, record: ActivityRecord) -> None:
    tables = Server(root, record, "committer").tables("ana")
    table = tables.open(NAMES["own"])
    table.check_source(str(root / "lake" / "us" / "other" / "1.parquet"))
    for source in at_least_one(
        [
            root / "lake" / SECRET / f"{SECRET}-table" / "1.parquet",
            root / "lake" / "eu" / "link" / "1.parquet",
            root / "lake" / "eu",
            root / "lake",
            root / f"{SECRET}-root" / "orders",
        ]
    ):
        with pytest.raises(NotAllowed) as found:
            table.check_source(str(source))
        assert f"{SECRET}-root" not in str(found.value).replace(str(source), "")


def test_a_window_that_goes_on_to_another_table_needs_the_rights_on_both(root: Path, record: ActivityRecord) -> None:
    """While the page of the next table is made, the one before is still on show, and messages are about it."""
    server = Server(root, record, "auditor")
    window = server.window(f"?t={NAMES['own']}")
    handled: list[str] = []
    window.session._handlers = {**window.session._handlers, "rows": lambda _: handled.append("rows")}
    window.session.query = f"?t={NAMES['other']}"
    window.ask("rows", where="")
    assert handled == []
    assert "Not among your rights" in told(window)


# --- what a person reads, and what is recorded


def test_the_page_says_what_is_missing_and_whom_to_ask(root: Path, record: ActivityRecord) -> None:
    window = Server(root, record, "auditor").window(f"?t={NAMES['own']}&tab=data")
    lead = window.session.shown.regions["lead"]
    assert "You may not read rows of this table.</p>" in lead
    assert "<b>What to do.</b> Ask root.</p>" in lead
    assert record.writer.flush(60)
    refused = [entry.event for entry in entries(record.files) if entry.event.kind == "refusal"]
    assert {(event.person, event.what, event.table) for event in refused} == {("ana", "rows", NAMES["own"])}


def test_a_desk_opens_no_table_that_may_not_be_changed(root: Path, record: ActivityRecord) -> None:
    tables = Server(root, record, "approver").tables("ana")
    assert not tables.allow_commits
    for name in at_least_one([NAMES["own"], NAMES["other"]]):
        with pytest.raises(NotAllowed, match="You may not plan and commit"):
            tables.open(name)


# --- values, names, and results that others read

VALUES = ("own-row", "own-row-2")
"""The bounds of the column ``word`` of the own table."""


@pytest.mark.parametrize("role", ["viewer", "auditor"])
def test_bounds_and_lines_of_the_log_are_for_those_who_may_read_rows(
    root: Path, record: ActivityRecord, role: str
) -> None:
    window, reads = Server(root, record, role).window(f"?t={NAMES['own']}"), Right.ROWS in ROLES[role]
    for query in at_least_one(["&tab=columns", "&tab=columns&column=word", "&tab=files&file=1.parquet"]):
        window.ask("go", query=f"?t={NAMES['own']}{query}")
        window.settle()
        shown = json.dumps(window.session.shown.regions)
        assert "word" in shown
        assert all((value in shown) == reads for value in VALUES), query
        assert ("not among your rights" in shown.lower()) != reads, query
    window.ask("go", query=f"?t={NAMES['own']}&version=1")
    window.settle()
    window.ask("raw")
    window.settle()
    assert ("minValues" in told(window)) == reads


def test_no_text_of_the_palette_leads_to_a_hidden_table(root: Path, record: ActivityRecord) -> None:
    """Its names were read for somebody else, and the browser claims to remember it."""
    for role in at_least_one(sorted(ROLES)):
        server = Server(root, record, role)
        server.catalog.list.begin(patience=10)
        assert SECRET in asked_of_palette(server.window(f"?t={NAMES['hidden']}", "root"), SECRET)
        for query in ("", f"?t={NAMES['own']}"):
            window = server.window(query)
            for text in ("", SECRET, SECRET.casefold(), "word", "person", "row", "table", "orders", "v1", "orders v1"):
                answer = asked_of_palette(window, text).replace(f"\u201c{text}\u201d", "")
                answer = answer.replace(f'data-text="{text}"', "")
                assert SECRET not in answer.replace(f"<b>{text}</b>", ""), (role, query, text)


def test_the_palette_answers_a_person_who_sees_no_table(root: Path, record: ActivityRecord) -> None:
    """What others read is in the index all the same."""
    server = Server(root, record, "viewer")
    server.catalog.list.begin(patience=10)
    asked_of_palette(server.window(f"?t={NAMES['hidden']}", "root"), SECRET)
    answer = asked_of_palette(server.window("", "nobody"), "person")
    assert "palette-empty" in answer or "Nothing" in answer or "No " in answer
    assert SECRET not in answer


def asked_of_palette(window: Window, text: str) -> str:
    name = NAMES["hidden"]
    recents = [["table", name, "", name], ["column", name, "", "word"], ["person", name, "", f"{SECRET}-person"]]
    window.ask("palette", text=text, recents=recents)
    window.settle()
    answers = (heard.get("regions", {}).get("palette-results") for heard in window.heard)
    return str([answer for answer in answers if answer is not None][-1])


def test_the_names_of_a_table_are_never_kept_under_the_address_of_the_next(root: Path, record: ActivityRecord) -> None:
    """Somebody goes on from a hidden table, and asks the palette before the next page is there."""
    server = Server(root, record, "viewer")
    window = server.window(f"?t={NAMES['hidden']}", "root")
    server.catalog.list.begin(patience=10)
    window.session.query = f"?t={NAMES['own']}"
    asked_of_palette(window, "person")
    # On the page of a third table, as those of the list and of the table itself read its names again.
    answer = asked_of_palette(server.window(f"?t={NAMES['other']}"), "person")
    assert "other-person" in answer.replace("<mark>", "").replace("</mark>", "")
    assert SECRET not in answer


def test_no_comparison_lane_or_range_tells_of_a_hidden_table(root: Path, record: ActivityRecord) -> None:
    server = Server(root, record, "committer")
    window = server.window(f"?t={NAMES['own']}")
    pages = []
    for other in at_least_one([NAMES["hidden"], NAMES["hidden"].replace("table", "tablx"), "lake/eu/link"]):
        window.ask("go", query=f"?t={NAMES['own']}&tab=diff&with={other}")
        window.settle()
        pages.append(json.dumps(window.session.shown.regions).replace("tablx", "table"))
    assert pages[0] == pages[1], "as if it were not there"
    assert SECRET not in pages[2]
    home = server.window("?show=timeline")
    home.settle()
    assert SECRET not in json.dumps([home.heard, home.session.shown.regions], default=str)
    assert "own" in json.dumps(home.session.shown.regions)
    home.ask("lane-card", name=NAMES["hidden"], first=0, last=1)
    home.settle()
    assert leaks(json.dumps(home.heard, default=str)) == 0


def test_a_shared_search_tells_a_person_of_no_table_that_is_hidden_from_that_person(
    root: Path, record: ActivityRecord
) -> None:
    server, condition = Server(root, record, "viewer"), "word = 'own-row'"
    found = server.tables("root")
    others, looked_in = found.beside()
    facts = found.facts(NAMES["own"])
    names, one = pa.array(["1.parquet"]), pa.array([1], pa.int64())
    files = SearchResult(
        pa.table({"key": names, "rows": one, "digest": ["0" * 64]}),
        pa.table({"request": [condition], "key": names, "visible": one, "masked": [0]}),
        {},
    )
    now, wanted = milliseconds(datetime.now(UTC)), {condition: condition}
    proof = prove_erasure(facts.log, wanted, now, lambda _: files, others=others, looked_in=looked_in)[condition]
    assert SECRET in json.dumps(msgspec.to_builtins(erasure_document(proof)))
    assert found.kept is not None
    about = facts.place, facts.snapshot(facts.last).metadata.id, (condition,)
    shared = found.kept.keep(about, {condition: proof}, 1)
    shown = {}
    for name in ("root", "ana"):
        window = server.window(f"?t={NAMES['own']}&tab=erasure&where={quote_plus(condition)}&result={shared}", name)
        window.settle()
        shown[name] = json.dumps(window.session.shown.regions)
        assert "1.parquet" in shown[name]
    assert SECRET in shown["root"]
    assert SECRET not in shown["ana"]
    assert NAMES["other"] in shown["ana"], "the tables that the person may search are still named"
    window = server.window(f"?t={NAMES['own']}&tab=erasure&where={quote_plus(condition)}&result={shared}")
    for export in at_least_one(["erasure-proof", "erasure-statement", "erasure-page"]):
        window.ask("download", list=export, format="json")
        window.settle()
    sent = [heard for heard in window.heard if heard.get("kind") not in ("patch", "page")]
    assert "".join(map(readable, sent)).count(condition.partition(" ")[0]) >= 3
    assert SECRET not in "".join(map(readable, sent))


def readable(part: dict[str, Any]) -> str:
    """Return a part of a download, with its bytes as text."""
    texts = [json.dumps(part, default=str)]
    for value in part.values():
        if isinstance(value, bytes):
            texts.append(value.decode("utf-8", "replace"))
        elif isinstance(value, str):
            with suppress(ValueError):
                texts.append(b64decode(value, validate=True).decode("utf-8", "replace"))
    return "".join(texts)


def test_an_export_that_does_not_exist_writes_no_line(root: Path, record: ActivityRecord) -> None:
    """A line of the record says what is done, in words of this program."""
    catalog = Catalog([str(root / "lake")])
    tables = PersonalTables(catalog, Recorder(record, Identity("s", "ana", KnownBy.LOGIN)))
    entry = PersonalEntry(tables, Recorder(record, Identity("s", "ana", KnownBy.LOGIN)))
    window = Window(tables, f"?t={NAMES['own']}", entry=entry).settle()
    window.ask("download", list="all rows, by root")
    window.settle()
    assert [entry.event.what for entry in entries(record.files)] == []
    window.ask("download", list="files", format="json")
    assert record.writer.flush(60)
    assert [entry.event.what for entry in entries(record.files)] == ["files"]


# --- the roles themselves


@pytest.fixture
def catalog(root: Path) -> Catalog:
    return Catalog([str(root / "lake")])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (GivenRole("viwer", people=("ana",)), "roles[1].role: 'viwer' is not a role. Did you mean viewer?"),
        (GivenRole("viewer"), "roles[1] is given to nobody"),
        (GivenRole("viewer", people=(" ",)), "roles[1] is given to nobody"),
        (GivenRole("viewer", people=("ana",), tables=("lakes/eu",)), "Did you mean lake?"),
        (GivenRole("viewer", people=("ana",), tables=("",)), "no served folder is called ''"),
        (GivenRole("viewer", people=("ana",), tables=("lake/../x",)), "is not inside a served folder"),
    ],
)
def test_a_role_that_does_not_fit_stops_the_server_at_its_start(catalog: Catalog, given: GivenRole, said: str) -> None:
    with pytest.raises(RequestError) as found:
        resolved_roles([given], catalog.roots)
    assert said in str(found.value)


def rights(catalog: Catalog, *given: GivenRole, name: str = "ana", groups: tuple[str, ...] = ()) -> Iterator[str]:
    roles = resolved_roles(given, catalog.roots)
    assert roles is not None
    visible = visible_catalog(catalog, roles.of(name, groups))
    for ref in visible.roots.tables():
        yield ref.name


def test_a_folder_is_not_one_whose_name_begins_alike(catalog: Catalog, root: Path) -> None:
    assert list(rights(catalog, GivenRole("viewer", people=("ana",), tables=("lake/u",)))) == []
    assert list(rights(catalog, GivenRole("viewer", people=("ana",), tables=("lake/us/",)))) == [NAMES["other"]]


def test_groups_and_everyone(catalog: Catalog) -> None:
    by_group = GivenRole("viewer", groups=("ops",), tables=("lake/us",))
    assert list(rights(catalog, by_group, groups=("ops",))) == [NAMES["other"]]
    assert list(rights(catalog, by_group, groups=("op",))) == []
    assert list(rights(catalog, by_group, name="ops")) == [], "a person cannot be called like a group"
    everyone = GivenRole("viewer", people=("*",), tables=("lake/us",))
    assert list(rights(catalog, everyone, name="")) == [NAMES["other"]]
    named = GivenRole("admin", people=("root",))
    assert list(rights(catalog, named, name="*")) == [], "a person who is called * is not everyone"
    assert list(rights(catalog, named, name="", groups=("",))) == []


def test_without_roles_everyone_may_all_that_the_server_allows(catalog: Catalog) -> None:
    assert resolved_roles([], catalog.roots) is None
    assert visible_catalog(catalog, PersonalRights()) is catalog
    assert not PersonalRights().is_restricted


def test_an_error_of_a_hidden_table_is_the_very_one_of_a_missing_table(root: Path, record: ActivityRecord) -> None:
    tables = Server(root, record, "viewer").tables("ana")
    errors = []
    for name in at_least_one([NAMES["hidden"], NAMES["hidden"].replace("table", "gone")]):
        with pytest.raises(ExplorerError) as found:
            tables.facts(name)
        errors.append(json.dumps(found.value.facts()).replace("gone", "table"))
    assert errors[0] == errors[1]
