"""Two tables side by side, by their logs: columns, partitioning, properties, constraints, protocol, counts, and bounds.

Protocol sections: Change Metadata, Protocol Evolution, Column Mapping, Per-file Statistics. Invariants: a table
compared with itself does not differ; columns match by name, then by a name that differs in case alone, then by a
physical name that a mapping made (it is unique, so both tables have it from one origin); field IDs match nothing, as
every table counts its own; a value that is each table's own, such as its ID, never makes two tables differ.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Final, Literal

import msgspec

from explorer.core.protocol.json_values import encode_json
from explorer.core.protocol.schema.data_types import StructField, StructType, format_column, type_name, type_outline
from explorer.core.protocol.schema.field_metadata import COLUMN_MAPPING_PREFIX, IDENTITY_HIGH_WATER_MARK, TYPE_CHANGES
from explorer.core.protocol.schema.nested_types import Path, walk_physical
from explorer.core.protocol.statistics.column_summary import ColumnSummary
from explorer.core.protocol.table_features import supported_features
from explorer.core.protocol.table_properties.registry import (
    HAS_DROPPED_OR_RENAMED,
    ICT_ENABLEMENT_TIMESTAMP,
    ICT_ENABLEMENT_VERSION,
    MAX_COLUMN_ID,
    PREFIX,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)
from explorer.core.protocol.table_properties.values import constraint_name
from explorer.core.versions.snapshot import Snapshot

Aspect = Literal["column", "partitioning", "clustering", "property", "constraint", "protocol", "domain", "table"]
Amount = Literal["live rows", "masked rows", "files", "bytes", "deletion vectors", "columns"]
AMOUNTS: Final[tuple[Amount, ...]] = ("live rows", "masked rows", "files", "bytes", "deletion vectors", "columns")
ORDER: Final = "order"
PRESENCE: Final = "presence"
MOST_BOUNDS: Final = 1_000
"""Columns whose bounds are compared at most."""
_MADE_NAME: Final = "col-"
_OWN_PROPERTIES: Final = frozenset(
    row.key
    for row in (
        HAS_DROPPED_OR_RENAMED,
        MAX_COLUMN_ID,
        ICT_ENABLEMENT_TIMESTAMP,
        ICT_ENABLEMENT_VERSION,
        ROW_ID_COLUMN,
        ROW_COMMIT_VERSION_COLUMN,
    )
)
_OWN_METADATA: Final = frozenset({IDENTITY_HIGH_WATER_MARK, TYPE_CHANGES})


class ComparedTable(msgspec.Struct, frozen=True, rename="camel"):
    """One of the two: its location and the version that is compared."""

    table: str
    version: int


class TableDifference(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that differs.

    Attributes:
        aspect: What kind of thing it is.
        name: Its name: a column, a property, a constraint, a table feature, a domain.
        what: What of it: ``presence``, ``name``, ``type``, ``nullability``, ``order``, ``value``, or the key of a
            column's metadata.
        first, second: What each table has; null where it has none.
        own: True if each table has a value of its own, such as its ID, so that the two do not differ by it.
    """

    aspect: Aspect
    name: str
    what: str
    first: str | None
    second: str | None
    own: bool = False


class AmountPair(msgspec.Struct, frozen=True, rename="camel"):
    """A number of both tables; null where the log does not record it."""

    name: Amount
    first: int | None
    second: int | None

    @property
    def differs(self) -> bool | None:
        """Whether they differ; None where one of them is unknown."""
        return None if self.first is None or self.second is None else self.first != self.second


class BoundsPair(msgspec.Struct, frozen=True, rename="camel"):
    """A column that both tables have, over all live files of each; null for a table without statistics of it."""

    column: str
    first: ColumnSummary | None
    second: ColumnSummary | None

    @property
    def differs(self) -> bool | None:
        """Whether minimum, maximum or null count differ; None where nothing is known of one of them."""
        if self.first is None or self.second is None:
            return None
        ones = [(each.min, each.max, each.least_nulls, each.most_nulls) for each in (self.first, self.second)]
        return _written(ones[0]) != _written(ones[1])


class TableComparison(msgspec.Struct, frozen=True, rename="camel"):
    """Two tables side by side.

    Attributes:
        first, second: The tables.
        differences: What differs in their definition, columns first.
        amounts: Rows, files and bytes.
        bounds: Of each column that both have and that can have statistics, `MOST_BOUNDS` at most.
        bounds_left_out: How many more such columns there are.
        columns_shared: Top-level columns that both tables have.
    """

    first: ComparedTable
    second: ComparedTable
    differences: tuple[TableDifference, ...]
    amounts: tuple[AmountPair, ...]
    bounds: tuple[BoundsPair, ...]
    bounds_left_out: int
    columns_shared: int

    @property
    def same_definition(self) -> bool:
        """Whether schema, partitioning, properties, constraints, protocol and domains are the same."""
        return all(difference.own for difference in self.differences)

    @property
    def differing_amounts(self) -> tuple[AmountPair, ...]:
        """The numbers that differ, as far as they are known."""
        return tuple(pair for pair in self.amounts if pair.differs)

    @property
    def differing_bounds(self) -> tuple[BoundsPair, ...]:
        """The columns whose bounds or null counts differ."""
        return tuple(pair for pair in self.bounds if pair.differs)


class ColumnPair(msgspec.Struct, frozen=True):
    """A column of either table, or of both: its path and its field in each."""

    first: tuple[Path, StructField] | None
    second: tuple[Path, StructField] | None

    @property
    def path(self) -> Path:
        """Its path in the first table, else in the second."""
        pair = self.first or self.second
        assert pair is not None, "a column is in a table"
        return pair[0]


def compare_tables(first: Snapshot, second: Snapshot, names: tuple[str, str]) -> TableComparison:
    """Compare a version of a table with a version of another one, or of the same.

    Args:
        first, second: The versions.
        names: The locations of the two.
    """
    pairs = column_pairs(schema_of(first), schema_of(second))
    shared = {pair.path: pair for pair in pairs if pair.first is not None and pair.second is not None}
    bounds, left_out = _bounds(first, second, shared)
    return TableComparison(
        ComparedTable(names[0], first.version),
        ComparedTable(names[1], second.version),
        tuple(_differences(first, second, pairs)),
        tuple(_amounts(first, second)),
        bounds,
        left_out,
        sum(len(path) == 1 for path in shared),
    )


def schema_of(snapshot: Snapshot) -> StructType:
    """Return the columns of a version; none where its log states no schema."""
    return snapshot.schema if snapshot.has_schema else StructType()


def column_pairs(first: StructType, second: StructType) -> tuple[ColumnPair, ...]:
    """Match the columns of two schemas, in the order of the first, then those that the second alone has."""
    ours, theirs = _by_path(first), _by_path(second)
    left = dict(theirs)
    pairs: dict[Path, Path] = {path: path for path in ours if left.pop(path, None) is not None}
    for key in (_folded, _made_names):
        others = {name: path for path, name in _unique({path: key(path, theirs[path]) for path in left}).items()}
        unmatched = {path: key(path, known) for path, known in ours.items() if path not in pairs}
        for path, name in _unique(unmatched).items():
            if name in others:
                pairs[path] = others[name]
                del left[others[name]]
    matched = [
        ColumnPair((path, field[0]), (pairs[path], theirs[pairs[path]][0]) if path in pairs else None)
        for path, field in ours.items()
    ]
    return (*matched, *(ColumnPair(None, (path, theirs[path][0])) for path in left))


_Known = tuple[StructField, Path]


def is_inside(path: Path, paths: Container[Path]) -> bool:
    """Return whether a column is a part, at any depth, of one of some columns."""
    return any(path[:length] in paths for length in range(1, len(path)))


def _by_path(schema: StructType) -> dict[Path, _Known]:
    return {path: (field, physical) for path, physical, field in walk_physical(schema)}


def _folded(path: Path, _known: _Known) -> tuple[str, ...] | None:
    return tuple(part.casefold() for part in path)


def _made_names(_path: Path, known: _Known) -> tuple[str, ...] | None:
    """Return the physical path of a column, if a mapping made one of the names in it."""
    return known[1] if any(part.startswith(_MADE_NAME) for part in known[1]) else None


def _unique(names: Mapping[Path, tuple[str, ...] | None]) -> dict[Path, tuple[str, ...]]:
    """Return the columns whose name is that of no other one."""
    counted: dict[tuple[str, ...], int] = {}
    for name in names.values():
        if name is not None:
            counted[name] = counted.get(name, 0) + 1
    return {path: name for path, name in names.items() if name is not None and counted[name] == 1}


def _differences(first: Snapshot, second: Snapshot, pairs: tuple[ColumnPair, ...]) -> Iterator[TableDifference]:
    yield from _columns(pairs)
    yield from _order(pairs, schema_of(second))
    partitions = first.metadata.partition_columns, second.metadata.partition_columns
    if partitions[0] != partitions[1]:
        one, other = map(_listed, partitions)
        yield TableDifference("partitioning", "columns", "value", one, other)
    clusterings = _clustering(first), _clustering(second)
    if clusterings[0] != clusterings[1]:
        one, other = (", ".join(names) or None for names in clusterings)
        yield TableDifference("clustering", "columns", "value", one, other)
    yield from _properties(first.metadata.configuration, second.metadata.configuration)
    yield from _protocols(first, second)
    yield from _domains(first.domain_metadata, second.domain_metadata)
    for name, text, other_text, own in (
        ("description", first.metadata.description, second.metadata.description, False),
        ("name", first.metadata.name, second.metadata.name, True),
        ("ID", first.metadata.id, second.metadata.id, True),
    ):
        if text != other_text:
            yield TableDifference("table", name, "value", text, other_text, own)


def _columns(pairs: tuple[ColumnPair, ...]) -> Iterator[TableDifference]:
    one_sided = {pair.path for pair in pairs if pair.first is None or pair.second is None}
    for pair in pairs:
        match pair.first, pair.second:
            case (path, field), None if not is_inside(path, one_sided):
                yield TableDifference("column", format_column(path), PRESENCE, type_name(field.type), None)
            case None, (path, field) if not is_inside(path, one_sided):
                yield TableDifference("column", format_column(path), PRESENCE, None, type_name(field.type))
            case (path, field), (other_path, other):
                yield from _fields(format_column(path), field, format_column(other_path), other)


def _order(pairs: tuple[ColumnPair, ...], second: StructType) -> Iterator[TableDifference]:
    """Compare the order of the top-level columns that both tables have, by their names in the first."""
    names = {pair.second[0][0]: pair.path[0] for pair in pairs if pair.first and pair.second and len(pair.path) == 1}
    ours = tuple(names.values())
    theirs = tuple(names[field.name] for field in second.fields if field.name in names)
    if ours != theirs:
        yield TableDifference("column", "columns", ORDER, _listed(ours), _listed(theirs))


def _fields(name: str, field: StructField, other_name: str, other: StructField) -> Iterator[TableDifference]:
    if field.name != other.name:
        yield TableDifference("column", name, "name", name, other_name)
    if type_outline(field.type) != type_outline(other.type):
        yield TableDifference("column", name, "type", type_name(field.type), type_name(other.type))
    if field.nullable != other.nullable:
        words = {True: "nullable", False: "not null"}
        yield TableDifference("column", name, "nullability", words[field.nullable], words[other.nullable])
    texts, other_texts = field_texts(field), field_texts(other)
    for key in sorted({*texts, *other_texts}):
        if texts.get(key) != other_texts.get(key):
            own = key in _OWN_METADATA
            yield TableDifference("column", name, key, texts.get(key), other_texts.get(key), own)


def field_texts(field: StructField) -> dict[str, str]:
    """Return the metadata of a column as text, without that of column mapping, which is each table's own."""
    return {
        key: value if isinstance(value, str) else encode_json(value).decode()
        for key, value in field.metadata.items()
        if not key.startswith(COLUMN_MAPPING_PREFIX)
    }


def _properties(first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[TableDifference]:
    for key in sorted({*first, *second}):
        one, other = first.get(key), second.get(key)
        if one != other:
            constraint = constraint_name(key)
            aspect: Aspect = "property" if constraint is None else "constraint"
            yield TableDifference(aspect, constraint or key, "value", one, other, key in _OWN_PROPERTIES)


def _protocols(first: Snapshot, second: Snapshot) -> Iterator[TableDifference]:
    one, other = first.protocol, second.protocol
    for name, version, other_version in (
        ("minReaderVersion", one.min_reader_version, other.min_reader_version),
        ("minWriterVersion", one.min_writer_version, other.min_writer_version),
    ):
        if version != other_version:
            yield TableDifference("protocol", name, "value", str(version), str(other_version))
    features, others = supported_features(one), supported_features(other)
    for feature in dict.fromkeys((*features, *others)):
        if (feature in features) != (feature in others):
            first_has, second_has = ("supported" if feature in names else None for names in (features, others))
            yield TableDifference("protocol", feature, PRESENCE, first_has, second_has)


def _domains(first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[TableDifference]:
    for domain in sorted({*first, *second}):
        one, other = first.get(domain), second.get(domain)
        if one != other:
            # Those of the protocol hold physical names and row IDs; what they mean is compared by itself.
            yield TableDifference("domain", domain, "value", one, other, domain.startswith(PREFIX))


def _clustering(snapshot: Snapshot) -> tuple[str, ...]:
    return snapshot.clustering_columns if snapshot.has_schema else ()


def _amounts(first: Snapshot, second: Snapshot) -> Iterator[AmountPair]:
    for name, one, other in zip(AMOUNTS, _numbers(first), _numbers(second), strict=True):
        yield AmountPair(name, one, other)


def _numbers(snapshot: Snapshot) -> tuple[int | None, ...]:
    rows, masked = snapshot.num_records, snapshot.num_deleted_records
    vectors = snapshot.logical_files.column("dv_unique_id")
    return (
        None if rows is None else rows - masked,
        masked,
        snapshot.num_files,
        snapshot.size_in_bytes,
        snapshot.num_files - vectors.null_count,
        len(schema_of(snapshot).fields),
    )


def _bounds(first: Snapshot, second: Snapshot, shared: Mapping[Path, ColumnPair]) -> tuple[tuple[BoundsPair, ...], int]:
    """Return the bounds of the columns that both tables can have statistics of."""
    if not (first.has_schema and second.has_schema):
        return (), 0
    ones, others = ({column.name for column in snapshot.statistics_columns} for snapshot in (first, second))
    names = [
        (format_column(pair.first[0]), format_column(pair.second[0]))
        for pair in shared.values()
        if pair.first is not None and pair.second is not None
    ]
    known = [(one, other) for one, other in names if one in ones and other in others]
    compared = known[:MOST_BOUNDS]
    summaries = (
        first.column_summaries([one for one, _ in compared]),
        second.column_summaries([other for _, other in compared]),
    )
    pairs = zip(compared, *summaries, strict=True)
    return tuple(BoundsPair(name, one, other) for (name, _), one, other in pairs), len(known) - len(compared)


def _listed(names: tuple[str, ...]) -> str | None:
    return ", ".join(format_column((name,)) for name in names) or None


def _written(values: tuple[object, ...]) -> str:
    """Return values as text: NaN is the same as NaN, and a number is not the same as its text."""
    return repr(values)
