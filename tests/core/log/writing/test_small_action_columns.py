"""Columns of checkpoints of our own for small actions, and for the fields of actions that nobody knows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from explorer.core.log.writing.small_action_columns import SmallAction, column_type, small_columns, value_column
from explorer.core.protocol.actions import (
    CheckpointMetadata,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    Sidecar,
    TransactionAction,
)

MAP = pa.map_(pa.string(), pa.string())
TEXTS = pa.list_(pa.string())
LEAST, MOST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, pa.bool_()),
        (1, pa.int64()),
        (LEAST, pa.int64()),
        (LEAST - 1, None),
        (MOST, pa.int64()),
        (MOST + 1, None),
        (1.5, pa.float64()),
        (Decimal("1.5"), None),
        ("x", pa.string()),
        ({}, MAP),
        ({"a": "b", "c": None}, MAP),
        ({"a": "b", "c": 1}, None),
        (["x"], None),
        (None, None),
    ],
)
def test_a_value_that_a_column_can_hold_has_a_type(value: Any, kind: pa.DataType | None) -> None:
    assert column_type(value) == kind


MIXED: list[Any] = [True, 7, None, "x", 2.5, {"a": None}, ["l"], MOST + 1, False]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (pa.bool_(), [True, *[None] * 7, False]),
        (pa.int64(), [None, 7, *[None] * 7]),
        (pa.string(), [*[None] * 3, "x", *[None] * 5]),
        (pa.float64(), [*[None] * 4, 2.5, *[None] * 4]),
        (MAP, [*[None] * 5, [("a", None)], *[None] * 3]),
        (None, [None] * 9),
    ],
)
def test_a_column_holds_the_values_of_its_type(kind: pa.DataType | None, found: list[Any]) -> None:
    made = value_column(MIXED, kind)
    assert (made.type, made.to_pylist()) == (pa.null() if kind is None else kind, found)


# --- small actions ----------------------------------------------------------------------------------------------------

RULES = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("a", "b"))
WHOLE = Metadata(
    id="i", name="n", description="d", format=Format("parquet", {"o": "1"}), schema_string="{}",
    partition_columns=("p",), configuration={"k": "v"}, created_time=5,
)  # fmt: skip
SMALL: list[SmallAction] = [
    CheckpointMetadata(version=4, tags={"t": None}),
    Sidecar(path="s", size_in_bytes=6, modification_time=7),
    RULES,
    WHOLE,
    TransactionAction(app_id="x", version=1),
    TransactionAction(app_id="y", version=2, last_updated=3),
    DomainMetadata(domain="d", configuration="c"),
]
COLUMNS: dict[type[SmallAction], tuple[str, dict[str, Any], dict[int, dict[str, Any]]]] = {
    TransactionAction: (
        "txn",
        {"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()},
        {4: {"appId": "x", "version": 1, "lastUpdated": None}, 5: {"appId": "y", "version": 2, "lastUpdated": 3}},
    ),
    Metadata: (
        "metaData",
        {"id": pa.string(), "name": pa.string(), "description": pa.string(),
         "format": pa.struct([("provider", pa.string()), ("options", MAP)]), "schemaString": pa.string(),
         "partitionColumns": TEXTS, "configuration": MAP, "createdTime": pa.int64()},
        {3: {"id": "i", "name": "n", "description": "d", "format": {"provider": "parquet", "options": [("o", "1")]},
             "schemaString": "{}", "partitionColumns": ["p"], "configuration": [("k", "v")], "createdTime": 5}},
    ),
    Protocol: (
        "protocol",
        {"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32(),
         "readerFeatures": TEXTS, "writerFeatures": TEXTS},
        {2: {"minReaderVersion": 1, "minWriterVersion": 7, "readerFeatures": None, "writerFeatures": ["a", "b"]}},
    ),
    DomainMetadata: (
        "domainMetadata",
        {"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()},
        {6: {"domain": "d", "configuration": "c", "removed": False}},
    ),
    CheckpointMetadata: (
        "checkpointMetadata", {"version": pa.int64(), "tags": MAP}, {0: {"version": 4, "tags": [("t", None)]}}
    ),
    Sidecar: (
        "sidecar",
        {"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64(), "tags": MAP},
        {1: {"path": "s", "sizeInBytes": 6, "modificationTime": 7, "tags": None}},
    ),
}  # fmt: skip


def test_each_small_action_stands_in_the_column_of_its_kind_alone() -> None:
    made = small_columns(SMALL, list(COLUMNS))
    assert list(made) == [name for name, _, _ in COLUMNS.values()]
    for name, kind, rows in COLUMNS.values():
        assert made[name].type == pa.struct(kind)
        assert made[name].to_pylist() == [rows.get(place) for place in range(7)]


def test_kinds_without_actions_are_columns_of_nulls() -> None:
    made = small_columns([RULES, WHOLE], [TransactionAction, Protocol])
    assert made["txn"].type == pa.struct(COLUMNS[TransactionAction][1])
    assert made["txn"].to_pylist() == [None, None]
    assert [row is None for row in made["protocol"].to_pylist()] == [False, True]


def test_unknown_fields_of_small_actions_are_kept_where_they_are_plain_and_of_one_type() -> None:
    odd: dict[str, Any] = {"text": "t", "number": 1, "two": 1, "map": {"k": "v"}, "list": [1], "appId": 7}
    odd |= {"huge": MOST + 1, "none": None}
    first = TransactionAction(app_id="x", version=1, unknown=odd)
    second = TransactionAction(app_id="y", version=2, unknown={"two": "x", "late": True})
    known = {"appId": "x", "version": 1, "lastUpdated": None}
    assert small_columns([first, second], [TransactionAction])["txn"].to_pylist() == [
        {**known, "text": "t", "number": 1, "late": None},
        {**known, "appId": "y", "version": 2, "text": None, "number": None, "late": True},
    ]
