"""Columns of types that no client of the protocol has: each closes itself alone, in whatever form its type is."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.core.errors import CorruptTable
from explorer.core.protocol import limits
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import PROTOCOL, add, metadata, table

_STRUCT = {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}]}
_CLASS = {"type": "udt", "class": "org.apache.spark.ml.linalg.VectorUDT", "pyClass": None, "sqlType": _STRUCT}


def _table(kind: Any, partitions: tuple[str, ...] = ()) -> explorer.Table:
    said = metadata({"k": "long", "odd": kind, "last": "string"}, partitions)
    return table({0: [PROTOCOL, said, add("a.parquet", 3, partition_values=dict.fromkeys(partitions, "1"))]})


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (_CLASS, "'udt' is not known"),
        ({"type": "array", "elementType": _CLASS, "containsNull": True}, "'udt' is not known"),
        ({"type": "tensor", "shape": [2, 2]}, "'tensor' is not known"),
        ("decimal(76,2)", "out of range"),
        ("decimal(5,6)", "out of range"),
        ({"type": "map", "keyType": "string", "valueType": "decimal(40,0)", "valueContainsNull": True}, "out of range"),
        ("string collate UNICODE_CI", "not known"),
        ("timestamp(9)", "not known"),
    ],
)
def test_a_type_in_another_form_closes_its_column_alone(kind: Any, reason: str) -> None:
    found = _table(kind)
    snapshot = found.snapshot()
    assert [field.name for field in snapshot.schema.fields] == ["k", "last"]
    (unread,) = snapshot.unread_columns
    assert reason in unread.reason
    assert "unread-columns" in {finding.rule for finding in found.audit(NOW).findings}


@pytest.mark.parametrize("kind", ["variant", _STRUCT, {"type": "array", "elementType": "long", "containsNull": True}])
def test_a_partition_column_whose_type_no_partition_value_can_have_closes_itself_alone(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = _table(kind, ("odd", "last")).snapshot()
    assert snapshot.partition_columns == ("last",)
    (unread,) = snapshot.unread_columns
    assert "no partition value can have its type" in unread.reason
    monkeypatch.setattr(limits, "STRICT_TYPES", True)
    assert _table(kind, ("odd", "last")).snapshot().unread_columns == ()


@pytest.mark.parametrize("kind", [None, 7, {"type": "struct"}, {"type": "array"}, {"type": "long", "size": 8}])
def test_what_is_not_a_type_at_all_is_still_a_broken_schema(kind: Any) -> None:
    with pytest.raises(CorruptTable, match="not a type"):
        _ = _table(kind).snapshot().schema
