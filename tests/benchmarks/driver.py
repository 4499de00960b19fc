"""Memory of the process that plans and commits, while rows of tables of several sizes are written.

Each size has a process of its own, which appends rows that Spark makes, updates some and deletes some.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from typing import Any, Final

from explorer.new_table import new_table
from explorer.spark.engine.session import engine
from tests.benchmarks.operation import peak_megabytes
from tests.benchmarks.runs import run
from tests.benchmarks.sets import FOLDER

SIZES: Final = (1_000_000, 5_000_000, 20_000_000)
_INTENTS: Final[tuple[dict[str, Any], ...]] = (
    {"kind": "append", "source": "rows"},
    {"kind": "update", "set": {"amount": "amount + 1"}, "where": "id % 100 = 7"},
    {"kind": "delete", "where": "id % 1000 = 9"},
)
_FIELDS: Final = (("id", "long"), ("amount", "double"), ("name", "string"))


def measure() -> Iterator[dict[str, Any]]:
    """One record a size: its rows, and the peaks of the process and of its JVM in MB."""
    for rows in SIZES:
        yield {"rows": rows, **run("driver", str(rows))}


def main() -> None:
    """Print the peaks for as many rows as the argument says."""
    count, folder = int(sys.argv[1]), FOLDER / "driver"
    shutil.rmtree(folder, ignore_errors=True)
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
    print(json.dumps({"peak": peak_megabytes(), "jvm": _peak_of_jvm()}))
    engine().stop()
    shutil.rmtree(folder)


def _peak_of_jvm() -> float:
    """The most memory that the JVM held, in MB."""
    jvm = engine().session().sparkContext._jvm
    assert jvm is not None
    return peak_megabytes(int(jvm.java.lang.ProcessHandle.current().pid()))


if __name__ == "__main__":
    main()
