"""Columns through a table that the reference mapped, renamed, unmapped and mapped again."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

import explorer
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.schema.nested_types import walk
from tests.support.at_least_one import at_least_one
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.reference


def test_taking_the_mapping_off_drops_and_adds_no_column() -> None:
    table = explorer.open_table(reference_root() / "tables" / "column-mapping")
    history = table.history().to_pylist()
    lineage = table.column_lineage()
    taken_off = [row["version"] for row in history if row["operation"] == "REMOVE COLUMN MAPPING"]
    assert taken_off
    for unmapped in taken_off:
        kinds = {change.kind for change in table.diff(unmapped - 1, unmapped).schema}
        assert not kinds & {"added", "dropped", "renamed"}
        assert all(line.dropped_at != unmapped for line in lineage.columns)
        assert all(hazard.version != unmapped for hazard in lineage.hazards)


def test_a_rename_is_one_column_under_two_names() -> None:
    table = explorer.open_table(reference_root() / "tables" / "column-mapping")
    history = {row["version"]: row for row in table.history().to_pylist(maps_as_pydicts="strict")}
    renames = [row for row in history.values() if row["operation"] == "RENAME COLUMN"]
    assert renames
    for row in renames:
        old, new = row["parameters"]["oldColumnPath"], row["parameters"]["newColumnPath"]
        changes = table.diff(row["version"] - 1, row["version"]).schema
        assert (old, new) in {(change.before, change.after) for change in changes if change.kind == "renamed"}
        names = [[span.name for span in line.spans] for line in table.column_lineage().columns]
        assert any(old in spans and new in spans[spans.index(old) :] for spans in names)


def test_versions_are_compared_by_what_the_reference_did_to_their_columns_in_between() -> None:
    """Before the mapping, with it and without it again: each pair tells the renames, drops and additions recorded."""
    table = explorer.open_table(reference_root() / "tables" / "column-mapping")
    operations = {row["version"]: row for row in table.history().to_pylist(maps_as_pydicts="strict")}
    for first, last in at_least_one(itertools.combinations([0, 3, 9, 12, 17, 20, 21], 2)):
        renamed, dropped, added = _recorded(operations, first, last)
        forth, back = table.diff(first, last).schema, table.diff(last, first).schema
        assert renamed == {(change.before, change.column) for change in forth if change.kind == "renamed"}
        assert renamed == {(change.column, change.before) for change in back if change.kind == "renamed"}
        for kind, inverse, columns in (("dropped", "added", dropped), ("added", "dropped", added)):
            assert columns == {change.column for change in forth if change.kind == kind}, (first, last)
            assert columns == {change.column for change in back if change.kind == inverse}, (first, last)
        assert not [change for change in (*forth, *back) if change.kind == "retyped"]


def _recorded(
    operations: dict[int, dict[str, Any]], first: int, last: int
) -> tuple[set[tuple[str, str]], set[str], set[str]]:
    """What the recorded operations of a range did: (old, new) names, dropped columns, added columns."""
    table = explorer.open_table(reference_root() / "tables" / "column-mapping")
    begun = {format_column(path) for path, _ in walk(table.snapshot(first).schema)}
    names = {name: name for name in begun}
    for version in range(first + 1, last + 1):
        parameters = operations[version]["parameters"]
        match operations[version]["operation"]:
            case "RENAME COLUMN":
                old, new = parameters["oldColumnPath"], parameters["newColumnPath"]
                # A field's parts move with it.
                names = {was: new + now[len(old) :] if _below(now, old) else now for was, now in names.items()}
            case "DROP COLUMNS":
                for column in json.loads(parameters["columns"]):
                    names = {was: now for was, now in names.items() if not _below(now, _written(column))}
            case "ADD COLUMNS":
                for column in json.loads(parameters["columns"]):
                    # Under no name that a column had before: it is another one.
                    names[f"+{version} {column['column']['name']}"] = _written(column["column"]["name"])
    kept = {was: now for was, now in names.items() if not was.startswith("+")}
    renamed = {(was, now) for was, now in kept.items() if was.rpartition(".")[2] != now.rpartition(".")[2]}
    return renamed, begun - set(kept), set(names.values()) - set(kept.values())


def _below(column: str, other: str) -> bool:
    return column == other or column.startswith(f"{other}.")


def _written(column: str) -> str:
    """The reference writes a name with spaces without the backticks that a dotted name needs."""
    return f"`{column}`" if " " in column else column
