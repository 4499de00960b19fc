"""Spread work on many tables over Spark's tasks; the workers receive this program.

Invariants: one row for each location, in the order given; the tasks receive their input inside the function that they
run, never in settings or plans.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from explorer.job import Job
from explorer.spark.engine.job import submit
from explorer.spark.engine.session import is_connect

Look = Callable[[str], dict[str, Any]]
"""Makes the row of a location: the values by column, ``location`` among them; it may not raise for a bad table."""

_MOST_TASKS: Final = 256
# Packages that the tasks do not need: pages, notebooks, figures, the demo.
_LEFT_OUT: Final = frozenset({"cli", "demo", "jupyter", "views", "web", "__pycache__"})
_equipped: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def map_tables(name: str, locations: Sequence[str], look: Look, schema: pa.Schema) -> Job[pa.Table]:
    """Make a row of each location.

    Args:
        name: What is being done, for people: ``Survey``.
        locations: Absolute paths and URLs.
        look: A function of this program that can be sent to another process.
        schema: Columns of the rows, ``location`` among them.

    Returns:
        A job, whose result has one row for each location, in their order.
    """
    count = f"{len(locations):,} {'table' if len(locations) == 1 else 'tables'}"
    return submit(f"{name} of {count}", lambda job: _mapped(job, locations, look, schema))


def _mapped(job: Job[pa.Table], locations: Sequence[str], look: Look, schema: pa.Schema) -> pa.Table:
    from pyspark.sql.pandas.types import from_arrow_schema

    from explorer.spark.engine.session import engine

    if not locations:
        return schema.empty_table()
    session = engine().session()
    job.report("Sending the program to the workers")
    equip(session)
    job.report(f"Reading {len(locations):,} logs")
    frame = session.createDataFrame(pa.table({"location": pa.array(list(dict.fromkeys(locations)), pa.string())}))
    tasks = frame.repartition(min(len(locations), _MOST_TASKS))
    table = tasks.mapInArrow(_task(look, schema), from_arrow_schema(schema)).toArrow()
    rows = {location: row for row, location in enumerate(table.column("location").to_pylist())}
    return table.take(pa.array([rows[location] for location in locations]))


def _task(look: Look, schema: pa.Schema) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for location in batch.column("location").to_pylist():
                yield pa.RecordBatch.from_pylist([look(location)], schema=schema)

    return work


def equip(session: Any) -> None:
    """Send this program to the workers, once for each session; the packages it needs must be installed there."""
    if session in _equipped:
        return
    if is_connect(session):
        session.addArtifacts(package(), pyfile=True)
    else:
        session.sparkContext.addPyFile(package())
    _equipped.add(session)


@functools.cache
def package() -> str:
    """Return the program as a zip file; it lives as long as this process."""
    folder = tempfile.mkdtemp(prefix="delta-table-explorer-package-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    root = Path(__file__).resolve().parents[1]
    target = os.path.join(folder, "explorer.zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as package:
        for file in sorted(root.rglob("*")):
            inside = file.relative_to(root)
            if file.is_file() and not _LEFT_OUT.intersection(inside.parts):
                package.write(file, str(Path("explorer") / inside))
    return target
