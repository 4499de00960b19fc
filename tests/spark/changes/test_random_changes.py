"""Changes, row differences and histories of keys of random tables equal those of a plain model."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

import explorer
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.random_histories import IDS, Model, Row, canonical

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

EXAMPLES = 150 if WHOLE_DOSE else 2


def _values(row: dict[str, Any] | None) -> str | None:
    return None if row is None else canonical(tuple(row.values()))


def _run(frames: list[DataFrame]) -> dict[int, list[dict[str, Any]]]:
    """The rows of several frames of one schema, in one job."""
    marked = [frame.withColumn("which", sf.lit(which)) for which, frame in enumerate(frames)]
    found = defaultdict(list)
    for row in reduce(DataFrame.unionByName, marked).toArrow().to_pylist():
        found[row.pop("which")].append(row)
    return found


def _whole(model: Model, first: int, second: int) -> Counter[Any]:
    before, after = model.rows(first), model.rows(second)
    return Counter({("delete", row, None, False): n for row, n in (before - after).items()}) + Counter(
        {("insert", None, row, False): n for row, n in (after - before).items()}
    )


def _keyed(model: Model, first: int, second: int) -> Counter[Any]:
    """What is left of both sides, matched by the first column."""
    before, after = model.rows(first), model.rows(second)
    sides: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for place, left in enumerate((before - after, after - before)):
        for row in left.elements():
            sides[row.partition(",")[0]][place].append(row)
    found: Counter[Any] = Counter()
    for gone, come in sides.values():
        repeated = len(gone) > 1 or len(come) > 1
        if len(gone) == len(come) == 1:
            found["update", gone[0], come[0], False] += 1
        else:
            found.update(("delete", row, None, repeated) for row in gone)
            found.update(("insert", None, row, repeated) for row in come)
    return found


def _found(rows: list[dict[str, Any]]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for row in rows:
        key = (row["change"], _values(row["before"]), _values(row["after"]), row["repeated_key"])
        found[key] += row["count"]
        before, after = row["before"], row["after"]
        named = row["changed_columns"]
        if row["change"] == "update":
            assert named == [name for name in before if _values({"": before[name]}) != _values({"": after[name]})]
        else:
            assert named is None
    return found


@pytest.mark.whole("tests/spark/changes/test_inferred_changes.py")
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data(), length=st.integers(4, 9))
@pytest.mark.conformance("CDF-006", "CDF-007", "CDF-008", "CDF-009")
def test_what_changed_is_what_the_model_says(data: st.DataObject, length: int) -> None:
    with TemporaryDirectory() as folder:
        model = Model(Path(folder))
        for _ in range(length):
            model.step(data)
        table = explorer.open_table(folder)
        versions = st.integers(0, length - 1)
        pairs = data.draw(st.lists(st.tuples(versions, versions), min_size=3, max_size=3))
        diffs = _run(
            [table.row_diff(*pair).frame for pair in pairs] + [table.row_diff(*pair, ["id"]).frame for pair in pairs]
        )
        for place, pair in enumerate(pairs):
            assert _whole(model, *pair) == _found(diffs[place]), pair
            assert _keyed(model, *pair) == _found(diffs[place + len(pairs)]), pair
        _changes_are_those_of(model, table)
        _histories_are_those_of(model, table, data.draw(st.sampled_from(IDS)), data.draw(versions))


def _changes_are_those_of(model: Model, table: explorer.Table) -> None:
    told: Counter[Any] = Counter()
    for row in table.changes(0, inferred=True).toArrow().to_pylist():
        *values, kind, version, _ = row.values()
        told[version, kind, canonical(tuple(values))] += 1
    assert told == Counter(
        {
            (version, kind, row): count
            for version, changes in enumerate(model.changes)
            for kind, rows in _without_copies(changes).items()
            for row, count in rows.items()
        }
    )


def _without_copies(changes: list[tuple[str, Row]]) -> dict[str, Counter[str]]:
    """What a commit deleted and inserted, less the equal rows that it did both to."""
    sides = {side: Counter(canonical(row) for kind, row in changes if kind == side) for side in ("delete", "insert")}
    return {"delete": sides["delete"] - sides["insert"], "insert": sides["insert"] - sides["delete"]}


def _histories_are_those_of(model: Model, table: explorer.Table, key: int | None, first: int) -> None:
    history = table.row_history({"id": key}, first)
    told: Counter[Any] = Counter()
    for span in history.spans.to_pylist():
        for version in range(span["from_version"], span["to_version"] + 1):
            told[version, _values(span["row"])] += span["copies"]
    assert told == Counter(
        (version, row)
        for version in range(first, len(model.states))
        for row in model.rows(version).elements()
        if row.partition(",")[0] == f"[{key}"
    )
    holding = {
        path
        for state in model.states[first:]
        for path, file in state.items()
        if any(row[0] == key for row in file.visible())
    }
    assert len(holding) <= history.files_read <= history.files_total
