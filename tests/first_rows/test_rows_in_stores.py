"""First rows of a table in an object store: the same rows, few requests, and what is missing by name."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import obstore
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import CorruptDeletionVector, CorruptTable, StorageError
from explorer.core.protocol.deletion_vectors import encode_vectors, vector_file_name
from explorer.first_rows.first_rows import SparkOnly, first_rows
from explorer.storage.memory import memory
from tests.support.at_least_one import at_least_one
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.slow_s3 import slow_s3

NAMES = [f"c{number}" for number in range(30)]


@pytest.fixture
def url(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A file of thirty columns, each of many pages, in a store in memory."""
    numbers = pa.array(range(60_000), pa.int64())
    rows = pa.table(dict.fromkeys(NAMES, numbers))
    options = {"compression": "none", "use_dictionary": False, "data_page_size": 64 << 10}
    root = write_table(
        tmp_path / "t", [column(name, "long") for name in NAMES], [DataFile("a.parquet", rows, options=options)]
    )
    name = f"first-rows-{request.node.name}"
    for path in root.rglob("*"):
        if path.is_file():
            obstore.put(memory(name), f"t/{path.relative_to(root).as_posix()}", path.read_bytes())
    return f"memory://{name}/t"


def test_the_beginnings_of_the_columns_are_fetched_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    requests, fetched = Counter[str](), Counter[str]()
    for function in ("get_range", "get_ranges", "head", "get"):
        real = getattr(obstore, function)

        def counted(*args: Any, real: Any = real, function: str = function, **kwargs: Any) -> Any:
            result = real(*args, **kwargs)
            if args[1].endswith(".parquet"):
                requests[function] += 1
                parts = result if function == "get_ranges" else [result] if function == "get_range" else []
                fetched[function] += sum(map(len, map(bytes, parts)))
            return result

        monkeypatch.setattr(obstore, function, counted)
    rows = explorer.open_table(url).head(100)
    assert rows.to_pydict() == {name: list(range(100)) for name in NAMES}
    assert requests["get_ranges"] == 1
    assert requests.total() <= 5
    assert fetched.total() < 30 * (300 << 10) + (2 << 20)


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """Three files of more than a megabyte, each with texts in a large dictionary, a list, and vectors in one file."""
    pick = np.random.default_rng(1)
    texts = pa.array([f"{number:040}" for number in range(20_000)])
    files = []
    for place in range(3):
        words = pa.DictionaryArray.from_arrays(pa.array(pick.integers(0, 20_000, 40_000), pa.int32()), texts)
        lists = [[number] for number in range(40_000)]
        rows = pa.table(
            {"id": list(range(40_000)), **{f"w{n}": words.dictionary_decode() for n in range(6)}, "l": lists}
        )
        options = {"compression": "none", "dictionary_pagesize_limit": 4 << 20, "row_group_size": 40_000}
        files.append(DataFile(f"{place}.parquet", rows, masked=range(39_990), options=options))
    kind = {"type": "array", "elementType": "long", "containsNull": True}
    fields = [column("id", "long"), *(column(f"w{n}", "string") for n in range(6)), column("l", kind)]
    return _with_stored_vectors(write_table(tmp_path / "bucket" / "t", fields, files))


def _with_stored_vectors(root: Path) -> Path:
    """The table with its vectors in one file, the last of them far from its beginning."""
    identity = uuid.UUID(int=7)
    data, descriptors = encode_vectors(identity, [np.arange(39_990, dtype=np.uint64) for _ in range(3)])
    far = 1 << 20
    (root / vector_file_name(identity)).write_bytes(data + bytes(far) + data[1:])
    descriptors[2] = msgspec.structs.replace(descriptors[2], offset=(descriptors[2].offset or 0) + len(data) - 1 + far)
    log = root / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for add, vector in zip((line["add"] for line in lines if "add" in line), descriptors, strict=True):
        add["deletionVector"] = msgspec.to_builtins(vector)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return root


def test_what_files_need_is_fetched_side_by_side_and_once(wide: Path) -> None:
    with slow_s3(wide.parent, 0.02) as s3:
        table = explorer.open_table("s3://warehouse/t", storage_options=s3.options)
        snapshot = table.snapshot()
        snapshot.num_files  # noqa: B018 - reads the log
        s3.requests.clear()
        page = first_rows(table, snapshot, None, 25)
        assert not isinstance(page, SparkOnly)
        assert page.table.column("id").to_pylist() == [*range(39_990, 40_000)] * 2 + [*range(39_990, 39_995)]
        asked = Counter((request.key, request.range) for request in s3.requests if request.range != "bytes=0-0")
        assert s3.depth() <= 4
        assert len(s3.requests) <= 12
        assert set(asked.values()) == {1}
        assert not any(request.method == "HEAD" for request in s3.requests)


def test_small_files_take_one_request_each_and_all_at_the_same_time(tmp_path: Path) -> None:
    files = [DataFile(f"{place}.parquet", pa.table({"id": [place]})) for place in range(60)]
    root = write_table(tmp_path / "bucket" / "t", [column("id", "long")], files)
    with slow_s3(root.parent, 0.1) as s3:
        table = explorer.open_table("s3://warehouse/t", storage_options=s3.options)
        table.head(1)
        s3.requests.clear()
        assert table.head(60).column("id").to_pylist() == list(range(60))
        of_files = [request for request in s3.requests if request.key.endswith(".parquet")]
        assert len(of_files) == 60
        assert max(each.ended for each in of_files) - min(each.began for each in of_files) < 60 * 0.1 / 4


@pytest.mark.parametrize("size", [4, 70_000, 2 << 20])
def test_an_object_that_shrank_or_grew_on_s3_is_named(size: int, wide: Path) -> None:
    actual = (wide / "0.parquet").stat().st_size
    (wide / "0.parquet").write_bytes(bytes(size if size < 1 << 20 else actual + 1))
    with slow_s3(wide.parent, 0) as s3:
        table = explorer.open_table("s3://warehouse/t", storage_options=s3.options)
        with pytest.raises(CorruptTable, match=r"0\.parquet of version 0 has [\d]+ bytes, but the log records"):
            table.head(1)


def test_a_vector_that_is_cut_off_on_s3_is_named(wide: Path) -> None:
    (file,) = wide.glob("*.bin")
    data = file.read_bytes()
    with slow_s3(wide.parent, 0) as s3:
        for size in at_least_one((0, 1, 20, 1 << 20)):
            file.write_bytes(data[:size])
            table = explorer.open_table("s3://warehouse/t", storage_options=s3.options)
            with pytest.raises(CorruptDeletionVector):
                table.head(25)


def test_a_missing_object_is_named(url: str) -> None:
    obstore.delete(memory(url.split("/")[2]), "t/a.parquet")
    with pytest.raises(StorageError, match=r"a\.parquet of version 0 does not exist"):
        explorer.open_table(url).head()


def test_an_object_of_another_size_is_named(url: str) -> None:
    obstore.put(memory(url.split("/")[2]), "t/a.parquet", b"PAR1")
    with pytest.raises(CorruptTable, match=r"a\.parquet of version 0 has 4 bytes, but the log records"):
        explorer.open_table(url).head()
