"""Conditions over CHAR and VARCHAR columns beside each other, in partitions and inside values.

The expected rows are those that delta-spark 4.4.0 gives for the same conditions on such a table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import explorer
from tests.spark.scan.test_char_columns import MARK, SCHEMA, TYPES
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

EXPECTED: Final[dict[str, list[int]]] = {
    "c = d": [1, 2, 3, 4, 6],
    "c <=> d": [1, 2, 3, 4, 5, 6],
    "c = v": [],
    "d = v": [2],
    "c IN (d)": [1, 2, 3, 4, 6],
    "'ab' IN (c, d)": [],
    "c NOT IN ('ab','zz')": [4, 6],
    "NOT (c = 'ab')": [2, 4, 6],
    "CASE c WHEN 'ab' THEN true ELSE false END": [1, 3],
    "coalesce(c,'q') = 'ab'": [],
    "(c, k) IN (('ab', 1))": [],
    "named_struct('a', c) = named_struct('a', 'ab')": [],
    "c BETWEEN 'ab' AND 'yy'": [1, 3],
    "p IN ('x','y')": [1, 2, 3, 4, 5],
    "p NOT IN ('x')": [3, 4, 5, 6],
    "length(p) = 3": [1, 2, 3, 4, 5, 6],
    "q = 'x'": [1, 2],
    "q = 'x '": [3, 4, 5],
    "q IN ('x')": [1, 2],
    "length(q) = 1": [1, 2],
    "s.x = d": [],
    "s = named_struct('x','ab','y',1)": [],
    "array_contains(a,'ab  ')": [1, 3],
    "exists(a, e -> e = 'ab')": [],
    "element_at(m,'q') = 'ab'": [],
    "c = cast('ab' as char(2))": [1, 3],
    "c IS NOT DISTINCT FROM 'ab'": [1, 3],
    "decode(c,'ab',1,0) = 1": [1, 3],
    "nullif(c,'ab') IS NULL": [5],
    "c <> d": [],
}


def _row(k: int, c: str | None, v: str, d: str | None) -> dict[str, Any]:
    short = None if c is None else c.rstrip()
    return {"k": k, "c": c, "v": v, "s": {"x": short, "y": k}, "a": [short], "m": [("q", v)], "d": d}


def test_columns_partitions_and_values_are_compared_as_the_reference_does(tmp_path: Path) -> None:
    schema = [*SCHEMA, column("d", "string", **{MARK: "char(3)"}), column("q", "string", **{MARK: "varchar(3)"})]
    rows = [
        [_row(1, "ab", "ab", "ab"), _row(2, "zz   ", "zz ", "zz")],
        [_row(3, "ab   ", "x", "ab "), _row(4, "yy", "yy", "yy"), _row(5, None, "x", None)],
        [_row(6, "", "", "")],
    ]
    kinds = TYPES.append(pa.field("d", pa.string()))
    folders = ({"p": "x", "q": "x"}, {"p": "y  ", "q": "x "}, {"p": "xyz", "q": None})
    files = [
        DataFile(f"f{place}.parquet", pa.Table.from_pylist(each, kinds), values)
        for place, (each, values) in enumerate(zip(rows, folders, strict=True))
    ]
    table = explorer.open_table(write_table(tmp_path, schema, files, ["p", "q"]))
    judged = table.rows().selectExpr("k", *(f"{where} AS x{place}" for place, where in enumerate(EXPECTED))).collect()
    found = {where: sorted(row.k for row in judged if row[f"x{place}"]) for place, where in enumerate(EXPECTED)}
    assert found == EXPECTED
    for where in ("c = d", "q = 'x '"):
        assert sorted(row.k for row in table.rows(where=where).select("k").collect()) == EXPECTED[where]
