"""Values in the metadata of a new column: those that every engine can read, as one that it cannot closes the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.core.errors import InvalidIntent
from explorer.new_table import new_table
from tests.support.logs import small_logs


def adding(metadata: dict[str, Any], *, inner: bool = False) -> dict[str, Any]:
    field = {"name": "n", "type": "long", "nullable": True, "metadata": metadata}
    outer = {"name": "s", "type": {"type": "struct", "fields": [field]}, "nullable": True, "metadata": {}}
    return {"kind": "add-columns", "fields": [outer if inner else field]}


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize(
    "value",
    ["text", 7, -(2**63), 1.5, True, None, {}, {"a": {"b": [1, 2]}}, [], [1, 2], [1.5, 2.5], ["a"], [True], [{"a": 1}]],
)
def test_what_every_engine_reads_may_stand_there(value: Any, inner: bool) -> None:
    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA]})
    assert table.plan(adding({"x": value, "comment": "c"}, inner=inner)).committable


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("value", [[[1]], [1, "a"], [1, 1.5], [True, 1], [None], [{"a": [[]]}], {"a": [[1]]}])
def test_what_an_engine_cannot_read_is_refused(value: Any, inner: bool) -> None:
    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA]})
    with pytest.raises(InvalidIntent, match=r"^The metadata 'x' of 'n' must be a text, a number, .* of one of these"):
        table.plan(adding({"x": value}, inner=inner))


@pytest.mark.parametrize("value", [5, True, [], {}, ["a"]])
def test_a_comment_is_a_text(value: Any) -> None:
    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA]})
    with pytest.raises(InvalidIntent, match=r"^The metadata 'comment' of 'n' must be a text: engines cannot open"):
        table.plan(adding({"comment": value}))


def test_defaults_of_a_new_table_are_said_to_be_unchecked(tmp_path: Path) -> None:
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {"CURRENT_DEFAULT": "'abc' > > 5"}},
        {"name": "n", "type": "long", "nullable": True, "metadata": {}},
    ]
    features = {"delta.feature.allowColumnDefaults": "supported"}
    place = new_table(tmp_path / "t")
    made = {"kind": "create-table", "schema": {"type": "struct", "fields": fields}, "properties": features}
    (guard,) = (guard for guard in place.plan(made).guards if guard.name == "default-values")
    assert (guard.status, guard.evidence["defaults"]) == ("warn", {"id": "'abc' > > 5"})
    plain = {"kind": "create-table", "schema": {"type": "struct", "fields": fields[1:]}}
    assert "default-values" not in {guard.name for guard in place.plan(plain).guards}
