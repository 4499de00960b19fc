"""Records and numbers of columns, beside what Arrow makes of them by way of pandas."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.protocol.arrow.arrays import floats
from explorer.core.protocol.arrow.records import moments, records

_TIMES = st.lists(st.none() | st.integers(-62_135_596_800_000, 253_402_300_799_999))


@given(_TIMES, st.integers(0, 3))
def test_records_are_those_of_arrow(times: list[int | None], chunks: int) -> None:
    texts = [None if time is None else [("a", str(time))] for time in times]
    part = pa.table(
        {
            "when": pa.array(times, pa.int64()).cast(pa.timestamp("ms", "UTC")),
            "number": pa.array(times, pa.int64()),
            "texts": pa.array(texts, pa.map_(pa.string(), pa.string())),
        }
    )
    table = pa.concat_tables([part] * chunks) if chunks else part.slice(0, 0)
    assert records(table) == table.to_pylist(maps_as_pydicts="strict")
    assert moments(table.column("when")) == table.column("when").to_pylist()


@given(st.lists(st.none() | st.integers(-62_135_596_800, 253_402_300_799)), st.sampled_from(["s", "ms", "us"]))
def test_times_of_every_unit_with_and_without_a_zone_are_those_of_arrow(times: list[int | None], unit: str) -> None:
    for zone in (None, "UTC"):
        column = pa.chunked_array([pa.array(times, pa.int64()).cast(pa.timestamp(unit, zone))])
        made = moments(column)
        assert made == column.to_pylist()
        assert {time.utcoffset() is None for time in made if time is not None} <= {zone is None}


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float64(), pa.timestamp("ms", "UTC"), pa.null()])
@pytest.mark.parametrize("values", [[], [None], [1, None, 3], [4, 5]])
def test_numbers_are_those_of_arrow(kind: pa.DataType, values: list[int | None]) -> None:
    array = pa.array([None for _ in values] if pa.types.is_null(kind) else values, kind)
    column = pa.chunked_array([array, array[1:]], kind)
    plain = column.cast(pa.int64()) if pa.types.is_temporal(kind) else column
    assert np.array_equal(floats(column), plain.cast(pa.float64()).to_numpy(), equal_nan=True)
