"""The columns of a data file as Arrow reads them, brought to the columns of a table.

Protocol sections: Column Mapping (Reader Requirements), Type Widening. Invariants: columns are found by physical name,
or by Parquet field id where the table maps by id; a column that a file lacks is null; older types are widened, never
narrowed in silence. Spark's workers get this module by value: it needs nothing but PyArrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa

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


class FieldPlaces:
    """The places of fields of one level, each found without a search: a file may have a hundred thousand of them.

    Args:
        fields: The fields, as Arrow reads them.
    """

    def __init__(self, fields: Sequence[Any]) -> None:
        self._fields = fields
        self._names: dict[str, int] = {}
        self._lowered: dict[str, int] = {}
        self._counts: Counter[str] = Counter()
        self._ids: dict[bytes, list[int]] | None = None
        for place, field in enumerate(fields):
            name = field.name
            lowered = name.lower()
            self._names.setdefault(name, place)
            self._lowered.setdefault(lowered, place)
            self._counts[lowered] += 1

    def place(self, shape: Shape) -> int | None:
        """Return where a column is: by its id, or by its name, exactly if possible, else ignoring case."""
        if shape.field_id is not None:
            return next(iter(self._of_id(shape.field_id)), None)
        exact = self._names.get(shape.name)
        return self._lowered.get(shape.name.lower()) if exact is None else exact

    def is_ambiguous(self, shape: Shape) -> bool:
        """Return whether several fields have the id of a column, or its name ignoring case; Spark refuses both."""
        if shape.field_id is None:
            return self._counts[shape.name.lower()] > 1
        places = self._of_id(shape.field_id)
        # A column that was found by its id is then read by its name in the file.
        return len(places) > 1 or any(self._counts[self._fields[place].name.lower()] > 1 for place in places)

    def _of_id(self, field_id: int) -> Sequence[int]:
        if self._ids is None:
            self._ids = {}
            for place, field in enumerate(self._fields):
                known = (field.metadata or {}).get(_FIELD_ID)
                if known is not None:
                    self._ids.setdefault(known, []).append(place)
        return self._ids.get(str(field_id).encode(), ())


def stored_names(schema: pa.Schema, columns: Sequence[Shape]) -> list[str] | None:
    """Return the names of the columns to read of a file; None reads all, where a dot would mean a path into a struct.

    Args:
        schema: The file's.
        columns: The columns to give.
    """
    names = schema.names
    fields = FieldPlaces(list(schema))
    places = [fields.place(shape) for shape in columns]
    return None if any("." in name for name in names) else [names[place] for place in places if place is not None]


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


def columns_of(batch: pa.RecordBatch, shapes: Sequence[Shape]) -> list[Any]:
    """Return columns of the rows of a file, each in its type; null where the file lacks one.

    Raises:
        pa.ArrowException, ValueError: A value does not fit the type, or its variants are shredded.
    """
    fields = FieldPlaces(list(batch.schema))
    return [_column(batch, fields.place(shape), shape) for shape in shapes]


def without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with views of texts and bytes as texts and bytes: Arrow cannot take rows of views.

    DataFusion, so deltalake where it updates or merges rows, notes in the file that they were views.
    """
    fields = list(batch.schema)
    kinds = [_without_views(field.type) for field in fields]
    if all(kind == field.type for field, kind in zip(fields, kinds, strict=True)):
        return batch
    columns = [column.cast(kind) for column, kind in zip(batch.columns, kinds, strict=True)]
    plain = [field.with_type(kind) for field, kind in zip(fields, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(plain))


def is_in_old_calendar(
    schema: pa.Schema, metadata: dict[bytes, bytes] | None, columns: Sequence[Shape], int96: Collection[str]
) -> bool:
    """Return whether the days or times of a file are in the Julian calendar, which only Spark's own reader converts.

    Args:
        schema: Its columns as Arrow reads them.
        metadata: The keys and values of its footer.
        columns: The columns to give.
        int96: What `in_96_bits` returns of it: Spark 3.0 wrote these times in the old calendar too.
    """
    known = metadata or {}
    # Spark compares versions as texts.
    version = known.get(b"org.apache.spark.version", b"~")
    times = [shape for shape in columns if _holds_time(shape)]
    if b"org.apache.spark.legacyDateTime" in known or version < b"3.0.0":
        return bool(times)
    if not int96 or not (b"org.apache.spark.legacyINT96" in known or version < b"3.1.0"):
        return False
    places = FieldPlaces(list(schema))
    time_places = (places.place(shape) for shape in times)
    return any(place is not None and schema.names[place] in int96 for place in time_places)


def in_96_bits(described: Any) -> frozenset[str]:
    """Return the top-level columns of a file with a time that is stored in 96 bits.

    Args:
        described: The schema of its footer; where a name has a dot, other names are returned too.
    """
    leaves = (described.column(place) for place in range(len(described)))
    paths = (leaf.path.split(".") for leaf in leaves if leaf.physical_type == "INT96")
    return frozenset(name for path in paths for name in accumulate(path, "{}.{}".format))


def _has_ids(field: Any) -> bool:
    return _FIELD_ID in (field.metadata or {}) or any(map(_has_ids, _parts_of(field.type)))


def _parts_of(kind: Any) -> Iterator[Any]:
    if pa.types.is_map(kind):
        yield from (kind.key_field, kind.item_field)
    elif pa.types.is_nested(kind):
        yield from (kind.field(place) for place in range(kind.num_fields))


def _column(batch: pa.RecordBatch, place: int | None, shape: Shape) -> Any:
    return pa.nulls(batch.num_rows, shape.whole()) if place is None else _fitted(batch.column(place), shape)


def _fitted(array: Any, shape: Shape) -> Any:
    """The array in the type that is asked for: parts by name or id, older types widened."""
    if not shape.parts:
        return array if array.type == shape.type else array.cast(shape.type)
    if array.offset:
        # A list's parts do not know that the list is a slice.
        array = array.take(pa.array(range(len(array)), pa.int32()))
    if pa.types.is_struct(shape.type):
        fields = list(array.type)
        if any(field.name == "typed_value" for field in fields) and any(
            part.name == "metadata" for part in shape.parts
        ):
            raise ValueError("its variants are shredded, which only Spark's own reader puts together")
        places = FieldPlaces(fields)
        parts = [_part(array, places.place(part), part) for part in shape.parts]
        return pa.StructArray.from_arrays(parts, fields=[part.field() for part in shape.parts], mask=array.is_null())
    if pa.types.is_list(shape.type):
        items = _fitted(array.values, shape.parts[0])
        return pa.ListArray.from_arrays(array.offsets.cast(pa.int32()), items, mask=array.is_null())
    keys, items = _fitted(array.keys, shape.parts[0]), _fitted(array.items, shape.parts[1])
    return pa.MapArray.from_arrays(array.offsets, keys, items, mask=array.is_null())


def _part(array: Any, place: int | None, part: Shape) -> Any:
    return pa.nulls(len(array), part.whole()) if place is None else _fitted(array.field(place), part)


def _without_views(kind: Any) -> Any:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_views(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_views(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_without_views(kind.value_type)))
    if pa.types.is_map(kind):
        parts = (field.with_type(_without_views(field.type)) for field in (kind.key_field, kind.item_field))
        return pa.map_(*parts)
    return kind


def _holds_time(shape: Shape) -> bool:
    return pa.types.is_date(shape.type) or pa.types.is_timestamp(shape.type) or any(map(_holds_time, shape.parts))
