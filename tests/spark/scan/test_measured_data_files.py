"""Pages of data files are measured in the worker before they are decoded: few rows at once, or none."""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from explorer.core.errors import LimitExceeded
from explorer.core.protocol import limits
from explorer.data_files.object_rows import ObjectRows, Shape, reader
from explorer.spark.engine.failures import failure_of
from explorer.spark.scan.object_files import room
from tests.core.protocol.arrow.test_hidden_pages import FORGED
from tests.support.logs.raw_parquet import data_page, dictionary_page, file_of_pages, plain_texts, repeated_index

_LONG: Final = "x" * 100_000
_SMALL: Final = 1 << 20
_LIST: Final = pa.list_(pa.string())


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DECODED_BYTES", _SMALL)
    monkeypatch.setattr(limits, "DECODED_RATIO", 10)


def _task(data: bytes, shape: Shape) -> tuple[ObjectRows, list[pa.RecordBatch]]:
    store: Any = MemoryStore()
    obstore.put(store, "a.parquet", data)
    file = {"store": 0, "key": "a.parquet", "size": len(data), "name": "a.parquet"}
    return ObjectRows((store,), (), (shape,), "file", "row", room()), [pa.RecordBatch.from_pylist([file])]


def _written(column: pa.Array, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": column}), sink, **({"dictionary_pagesize_limit": 1 << 30} | options))
    return sink.getvalue()


def _batches(data: bytes, kind: Any) -> list[pa.RecordBatch]:
    parts = (Shape("element", None, kind.value_type),) if pa.types.is_list(kind) else ()
    rows, files = _task(data, Shape("a", None, pa.list_(pa.null()) if parts else kind, parts))
    return list(reader(rows)(files))


_TEXTS: Final = pa.repeat(pa.scalar(_LONG[:10_000]), 2_000)
_TOO_LARGE: Final[dict[str, Callable[[], tuple[bytes, Any]]]] = {
    "one text of a compressed page": lambda: (
        _written(pa.array(["x" * (4 << 20)]), compression="zstd", use_dictionary=False),
        pa.string(),
    ),
    "one text of a dictionary": lambda: (_written(pa.array(["x" * (4 << 20)]), compression="zstd"), pa.string()),
    "one row of very many short texts": lambda: (
        _written(pa.array([["x"] * 2_000_000], _LIST), compression="zstd"),
        _LIST,
    ),
    "many rows of many long texts": lambda: (_written(pa.array([[_LONG] * 20] * 20, _LIST)), _LIST),
    "one row of very many nulls": lambda: (_written(pa.array([[None] * 2_000_000], _LIST)), _LIST),
    "a page that claims to become very much": lambda: (
        file_of_pages([data_page(plain_texts([b"y"]), 1, encoding=0, decoded=2**31 - 1)], 1),
        pa.string(),
    ),
}


@pytest.mark.parametrize("name", _TOO_LARGE)
def test_rows_that_take_too_much_are_refused_by_the_name_of_their_file(name: str) -> None:
    data, kind = _TOO_LARGE[name]()
    with pytest.raises(RuntimeError, match=r"explorer: file takes too much memory: a\.parquet :: ") as raised:
        _batches(data, kind)
    error = failure_of(raised.value, version=3)
    assert isinstance(error, LimitExceeded)
    assert (error.path, error.version, error.allowed) == ("a.parquet", 3, room().rows(len(data)))
    assert error.found is not None
    assert error.found > room().rows(len(data))
    assert limits.DECODED_VARIABLE in error.message


_SMALL_PAGES: Final[dict[str, Any]] = {"use_dictionary": False, "data_page_size": 20_000, "write_batch_size": 2}
_MANY_ROWS: Final[dict[str, Callable[[], tuple[bytes, Any, int]]]] = {
    "repeated by a dictionary": lambda: (_written(_TEXTS), pa.string(), 2_000),
    "repeated by a dictionary of the second version": lambda: (
        _written(_TEXTS, data_page_version="2.0", compression="zstd"),
        pa.string(),
        2_000,
    ),
    "repeated in plain pages": lambda: (_written(_TEXTS, compression="zstd", **_SMALL_PAGES), pa.string(), 2_000),
    "repeated by their prefix": lambda: (
        _written(_TEXTS, column_encoding={"a": "DELTA_BYTE_ARRAY"}, compression="zstd", **_SMALL_PAGES),
        pa.string(),
        2_000,
    ),
    "of short decimals": lambda: (
        _written(pa.repeat(pa.scalar(Decimal(1), pa.decimal128(2, 0)), 200_000)),
        pa.decimal128(2, 0),
        200_000,
    ),
    "repeated in several groups": lambda: (_written(_TEXTS, row_group_size=700), pa.string(), 2_000),
    "of a run in a file of no writer": lambda: (
        file_of_pages(
            [dictionary_page(plain_texts([b"x" * 10_000]), 1), data_page(repeated_index(2_000), 2_000)], 2_000
        ),
        pa.string(),
        2_000,
    ),
}


@pytest.mark.parametrize("name", _MANY_ROWS)
def test_many_rows_that_take_much_together_are_read_a_few_at_a_time(name: str) -> None:
    data, kind, count = _MANY_ROWS[name]()
    batches = _batches(data, kind)
    assert max(batch.column(0).nbytes for batch in batches) <= room().rows(len(data))
    assert [row for batch in batches for row in batch.column(2).to_pylist()] == list(range(count))
    # Their own rows, whatever they were cut into.
    read = pa.concat_arrays([batch.column(0) for batch in batches])
    assert read.equals(pq.read_table(pa.BufferReader(data))["a"].cast(kind).combine_chunks())


@pytest.mark.parametrize("name", FORGED)
def test_what_a_chunk_hides_is_measured_in_the_worker_too(name: str) -> None:
    batches = _batches(FORGED[name], pa.string())
    assert max(batch.column(0).nbytes for batch in batches) <= room().rows(len(FORGED[name]))
    assert sum(batch.num_rows for batch in batches) == 20_000


def test_each_piece_of_a_file_is_fetched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _written(
        pa.array([f"text {number}" for number in range(400_000)]), use_dictionary=False, row_group_size=1 << 17
    )
    fetched: list[int] = []
    get_range = obstore.get_range

    def counted(store: Any, key: str, *, start: int, end: int) -> Any:
        fetched.append(end - start)
        return get_range(store, key, start=start, end=end)

    monkeypatch.setattr(obstore, "get_range", counted)
    assert sum(batch.num_rows for batch in _batches(data, pa.string())) == 400_000
    assert sum(fetched) < 2 * len(data)
