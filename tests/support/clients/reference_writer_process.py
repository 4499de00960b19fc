"""The reference writer in a process of its own: JSON commands on standard input, JSON answers on standard output.

It has a JVM beside ours, as one JVM holds one set of jars. A command is one line, ``{"do": ..., ...}``; its answer is
one line too: ``{"table": path}`` with the rows in an Arrow file at ``path``, ``{}`` for nothing, or ``{"error": ...}``.
Run as ``python -m tests.support.clients.reference_writer_process FOLDER``; it ends with its standard input.
"""

from __future__ import annotations

import glob
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyarrow import feather
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

DELTA = "4.4.0"


def coordinates() -> str:
    """Where Maven Central keeps the reference writer for the PySpark that is installed."""
    spark = ".".join(version("pyspark").split(".")[:2])
    return f"io.delta:delta-spark_{spark}_2.13:{DELTA}"


def start(folder: Path) -> SparkSession:
    """A session with the reference writer; its jars are fetched at the first time."""
    settings = {
        "spark.jars.packages": coordinates(),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        # It rebuilds a table's state in 50 tasks by default: ten seconds for each command on a small machine.
        "spark.databricks.delta.snapshotPartitions": "1",
        # The tables are tiny: compiling a query takes longer than running it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} -XX:TieredStopAtLevel=1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[1]").appName("reference-writer")
    session = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    # The classes load now, so that a jar which is not there ends the start and not the first test.
    session.sql("SELECT 1").collect()
    return session


class Commands:
    """What can be asked; each method is one command."""

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self._answers = 0

    def sql(self, statement: str) -> dict[str, Any]:
        """Run a statement."""
        return self._answer(self._session.sql(statement))

    def python(self, code: str, names: dict[str, Any]) -> dict[str, Any]:
        """Run Python text as the reference tables' steps have it: ``spark``, ``path``, ``tmp``, ``F`` are there."""
        from delta.tables import DeltaTable

        known = {"spark": self._session, "F": sf, "glob": glob, "os": os, "DeltaTable": DeltaTable, **names}
        exec(code, known)  # noqa: S102 - the text is the test's own, or a recorded step of the reference tables
        found = known.get("answer")
        return self._answer(found) if isinstance(found, DataFrame) else {}

    def rows(self, path: str, version: int | None, hidden: list[str]) -> dict[str, Any]:
        """The rows at a version; ``hidden`` names columns of ``_metadata`` to add."""
        reader = self._session.read.format("delta")
        frame = (reader if version is None else reader.option("versionAsOf", version)).load(path)
        return self._answer(frame.select("*", *(f"_metadata.{name}" for name in hidden)))

    def changes(self, path: str, first: int, last: int) -> dict[str, Any]:
        """The change feed of a range, both ends included."""
        reader = self._session.read.format("delta").option("readChangeFeed", "true")
        return self._answer(reader.option("startingVersion", first).option("endingVersion", last).load(path))

    def append(self, path: str, source: str, mode: str, options: dict[str, str]) -> dict[str, Any]:
        """Write the rows of an Arrow file to a table."""
        frame = self._session.createDataFrame(feather.read_table(source))
        frame.write.format("delta").mode(mode).options(**options).save(path)
        return {}

    def forget(self) -> dict[str, Any]:
        """Let go of every table that is kept in memory, as after another table was put in a table's place."""
        self._session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
        return {}

    def _answer(self, frame: DataFrame) -> dict[str, Any]:
        self._answers += 1
        target = self._folder / f"answer-{self._answers}.arrow"
        if not frame.columns:
            return {}
        # A variant as the recorded expectations have it: its JSON text.
        shown = []
        for field in frame.schema.fields:
            column = sf.col(f"`{field.name.replace('`', '``')}`")
            shown.append(sf.to_json(column).alias(field.name) if isinstance(field.dataType, st.VariantType) else column)
        # Not toArrow: it refuses nulls in what the schema calls not null, as the metrics of OPTIMIZE are.
        batches = frame.select(*shown)._collect_as_arrow(empty_list_if_zero_records=False)
        feather.write_feather(pa.Table.from_batches(batches), target, compression="uncompressed")
        return {"table": str(target)}


def _refusal(error: Exception) -> dict[str, Any]:
    """The error as the steps of the reference tables state it."""
    java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    name = java.getClass().getName() if java is not None else f"{type(error).__module__}.{type(error).__qualname__}"
    try:
        condition = getattr(error, "getCondition", lambda: None)()
        if condition is None and java is not None:
            condition = java.getErrorClass()
    except Py4JError:
        # A plain Java exception has no condition, and py4j tells that only when it is asked.
        condition = None
    return {"class": name, "condition": condition, "message": str(error)}


def _serve(session: SparkSession, folder: Path, say: Callable[[dict[str, Any]], None]) -> None:
    commands = Commands(session, folder)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(commands, asked.pop("do"))(**asked)
        except Exception as error:  # noqa: BLE001 - whatever the reference raises is the answer
            answer = {"error": _refusal(error)}
        say(answer)


def main(folder: Path) -> None:
    """Serve until standard input ends."""
    # The JVM writes to standard output too: answers go to a copy of it that only they use.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        session = start(folder)
    except Exception as error:  # noqa: BLE001 - told to the test session, which skips or fails with it
        say({"error": _refusal(error)})
        return
    say({"ready": coordinates(), "spark": session.version, "arrow": pa.__version__})
    _serve(session, folder, say)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
