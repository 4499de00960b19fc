"""Spread work on many tables over Spark's tasks; the workers receive this program.

Invariants: one row for each location, in the order given; the tasks receive their input inside the function that they
run, never in settings or plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from explorer.job import Job
from explorer.spark.engine.job import submit
from explorer.spark.engine.shipped import equip

Look = Callable[[str], dict[str, Any]]
"""Makes the row of a location: the values by column, ``location`` among them; it may not raise for a bad table."""

_MOST_TASKS: Final = 256


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
