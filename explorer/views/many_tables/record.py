"""One record batch of the traits of all tables of a list: made when one of them changes, and kept until then.

Invariant: a row for each table, in the order of the list; no filter makes a Python object of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Float64s, Int64s, floats, int64s, numpy_array
from explorer.views.many_tables.traits import TableTraits, text_list

MANY: Final = ("folder", "finding", "feature", "protocol", "writer", "engine", "owner", "catalog", "column", "type")
"""Columns that are lists of texts."""
AMOUNTS: Final = ("last", "size", "files")
"""Columns that are integers, null where unknown."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of lists of texts, flattened.

    Attributes:
        values: The distinct texts.
        codes: For each element, which of them it is.
        rows: For each element, the row that it belongs to.
    """

    values: pa.StringArray
    codes: Int64s
    rows: Int64s


class TraitsRecord:
    """The traits of the tables of a list.

    Args:
        traits: Those of each table.

    Attributes:
        batch: A column for each trait: lists of texts for `MANY`, integers for `AMOUNTS`; ``type`` is that of the
            element of ``column`` at the same place.
    """

    def __init__(self, traits: Sequence[TableTraits]) -> None:
        lists = {
            "folder": text_list([each.folders for each in traits]),
            "finding": text_list([each.findings for each in traits]),
            "feature": text_list([each.features for each in traits]),
            "protocol": text_list([_one(each.protocol) for each in traits]),
            "writer": text_list([each.writers for each in traits]),
            "engine": text_list([each.engines for each in traits]),
            "owner": text_list([_one(each.owner) for each in traits]),
            "catalog": text_list([_one(each.catalog) for each in traits]),
            "column": text_list([[name for name, _ in each.columns] for each in traits]),
            "type": text_list([[kind for _, kind in each.columns] for each in traits]),
        }
        amounts = {name: int64s([getattr(each, name) for each in traits]) for name in AMOUNTS}
        self.batch: pa.RecordBatch = pa.RecordBatch.from_pydict(lists | amounts)
        self._columns: dict[str, TextColumn] = {}

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def texts(self, name: str) -> TextColumn:
        """Return a column of `MANY`, flattened."""
        if name not in self._columns:
            lists = self.batch.column(name)
            elements = lists.flatten()
            rows = np.repeat(np.arange(len(lists)), np.diff(numpy_array(lists.offsets)))
            self._columns[name] = TextColumn(elements.dictionary, numpy_array(elements.indices).astype(np.int64), rows)
        return self._columns[name]

    @cached_property
    def types(self) -> TextColumn:
        """The types of the columns of each table, each type once."""
        kinds = self.texts("type")
        once = np.unique(kinds.rows * max(len(kinds.values), 1) + kinds.codes)
        return TextColumn(kinds.values, once % max(len(kinds.values), 1), once // max(len(kinds.values), 1))

    def amounts(self, name: str) -> Float64s:
        """Return a column of `AMOUNTS`; NaN where unknown."""
        return floats(pa.chunked_array([self.batch.column(name)]))


class KeptRecord:
    """The record of a list that is asked for again and again: it is made anew only when a table has other traits."""

    def __init__(self) -> None:
        self._traits: list[TableTraits] = []
        self._record = TraitsRecord([])

    def of(self, traits: list[TableTraits]) -> TraitsRecord:
        """Return the record of tables."""
        # Traits are compared by identity, so this looks at no fact.
        if traits != self._traits:
            self._record, self._traits = TraitsRecord(traits), traits
        return self._record


def _one(text: str) -> tuple[str, ...]:
    return (text,) if text else ()
