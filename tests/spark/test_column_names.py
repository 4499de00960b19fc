"""Columns whose names Spark would take for expressions: every operation takes them for what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.cli.app import run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

ROWS: Final = [
    {"a.b": 1, "c`d": "x", "`p`.q": "u", "c0": [{"e.f": 1}]},
    {"a.b": 2, "c`d": "y", "`p`.q": "u", "c0": []},
    {"a.b": 3, "c`d": None, "`p`.q": "v", "c0": None},
]
TYPES: Final = pa.schema(
    {"a.b": pa.int64(), "c`d": pa.string(), "`p`.q": pa.string(), "c0": pa.list_(pa.struct({"e.f": pa.int64()}))}
)


@pytest.fixture(params=[[], ["`p`.q"]], ids=["whole", "partitioned"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    place = tmp_path / "table"
    deltalake.write_deltalake(place, pa.Table.from_pylist(ROWS, TYPES), partition_by=request.param)
    return place


def _held(folder: Path) -> list[dict[str, Any]]:
    """The rows of the newest version, as deltalake reads them."""
    found: list[dict[str, Any]] = pa.table(deltalake.DeltaTable(folder).to_pyarrow_table()).to_pylist()
    return sorted(found, key=lambda row: (row["a.b"], str(row["c`d"])))


@pytest.mark.whole(
    "the other cases", cases=["partitioned-optimize", "partitioned-delete", "whole-merge", "whole-update"]
)
@pytest.mark.parametrize(
    ("intent", "meant"),
    [
        ({"kind": "append", "source": [ROWS[2] | {"a.b": 4}]}, [*ROWS, ROWS[2] | {"a.b": 4}]),
        (
            {"kind": "update", "set": {"`a.b`": "`a.b` + 7"}, "where": "`c``d` IS NULL"},
            [*ROWS[:2], ROWS[2] | {"a.b": 10}],
        ),
        ({"kind": "delete", "where": "`a.b` = 2"}, [ROWS[0], ROWS[2]]),
        (
            {
                "kind": "merge",
                "source": [ROWS[0] | {"c`d": "new"}, ROWS[0] | {"a.b": 0}],
                "on": "target.`a.b` = source.`a.b`",
                "matched": [{"update": "*"}],
                "notMatched": [{"insert": "*"}],
            },
            [ROWS[0] | {"a.b": 0}, ROWS[0] | {"c`d": "new"}, *ROWS[1:]],
        ),
        ({"kind": "optimize", "zOrderBy": ["`a.b`", "`c``d`"]}, ROWS),
    ],
    ids=["append", "update", "delete", "merge", "optimize"],
)
def test_rows_that_are_written_are_those_another_reader_finds(
    intent: dict[str, Any], meant: list[dict[str, Any]], folder: Path
) -> None:
    if "source" in intent:
        pq.write_table(pa.Table.from_pylist(intent["source"], TYPES), folder.parent / "source.parquet")
        intent = intent | {"source": str(folder.parent / "source.parquet")}
    table = explorer.open_table(folder)
    assert table.commit(table.plan(intent), reason="names").outcome == "committed"
    assert _held(folder) == meant


@pytest.mark.sampled(cases=1)
def test_a_search_for_rows_counts_them_by_such_columns(folder: Path) -> None:
    table = explorer.open_table(folder)
    assert table.erasure("`a.b` < 3 AND `c``d` = 'y'").totals["live"] == 1
    assert table.erasure("```p``.q` = 'u'").totals["live"] == 2


@pytest.mark.sampled(cases=1)
def test_a_difference_and_the_history_of_a_row_know_such_keys(folder: Path) -> None:
    deltalake.DeltaTable(folder).delete('"a.b" = 1')
    table = explorer.open_table(folder)
    (gone,) = table.row_diff(0, 1, keys=["a.b", "c`d"]).frame.toArrow().to_pylist()
    assert (gone["change"], gone["before"]) == ("delete", ROWS[0])
    spans = table.row_history({"c`d": "x"}).spans.to_pylist()
    assert [(span["from_version"], span["to_version"], span["row"]) for span in spans] == [(0, 0, ROWS[0])]


@pytest.mark.whole("the other case, and tests/spark/log/test_file_commands.py", cases=["partitioned"])
def test_files_that_spark_lists_have_the_statistics_of_such_columns(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    deltalake.DeltaTable(folder).create_checkpoint()
    for command in ("files", "statistics"):
        listed = []
        for options in ([], ["--spark", "local[*]"]):
            assert run([command, str(folder), "--json", *options]) == 0, capfd.readouterr().err
            listed.append(sorted(capfd.readouterr().out.splitlines()))
        assert listed[0] == listed[1]
