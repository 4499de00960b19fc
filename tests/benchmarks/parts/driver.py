"""Memory of this process and of its JVM, while rows of tables of several sizes are written, and while they are fetched.

Each size has processes of its own. One appends rows that Spark makes, updates some and deletes some. The other fetches
all rows of a table whose one file has one row group, and writes them to a file.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, Final

import explorer
from explorer.cli.row_files import write_rows
from explorer.new_table import new_table
from explorer.spark.engine.session import engine
from explorer.spark.rows.batches import row_batches
from explorer.spark.rows.row_streams import version_stream
from tests.benchmarks import large_file
from tests.benchmarks.operation import peak_megabytes
from tests.benchmarks.runs import run
from tests.benchmarks.sets import FOLDER

WAYS: Final = ("written", "fetched")
SIZES: Final = (1_000_000, 5_000_000, 20_000_000)
_INTENTS: Final[tuple[dict[str, Any], ...]] = (
    {"kind": "append", "source": "rows"},
    {"kind": "update", "set": {"amount": "amount + 1"}, "where": "id % 100 = 7"},
    {"kind": "delete", "where": "id % 1000 = 9"},
)
_FIELDS: Final = (("id", "long"), ("amount", "double"), ("name", "string"))


def measure() -> Iterator[dict[str, Any]]:
    """One record a size and way: its rows, and the peaks of the process and of its JVM in MB."""
    for way in WAYS:
        for rows in SIZES:
            yield {"way": way, "rows": rows, **run(__name__, way, str(rows))}


def main() -> None:
    """Print the peaks of the way that the first argument says, for as many rows as the second one does."""
    way, count = sys.argv[1], int(sys.argv[2])
    folder = FOLDER / "driver"
    shutil.rmtree(folder, ignore_errors=True)
    (_written if way == "written" else _fetched)(folder, count)
    print(json.dumps({"peak": peak_megabytes(), "jvm": _peak_of_jvm()}))
    engine().stop()
    shutil.rmtree(folder)


def _written(folder: Path, count: int) -> None:
    place = new_table(folder)
    schema = {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _FIELDS],
    }
    properties = {"delta.enableDeletionVectors": "true"}
    place.commit(place.plan({"kind": "create-table", "schema": schema, "properties": properties}))
    table = place.open()
    made = engine().session().range(count)
    rows = made.selectExpr("id", "CAST(id % 9973 AS DOUBLE) / 7 AS amount", "concat('name ', id % 1009) AS name")
    for intent in _INTENTS:
        result = table.commit(table.plan(intent, rows=rows if "source" in intent else None))
        assert result.outcome == "committed", result


def _fetched(folder: Path, count: int) -> None:
    run(large_file.__name__, str(folder), str(count))
    table = explorer.open_table(folder)
    stream = version_stream(table, table.snapshot(), None)
    with closing(row_batches(stream, lambda _: nullcontext())) as batches:
        found = write_rows(folder / "rows.parquet", stream.schema, batches)
    assert found == count, found


def _peak_of_jvm() -> float:
    """The most memory that the JVM held, in MB."""
    jvm = engine().session().sparkContext._jvm
    assert jvm is not None
    return peak_megabytes(int(jvm.java.lang.ProcessHandle.current().pid()))


if __name__ == "__main__":
    main()
