"""Random changes of columns against a plain model: schema, ids, names in files and lineage at every version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.schema.data_types import StructField, StructType, format_column, type_name
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.transaction.intents.fields import read_field
from tests.support.logs import small_logs

NAMES = ["a", "B", "b", "c d", "x.y"]
KINDS = ["integer", "short", "string", "struct", "timestamp_ntz"]
WIDER = {"short": "integer", "integer": "long", "long": "decimal(20,0)", "decimal(20,0)": "decimal(24,2)"}
INVALID = set(" ,;{}()\n\t=")
FULL = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("typeWidening", "timestampNtz"),
    writer_features=("typeWidening", "timestampNtz", "invariants", "appendOnly"),
)


@dataclass(eq=False)
class Column:
    """A column as people know it; it is the same one whatever it is called."""

    name: str
    kind: str
    nullable: bool = True
    comment: str | None = None
    inner: list[Column] = field(default_factory=list)

    def type_name(self) -> str:
        """Its type in words."""
        if self.kind != "struct":
            return self.kind
        return f"struct<{','.join(f'{column.name}:{column.type_name()}' for column in self.inner)}>"

    def document(self, name: str | None = None) -> dict[str, Any]:
        """As a field of the schema."""
        kind: Any = self.kind
        if kind == "struct":
            kind = {"type": "struct", "fields": [column.document() for column in self.inner]}
        return {"name": name or self.name, "type": kind, "nullable": self.nullable, "metadata": {}}


Path = tuple[str, ...]
State = dict[Column, tuple[Path, str, bool, str | None]]


class Model:
    """The columns, and all that was ever true of them."""

    def __init__(self) -> None:
        self.columns = [Column("id", "integer"), Column("s", "struct", inner=[Column("x", "short")])]
        self.mapped = False
        self.states: list[State] = []

    def everywhere(self) -> Iterator[tuple[Path, Column, list[Column]]]:
        """Every column with its path and its siblings."""

        def below(siblings: list[Column], outer: Path) -> Iterator[tuple[Path, Column, list[Column]]]:
            for column in siblings:
                yield (*outer, column.name), column, siblings
                yield from below(column.inner, (*outer, column.name))

        yield from below(self.columns, ())

    def record(self) -> None:
        """Remember the version that was committed."""
        self.states.append(
            {
                column: (path, column.type_name(), column.nullable, column.comment)
                for path, column, _ in self.everywhere()
            }
        )

    def change(self, draw: st.DataObject) -> tuple[dict[str, Any], Any]:
        """One intent, and what it does to the model; None where it must be refused."""
        action = draw.draw(
            st.sampled_from(["add", "add", "rename", "rename", "drop", "move", "comment", "null", "widen", "map"])
        )
        if action == "map":
            return {"kind": "set-column-mapping", "mode": "name"}, None if self.mapped else self._map
        if action == "add":
            return self._add(draw)
        path, column, siblings = draw.draw(st.sampled_from(list(self.everywhere())), label="column")
        here = {"column": format_column(path)}
        match action:
            case "rename":
                to = draw.draw(st.sampled_from(NAMES), label="to")
                allowed = self.mapped and to.lower() not in {other.name.lower() for other in siblings}
                return {"kind": "rename-column", **here, "to": to}, (
                    (lambda: setattr(column, "name", to)) if allowed else None
                )
            case "drop":
                allowed = self.mapped and len(siblings) > 1
                intent = {"kind": "drop-columns", "columns": [format_column(path)]}
                return intent, (lambda: siblings.remove(column)) if allowed else None
            case "move":
                place = draw.draw(st.integers(0, len(siblings) - 1), label="place")
                stays = siblings.index(column) == place
                return {"kind": "move-column", **here, "at": place}, (
                    None if stays else lambda: (siblings.remove(column), siblings.insert(place, column))
                )
            case "comment":
                text = draw.draw(st.sampled_from(["x", "it's `", None]), label="comment")
                changes = text != column.comment
                return {"kind": "set-column-comment", **here, "comment": text}, (
                    (lambda: setattr(column, "comment", text)) if changes else None
                )
            case "null":
                refuses = draw.draw(st.booleans(), label="refuses")
                kind = "set-not-null" if refuses else "drop-not-null"
                changes = column.nullable is refuses
                return {"kind": kind, **here}, ((lambda: setattr(column, "nullable", not refuses)) if changes else None)
            case _:
                wider = WIDER.get(column.kind)
                return {"kind": "widen-type", **here, "type": wider or "binary"}, (
                    (lambda: setattr(column, "kind", wider)) if wider else None
                )

    def _map(self) -> None:
        self.mapped = True

    def _add(self, draw: st.DataObject) -> tuple[dict[str, Any], Any]:
        homes: list[tuple[Path, list[Column]]] = [((), self.columns)]
        homes += [(path, column.inner) for path, column, _ in self.everywhere() if column.kind == "struct"]
        outer, siblings = draw.draw(st.sampled_from(homes), label="home")
        column = Column(draw.draw(st.sampled_from(NAMES)), draw.draw(st.sampled_from(KINDS)))
        if column.kind == "struct":
            column.inner = [Column("in", "short", nullable=draw.draw(st.booleans()))]
        place = draw.draw(st.integers(0, len(siblings)), label="place")
        free = column.name.lower() not in {other.name.lower() for other in siblings}
        valid = self.mapped or not INVALID & {*column.name}
        document = column.document(format_column((*outer, column.name)))
        return {"kind": "add-columns", "fields": [document], "at": place}, (
            (lambda: siblings.insert(place, column)) if free and valid else None
        )


def _attempt(table: explorer.Table, intent: dict[str, Any]) -> bool:
    """True if the intent was committed."""
    try:
        plan = table.plan(intent, user="model")
    except InvalidIntent:
        return False
    result = table.commit(plan)
    assert result.outcome == ("committed" if plan.committable else "rejected")
    return plan.committable


def _check_schema(model: Model, schema: StructType) -> None:
    def shape(fields: tuple[StructField, ...]) -> list[Any]:
        return [
            (
                item.name,
                type_name(item.type),
                item.nullable,
                item.metadata.get("comment"),
                shape(item.type.fields) if isinstance(item.type, StructType) else [],
            )
            for item in fields
        ]

    def expected(columns: list[Column]) -> list[Any]:
        return [(item.name, item.type_name(), item.nullable, item.comment, expected(item.inner)) for item in columns]

    assert shape(schema.fields) == expected(model.columns)


class Identities:
    """Ids and names in files by column: given once."""

    def __init__(self) -> None:
        self.known: dict[Column, tuple[int, str]] = {}
        self.highest = 0

    def check(self, model: Model, snapshot: explorer.Snapshot) -> None:
        """Compare with what was known before."""
        found = {path: (item.field_id, item.physical_name) for path, item in walk(snapshot.schema)}
        for path, column, _ in model.everywhere():
            number, name = found[path]
            assert number is not None
            # Only what the files had before the mapping keeps its plain name.
            assert column in self.known or (name.startswith("col-") if self.highest else name == column.name)
            assert self.known.setdefault(column, (number, name)) == (number, name)
        given = [number for number, _ in self.known.values()]
        assert len({*given}) == len(given)
        highest = int(snapshot.properties["delta.columnMapping.maxColumnId"])
        assert highest >= max(self.highest, *given)
        self.highest = highest


def _check_lineage(model: Model, table: explorer.Table) -> None:
    last = len(model.states) - 1
    expected = []
    for column in dict.fromkeys(column for state in model.states for column in state):
        spans: list[list[Any]] = []
        for version, state in enumerate(model.states):
            if column not in state:
                continue
            path, kind, nullable, _ = state[column]
            now = [format_column(path), kind, nullable]
            if spans and spans[-1][2:] == now and spans[-1][1] == version - 1:
                spans[-1][1] = version
            else:
                spans.append([version, version, *now])
        gone = None if spans[-1][1] == last else spans[-1][1] + 1
        expected.append((gone, spans))
    found = [
        (
            line.dropped_at,
            [[span.from_version, span.to_version, span.name, span.type, span.nullable] for span in line.spans],
        )
        for line in table.column_lineage().columns
    ]
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.conformance("CM-007", "CM-009", "CM-010", "SCHEMA-008", "SCHEMA-009", "META-009")
@settings(max_examples=max(25, settings.default.max_examples // 5), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_columns_stay_themselves_through_every_change(draw: st.DataObject) -> None:
    model, identities = Model(), Identities()
    schema = StructType(tuple(read_field(column.document(), "schema") for column in model.columns)).to_json()
    metadata = Metadata(
        id=small_logs.METADATA.id, schema_string=schema, configuration={"delta.enableTypeWidening": "true"}
    )
    table = small_logs.table({0: [FULL, metadata]})
    model.record()
    if draw.draw(st.booleans(), label="mapped at once"):
        assert _attempt(table, {"kind": "set-column-mapping", "mode": "name"})
        model.mapped = True
        model.record()
        identities.check(model, table.snapshot())
    for _ in range(draw.draw(st.integers(3, 14), label="steps")):
        intent, effect = model.change(draw)
        assert _attempt(table, intent) is (effect is not None), intent
        if effect is None:
            continue
        effect()
        model.record()
        snapshot = table.snapshot()
        assert snapshot.version == len(model.states) - 1
        _check_schema(model, snapshot.schema)
        if model.mapped:
            identities.check(model, snapshot)
    _check_lineage(model, table)
