"""New columns: old files read as null there.

Protocol sections: Schema Serialization Format, Column Mapping, Default Columns. Invariants: a new column gets an id and
a physical name that no other column ever had (CM-009, CM-010); a type that needs a feature adds it; existing rows
have nulls, so NOT NULL needs a table without files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.json_values import JsonObject, JsonValue
from explorer.core.protocol.protocol_evolution import with_features
from explorer.core.protocol.schema.char_types import is_char_type
from explorer.core.protocol.schema.column_mapping import HIGHEST_ID, highest_id, map_field
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    format_column,
)
from explorer.core.protocol.schema.edit import (
    children,
    column_path,
    position,
    position_text,
    with_schema,
)
from explorer.core.protocol.schema.nested_types import Path, walk, with_parts
from explorer.core.protocol.table_features import active_features, missing_features
from explorer.core.protocol.table_properties.registry import HAS_DROPPED_OR_RENAMED, MAX_COLUMN_ID
from explorer.core.transaction.guards.columns import char_guard, check_free, check_unique, names_guard
from explorer.core.transaction.intents.fields import features_of_types, read_field
from explorer.core.transaction.intents.records import AddColumns
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal
from explorer.core.transaction.proposals.column_mapping import USAGE_TRACKING
from explorer.core.transaction.proposals.entry import column_document, parameter_text, proposes
from explorer.core.versions.snapshot import Snapshot


class _Addition(msgspec.Struct, frozen=True):
    """One column: its parent and itself as given, and its place among its siblings.

    ``kind`` is the type as the provenance shows it: CHAR and VARCHAR keep their names.
    """

    parent: Path
    field: StructField
    kind: DataType | str
    place: str | None


class _Growing:
    """A type to which columns are added: each struct in it that gets some is opened once, and put into it at the end.

    Args:
        kind: As it was.

    Attributes:
        fields: Those of a struct.
        names: The names of these.
    """

    def __init__(self, kind: DataType) -> None:
        self._kind = kind
        self._opened: dict[str, _Growing] = {}
        self.fields = list(kind.fields) if isinstance(kind, StructType) else []
        self.names = [field.name for field in self.fields]
        backwards = self.fields[::-1]
        self._exact = {field.name: field for field in backwards}
        self._folded = {field.name.lower(): field for field in backwards}

    def part(self, name: str) -> tuple[str, _Growing] | None:
        """Return a part of the type by the name that a column's path has for it, with the name in the schema."""
        field = self._exact.get(name) or self._folded.get(name.lower())
        parts: dict[str, DataType] = {}
        match self._kind:
            case StructType() if field is not None:
                name, parts = field.name, {field.name: field.type}
            case ArrayType():
                name, parts = name.lower(), {"element": self._kind.element_type}
            case MapType():
                name, parts = name.lower(), {"key": self._kind.key_type, "value": self._kind.value_type}
        if name not in parts:
            return None
        if name not in self._opened:
            self._opened[name] = _Growing(parts[name])
        return name, self._opened[name]

    def struct(self, path: Path) -> tuple[Path, _Growing]:
        """Return the struct at a path, and the path in the schema's spelling.

        Raises:
            InvalidIntent: There is no such struct.
        """
        here, spelling = self, []
        for name in path:
            part = here.part(name)
            if part is None:
                break
            spelling.append(part[0])
            here = part[1]
        if len(spelling) < len(path) or not isinstance(here._kind, StructType):
            children(self.schema(), path, "fields")  # it says what is wrong
        return tuple(spelling), here

    def bearers(self, name: str) -> list[str]:
        """Return the field of a struct that has a name already, ignoring case; none if it is free."""
        return [self._folded[name.lower()].name] if name.lower() in self._folded else []

    def insert(self, field: StructField, place: int) -> None:
        """Add a field to a struct."""
        self.fields.insert(place, field)
        self.names.insert(place, field.name)
        self._exact[field.name] = self._folded[field.name.lower()] = field

    def grown(self) -> DataType:
        """Return the type with what was added."""
        kind = StructType(tuple(self.fields)) if isinstance(self._kind, StructType) else self._kind
        opened = self._opened
        return with_parts(kind, lambda name, part: opened[name].grown() if name in opened else part) if opened else kind

    def schema(self) -> StructType:
        """Return the schema with what was added."""
        schema = self.grown()
        assert isinstance(schema, StructType)
        return schema


def add_columns(intent: AddColumns, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
    """Add columns.

    Raises:
        InvalidIntent: A field cannot be read, its parent is not a struct, its name is taken, or there is no such
            position.
        UnsupportedFeature: A type is one that this program does not know.
    """
    naming = _naming(snapshot, circumstances)
    mapped = snapshot.column_mapping_mode != "none"
    configuration = dict(snapshot.metadata.configuration)
    growing, last_id = _Growing(snapshot.schema), highest_id(snapshot.schema, MAX_COLUMN_ID.of(configuration))
    additions: list[_Addition] = []
    next_place: dict[Path, int] = {}
    for value in intent.fields:
        outer, given = _read(value)
        parent, struct = growing.struct(outer)
        check_free(given.name, struct.bearers(given.name), "fields")
        place = next_place[parent] if parent in next_place else position(intent.at, struct.names)
        next_place[parent] = place + 1
        field = given
        if mapped:
            field, last_id = map_field(given, last_id, naming)
        at_end = intent.at is None or str(intent.at).strip().lower() == "last"
        place_text = None if at_end else position_text(place, struct.names)
        struct.insert(field, place)
        additions.append(_Addition(parent, given, _shown_type(value["type"], given), place_text))
    if last_id > HIGHEST_ID:
        raise InvalidIntent(f"There are no column ids left: {MAX_COLUMN_ID} would be {last_id}.", field="fields")
    if mapped:
        configuration[MAX_COLUMN_ID.key] = str(last_id)
    added = [(*item.parent, item.field.name) for item in additions]
    protocol = with_features(snapshot.protocol, _features(snapshot, additions))
    strict = [path for item in additions for path in needs_values(item.field, item.parent)]
    guards = (
        names_guard(_all_paths(additions), mapped=mapped, configuration=configuration),
        _rows_guard(snapshot, strict),
        char_guard(snapshot.schema, added),
    )
    return Proposal(
        operation="ADD COLUMNS",
        parameters={"columns": parameter_text([_document(item) for item in additions])},
        metadata=msgspec.structs.replace(with_schema(snapshot.metadata, growing.schema()), configuration=configuration),
        protocol=None if protocol is snapshot.protocol else protocol,
        reads_files=bool(strict),
        guards=tuple(guard for guard in guards if guard is not None),
        undo=_undo(", ".join(map(format_column, added)), mapped=mapped),
    )


def _undo(columns: str, *, mapped: bool) -> str:
    if mapped:
        return f"Drop {columns} again (drop-columns). {MAX_COLUMN_ID} keeps its new value."
    return (
        f"Drop {columns} again (drop-columns); that needs column mapping, which has to be switched on first "
        "(set-column-mapping) and shuts out clients that do not know it."
    )


def needs_values(field: StructField, parent: Path, place: str = "fields") -> tuple[Path, ...]:
    """Return paths of the columns, this one or inside it, that refuse nulls.

    Raises:
        InvalidIntent: One is inside an array or a map, where no writer enforces it.
    """
    inner: list[Path] = []
    for path, nested in walk(StructType((field,))):
        if not nested.nullable:
            if _in_collection(field, path):
                raise InvalidIntent(
                    f"{format_column((*parent, *path))} cannot be NOT NULL: no writer enforces that inside an array "
                    "or a map.",
                    field=place,
                )
            inner.append((*parent, *path))
    return tuple(inner)


def _shown_type(written: JsonValue, field: StructField) -> DataType | str:
    return written if isinstance(written, str) and is_char_type(written) else field.type


def _read(value: JsonObject) -> tuple[Path, StructField]:
    """Return a column and the struct it goes into, as they are written."""
    field = read_field(value, "fields")
    *outer, name = column_path(field.name, "fields")
    check_unique(StructType((field,)), "fields")
    return tuple(outer), msgspec.structs.replace(field, name=name)


def _naming(snapshot: Snapshot, circumstances: Circumstances) -> Callable[[StructField], str]:
    """Return what names columns: by a fresh name, or by the logical one while none can clash (CMUSAGE-002)."""
    tracked = USAGE_TRACKING in active_features(snapshot.protocol)
    clean = tracked and not HAS_DROPPED_OR_RENAMED.of(snapshot.metadata.configuration, unset=True)
    return lambda field: field.name if clean else f"col-{circumstances.new_id()}"


def _features(snapshot: Snapshot, additions: list[_Addition]) -> list[str]:
    needed = features_of_types(item.field.type for item in additions)
    names = missing_features(needed, snapshot.protocol)
    strict = any(needs_values(item.field, item.parent) for item in additions)
    return [*names, "invariants"] if strict else [*names]


def _rows_guard(snapshot: Snapshot, strict: list[Path]) -> GuardResult | None:
    if not strict:
        return None
    files = snapshot.num_files
    evidence: dict[str, object] = {"columns": [format_column(path) for path in strict], "files": files}
    if files == 0:
        return GuardResult("existing-rows", "pass", evidence | {"detail": "The table has no rows."})
    detail = "Existing rows would have no value in these columns."
    remedy = "Add the columns without NOT NULL, fill them, then run set-not-null."
    return GuardResult("existing-rows", "fail", evidence | {"detail": detail}, remedy)


def _all_paths(additions: list[_Addition]) -> list[Path]:
    return [(*item.parent, *path) for item in additions for path, _ in walk(StructType((item.field,)))]


def _document(item: _Addition) -> JsonObject:
    metadata = {key: value for key, value in item.field.metadata.items() if not key.startswith("__CHAR")}
    path = (*item.parent, item.field.name)
    column = column_document(path, item.kind, nullable=item.field.nullable, metadata=metadata)
    return {"column": column} | ({} if item.place is None else {"position": item.place})


def _in_collection(field: StructField, path: Path) -> bool:
    """Return True if a path, beginning with the field itself, goes through an array or a map."""
    kind: DataType = StructType((field,))
    for part in path:
        if isinstance(kind, (ArrayType, MapType)):
            return True
        field_inside = kind.field(part) if isinstance(kind, StructType) else None
        if field_inside is None:
            return True
        kind = field_inside.type
    return False


PROPOSALS: Final = (proposes(AddColumns, add_columns),)
"""What the intents of this module propose."""
