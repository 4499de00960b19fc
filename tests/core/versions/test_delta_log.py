"""A log that grows, is cleaned up or becomes that of another table while it is open: nothing of it is mixed up."""

from __future__ import annotations

import msgspec
import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import TransactionAction
from explorer.core.protocol.log_store import LogStore
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, paths, remove, table, write

OTHER = msgspec.structs.replace(METADATA, id="another", description="another table")


def batch(application: str, version: int = 1) -> TransactionAction:
    return TransactionAction(app_id=application, version=version)


def test_what_is_newer_goes_on_top_of_what_is_known() -> None:
    found = table({0: (PROTOCOL, METADATA), 1: (add("a"), batch("one"))})
    assert found.snapshot().transactions == {"one": 1}
    write(found.store, {2: (add("b"), batch("two")), 3: (remove("a"), batch("one", 2), OTHER)})
    found.refresh()
    newest = found.snapshot()
    assert (newest.version, newest.transactions, newest.metadata.id) == (3, {"one": 2, "two": 1}, "another")
    assert paths(newest) == {("b", None)}
    assert found.snapshot(2).transactions == {"one": 1, "two": 1}
    assert paths(found.snapshot(2)) == {("a", None), ("b", None)}
    assert found.history().num_rows == 4


def test_only_the_new_commits_are_read() -> None:
    store = new_store()
    write(store, {version: (add(f"a{version}"),) for version in range(1, 50)} | {0: (PROTOCOL, METADATA)})
    counted = FaultyStore(store)
    found = explorer.Table(counted)
    found.snapshot()
    write(store, {50: (batch("one"),)})
    counted.requests.clear()
    found.refresh()
    assert found.snapshot().transactions == {"one": 1}
    assert counted.requests == ["list _delta_log", "read 1"]


def test_a_log_that_was_outdated_is_looked_at_at_the_next_question() -> None:
    for question in (
        lambda found: found.latest_version(),
        lambda found: found.snapshot().version,
        lambda found: found.version_range()[1],
        lambda found: found.history().num_rows - 1,
        lambda found: found.history_record().latest,
    ):
        found = table({0: (PROTOCOL, METADATA), 1: (add("a"),)})
        found.history()
        found.snapshot()
        write(found.store, {2: (add("b"),)})
        assert question(found) == 1
        found.outdate()
        assert question(found) == 2
        assert (found.history().num_rows, found.latest_version()) == (3, 2)


def test_another_table_at_the_same_place_is_read_from_its_beginning() -> None:
    found = table({0: (PROTOCOL, METADATA), 1: (add("a"), batch("one")), 2: (add("b"),)})
    assert found.snapshot(1).transactions == {"one": 1}
    assert found.snapshot().transactions == {"one": 1}
    for version in range(3):
        found.store.delete(commit_name(version))
    write(found.store, {0: (PROTOCOL, OTHER), 1: (add("x"), add("y")), 2: (add("z"), add("zz")), 3: (batch("two"),)})
    found.refresh()
    assert (found.snapshot().metadata.id, found.snapshot().transactions) == ("another", {"two": 1})
    assert found.snapshot(1).transactions == {}
    assert paths(found.snapshot(1)) == {("x", None), ("y", None)}


@pytest.mark.conformance("LOG-022")
def test_a_log_that_was_cleaned_up_is_read_from_its_checkpoint() -> None:
    commits = {0: (PROTOCOL, METADATA), 1: (add("a"), batch("one")), 2: (add("b"),)}
    found = table(commits)
    found.snapshot(1)
    write(found.store, {3: (add("c"),), 4: (batch("two"),)})
    write_checkpoint(found.store, 3, [PROTOCOL, METADATA, add("a"), add("b"), add("c"), batch("one")], "classic")
    for version in range(3):
        found.store.delete(commit_name(version))
    found.refresh()
    assert found.snapshot().transactions == {"one": 1, "two": 1}
    assert paths(found.snapshot()) == {("a", None), ("b", None), ("c", None)}
    assert found.version_range() == (3, 4)


def test_a_log_without_a_hint_is_listed_once_for_all_questions() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA)} | {version: (add(f"a{version}"),) for version in range(1, 5)})
    assert _listings(store) == 1
    write_checkpoint(store, 3, [PROTOCOL, METADATA, *(add(f"a{version}") for version in range(1, 4))], "classic")
    store.put("_delta_log/_last_checkpoint", b'{"version":3,"size":5}')
    assert _listings(store) == 2  # from the checkpoint on, and later what is older


def _listings(store: LogStore) -> int:
    counted = FaultyStore(store)
    found = explorer.Table(counted)
    assert (found.snapshot().version, found.history().num_rows, found.version_range()) == (4, 5, (0, 4))
    return counted.requests.count("list _delta_log")
