"""The memory that a footer takes is counted before Arrow makes room for it."""

from __future__ import annotations

import io
import struct
import time
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.errors import LimitExceeded
from explorer.core.protocol import limits
from explorer.core.protocol.arrow.footer_sizes import footer_size
from explorer.core.protocol.arrow.open_parquet import read_footer
from tests.support.at_least_one import at_least_one
from tests.support.attacks.forged_footers import FOOTERS, parquet_with

_ALLOWED: Final = 160 << 20


@pytest.mark.parametrize("name", FOOTERS)
def test_a_forged_footer_is_refused_before_it_is_decoded(name: str) -> None:
    source = pa.BufferReader(parquet_with(FOOTERS[name]))
    start = time.process_time()
    with pytest.raises(LimitExceeded, match="The footer of x would take at least") as refused:
        read_footer(source, "x")
    assert time.process_time() - start < 2
    assert refused.value.found is not None
    assert refused.value.found > limits.footer_bytes() == refused.value.allowed
    assert limits.DECODED_VARIABLE in refused.value.message


def test_a_footer_is_read_where_the_limit_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = FOOTERS["many columns in each of many row groups"]
    monkeypatch.setattr(limits, "MAX_DECODED_BYTES", footer_size(chunks, 1 << 40))
    assert read_footer(pa.BufferReader(parquet_with(chunks)), "x").num_row_groups == 8


def test_honest_footers_pass_and_are_counted_by_their_columns() -> None:
    found = {}
    for columns, groups in at_least_one([(1, 1), (60, 40), (3_000, 1)]):
        data = _footer(columns, groups)
        found[columns * groups] = footer_size(data, _ALLOWED)
        assert found[columns * groups] < _ALLOWED
        assert found[columns * groups] >= columns * groups * 720
    assert len(found) == 3


@pytest.mark.parametrize("end", [0, 1, 7, 40])
def test_a_footer_that_is_cut_off_is_left_to_arrow(end: int) -> None:
    whole = _footer(3, 2)
    with pytest.raises((OSError, pa.ArrowException)):
        read_footer(pa.BufferReader(parquet_with(whole[:end])), "x")


def _footer(columns: int, groups: int) -> bytes:
    values = pa.array(np.arange(groups), pa.int64())
    sink = io.BytesIO()
    table = pa.table({f"c{place}": values for place in range(columns)})
    pq.write_table(table, sink, row_group_size=1)
    data = sink.getvalue()
    (length,) = struct.unpack("<I", data[-8:-4])
    return data[-8 - length : -8]
