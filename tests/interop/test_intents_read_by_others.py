"""A table made and changed by us alone, kind after kind: DuckDB and deltalake read the rows that a plain model has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.new_table import new_table
from explorer.spark.engine.session import Engine
from tests.support.clients.other_readers import assert_others_read, read_by_deltalake
from tests.support.logs.small_schemas import field, struct

pytestmark = [pytest.mark.interop, pytest.mark.spark]

Row = dict[str, Any]
Model = Callable[[list[Row]], list[Row]]

_FIRST: Final[list[Row]] = [{"id": i, "n": i % 4 or None, "p": f"p{i % 3}"} for i in range(30)]
_SECOND: Final[list[Row]] = [{"id": i, "n": i, "p": None, "extra": f"x{i}"} for i in range(100, 110)]
_TYPES: Final = {"id": pa.int64(), "n": pa.int32(), "p": pa.string(), "extra": pa.string()}


def _delete(keep: Callable[[Row], bool]) -> Model:
    return lambda before: [row for row in before if keep(row)]


# Each intent, with what it does to the rows; None where they stay.
STORY: Final[list[tuple[Row, Model | None]]] = [
    ({"kind": "append", "source": "first"}, lambda rows: rows + _FIRST),
    ({"kind": "set-description", "description": "what it is"}, None),
    ({"kind": "delete", "where": "id < 3"}, _delete(lambda row: row["id"] >= 3)),
    ({"kind": "set-not-null", "column": "id"}, None),
    ({"kind": "delete", "where": "p = 'p1'"}, _delete(lambda row: row["p"] != "p1")),
    ({"kind": "add-columns", "fields": [field("extra", "string")], "at": "after id"}, None),
    ({"kind": "append", "source": "second"}, lambda rows: rows + _SECOND),
    ({"kind": "checkpoint"}, None),
    ({"kind": "delete", "where": "id % 2 = 0"}, _delete(lambda row: row["id"] % 2 == 1)),
    ({"kind": "move-column", "column": "n", "at": "first"}, None),
    ({"kind": "set-transaction", "appId": "loader", "version": 3}, None),
    ({"kind": "enable-feature", "feature": "domainMetadata"}, None),
    ({"kind": "set-domain", "domain": "team.audit", "configuration": "{}"}, None),
    ({"kind": "compact-log", "from": 2, "to": 6}, None),
    ({"kind": "set-properties", "properties": {"delta.enableInCommitTimestamps": "true"}}, None),
    ({"kind": "restore", "version": 7}, lambda _: _at_seven()),
    ({"kind": "enable-feature", "feature": "rowTracking"}, None),
    ({"kind": "append", "source": "first"}, lambda rows: rows + _FIRST),
    ({"kind": "set-column-comment", "column": "n", "comment": "a number"}, None),
    ({"kind": "checkpoint"}, None),
    ({"kind": "remove-domain", "domain": "team.audit"}, None),
    ({"kind": "add-constraint", "name": "small", "expression": "n < 1000 OR n IS NULL"}, None),
    ({"kind": "drop-not-null", "column": "id"}, None),
    ({"kind": "delete", "where": "n IS NULL OR n > 104"}, _delete(lambda row: row["n"] is not None and row["n"] < 105)),
    ({"kind": "unset-properties", "keys": ["delta.enableDeletionVectors"]}, None),
    ({"kind": "delete", "where": "id = 5"}, _delete(lambda row: row["id"] != 5)),
    ({"kind": "clean-log"}, None),
    ({"kind": "vacuum"}, None),
    ({"kind": "drop-constraint", "name": "small"}, None),
    # From here on deltalake refuses it.
    ({"kind": "set-column-mapping", "mode": "name"}, None),
    ({"kind": "rename-column", "column": "p", "to": "p; -- of what"}, lambda rows: [_renamed(row) for row in rows]),
    ({"kind": "drop-columns", "columns": ["extra"]}, lambda rows: [_without(row, "extra") for row in rows]),
    ({"kind": "delete", "where": "`p; -- of what` IS NULL"}, _delete(lambda row: row["p; -- of what"] is not None)),
]


def _at_seven() -> list[Row]:
    kept = [row for row in _FIRST if row["id"] >= 3 and row["p"] != "p1"]
    return kept + _SECOND


def _renamed(row: Row) -> Row:
    return {("p; -- of what" if name == "p" else name): value for name, value in row.items()}


def _without(row: Row, name: str) -> Row:
    return {key: value for key, value in row.items() if key != name}


@pytest.mark.whole("test_intents_side_by_side.py, where the reference reads them")
@pytest.mark.conformance("LOG-002", "WRITER-005", "DV-001")
def test_others_read_the_rows_after_every_intent(spark_engine: Engine, tmp_path: Path) -> None:
    del spark_engine
    for name, rows in {"first": _FIRST, "second": _SECOND}.items():
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    place = new_table(tmp_path / "t")
    schema = struct(field("id", "long"), field("n", "integer"), field("p", "string"))
    properties = {"delta.enableDeletionVectors": "true", "delta.checkpointPolicy": "v2"}
    created = place.plan(
        {"kind": "create-table", "schema": schema, "partitionColumns": ["p"], "properties": properties}
    )
    assert place.commit(created).outcome == "committed"
    table = place.open()
    rows: list[Row] = []
    by_deltalake = 0
    for number, (written, model) in enumerate(STORY):
        source = {"source": str(tmp_path / f"{written['source']}.parquet")} if "source" in written else {}
        plan = table.plan({**written, **source}, user="steward")
        assert plan.committable, (number, written, plan.blocking)
        result = table.commit(plan, user="steward")
        assert (result.outcome, result.notes) == ("committed", ()), (number, written, result)
        rows = rows if model is None else model(rows)
        names = [column.name for column in table.snapshot().schema.fields]
        types = pa.schema([(name, _TYPES["p" if name.startswith("p") else name]) for name in names])
        assert_others_read(tmp_path / "t", pa.Table.from_pylist(rows, types), f"{number}: {written}")
        by_deltalake += read_by_deltalake(tmp_path / "t")
    assert by_deltalake == len(STORY) - 4
    assert table.verify().problems == ()
