"""The plan of new files, as plain values that go to Spark's workers with the code that writes them.

Protocol sections: Data Files, Add CDC File, Identity Columns. Invariants: columns go by their places, so a name of the
table means nothing where the files are written; change files hold no partition columns and get no statistics.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from explorer.core.protocol.arrow.arrow_types import physical_arrow_schema
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField
from explorer.core.transaction.new_files.file_facts import Numbering
from explorer.core.transaction.new_files.layout import ROWS_PER_FILE, FileLayout, stored_fields

CHANGE_TYPE: Final = "_change_type"
"""The column of a change file with the type of the change."""
_CHANGE_FOLDER: Final = "_change_data/"
_NO_BOUNDS: Final = frozenset(["boolean", "binary", "variant"])


def fresh_name() -> str:
    """Make the unique part of the name of a file."""
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Leaf:
    """A leaf to describe: its physical path, and whether it gets bounds (floats with a NaN or an infinity get none)."""

    path: tuple[str, ...]
    bounds: bool


@dataclass(frozen=True)
class FilePlan:
    """How rows become files.

    The rows have the stored columns first, then the partition columns, then a boolean column for each rule, true where
    the row breaks it, and at last, where rows are grouped, the number of their group.

    Attributes:
        name: The files' names; ``{}`` takes what makes them unique.
        folder: A folder under the root for all files, with a slash at its end; empty for none.
        schema: The stored columns, physical names and types.
        partitions: The types of the partition columns, as the schema of the table names them.
        shown: The names of the partition columns in folders; None where files lie at the root.
        rules: How many rules there are.
        leaves: What to describe.
        marks: Logical names of the identity columns that were filled, and whether their values rise; their leaves are
            the last ones.
        codec: The compression.
        most_rows: The most rows of a file.
        grouped: A file holds rows of one group.
        new_id: Gives what makes a name unique.
        durable: A file has reached the disk before it is spoken of.
        store: An obstore store; None where files go to a folder of the machine.
        root: The folder, or the prefix of keys in the store, with a slash at its end.
        allowed: The real folders that a file may be made in; None for every folder. Means nothing in a store.
        secrets: Texts that no error may contain.
    """

    name: str
    folder: str
    schema: pa.Schema
    partitions: tuple[str, ...]
    shown: tuple[str, ...] | None
    rules: int
    leaves: tuple[Leaf, ...]
    marks: Mapping[str, bool]
    codec: str
    most_rows: int
    grouped: bool
    new_id: Callable[[], str] = fresh_name
    durable: bool = True
    store: Any = None
    root: str = ""
    allowed: tuple[str, ...] | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def changes(self) -> bool:
        """Whether the files are change files."""
        return self.folder == _CHANGE_FOLDER


def file_plan(
    layout: FileLayout,
    *,
    extra: Sequence[str] = (),
    rules: int = 0,
    numbered: Sequence[Numbering] = (),
    changes: bool = False,
    grouped: bool = False,
    most_rows: int = ROWS_PER_FILE,
) -> FilePlan:
    """Plan the files of some rows; where they go is still open.

    Args:
        extra: Further columns of whole numbers that go into the files, such as materialised row ids.
        rules: How many rules the rows are judged by.
        numbered: The identity columns that were filled.
        changes: They are change files, whose rows have `CHANGE_TYPE` too.
        grouped: A file holds rows of one group.
        most_rows: The most rows of a file.
    """
    chosen = {one.column: one.step > 0 for one in numbered}
    marked = [own for own in layout.schema.fields if own.name in chosen]
    described = () if changes else layout.described
    leaves = (*described, *(((own.physical_name,), own) for own in marked))
    partitions = layout.metadata.partition_columns
    further = [pa.field(name, pa.int64()) for name in extra]
    further += [pa.field(CHANGE_TYPE, pa.string())] if changes else []
    return FilePlan(
        name=layout.file_name("cdc-00000-{}.c000" if changes else "part-00000-{}-c000"),
        folder=_CHANGE_FOLDER if changes else "",
        schema=pa.schema([*physical_arrow_schema(held_fields(layout, changes=changes)), *further]),
        partitions=tuple(_type_name(layout, name) for name in partitions),
        shown=layout.folder_names(),
        rules=rules,
        leaves=tuple(Leaf(path, _has_bounds(own)) for path, own in leaves),
        marks={own.name: chosen[own.name] for own in marked},
        codec=layout.codec,
        most_rows=most_rows,
        grouped=grouped,
    )


def held_fields(layout: FileLayout, *, changes: bool) -> tuple[StructField, ...]:
    """Return the fields that the files hold; change files never hold partition columns."""
    return stored_fields(layout.schema, layout.metadata.partition_columns) if changes else layout.stored


def _type_name(layout: FileLayout, column: str) -> str:
    field = layout.schema.field(column)
    assert field is not None, f"{column} is a partition column that the schema lacks"
    assert isinstance(field.type, PrimitiveType)
    return field.type.name


def _has_bounds(own: StructField) -> bool:
    return isinstance(own.type, PrimitiveType) and own.type.name not in _NO_BOUNDS
