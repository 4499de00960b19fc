"""A drop that leaves only columns of type void leaves nothing to store, so no writer could add a row."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.support.logs import small_logs
from tests.support.logs.small_schemas import MAPPED, field, mapped, struct

NAMES = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "20"}
COLUMNS = (
    *(field("a"), field("v", "void"), field("p", "string")),
    *(field("s", struct(field("x"), field("w", "void"))), field("t", struct(field("y"), field("z")))),
)


@pytest.mark.parametrize(
    ("dropped", "status", "detail"),
    [
        (["a", "s", "t"], "fail", "Only columns of type void, which hold no value, would be left."),
        (["a", "s", "t", "v"], "fail", "Only the partition columns would be left."),
        (["s.x"], "fail", "Nothing that holds a value would be left inside s."),
        (["s.w"], "pass", "5 columns are left."),
        (["t.y"], "pass", "5 columns are left."),
        (["t.y", "t.z"], "fail", "Nothing that holds a value would be left inside t."),
        (["v", "s"], "pass", "3 columns are left."),
    ],
)
def test_a_column_that_holds_values_stays_in_the_table_and_in_each_struct(
    dropped: list[str], status: str, detail: str
) -> None:
    schema: dict[str, Any] = mapped(struct(*COLUMNS))
    metadata = msgspec.structs.replace(
        small_logs.METADATA, schema_string=json.dumps(schema), configuration=NAMES, partition_columns=("p",)
    )
    plan = small_logs.table({0: [MAPPED, metadata]}).plan({"kind": "drop-columns", "columns": dropped})
    (guard,) = (guard for guard in plan.guards if guard.name == "columns-left")
    assert (guard.status, guard.evidence["detail"]) == (status, detail)
