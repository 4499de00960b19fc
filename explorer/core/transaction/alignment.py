"""The intents that would make one table like another: its definition, and never its rows.

Protocol section: Requirements for Writers. Invariants: every difference of two tables that is not each table's own is
answered by a step, with an intent or with why there is none; steps come in an order in which each can be planned once
those before it are committed; nothing is judged here, the plan of each step says what it means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from explorer.core.protocol.json_values import JsonObject, decode_json
from explorer.core.protocol.schema.column_mapping import unmapped
from explorer.core.protocol.schema.data_types import StructField, StructType, format_column, type_name, type_outline
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.protocol.schema.type_widening import widens
from explorer.core.protocol.table_features import FEATURES, features_switched_on
from explorer.core.protocol.table_properties.registry import COLUMN_MAPPING_MODE
from explorer.core.transaction.intents.records import (
    AddColumns,
    AddConstraint,
    DropColumns,
    DropConstraint,
    DropFeature,
    DropNotNull,
    EnableFeature,
    Intent,
    MoveColumn,
    RemoveDomain,
    RenameColumn,
    SetColumnComment,
    SetColumnMapping,
    SetDescription,
    SetDomain,
    SetNotNull,
    SetProperties,
    UnsetProperties,
    UpgradeProtocol,
    WidenType,
)
from explorer.core.versions.snapshot import Snapshot
from explorer.core.versions.table_comparison import (
    PRESENCE,
    ColumnPair,
    TableDifference,
    column_pairs,
    field_texts,
    is_inside,
    schema_of,
)

_TABLE_FEATURES: Final = 7
_COMMENT: Final = "comment"
_BROUGHT: Final = frozenset({"columnMapping", "checkConstraints", "invariants"})
"""Features that come with an intent of their own: a mapping, a constraint, a column."""


class AlignmentStep(msgspec.Struct, frozen=True):
    """A step towards likeness.

    Attributes:
        intent: What would be committed; None where no change of a table can do it.
        why_not: Then why, and what can be done instead.
        differences: The names of what it answers.
    """

    intent: Intent | None
    why_not: str = ""
    differences: tuple[str, ...] = ()


def alignment(model: Snapshot, changed: Snapshot, differences: Iterable[TableDifference]) -> tuple[AlignmentStep, ...]:
    """Return the steps that would make a table like its model.

    Args:
        model: The table that stays.
        changed: The table that would be changed.
        differences: What differs, the model first.
    """
    left = [difference for difference in differences if not difference.own]
    pairs = column_pairs(schema_of(model), schema_of(changed))
    return (
        *_mapping(left),
        *_dropped_constraints(left),
        *_renames(pairs),
        *_drops(pairs),
        *_set_properties(left),
        *_features(model, changed, left),
        *_changed_columns(pairs),
        *_moves(pairs, schema_of(model), schema_of(changed)),
        *_additions(pairs, schema_of(model)),
        *_added_constraints(left),
        *_table(left),
        *_unset(left),
        *_dropped_features(left),
        *_impossible(left),
    )


def _of(left: Iterable[TableDifference], aspect: str) -> Iterator[TableDifference]:
    return (difference for difference in left if difference.aspect == aspect)


def _mapping(left: list[TableDifference]) -> Iterator[AlignmentStep]:
    for difference in _of(left, "property"):
        if difference.name == COLUMN_MAPPING_MODE.key:
            yield AlignmentStep(SetColumnMapping(mode=difference.first or "none"), differences=(difference.name,))


def _set_properties(left: list[TableDifference]) -> Iterator[AlignmentStep]:
    wanted = {each.name: each.first for each in _of(left, "property") if each.first is not None}
    wanted.pop(COLUMN_MAPPING_MODE.key, None)
    if wanted:
        yield AlignmentStep(SetProperties(properties=wanted), differences=tuple(wanted))


def _unset(left: list[TableDifference]) -> Iterator[AlignmentStep]:
    keys = [each.name for each in _of(left, "property") if each.first is None and each.name != COLUMN_MAPPING_MODE.key]
    if keys:
        yield AlignmentStep(UnsetProperties(keys=tuple(keys)), differences=tuple(keys))


def _dropped_constraints(left: list[TableDifference]) -> Iterator[AlignmentStep]:
    for difference in _of(left, "constraint"):
        if difference.second is not None:
            yield AlignmentStep(DropConstraint(name=difference.name), differences=(difference.name,))


def _added_constraints(left: list[TableDifference]) -> Iterator[AlignmentStep]:
    for difference in _of(left, "constraint"):
        if difference.first is not None:
            intent = AddConstraint(name=difference.name, expression=difference.first)
            yield AlignmentStep(intent, differences=(difference.name,))


def _renames(pairs: tuple[ColumnPair, ...]) -> Iterator[AlignmentStep]:
    for pair in pairs:
        if pair.first is not None and pair.second is not None and pair.first[1].name != pair.second[1].name:
            # Columns around it have their new names by then.
            path, name = pair.first[0], pair.first[1].name
            column = format_column((*path[:-1], pair.second[0][-1]))
            yield AlignmentStep(RenameColumn(column=column, to=name), differences=(format_column(path),))


def _drops(pairs: tuple[ColumnPair, ...]) -> Iterator[AlignmentStep]:
    alone = dict.fromkeys(pair.second[0] for pair in pairs if pair.first is None and pair.second is not None)
    for path in alone:
        if not is_inside(path, alone):
            name = format_column(path)
            yield AlignmentStep(DropColumns(columns=(name,)), differences=(name,))


def _additions(pairs: tuple[ColumnPair, ...], model: StructType) -> Iterator[AlignmentStep]:
    alone = {pair.first[0]: pair.first[1] for pair in pairs if pair.second is None and pair.first is not None}
    for path, field in alone.items():
        if is_inside(path, alone):
            continue
        name = format_column(path)
        siblings = [each.name for each in model.fields] if len(path) == 1 else []
        place = siblings.index(path[0]) if siblings else None
        at = None if place is None else "first" if place == 0 else f"after {format_column((siblings[place - 1],))}"
        yield AlignmentStep(AddColumns(fields=(_wire(path, field),), at=at), differences=(name,))


def _wire(path: Path, field: StructField) -> JsonObject:
    """Return a column as schemaString has it, under its dotted name and without what a mapping adds."""
    (wire,) = decode_json(StructType((unmapped(field),)).to_json())["fields"]
    return {**wire, "name": format_column(path)}


def _changed_columns(pairs: tuple[ColumnPair, ...]) -> Iterator[AlignmentStep]:
    for pair in pairs:
        if pair.first is None or pair.second is None:
            continue
        (path, field), (_, other) = pair.first, pair.second
        name = format_column(path)
        if field.nullable != other.nullable:
            intent = DropNotNull(column=name) if field.nullable else SetNotNull(column=name)
            yield AlignmentStep(intent, differences=(name,))
        comments = [field_texts(each).get(_COMMENT) for each in (field, other)]
        if comments[0] != comments[1]:
            yield AlignmentStep(SetColumnComment(column=name, comment=comments[0]), differences=(name,))
        if type_outline(field.type) == type_outline(other.type):
            continue
        if widens(other.type, field.type):
            yield AlignmentStep(WidenType(column=name, type=type_name(field.type)), differences=(name,))
        else:
            types = type_name(other.type), type_name(field.type)
            why_not = (
                f"{name} cannot become {types[1]} from {types[0]} in place. Add a column of that type, fill it by an "
                "update, and drop the other."
            )
            yield AlignmentStep(None, why_not, (name,))


def _moves(pairs: tuple[ColumnPair, ...], model: StructType, changed: StructType) -> Iterator[AlignmentStep]:
    """Move top-level columns of both tables into the model's order; those that are added come to their places."""
    names = {pair.second[0][0]: pair.path[0] for pair in pairs if pair.first and pair.second and len(pair.path) == 1}
    order = [names[field.name] for field in changed.fields if field.name in names]
    for place, name in enumerate(each.name for each in model.fields if each.name in order):
        if order[place] != name:
            order.remove(name)
            order.insert(place, name)
            at = "first" if place == 0 else f"after {format_column((order[place - 1],))}"
            yield AlignmentStep(MoveColumn(column=format_column((name,)), at=at), differences=("columns",))


def _features(model: Snapshot, changed: Snapshot, left: list[TableDifference]) -> Iterator[AlignmentStep]:
    wanted, has = model.protocol, changed.protocol
    brought = set(features_switched_on(model.metadata.configuration)) | _BROUGHT
    for difference in _of(left, "protocol"):
        feature = FEATURES.get(difference.name)
        if difference.what != PRESENCE or difference.first is None or difference.name in brought:
            continue
        if feature is not None and (feature.types or feature.field_key):
            continue  # it comes with the columns that need it
        if wanted.min_writer_version < _TABLE_FEATURES:
            continue  # it comes with the version
        yield AlignmentStep(EnableFeature(feature=difference.name), differences=(difference.name,))
    versions = wanted.min_reader_version, wanted.min_writer_version
    if versions[1] < _TABLE_FEATURES and has.min_writer_version < versions[1]:
        intent = UpgradeProtocol(
            min_reader_version=max(versions[0], has.min_reader_version), min_writer_version=versions[1]
        )
        yield AlignmentStep(intent, differences=("minReaderVersion", "minWriterVersion"))


def _dropped_features(left: list[TableDifference]) -> Iterator[AlignmentStep]:
    for difference in _of(left, "protocol"):
        if difference.what == PRESENCE and difference.first is None:
            yield AlignmentStep(DropFeature(feature=difference.name), differences=(difference.name,))


def _table(left: list[TableDifference]) -> Iterator[AlignmentStep]:
    for difference in _of(left, "table"):
        yield AlignmentStep(SetDescription(description=difference.first), differences=(difference.name,))
    for difference in _of(left, "domain"):
        name = difference.name
        intent: Intent = RemoveDomain(domain=name)
        if difference.first is not None:
            intent = SetDomain(domain=name, configuration=difference.first)
        yield AlignmentStep(intent, differences=(name,))


def _impossible(left: list[TableDifference]) -> Iterator[AlignmentStep]:
    for difference in left:
        if why := _why_not(difference):
            yield AlignmentStep(None, why, (difference.name,))


def _why_not(difference: TableDifference) -> str:
    first, second = difference.first, difference.second
    match difference.aspect, difference.what:
        case "partitioning", _:
            by = f"partitioned by {first}" if first else "without partitions"
            return f"The partitioning of a table cannot be changed. Create a table {by}, and append the rows to it."
        case "clustering", _:
            columns = f"CLUSTER BY ({first})" if first else "CLUSTER BY NONE"
            return f"Clustering columns are set by ALTER TABLE ... {columns} in Spark."
        case "column", what if what not in {PRESENCE, "name", "type", "nullability", "order", _COMMENT}:
            return f"{what} of {difference.name} is set when a column is made. Add the column again to set it."
        case "protocol", "minReaderVersion" | "minWriterVersion" if int(first or 0) < int(second or 0):
            return (
                f"{difference.name} is not lowered by a change of its own: {second} becomes {first} only if dropping "
                "table features allows it."
            )
    return ""
