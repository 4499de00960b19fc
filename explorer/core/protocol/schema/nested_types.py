"""Types inside types: every field and every type of a schema, and a type with other parts.

Protocol sections: Schema Serialization Format, Column Mapping. Invariants: paths go through ``element``, ``key`` and
``value`` (CM-014); a field comes before the fields inside it, siblings in schema order; a type is never changed in
place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, TypeVar

import msgspec

from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)

Path = tuple[str, ...]

_T = TypeVar("_T")
PathTree: TypeAlias = "dict[str, _T | PathTree[_T]]"
"""Values at the ends of paths, each part of a path a level of nested objects."""


def walk(struct: StructType) -> Iterator[tuple[Path, StructField]]:
    """Yield every field at any depth with its logical path."""
    return ((path, field) for path, _, field in walk_physical(struct))


def walk_physical(struct: StructType) -> Iterator[tuple[Path, Path, StructField]]:
    """Yield every field at any depth with its logical path and its physical one."""
    return _walk(struct, (), (), collections=True)


def walk_structs(struct: StructType) -> Iterator[tuple[Path, Path, StructField]]:
    """Yield the fields in structs alone, not inside arrays or maps, with their logical and physical paths."""
    return _walk(struct, (), (), collections=False)


def nested_types(kind: DataType) -> Iterator[DataType]:
    """Yield a type and every type inside it."""
    yield kind
    for _, part in _parts(kind):
        yield from nested_types(part)


def holds(kind: DataType, *names: str) -> bool:
    """Return whether a type is, or has inside it, a primitive type of one of these names."""
    return any(isinstance(part, PrimitiveType) and part.name in names for part in nested_types(kind))


def with_parts(kind: DataType, change: Callable[[str, DataType], DataType]) -> DataType:
    """Return a type with other immediate parts: types of fields by their names, ``element``, ``key`` and ``value``."""
    match kind:
        case PrimitiveType():
            return kind
        case ArrayType():
            return ArrayType(change("element", kind.element_type), kind.contains_null)
        case MapType():
            return MapType(change("key", kind.key_type), change("value", kind.value_type), kind.value_contains_null)
        case StructType():
            fields = (msgspec.structs.replace(field, type=change(field.name, field.type)) for field in kind.fields)
            return StructType(tuple(fields))


def with_fields(kind: DataType, change: Callable[[StructField], StructField]) -> DataType:
    """Return a type with other nearest fields: those of a struct, even inside arrays and maps; in schema order."""
    if isinstance(kind, StructType):
        return StructType(tuple(change(field) for field in kind.fields))
    return with_parts(kind, lambda _, part: with_fields(part, change))


def path_tree(leaves: Mapping[Path, _T]) -> PathTree[_T]:
    """Return the values at their paths; of two of which one runs through the end of the other, the first stays."""
    tree: PathTree[_T] = {}
    for path, value in leaves.items():
        level = tree
        for part in path[:-1]:
            next_level = level.setdefault(part, {})
            level = next_level if isinstance(next_level, dict) else {}
        level.setdefault(path[-1], value)
    return tree


def _walk(kind: DataType, path: Path, physical: Path, *, collections: bool) -> Iterator[tuple[Path, Path, StructField]]:
    if isinstance(kind, StructType):
        for field in kind.fields:
            here, there = (*path, field.name), (*physical, field.physical_name)
            yield here, there, field
            if not isinstance(field.type, PrimitiveType):
                yield from _walk(field.type, here, there, collections=collections)
    elif collections:
        for name, part in _parts(kind):
            yield from _walk(part, (*path, name), (*physical, name), collections=collections)


def _parts(kind: DataType) -> tuple[tuple[str, DataType], ...]:
    match kind:
        case PrimitiveType():
            return ()
        case ArrayType():
            return (("element", kind.element_type),)
        case MapType():
            return (("key", kind.key_type), ("value", kind.value_type))
        case StructType():
            return tuple((field.name, field.type) for field in kind.fields)
