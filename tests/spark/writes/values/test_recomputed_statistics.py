"""Statistics recomputed from the rows: equal to what the rows say, by other code; all else stays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from tests.support.logs.spark_tables import column, write_table
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


def _statistics(table: explorer.Table) -> dict[str, dict[str, Any]]:
    files = table.snapshot().logical_files
    texts = files.column("stats").to_pylist()
    return {
        path: json.loads(text) if text else {}
        for path, text in zip(files.column("path").to_pylist(), texts, strict=True)
    }


def _commit(table: explorer.Table, **fields: Any) -> explorer.CommitResult:
    result = table.commit(table.plan({"kind": "recompute-statistics", **fields}))
    assert result.outcome == "committed"
    return result


def _bounds(rows: pa.Table, name: str) -> tuple[Any, Any]:
    found = pc.min_max(rows.column(name)).as_py()
    return found["min"], found["max"]


@pytest.mark.reference
@pytest.mark.conformance("STATS-009", "STATS-010")
def test_the_statistics_of_masked_files_become_those_of_their_live_rows(tmp_path: Path) -> None:
    table = explorer.open_table(shutil.copytree(reference_root() / "tables" / "replace-where", tmp_path / "t"))
    before = _statistics(table)
    masked = {path for path, stats in before.items() if stats.get("tightBounds") is False}
    assert masked
    rows = table.rows(row_identity=True).toArrow()
    result = _commit(table)
    assert {line["add"]["dataChange"] for line in map(dict, result.plan.actions) if "add" in line} == {False}
    after = _statistics(table)
    assert {path for path in after if after[path] != before[path]} == masked
    for path in masked:
        live = rows.filter(pc.equal(rows.column("_file"), path))
        stats = after[path]
        assert stats["tightBounds"] is True
        assert stats["numRecords"] == before[path]["numRecords"], "physical rows"
        assert (stats["minValues"]["id"], stats["maxValues"]["id"]) == _bounds(live, "id")
        assert stats["nullCount"]["id"] == live.column("id").null_count
    order = [("_file", "ascending"), ("_row_index", "ascending")]
    assert table.rows(row_identity=True).toArrow().sort_by(order).equals(rows.sort_by(order))
    again = table.plan({"kind": "recompute-statistics"})
    assert "statistics-differ" in [guard.name for guard in again.blocking], "a second time nothing differs"


def _wrong(stats: Mapping[str, Any]) -> str:
    return json.dumps({**stats, "minValues": {"n": -5, "s": "a"}, "maxValues": {"n": 5, "s": "b"}, "mine": 1})


def test_wrong_bounds_of_named_columns_are_put_right_and_others_stay(tmp_path: Path) -> None:
    columns = [column("n", "integer"), column("s", "string"), column("f", "double"), column("p", "string")]
    path = write_table(tmp_path / "t", columns, [], ["p"])
    table = explorer.open_table(path)
    rows = pa.table(
        {"n": [1, 2, None, 7], "s": ["x", "y", None, "z"], "f": [1.0, float("nan"), 2.0, 3.0], "p": list("aabb")},
        schema=pa.schema([("n", pa.int32()), ("s", pa.string()), ("f", pa.float64()), ("p", pa.string())]),
    )
    assert table.commit(table.plan({"kind": "append", "source": "rows"}, rows=rows)).outcome == "committed"
    good = _statistics(table)
    log = Path(path) / "_delta_log"
    spoilt = []
    for line in (log / f"{1:020}.json").read_text().splitlines():
        action = json.loads(line)
        if "add" in action:
            action["add"]["stats"] = _wrong(json.loads(action["add"]["stats"]))
        spoilt.append(msgspec.json.encode(action).decode())
    (log / f"{1:020}.json").write_text("\n".join(spoilt))
    table = explorer.open_table(path)
    partly = _commit(table, columns=["N"], where="p = 'b'")
    assert partly.plan.actions[0]["commitInfo"]["operationParameters"]["predicate"] == "[\"p = 'b'\"]"
    found = _statistics(table)
    (b,) = [name for name in found if "p=b" in name]
    (a,) = [name for name in found if "p=a" in name]
    assert (found[b]["minValues"], found[b]["maxValues"]) == ({"n": 7, "s": "a"}, {"n": 7, "s": "b"})
    assert found[a]["minValues"] == {"n": -5, "s": "a"}
    _commit(table)
    found = _statistics(table)
    assert all(stats.pop("mine") == 1 for stats in found.values()), "fields that are not known are kept"
    assert found == good
    assert "f" not in found[a]["minValues"]


def test_a_column_that_has_no_statistics_and_a_condition_over_rows_are_refused(tmp_path: Path) -> None:
    table = explorer.open_table(write_table(tmp_path / "t", [column("n", "integer"), column("p", "string")], [], ["p"]))
    for fields, named in (({"columns": ["p"]}, "columns"), ({"columns": ["x"]}, "columns")):
        with pytest.raises(InvalidIntent) as raised:
            table.plan({"kind": "recompute-statistics", **fields})
        assert raised.value.facts()["field"] == named
    with pytest.raises(explorer.ExplorerError):
        table.plan({"kind": "recompute-statistics", "where": "n > 0"})
