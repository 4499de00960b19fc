"""Columns of a read that describe a row: its file and place, and the ID and commit version that row tracking gives it.

Protocol section: Row Tracking. Invariants: places come from Spark's metadata of what it reads, so a table may have any
column; they start at 0 and count masked rows. An ID is the one materialised in the file where it is not null, otherwise
the file's base row ID plus the row's place; a commit version is the materialised one, otherwise the file's default
(ROWTRACK-006); both are null wherever the log gives none, never guessed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

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

_PLACE_FILE: Final = "__explorer_place_file"
_COLUMNS: Final = ("_file", "_row_index", "_row_id", "_row_commit_version")
# The name of each column of the log in the plan: table columns have other names there, so none can be equal.
_FACTS: Final[dict[str, tuple[str, st.DataType, pa.DataType]]] = {
    "path": ("__explorer_identity_file", st.StringType(), pa.string()),
    "base_row_id": ("__explorer_identity_base", st.LongType(), pa.int64()),
    "default_row_commit_version": ("__explorer_identity_version", st.LongType(), pa.int64()),
}
_MATERIALISED: Final = "__explorer_identity_m"


@dataclass(frozen=True, slots=True)
class RowMarks:
    """Columns after the table's own that describe a row.

    Attributes:
        given: The columns by name: the type in SQL, and what makes the value from the row's index.
        known: What the plan knows of each file, by name: the type, and what makes a value for each row of a table of
            files.
        stored: Columns of the files by the name that ``given`` uses: the physical name and the type; null where a
            file has no such column.
    """

    given: Mapping[str, tuple[str, Callable[[Column], Column]]]
    known: Mapping[str, tuple[st.DataType, Callable[[pa.Table], Any]]]
    stored: Mapping[str, tuple[str, st.DataType]] = dataclasses.field(default_factory=dict)

    def read_fields(self) -> list[st.StructField]:
        """Return the fields to read from files on top of the table's columns."""
        return [st.StructField(name, kind) for name, kind in self.stored.values()]

    def read_columns(self) -> list[Column]:
        """Return the values of `read_fields` under the names of ``stored``."""
        return [sf.col(quoted(name)).alias(alias) for alias, (name, _) in self.stored.items()]

    def fact_fields(self) -> list[st.StructField]:
        """Return the types of `facts`."""
        return [st.StructField(name, kind) for name, (kind, _) in self.known.items()]

    def facts(self, files: pa.Table) -> dict[str, Any]:
        """Return what is known of each file, one value for each row of ``files``."""
        return {name: value(files) for name, (_, value) in self.known.items()}

    def columns(self, row_index: Column) -> list[Column]:
        """Return the columns, over those of `read_columns` and `facts`."""
        return [value(row_index).alias(name) for name, (_, value) in self.given.items()]

    def no_columns(self) -> list[Column]:
        """Return the columns of no rows."""
        return [sf.lit(None).cast(kind).alias(name) for name, (kind, _) in self.given.items()]


def place_marks(schema: StructType) -> RowMarks:
    """Return two columns: the number of a row's file, from 0, in the order that is read, and the row's place there."""
    known = (st.IntegerType(), lambda files: pa.array(np.arange(files.num_rows, dtype=np.int32)))
    file, row = free_name("_file_number", schema), free_name("_row_index", schema)
    given = {file: ("int", lambda _: sf.col(_PLACE_FILE)), row: ("long", lambda row_index: row_index)}
    return RowMarks(given, {_PLACE_FILE: known})


def row_identity(snapshot: Snapshot, schema: StructType) -> RowMarks:
    """Return the identity columns of a snapshot.

    Args:
        schema: The table's columns as they are read.

    Raises:
        RequestError: A column of the table has the name of one of them.
        CorruptTable: Rows are tracked, but the columns with materialised ids are not named, or have the name of a
            column of the table, so that IDs are not known.
    """
    for field in schema.fields:
        if field.name.lower() in _COLUMNS:
            raise RequestError(
                f"The table has a column {field.name!r} at version {snapshot.version}, the name that a column of "
                "row identity would have. Read the rows without their identity.",
                column=field.name,
                version=snapshot.version,
            )
    tracking = snapshot.row_tracking
    if not tracking.enabled:
        return _identity(None)
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
                f"Version {snapshot.version} stores materialised row ids or commit versions in a column {name!r}, "
                "which is also another column, so they are not known. Rows can be read without their identity.",
                column=name,
                version=snapshot.version,
            )
    return _identity((row_id, version))


def _identity(materialised: tuple[str, str] | None) -> RowMarks:
    """Return the four columns; the names are those of the columns in files with IDs and with commit versions."""
    path, base, default = (name for name, _, _ in _FACTS.values())

    def row_id(row_index: Column) -> Column:
        return _or_null(materialised, lambda: sf.coalesce(sf.col(f"{_MATERIALISED}0"), sf.col(base) + row_index))

    def version(_: Column) -> Column:
        return _or_null(materialised, lambda: sf.coalesce(sf.col(f"{_MATERIALISED}1"), sf.col(default)))

    values = (lambda _: sf.col(path), lambda row_index: row_index, row_id, version)
    kinds = ("string", "long", "long", "long")
    return RowMarks(
        {name: (kind, value) for name, kind, value in zip(_COLUMNS, kinds, values, strict=True)},
        {name: (kind, partial(_fact, source, arrow)) for source, (name, kind, arrow) in _FACTS.items()},
        {f"{_MATERIALISED}{place}": (name, st.LongType()) for place, name in enumerate(materialised or ())},
    )


def _or_null(materialised: tuple[str, str] | None, value: Callable[[], Column]) -> Column:
    return sf.lit(None).cast("long") if materialised is None else value()


def _fact(source: str, kind: pa.DataType, files: pa.Table) -> Any:
    return files.column(source).cast(kind)


def free_name(name: str, schema: StructType) -> str:
    """Return the name, with more underscores in front if the table has a column of it."""
    taken = {field.name.lower() for field in schema.fields}
    while name in taken:
        name = f"_{name}"
    return name
