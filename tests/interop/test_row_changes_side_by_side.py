"""The same random changes of rows by this program and by the reference, on copies of one new table.

Compared after every change: rows, change feed, operation metrics, and for each row its id and commit version as row
tracking wants them. Half of the way each goes on with the other's table; in the end the reference reads both.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import explorer
from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.dose import WHOLE_DOSE

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

Row = tuple[int, int | None, str | None]

NAMES: Final = ("id", "v", "p")
SCHEMA: Final = pa.schema([("id", pa.int64()), ("v", pa.int32()), ("p", pa.string())])
SEEDS: Final = range(20 if WHOLE_DOSE else 1)
LENGTH: Final = 6 if WHOLE_DOSE else 3
# Numbers of files and bytes follow the layout of files, times the clock, and both may differ.
METRICS: Final = (
    *("numDeletedRows", "numUpdatedRows", "numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated"),
    *("numTargetRowsDeleted", "numTargetRowsMatchedUpdated", "numTargetRowsMatchedDeleted"),
    *("numTargetRowsNotMatchedBySourceUpdated", "numTargetRowsNotMatchedBySourceDeleted"),
)


class _Story:
    """What happens to both tables: each step is an intent, its rows, and the statement that does the same."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.next_key = 0

    def fresh(self, count: int) -> list[Row]:
        first, self.next_key = self.next_key, self.next_key + count
        values = self.random.choices([None, *range(10)], k=count)
        parts = self.random.choices([None, "a", "b", "it's %"], k=count)
        return list(zip(range(first, first + count), values, parts, strict=True))

    def some(self, known: list[int]) -> str:
        """A condition that holds for a row at least."""
        keys = self.random.sample(known, min(len(known), self.random.randint(1, 8)))
        other = self.random.choice(["p = 'b'", "v < 2", "p IS NULL AND v > 5"])
        return f"id IN ({', '.join(map(str, sorted(keys)))}) OR ({other})"

    def append(self, known: list[int]) -> tuple[dict[str, Any], list[Row] | None, str]:
        del known
        rows = self.fresh(self.random.randint(1, 20))
        return {"kind": "append", "source": "rows"}, rows, f"INSERT INTO {{t}} {_values(rows)}"

    def delete(self, known: list[int]) -> tuple[dict[str, Any], list[Row] | None, str]:
        where = self.some(known)
        return {"kind": "delete", "where": where}, None, f"DELETE FROM {{t}} WHERE {where}"

    def update(self, known: list[int]) -> tuple[dict[str, Any], list[Row] | None, str]:
        where, part = self.some(known), self.random.choice(["a", "new"])
        intent = {"kind": "update", "set": {"v": "v + 1", "p": f"'{part}'"}, "where": where}
        return intent, None, f"UPDATE {{t}} SET v = v + 1, p = '{part}' WHERE {where}"

    def merge(self, known: list[int]) -> tuple[dict[str, Any], list[Row] | None, str]:
        keys = self.random.sample(known, min(len(known), self.random.randint(1, 10)))
        values = self.random.choices([None, 3, 4], k=len(keys))
        rows = [(key, value, "merged") for key, value in zip(keys, values, strict=True)] + self.fresh(3)
        intent = {
            "kind": "merge",
            "source": "rows",
            "on": "target.id = source.id",
            "matched": [{"when": "source.v IS NULL", "delete": True}, {"update": "*"}],
            "notMatched": [{"insert": "*"}],
            "notMatchedBySource": [{"when": "target.id % 7 = 0", "delete": True}],
        }
        said = (
            f"MERGE INTO {{t}} t USING ({_values(rows)}) s ON t.id = s.id WHEN MATCHED AND s.v IS NULL THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
            "WHEN NOT MATCHED BY SOURCE AND t.id % 7 = 0 THEN DELETE"
        )
        return intent, rows, said

    def optimize(self, known: list[int]) -> tuple[dict[str, Any], list[Row] | None, str]:
        del known
        return {"kind": "optimize"}, None, "OPTIMIZE {t}"


def _values(rows: list[Row]) -> str:
    """The rows as a query of the table's columns and types."""

    def text(value: int | str | None) -> str:
        return "NULL" if value is None else repr(value) if isinstance(value, int) else f'"{value}"'

    listed = ", ".join(f"({key}, {text(value)}, {text(part)})" for key, value, part in rows)
    return f"SELECT CAST(id AS BIGINT) id, CAST(v AS INT) v, CAST(p AS STRING) p FROM VALUES {listed} AS r(id, v, p)"


def _new_table(reference: ReferenceWriter, path: Path, seed: int, rows: list[Row]) -> None:
    partitioned = " PARTITIONED BY (p)" if seed % 4 == 1 else ""
    properties = {
        "delta.enableRowTracking": "true",
        "delta.enableChangeDataFeed": "true",
        "delta.enableDeletionVectors": str(seed % 2 == 0).lower(),
        "delta.columnMapping.mode": "name" if seed % 3 == 2 else "none",
    }
    said = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    reference.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, v INT, p STRING) USING delta{partitioned} TBLPROPERTIES ({said})"
    )
    reference.sql(f"INSERT INTO delta.`{path}` {_values(rows)}")


class _Side:
    """One of the two tables, and what was seen of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids: dict[int, tuple[int, int]] = {}
        self.mark = -1
        self.look()

    def look(self) -> None:
        """See the newest version."""
        self.table = explorer.open_table(self.path)
        self.version = self.table.latest_version()
        found = self.table.rows(row_identity=True).toArrow().to_pylist()
        self.rows = Counter(tuple(row[name] for name in NAMES) for row in found)
        self.ids = {row["id"]: (row["_row_id"], row["_row_commit_version"]) for row in found}
        self.mark = max([self.mark, *(number for number, _ in self.ids.values())])

    def feed(self) -> Counter[tuple[str, Row]]:
        """The changes of the newest version."""
        rows = self.table.changes(self.version, self.version).toArrow().to_pylist()
        return Counter((row["_change_type"], (row["id"], row["v"], row["p"])) for row in rows)

    def metrics(self) -> dict[str, str]:
        """The numbers of the newest commit that do not follow from the layout of files."""
        lines = (self.path / "_delta_log" / f"{self.version:020}.json").read_text("utf-8").splitlines()
        info = next(action["commitInfo"] for action in map(json.loads, lines) if "commitInfo" in action)
        return {name: value for name, value in info["operationMetrics"].items() if name in METRICS}


def _assert_tracked(before: dict[int, tuple[int, int]], mark: int, side: _Side, feed: Counter[tuple[str, Row]]) -> None:
    """Rows that stay keep id and commit version, changed rows keep their id, new ones get one above all."""
    updated = {row[0] for kind, row in feed if kind == "update_postimage"}
    assert len({number for number, _ in side.ids.values()}) == len(side.ids)
    for key, (number, version) in side.ids.items():
        if key in before:
            assert (number, version) == (before[key][0], side.version if key in updated else before[key][1]), key
        else:
            assert number > mark, key
            assert version == side.version, key


@pytest.mark.whole("test_rows_side_by_side.py, and tests/spark/writes/test_data_commands.py")
@pytest.mark.parametrize("seed", SEEDS)
def test_changes_of_rows_are_those_of_the_reference(
    seed: int, reference_writer: ReferenceWriter, tmp_path: Path
) -> None:
    story = _Story(seed)
    _new_table(reference_writer, tmp_path / "a", seed, story.fresh(40))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    ours, theirs = _Side(tmp_path / "a"), _Side(tmp_path / "b")
    assert ours.ids == theirs.ids
    steps = [story.append, story.delete, story.update, story.merge, story.optimize]
    chosen = story.random.sample(steps, LENGTH) if len(steps) >= LENGTH else [*steps, story.delete]
    story.random.shuffle(chosen)
    committed = 0
    for place, step in enumerate(chosen):
        if place == LENGTH // 2:
            ours, theirs = theirs, ours
        intent, rows, statement = step(sorted(ours.ids))
        given = (
            None if rows is None else pa.Table.from_pylist([dict(zip(NAMES, row, strict=True)) for row in rows], SCHEMA)
        )
        plan = ours.table.plan(intent, rows=given)
        if not plan.committable:
            assert intent["kind"] == "optimize", (intent, plan.blocking)
            continue
        known = [(dict(side.ids), side.mark) for side in (ours, theirs)]
        result = ours.table.commit(plan)
        assert result.outcome == "committed", (intent, result)
        reference_writer.sql(statement.format(t=f"delta.`{theirs.path}`"))
        for side in (ours, theirs):
            side.look()
        assert ours.rows == theirs.rows, (seed, intent)
        assert ours.feed() == theirs.feed(), (seed, intent)
        assert ours.metrics() == theirs.metrics(), (seed, intent)
        for side, (ids, mark) in zip((ours, theirs), known, strict=True):
            _assert_tracked(ids, mark, side, side.feed())
        committed += 1
    assert committed >= LENGTH - 1
    for side in (ours, theirs):
        assert list(side.table.verify().problems) == []
        hidden = reference_writer.rows(side.path, hidden=["row_id", "row_commit_version"]).to_pylist()
        assert {row["id"]: (row["row_id"], row["row_commit_version"]) for row in hidden} == side.ids, seed
        assert Counter(tuple(row[name] for name in NAMES) for row in hidden) == side.rows, seed
