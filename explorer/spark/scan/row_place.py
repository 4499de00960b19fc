"""Where a row is: the number of its file in a list of files, and its place in that file.

Invariants: both come from Spark's metadata of what it reads, so a table may have any column; places start at 0 and
count masked rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.protocol.schema.data_types import StructType

__all__ = ["RowPlace", "free_name"]

_FACT: Final = "__explorer_place_file"


def free_name(name: str, schema: StructType) -> str:
    """The name, with more underscores in front if the table has a column of it."""
    taken = {field.name.lower() for field in schema.fields}
    while name in taken:
        name = f"_{name}"
    return name


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Two columns after those of the table; marks of a layout.

    Attributes:
        file: Name of the column with the file's number, from 0, in the order of the files that are read.
        row: Name of the column with the row's place in its file.
    """

    file: str
    row: str

    @classmethod
    def beside(cls, schema: StructType) -> RowPlace:
        """Names that no column of the table has."""
        return cls(free_name("_file_number", schema), free_name("_row_index", schema))

    def read_fields(self) -> list[st.StructField]:
        """Nothing: files do not hold the places of their rows."""
        return []

    def read_columns(self) -> list[Column]:
        """Nothing."""
        return []

    def fact_fields(self) -> list[st.StructField]:
        """Type of `facts`."""
        return [st.StructField(_FACT, st.IntegerType())]

    def facts(self, files: pa.Table) -> dict[str, Any]:
        """The numbers of the files."""
        return {_FACT: pa.array(np.arange(files.num_rows, dtype=np.int32))}

    def columns(self, row_index: Column) -> list[Column]:
        """The two columns."""
        return [sf.col(_FACT).alias(self.file), row_index.alias(self.row)]

    def no_columns(self) -> list[Column]:
        """The two columns of no rows."""
        return [sf.lit(None).cast("int").alias(self.file), sf.lit(None).cast("long").alias(self.row)]
