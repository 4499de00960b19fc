"""CHAR columns, which engines read and compare padded whatever the files hold, in every path to rows.

The expected rows are those that delta-spark 4.4.0 gives for the same conditions on such a table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from tests.support.logs.spark_tables import DataFile, column, struct, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

MARK: Final = "__CHAR_VARCHAR_TYPE_STRING"
INSIDE: Final = struct(column("x", "string"), column("y", "integer"))
TEXTS: Final = {"type": "array", "elementType": "string", "containsNull": True}
WORDS: Final = {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}
SCHEMA: Final = [
    column("k", "integer"),
    column("c", "string", **{MARK: "char(5)"}),
    column("v", "string", **{MARK: "varchar(5)"}),
    column("s", INSIDE, **{MARK: "struct<x:char(4),y:int>"}),
    column("a", TEXTS, **{MARK: "array<CHARACTER(4)>"}),
    column("m", WORDS, **{MARK: "map<char(2),varchar(9)>"}),
    column("p", "string", **{MARK: "char(3)"}),
]
TYPES: Final = pa.schema(
    [
        ("k", pa.int32()),
        ("c", pa.string()),
        ("v", pa.string()),
        ("s", pa.struct([("x", pa.string()), ("y", pa.int32())])),
        ("a", pa.list_(pa.string())),
        ("m", pa.map_(pa.string(), pa.string())),
    ]
)


def _row(k: int, c: str | None, v: str) -> dict[str, Any]:
    short = None if c is None else c.rstrip()
    return {"k": k, "c": c, "v": v, "s": {"x": short, "y": k}, "a": [short], "m": [("q", v)]}


def _table(root: Path, **configuration: str) -> explorer.Table:
    rows = [[_row(1, "ab", "ab"), _row(2, "zz   ", "zz ")], [_row(3, "ab   ", "x"), _row(4, "yy", "yy")]]
    rows[1].append(_row(5, None, "x"))
    files = [
        DataFile(f"f{place}.parquet", pa.Table.from_pylist(each, TYPES), {"p": p})
        for place, (each, p) in enumerate(zip(rows, ("x", "y  "), strict=True))
    ]
    return explorer.open_table(write_table(root, SCHEMA, files, ["p"], configuration))


def _keys(table: explorer.Table, where: str | None = None) -> list[int]:
    return sorted(row.k for row in table.rows(where=where).select("k").collect())


@pytest.mark.conformance("SCHEMA-021")
def test_conditions_choose_the_rows_that_the_reference_chooses(tmp_path: Path) -> None:
    table = _table(tmp_path)
    expected = {
        "c = 'ab'": [1, 3],
        "c = 'ab    '": [1, 3],
        "'ab ' = c": [1, 3],
        "c <=> 'ab'": [1, 3],
        "c IN ('ab', 'yy       ')": [1, 3, 4],
        "c <> 'ab'": [2, 4],
        "c > 'ab'": [2, 4],
        "c < 'ab '": [],
        "c = concat('a', 'b')": [1, 3],
        "c LIKE 'ab'": [],
        "c LIKE 'ab%'": [1, 3],
        "length(c) = 5": [1, 2, 3, 4],
        "c BETWEEN 'ab' AND 'ab'": [],
        "upper(c) = 'AB'": [],
        "v = 'zz'": [],
        "v = 'zz '": [2],
        "p = 'x'": [1, 2],
        "p = 'y'": [3, 4, 5],
        "p LIKE 'x'": [],
        "length(p) = 3": [1, 2, 3, 4, 5],
        "s.x = 'ab'": [],
        "s.x = 'ab  '": [1, 3],
        "length(s.x) = 4": [1, 2, 3, 4],
        "a[0] = 'yy  '": [4],
        "m['q '] = 'yy'": [4],
        "c = v": [],
    }
    # In one pass over the frame that people may filter themselves; each path of the program is tried below.
    judged = table.rows().selectExpr("k", *(f"{where} AS x{place}" for place, where in enumerate(expected))).collect()
    found = {where: sorted(row.k for row in judged if row[f"x{place}"]) for place, where in enumerate(expected)}
    assert found == expected
    for where in ("c = 'ab'", "p = 'y'", "s.x = 'ab  '"):
        assert _keys(table, where) == expected[where]


def test_rows_are_padded_as_the_reference_gives_them_and_pruning_loses_none(tmp_path: Path) -> None:
    table = _table(tmp_path)
    first = table.rows(where="k = 1").toArrow().to_pylist()[0]
    assert (first["c"], first["v"], first["s"], first["a"], first["m"], first["p"]) == (
        "ab   ",
        "ab",
        {"x": "ab  ", "y": 1},
        ["ab  "],
        [("q ", "ab")],
        "x  ",
    )
    assert table.snapshot().skipping("s.x = 'ab  '").counts.after_statistics == 2
    history = table.row_history({"c": "yy"})
    assert history.spans.column("copies").to_pylist() == [1]


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("masked", ["true", "false"])
def test_delete_takes_what_the_condition_finds_and_leaves_other_values_as_they_are_stored(
    tmp_path: Path, masked: str
) -> None:
    table = _table(tmp_path, **{"delta.enableDeletionVectors": masked})
    result = table.commit(table.plan({"kind": "delete", "where": "c = 'ab' OR p = 'q'"}))
    assert result.outcome == "committed"
    assert _keys(table) == [2, 4, 5]
    stored: list[str | None] = []
    for path in table.snapshot().logical_files.column("path").to_pylist():
        stored += pq.ParquetFile(tmp_path / path).read().column("c").to_pylist()
    assert "yy" in stored
    assert "yy   " not in stored


@pytest.mark.whole("test_delete_takes_what_the_condition_finds_and_leaves_other_values_as_they_are_stored")
def test_update_and_merge_compare_as_the_reference_does(tmp_path: Path) -> None:
    table = _table(tmp_path)
    update = {"kind": "update", "where": "c = 'ab' AND p = 'x'", "set": {"v": "length(c)"}}
    assert table.commit(table.plan(update)).outcome == "committed"
    assert _keys(table, "v = '5'") == [1]
    pq.write_table(pa.table({"name": ["yy   ", "zz"]}), tmp_path / "source.parquet")
    merge = {
        "kind": "merge",
        "source": str(tmp_path / "source.parquet"),
        "on": "target.c = source.name",
        "matched": [{"update": {"v": "'m'"}}],
    }
    assert table.commit(table.plan(merge)).outcome == "committed"
    assert _keys(table, "v = 'm'") == [4]


def test_a_constraint_is_checked_over_the_padded_values_of_the_rows_that_are_there(tmp_path: Path) -> None:
    table = _table(tmp_path)
    report = table.check({"never": "c <> 'ab' OR c IS NULL", "long": "length(c) = 5 OR c IS NULL"})
    assert {result.name: result.violations for result in report.predicates} == {"never": 2, "long": 0}


def test_the_proof_of_an_erasure_finds_each_copy_and_each_bound(tmp_path: Path) -> None:
    table = _table(tmp_path)
    proofs = table.erasure({"short": "c = 'ab'", "long": "c = 'ab   '", "part": "p = 'y'"})
    assert {name: proof.totals["live"] for name, proof in proofs.items()} == {"short": 2, "long": 2, "part": 3}
    assert "partition value" in {trace.what for trace in proofs["part"].traces}
    assert not any(proof.not_answered for proof in proofs.values())
    assert table.commit(table.plan({"kind": "delete", "where": "c = 'ab'"})).outcome == "committed"
    assert table.erasure({"short": "c = 'ab'"})["short"].totals["live"] == 0


@pytest.mark.whole("test_rows_are_padded_as_the_reference_gives_them_and_pruning_loses_none")
def test_a_rewrite_that_pads_values_is_no_difference_between_versions(tmp_path: Path) -> None:
    table = _table(tmp_path)
    update = {"kind": "update", "where": "k = 1", "set": {"v": "'new'"}}
    assert table.commit(table.plan(update)).outcome == "committed"
    counts = table.row_diff(0, 1).counts()
    assert (counts.inserted, counts.deleted) == (1, 1)


@pytest.mark.sampled(cases=3)
@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize(
    ("field", "where", "keys"),
    [
        (column("c", "char(5)"), "c = 'ab'", [1]),
        (column("c", "char(5)"), "length(c) = 5", [1, 2]),
        (column("c", "string", **{MARK: "CHARACTER(5)"}), "c = 'ab'", [1]),
        (column("c", "string", __COLLATIONS={"c": "spark.UTF8_LCASE"}), "c = 'ab'", [1, 2]),
        (column("c", "string", __COLLATIONS={"c": "spark.UTF8_LCASE"}), "c LIKE 'A%'", [1, 2]),
        (column("c", "string", __COLLATIONS={"c": "icu.UNICODE_CI.75.1"}), "c IN ('aB')", [1, 2]),
    ],
)
def test_other_spellings_and_collations_decide_comparisons_in_each_path(
    tmp_path: Path, field: dict[str, Any], where: str, keys: list[int]
) -> None:
    rows = pa.table({"k": pa.array([1, 2], pa.int32()), "c": ["ab", "AB"]})
    table = explorer.open_table(write_table(tmp_path, [column("k", "integer"), field], [DataFile("a.parquet", rows)]))
    assert _keys(table, where) == keys
    assert table.rows(where=where).toArrow().column("c").to_pylist()[0].rstrip() == "ab"
    proof = table.erasure(where)
    assert proof.totals["live"] == len(keys)
    if "__COLLATIONS" in field["metadata"]:
        # A bound or a predicate may hold the text in another case.
        assert "_delta_log" in {each.path for each in proof.not_answered}
    assert table.commit(table.plan({"kind": "delete", "where": where})).outcome == "committed"
    assert _keys(table) == [key for key in (1, 2) if key not in keys]


def test_a_collation_inside_a_value_decides_too(tmp_path: Path) -> None:
    inner = column("x", "string", __COLLATIONS={"x": "spark.UTF8_LCASE"})
    fields = [
        column("k", "integer"),
        column("s", struct(inner)),
        column("a", TEXTS, __COLLATIONS={"a.element": "spark.UTF8_LCASE"}),
    ]
    rows = pa.table({"k": pa.array([1, 2], pa.int32()), "s": [{"x": "ab"}, {"x": "AB"}], "a": [["ab"], ["AB"]]})
    table = explorer.open_table(write_table(tmp_path, fields, [DataFile("a.parquet", rows)]))
    assert _keys(table, "s.x = 'ab'") == [1, 2]
    assert _keys(table, "array_contains(a, 'Ab')") == [1, 2]
    assert table.erasure("s.x = 'ab'").totals["live"] == 2
