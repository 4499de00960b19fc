"""Predicates held against all rows: counts, places and samples, against models that know nothing of Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import explorer
from explorer.core.errors import Cancelled, StorageError
from explorer.spark.checks.constraint_check import check
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import DataFile, column, struct, write_table
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]

# What the reference calls it, and our word for the same.
REFUSALS = {
    "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT": "not boolean",
    "UNRESOLVED_COLUMN.WITH_SUGGESTION": "unknown column",
    "INVALID_WHERE_CONDITION": "aggregate",
}
# What the reference lets pass, and fails on with the first row that is written or read afterwards.
TOO_GOOD_TO_BE_TRUE = {"sub": "subquery", "nondet": "unstable", "ct": "clock"}
_ADD = re.compile(r"ADD CONSTRAINT (\S+|`[^`]+`) CHECK \((.*)\)\Z", re.DOTALL)


def _constraint_steps(name: str) -> Iterator[tuple[int, str, str, dict[str, Any] | None]]:
    """Each ADD CONSTRAINT: the version it was given to, the constraint's name and condition, and the refusal."""
    version = 0
    for step in json.loads((reference_root() / "steps" / f"{name}.json").read_text()):
        match = _ADD.search(step.get("sql", ""))
        condition = step.get("error", {}).get("condition")
        if match is not None and condition not in ("DELTA_CONSTRAINT_ALREADY_EXISTS", "PARSE_SYNTAX_ERROR"):
            yield version, match[1], match[2], step.get("error")
        version = version if step["version"] is None else step["version"]


@pytest.mark.whole("the case constraints-null", cases=["constraints"])
@pytest.mark.reference
@pytest.mark.conformance("CONSTR-008", "CONSTR-009")
@pytest.mark.parametrize("name", ["constraints", "constraints-null"])
def test_a_constraint_is_judged_on_the_rows_as_the_reference_judged_it(name: str) -> None:
    table = explorer.open_table(reference_root() / "tables" / name)
    seen = 0
    for version, constraint, text, refusal in _constraint_steps(name):
        result = table.check({constraint: text}, version).predicates[0]
        seen += 1
        if refusal is None and constraint in TOO_GOOD_TO_BE_TRUE:
            assert result.error is not None
            assert (TOO_GOOD_TO_BE_TRUE[constraint], None) == (result.error.reason, result.violations)
        elif refusal is None:
            assert (result.violations, result.error) == (0, None), text
            assert result.passed
        elif refusal["condition"] == "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION":
            broken = int(re.search(r"\] (\d+) rows", refusal["message"])[1])  # type: ignore[index]
            assert (broken, broken) == (result.violations, result.samples.num_rows), text
        else:
            assert result.error is not None
            assert REFUSALS[refusal["condition"]] == result.error.reason
    assert seen > 4


@pytest.mark.reference
@pytest.mark.conformance("CONSTR-007")
def test_not_null_is_a_predicate_nested_columns_included() -> None:
    table = explorer.open_table(reference_root() / "tables" / "constraints")
    report = table.check({"id": "id IS NOT NULL", "a": "s.a IS NOT NULL", "name": "name IS NOT NULL"}, 12)
    assert [result.violations for result in report.predicates] == [1, 0, 1]
    assert not report.passed
    assert report.predicates[0].samples.column("name").to_pylist() == ["n"]


def _table(root: Path, rows: list[list[tuple[Any, ...]]], masked: list[list[int]]) -> explorer.Table:
    """Three columns and a partition column, mapped by name, one file for each list of rows."""
    fields = [
        column("a", "long", **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"}),
        column("b", "string", **{"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "a"}),
        column("d", "double", **{"delta.columnMapping.id": 3, "delta.columnMapping.physicalName": "c3"}),
        column("p", "integer", **{"delta.columnMapping.id": 4, "delta.columnMapping.physicalName": "c4"}),
    ]
    types = {"c1": pa.int64(), "a": pa.string(), "c3": pa.float64()}
    files = [
        DataFile(
            f"part {number}.parquet",
            pa.table({n: pa.array([row[i] for row in part], t) for i, (n, t) in enumerate(types.items())}),
            {"c4": str(number) if number else None},
            hidden,
        )
        for number, (part, hidden) in enumerate(zip(rows, masked, strict=True))
    ]
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    return explorer.open_table(write_table(root, fields, files, ["p"], configuration))


PREDICATES = {
    "positive": "a > 0",
    "known": "b IS NOT NULL",
    "either": "a > 0 OR b = 'x'",
    "range": "a BETWEEN -1 AND 2 AND d < 1.5",
    "partition": "p IS NULL OR a IS NOT NULL",
    "never": "false",
    "unknown": "CAST(NULL AS BOOLEAN)",
    "in": "a NOT IN (1, NULL)",
    "comment": "a > 0 -- or anything",
}
_VALUES = st.tuples(
    st.none() | st.integers(-2, 3), st.none() | st.sampled_from(["x", "y", ""]), st.none() | st.sampled_from([0.5, 2.0])
)


@pytest.mark.always
@settings(
    max_examples=max(1, settings.default.max_examples // 100),
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(st.lists(_VALUES, min_size=1, max_size=8), min_size=1, max_size=3), st.data())
def test_counts_places_and_samples_are_those_of_another_engine(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[tuple[Any, ...]]], data: st.DataObject
) -> None:
    masked = [sorted(data.draw(st.sets(st.integers(0, len(part) - 1)))) for part in rows]
    table = _table(tmp_path_factory.mktemp("checks"), rows, masked)
    live = [
        (f"part {number}.parquet", place, *row, number or None)
        for number, part in enumerate(rows)
        for place, row in enumerate(part)
        if place not in masked[number]
    ]
    types = [pa.string(), pa.int64(), pa.int64(), pa.string(), pa.float64(), pa.int32()]
    names = ["_file", "_row_index", "a", "b", "d", "p"]
    model = pa.table({n: pa.array([r[i] for r in live], t) for i, (n, t) in enumerate(zip(names, types, strict=True))})
    report = table.check(PREDICATES)
    with duckdb.connect() as engine:
        engine.register("model", model)
        for result in at_least_one(report.predicates):
            broken = f"FROM model WHERE NOT coalesce(({result.expression}\n), false)"
            expected = engine.sql(f"SELECT _file, count(*), min(_row_index) {broken} GROUP BY _file").fetchall()
            columns = ("path", "violations", "first_row_index")
            found = list(zip(*(result.files.column(name).to_pylist() for name in columns), strict=True))
            assert sorted(expected) == found, result.name
            assert (sum(count for _, count, _ in expected), len(live)) == (result.violations, result.rows_checked)
            first = engine.sql(f"SELECT * {broken} ORDER BY _file, _row_index LIMIT 5").fetchall()
            assert first == [tuple(row.values()) for row in result.samples.to_pylist()], result.name
            nulls = engine.sql(f"SELECT count(*) > 0 FROM model WHERE ({result.expression}\n) IS NULL").fetchall()
            assert result.has_nulls is (nulls[0][0] if result.violations else None), result.name


def test_more_predicates_than_a_number_has_bits_are_judged_in_one_pass(tmp_path: Path) -> None:
    values = list(range(130 if WHOLE_DOSE else 70))
    table = _table(tmp_path, [[(value, "x", 0.5) for value in values], [(500, "y", 0.5)]], [[], []])
    # Rows to show are fetched for each predicate by itself: they have nothing to do with how many there are.
    report = check(table, table.snapshot(), {f"not {n}": f"a <> {n}" for n in values}, samples=0).result(120)
    assert [result.violations for result in report.predicates] == [1] * len(values)
    assert [result.files.column("first_row_index").to_pylist() for result in report.predicates] == [[v] for v in values]
    assert {result.rows_checked for result in report.predicates} == {len(values) + 1}


@pytest.mark.whole("test_row_guards.py, where a predicate fails on a row")
@pytest.mark.always
def test_one_that_fails_on_a_row_does_not_keep_the_others_from_their_answer(tmp_path: Path) -> None:
    table = _table(tmp_path, [[(1, "7", 0.5), (0, "x", 0.5)]], [[]])
    texts = {"number": "CAST(b AS INT) > 0", "zero": "1 / a > 0", "fine": "d > 0", "nope": "nope > 1", "sum": "a >= 1"}
    report = table.check(texts)
    assert [result.violations for result in report.predicates] == [None, None, 0, None, 1]
    reasons = [result.error.reason if result.error else None for result in report.predicates]
    assert reasons == ["runtime", "runtime", None, "unknown column", None]
    assert "CAST_INVALID_INPUT" in report.predicates[0].error.facts()["condition"]  # type: ignore[union-attr]
    assert list(texts) == [result.name for result in report.predicates]


def test_a_table_may_have_columns_that_are_called_as_ours_are(tmp_path: Path) -> None:
    fields = [column("_file", "string"), column("_ROW_INDEX", "long"), column("_file_number", "long")]
    rows = pa.table({"_file": ["a", "b"], "_ROW_INDEX": [5, 6], "_file_number": [8, 9]})
    table = explorer.open_table(write_table(tmp_path, fields, [DataFile("p.parquet", rows)]))
    result = table.check({"c": "_file = 'a' AND _row_index = 5 AND _file_number = 8"}).predicates[0]
    assert (result.samples.to_pylist()) == [
        {"__file": "p.parquet", "__row_index": 1, "_file": "b", "_ROW_INDEX": 6, "_file_number": 9}
    ]


def test_an_empty_table_keeps_every_promise_and_still_vets_it(tmp_path: Path) -> None:
    table = explorer.open_table(write_table(tmp_path, [column("s", struct(column("x", "integer")))], []))
    report = table.check({"good": "s.x > 0", "bad": "s.y > 0", "run": "reflect('a', 'b') = 'c'"})
    assert [(r.violations, r.rows_checked) for r in report.predicates] == [(0, 0), (None, None), (None, None)]
    assert [r.error.reason if r.error else None for r in report.predicates] == [None, "unknown column", "code"]


def test_a_predicate_that_is_none_says_where_and_what_may_be_meant_and_the_others_are_judged(tmp_path: Path) -> None:
    table = _table(tmp_path, [[(1, "a", 0.5)]], [[]])
    unknown, syntax, sound = table.check({"u": "a > 0 AND bb = ''", "s": "a > > 0", "c": "a > 0"}).predicates
    assert unknown.error is not None
    assert syntax.error is not None
    assert (unknown.error.reason, unknown.error.position) == ("unknown column", 11)
    assert "b" in unknown.error.nearest
    assert (syntax.error.reason, syntax.error.position) == ("syntax", 5)
    assert (unknown.violations, syntax.violations, sound.violations) == (None, None, 0)


def test_a_missing_file_is_the_error_of_the_whole_check(tmp_path: Path) -> None:
    table = _table(tmp_path, [[(1, "a", 0.5)]], [[]])
    (tmp_path / "part 0.parquet").unlink()
    with pytest.raises(StorageError) as caught:
        table.check({"c": "a > 0"})
    assert caught.value.path == "part%200.parquet"


def test_a_check_is_a_job_that_says_what_it_is_at_and_can_be_cancelled(tmp_path: Path) -> None:
    table = _table(tmp_path, [[(1, "a", 0.5)]], [[]])
    phases: list[str] = []
    job = check(table, table.snapshot(), {"c": "a > 1"})
    job.subscribe(lambda job: phases.append(job.phase))
    assert job.result(60).predicates[0].violations == 1
    assert {"Checking all rows of 1 file", "Fetching rows that break c"} & set(phases)
    job = check(table, table.snapshot(), {f"c{i}": f"a > {i}" for i in range(50)})
    job.cancel()
    with pytest.raises(Cancelled):
        job.result(60)
