"""Arrow columns from Python values and to NumPy arrays, by way of their buffers.

`pyarrow.array` on Python objects and `pyarrow.Array.to_numpy` import pandas wherever it is installed, which costs more
than opening a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Final, TypeVar, cast

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.limits import check_column

_TOO_LARGE: Final = 1 << 63
_LARGE_PAGE: Final = 1 << 21
# Bytes from which on NumPy asks the system for large pages.
_IN_LARGE_PAGES: Final = 1 << 22
_LARGE_CHUNK: Final = 1 << 16
"""The number of rows from which starting a loop is worth it."""

Mask = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
_IntegerT = TypeVar("_IntegerT", bound=np.signedinteger)
_ScalarT = TypeVar("_ScalarT", bound=np.generic)

Integers = npt.NDArray[np.signedinteger]
"""Integers of any width, such as row numbers."""
Numbers = npt.NDArray[np.number]
"""Numbers of any width."""
Float64s = npt.NDArray[np.float64]

SYSTEM_POOL = pa.system_memory_pool()
"""For columns that are made one after the other and joined: Arrow's own pool does not return freed memory."""

_PLAIN = {name: getattr(pa, name)() for name in ("int8", "uint8", "int32", "int64")}


def strings(values: Sequence[str | None]) -> pa.StringArray:
    """Return a string column; None is null.

    Raises:
        LimitExceeded: The texts are more than a column can store.
    """
    data, lengths, present = _encoded(values)
    check_column(len(data), f"{len(values):,} texts")
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.Array.from_buffers(pa.string(), len(values), [present, pa.py_buffer(offsets), pa.py_buffer(data)])


def as_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array in a type, the same one if it has that type: for a cast, Arrow loads all of its functions."""
    return array if array.type.equals(kind) else array.cast(kind)


def int64s(values: Sequence[int | None] | Numbers) -> pa.Int64Array:
    """Return a 64-bit integer column; None is null."""
    return _primitive(values, pa.int64(), np.int64)


def int32s(values: Sequence[int | None]) -> pa.Int32Array:
    """Return a 32-bit integer column; None is null."""
    return _primitive(values, pa.int32(), np.int32)


def bools(values: Sequence[bool | None]) -> pa.BooleanArray:
    """Return a boolean column; None is null."""
    # None counts as False here.
    data = np.packbits(np.array(values, bool), bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [_validity(values), pa.py_buffer(data)])


def known_int64s(values: Numbers, known: Mask) -> pa.Int64Array:
    """Return a 64-bit integer column of a NumPy array, null where a second array is False."""
    bitmap = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(
        pa.int64(), len(values), [bitmap, pa.py_buffer(np.ascontiguousarray(values, np.int64))]
    )


def mask(values: Mask | Sequence[bool]) -> pa.BooleanArray:
    """Return a boolean column without nulls."""
    bits = np.packbits(np.asarray(values, bool), bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])


def string_maps(values: Sequence[dict[str, str | None] | None]) -> pa.MapArray:
    """Return a map<string, string> column; None is a null map, a None inside a map a null value (CKPT-026)."""
    filled = [value or {} for value in values]
    offsets = np.fromiter(accumulate(map(len, filled), initial=0), dtype=np.int32, count=len(filled) + 1)
    keys = strings(list(chain.from_iterable(filled)))
    items = strings(list(chain.from_iterable(map(dict.values, filled))))
    entries = pa.StructArray.from_arrays(
        [keys, items], fields=[pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())]
    )
    buffers = [_validity(values), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(pa.map_(pa.string(), pa.string()), len(values), buffers, children=[entries])


def large_binaries(values: Sequence[bytes | msgspec.Raw]) -> pa.LargeBinaryArray:
    """Return a column of bytes without nulls."""
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.large_binary(), len(values), buffers)


def one_array(parts: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    """Return several arrays joined; nothing is copied where there is one.

    Raises:
        LimitExceeded: Their texts are more than a column can store.
    """
    if len(parts) == 1:
        return parts[0]
    for sizes in zip(*(_text_sizes(part) for part in parts), strict=True):
        check_column(sum(sizes), f"The texts of {sum(map(len, parts)):,} rows")
    return pa.concat_arrays(parts, SYSTEM_POOL) if parts else pa.nulls(0, kind)


def joined(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, as its `combine_chunks` does, which imports pandas where there is no chunk."""
    return one_array(column.chunks, column.type)


def in_large_chunks(column: pa.ChunkedArray) -> list[pa.Array]:
    """Return the chunks of a column, with consecutive small ones joined: each costs a loop its start."""
    chunks: list[pa.Array] = []
    small: list[pa.Array] = []
    count = 0
    for chunk in column.chunks:
        if small and (len(chunk) >= _LARGE_CHUNK or count >= _LARGE_CHUNK):
            chunks.append(one_array(small, column.type))
            small, count = [], 0
        if len(chunk) >= _LARGE_CHUNK:
            chunks.append(chunk)
        else:
            small.append(chunk)
            count += len(chunk)
    return [*chunks, one_array(small, column.type)] if small else chunks


def integers(values: Sequence[int | None] | Numbers) -> tuple[Int64s, Mask]:
    """Return integers as a NumPy array with 0 for None, and a mask of those that are not None."""
    return _integers(values, np.int64)


def numbers(column: pa.Array) -> tuple[Integers, Mask]:
    """Return an integer column as a NumPy array with 0 for null, and a mask of those that are not null."""
    width = np.dtype(f"int{column.type.bit_width}")
    if not len(column):
        return np.zeros(0, width), np.zeros(0, bool)
    values = np.frombuffer(column.buffers()[1], width)[column.offset : column.offset + len(column)]
    known = validity(column)
    return (values, known) if known.all() else (np.where(known, values, 0), known)


def exact_sum(values: Integers) -> int:
    """Return the sum of integers, even beyond 64 bits: a damaged log may have any size and number of rows."""
    return int(values.sum(dtype=np.int64)) if sums_fit(values) else sum(values.tolist())


def only_array(table: pa.Table, name: str) -> pa.Array:
    """Return a column of a table as one array; nothing is copied where it is in one chunk."""
    return one_array(table.column(name).chunks, table.schema.field(name).type)


def plain_array(values: npt.NDArray[np.generic]) -> pa.Array:
    """Return a NumPy array of integers or flags as a column of the same bytes, a flag a byte; see `numpy_array`."""
    contiguous = np.ascontiguousarray(values).view(np.uint8) if values.dtype == bool else np.ascontiguousarray(values)
    return pa.Array.from_buffers(_PLAIN[contiguous.dtype.name], len(contiguous), [None, pa.py_buffer(contiguous)])


def numpy_array(column: pa.Array, *, flags: bool = False) -> npt.NDArray[np.generic]:
    """Return the values of a column without nulls; nothing is copied, so they must not be written to."""
    if not len(column):
        return np.zeros(0, bool if flags else str(column.type))
    array = np.frombuffer(column.buffers()[1], str(column.type))[column.offset : column.offset + len(column)]
    return array.view(bool) if flags else array


def flags(column: pa.BooleanArray) -> Mask:
    """Return a boolean column as a NumPy array; null is False."""
    return _bits(column.buffers()[1], column) & validity(column)


def floats(column: pa.ChunkedArray) -> Float64s:
    """Return a column of numbers, or of times as their numbers, as floating-point numbers; NaN for null."""
    counted = column.cast(pa.int64()) if pa.types.is_temporal(column.type) else column
    doubles = one_array(counted.cast(pa.float64(), safe=False).chunks, pa.float64())
    if doubles.null_count == len(doubles):
        return np.full(len(doubles), np.nan)
    return np.where(validity(doubles), numpy_array(doubles), np.nan)


def sums_fit(values: Integers) -> bool:
    """Return whether 64 bits hold the sum of integers, and of any of them, by the largest and their number."""
    return max(-int(values.min(initial=0)), int(values.max(initial=0))) * len(values) < _TOO_LARGE


def validity(column: pa.Array) -> Mask:
    """Return a NumPy mask, true where a column is not null."""
    bitmap = column.buffers()[0]
    return np.ones(len(column), bool) if bitmap is None else _bits(bitmap, column)


def _text_sizes(column: pa.Array) -> list[int]:
    """Return bytes of each column of text inside a column."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        start, end = _extent(column)
        return [end - start]
    if pa.types.is_struct(kind):
        return [size for place in range(kind.num_fields) for size in _text_sizes(column.field(place))]
    if pa.types.is_map(kind):
        start, end = _extent(column)
        return [size for part in (column.keys, column.items) for size in _text_sizes(part.slice(start, end - start))]
    return []


def _extent(column: pa.Array) -> tuple[int, int]:
    """Return where the values of the rows of a column begin and end."""
    if not len(column):
        return 0, 0
    offsets = np.frombuffer(column.buffers()[1], np.int32)
    return int(offsets[column.offset]), int(offsets[column.offset + len(column)])


def _bits(buffer: pa.Buffer, column: pa.Array) -> Mask:
    end = column.offset + len(column)
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), count=end, bitorder="little")
    return bits[column.offset :].view(bool)


def _encoded(values: Sequence[str | None]) -> tuple[bytes, Int64s, pa.Buffer | None]:
    """Return the bytes of some texts, one after the other, their lengths, and which are not None."""
    if len(values) and values[0] is None and values.count(None) == len(values):
        return b"", np.zeros(len(values), np.int64), pa.py_buffer(bytes((len(values) + 7) // 8))
    try:
        joined = "".join(cast(Sequence[str], values))
    except TypeError:
        joined = "\u0080"
    if joined.isascii():
        # Usually no text is None and all are ASCII; this then takes a third of the time.
        return joined.encode(), np.fromiter(map(len, cast(Sequence[str], values)), np.int64, len(values)), None
    encoded = [value.encode("utf-8", "surrogatepass") if value else b"" for value in values]
    return b"".join(encoded), np.fromiter(map(len, encoded), np.int64, len(values)), _validity(values)


def _integers(values: Sequence[int | None] | Numbers, kind: type[_IntegerT]) -> tuple[npt.NDArray[_IntegerT], Mask]:
    if len(values) and values[0] is None and all(value is None for value in values):
        return np.zeros(len(values), kind), np.zeros(len(values), bool)
    try:
        # Usually none is None; this then takes a third of the time.
        return np.array(values, kind), np.ones(len(values), bool)
    except TypeError:
        known = np.array([value is not None for value in values], bool)
    return np.array([0 if value is None else value for value in values], kind), known


def _primitive(values: Sequence[int | None] | Numbers, kind: pa.DataType, width: type[np.signedinteger]) -> pa.Array:
    data, known = _integers(values, width)
    bitmap = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [bitmap, pa.py_buffer(data)])


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    if None not in values:
        return None
    present = np.fromiter((value is not None for value in values), bool, len(values))
    return pa.py_buffer(np.packbits(present, bitorder="little"))


def fresh_buffer(size: int) -> npt.NDArray[np.uint8]:
    """Return a buffer of so many bytes, in large pages if the system has any, with undefined contents.

    New memory takes several times as long in small pages, each of which the system allocates separately.
    """
    padded = np.empty(max(size + _LARGE_PAGE, _IN_LARGE_PAGES), np.uint8)
    start = -padded.__array_interface__["data"][0] % _LARGE_PAGE
    return padded[start : start + size]


def with_room(values: npt.NDArray[_ScalarT], needed: int, filler: int = 0) -> npt.NDArray[_ScalarT]:
    """Return the same values with room for ``needed``, and more, so that this is rarely called."""
    if needed <= len(values):
        return values
    more = np.full(max(needed - len(values), len(values) // 2), filler, values.dtype)
    return np.concatenate([values, more])
