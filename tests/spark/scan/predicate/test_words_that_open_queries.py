"""Columns called like words that begin a query in parentheses: a condition that begins with one is over the column."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExpressionRefused
from tests.support.at_least_one import at_least_one
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

WORDS = ("values", "from", "table", "map", "reduce", "execute")


def _table(folder: Path) -> explorer.Table:
    rows = pa.table({"k": [1, 2], **{word: ["1", "2"] for word in WORDS}})
    fields = [column("k", "long"), *(column(word, "string") for word in WORDS)]
    return explorer.open_table(write_table(folder, fields, [DataFile("a.parquet", rows)]))


def test_rows_are_those_for_which_the_column_meets_the_condition(tmp_path: Path) -> None:
    found = _table(tmp_path)
    for word in at_least_one(WORDS):
        for text in (f"{word} IN ('1')", f"{word} LIKE '1'", f"({word} = '1')"):
            assert [row.k for row in found.rows(where=text).collect()] == [1], text


def test_a_delete_that_rewrites_keeps_the_other_rows(tmp_path: Path) -> None:
    found = _table(tmp_path)
    made = found.commit(found.plan({"kind": "delete", "where": "values IN ('1') -- the first"}))
    assert made.outcome == "committed"
    assert [row.k for row in found.rows().collect()] == [2]


def test_a_query_is_refused_before_spark_reads_it(tmp_path: Path) -> None:
    found = _table(tmp_path)
    for text in ("table t", "values 1", "(values 1) = 1", "k = (from t)", "from t"):
        with pytest.raises(ExpressionRefused):
            found.rows(where=text).collect()
