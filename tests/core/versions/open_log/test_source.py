"""Where listings come from: the hint, the whole log, newer files, and a catalog."""

from __future__ import annotations

import pytest

from explorer.core.errors import TableNotFound
from explorer.core.log.catalog_commits import CatalogCommits
from explorer.core.log.log_path import commit_name
from explorer.core.versions.open_log.current import LogSource
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines, new_store, write


def stored(commits: int = 6, checkpoint: int | None = 3) -> FaultyStore:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA)} | {version: [add(f"{version}")] for version in range(1, commits)})
    if checkpoint is not None:
        files = [PROTOCOL, METADATA, *(add(f"{version}") for version in range(1, checkpoint + 1))]
        write_checkpoint(store, checkpoint, files, "classic")
        store.put("_delta_log/_last_checkpoint", b'{"version":%d,"size":5}' % checkpoint)
    return FaultyStore(store)


def test_the_newest_versions_are_listed_from_the_checkpoint_on_that_the_hint_names() -> None:
    source = LogSource.of(stored(), None)
    assert (list(source.newest().commits), source.newest().is_complete) == ([3, 4, 5], False)
    assert (list(source.all().commits), source.all().is_complete) == ([0, 1, 2, 3, 4, 5], True)


def test_what_is_newer_is_listed_alone_unless_the_newest_commit_is_another_file() -> None:
    store = stored(checkpoint=None)
    source, known = LogSource.of(store, None), LogSource.of(store, None).all()
    write(store, {6: [add("6")]})
    assert list(source.with_newer(known).commits) == [0, 1, 2, 3, 4, 5, 6]
    store.put(commit_name(5), lines([add("another"), add("one")]))
    again = source.with_newer(known)
    assert again.commits[5] != known.commits[5]
    assert again == source.newest()


def test_a_file_of_the_log_is_missing_once_it_is_deleted() -> None:
    store = stored()
    source = LogSource.of(store, None)
    first = source.all().commits[0]
    assert not source.lacks(first)
    store.delete(first.path)
    assert source.lacks(first)


def test_a_catalog_decides_which_versions_there_are() -> None:
    source = LogSource.of(stored(), CatalogCommits(4, {4: lines([add("given")])}))
    for listing in (source.newest(), source.all()):
        assert (listing.latest, listing.by_catalog, listing.beginning) == (4, True, None)
        assert source.store.read(listing.commits[4].path) == lines([add("given")])


def test_a_folder_without_a_log_has_no_listing() -> None:
    source = LogSource.of(new_store(), None)
    with pytest.raises(TableNotFound):
        source.newest()
    with pytest.raises(TableNotFound):
        source.all()
