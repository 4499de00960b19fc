"""The card of a column: what it is and was, what uses it, and which clients it stops.

Invariant: a column is followed by its physical name, so that the card of an older version has the history of that
column, whatever it is called now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from explorer import formatting as fmt
from explorer.core.compatibility.access import Access
from explorer.core.errors import ExplorerError
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    format_column,
    parse_column,
    type_name,
)
from explorer.core.protocol.schema.field_metadata import TYPE_CHANGES
from explorer.core.protocol.schema.nested_types import walk_structs
from explorer.core.protocol.table_features import feature_of_type
from explorer.core.versions.snapshot import Snapshot
from explorer.views.columns.column_uses import ColumnUse, column_uses
from explorer.views.columns.glance import ColumnGlance, glance_of, glance_of_type
from explorer.views.table.clients import clients_in_use, newest_releases
from explorer.views.table.columns import ColumnStory, column_story
from explorer.views.table.facts import TableFacts

_MOST_FIELDS: Final = 60
_MOST_CLIENTS: Final = 4
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """A column of a version: its path, and its field."""

    path: tuple[str, ...]
    field: StructField

    @property
    def name(self) -> str:
        """The dotted logical name."""
        return format_column(self.path)

    @property
    def type(self) -> DataType:
        """Its type."""
        return self.field.type


@dataclass(frozen=True, slots=True)
class Affected:
    """A client that refuses the table, or takes it wrongly, by what the column needs.

    Attributes:
        client: Its name and release.
        effect: What it does.
        because: The features of the column that decide it.
        mine: It is one of your clients, or wrote the table.
    """

    client: str
    effect: str
    because: str
    mine: bool


@dataclass(frozen=True, slots=True)
class ColumnCard:
    """A column at a version.

    Attributes:
        name: Dotted logical name, as asked for.
        column: The column; None if the version has none of that name.
        type: Its type in words; empty without a column.
        mapped: Columns are mapped at the version, so that they can be renamed and dropped.
        glance: What the log's statistics say; None without a column.
        fields: Of a struct, the columns inside it, as many as are listed, and how many more there are.
        more_fields: How many are not listed.
        story: Its history; None where that cannot be read, or nothing was ever called so.
        uses: Where it is used: the kind, and the text.
        affected: The clients, yours first.
        more_affected: How many are not listed.
    """

    name: str
    column: LeafColumn | None = None
    type: str = ""
    mapped: bool = False
    glance: ColumnGlance | None = None
    fields: tuple[str, ...] = ()
    more_fields: int = 0
    story: ColumnStory | None = None
    uses: tuple[tuple[str, str], ...] = ()
    affected: tuple[Affected, ...] = ()
    more_affected: int = 0

    @property
    def can_be_profiled(self) -> bool:
        """Whether Spark can count its values."""
        return self.column is not None and not (isinstance(self.column.type, StructType) and self.column.type.fields)


def column_named(snapshot: Snapshot, name: str) -> LeafColumn | None:
    """Return the column of a version that has a dotted name; None if there is none."""
    try:
        path = parse_column(name)
    except ValueError:
        return None
    struct, part_field = snapshot.schema, None
    for place, part in enumerate(path):
        part_field = next((field for field in struct.fields if field.name == part), None)
        if part_field is None or (place < len(path) - 1 and not isinstance(part_field.type, StructType)):
            return None
        struct = part_field.type if isinstance(part_field.type, StructType) else struct
    return None if part_field is None else LeafColumn(path, part_field)


def glances(snapshot: Snapshot, columns: tuple[LeafColumn, ...]) -> dict[str, ColumnGlance]:
    """Return columns at a glance, by name; all of their statistics are read in one pass.

    Raises:
        CorruptTable: A partition value is not one of its type.
    """
    given = {column.name: glance_of_type(column.type) for column in columns}
    unread = [name for name, glance in given.items() if glance is None]
    known = {each.column: glance_of(each) for each in snapshot.column_summaries(unread)} if unread else {}
    return {name: glance or known[name] for name, glance in given.items()}


def column_card(facts: TableFacts, version: int, name: str) -> ColumnCard:
    """Return the card of a column."""
    snapshot = facts.snapshot(version)
    column, story = column_named(snapshot, name), _story(facts, version, name)
    mapped = snapshot.column_mapping_mode != "none"
    if column is None:
        return ColumnCard(name, mapped=mapped, story=story)
    fields, uses = _fields(column), tuple(column_uses(snapshot, column.path, column.field))
    affected = _affected(facts, version, _features(snapshot, column, uses))
    return ColumnCard(
        name,
        column,
        type_name(column.type),
        mapped,
        glances(snapshot, (column,))[column.name],
        fields[:_MOST_FIELDS],
        max(0, len(fields) - _MOST_FIELDS),
        story,
        tuple((use.kind, fmt.plain(use.text, _LONGEST)) for use in uses),
        affected[:_MOST_CLIENTS],
        max(0, len(affected) - _MOST_CLIENTS),
    )


def _story(facts: TableFacts, version: int, name: str) -> ColumnStory | None:
    """Return the history of the column that has the name at the version, else of the one that has or had it."""
    try:
        lineage = facts.lineage()
        place = lineage.lines_at(version).get(name)
        return column_story(facts, name, None if place is None else lineage.columns[place])
    except ExplorerError:
        return None


def _fields(column: LeafColumn) -> tuple[str, ...]:
    if not isinstance(column.type, StructType):
        return ()
    inside = ((*column.path, *path) for path, _, field in walk_structs(column.type)
              if not (isinstance(field.type, StructType) and field.type.fields))  # fmt: skip
    return tuple(map(format_column, inside))


def _features(snapshot: Snapshot, column: LeafColumn, uses: Iterable[ColumnUse]) -> frozenset[str]:
    """Return the features without which a client cannot take the column as it is."""
    by_type = (feature_of_type(kind) for kind in _type_names(column.type))
    mapped = "" if snapshot.column_mapping_mode == "none" else "columnMapping"
    widened = "typeWidening" if TYPE_CHANGES in column.field.metadata else ""
    return frozenset(filter(None, (*by_type, mapped, widened, *(use.feature for use in uses))))


def _type_names(kind: DataType) -> Iterator[str]:
    match kind:
        case PrimitiveType():
            yield kind.name
        case ArrayType():
            yield from _type_names(kind.element_type)
        case MapType():
            yield from _type_names(kind.key_type)
            yield from _type_names(kind.value_type)
        case StructType():
            for field in kind.fields:
                yield from _type_names(field.type)


def _affected(facts: TableFacts, version: int, features: frozenset[str]) -> tuple[Affected, ...]:
    rows = (*clients_in_use(facts, version), *newest_releases(facts, version))
    uses = []
    for row in rows:
        because = [name for name in row.because if name in features]
        if because and (effect := _effect(row.read, row.write)):
            uses.append(Affected(f"{row.client} {row.version}", effect, ", ".join(because), row.mine))
    return tuple(uses)


def _effect(read: Access, write: Access) -> str:
    """Return what a client does that does not read and write; empty where that is not known."""
    if read == write == "no":
        return "refuses to read and write"
    reads = {"no": "refuses to read", "wrong": "reads wrong results"}.get(read, "")
    writes = {"no": "refuses to write", "wrong": "writes wrong results"}.get(write, "")
    return ", ".join(filter(None, (reads, writes)))
