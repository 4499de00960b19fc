"""How a history is read: in order, watched, going on where it stopped, and out of every part of what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import MalformedAction
from explorer.core.log.log_path import LogPath, checkpoint_name, commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.protocol.actions import Action, CommitInfo, DomainMetadata, Metadata, Protocol
from explorer.core.protocol.log_store import LogStore
from explorer.core.versions.cached_history import read_history, read_provenance
from explorer.core.versions.history_reader import FirstReadable, HistoryReader, first_read
from explorer.core.versions.provenance import BaseState
from tests.core.versions.test_kept_history import commits_read
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.same_histories import same
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info, lines, new_store, remove, write

FIRST: list[Action] = [PROTOCOL, METADATA]
DOMAIN = DomainMetadata(domain="d", configuration="{}")


class Kept:
    """What is kept of tables, in memory; some of its tables can be broken."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, pa.Table]] = {}
        self.broken: set[str] = set()
        self.wanted: list[tuple[int, int]] = []
        self.dropped: list[str] = []
        self.covered: Sequence[LogPath] = ()
        self.takes = True

    def wants(self, commits: int, size: int) -> bool:
        self.wanted.append((commits, size))
        return self.takes

    def find(self, location: str) -> KeptTables | None:
        found = self.tables.get(location)
        return None if found is None else KeptTables(found, self.broken)

    def keep(self, location: str, covered: Sequence[LogPath], tables: Callable[[], Mapping[str, pa.Table]]) -> None:
        self.covered = covered
        self.tables[location] = {name: each.combine_chunks() for name, each in tables().items()}

    def drop(self, location: str) -> None:
        self.dropped.append(location)
        del self.tables[location]


class KeptTables:
    """What is kept of one table."""

    def __init__(self, tables: Mapping[str, pa.Table], broken: set[str]) -> None:
        self._tables, self._broken = tables, broken

    def table(self, name: str) -> pa.Table | None:
        return None if name in self._broken else self._tables[name]


def log(commits: int = 8, *, late: bool = False, shape: Shape = "classic") -> FaultyStore:
    """A log of so many versions; a late one begins with commit 2 and the checkpoint of version 3."""
    store = new_store()
    write(store, {0: [commit_info("CREATE"), *FIRST, DOMAIN]})
    write(store, {version: [add(f"{version}")] for version in range(1, commits)})
    if late:
        write_checkpoint(store, 3, [*FIRST, DOMAIN, *(add(f"{version}") for version in range(1, 4))], shape)
        for version in (0, 1):
            store.delete(commit_name(version))
    return FaultyStore(store)


def read(store: LogStore, kept: Kept | None, reader: HistoryReader | None = None, **more: Any) -> Any:
    return read_history(store, list_log(store), kept, reader, **more)


def opened(store: FaultyStore, kept: Kept) -> explorer.Table:
    store.requests.clear()
    return explorer.Table(store, indexes=lambda: kept)


def numbers(paths: Sequence[LogPath]) -> list[int]:
    return [path.version for path in paths]


@pytest.mark.parametrize("late", [False, True])
def test_a_reader_goes_on_where_it_stopped_and_a_copy_goes_on_apart(late: bool) -> None:
    store = log(late=late)
    listing = list_log(store)
    reader = HistoryReader(store, listing)
    assert reader.lines is None
    assert reader.reads_on(listing) is not late
    assert numbers(reader.unread(listing)) == list(range(2 if late else 0, 8))
    first = reader.history(listing)
    assert (first.first_readable, first.latest, first.cached, first.by_catalog) == (3 if late else 0, 7, False, False)
    assert reader.reads_on(listing)
    assert reader.unread(listing) == []
    write(store, {8: [add("8"), remove("5")], 9: [CommitInfo(operation="x")]})
    longer = list_log(store)
    assert reader.reads_on(longer)
    assert numbers(reader.unread(longer)) == [8, 9]
    apart = reader.copy()
    found = reader.history(longer)
    meant = explorer.Table(store).history_record()
    assert found.commits == meant.commits
    assert found.table().equals(meant.table())
    assert [record.version for record in first.commits] == list(range(2 if late else 0, 8))
    assert numbers(apart.unread(longer)) == [8, 9]
    assert apart.history(longer, last=True).table().equals(meant.table())
    store.delete(commit_name(9))
    shorter = list_log(store)
    assert not reader.reads_on(shorter)
    write(store, {9: [CommitInfo(operation="another")]})
    assert not reader.reads_on(list_log(store))


def test_a_log_that_was_cleaned_up_is_not_read_on() -> None:
    store = log()
    reader = HistoryReader(store, list_log(store))
    reader.history(list_log(store))
    write_checkpoint(store, 3, FIRST, "classic")
    assert reader.reads_on(list_log(store))
    for version in range(4):
        store.delete(commit_name(version))
    assert not reader.reads_on(list_log(store))
    assert first_read(list_log(store)) == 4
    assert first_read(list_log(log())) == 0
    assert first_read(list_log(log(late=True))) == 2
    assert first_read(list_log(log(4, late=True))) == 2


def test_the_first_readable_version_is_read_once_or_known() -> None:
    store = log(late=True)
    segment = list_log(store).segment(3)
    store.requests.clear()
    found = FirstReadable(store, segment)
    assert found.known == BaseState(3, PROTOCOL, METADATA, {"d": DOMAIN})
    assert sorted(found.files().column("path").to_pylist()) == ["1", "2", "3"]
    store.requests.clear()
    other = FirstReadable(store, segment, found.known)
    assert (other.known, other.segment, store.requests) == (found.known, segment, [])


@pytest.mark.parametrize("each", [b"{}", commit_info()], ids=["nothing", "provenance"])
def test_who_watches_is_told_at_the_start_and_after_every_two_hundred_commits(each: Action | bytes) -> None:
    store = new_store()
    write(store, {0: FIRST} | {version: [each] for version in range(1, 401)})
    told: list[tuple[int, int]] = []
    history, reader = read(store, None, watch=lambda *said: told.append(said), follow=True)
    assert told == [(0, 401), (200, 401), (400, 401)]
    assert len(history.commits) == 401
    write(store, {version: [each] for version in range(401, 603)})
    told.clear()
    read(store, None, reader, watch=lambda *said: told.append(said))
    assert told == [(401, 603), (601, 603)]


@pytest.mark.parametrize(("short", "after"), [(0, [(2, 5), (4, 5)]), (1, [(3, 5)])])
def test_who_watches_is_told_after_many_bytes(short: int, after: list[tuple[int, int]]) -> None:
    store = new_store()
    write(store, {0: FIRST})
    line = b'{"unknown":"%s"}\n'
    known = len(lines(FIRST))
    for version, size in ((1, (16 << 20) - known - short), (2, 20), (3, (16 << 20) - 20), (4, 20)):
        store.put(commit_name(version), line % (b"x" * (size - len(line) + 2)))
    told: list[tuple[int, int]] = []
    read(store, None, watch=lambda *said: told.append(said))
    assert told == [(0, 5), *after]


def test_small_actions_are_kept_in_the_text_that_they_had() -> None:
    store = new_store()
    spaced = b'{"commitInfo": {"operation" : "x",  "a":1.50}}'
    store.put(
        commit_name(0), spaced + b"\n" + lines([add("a"), *FIRST, DOMAIN]) + b'{"txn":{"appId":"t","version":1}}\n'
    )
    store.put(commit_name(1), b'\n{"cdc":{"path":"c"} , "txn":null}\n')
    store.put(commit_name(2), lines([add("b")]))
    reader = HistoryReader(store, list_log(store), keep_lines=True)
    assert reader.lines == []
    reader.history(list_log(store))
    said = [b'{"commitInfo":{"operation" : "x",  "a":1.50}}', *lines([*FIRST, DOMAIN]).splitlines()]
    assert reader.lines == [
        b"\n".join([*said, b'{"txn":{"appId":"t","version":1}}']),
        b'{"txn":null}\n{"cdc":{"path":"c"}}',
        b"",
    ]
    apart = reader.copy()
    write(store, {3: FIRST})
    reader.history(list_log(store))
    assert [len(each.lines or ()) for each in (reader, apart)] == [4, 3]


@pytest.mark.parametrize("late", [False, True])
def test_what_is_kept_serves_until_the_log_grows_and_then_its_reader_goes_on(late: bool) -> None:
    store, kept = log(late=late), Kept()
    count = 6 if late else 8
    history, reader = read(store, kept)
    listing = list_log(store)
    assert (history.cached, reader) == (False, None)
    assert kept.wanted == [(count, sum(path.size for path in listing.commits.values()))]
    checkpoint = [checkpoint_name(3)] if late else []
    assert [path.path for path in kept.covered] == [path.path for path in listing.commits.values()] + checkpoint
    again, reader = read(store, kept, follow=True)
    assert (again.cached, reader, len(kept.wanted)) == (True, None, 1)
    assert again.table().equals(history.table())
    assert (again.by_catalog, again.commits) == (False, history.commits)
    write(store, {8: [add("8"), remove("7")], 9: [CommitInfo(operation="x")]})
    kept.takes = False
    store.requests.clear()
    longer, reader = read(store, kept, follow=True)
    assert reader is not None
    assert commits_read(store) == 2
    assert (longer.cached, kept.wanted[1:]) == (True, [(2, sum(store.head(commit_name(v)).size for v in (8, 9)))])
    assert longer.table().equals(explorer.Table(store).history())
    store.requests.clear()
    assert read(store, kept, reader)[0].table().equals(longer.table())
    assert commits_read(store) == 0
    assert kept.wanted[2:] == [(0, 0)]
    kept.takes = True
    read(store, kept, follow=True)
    assert numbers(kept.covered) == [*range(10 - count - 2, 10), *([3] if late else [])]
    assert read(store, kept)[0].cached


def test_contradictions_are_read_out_of_the_log_and_who_watches_is_told() -> None:
    store, kept = log(), Kept()
    write(store, {8: [add("9"), remove("9")]})
    read(store, kept)
    found = opened(store, kept)
    told: list[tuple[int, int]] = []
    assert found.is_history_cached
    assert found.contradictions(lambda *said: told.append(said)) == ((8, "added and removed", "9"),)
    assert (told, found.is_history_cached) == ([(0, 9)], False)
    assert found.contradictions(lambda *said: told.append(said)) == found.history_record().lifetimes.contradictions
    assert told == [(0, 9)]


def test_nothing_is_kept_where_nobody_wants_it_or_no_lines_were_kept() -> None:
    store, kept = log(), Kept()
    kept.takes = False
    history, reader = read(store, kept, follow=True)
    assert (kept.tables, history.cached) == ({}, False)
    kept.takes = True
    write(store, {8: [add("8")]})
    read(store, kept, reader)
    assert kept.tables == {}
    assert read(store, None)[1] is None


def _facts(kept: Kept, store: LogStore) -> Any:
    return msgspec.json.decode(kept.tables[store.root]["log"].schema.metadata[b"facts"])


def test_what_the_tables_do_not_say_is_said_beside_them() -> None:
    store, kept = log(5, late=True), Kept()
    write(store, {5: [add("9"), remove("9")]})
    history = read(store, kept)[0]
    facts = _facts(kept, store)
    base = facts.pop("base")
    assert facts == {
        "first": 2,
        "readable_from": 3,
        "latest": 5,
        "events_before": 2,
        "contradictions": [[5, "added and removed", "9"]],
        "protocol": FIRST[0].to_wire(),
    }
    assert [path["name"] for path in base["files"]] == [checkpoint_name(3).removeprefix("_delta_log/")]
    assert (base["rows"], base["version"], base["domains"]) == (3, 3, [DOMAIN.to_wire()])
    assert [Protocol.from_wire(base["protocol"]), Metadata.from_wire(base["metadata"])] == FIRST
    tables = kept.tables[store.root]
    listed = [(path.name, path.size, path.modified, path.etag) for path in list_log(store).commits.values()]
    assert [tuple(row.values()) for row in tables["log"].to_pylist()] == listed
    assert tables["log"].column_names == ["name", "size", "modified", "etag"]
    assert tables["history"].equals(history.table())
    of_files = {"files", "paths", "partitions", "vectors", "events"}
    assert set(tables) == {"log", "history", "lines", "stays", *of_files}
    plain = log()
    read(plain, kept)
    assert _facts(kept, plain)["base"] is None


PARTS = ["log", "history", "lines", "stays", "files", "paths", "vectors", "events"]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("part", PARTS)
def test_where_one_part_is_broken_the_log_is_read_and_says_the_same(part: str, late: bool) -> None:
    store, kept = log(late=late), Kept()
    read(store, kept)
    kept.broken = {part}
    found = opened(store, kept)
    found.history()
    assert (commits_read(store) > 0) is (part in ("log", "history"))
    same(found, explorer.Table(store))
    write(store, {8: [add("8"), remove("7")]})
    grown = opened(store, kept)
    grown.history()
    whole = part in ("log", "lines", "files", "paths", "vectors", "events")
    assert commits_read(store) == ((7 if late else 9) if whole else 1)
    same(grown, explorer.Table(store))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("broken", [None, "lines", "log"])
def test_what_commits_say_of_themselves_is_read_out_of_what_is_kept(broken: str | None, late: bool) -> None:
    store, kept = log(late=late), Kept()
    read(store, kept)
    kept.broken = set() if broken is None else {broken}
    for extra in (0, 1):
        if extra:
            write(store, {8: [DomainMetadata(domain="e", configuration="1"), add("8")]})
        store.requests.clear()
        listing = list_log(store)
        found, meant = read_provenance(store, listing, kept), read_provenance(store, listing, None)
        assert found.commits == meant.commits
        assert (found.first_readable, found.latest, found.by_catalog) == (3 if late else 0, 7 + extra, False)
        assert found.base_domains == meant.base_domains == ({"d": DOMAIN} if late else {})
        assert found.metadata_at(4) == METADATA
    store.requests.clear()
    read_provenance(store, list_log(store), kept)
    assert commits_read(store) == (1 if broken is None else 7 if late else 9)
    assert read_provenance(store, msgspec.structs.replace(listing, by_catalog=True), None).by_catalog


@pytest.mark.parametrize("shape", SHAPES)
def test_a_log_whose_first_checkpoint_has_files_that_are_not_listed_is_not_kept(shape: Shape) -> None:
    store, kept = log(late=True, shape=shape), Kept()
    read(store, kept)
    assert (kept.tables == {}) is ("sidecars" in shape)
    same(opened(store, kept), explorer.Table(store))


def test_what_is_kept_of_another_log_is_dropped() -> None:
    store, kept = log(), Kept()
    read(store, kept)
    store.delete(commit_name(7))
    write(store, {7: [add("another")]})
    assert read(store, kept)[0].table().equals(explorer.Table(store).history())
    assert kept.dropped == [store.root]
    for version in (7, 6):
        store.delete(commit_name(version))
    read_provenance(store, list_log(store), kept)
    assert kept.dropped == [store.root] * 2


ODD_INFOS: dict[str, bytes] = {
    "null": b"null",
    "a number": b"5",
    "a text for a time": b'{"timestamp":"x","operation":"WRITE"}',
    "an unknown field": b'{"operation":"WRITE","n":1.50}',
}


@pytest.mark.parametrize("odd", ODD_INFOS.values(), ids=ODD_INFOS)
@pytest.mark.parametrize("in_commit", [False, True])
@pytest.mark.parametrize("at", [1, 3, 5])
def test_what_commits_say_of_themselves_is_the_same_with_and_without_their_files(
    odd: bytes, in_commit: bool, at: int
) -> None:
    store = new_store()
    metadata = Metadata(
        id="t", schema_string=METADATA.schema_string, configuration={"delta.enableInCommitTimestamps": str(in_commit)}
    )
    stated = [commit_info(f"op{version}", in_commit_timestamp=7 * version) for version in range(1, 6)]
    usual = {version: [info, add(f"f{version}")] for version, info in enumerate(stated, 1)}
    write(store, {0: [PROTOCOL, metadata]} | usual | {6: [add("more")]})
    store.put(commit_name(at), b'{"commitInfo":%s}\n' % odd)
    listing = list_log(store)
    history, _ = read(store, None)
    assert history.commits == read_provenance(store, listing, None).commits
    assert [record.info.operation for record in history.commits if record.info and record.version not in {0, at}] == [
        f"op{version}" for version in range(1, 6) if version != at
    ]
    assert [record.time_in_commit for record in history.commits][1:6] == [
        in_commit and version != at for version in range(1, 6)
    ]


def test_broken_provenance_between_that_of_others_is_named_with_its_file_and_line() -> None:
    store = new_store()
    write(store, {0: FIRST} | {version: [commit_info(), add(f"f{version}")] for version in range(1, 6)})
    store.put(commit_name(3), b'\n{"add":{"path":"x"}}\n{"commitInfo":{"operation":"\\ud800"}}\n')
    with pytest.raises(MalformedAction) as caught:
        read(store, None)
    assert (caught.value.version, caught.value.path, caught.value.line) == (3, commit_name(3), 3)
