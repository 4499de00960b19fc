"""The same behaviour of every store: local, in memory, and S3 (moto's server on the loopback)."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import NotAllowed, RequestError, StorageError
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, paths, remove, write
from tests.support.loopback import variables_of
from tests.support.shared_tables import golden_root


@pytest.fixture(params=["local", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> LogStore:
    if request.param == "local":
        return open_store(tmp_path / "table")
    if request.param == "memory":
        return new_store()
    return open_store(f"s3://warehouse/{request.node.name}", request.getfixturevalue("s3"))


def test_objects_are_written_once_and_read_in_parts(store: LogStore) -> None:
    store.put_if_absent("a/b.bin", b"0123456789")
    with pytest.raises(FileExistsError):
        store.put_if_absent("a/b.bin", b"other")
    assert store.read("a/b.bin") == b"0123456789"
    assert store.read_range("a/b.bin", 3, 4) == b"3456"
    assert store.read_range("a/b.bin", 8, 10) == b"89"
    assert store.head("a/b.bin").size == 10
    with store.open_input("a/b.bin") as file:
        file.seek(5)
        assert file.read(3) == b"567"
        assert file.size() == 10
    assert store.read_many(["a/b.bin"] * 3) == [b"0123456789"] * 3
    store.delete("a/b.bin")
    for missing in (store.read, store.head, store.delete, store.open_input):
        with pytest.raises(FileNotFoundError):
            missing("a/b.bin")
    with pytest.raises(FileNotFoundError):
        store.read_many(["a/b.bin", "a/c.bin"])


def test_the_first_bytes_of_several_objects_come_in_the_order_asked(store: LogStore) -> None:
    store.put("a/b.bin", b"0123456789")
    store.put("a/c.bin", b"")
    found = store.read_starts(["a/b.bin", "a/c.bin", "a/b.bin", "a/b.bin"], [4, 0, 10, 1])
    assert found == [b"0123", b"", b"0123456789", b"0"]
    assert store.read_starts([], []) == []
    with pytest.raises(FileNotFoundError):
        store.read_starts(["a/b.bin", "a/d.bin"], [1, 1])


def test_objects_of_lines_come_one_after_the_other_each_with_its_line_break(store: LogStore) -> None:
    given = {"a/0": b"one\ntwo\n", "a/1": b"", "a/2": b"three", "a/3": b"\n", "a/4": b"x" * 5_000}
    for key, data in given.items():
        store.put(key, data)
    sizes = list(map(len, given.values()))
    wanted = [b"one\ntwo\n", b"", b"three\n", b"\n", b"x" * 5_000 + b"\n"]
    wrong = [sizes, [size + 1 for size in sizes], [0] * 5, [0, *sizes[1:]], [*sizes[:-1], 4_999]]
    for stated in at_least_one(wrong):
        data, ends = store.read_joined(list(given), stated)
        assert ends == [8, 8, 14, 15, 5_016]
        assert bytes(data[: ends[-1]]) == b"".join(wanted)
    data, ends = store.read_joined(["a/2", "a/2"], [5, 5])
    assert bytes(data[: ends[-1]]) == b"three\nthree\n"
    with pytest.raises(FileNotFoundError):
        store.read_joined(["a/0", "a/5"], [8, 1])


def test_a_name_that_no_disk_takes_is_the_name_of_no_object(store: LogStore) -> None:
    for name in at_least_one(["n" * 300, "folder/" + "n" * 300 + ".parquet"]):
        for ask in at_least_one([store.head, store.read, store.open_input]):
            with pytest.raises(FileNotFoundError):
                ask(name)


def test_a_put_takes_the_place_of_what_was_there(store: LogStore) -> None:
    store.put("new/folder/hint", b"first, and longer")
    assert store.read("new/folder/hint") == b"first, and longer"
    store.put("new/folder/hint", b"second")
    assert store.read("new/folder/hint") == b"second"
    with pytest.raises(FileExistsError):
        store.put_if_absent("new/folder/hint", b"third")
    assert [found.path for found in store.list_from("new/folder")] == ["new/folder/hint"]


def test_an_object_that_is_written_again_has_another_tag(store: LogStore) -> None:
    def tag() -> int:
        (found,) = store.list_from("_delta_log")
        assert store.head("_delta_log/a.json").etag == found.etag
        return found.etag

    store.put("_delta_log/a.json", b"first")
    first = tag()
    assert first == tag() != 0
    # The clock of a file system may tick as rarely as a hundred times a second.
    time.sleep(0.05)
    store.put("_delta_log/a.json", b"again")
    assert tag() != first


def test_listings_are_sorted_and_start_where_they_are_told(store: LogStore) -> None:
    for name in ("00000000000000000010.json", "00000000000000000009.json", "_last_checkpoint", "_sidecars/x.parquet"):
        store.put_if_absent(f"_delta_log/{name}", b"{}")
    whole = [found.path for found in store.list_from("_delta_log")]
    assert whole == [
        "_delta_log/00000000000000000009.json",
        "_delta_log/00000000000000000010.json",
        "_delta_log/_last_checkpoint",
    ]
    later = [found.path for found in store.list_from("_delta_log", "00000000000000000010")]
    assert later == whole[1:]
    assert list(store.list_from("nowhere")) == []


def test_all_files_are_listed_with_size_and_time_and_deleted_together(store: LogStore) -> None:
    assert store.list_files().num_rows == 0
    began = time.time() * 1000
    contents = {"a": b"1", "p=1/b c%20": b"22", "p=1/deep/é": b"333", "_delta_log/x.json": b""}
    for key, data in contents.items():
        store.put_if_absent(key, data)
    found = store.list_files().to_pylist()
    assert {row["path"]: row["size"] for row in found} == {key: len(data) for key, data in contents.items()}
    assert all(abs(row["modified"] - began) < 60_000 for row in found)
    store.delete_many(["a", "never there", "p=1/deep/é"])
    assert set(store.list_tree()) == {"p=1/b c%20", "_delta_log/x.json"}
    store.delete_many([])


def test_only_one_of_many_creators_wins(store: LogStore) -> None:
    outcomes: list[bool] = []
    start = threading.Barrier(8)

    def create(number: int) -> None:
        start.wait()
        try:
            store.put_if_absent("_delta_log/00000000000000000001.json", str(number).encode())
            outcomes.append(True)
        except FileExistsError:
            outcomes.append(False)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [False] * 7 + [True]


def test_a_table_reads_alike_from_every_store(store: LogStore) -> None:
    write(store, {0: (PROTOCOL, METADATA, add("a")), 1: (add("b"),), 2: (remove("a"),), 3: (add("c"),)})
    write_checkpoint(store, 2, (PROTOCOL, METADATA, add("b")), "v2-sidecars")
    table = explorer.Table(store)
    assert paths(table.snapshot()) == {("b", None), ("c", None)}
    assert table.history().column("version").to_pylist() == [3, 2, 1, 0]
    assert table.diff(0, 3).totals.files_added == 2


@pytest.mark.golden
@pytest.mark.parametrize("name", ["delta__dv-with-columnmapping", "kernelrs__v2-checkpoints-parquet-with-sidecars"])
def test_a_golden_table_on_s3_is_the_one_on_disk(name: str, s3: dict[str, Any]) -> None:
    folder = golden_root() / "tables" / name
    remote = open_store(f"s3://warehouse/golden/{name}", s3)
    for path in folder.rglob("*"):
        if path.is_file():
            remote.put_if_absent(path.relative_to(folder).as_posix(), path.read_bytes())
    local = explorer.open_table(folder)
    there = explorer.open_table(f"s3://warehouse/golden/{name}", storage_options=s3)
    for version in at_least_one(range(local.version_range()[0], local.latest_version() + 1)):
        assert there.snapshot(version).files() == local.snapshot(version).files()
    vectors = local.snapshot().deletion_vectors().column("raw_path").to_pylist()
    assert bool(vectors) is ("dv" in name)
    expected = {path: local.snapshot().deletion_vector_rows(path).tolist() for path in vectors}
    assert {path: there.snapshot().deletion_vector_rows(path).tolist() for path in vectors} == expected


def test_credentials_come_from_the_environment_too(s3: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables_of(s3).items():
        monkeypatch.setenv(name, value)
    store = open_store("s3://warehouse/by-environment")
    store.put_if_absent("x", b"1")
    assert store.read("x") == b"1"


def test_an_unknown_option_a_wrong_scheme_and_an_unreachable_server_are_told() -> None:
    with pytest.raises(RequestError, match="nonsense"):
        open_store("s3://warehouse/t", {"nonsense": "1"})
    with pytest.raises(RequestError, match="scheme"):
        open_store("gopher://warehouse/t")
    unreachable = {
        "aws_endpoint": "http://127.0.0.1:1",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "aws_region": "us-east-1",
        "allow_http": "true",
        "timeout": "1s",
    }
    from datetime import timedelta

    store = open_store("s3://warehouse/t", {**unreachable, "timeout": timedelta(seconds=1)})
    with pytest.raises(StorageError, match="Check the address") as caught:
        store.read("x")
    assert caught.value.__cause__ is not None
    assert "secret" not in str(caught.value)


def test_urls_are_held_to_the_roots(s3: dict[str, Any]) -> None:
    from explorer.storage.roots import AllowedRoots

    roots = AllowedRoots(["s3://warehouse/served"])
    assert open_store("s3://warehouse/served/t", s3, roots).root == "s3://warehouse/served/t"
    for outside in ("s3://warehouse/other", "s3://warehouse/served-not", "s3://warehouse/served/../other", "/etc"):
        with pytest.raises(NotAllowed):
            open_store(outside, s3, roots)
