"""Rows through Spark: scans, filters, checks, differences and first rows, beside Spark's own scan and delta-spark.

All is measured in one process, with one session that holds the jar of delta-spark too, where it can be had; ways to do
the same take turns. ``DELTA_BENCH_ROWS`` makes the tables smaller.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

import explorer
from explorer.spark.checks.constraint_check import check
from explorer.spark.engine.session import configure, engine
from explorer.spark.scan.scan import scan
from tests.benchmarks.runs import environment, run
from tests.benchmarks.sets import FOLDER, REPOSITORY
from tests.support.clients.client_process import duckdb_table
from tests.support.clients.reference_writer_process import coordinates
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.slow_s3 import slow_s3

ROWS: Final = int(os.environ.get("DELTA_BENCH_ROWS", "5000000"))
FILES: Final = 20
SMALL_FILES: Final = max(100, min(10_000, ROWS // 500))
ROUNDS: Final = 7
WARM_UP: Final = 3
FIRST_ROWS: Final = 20
HEAD: Final = 100
LINKED: Final = "linked-1000"
FIELDS: Final = [column("id", "long"), column("amount", "double"), column("name", "string"), column("kind", "integer")]
CONDITION: Final = "amount >= 0 AND kind IS NOT NULL"

Work = Callable[[], object]


def measure() -> Iterator[dict[str, Any]]:
    """One record a comparison: what, ours and theirs in seconds, and the most that ours may take of theirs."""
    _prepare()
    measured: Any = run(__name__)
    yield from measured
    start = time.perf_counter()
    program = f"import explorer; explorer.open_table({str(FOLDER / f'masked-{ROWS}')!r}).head({HEAD})"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=REPOSITORY, env=environment())
    yield {"what": "first rows in a process of its own", "ours": time.perf_counter() - start}


def main() -> None:
    """Print what was measured."""
    reference = start()
    print(json.dumps([*_scans(reference), *_checks(), *_small_files(), *_difference(), *_first_rows(reference)]))
    engine().stop()


def start() -> bool:
    """Start the engine, with delta-spark beside us if it can be had; whether it is there."""
    settings = {
        "spark.jars.packages": coordinates(),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Else it rebuilds the state of a small log in 50 tasks.
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.driver.memory": "4g",
    }
    try:
        configure(None, settings).session()
    except explorer.EngineUnavailable as error:
        print(f"delta-spark cannot be had: {error}", file=sys.stderr)
        configure(None, {"spark.driver.memory": "4g"}).session()
        return False
    return True


def _turns(ways: dict[str, Work], rounds: int = ROUNDS) -> dict[str, float]:
    """Medians of seconds; before the clock runs each way is taken a few times, as the JVM compiles what runs often."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(WARM_UP + rounds):
        for name, work in ways.items():
            start = time.perf_counter()
            work()
            if number >= WARM_UP:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def _total(frame: Any) -> Work:
    return lambda: frame().selectExpr("sum(id)", "sum(amount)", "max(name)", "sum(kind)").collect()


def _scans(reference: bool) -> list[dict[str, Any]]:
    folder = FOLDER / f"masked-{ROWS}"
    table, session = explorer.open_table(folder), engine().session()
    ways = {"ours": _total(table.rows), "plain": _total(lambda: session.read.parquet(f"{folder}/*.parquet"))}
    if reference:
        ways["delta-spark"] = _total(lambda: session.read.format("delta").load(str(folder)))
    found = _turns(ways)
    what = f"scan of {ROWS:,} rows, 5 % masked"
    rows = [_record(f"{what}, beside Spark's scan of the same files", found["ours"], found["plain"], times=1.6)]
    if reference:
        rows.append(_record(f"{what}, beside delta-spark", found["ours"], found["delta-spark"], times=1.2))
    return rows


def _checks() -> list[dict[str, Any]]:
    table = explorer.open_table(FOLDER / f"masked-{ROWS}")
    ten = {f"c{number}": f"{CONDITION} AND id <> -{number + 1}" for number in range(10)}

    def held(predicates: dict[str, str]) -> Work:
        return lambda: check(table, table.snapshot(), predicates).result()

    found = _turns({"ten": held(ten), "one": held({"c": CONDITION})})
    return [_record(f"ten constraints on {ROWS:,} rows, beside one", found["ten"], found["one"], times=1.5)]


def _small_files() -> list[dict[str, Any]]:
    folder = FOLDER / f"small-{SMALL_FILES}"
    session, place = engine().session(), SMALL_FILES // 2
    file = folder / f"f{place:05}.parquet"

    def planned() -> None:
        table = explorer.open_table(folder)
        _ = table.rows()._jdf.queryExecution().executedPlan().toString()

    def found_by_filter() -> None:
        table = explorer.open_table(folder)
        assert scan(table, table.snapshot(), where=f"id = {place * 10}").to_arrow().num_rows == 1

    found = _turns(
        {
            "plan": planned,
            "filter": found_by_filter,
            "alone": lambda: session.read.parquet(str(file)).where(f"id = {place * 10}").toArrow(),
        }
    )
    files = f"{SMALL_FILES:,} small files"
    return [
        _record(f"plan of a scan of {files}, log included", found["plan"], None, most=3.0),
        _record(
            f"filtered read of one of {files}, log included", found["filter"], found["alone"], most=found["alone"] + 1
        ),
    ]


def _difference() -> list[dict[str, Any]]:
    table = explorer.open_table(FOLDER / f"changed-{ROWS}")

    def joined() -> object:
        before, after = table.rows(0), table.rows(1)
        both = before.alias("a").join(after.alias("b"), "id", "full")
        return both.where("NOT (a.amount <=> b.amount AND a.name <=> b.name AND a.kind <=> b.kind)").count()

    found = _turns({"ours": lambda: table.row_diff(0, 1, ["id"]).counts(), "join": joined}, rounds=3)
    what = f"row diff of {ROWS:,} rows, 1 % of files differ, beside the full join"
    return [_record(what, found["ours"], found["join"], times=0.1)]


def _first_rows(reference: bool) -> list[dict[str, Any]]:
    """The first rows, without Spark, beside other readers that open the table and read as many."""
    records = [_first_rows_of_s3()]
    for name in (f"masked-{ROWS}", f"small-{SMALL_FILES}", f"plain-{ROWS}", LINKED):
        most = 0.4 if name == LINKED else 0.15
        folder = str(FOLDER / name)
        late = _late(lambda folder=folder: explorer.open_table(folder).head(HEAD))
        records.append(_record(f"first {HEAD} rows of {name}, 95th percentile", late, None, most=most))
        ways = {"ours": lambda folder=folder: explorer.open_table(folder).head(HEAD)} | _other_heads(folder, reference)
        medians = _turns(ways)
        records += [
            _record(f"first {HEAD} rows of {name}, beside {other}", medians["ours"], seconds, times=1.0)
            for other, seconds in medians.items()
            if other != "ours"
        ]
    return records


def _first_rows_of_s3() -> dict[str, Any]:
    """The first rows of a table in a store that answers after 20 ms, once its log is read, as on a click on Data."""
    with slow_s3(FOLDER, 0.02) as s3:
        table = explorer.open_table(f"s3://warehouse/{LINKED}", storage_options=s3.options)
        _ = table.snapshot().num_files
        late = _late(lambda: table.head(HEAD))
    return _record(f"first {HEAD} rows of {LINKED} on S3, 20 ms a request, 95th percentile", late, None, most=0.5)


def _late(read: Callable[[], Any]) -> float:
    """The 95th percentile of the seconds of some reads."""
    times = []
    for _ in range(FIRST_ROWS):
        start = time.perf_counter()
        assert read().num_rows == HEAD
        times.append(time.perf_counter() - start)
    return statistics.quantiles(times, n=20)[-1]


def _other_heads(folder: str, reference: bool) -> dict[str, Work]:
    from deltalake import DeltaTable

    ways: dict[str, Work] = {"DuckDB": lambda: duckdb_table(f"SELECT * FROM delta_scan('{folder}') LIMIT {HEAD}")}
    if "plain" in folder:  # deltalake's dataset reads no table with deletion vectors
        ways["deltalake and pyarrow"] = lambda: DeltaTable(folder).to_pyarrow_dataset().head(HEAD)
    if reference:
        session = engine().session()
        ways["delta-spark"] = lambda: session.read.format("delta").load(folder).limit(HEAD).toArrow()
    return ways


def _record(
    what: str, ours: float, theirs: float | None, *, times: float | None = None, most: float | None = None
) -> dict[str, Any]:
    """``goal`` is the most seconds that ours may take."""
    goal = most if times is None or theirs is None else theirs * times
    return {"what": what, "ours": ours, "theirs": theirs, "times": times, "goal": goal}


def _prepare() -> None:
    _made(FOLDER / f"masked-{ROWS}", lambda folder: _write(folder, FILES, 0.05))
    _made(FOLDER / f"changed-{ROWS}", _changed)
    _made(FOLDER / f"small-{SMALL_FILES}", _small)
    _made(FOLDER / f"plain-{ROWS}", _plain)
    prepare_linked()


def prepare_linked() -> None:
    """Make the table of a thousand large files if it is not there yet."""
    _made(FOLDER / LINKED, _linked)


def _made(folder: Path, write: Callable[[Path], object]) -> None:
    if not folder.is_dir():
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        write(partial)
        partial.rename(folder)


def _write(folder: Path, files: int, masked: float) -> None:
    pick = np.random.default_rng(11)
    count = ROWS // files
    data = []
    for number in range(files):
        hidden = sorted(pick.choice(count, int(count * masked), replace=False).tolist())
        data.append(DataFile(f"f{number:03}.parquet", _values(pick, number * count, count), masked=hidden))
    write_table(folder, FIELDS, data, configuration={"delta.enableDeletionVectors": "true"})


def _values(pick: np.random.Generator, first: int, count: int) -> pa.Table:
    return pa.table(
        {
            "id": np.arange(first, first + count),
            "amount": pick.random(count) * 1000,
            "name": np.char.add("customer ", pick.integers(0, 10_000, count).astype(str)),
            "kind": pick.integers(0, 9, count).astype(np.int32),
        }
    )


def _changed(folder: Path) -> None:
    """A hundred files; the second version has one of them anew, with other amounts."""
    _write(folder, 100, 0)
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    old = pq.read_table(folder / "f007.parquet")
    amounts = pc.add(old.column("amount"), 1.0)
    pq.write_table(old.set_column(1, "amount", amounts), folder / "new.parquet")
    add = {
        "path": "new.parquet",
        "partitionValues": {},
        "size": (folder / "new.parquet").stat().st_size,
        "modificationTime": 1_700_000_001_000,
        "dataChange": True,
        "stats": json.dumps({"numRecords": old.num_rows}),
    }
    remove = {"path": "f007.parquet", "deletionTimestamp": 1_700_000_001_000, "dataChange": True}
    lines = [json.dumps({"add": add}), json.dumps({"remove": remove})]
    (folder / "_delta_log" / f"{1:020}.json").write_text("\n".join(lines) + "\n", "utf-8")


def _plain(folder: Path) -> None:
    """Twenty files, and no table feature, so that every reader reads it."""
    from deltalake import write_deltalake

    pick, count = np.random.default_rng(13), ROWS // FILES
    for number in range(FILES):
        write_deltalake(folder, _values(pick, number * count, count), mode="append")


def _linked(folder: Path) -> None:
    """A thousand files of a hundred megabytes: the names of one."""
    pick, count = np.random.default_rng(14), 1_100_000
    numbers = {f"d{place}": pick.random(count) for place in range(9)}
    names = np.char.add("customer ", pick.integers(0, 100_000, count).astype(str))
    notes = np.char.add("x", pick.integers(0, 2**40, count).astype(str))
    rows = pa.table({"id": np.arange(count), **numbers, "name": names, "note": notes})
    kinds = ["long", *["double"] * len(numbers), "string", "string"]
    fields = [column(name, kind) for name, kind in zip(rows.column_names, kinds, strict=True)]
    write_table(folder, fields, [DataFile("f0000.parquet", rows)])
    log = folder / "_delta_log" / f"{0:020}.json"
    *first, add = log.read_text("utf-8").splitlines()
    for number in range(1, 1_000):
        os.link(folder / "f0000.parquet", folder / f"f{number:04}.parquet")
    adds = [add.replace("f0000", f"f{number:04}") for number in range(1_000)]
    log.write_text("\n".join([*first, *adds]) + "\n", "utf-8")


def _small(folder: Path) -> None:
    """Files of ten rows, whose statistics tell them apart."""
    pick = np.random.default_rng(12)
    files = [DataFile(f"f{n:05}.parquet", _values(pick, n * 10, 10)) for n in range(SMALL_FILES)]
    write_table(folder, FIELDS, files)
    log = folder / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    for number, add in enumerate(line["add"] for line in lines if "add" in line):
        bounds = {"minValues": {"id": number * 10}, "maxValues": {"id": number * 10 + 9}, "nullCount": {"id": 0}}
        add["stats"] = json.dumps({"numRecords": 10, **bounds})
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
