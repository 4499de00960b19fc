"""Files of the log that name a version newer than any commit or complete checkpoint: no older one is taken for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import TableNotFound, UnsupportedFeature, VersionGap
from explorer.core.log.log_path import STAGED_FOLDER, commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.verify.integrity import verify
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.log_store import LogStore, ObjectMeta
from explorer.storage import open_store
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines, new_store, paths, write

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
TRACES: dict[str, Callable[[int], tuple[str, bytes]]] = {
    "a hint": lambda version: ("_delta_log/_last_checkpoint", json.dumps({"version": version, "size": 4}).encode()),
    "a part": lambda version: (f"_delta_log/{version:020d}.checkpoint.{2:010d}.{3:010d}.parquet", b"PAR1"),
    "a checksum": lambda version: (f"_delta_log/{version:020d}.crc", b"{}"),
    "a checksum of few digits": lambda version: (f"_delta_log/{version:05d}.crc", b"{}"),
    "a compaction": lambda version: (
        f"_delta_log/{2:020d}.{version:020d}.compacted.json",
        lines([add("b"), add("z")]),
    ),
    "a staged commit": lambda version: (f"{STAGED_FOLDER}/{version + 1:020d}.{UUID}.json", lines([add("z")])),
}
DESCRIPTION = {"kind": "set-description", "description": "x"}


class _Flat(FaultyStore):
    """A store that lists objects alone, as the protocol of stores allows."""

    def list_from(self, folder: str, start: str = "") -> Iterable[ObjectMeta]:
        return list(super().list_from(folder, start))


def _log(folder: Path, trace: str, version: int = 5) -> LogStore:
    store = open_store(folder)
    write(store, {0: (PROTOCOL, METADATA, add("a")), 1: (add("b"),), 2: (add("c"),)})
    store.put_if_absent(*TRACES[trace](version))
    return store


@pytest.mark.parametrize("trace", TRACES)
def test_the_newest_version_is_refused_and_an_older_one_is_read_on_request(tmp_path: Path, trace: str) -> None:
    store = _log(tmp_path, trace)
    table = explorer.Table(store)
    with pytest.raises(VersionGap, match=r"names version 5 in .+ is that of version 2") as caught:
        table.snapshot()
    assert (caught.value.version, caught.value.missing, caught.value.latest) == (5, 3, 2)
    assert TRACES[trace](5)[0] in caught.value.message
    assert paths(table.snapshot(2)) == {("a", None), ("b", None), ("c", None)}
    assert table.latest_version() == 5


@pytest.mark.parametrize("trace", TRACES)
def test_nothing_is_planned_or_committed_on_the_older_version(tmp_path: Path, trace: str) -> None:
    store = _log(tmp_path, trace)
    with pytest.raises(VersionGap, match="Restore the missing log files"):
        explorer.Table(store).plan(DESCRIPTION)
    with pytest.raises(VersionGap, match="Restore the missing log files"):
        explorer.Table(store).plan({"kind": "checkpoint"})
    assert commit_name(3) not in set(store.list_tree())


@pytest.mark.parametrize("trace", TRACES)
def test_verify_and_audit_say_error(tmp_path: Path, trace: str) -> None:
    store = _log(tmp_path, trace)
    problems = [each for each in verify(store).problems if each.kind == "lost-version"]
    assert [(each.version, each.breaking, bool(each.next_step)) for each in problems] == [(5, True, True)]
    worst = explorer.Table(store).audit().findings[0]
    assert (worst.rule, worst.severity) == ("unreadable-log", "error")
    assert worst.remedy is not None


@pytest.mark.parametrize("trace", TRACES)
def test_what_names_the_newest_version_or_an_older_one_changes_nothing(tmp_path: Path, trace: str) -> None:
    store = _log(tmp_path, trace, 2)
    assert paths(explorer.Table(store).snapshot()) == {("a", None), ("b", None), ("c", None)}
    assert list_log(store, use_hint=True).missing_version is None
    assert "lost-version" not in {each.kind for each in verify(store).problems}


@pytest.mark.parametrize("trace", TRACES)
def test_a_store_that_lists_objects_and_no_folders_is_asked_for_staged_commits_as_well(
    tmp_path: Path, trace: str
) -> None:
    store = _Flat(_log(tmp_path, trace))
    table = explorer.Table(store)
    with pytest.raises(VersionGap, match="names version 5"):
        table.snapshot()
    table.refresh()
    with pytest.raises(VersionGap, match="names version 5"):
        table.history()


def test_a_table_that_was_opened_before_is_refused_too(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, {0: (PROTOCOL, METADATA, add("a"))})
    table = explorer.Table(store)
    assert table.snapshot().version == 0
    store.put_if_absent(*TRACES["a checksum"](3))
    table.refresh()
    with pytest.raises(VersionGap, match="names version 3"):
        table.snapshot()


def test_once_the_commits_are_back_the_table_is_read_as_before(tmp_path: Path) -> None:
    store = _log(tmp_path, "a hint")
    table = explorer.Table(store)
    with pytest.raises(VersionGap, match="version 5"):
        table.snapshot()
    write(store, {3: (add("d"),), 4: (add("e"),), 5: (add("f"),)})
    table.refresh()
    assert (table.snapshot().version, table.snapshot().num_files) == (5, 6)


@pytest.mark.parametrize("trace", ["a hint", "a part", "a checksum"])
def test_a_folder_with_nothing_but_a_trace_is_no_place_for_a_new_table(trace: str) -> None:
    store = new_store()
    store.put_if_absent(*TRACES[trace](5))
    with pytest.raises(VersionGap, match="no commit and no complete checkpoint"):
        explorer.Table(store).snapshot()
    assert [each.kind for each in verify(store).problems if each.breaking] == ["lost-version"]


def test_a_folder_without_any_trace_is_still_no_table() -> None:
    with pytest.raises(TableNotFound):
        explorer.Table(new_store())


def test_staged_commits_of_a_table_that_a_catalog_manages_are_no_loss(tmp_path: Path) -> None:
    features = ("catalogManaged", "inCommitTimestamp")
    managed = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("catalogManaged",),
        writer_features=features,
    )
    store = open_store(tmp_path)
    write(store, {0: (managed, METADATA, add("a"))})
    store.put_if_absent(*TRACES["a staged commit"](5))
    with pytest.raises(UnsupportedFeature, match="catalog"):
        explorer.Table(store).snapshot()
    assert "lost-version" not in {each.kind for each in verify(store).problems}


def test_a_trace_beyond_a_checkpoint_that_the_hint_names_is_found(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, {0: (PROTOCOL, METADATA, add("a")), 1: (add("b"),)})
    write_checkpoint(store, 1, [PROTOCOL, METADATA, add("a"), add("b")], "classic")
    store.put_if_absent(*TRACES["a hint"](1))
    store.put_if_absent(*TRACES["a checksum"](2))
    table = explorer.Table(store)
    with pytest.raises(VersionGap, match="names version 2"):
        table.snapshot()
    with pytest.raises(VersionGap, match="names version 2"):
        table.history()


@pytest.mark.parametrize("name", ["9" * 20 + ".json", "9" * 25 + ".crc", "9" * 20 + ".checkpoint.parquet"])
def test_a_number_beyond_64_bits_tells_of_no_version(tmp_path: Path, name: str) -> None:
    store = open_store(tmp_path)
    write(store, {0: (PROTOCOL, METADATA, add("a"))})
    store.put_if_absent(f"_delta_log/{name}", b"{}")
    table = explorer.Table(store)
    assert table.snapshot().version == 0
    assert len(table.history()) == 1
    assert table.audit().findings == ()
    # delta-spark 4.4.0 reads all these numbers, and refuses the table; it needs no checksum.
    refused = () if name.endswith(".crc") else ("unusual-name",)
    assert tuple(each.kind for each in table.verify().problems) == refused


@pytest.mark.parametrize("trace", ["a hint", "a compaction"])
def test_no_next_step_gives_away_the_trace_of_a_lost_version(tmp_path: Path, trace: str) -> None:
    steps = [each.next_step for each in verify(_log(tmp_path, trace)).problems]
    assert len(steps) == 2
    kept = ("Restore the missing log files", "unless a version is lost", "Keep it unless")
    assert all(any(text in step for text in kept) for step in steps)


@pytest.mark.parametrize("digits", [19, 21])
def test_a_commit_that_only_some_clients_see_is_named(tmp_path: Path, digits: int) -> None:
    # deltalake 1.6.6 and DuckDB read version 0, where delta-spark reads version 1 too.
    store = open_store(tmp_path)
    write(store, {0: (PROTOCOL, METADATA, add("a"))})
    store.put_if_absent(f"_delta_log/{1:0{digits}d}.json", lines([add("b")]))
    table = explorer.Table(store)
    assert table.snapshot().version == 1
    (problem,) = table.verify().problems
    assert (problem.kind, problem.version, problem.breaking) == ("unusual-name", 1, False)
    assert f"{digits} digits" in problem.detail


def test_two_commits_of_the_only_version_are_verified(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, {0: (PROTOCOL, METADATA, add("a"))})
    store.put_if_absent("_delta_log/0.json", lines([add("b")]))
    assert [(each.kind, each.breaking) for each in verify(store).problems] == [("two-names", True)]
