"""Intents about columns where Spark has the word: nulls, furthest values, types of expressions, and the rows after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

import explorer
from explorer.new_table import new_table
from explorer.spark.scan.scan import scan
from tests.support.clients.golden_expectations import expected
from tests.support.clients.reference_steps import Step, copy_before, steps
from tests.support.comparison.row_content import content_hash
from tests.support.logs.small_schemas import IDENTITY, field, struct
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.reference, pytest.mark.usefixtures("spark_engine")]

ROOT = reference_root()
EXPECTED = expected(ROOT)
STEPS: Final = {step.name: step for step in steps(ROOT)}
# One of each kind, on tables with rows: their files hold narrower types, other names, or not all columns.
READ: Final = [
    "column-mapping#15",
    "column-mapping#18",
    "column-mapping#25",
    "type-widening#20",
    "type-widening#23",
    "schema-changes#28",
    "constraints#33",
]


def _before(name: str, folder: Path) -> tuple[Step, explorer.Table]:
    step = STEPS[name]
    return step, explorer.open_table(copy_before(ROOT, step, folder, with_data=True))


@pytest.mark.conformance("TYPEWIDEN-001", "CM-012", "SCHEMA-011")
@pytest.mark.parametrize("name", READ)
def test_the_rows_after_a_change_are_those_of_the_reference(name: str, tmp_path: Path) -> None:
    step, table = _before(name, tmp_path)
    result = table.commit(table.plan(step.intent, user="steward"), user="steward")
    assert (result.outcome, result.version) == ("committed", step.version)
    wanted = next(record for record in EXPECTED[step.table]["versions"] if record["version"] == step.version)
    rows = scan(table, table.snapshot()).to_arrow()
    assert rows.num_rows == wanted["row_count"]
    assert content_hash(rows) == wanted["content_hash"]


@pytest.mark.conformance("CONSTR-014", "SCHEMA-006")
def test_not_null_is_set_where_no_row_is_null_and_refused_with_the_rows_where_one_is(tmp_path: Path) -> None:
    refused = [step for step in STEPS.values() if step.intent["kind"] == "set-not-null" and step.table == "constraints"]
    judged: dict[str, str] = {}
    for step in refused:
        _, table = _before(step.name, tmp_path / step.name)
        plan = table.plan(step.intent, user="steward")
        (guard,) = [item for item in plan.guards if item.name == "existing-rows"]
        judged[f"{step.intent['column']} at {step.before}"] = guard.status
        if guard.status == "fail":
            assert guard.evidence["violations"] == 1
            assert table.commit(plan).outcome == "rejected"
            continue
        assert table.commit(plan).outcome == "committed"
        found = table.snapshot().schema.field(step.intent["column"])
        assert found is not None
        assert not found.nullable
    assert judged == {"name at 10": "fail", "id at 11": "pass", "id at 13": "pass"}


@pytest.mark.conformance("IDENT-007", "IDENT-008")
@pytest.mark.parametrize(("column", "mark"), [("other", -1000), ("id", None)])
def test_the_furthest_value_is_looked_for_where_statistics_do_not_tell_it(
    tmp_path: Path, column: str, mark: int | None
) -> None:
    _, table = _before("identity#8", tmp_path)
    log = tmp_path / "identity" / "_delta_log"
    for path in log.glob("*.json"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            line.get("add", {}).pop("stats", None)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for path in log.glob("*.crc"):
        path.unlink()
    table = explorer.open_table(tmp_path / "identity")
    plan = table.plan({"kind": "sync-identity", "column": column}, user="steward")
    (guard,) = [item for item in plan.guards if item.name == "identity-mark"]
    assert (guard.status, guard.evidence.get("new mark")) == ("fail" if mark is None else "pass", mark)


@pytest.mark.conformance("GENCOL-001")
@pytest.mark.parametrize(
    ("kind", "expression", "status"),
    [
        ("date", "CAST(ts AS DATE)", "pass"),
        ("integer", "year(ts)", "pass"),
        ("long", "id * 2", "pass"),
        ("long", "s.x + id -- a note", "pass"),
        ("string", "id", "fail"),
        ("integer", "id * 2", "fail"),
        ("timestamp", "CAST('today' AS TIMESTAMP)", "fail"),
        ("long", "abs(id, 2)", "fail"),
    ],
)
def test_an_expression_gives_the_type_of_its_column(tmp_path: Path, kind: str, expression: str, status: str) -> None:
    fields: list[dict[str, Any]] = [
        field("id", "long"),
        field("ts", "timestamp"),
        field("s", struct(field("x", "long"))),
        field("g", kind, metadata={"delta.generationExpression": expression}),
        field("n", "long", metadata=IDENTITY),
    ]
    plan = new_table(tmp_path / "new").plan({"kind": "create-table", "schema": struct(*fields)}, user="steward")
    (guard,) = [item for item in plan.guards if item.name == "generated-types"]
    assert guard.status == status, guard.evidence
    assert plan.committable is (status == "pass")
