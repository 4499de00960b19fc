"""Arrow columns from Python values, built from buffers.

`pyarrow.array` on Python objects imports pandas wherever it is installed, which costs more than opening a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["bools", "int32s", "int64s", "string_maps", "strings"]


def strings(values: Sequence[str | None]) -> pa.StringArray:
    """A string column; None is null."""
    encoded = [value.encode("utf-8", "surrogatepass") if value else b"" for value in values]
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), dtype=np.int64, count=len(encoded) + 1)
    if offsets[-1] > np.iinfo(np.int32).max:
        raise OverflowError("a string column of more than 2 GiB needs to be built in chunks")
    buffers = [_validity(values), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def int64s(values: Sequence[int | None]) -> pa.Int64Array:
    """A 64-bit integer column; None is null."""
    return _primitive(values, pa.int64(), np.int64)


def int32s(values: Sequence[int | None]) -> pa.Int32Array:
    """A 32-bit integer column; None is null."""
    return _primitive(values, pa.int32(), np.int32)


def bools(values: Sequence[bool | None]) -> pa.BooleanArray:
    """A boolean column; None is null."""
    data = np.packbits(np.fromiter((value is True for value in values), bool, len(values)), bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [_validity(values), pa.py_buffer(data)])


def string_maps(values: Sequence[dict[str, str | None] | None]) -> pa.MapArray:
    """A map<string, string> column; None is a null map, a None value inside a map stays a null value (CKPT-026)."""
    filled = [value or {} for value in values]
    offsets = np.fromiter(accumulate(map(len, filled), initial=0), dtype=np.int32, count=len(filled) + 1)
    keys = strings([key for value in filled for key in value])
    items = strings([item for value in filled for item in value.values()])
    entries = pa.StructArray.from_arrays(
        [keys, items], fields=[pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())]
    )
    buffers = [_validity(values), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(pa.map_(pa.string(), pa.string()), len(values), buffers, children=[entries])


def _primitive(values: Sequence[int | None], kind: pa.DataType, dtype: Any) -> Any:
    data = np.fromiter((0 if value is None else value for value in values), dtype, len(values))
    return pa.Array.from_buffers(kind, len(values), [_validity(values), pa.py_buffer(data)])


def _validity(values: Iterable[object]) -> pa.Buffer | None:
    present = np.fromiter((value is not None for value in values), bool)
    if present.all():
        return None
    return pa.py_buffer(np.packbits(present, bitorder="little"))
