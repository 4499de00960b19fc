"""A store under a catalog: every question is passed on as it was asked, but for the commits that the catalog gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.core.log.catalog_commits import CatalogCommits, CatalogStore, ratified
from explorer.core.log.log_path import STAGED_FOLDER, checksum_name
from explorer.core.log.table_state import VersionChecksum, decode_checksum
from explorer.core.log.writing.checksum import write_checksum
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from tests.support.logs.small_logs import listed, new_store


def given(version: int) -> str:
    return f"{STAGED_FOLDER}/{version:020d}.00000000-0000-0000-0000-000000000000.json"


class Durability:
    """A store that notes which files must survive a crash."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self.noted: list[tuple[str, bool]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.noted.append((path, durable))
        self._store.put_if_absent(path, data)


def test_only_what_can_be_done_without_may_be_lost_in_a_crash() -> None:
    store: Any = Durability(new_store())
    checksum = VersionChecksum(table_size_bytes=1, num_files=2, num_metadata=1, num_protocol=1)
    assert write_checksum(store, 3, checksum) is True
    assert decode_checksum(store.read(checksum_name(3))) == checksum
    under = CatalogStore(store, CatalogCommits(1))
    under.put_if_absent("a", b"1")
    under.put_if_absent("b", b"2", durable=False)
    assert store.noted == [(checksum_name(3), False), ("a", True), ("b", False)]
    assert (store.read("a"), store.read("b")) == (b"1", b"2")


def test_commits_whose_content_a_catalog_gave_are_read_beside_those_that_are_stored(tmp_path: Path) -> None:
    inner = open_store(tmp_path / "table")
    inner.put("a", b"123")
    inner.put("b/c", b"4")
    name = f"{1:020d}.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"
    store = CatalogStore(inner, CatalogCommits(3, {3: b"three", 2: b"", 1: name}))
    assert [store.read(path) for path in (given(2), given(3), "a")] == [b"", b"three", b"123"]
    assert store.read_many(["b/c", given(3), "a", given(2), "a"]) == [b"4", b"three", b"123", b"", b"123"]
    assert store.read_many([]) == []
    with pytest.raises(FileNotFoundError):
        store.read(f"{STAGED_FOLDER}/{name}")
    assert ratified(listed({}, {0: 1}), CatalogCommits(3, {3: b"", 2: name.replace("1.", "2.", 1)})).commits.keys() == {
        0, 2, 3
    }  # fmt: skip
    assert store.head("a") == inner.head("a")
    assert (store.read_range("a", 1, 2), store.read_range("a", 0, 1)) == (b"23", b"1")
    with store.open_input("a") as file:
        assert file.read() == b"123"
    assert store.list_files().sort_by("path").equals(inner.list_files().sort_by("path"))
    assert sorted(store.list_tree()) == ["a", "b/c"]
    other, key = store.elsewhere(str(tmp_path / "table" / "b" / "c"))
    assert other.read(key) == b"4"
    with pytest.raises(FileExistsError):
        store.put_if_absent("a", b"5")


@pytest.mark.parametrize("version", [0, 7])
def test_the_content_of_a_version_is_listed_under_a_name_that_nobody_writes(version: int) -> None:
    listing = ratified(listed({}, {8: 1}), CatalogCommits(9, {version: b"x"}))
    assert list(listing.commits) == [version, 8]
    assert listing.commits[version].path == given(version)
    assert (listing.by_catalog, CatalogCommits(9).commits) == (True, {})
