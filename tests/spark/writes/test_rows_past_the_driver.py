"""No row that is written passes through the process that plans and commits, whatever Spark runs on.

Everything that PySpark brings here is kept and looked at. `tests.support.comparison.tests_elsewhere` runs the same on a
Connect server, and under `make prove` on a cluster of two workers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from explorer.new_table import new_table
from explorer.spark.engine.session import engine
from tests.support.logs.spark_tables import column, struct

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

ROWS: Final = 20_000
# What is told of files, and places of rows as bits; 4,000 rows, the fewest that an intent writes, are five times that.
MOST_BYTES: Final = 1 << 16
_FETCHES: Final = ("toArrow", "collect", "toPandas", "toLocalIterator", "take", "head", "tail", "first")


class _Fetched:
    """What came from Spark into this process."""

    def __init__(self) -> None:
        self.tables: list[pa.Table] = []
        self.others: list[tuple[str, Any]] = []

    @property
    def size(self) -> int:
        """Bytes of all tables."""
        return sum(table.nbytes for table in self.tables)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> _Fetched:
    """Keep what every DataFrame brings here, of the class that the session makes."""
    seen, kind = _Fetched(), type(engine().session().range(1))
    for name in _FETCHES:
        monkeypatch.setattr(kind, name, _kept(seen, name, getattr(kind, name)))
    return seen


def _kept(seen: _Fetched, name: str, fetch: Any) -> Any:
    def fetching(frame: Any, *arguments: Any, **options: Any) -> Any:
        found = fetch(frame, *arguments, **options)
        if isinstance(found, pa.Table):
            seen.tables.append(found)
        else:
            seen.others.append((name, found))
        return found

    return fetching


def _rows(first: int, count: int) -> Any:
    """Rows that only Spark's tasks have."""
    return (
        engine().session().range(first, first + count, 1, 2).selectExpr("id", "sha2(CAST(id AS STRING), 256) AS secret")
    )


@pytest.mark.whole("tests/spark/writes/test_row_widths.py")
@pytest.mark.parametrize("masks", ["true", "false"])
def test_only_what_is_said_of_files_comes_here(masks: str, tmp_path: Path, fetched: _Fetched) -> None:
    place = new_table(tmp_path / "t")
    properties = {
        "delta.enableDeletionVectors": masks,
        "delta.enableRowTracking": "true",
        "delta.enableChangeDataFeed": "true",
    }
    created = {
        "kind": "create-table",
        "schema": struct(column("id", "long"), column("secret", "string")),
        "properties": properties,
    }
    assert place.commit(place.plan(created)).outcome == "committed"
    table = place.open()
    merge = {
        "kind": "merge",
        "source": "rows",
        "on": "target.id = source.id",
        "matched": [{"update": "*"}],
        "notMatched": [{"insert": "*"}],
    }
    left = {
        "append": ({"kind": "append", "source": "rows"}, _rows(0, ROWS), ROWS),
        "delete": ({"kind": "delete", "where": "id % 4 = 1"}, None, ROWS * 3 // 4),
        "update": ({"kind": "update", "set": {"secret": "concat(secret, 'x')"}, "where": "id % 4 = 2"}, None, None),
        "merge": (merge, _rows(ROWS - 2, ROWS // 4), ROWS - 2),
        "optimize": ({"kind": "optimize", "orderBy": ["secret"]}, None, ROWS - 2),
        "overwrite": ({"kind": "overwrite", "source": "rows", "where": "id < 4000"}, _rows(0, 4000), ROWS + 998),
    }
    for name, (intent, rows, count) in left.items():
        result = table.commit(table.plan(intent, rows=rows))
        assert result.outcome == "committed", (name, result)
        assert 0 < fetched.size < MOST_BYTES, (name, [found.schema for found in fetched.tables])
        for way, found in fetched.others:
            # Counts and samples of what is refused, none of which says more than a few rows.
            assert way == "collect", (name, way)
            assert len(found) <= 1, (name, found)
        fetched.tables.clear()
        fetched.others.clear()
        if count is not None:
            assert table.snapshot().num_records - table.snapshot().num_deleted_records == count, name
    assert table.rows().toArrow().nbytes > MOST_BYTES * 10
    assert fetched.size > MOST_BYTES * 10, "what comes here is seen"
