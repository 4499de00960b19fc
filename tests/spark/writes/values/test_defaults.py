"""Defaults of columns: what fills a column that is left out, what DEFAULT means, what an explicit null means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


def new_table(folder: Path, *, with_feature: bool) -> explorer.Table:
    """Ids 1 and 2; the default of v is an expression."""
    fields = [column("id", "long"), column("v", "integer", CURRENT_DEFAULT="40 + 2"), column("w", "integer")]
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "v": pa.array([7, None], pa.int32()), "w": pa.nulls(2)})
    files = [DataFile("a", rows.cast(pa.schema([("id", pa.int64()), ("v", pa.int32()), ("w", pa.int32())])))]
    features = ["allowColumnDefaults"] if with_feature else []
    return explorer.open_table(write_table(folder, fields, files, writer_features=features))


def rows_after(table: explorer.Table, intent: dict[str, Any], given: dict[str, list[int | None]]) -> dict[int, Any]:
    """The values of v and w by id after an intent."""
    rows = pa.table({name: pa.array(values, pa.int32()) for name, values in given.items()}) if given else None
    result = table.commit(table.plan(intent, rows=rows))
    assert result.outcome == "committed", result
    return {row["id"]: (row["v"], row["w"]) for row in table.rows().toArrow().to_pylist()}


APPEND = {"kind": "append", "source": ""}
OVERWRITE = {"kind": "overwrite", "source": ""}
UPDATE = {"kind": "update", "where": "id = 1", "set": {"v": "DEFAULT"}}
NULLED = {"kind": "update", "where": "id = 1", "set": {"v": "NULL"}}
MERGE = {
    "kind": "merge",
    "source": "",
    "on": "target.id = source.id",
    "matched": [{"update": {"v": "DEFAULT", "w": "DEFAULT"}}],
    "notMatched": [
        {"when": "source.id = 3", "insert": {"id": "source.id"}},
        {"when": "source.id = 4", "insert": {"id": "source.id", "v": "default"}},
        {"insert": {"id": "source.id", "v": "NULL"}},
    ],
}
BEFORE = {1: (7, None), 2: (None, None)}


@pytest.mark.sampled(cases=3)
@pytest.mark.conformance("DEFCOL-001")
@pytest.mark.parametrize(
    ("intent", "given", "after"),
    [
        pytest.param(APPEND, {"id": [3]}, BEFORE | {3: (42, None)}, id="left out"),
        pytest.param(APPEND, {"id": [3, 4], "v": [None, 5]}, BEFORE | {3: (None, None), 4: (5, None)}, id="given"),
        pytest.param(OVERWRITE, {"id": [3]}, {3: (42, None)}, id="overwritten"),
        pytest.param(UPDATE, {}, BEFORE | {1: (42, None)}, id="set to DEFAULT"),
        pytest.param(NULLED, {}, BEFORE | {1: (None, None)}, id="set to NULL"),
        # a column without a default has the default NULL
        pytest.param(
            MERGE,
            {"id": [2, 3, 4, 5]},
            {1: (7, None), 2: (42, None), 3: (42, None), 4: (42, None), 5: (None, None)},
            id="merged",
        ),
    ],
)
def test_a_default_fills_what_is_left_out_or_asked_to_be_the_default_and_never_a_null(
    tmp_path: Path, intent: dict[str, Any], given: dict[str, list[int | None]], after: dict[int, Any]
) -> None:
    assert rows_after(new_table(tmp_path / "t", with_feature=True), intent, given) == after


@pytest.mark.conformance("DEFCOL-001")
def test_without_its_feature_the_metadata_of_a_default_means_nothing(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", with_feature=False)
    assert rows_after(table, APPEND, {"id": [3]}) == BEFORE | {3: (None, None)}
    assert rows_after(table, UPDATE, {})[1] == (None, None)
