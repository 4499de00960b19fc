"""Statistics and partition values of a checkpoint's files in their own types.

Protocol section: Checkpoints (``stats_parsed``, ``partitionValues_parsed``). Invariants: fields have physical names
(CKPT-021); the null counter is ``nullCount`` (CKPT-020); partition columns have no statistics, booleans, binaries,
lists and maps no bounds (STATS-017); a file without usable statistics has a null struct.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
import pyarrow as pa

from explorer.core.errors import CorruptTable
from explorer.core.log.checkpoint.file_columns import struct_with_nulls
from explorer.core.log.table_state import TableState
from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.partition_values import partition_column
from explorer.core.protocol.schema.column_mapping import mapping_mode
from explorer.core.protocol.schema.data_types import DataType, PrimitiveType, StructType, parse_schema
from explorer.core.protocol.schema.nested_types import PathTree, path_tree, walk_structs
from explorer.core.protocol.statistics.json_statistics import (
    Bounds,
    ParsedTexts,
    StatisticsLeaf,
    parse_either,
    parse_texts,
)

_COUNTED: Final = PrimitiveType("binary")
"""Placeholder for types whose nulls are counted but which have no bounds."""


class TypedColumns(msgspec.Struct, frozen=True):
    """The columns of a table that its checkpoints store in their own types.

    Attributes:
        leaves: Columns with statistics, in schema order.
        partitions: Physical name, type and logical name of each partition column.
    """

    leaves: tuple[StatisticsLeaf, ...]
    partitions: tuple[tuple[str, PrimitiveType, str], ...]

    def partition_values(self, maps: pa.MapArray) -> pa.StructArray:
        """Return the values of ``partitionValues`` in the types of the partition columns.

        Raises:
            CorruptTable: A value is not of its column's type.
        """
        arrays = [partition_column(maps, physical, kind, name) for physical, kind, name in self.partitions]
        return pa.StructArray.from_arrays(arrays, names=[physical for physical, _, _ in self.partitions])

    def partition_type(self) -> pa.DataType:
        """Return the type of ``partitionValues_parsed``."""
        return pa.struct([(physical, to_arrow(kind)) for physical, kind, _ in self.partitions])

    def statistics(self, texts: pa.StringArray, parsed: pa.StructArray | None) -> pa.StructArray:
        """Return ``stats_parsed`` of some files: from their structs, and where those are missing, from their texts."""
        import pyarrow.compute as pc

        if parsed is None or parsed.null_count == len(parsed):
            texts_parsed = parse_texts(texts, self.leaves)
        else:
            texts_parsed = parse_either(struct_with_nulls(parsed), [texts], self.leaves)
        members = self._members(texts_parsed)
        known = pc.or_(texts_parsed.tight.is_valid(), texts_parsed.num_records.is_valid())
        return pa.StructArray.from_arrays(list(members.values()), names=list(members), mask=pc.invert(known))

    def statistics_type(self) -> pa.DataType:
        """Return the type of ``stats_parsed``."""
        nothing = {leaf: Bounds(*(pa.nulls(0, kind) for kind in _types(leaf))) for leaf in self.leaves}
        members = self._members(ParsedTexts(pa.nulls(0, pa.bool_()), pa.nulls(0, pa.int64()), nothing, ()))
        return pa.struct([(name, array.type) for name, array in members.items()])

    def _members(self, parsed: ParsedTexts) -> dict[str, pa.Array]:
        bounded = [leaf for leaf in self.leaves if leaf.has_bounds and leaf.type.name != "boolean"]
        members = {
            "minValues": _nested({leaf.path: parsed.bounds[leaf].low for leaf in bounded}),
            "maxValues": _nested({leaf.path: parsed.bounds[leaf].high for leaf in bounded}),
            "nullCount": _nested({leaf.path: parsed.bounds[leaf].nulls for leaf in self.leaves}),
        }
        # Parquet has no struct without fields.
        filled = {name: array for name, array in members.items() if array is not None}
        return {"numRecords": parsed.num_records, **filled, "tightBounds": parsed.tight}


def typed_columns(state: TableState) -> TypedColumns:
    """Return the columns of a table that have statistics or partition it.

    Raises:
        CorruptTable: There is no usable schema, or a partition column is not in it.
        UnsupportedFeature: The schema uses a type this program does not read.
    """
    metadata = state.metadata
    schema = parse_schema(metadata.schema_string or "")
    mapped = mapping_mode(metadata.configuration, state.protocol) != "none"
    partitions = []
    for name in metadata.partition_columns:
        field = schema.field(name)
        if field is None or not isinstance(field.type, PrimitiveType):
            raise CorruptTable(
                f"The partition column {name!r} is not a column of a simple type in the schema.", column=name
            )
        partitions.append((field.physical_name if mapped else field.name, field.type, name))
    data = tuple(field for field in schema.fields if field.name not in metadata.partition_columns)
    return TypedColumns(tuple(_leaves(StructType(data), mapped)), tuple(partitions))


def _leaves(struct: StructType, mapped: bool) -> Iterator[StatisticsLeaf]:
    for path, physical, field in walk_structs(struct):
        if not isinstance(field.type, StructType):
            yield StatisticsLeaf(physical if mapped else path, _plain(field.type))


def _plain(kind: DataType) -> PrimitiveType:
    return kind if isinstance(kind, PrimitiveType) and kind.name not in {"void", "variant"} else _COUNTED


def _types(leaf: StatisticsLeaf) -> Sequence[pa.DataType]:
    return to_arrow(leaf.type), to_arrow(leaf.type), pa.int64()


def _nested(arrays: Mapping[tuple[str, ...], pa.Array]) -> pa.StructArray | None:
    """Return a struct with the arrays at their paths; None without any."""
    return _struct(path_tree(arrays)) if arrays else None


def _struct(tree: PathTree[pa.Array]) -> pa.StructArray:
    arrays = [_struct(item) if isinstance(item, dict) else item for item in tree.values()]
    return pa.StructArray.from_arrays(arrays, names=list(tree))
