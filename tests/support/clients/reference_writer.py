"""Talk to the reference writer, which runs in a process and a JVM of its own beside the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from pyarrow import feather

from explorer.core.errors import EngineUnavailable
from explorer.spark.engine.java import find_java
from tests.support.shared_tables import REPOSITORY


class ReferenceUnavailable(Exception):
    """The reference writer cannot be had here; the text says why."""


class ReferenceRefused(Exception):
    """The reference writer refused a command.

    Attributes:
        condition: Its error condition, for example ``DELTA_NEW_CHECK_CONSTRAINT_VIOLATION``; None if it gave none.
        java_class: The class of the exception.
    """

    def __init__(self, condition: str | None, java_class: str, message: str) -> None:
        super().__init__(message)
        self.condition = condition
        self.java_class = java_class


class ReferenceWriter:
    """The reference writer and reader. Paths are folders on this machine; rows come and go as Arrow tables.

    Args:
        folder: A scratch folder, for its log, its answers and what it needs.

    Raises:
        ReferenceUnavailable: There is no Java, or its jars cannot be fetched.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = (folder / "writer.log").open("w+b")
        try:
            java = find_java().home
        except EngineUnavailable as error:
            raise ReferenceUnavailable(str(error)) from error
        environ = {
            **os.environ,
            "JAVA_HOME": str(java),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.clients.reference_writer_process", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=REPOSITORY,
            env=environ,
            text=True,
            encoding="utf-8",
        )
        greeting = self._receive()
        if "error" in greeting:
            self.close()
            raise ReferenceUnavailable(f"it did not start: {greeting['error']['message'].splitlines()[0]}")
        self.coordinates: str = greeting["ready"]

    def sql(self, statement: str) -> pa.Table:
        """Run a statement, ``delta.`/folder` `` naming a table, and return its rows (without columns if it has none).

        Raises:
            ReferenceRefused: Spark or Delta refused it.
        """
        return self._table(self._ask(do="sql", statement=statement))

    def python(self, code: str, **names: str | int) -> pa.Table:
        """Run Python text in its process, with ``spark``, ``F``, ``DeltaTable``, ``os``, ``glob`` and ``names``.

        Returns:
            The rows of the DataFrame that the text calls ``answer``, if it does.
        """
        return self._table(self._ask(do="python", code=code, names=names))

    def rows(self, path: Path, version: int | None = None, hidden: Sequence[str] = ()) -> pa.Table:
        """The rows at a version (None: the newest), as this reader sees them.

        Args:
            path: The table.
            version: The version.
            hidden: Parts of ``_metadata`` to add as columns: ``row_id``, ``row_commit_version``, ``file_path``, ...
        """
        return self._table(self._ask(do="rows", path=str(path), version=version, hidden=list(hidden)))

    def changes(self, path: Path, first: int, last: int) -> pa.Table:
        """The change feed of a range of versions, both ends included."""
        return self._table(self._ask(do="changes", path=str(path), first=first, last=last))

    def commit(
        self, path: Path, rows: pa.Table, mode: str = "append", options: Mapping[str, str] | None = None
    ) -> None:
        """Write rows to a table, which is made if it is not there; ``options`` are those of the writer."""
        source = self._folder / f"{uuid.uuid4().hex}.arrow"
        feather.write_feather(rows, source, compression="uncompressed")
        self._ask(do="append", path=str(path), source=str(source), mode=mode, options=dict(options or {}))

    def history(self, path: Path) -> list[dict[str, Any]]:
        """DESCRIBE HISTORY, newest first."""
        return self.sql(f"DESCRIBE HISTORY delta.`{path}`").to_pylist(maps_as_pydicts="strict")

    def detail(self, path: Path) -> dict[str, Any]:
        """DESCRIBE DETAIL: protocol versions, features, properties, counts."""
        found: dict[str, Any] = self.sql(f"DESCRIBE DETAIL delta.`{path}`").to_pylist(maps_as_pydicts="strict")[0]
        return found

    def replay(self, step: Mapping[str, Any], path: Path) -> None:
        """Do one step of the reference tables (``steps/NAME.json``) on the table at ``path``.

        Raises:
            ReferenceRefused: As when it was recorded; the step says so in ``error``.
        """
        scratch = self._folder / "tmp"
        scratch.mkdir(exist_ok=True)
        if "sql" in step:
            self.sql(step["sql"].replace("<TABLE>", str(path)).replace("<TMP>", str(scratch)))
        else:
            self.python(step["python"], path=str(path), tmp=str(scratch))

    def forget(self) -> None:
        """Let go of tables kept in memory; needed if a table's folder was replaced by another table."""
        self._ask(do="forget")

    def close(self) -> None:
        """End its process."""
        stream: IO[str] | None = self._process.stdin
        if stream is not None:
            stream.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()

    def _ask(self, **command: Any) -> dict[str, Any]:
        stream = self._process.stdin
        assert stream is not None
        stream.write(json.dumps(command) + "\n")
        stream.flush()
        answer = self._receive()
        if "error" in answer:
            refused = answer["error"]
            raise ReferenceRefused(refused["condition"], refused["class"], refused["message"])
        return answer

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self._log.seek(0)
            said = self._log.read().decode("utf-8", "replace").strip().splitlines()[-3:]
            raise ReferenceUnavailable(f"its process ended with code {code}: {' '.join(said)}")
        found: dict[str, Any] = json.loads(line)
        return found

    def _table(self, answer: dict[str, Any]) -> pa.Table:
        return feather.read_table(answer["table"], memory_map=False) if "table" in answer else pa.table({})
