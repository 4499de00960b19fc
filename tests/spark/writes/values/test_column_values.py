"""Rows whose nested fields stand in another order, are missing, foreign or of another type than the table's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import EngineUnavailable, InvalidIntent
from explorer.spark.engine.session import engine
from tests.support.logs.spark_tables import column, struct, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]

POINT = struct(column("x", "integer"), column("y", "long"))
FIELDS = [
    column("id", "integer"),
    column("p", POINT),
    column("ps", {"type": "array", "elementType": POINT, "containsNull": True}),
    column("m", {"type": "map", "keyType": "string", "valueType": POINT, "valueContainsNull": True}),
]
TURNED = "named_struct('y', 2L, 'X', {})"
ONE = {"x": 1, "y": 2}


@pytest.fixture
def table(tmp_path: Path) -> explorer.Table:
    return explorer.open_table(write_table(tmp_path / "t", FIELDS, []))


def _frame(*columns: str) -> Any:
    return engine().session().range(1).selectExpr("CAST(7 AS INT) AS id", *columns)


def _commit(table: explorer.Table, intent: dict[str, Any], rows: Any = None) -> list[dict[str, Any]]:
    assert table.commit(table.plan(intent, rows=rows)).outcome == "committed"
    found: list[dict[str, Any]] = table.rows().toArrow().to_pylist()
    return found


@pytest.mark.always
def test_nested_fields_go_by_their_names(table: explorer.Table) -> None:
    turned = TURNED.format("1")
    rows = _frame(f"{turned} AS p", f"array({turned}, NULL) AS ps", f"map('k', {turned}) AS m")
    whole = {"id": 7, "p": ONE, "ps": [ONE, None], "m": [("k", ONE)]}
    assert _commit(table, {"kind": "append", "source": "rows"}, rows) == [whole]
    update = {"kind": "update", "set": {"p": TURNED.format("3"), "ps": f"array({TURNED.format('4')})"}}
    (found,) = _commit(table, update)
    assert (found["p"], found["ps"]) == ({"x": 3, "y": 2}, [{"x": 4, "y": 2}])
    merge = {"kind": "merge", "source": "rows", "on": "target.id = source.id", "matched": [{"update": "*"}]}
    assert _commit(table, merge, rows) == [whole]


@pytest.mark.always
def test_a_nested_field_that_is_missing_is_null_and_a_null_struct_stays_null(table: explorer.Table) -> None:
    rows = _frame("named_struct('y', 5) AS p", "array(NULL) AS ps").unionByName(
        _frame("CAST(NULL AS STRUCT<y: INT>) AS p", "CAST(NULL AS ARRAY<VOID>) AS ps")
    )
    found = _commit(table, {"kind": "append", "source": "rows"}, rows)
    assert [row["p"] for row in found] == [{"x": None, "y": 5}, None]
    assert [row["ps"] for row in found] == [[None], None]


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("named_struct('x', 1, 'z', 2) AS p", "p"),
        ("array(named_struct('x', 1, 'z', 2)) AS ps", "ps"),
        ("map('k', named_struct('z', 2)) AS m", "m.value"),
        ("3 AS p", "p"),
        ("named_struct('x', array(1)) AS p", "p.x"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(table: explorer.Table, value: str, named: str) -> None:
    with pytest.raises(InvalidIntent) as raised:
        table.plan({"kind": "append", "source": "rows"}, rows=_frame(value))
    assert (raised.value.field, raised.value.column) == ("source", named)


@pytest.mark.always
def test_a_value_that_does_not_fit_its_type_fails_and_is_never_made_null(table: explorer.Table) -> None:
    too_large = _frame("named_struct('x', 3000000000L, 'y', 1L) AS p")
    with pytest.raises(explorer.ExplorerError):
        table.commit(table.plan({"kind": "append", "source": "rows"}, rows=too_large))
    session = engine().session()
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for intent in ({"kind": "append", "source": "rows"}, {"kind": "update", "set": {"id": "id + 1"}}):
            with pytest.raises(EngineUnavailable, match="ansi"):
                table.plan(intent, rows=_frame())
    finally:
        session.conf.unset("spark.sql.ansi.enabled")
    assert table.latest_version() == 0


def test_a_partition_value_that_no_worker_can_write_is_named_in_a_sentence(tmp_path: Path) -> None:
    path = write_table(tmp_path / "t", [column("id", "integer"), column("p", "binary")], [], ["p"])
    table = explorer.open_table(path)
    plan = table.plan({"kind": "append", "source": "rows"}, rows=_frame("X'FF00' AS p"))
    with pytest.raises(InvalidIntent) as raised:
        table.commit(plan)
    said = (
        "The partition value b'\\xff\\x00' contains bytes above 127, which clients read differently. It is not written."
    )
    assert raised.value.message == f"The rows do not fit the table: {said}"
    assert table.latest_version() == 0


def test_a_source_that_is_not_there_is_said_to_be_missing_and_not_to_misfit(tmp_path: Path) -> None:
    table = explorer.open_table(write_table(tmp_path / "t", [column("id", "integer")], []))
    merge = {"kind": "merge", "on": "target.id = source.id", "notMatched": [{"insert": "*"}]}
    for intent in ({"kind": "append"}, merge):
        with pytest.raises(InvalidIntent) as raised:
            table.plan({**intent, "source": f"{tmp_path}/nothing.parquet"})
        assert (raised.value.field, raised.value.message) == (
            "source",
            f"The source cannot be read: Path does not exist: file:{tmp_path}/nothing.parquet. Check its path.",
        )
