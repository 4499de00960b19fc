"""Columns of a read that describe a row: its file and place, and the ID and commit version that row tracking gives it.

Protocol section: Row Tracking. Invariants: places come from Spark's metadata of what it reads, so a table may have any
column; they start at 0 and count masked rows. An ID is the one materialised in the file where it is not null, otherwise
the file's base row ID plus the row's place; a commit version is the materialised one, otherwise the file's default
(ROWTRACK-006); both are null wherever the log gives none, never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import CorruptTable, RequestError
from explorer.core.protocol.schema.data_types import StructType
from explorer.spark.scan.physical import quoted

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["RowIdentity", "RowMarks", "RowPlace", "free_name", "row_identity"]

_PLACE_FILE: Final = "__explorer_place_file"
_FILE: Final = "_file"
_ROW_INDEX: Final = "_row_index"
_ROW_ID: Final = "_row_id"
_COMMIT_VERSION: Final = "_row_commit_version"
_COLUMNS: Final = (_FILE, _ROW_INDEX, _ROW_ID, _COMMIT_VERSION)
# The name of each column of the log in the plan: table columns have other names there, so none can be equal.
_FACTS: Final[dict[str, tuple[str, st.DataType, pa.DataType]]] = {
    "path": ("__explorer_identity_file", st.StringType(), pa.string()),
    "base_row_id": ("__explorer_identity_base", st.LongType(), pa.int64()),
    "default_row_commit_version": ("__explorer_identity_version", st.LongType(), pa.int64()),
}
_MATERIALISED: Final = "__explorer_identity_m"


class RowMarks(Protocol):
    """Columns after the table's own."""

    def read_fields(self) -> list[st.StructField]:
        """Return the fields to read from files on top of the table's columns; null where a file has no such column."""

    def read_columns(self) -> list[Column]:
        """Return the values of `read_fields`, under the names that `columns` expects."""

    def fact_fields(self) -> list[st.StructField]:
        """Return the types of `facts`."""

    def facts(self, files: pa.Table) -> dict[str, Any]:
        """Return what is known of each file, one value for each row of ``files``."""

    def columns(self, row_index: Column) -> list[Column]:
        """Return the columns, over those of `read_columns` and `facts`."""

    def no_columns(self) -> list[Column]:
        """Return the columns of no rows."""


@dataclass(frozen=True, slots=True)
class RowPlace:
    """The place of a row, as two columns.

    Attributes:
        file: Name of the column with the file's number, from 0, in the order of the files that are read.
        row: Name of the column with the row's place in its file.
    """

    file: str
    row: str

    @classmethod
    def for_table(cls, schema: StructType) -> RowPlace:
        """Choose names that no column of the table has."""
        return cls(free_name("_file_number", schema), free_name("_row_index", schema))

    def read_fields(self) -> list[st.StructField]:
        """See `RowMarks.read_fields`."""
        return []

    def read_columns(self) -> list[Column]:
        """See `RowMarks.read_columns`."""
        return []

    def fact_fields(self) -> list[st.StructField]:
        """Type of `facts`."""
        return [st.StructField(_PLACE_FILE, st.IntegerType())]

    def facts(self, files: pa.Table) -> dict[str, Any]:
        """See `RowMarks.facts`."""
        return {_PLACE_FILE: pa.array(np.arange(files.num_rows, dtype=np.int32))}

    def columns(self, row_index: Column) -> list[Column]:
        """See `RowMarks.columns`."""
        return [sf.col(_PLACE_FILE).alias(self.file), row_index.alias(self.row)]

    def no_columns(self) -> list[Column]:
        """See `RowMarks.no_columns`."""
        return [sf.lit(None).cast("int").alias(self.file), sf.lit(None).cast("long").alias(self.row)]


@dataclass(frozen=True, slots=True)
class RowIdentity:
    """The identity columns of one version.

    Attributes:
        materialised: Physical names of the columns with ids and with commit versions; None if rows are not tracked.
    """

    materialised: tuple[str, str] | None

    def read_fields(self) -> list[st.StructField]:
        """See `RowMarks.read_fields`."""
        return [st.StructField(name, st.LongType()) for name in self.materialised or ()]

    def read_columns(self) -> list[Column]:
        """See `RowMarks.read_columns`."""
        names = self.materialised or ()
        return [sf.col(quoted(name)).alias(f"{_MATERIALISED}{index}") for index, name in enumerate(names)]

    def fact_fields(self) -> list[st.StructField]:
        """See `RowMarks.fact_fields`."""
        return [st.StructField(name, kind) for name, kind, _ in _FACTS.values()]

    def facts(self, files: pa.Table) -> dict[str, Any]:
        """See `RowMarks.facts`."""
        return {name: files.column(source).cast(kind) for source, (name, _, kind) in _FACTS.items()}

    def columns(self, row_index: Column) -> list[Column]:
        """See `RowMarks.columns`."""
        path, base, default = (sf.col(name) for name, _, _ in _FACTS.values())
        row_id = version = sf.lit(None).cast("long")
        if self.materialised is not None:
            row_id = sf.coalesce(sf.col(f"{_MATERIALISED}0"), base + row_index)
            version = sf.coalesce(sf.col(f"{_MATERIALISED}1"), default)
        values = (path, row_index, row_id, version)
        return [value.alias(name) for value, name in zip(values, _COLUMNS, strict=True)]

    def no_columns(self) -> list[Column]:
        """See `RowMarks.no_columns`."""
        kinds = ("string", "long", "long", "long")
        return [sf.lit(None).cast(kind).alias(name) for kind, name in zip(kinds, _COLUMNS, strict=True)]


def row_identity(snapshot: Snapshot, schema: StructType) -> RowIdentity:
    """Return the identity columns of a snapshot.

    Args:
        snapshot: The version to read.
        schema: The table's columns as they are read.

    Raises:
        RequestError: A column of the table has the name of one of them.
        CorruptTable: Rows are tracked, but the columns with materialised ids are not named, or have the name of a
            column of the table, so that IDs are not known.
    """
    for field in schema.fields:
        if field.name.lower() in _COLUMNS:
            raise RequestError(
                f"The table has a column {field.name!r} at version {snapshot.version}, which is the name of a column "
                "of row identity. Read its rows without their identity.",
                column=field.name,
                version=snapshot.version,
            )
    tracking = snapshot.row_tracking
    if not tracking.enabled:
        return RowIdentity(None)
    row_id, version = tracking.row_id_column, tracking.row_commit_version_column
    if row_id is None or version is None:
        raise CorruptTable(
            f"Version {snapshot.version} tracks rows, but its properties do not name the columns with materialised row "
            "ids and commit versions, so the ids of rows that were moved are not known. Rows can be read without "
            "their identity.",
            version=snapshot.version,
        )
    taken = [field.physical_name.lower() for field in schema.fields]
    for name, others in ((row_id, taken), (version, [*taken, row_id.lower()])):
        if name.lower() in others:
            raise CorruptTable(
                f"Version {snapshot.version} keeps materialised row ids or commit versions in a column {name!r}, which "
                "is another column too, so they are not known. Rows can be read without their identity.",
                column=name,
                version=snapshot.version,
            )
    return RowIdentity((row_id, version))


def free_name(name: str, schema: StructType) -> str:
    """Return the name, with more underscores in front if the table has a column of it."""
    taken = {field.name.lower() for field in schema.fields}
    while name in taken:
        name = f"_{name}"
    return name
