"""New rows under rules that Spark may not read as they were meant: unknown where they pass, named where they fail.

What delta-spark 4.4.0 does on the same tables is said beside each.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import CorruptTable, ExpressionRefused, InvalidIntent
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import field_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

FAULTS = (CorruptTable, ExpressionRefused)
FEATURES = ("checkConstraints", "invariants", "generatedColumns", "allowColumnDefaults")


RULES = {
    # delta-spark takes the row under the first three; deltalake means the column.
    "\"g\" != 'deleted'": "unknown",
    "1 = 1": "unknown",
    'id > 0 AND "x" = "x"': "unknown",
    "`g` = 'deleted' OR id = 7": "pass",
    # delta-spark refuses it under these.
    "\"g\" = 'deleted'": "fail",
    "false": "fail",
}


def _table(root: Path, *rules: str, **carried: str) -> explorer.Table:
    """A row of ``id`` 1 and ``g`` 'a'; the rules are constraints, what is carried is metadata of ``g``."""
    fields = [column("id", "long"), column("g", "string", **carried)]
    rows = pa.table({"id": pa.array([1], pa.int64()), "g": ["a"]})
    properties = {f"delta.constraints.c{place}": rule for place, rule in enumerate(rules)}
    return explorer.open_table(
        write_table(root, fields, [DataFile("a.parquet", rows)], (), properties, writer_features=FEATURES)
    )


def _source(root: Path, **columns: list[Any]) -> str:
    path = root / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


def _guards(table: explorer.Table, intent: dict[str, Any]) -> dict[str, str]:
    return {guard.name: guard.status for guard in table.plan(intent).guards if guard.name.startswith("new-rows")}


def _writes(source: str) -> list[dict[str, Any]]:
    inserted = {"insert": {"id": "source.id", "g": "source.g"}}
    return [
        {"kind": "append", "source": source},
        {"kind": "overwrite", "source": source},
        {"kind": "update", "set": {"id": "7"}},
        {"kind": "merge", "source": source, "on": "target.id = source.id", "notMatched": [inserted]},
    ]


@pytest.mark.sampled(cases=2)
@pytest.mark.conformance("CONSTR-007", "CONSTR-013")
@pytest.mark.parametrize("place", range(4), ids=["append", "overwrite", "update", "merge"])
def test_a_rule_that_may_mean_something_else_is_unknown_wherever_rows_are_written(place: int, tmp_path: Path) -> None:
    table = _table(tmp_path / "t", *RULES)
    intent = _writes(_source(tmp_path, id=[9], g=["deleted"]))[place]
    assert list(_guards(table, intent).values()) == list(RULES.values())


# delta-spark fails with TASK_WRITE_FAILED, or takes an unknown column for null and refuses every row.
FAILING = (
    ('"id" > 0', "cannot be cast"),
    ("id >", "cannot be evaluated"),
    ("id + 1", "cannot be evaluated"),
    ("reflect('java.lang.Math', 'abs', -1) = '1'", "reflect"),
    ("nope > 0", "nope"),
)
OTHERS = (
    ("delta.invariants", json.dumps({"expression": {"expression": '"g" > 0'}}), "The invariant of g"),
    ("delta.generationExpression", "nope", "The generated column g"),
    ("CURRENT_DEFAULT", "nope(", "The default of g"),
    ("CURRENT_DEFAULT", 'CAST("x" AS INT)', "The default of g"),
    ("delta.generationExpression", 'CAST("id" AS INT)', "The generated column g"),
)


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize(("rule", "why"), some_of(FAILING, 2))
def test_a_rule_that_cannot_be_evaluated_is_named_wherever_rows_are_written(
    rule: str, why: str, tmp_path: Path
) -> None:
    table = _table(tmp_path / "t", rule)
    writes = _writes(_source(tmp_path, id=[9], g=["x"]))
    for intent in at_least_one(writes if WHOLE_DOSE or rule == '"id" > 0' else writes[:1]):
        with pytest.raises(FAULTS, match=r"The constraint c0, .* cannot be evaluated") as caught:
            table.plan(intent)
        assert why in str(caught.value)
        assert "drop-constraint" in str(caught.value)
        assert "do not fit" not in str(caught.value)


@pytest.mark.parametrize(("key", "text", "named"), some_of(OTHERS, 3))
def test_other_expressions_that_cannot_be_evaluated_are_named(key: str, text: str, named: str, tmp_path: Path) -> None:
    table = _table(tmp_path / "t", **{key: text})
    with pytest.raises(FAULTS, match=f"{named}, .* cannot be evaluated"):
        table.plan({"kind": "append", "source": _source(tmp_path, id=[9])})


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize(
    ("key", "text", "guard"),
    [
        ("delta.invariants", "\"g\" != 'x'", "new-rows:invariant:g"),
        # delta-spark writes the text 'id' where deltalake would mean the column.
        ("delta.generationExpression", '"id"', "new-rows:generated:g"),
        ("CURRENT_DEFAULT", 'upper("id")', "new-rows:default:g"),
    ],
)
def test_other_expressions_in_double_quotes_are_unknown(key: str, text: str, guard: str, tmp_path: Path) -> None:
    table = _table(tmp_path / "t", **{key: text})
    intent = {"kind": "append", "source": _source(tmp_path, id=[9])}
    assert _guards(table, intent)[guard] == "unknown"
    if WHOLE_DOSE:
        assert table.commit(table.plan(intent, accept=[guard])).outcome == "committed"


def test_rows_that_do_not_fit_are_named_and_no_rule_is_blamed(tmp_path: Path) -> None:
    table = _table(tmp_path / "t", '"id" > 0')
    with pytest.raises(InvalidIntent, match="The rows do not fit the table"):
        table.plan({"kind": "append", "source": _source(tmp_path, id=["x"], g=["y"])})


@pytest.mark.field
def test_the_reported_tables_are_answered_as_the_reference_answers_them(tmp_path: Path) -> None:
    for name in ("constraint-key-case", "constraint-double-quotes", "constraint-column-with-space"):
        shutil.copytree(field_table(name), tmp_path / name)
    cased = explorer.open_table(tmp_path / "constraint-key-case")
    source = _source(tmp_path, id=[-5], g=["z"])
    assert _guards(cased, {"kind": "append", "source": source}) == {"new-rows:check:DELTA.CONSTRAINTS.C1": "fail"}
    quoted = explorer.open_table(tmp_path / "constraint-double-quotes")
    source = _source(tmp_path, Status=["deleted"], id=[9])
    assert _guards(quoted, {"kind": "append", "source": source}) == {"new-rows:check:not_deleted": "unknown"}
    spaced = explorer.open_table(tmp_path / "constraint-column-with-space")
    with pytest.raises(CorruptTable, match='The constraint spaced, "my col" > 0') as caught:
        spaced.plan({"kind": "update", "set": {"v": "'b'"}})
    assert "`my col` > 0" in str(caught.value)


@pytest.mark.field
def test_a_condition_on_a_column_called_date_reads_one_file_of_three() -> None:
    table = explorer.open_table(field_table("partition-column-named-date"))
    for where in ("date = '2026-05-01'", "date = DATE '2026-05-01'", "date < '2026-05-02' AND id IS NOT NULL"):
        assert table.snapshot().skipping(where).files.column("kept").to_pylist() == [True, False, False], where
        assert table.rows(where=where).count() == 1
