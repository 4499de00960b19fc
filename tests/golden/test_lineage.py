"""Columns through a table that the reference mapped, renamed, unmapped and mapped again."""

from __future__ import annotations

import pytest

import explorer
from tests.conftest import reference_root

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
