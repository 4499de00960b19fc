"""The latest version that a catalog ratified counts with its published commit, which a listing shows by any name."""

from __future__ import annotations

import pytest

from explorer.core.log.catalog_commits import CatalogCommits, CatalogStore, ratified
from tests.support.logs.small_logs import listed, new_store


@pytest.mark.parametrize("latest", [0, 2, 3])
def test_the_latest_version_may_be_published_and_not_returned(latest: int) -> None:
    published = listed({}, dict.fromkeys(range(4), 1))
    found = ratified(published, CatalogCommits(latest))
    assert found.commits == {version: published.commits[version] for version in range(latest + 1)}
    assert found.latest == latest


def test_a_folder_is_listed_from_its_first_name_on() -> None:
    inner = new_store()
    names = ["!", "00000000000000000000.json", "A", "XXXX", "a", "é"]
    for name in names:
        inner.put(f"_delta_log/{name}", b"x")
    store = CatalogStore(inner, CatalogCommits(0))
    assert [found.path for found in store.list_from("_delta_log")] == [f"_delta_log/{name}" for name in names]
    assert [found.path for found in store.list_from("_delta_log", "A")] == [f"_delta_log/{name}" for name in names[2:]]
