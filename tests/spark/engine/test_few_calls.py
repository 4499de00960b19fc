"""A read of rows asks the JVM few things: each question takes a fraction of a millisecond, and there are hundreds."""

from collections import Counter
from pathlib import Path
from typing import Any

import py4j.clientserver
import pyarrow as pa
import pyspark.errors.utils
import pytest

import explorer
from explorer.spark.engine.session import Engine
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = pytest.mark.spark

MOST = 300
"""The plan of a read of masked rows under a condition takes 217 questions, and 586 where each function of columns asks
where it was called from."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What was asked of the JVM, by the kind of question; objects that are let go of are not counted."""
    found: Counter[str] = Counter()
    real = py4j.clientserver.JavaClient.send_command

    def send(self: Any, command: str, *args: Any, **named: Any) -> Any:
        if not command.startswith("m\nd"):
            found[command.partition("\n")[0]] += 1
        return real(self, command, *args, **named)

    monkeypatch.setattr(py4j.clientserver.JavaClient, "send_command", send)
    # Whether functions ask is settled at the first of them, by the session that is active then.
    monkeypatch.setattr(pyspark.errors.utils, "_enable_debugging_cache", None)
    return found


def test_a_read_of_rows_is_planned_with_few_questions(
    asked: Counter[str], spark_engine: Engine, tmp_path: Path
) -> None:
    columns = [column("id", "long"), column("name", "string"), column("day", "date"), column("p", "integer")]
    rows = pa.table({"id": [1, 2], "name": ["a", "b"], "day": pa.array([1, 2], pa.date32())})
    table = explorer.open_table(
        write_table(tmp_path / "t", columns, [DataFile("1.parquet", rows, {"p": "7"}, (0,))], ["p"])
    )
    # From now on the session is the active one, as it is for who made rows of their own.
    spark_engine.session().createDataFrame([(1,)], "id int")
    asked.clear()
    frame = table.rows(where="id > 1 AND name < 'c'")
    planned = sum(asked.values())
    assert [row.id for row in frame.collect()] == [2]
    # A Connect server is sent the whole plan.
    assert spark_engine.connected_remotely or 0 < planned < MOST, asked
