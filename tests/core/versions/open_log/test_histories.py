"""The histories of one listing: each is read once, and later ones go on where the last reading ended."""

from __future__ import annotations

import pytest

from explorer.core.errors import Cancelled, MalformedAction
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.versions.open_log.histories import Histories, ReadOptions
from explorer.core.versions.provenance import Provenance
from tests.core.versions.open_log.test_source import stored
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.small_logs import add, lines, write

PLAIN = ReadOptions()
FOLLOWED = ReadOptions(follows=True)


def reads(store: FaultyStore) -> list[str]:
    return [request for request in store.requests if request.startswith("read")]


def allow(commits: Provenance) -> None:
    """Take the commits as they are."""
    assert commits.latest == 3


def opened(commits: int = 4) -> tuple[Histories, FaultyStore]:
    store = stored(commits, None)
    found = Histories(list_log(store))
    store.requests.clear()
    return found, store


def test_each_history_is_read_once() -> None:
    found, store = opened()
    assert found.provenance(store, PLAIN) is found.provenance(store, PLAIN)
    assert found.provenance_table(store, PLAIN, None, allow).column("version").to_pylist() == [3, 2, 1, 0]
    assert found.provenance_table(store, PLAIN, 2, allow).column("version").to_pylist() == [3, 2]
    assert found.history(store, PLAIN) is found.history(store, PLAIN)
    assert reads(store) == ["read 4", "read starts of 4", "read 4", "read 4"]


def test_the_whole_history_answers_for_the_others() -> None:
    found, store = opened()
    history = found.history(store, PLAIN)
    store.requests.clear()
    assert found.provenance(store, PLAIN) is history
    assert found.provenance_table(store, PLAIN, 1, allow).column("version").to_pylist() == [3]
    assert found.history_of_log(store, PLAIN) is history
    assert store.requests == []


@pytest.mark.parametrize(("options", "read"), [(PLAIN, "read 5"), (FOLLOWED, "read 1")])
def test_a_log_that_is_followed_is_read_on_from_where_the_last_reading_ended(options: ReadOptions, read: str) -> None:
    found, store = opened()
    found.history(store, options)
    write(store, {4: [add("4")]})
    later = found.of(list_log(store))
    store.requests.clear()
    assert (later.history(store, options).latest, reads(store)) == (4, [read])
    assert found.history(store, options).latest == 3


def test_another_log_is_read_from_its_beginning() -> None:
    found, store = opened()
    found.history(store, FOLLOWED)
    store.put(commit_name(1), lines([add("another"), add("one")]))
    later = found.of(list_log(store))
    store.requests.clear()
    assert int(later.history(store, FOLLOWED).lifetimes.live(3).sum()) == 4
    assert reads(store) == ["read 4"]


def test_a_copy_goes_on_apart() -> None:
    found, store = opened()
    history = found.history(store, FOLLOWED)
    copied = found.copy()
    assert copied.history(store, FOLLOWED) is history
    write(store, {4: [add("4")]})
    listing = list_log(store)
    store.requests.clear()
    assert [each.of(listing).history(store, FOLLOWED).latest for each in (copied, found)] == [4, 4]
    assert reads(store) == ["read 1", "read 1"]


def test_a_reading_that_was_ended_begins_again() -> None:
    found, store = opened()

    def end(done: int, total: int) -> None:
        raise Cancelled(f"Ended at {done} of {total}.")

    with pytest.raises(Cancelled, match="Ended at 0 of 4"):
        found.history(store, ReadOptions(follows=True, watch=end))
    assert found.history(store, FOLLOWED).latest == 3


def test_a_broken_commit_is_told_each_time() -> None:
    found, store = opened()
    store.put(commit_name(2), b'{"add":1}\n')
    for _ in range(2):
        with pytest.raises(MalformedAction):
            found.history(store, PLAIN)
