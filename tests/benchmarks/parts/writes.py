"""Rows written by intents, beside delta-spark on the same session and the same data.

Every run has a copy of the table of its own, made before the clock starts. ``DELTA_BENCH_ROWS`` makes the table
smaller.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import explorer
from explorer.spark.engine.session import engine
from tests.benchmarks.parts.rows import ROWS, start
from tests.benchmarks.runs import run
from tests.benchmarks.sets import FOLDER

ROUNDS: Final = 3
WARM_UP: Final = 1
SMALL_FILES: Final = 1_000
FILES: Final = 20

Work = Callable[[Path], object]


def measure() -> Iterator[dict[str, Any]]:
    """One record a comparison: what, ours and theirs in seconds, and the most that ours may take of theirs."""
    measured: Any = run(__name__)
    yield from measured


def main() -> None:
    """Print what was measured; nothing without delta-spark, which writes the tables."""
    if start():
        work = FOLDER / "writes"
        shutil.rmtree(work, ignore_errors=True)
        print(json.dumps(list(_comparisons(work))))
        shutil.rmtree(work)
    else:
        print("[]")
    engine().stop()


def _comparisons(work: Path) -> Iterator[dict[str, Any]]:
    large, small, empty = work / "large", work / "small", work / "empty"
    _written(large, ROWS, FILES)
    _written(small, SMALL_FILES * 1_000, SMALL_FILES)
    _written(empty, 0, 1)
    session = engine().session()
    rows = session.read.parquet(f"{large}/*.parquet")
    changed = session.range(50_000).selectExpr(
        f"id * {max(1, 2 * ROWS // 50_000)} AS id", "1.5D AS amount", "'merged' AS name", "CAST(id AS INT) AS kind"
    )
    changed.createOrReplaceTempView("changes_of_a_merge")
    source = {"kind": "append", "source": "rows"}
    merge = "USING changes_of_a_merge source ON target.id = source.id WHEN MATCHED THEN UPDATE SET * "
    ways: dict[str, tuple[Path, Work, Work, float]] = {
        f"append {ROWS:,} rows": (
            empty,
            lambda path: _done(path, source, rows),
            lambda path: rows.write.format("delta").mode("append").save(str(path)),
            1.2,
        ),
        f"delete 0.1 % of {ROWS:,} rows with deletion vectors": (
            large,
            lambda path: _done(path, {"kind": "delete", "where": "id % 1000 = 7"}),
            lambda path: _sql("DELETE FROM delta.`{}` WHERE id % 1000 = 7", path),
            0.8,
        ),
        f"update 1 % of {ROWS:,} rows": (
            large,
            lambda path: _done(path, {"kind": "update", "set": {"amount": "amount + 1"}, "where": "id % 100 = 7"}),
            lambda path: _sql("UPDATE delta.`{}` SET amount = amount + 1 WHERE id % 100 = 7", path),
            1.2,
        ),
        f"merge 50,000 rows into {ROWS:,}": (
            large,
            lambda path: _done(
                path,
                {
                    "kind": "merge",
                    "source": "rows",
                    "on": "target.id = source.id",
                    "matched": [{"update": "*"}],
                    "notMatched": [{"insert": "*"}],
                },
                changed,
            ),
            lambda path: _sql(f"MERGE INTO delta.`{{}}` target {merge} WHEN NOT MATCHED THEN INSERT *", path),
            1.2,
        ),
        f"optimize {SMALL_FILES:,} small files": (
            small,
            lambda path: _done(path, {"kind": "optimize"}),
            lambda path: _sql("OPTIMIZE delta.`{}`", path),
            1.2,
        ),
    }
    for what, (table, ours, theirs, times) in ways.items():
        found = _turns(work / "copy", table, {"ours": ours, "delta-spark": theirs})
        yield {"what": f"{what}, beside delta-spark", **_ratio(found["ours"], found["delta-spark"], times)}
    delete = {"kind": "delete", "where": "id % 1000 = 7"}
    plain = work / "plain"
    _written(plain, ROWS, FILES, vectors=False)
    masked = _turns(work / "copy", large, {"ours": lambda path: _done(path, delete)})["ours"]
    rewritten = _turns(work / "copy", plain, {"ours": lambda path: _done(path, delete)})["ours"]
    yield {"what": "delete with deletion vectors, beside rewriting", **_ratio(masked, rewritten, 0.5)}


def _ratio(ours: float, theirs: float, times: float) -> dict[str, float]:
    return {"ours": ours, "theirs": theirs, "goal": theirs * times}


def _written(path: Path, rows: int, files: int, *, vectors: bool = True) -> None:
    session = engine().session()
    made = session.range(0, rows, 1, files).selectExpr(
        "id",
        "CAST(id % 9973 AS DOUBLE) / 7 AS amount",
        "concat('name ', id % 1009) AS name",
        "CAST(id % 13 AS INT) AS kind",
    )
    option = str(vectors).lower()
    writer = made.write.format("delta").option("delta.enableDeletionVectors", option)
    writer.save(str(path))


def _turns(copy: Path, table: Path, ways: dict[str, Work]) -> dict[str, float]:
    """Medians of seconds on fresh copies, whose data files are the same ones on the disk."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(WARM_UP + ROUNDS):
        for name, work in ways.items():
            shutil.copytree(table, copy, copy_function=_copied)
            begin = time.perf_counter()
            work(copy)
            seconds = time.perf_counter() - begin
            shutil.rmtree(copy)
            if number >= WARM_UP:
                times[name].append(seconds)
    return {name: statistics.median(found) for name, found in times.items()}


def _copied(source: str, target: str) -> None:
    if source.endswith(".parquet") and "_delta_log" not in source:
        os.link(source, target)
    else:
        shutil.copyfile(source, target)


def _done(path: Path, intent: dict[str, object], rows: Any = None) -> None:
    table = explorer.open_table(path)
    result = table.commit(table.plan(intent, rows=rows))
    assert result.outcome == "committed", result


def _sql(text: str, path: Path) -> None:
    engine().session().sql(text.format(path)).collect()


if __name__ == "__main__":
    main()
