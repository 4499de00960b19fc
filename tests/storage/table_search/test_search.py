"""The same search below a folder of this machine and below a URL of a store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import NotAllowed, StorageError
from explorer.storage.served_root import ServedRoot
from explorer.storage.served_roots import ServedRoots
from explorer.storage.table_search.bucket_folders import BucketFolders
from explorer.storage.table_search.search import TableSearch, Unlisted
from explorer.storage.table_search.trees import open_tree
from tests.support.at_least_one import at_least_one
from tests.support.folder_s3 import FolderS3, folder_s3
from tests.support.lakes import small_tables

ODD = [
    "a b",
    "50%",
    "50%25",
    "x#y",
    "q?m",
    "plus+",
    "a=b&c",
    "br{[]}",
    "tilde~*",
    "ünï",
    "日本",
    "a'b\"c",
    "<i>",
    "a;b,c@d",
]
DEEP = "/".join("abcdefghijklmnopqrstuvwxyz")


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[FolderS3]:
    (tmp_path / "buckets" / "lake").mkdir(parents=True)
    with folder_s3(tmp_path / "buckets") as server:
        yield server


@pytest.fixture(params=["folder", "s3"])
def root(request: pytest.FixtureRequest, tmp_path: Path, bucket: FolderS3) -> ServedRoot:
    """The folder ``buckets/lake`` as it is, and as a bucket."""
    if request.param == "folder":
        return ServedRoot(str(tmp_path / "buckets" / "lake"))
    return ServedRoot("s3://lake", storage_options=bucket.options)


@pytest.fixture
def lake(bucket: FolderS3) -> Path:
    return bucket.folder / "lake"


def searched(root: ServedRoot) -> TableSearch:
    search = TableSearch(open_tree(root))
    list(search.steps())
    return search


def test_tables_are_found_at_any_depth_and_none_inside_a_table_or_a_hidden_folder(root: ServedRoot, lake: Path) -> None:
    inside = ["sales/orders/nested", "sales/orders/day=1/t", "_hidden/t", ".hidden/t", "sales/_old/t"]
    small_tables(lake, ["sales/orders", "sales/eu/orders", "top", DEEP, *inside])
    assert set(searched(root).tables) == {"sales/orders", "sales/eu/orders", "top", DEEP}


def test_a_table_whose_name_has_odd_characters_is_found_opened_and_located(root: ServedRoot, lake: Path) -> None:
    small_tables(lake, [f"odd/{name}" for name in ODD])
    roots = ServedRoots(root)
    refs = {ref.name: ref for ref in roots.tables()}
    assert roots.unlisted == ()
    assert set(refs) == {f"lake/odd/{name}" for name in ODD}
    for name, ref in at_least_one(refs.items()):
        assert roots.locate(name) == ref
        options = dict(ref.storage_options)
        table = explorer.open_table(ref.location, storage_options=options, roots=(ref.root,), cache=False)
        assert table.latest_version() == 0


@pytest.mark.parametrize(
    "name",
    [
        "lake/../other/t",
        "lake/sales/../../other/t",
        "lake/..",
        "lake//etc",
        "lake/./sales",
        "lake/a\\..\\b",
        "lake/a\x00b",
        "/etc",
        "..",
        "s3://lake/sales",
        "other/t",
        "",
    ],
)
def test_a_name_that_leads_out_is_refused(root: ServedRoot, name: str) -> None:
    with pytest.raises(NotAllowed, match="starts with the name of its served folder"):
        ServedRoots(root).locate(name)


@pytest.mark.parametrize("name", ["lake/..%2f..%2fother/t", "lake/%2e%2e%2Fother", "lake/a%5cb"])
def test_a_name_with_an_escaped_slash_is_refused_under_a_url(bucket: FolderS3, name: str) -> None:
    """A server behind a proxy may decode it once more than it should."""
    with pytest.raises(NotAllowed, match="starts with the name of its served folder"):
        ServedRoots(ServedRoot("s3://lake", storage_options=bucket.options)).locate(name)


def test_a_folder_that_no_address_can_hold_is_named_with_the_reason(root: ServedRoot, lake: Path) -> None:
    small_tables(lake, ["fine", "back\\slash"])
    roots = ServedRoots(root)
    assert [ref.name for ref in roots.tables()] == ["lake/fine"]
    (folder,) = roots.unlisted
    assert "backslash" in folder.why
    assert "Rename the folder" in folder.why


def test_a_root_may_be_a_table_and_a_root_without_tables_has_none(root: ServedRoot, lake: Path) -> None:
    assert (searched(root).tables, searched(root).unlisted) == ([], [])
    small_tables(lake, ["", "sales/orders"])
    assert searched(root).tables == [""]
    assert [ref.name for ref in ServedRoots(root).tables()] == ["lake"]


def test_a_folder_whose_listing_is_denied_ends_nothing_but_itself(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["a/t", "secret/t", "secret/deep/t", "z/t"])
    bucket.denied.add("lake/secret/")
    search = searched(ServedRoot("s3://lake", storage_options=bucket.options))
    assert sorted(search.tables) == ["a/t", "z/t"]
    (folder,) = search.unlisted
    assert (folder.location, folder.below, type(folder.error)) == ("s3://lake/secret", "secret", StorageError)
    assert "AccessDenied" in folder.why


@pytest.mark.parametrize("place", ["s3://nothing", "s3://nothing/deep", "s3://denied/deep"])
def test_a_root_that_cannot_be_listed_is_named_in_the_words_of_the_store(bucket: FolderS3, place: str) -> None:
    (bucket.folder / "denied").mkdir()
    bucket.denied.add("denied/")
    search = searched(ServedRoot(place, storage_options=bucket.options))
    (folder,) = search.unlisted
    assert (folder.location, folder.below) == (place, "")
    assert ("AccessDenied" if "denied" in place else "NoSuchBucket") in folder.why
    assert "secret" not in folder.why


def test_every_folder_is_listed_once_and_a_table_by_one_request(bucket: FolderS3) -> None:
    names = [f"s{schema}/t{table}" for schema in range(3) for table in range(4)]
    small_tables(bucket.folder / "lake", names)
    search = searched(ServedRoot("s3://lake", storage_options=bucket.options))
    assert sorted(search.tables) == names
    asked = {f"lake/{name}/": 1 for name in [*names, "s0", "s1", "s2"]}
    assert bucket.lists == {"lake/": 1, "lake/_delta_log/": 1, **asked}
    assert search.listed == len(asked) + 1
    assert not bucket.reads


def test_a_root_that_is_a_table_of_many_files_takes_one_request(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["t"])
    bucket.page = 20
    for number in range(50):
        (bucket.folder / "lake" / "t" / f"part-{number}.parquet").touch()
    assert searched(ServedRoot("s3://lake/t", storage_options=bucket.options)).tables == [""]
    assert bucket.lists == {"lake/t/_delta_log/": 1}


def test_folders_with_more_names_than_an_answer_holds_are_listed_to_the_end(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["zz/t"])
    bucket.page = 20
    for number in range(50):
        (bucket.folder / "lake" / f"empty{number}").mkdir()
    assert searched(ServedRoot("s3://lake", storage_options=bucket.options)).tables == ["zz/t"]


def test_a_search_that_was_stopped_goes_on_where_it_was(
    root: ServedRoot, lake: Path, bucket: FolderS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BucketFolders, "at_once", 4)
    names = [f"s{schema}/t{table}" for schema in range(5) for table in range(9)]
    small_tables(lake, names)
    search = TableSearch(open_tree(root))
    for count, _ in enumerate(search.steps(), 1):
        if count == 10:
            search.stop()
    before = len(search.tables)
    assert 10 <= before < 45
    assert not search.is_done
    asked = sum(bucket.lists.values())
    assert sorted([*search.tables[:before], *search.steps()]) == sorted(names)
    assert search.is_done
    again = sum(bucket.lists.values()) - asked
    assert again <= 45 - before + 4, "only what was under way is asked for twice"


def test_a_search_that_is_stopped_before_its_first_step_takes_none_and_goes_on_then(
    root: ServedRoot, lake: Path
) -> None:
    small_tables(lake, ["t"])
    search = TableSearch(open_tree(root))
    search.stop()
    assert (list(search.steps()), search.is_done) == ([], False)
    assert (list(search.steps()), search.is_done) == (["t"], True)


def test_a_search_ends_where_it_is_cut_and_says_so(root: ServedRoot, lake: Path) -> None:
    names = [f"t{number}" for number in range(9)]
    small_tables(lake, names)
    search = TableSearch(open_tree(root), most=4)
    assert len(list(search.steps())) == 4
    assert search.cut
    assert len(list(search.steps())) == 4
    list(search.steps())
    assert (sorted(search.tables), search.cut, search.is_done) == (names, False, True)


def test_what_was_a_table_is_not_listed_again_and_what_is_gone_is_not_found(bucket: FolderS3) -> None:
    root = ServedRoot("s3://lake", storage_options=bucket.options)
    small_tables(bucket.folder / "lake", ["a/t1", "a/t2", "b/t3"])
    known = searched(root).tables
    small_tables(bucket.folder / "lake", ["a/new"])
    for path in sorted((bucket.folder / "lake" / "b" / "t3").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (bucket.folder / "lake" / "b" / "t3").rmdir()
    bucket.lists.clear()
    search = TableSearch(open_tree(root), known=known)
    assert sorted(map(str, search.steps())) == ["a/new", "a/t1", "a/t2"]
    assert bucket.lists == {"lake/": 1, "lake/_delta_log/": 1, "lake/a/": 1, "lake/a/new/": 1, "lake/b/": 1}


def test_as_many_folders_are_listed_at_once_as_the_store_takes(bucket: FolderS3) -> None:
    """100 folders, each of which takes half a second."""
    small_tables(bucket.folder / "lake", [f"t{number}" for number in range(100)])
    bucket.delay = 0.5
    search = TableSearch(open_tree(ServedRoot("s3://lake", storage_options=bucket.options)))
    assert len(list(search.steps())) == 100
    assert 32 < bucket.most_under_way <= 64


def test_links_are_followed_down_and_never_round(tmp_path: Path) -> None:
    lake = small_tables(tmp_path / "lake", ["a/t", "b/u"])
    small_tables(tmp_path, ["outside/t"])
    for link, target in (("a/to-b", "b"), ("b/to-a", "a"), ("up", "."), ("out", "../outside")):
        os.symlink(lake / target, lake / link)
    search = searched(ServedRoot(str(lake)))
    assert sorted(search.tables) == ["a/t", "a/to-b/u", "b/to-a/t", "b/u"]
    assert search.unlisted == []


def test_folders_that_all_link_to_each_other_are_listed_a_bounded_number_of_times(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    names = "abcde"
    for name in names:
        (lake / name).mkdir(parents=True)
        for other in names.replace(name, ""):
            os.symlink(lake / other, lake / name / other)
    search = searched(ServedRoot(str(lake)))
    assert search.listed < 400
    assert any("is not followed, as 3 links lead to it" in each.why for each in search.unlisted)


def test_a_name_that_the_client_of_the_store_cannot_take_is_said(bucket: FolderS3) -> None:
    small_tables(bucket.folder / "lake", ["a/t", "b/tab\tname"])
    found = list(TableSearch(open_tree(ServedRoot("s3://lake", storage_options=bucket.options))).steps())
    (unlisted,) = (each for each in found if isinstance(each, Unlisted))
    assert unlisted.location == "s3://lake/b"
    assert [each for each in found if isinstance(each, str)] == ["a/t"]
