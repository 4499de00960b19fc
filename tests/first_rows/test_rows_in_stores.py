"""First rows of a table in an object store: the same rows, few requests, and what is missing by name."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import CorruptTable, StorageError
from explorer.storage.memory import memory
from tests.support.logs.spark_tables import DataFile, column, write_table

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


def test_a_missing_object_is_named(url: str) -> None:
    obstore.delete(memory(url.split("/")[2]), "t/a.parquet")
    with pytest.raises(StorageError, match=r"a\.parquet of version 0 does not exist"):
        explorer.open_table(url).head()


def test_an_object_of_another_size_is_named(url: str) -> None:
    obstore.put(memory(url.split("/")[2]), "t/a.parquet", b"PAR1")
    with pytest.raises(CorruptTable, match=r"a\.parquet of version 0 has 4 bytes, but the log records"):
        explorer.open_table(url).head()
