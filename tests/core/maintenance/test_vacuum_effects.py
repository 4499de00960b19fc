"""What deleting files means: why each may go, which versions are lost, and whose changes can no longer be told."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.core.log.replay import read_commits
from explorer.core.maintenance.vacuum_effects import VacuumEffects, vacuum_effects
from explorer.core.protocol.actions import AddCDCFile, DeletionVectorDescriptor, Metadata, Protocol
from explorer.core.protocol.deletion_vectors import location
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, new_store, remove, table, vector

NOBODY, SHADOW = "no action of the log names it", "Hadoop's checksum of a deleted file"
EVERYTHING = ("a", "b", "ab", "c", "d", "e", "plain", "vectors.bin")
FEED = Protocol(min_reader_version=1, min_writer_version=4)


def feed(value: str) -> Metadata:
    return Metadata(id="m", schema_string=METADATA.schema_string, configuration={"delta.enableChangeDataFeed": value})


def effects(found: explorer.Table, gone: list[str], stored: list[str] | None = None) -> VacuumEffects:
    history = found.history_record()
    commits = [found.listing.commits[each.version] for each in history.commits if each.change_files]
    listed = sorted({*gone, *EVERYTHING}) if stored is None else stored
    return vacuum_effects(found.location, history, read_commits(found.store, commits), listed, gone)


def test_each_file_says_why_it_may_go() -> None:
    store = new_store()
    inside = add(f"{store.root}/inside")
    commits: dict[int, list[Any]] = {
        0: [PROTOCOL, METADATA, add("a"), add("b"), inside, add("live")],
        1: [remove("a"), AddCDCFile(path="_change_data/c", size=1)],
        2: [add("a"), remove("b"), remove(inside.path), AddCDCFile(path=f"{store.root}/_change_data/d", size=1)],
        3: [remove("a")],
        4: [add("later")],
    }
    found = table(commits, store)
    reasons = {
        "a": "not needed since version 3",
        "b": "not needed since version 2",
        "inside": "not needed since version 2",
        "_change_data/c": "changes that version 1 recorded",
        "_change_data/d": "changes that version 2 recorded",
        ".a.crc": SHADOW,
        "p=1/x": NOBODY,
        "p=1/.x.crc": SHADOW,
        "p=2/.x.crc": NOBODY,
        ".x.crc": NOBODY,
        "_a.abc": NOBODY,
        "stray": NOBODY,
    }
    assert dict(zip(reasons, effects(found, list(reasons)).reasons, strict=True)) == reasons


def test_a_file_of_vectors_is_needed_until_its_last_vector_is_removed() -> None:
    store = new_store()
    one, two = (DeletionVectorDescriptor("p", f"{store.root}/vectors.bin", 34, 1, offset) for offset in (1, 43))
    commits: dict[int, list[Any]] = {
        0: [MASKED, METADATA, add("plain"), add("a", 9, vector=one), add("b", 9, vector=two)],
        1: [remove("plain")],
        2: [remove("a", vector=one)],
        3: [remove("b", vector=two)],
    }
    found = effects(table(commits, store), ["plain", "a", "vectors.bin"])
    assert found.reasons == (
        "not needed since version 1",
        "not needed since version 2",
        "not needed since version 3",
    )


def test_versions_are_lost_whose_files_are_there_and_go() -> None:
    commits: dict[int, list[Any]] = {
        0: [PROTOCOL, METADATA, add("a")],
        1: [add("b"), remove("a")],
        2: [add("c")],
        3: [remove("b")],
    }
    found, stored = table(commits), ["a", "b", "c"]
    assert effects(found, ["a"], stored).lost == (0,)
    assert effects(found, ["b"], stored).lost == (1, 2)
    assert effects(found, ["a"], ["a", "b"]).lost == (0,), "versions 2 and 3 are lost already"
    assert effects(found, ["b"], ["b", "c"]).lost == (1, 2)
    assert effects(found, [], stored).lost == ()


@pytest.mark.parametrize(
    ("value", "gone", "untold"),
    [
        ("true", ["a"], (0, 1)),
        ("true", ["b"], (1, 3)),
        ("true", ["c"], (2,)),
        ("true", ["stray"], ()),
        ("true", ["a", "b"], (0, 1, 3)),
        ("false", ["a", "b"], ()),
        ("maybe", ["a", "b"], ()),
    ],
)
def test_changes_cannot_be_told_whose_files_go(value: str, gone: list[str], untold: tuple[int, ...]) -> None:
    store = new_store()
    commits: dict[int, list[Any]] = {
        0: [FEED, feed(value), add("a")],
        1: [add(f"{store.root}/b"), remove("a")],
        2: [AddCDCFile(path="c", size=1), add("d")],
        3: [remove(f"{store.root}/b")],
        4: [add("e", data_change=False), remove("d", data_change=False)],
    }
    found = effects(table(commits, store), gone)
    assert found.unreadable_changes == (untold if value == "true" or gone == ["c"] else ())


def test_rows_that_are_only_moved_are_no_changes() -> None:
    commits: dict[int, list[Any]] = {
        0: [FEED, feed("true"), add("a"), add("b")],
        1: [remove("a", data_change=False), remove("b", data_change=False), add("ab", data_change=False)],
        2: [remove("ab")],
    }
    found = table(commits)
    assert effects(found, ["a"]).unreadable_changes == (0,)
    assert effects(found, ["ab"]).unreadable_changes == (2,)


def test_changes_told_by_a_file_of_vectors_go_with_it_and_those_that_were_gone_are_not_named() -> None:
    first, second = vector("one"), vector("two")
    places = [location(each.id) or "" for each in (first, second)]
    rules = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("deletionVectors",),
        writer_features=("deletionVectors", "changeDataFeed"),
    )
    commits: dict[int, list[Any]] = {
        0: [rules, feed("true"), add("a", 9), add("b", 9)],
        1: [remove("a"), add("a", 9, vector=first)],
        2: [remove("a", vector=first), add("a", 9, vector=second)],
        3: [remove("b")],
        4: [remove("a", vector=second)],
    }
    found, stored = table(commits), ["a", "b", *places]
    assert effects(found, [places[0]], stored).unreadable_changes == (1, 2)
    assert effects(found, [places[1]], stored).unreadable_changes == (2, 4)
    assert effects(found, ["b"], stored).unreadable_changes == (0, 3)
    assert effects(found, ["b", places[1]], ["b", places[1]]).unreadable_changes == (3,), (
        "a is gone, and with it versions 0 to 2, 4"
    )
    assert effects(found, [places[0]], ["b", *places]).unreadable_changes == ()
