"""A listing under a catalog whose answer is older or newer, and the store beneath it."""

from __future__ import annotations

import msgspec
import pytest

from explorer.core.errors import RequestError
from explorer.core.log.catalog_commits import CatalogCommits, CatalogStore, ratified
from explorer.core.log.log_path import LogFileKind, LogPath, checksum_name, commit_name, compaction_name
from explorer.core.log.verify.checksums import _short
from tests.support.logs.small_logs import listed, new_store

UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"


def staged(version: int) -> str:
    return f"{version:020d}.{UUID}.json"


def test_nothing_beyond_what_a_catalog_ratified_is_in_the_listing() -> None:
    found = listed({2: 1, 5: 1, 6: 1}, dict.fromkeys(range(8), 1))
    whole = msgspec.structs.replace(
        found,
        compactions=tuple(
            LogPath(compaction_name(first, last), LogFileKind.COMPACTION, first, last_version=last)
            for first, last in ((0, 3), (2, 5), (4, 6))
        ),
        checksums={version: LogPath(checksum_name(version), LogFileKind.CHECKSUM, version) for version in (4, 5, 6)},
    )
    kept = ratified(whole, CatalogCommits(5, {4: staged(4), 5: b"{}"}))
    assert list(kept.commits) == [0, 1, 2, 3, 4, 5]
    assert [path.kind for path in kept.commits.values()][3:] == [
        LogFileKind.COMMIT,
        LogFileKind.STAGED_COMMIT,
        LogFileKind.STAGED_COMMIT,
    ]
    assert kept.commits[4].path.endswith(f"_staged_commits/{staged(4)}")
    assert [checkpoint.version for checkpoint in kept.checkpoints] == [2, 5]
    assert [path.last_version for path in kept.compactions] == [3, 5]
    assert list(kept.checksums) == [4, 5]
    assert (kept.by_catalog, whole.by_catalog) == (True, False)
    assert ratified(whole, CatalogCommits(9)).commits == whole.commits


@pytest.mark.parametrize(("version", "name"), [(6, staged(6)), (5, staged(4)), (5, commit_name(5)), (5, "x")])
def test_what_is_no_staged_commit_of_its_version_is_refused(version: int, name: str) -> None:
    with pytest.raises(RequestError) as refused:
        ratified(listed({}, {0: 1}), CatalogCommits(5, {version: name}))
    assert refused.value.version == version
    assert str(refused.value) == (
        f"The catalog's commit of version {version} is {name!r}; it must be the name of a staged commit of that "
        "version, and no version may be above the latest (5)."
    )


def test_a_store_under_a_catalog_does_what_the_store_does() -> None:
    inner = new_store()
    store = CatalogStore(inner, CatalogCommits(1, {1: b"given"}))
    store.put_if_absent("f/a", b"1")
    store.put("f/b", b"22")
    store.put("f/c", b"333")
    assert [(found.path, found.size) for found in store.list_from("f", "b")] == [
        (found.path, found.size) for found in inner.list_from("f", "b")
    ]
    assert [found.size for found in store.list_from("f")] == [1, 2, 3]
    assert store.root == inner.root
    assert sorted(store.list_tree()) == ["f/a", "f/b", "f/c"]
    store.delete("f/b")
    store.delete_many(["f/c"])
    assert sorted(inner.list_tree()) == ["f/a"]
    assert store.read_range("f/a", 0, 1) == b"1"
    (key,) = (path for path in (ratified(listed({}, {0: 1}), CatalogCommits(1, {1: b"given"})).commits[1].path,))
    assert store.read_many([key, "f/a"]) == [b"given", b"1"]
    assert store.read_starts([key, "f/a", key], [3, 1, 5]) == [b"giv", b"1", b"given"]


def test_a_long_value_is_told_by_its_beginning() -> None:
    assert [_short("x" * count) for count in (0, 200)] == ["", "x" * 200]
    assert _short("x" * 201) == "x" * 200 + "..."
    assert _short(12) == "12"
