"""What a Parquet file becomes in memory is known before it is decoded; files that share a budget share its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.errors import LimitExceeded
from explorer.core.protocol import limits
from explorer.core.protocol.arrow.page_headers import page_headers
from explorer.core.protocol.arrow.row_groups import RowGroups
from explorer.core.protocol.decoded_bytes import DecodedBytes

_ROWS = 2_000
_LONG = "x" * 10_000
_PLAIN: dict[str, Any] = {"use_dictionary": False}


def _file(column: pa.Array, **options: Any) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    table = pa.table({"a": pa.StructArray.from_arrays([column], ["b"])})
    pq.write_table(table, sink, store_schema=False, **({"compression": "snappy"} | options))
    return sink.getvalue()


def _rows(data: pa.Buffer, budget: DecodedBytes | None = None) -> RowGroups:
    return RowGroups(lambda: pa.BufferReader(data), budget, "a file")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DECODED_BYTES", 1 << 20)
    monkeypatch.setattr(limits, "DECODED_RATIO", 20)


@pytest.mark.parametrize(
    ("column", "options"),
    [
        (pa.repeat(pa.scalar(_LONG), _ROWS), {}),
        (pa.repeat(pa.scalar(_LONG), _ROWS), {"data_page_version": "2.0", "compression": "zstd"}),
        (pa.repeat(pa.scalar(_LONG), _ROWS), {"compression": "none"}),
        (pa.repeat(pa.scalar(_LONG), _ROWS), _PLAIN | {"compression": "zstd"}),
        (pa.repeat(pa.scalar(_LONG), _ROWS), _PLAIN | {"column_encoding": {"a.b": "DELTA_BYTE_ARRAY"}}),
        (pa.array([[_LONG] * 20] * 100), {}),
        (pa.nulls(1_000_000, pa.int64()), {}),
        (pa.repeat(pa.scalar(_LONG.encode()), _ROWS), {"row_group_size": 100}),
    ],
)
def test_what_would_take_too_much_is_refused_with_its_size(column: pa.Array, options: dict[str, Any]) -> None:
    rows = _rows(_file(column, **options))

    def read_all() -> None:
        for group in range(rows.count):
            rows.read(group, ["a.b"])

    with pytest.raises(LimitExceeded, match=r"a file is decoded; .* set DELTA_EXPLORER_MAX_DECODED_BYTES") as caught:
        read_all()
    assert (caught.value.path, caught.value.allowed) == ("a file", limits.decoded_bytes(0))
    assert caught.value.found is not None
    assert caught.value.found > 1 << 20


def test_a_text_that_is_long_once_is_counted_once() -> None:
    texts = ["x" * 500_000, *("short" for _ in range(5_000))]
    data = _file(pa.array(texts), dictionary_pagesize_limit=1 << 20)
    assert _rows(data).read(0, ["a.b"]).num_rows == len(texts)


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "dictionary"])
def test_what_is_counted_is_no_less_than_what_arrow_makes(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"part-{number % 977:05}-{'y' * (number % 50)}" for number in range(20_000)]
    options: dict[str, Any] = {} if encoding == "dictionary" else _PLAIN | {"column_encoding": {"a.b": encoding}}
    monkeypatch.setattr(limits, "MAX_DECODED_BYTES", 1 << 30)
    budget = DecodedBytes()
    table = _rows(_file(pa.array(texts), **options), budget).read(0, ["a.b"])
    assert budget.taken >= table.nbytes
    monkeypatch.setattr(limits, "MAX_DECODED_BYTES", 100_000)
    monkeypatch.setattr(limits, "DECODED_RATIO", 1)
    rows = _rows(_file(pa.array(texts), **options))
    with pytest.raises(LimitExceeded):
        rows.read(0, ["a.b"])


def test_files_share_a_budget_and_columns_are_taken_once() -> None:
    budget = DecodedBytes("The checkpoint of version 7", 7)
    data = _file(pa.array(np.arange(60_000)))
    first = _rows(data, budget)
    for _ in range(5):
        assert first.read(0, ["a.b"]).num_rows == 60_000
    others = [_rows(data, budget) for _ in range(20)]
    budget.stored(-21 * len(data))

    def read_all() -> None:
        for rows in others:
            rows.read(0, ["a.b"])

    with pytest.raises(LimitExceeded, match="The checkpoint of version 7 would take") as caught:
        read_all()
    assert caught.value.version == 7


def test_objects_of_python_are_counted_too() -> None:
    data = _file(pa.repeat(pa.scalar(1, pa.int64()), 30_000))
    with pytest.raises(LimitExceeded):
        _rows(data).present(["a"])


def test_a_footer_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FOOTER_BYTES", 100)
    monkeypatch.setattr(limits, "MAX_DECODED_BYTES", 100)
    with pytest.raises(LimitExceeded, match="The footer of a file has"):
        _rows(_file(pa.array([1])))


@pytest.mark.parametrize("seed", range(3))
def test_headers_of_any_bytes_end_and_fail_nothing(seed: int) -> None:
    data, count = bytearray(_file(pa.array(["a", "b"] * 50)).to_pybytes()), 0
    random = np.random.default_rng(seed)
    for _ in range(300):
        data[4 + int(random.integers(60))] = int(random.integers(256))
        held = bytes(data)
        pages = list(page_headers(lambda size, start, held=held: held[start : start + size], 4, len(held) - 4, 100))
        count += all(page.stored >= 0 and page.values >= 0 for page in pages)
    assert count == 300
