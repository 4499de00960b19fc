"""Random sequences of operations beside a plain model: a dict of rows by their key.

After every commit the rows, the change feed and the row ids are those of the model: a row that stays or changes keeps
its id, one that neither came nor changed keeps its commit version, and a new row has an id that no row ever had.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from explorer.new_table import new_table
from tests.support.clients.other_readers import assert_others_read
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import column, struct

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

Row = tuple[int, int | None, str | None]
Rows = dict[int, Row]
Change = tuple[str, Row]

NAMES: Final = ("id", "v", "p")
SCHEMA: Final = pa.schema([("id", pa.int64()), ("v", pa.int32()), ("p", pa.string())])
LENGTH: Final = 12 if WHOLE_DOSE else 6
SEEDS: Final = range(20 if WHOLE_DOSE else 2)


def _arrow(rows: list[Row]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


class _Story:
    """A table and what it must hold."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.rows: Rows = {}
        self.changes: list[Change] = []
        self.next_key = 0
        properties = {
            "delta.enableChangeDataFeed": "true",
            "delta.enableRowTracking": "true",
            "delta.enableDeletionVectors": str(seed % 2 == 0).lower(),
            "delta.columnMapping.mode": "name" if seed % 3 == 2 else "none",
        }
        fields = struct(column("id", "long"), column("v", "integer"), column("p", "string"))
        partitions = ["p"] if self.random.random() < 0.5 else []
        intent = {"kind": "create-table", "schema": fields, "partitionColumns": partitions, "properties": properties}
        place = new_table(folder)
        assert place.commit(place.plan(intent)).outcome == "committed"
        self.table = place.open()

    def fresh(self, count: int) -> list[Row]:
        found = [(self.next_key + n, self._value(), self._part()) for n in range(count)]
        self.next_key += count
        return found

    def _value(self) -> int | None:
        return self.random.choice([None, *range(10)])

    def _part(self) -> str | None:
        return self.random.choice([None, "a", "b", "it's %"])

    def condition(self) -> tuple[str, Callable[[Row], bool]]:
        """SQL, and whether it is true of a row."""
        number = self.random.randrange(10)
        return self.random.choice(
            [
                (f"id % 5 = {number % 5}", lambda row: row[0] % 5 == number % 5),
                (f"v < {number}", lambda row: row[1] is not None and row[1] < number),
                ("p = 'a'", lambda row: row[2] == "a"),
                ("p IS NULL AND v IS NOT NULL", lambda row: row[2] is None and row[1] is not None),
            ]
        )

    def put(self, row: Row) -> None:
        old = self.rows.get(row[0])
        if old is None:
            self.changes.append(("insert", row))
        else:
            self.changes += [("update_preimage", old), ("update_postimage", row)]
        self.rows[row[0]] = row

    def take(self, key: int) -> None:
        self.changes.append(("delete", self.rows.pop(key)))

    # --- one operation each: the intent, its rows, and the same on the model

    def append(self) -> tuple[dict[str, Any], list[Row] | None]:
        new = self.fresh(self.random.randint(1, 30))
        for row in new:
            self.put(row)
        return {"kind": "append", "source": "rows"}, new

    def delete(self) -> tuple[dict[str, Any], list[Row] | None]:
        text, holds = self.condition()
        for key in [key for key, row in self.rows.items() if holds(row)]:
            self.take(key)
        return {"kind": "delete", "where": text}, None

    def update(self) -> tuple[dict[str, Any], list[Row] | None]:
        text, holds = self.condition()
        part = self.random.choice(["a", "new"])
        for key, _, _ in [row for row in self.rows.values() if holds(row)]:
            value = self.rows[key][1]
            self.put((key, None if value is None else value + 1, part))
        return {"kind": "update", "set": {"v": "v + 1", "p": f"'{part}'"}, "where": text}, None

    def merge(self) -> tuple[dict[str, Any], list[Row] | None]:
        known = self.random.sample(sorted(self.rows), min(len(self.rows), self.random.randint(0, 12)))
        source = [(key, self._value(), self._part()) for key in known] + self.fresh(self.random.randint(0, 5))
        given = {row[0] for row in source}
        for key in [key for key in self.rows if key not in given and key % 7 == 0]:
            self.take(key)
        for row in source:
            if row[0] not in self.rows:
                self.put(row)
            elif row[1] is None:
                self.take(row[0])
            else:
                self.put(row)
        return {
            "kind": "merge",
            "source": "rows",
            "on": "target.id = source.id",
            "matched": [{"when": "source.v IS NULL", "delete": True}, {"update": "*"}],
            "notMatched": [{"insert": "*"}],
            "notMatchedBySource": [{"when": "target.id % 7 = 0", "delete": True}],
        }, source

    def overwrite(self) -> tuple[dict[str, Any], list[Row] | None]:
        for key in [key for key, row in self.rows.items() if row[2] == "a"]:
            self.take(key)
        new = [(key, value, "a") for key, value, _ in self.fresh(self.random.randint(1, 8))]
        for row in new:
            self.put(row)
        return {"kind": "overwrite", "source": "rows", "where": "p = 'a'"}, new

    def optimize(self) -> tuple[dict[str, Any], list[Row] | None]:
        order = self.random.choice([{}, {"orderBy": ["v"]}, {"zOrderBy": ["id", "v"]}])
        return {"kind": "optimize", **order}, None

    def purge(self) -> tuple[dict[str, Any], list[Row] | None]:
        return {"kind": "purge"}, None

    def recompute(self) -> tuple[dict[str, Any], list[Row] | None]:
        return {"kind": "recompute-statistics"}, None


@pytest.mark.whole("tests/spark/writes/test_data_commands.py, and test_every_row_counts.py beside a model in Python")
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_feed_and_ids_are_those_of_a_plain_model(seed: int, tmp_path: Path) -> None:
    story = _Story(tmp_path / "t", seed)
    table, known, mark = story.table, dict[int, tuple[int, int]](), -1
    steps = [story.append]
    others = [story.append, story.delete, story.update, story.merge, story.overwrite, story.optimize]
    steps += story.random.choices([*others, story.purge, story.recompute], k=LENGTH - 1)
    for step in steps:
        story.changes, before = [], dict(story.rows)
        intent, rows = step()
        plan = table.plan(intent, rows=None if rows is None else _arrow(rows))
        if not plan.committable:
            assert story.changes == [], (intent, plan.blocking)
            continue
        result = table.commit(plan)
        assert result.outcome == "committed", (intent, result)
        found = table.rows(row_identity=True).toArrow().to_pylist()
        assert Counter(tuple(row[name] for name in NAMES) for row in found) == Counter(story.rows.values()), intent
        ids = {row["id"]: (row["_row_id"], row["_row_commit_version"]) for row in found}
        assert len({row_id for row_id, _ in ids.values()}) == len(ids), "row ids are unique"
        for key, (row_id, version) in ids.items():
            if key not in before:
                assert row_id > mark, (intent, "a new row has a new id")
                assert version == result.version
                continue
            assert row_id == known[key][0], (intent, "a row keeps its id")
            changed = any(change[1][0] == key for change in story.changes)
            assert version == (result.version if changed else known[key][1]), intent
        known, mark = ids, max([mark, *(row_id for row_id, _ in ids.values())])
        feed = table.changes(result.version, result.version).toArrow().to_pylist()
        told = Counter((row["_change_type"], tuple(row[name] for name in NAMES)) for row in feed)
        assert told == Counter(story.changes), intent
    assert table.latest_version() >= 3
    newest = table.snapshot()
    if newest.column_mapping_mode == "none" or not newest.partition_columns:
        # DuckDB reads the partition columns of a mapped table as null (delta extension 1.5.5).
        assert_others_read(tmp_path / "t", table.rows().toArrow(), f"seed {seed}")
