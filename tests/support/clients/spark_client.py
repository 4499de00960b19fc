"""delta-spark as one of the clients whose verdicts are held against what they do."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa

from tests.support.clients.other_clients import ClientRefused, Way
from tests.support.clients.reference_writer import ReferenceRefused, ReferenceWriter
from tests.support.clients.reference_writer_process import DELTA

__all__ = ["SPARK", "SparkClient"]

SPARK: Final = Way("delta-spark", DELTA, "delta-spark", writes=True)

_SETTINGS: Final = (
    # An append without a row is a commit as with the other clients, not nothing.
    ("spark.databricks.delta.skipRecordingEmptyCommits", "false"),
    # A timestamp without a zone in Arrow is one in Spark.
    ("spark.sql.timestampType", "TIMESTAMP_NTZ"),
)


class SparkClient:
    """delta-spark, through the reference writer.

    Args:
        writer: The reference writer.
    """

    def __init__(self, writer: ReferenceWriter) -> None:
        self._writer = writer

    def read(self, table: Path) -> pa.Table:
        """The rows of a table's newest version.

        Raises:
            ClientRefused: It did not read it.
        """
        try:
            return self._writer.rows(table)
        except ReferenceRefused as error:
            raise ClientRefused(f"{error.condition}: {error}") from error

    def append(self, table: Path, rows: pa.Table) -> None:
        """Append rows to a table.

        Raises:
            ClientRefused: It did not write them.
        """
        try:
            for name, value in _SETTINGS:
                self._writer.sql(f"SET {name}={value}")
            if rows.num_rows:
                self._writer.commit(table, rows)
            else:
                self._writer.sql(f"INSERT INTO delta.`{table}` SELECT * FROM delta.`{table}` LIMIT 0")
        except ReferenceRefused as error:
            raise ClientRefused(f"{error.condition}: {error}") from error
        finally:
            for name, _ in _SETTINGS:
                self._writer.sql(f"RESET {name}")
