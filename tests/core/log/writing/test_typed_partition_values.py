"""Partition values in the types of their columns, as checkpoints show them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from explorer.core.errors import CorruptTable
from explorer.core.log.writing.parsed_columns import TypedColumns
from explorer.core.protocol.schema.data_types import PrimitiveType

COLUMNS = TypedColumns((), (("col-1", PrimitiveType("integer"), "amount"), ("col-2", PrimitiveType("string"), "name")))


def maps(*values: dict[str, str | None]) -> pa.MapArray:
    return pa.array([list(each.items()) for each in values], pa.map_(pa.string(), pa.string()))


def test_values_stand_under_physical_names_in_their_types() -> None:
    found = COLUMNS.partition_values(maps({"col-1": "7", "col-2": "x"}, {"col-1": None}))
    assert found.type == COLUMNS.partition_type() == pa.struct([("col-1", pa.int32()), ("col-2", pa.string())])
    assert found.to_pylist() == [{"col-1": 7, "col-2": "x"}, {"col-1": None, "col-2": None}]


def test_a_value_of_another_type_is_refused_by_the_name_that_a_person_knows() -> None:
    with pytest.raises(CorruptTable, match="amount") as refused:
        COLUMNS.partition_values(maps({"col-1": "seven"}))
    assert refused.value.found == "seven"
