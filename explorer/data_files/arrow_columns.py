"""The columns of a data file as Arrow reads them, brought to the columns of a table.

Protocol sections: Column Mapping (Reader Requirements), Type Widening. Invariants: columns are found by physical name,
or by Parquet field id where the table maps by id; a column that a file lacks is null; older types are widened, never
narrowed in silence. Spark's workers get this module by value: it needs nothing but PyArrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["Shape", "check_field_ids", "column_of", "is_in_old_calendar", "place_of", "stored_names"]

_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class Shape:
    """How to read one column or a part of one.

    Attributes:
        name: Physical name.
        field_id: Parquet field id to find it by, or None to find it by name.
        type: The Arrow type to give, without its parts.
        parts: Fields of a struct, the element of a list, key and value of a map.
    """

    name: str
    field_id: int | None
    type: Any
    parts: tuple[Shape, ...] = ()

    def field(self) -> Any:
        """Return the Arrow field to give."""
        return pa.field(self.name, self.whole())

    def whole(self) -> Any:
        """Return the Arrow type to give, with its parts."""
        if pa.types.is_struct(self.type):
            return pa.struct([part.field() for part in self.parts])
        if pa.types.is_list(self.type):
            return pa.list_(self.parts[0].whole())
        if pa.types.is_map(self.type):
            return pa.map_(self.parts[0].whole(), self.parts[1].whole())
        return self.type

    def has_id(self) -> bool:
        """Return whether it, or a part of it, is found by its field id."""
        return self.field_id is not None or any(part.has_id() for part in self.parts)


def stored_names(schema: pa.Schema, columns: Sequence[Shape]) -> list[str] | None:
    """Return the names of the columns to read of a file; None reads all, where a dot would mean a path into a struct.

    Args:
        schema: The file's.
        columns: The columns to give.
    """
    places = [place_of(list(schema), shape) for shape in columns]
    names = [schema.field(place).name for place in places if place is not None]
    return None if any("." in name for name in schema.names) else names


def check_field_ids(schema: pa.Schema, columns: Sequence[Shape]) -> None:
    """Check that a file has field ids where its columns are found by them, as Spark's reader does.

    Raises:
        ValueError: It has none at all, so that every column would be null.
    """
    if any(shape.has_id() for shape in columns) and not any(map(_has_ids, schema)):
        raise ValueError(
            "the table finds its columns by Parquet field ids, and the file has none; rewrite it with a client that "
            "writes them"
        )


def place_of(fields: Sequence[Any], shape: Shape) -> int | None:
    """Return where the column is among fields: by its id, or by its name, exactly if possible, else ignoring case."""
    if shape.field_id is not None:
        wanted = str(shape.field_id).encode()
        ids = [(field.metadata or {}).get(_FIELD_ID) for field in fields]
        return ids.index(wanted) if wanted in ids else None
    names = [field.name for field in fields]
    if shape.name in names:
        return names.index(shape.name)
    lowered = [name.lower() for name in names]
    return lowered.index(shape.name.lower()) if shape.name.lower() in lowered else None


def column_of(batch: pa.RecordBatch, shape: Shape) -> Any:
    """Return a column of the rows of a file, in its type; null where the file lacks it.

    Raises:
        pa.ArrowException, ValueError: A value does not fit the type, or its variants are shredded.
    """
    place = place_of(list(batch.schema), shape)
    if place is None:
        return pa.nulls(batch.num_rows, shape.whole())
    return _fitted(batch.column(place), shape)


def is_in_old_calendar(metadata: dict[bytes, bytes] | None, columns: Sequence[Shape]) -> bool:
    """Return whether the days or times of a file are in the Julian calendar, which only Spark's own reader converts.

    Args:
        metadata: The keys and values of the file's footer.
        columns: The columns to give.
    """
    known = metadata or {}
    version = known.get(b"org.apache.spark.version", b"").decode("ascii", "replace")
    old = b"org.apache.spark.legacyDateTime" in known or (version[:1].isdigit() and int(version.split(".")[0]) < 3)
    return old and any(_holds_time(shape) for shape in columns)


def _has_ids(field: Any) -> bool:
    return _FIELD_ID in (field.metadata or {}) or any(map(_has_ids, _parts_of(field.type)))


def _parts_of(kind: Any) -> Iterator[Any]:
    if pa.types.is_map(kind):
        yield from (kind.key_field, kind.item_field)
    elif pa.types.is_nested(kind):
        yield from (kind.field(place) for place in range(kind.num_fields))


def _fitted(array: Any, shape: Shape) -> Any:
    """The array in the type that is asked for: parts by name or id, older types widened."""
    if not shape.parts:
        return array if array.type == shape.type else array.cast(shape.type)
    if array.offset:
        # A list's parts do not know that the list is a slice.
        array = array.take(pa.array(range(len(array)), pa.int32()))
    if pa.types.is_struct(shape.type):
        parts = [_part(array, part) for part in shape.parts]
        return pa.StructArray.from_arrays(parts, fields=[part.field() for part in shape.parts], mask=array.is_null())
    if pa.types.is_list(shape.type):
        items = _fitted(array.values, shape.parts[0])
        return pa.ListArray.from_arrays(array.offsets.cast(pa.int32()), items, mask=array.is_null())
    keys, items = _fitted(array.keys, shape.parts[0]), _fitted(array.items, shape.parts[1])
    return pa.MapArray.from_arrays(array.offsets, keys, items, mask=array.is_null())


def _part(array: Any, part: Shape) -> Any:
    fields = list(array.type)
    place = place_of(fields, part)
    if any(field.name == "typed_value" for field in fields) and part.name == "metadata":
        raise ValueError("its variants are shredded, which only Spark's own reader puts together")
    return pa.nulls(len(array), part.whole()) if place is None else _fitted(array.field(place), part)


def _holds_time(shape: Shape) -> bool:
    return pa.types.is_date(shape.type) or pa.types.is_timestamp(shape.type) or any(map(_holds_time, shape.parts))
