"""Variants of first rows are the JSON that Spark makes of them, at any depth; what is damaged is left to Spark."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.first_rows.first_rows import SparkOnly, first_rows
from explorer.spark.rows.pages import row_page
from tests.support.logs.spark_tables import DataFile, column, struct, write_table
from tests.support.logs.variants import metadata, primitive, variant_bytes
from tests.support.shared_tables import reference_root

VARIANT = pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)])
LONG = 120


def variants(chosen: random.Random, count: int) -> list[dict[str, bytes] | None]:
    made = (variant_bytes(chosen) for _ in range(count))
    return [None if chosen.random() < 0.1 else {"metadata": names, "value": value} for names, value in made]


def table_of(root: Path, rows: pa.Table, *kinds: tuple[str, Any]) -> explorer.Table:
    return explorer.open_table(
        write_table(root, [column(name, kind) for name, kind in kinds], [DataFile("a.parquet", rows)])
    )


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_variants_of_every_type_are_the_json_of_spark(tmp_path: Path) -> None:
    chosen = random.Random(11)
    length = 400
    lists = [None if chosen.random() < 0.1 else variants(chosen, chosen.randrange(3)) for _ in range(length)]
    maps = [None if each is None else [(str(place), item) for place, item in enumerate(each)] for each in lists]
    inner = [None if chosen.random() < 0.1 else {"x": 1, "w": each} for each in variants(chosen, length)]
    rows = pa.table(
        {
            "v": pa.array(variants(chosen, length), VARIANT),
            "l": pa.array(lists, pa.list_(VARIANT)),
            "m": pa.array(maps, pa.map_(pa.string(), VARIANT)),
            "s": pa.array(inner, pa.struct([("x", pa.int64()), ("w", VARIANT)])),
        }
    )
    table = table_of(
        tmp_path / "t",
        rows,
        ("v", "variant"),
        ("l", {"type": "array", "elementType": "variant", "containsNull": True}),
        ("m", {"type": "map", "keyType": "string", "valueType": "variant", "valueContainsNull": True}),
        ("s", struct(column("x", "long"), column("w", "variant"))),
    )
    here = first_rows(table, table.snapshot(), None, length)
    assert not isinstance(here, SparkOnly), here
    there = row_page(table, table.snapshot(), None, length).result(LONG)
    assert here.table.schema.types == there.table.schema.types
    for mine, spark in zip(here.table.to_pylist(), there.table.to_pylist(), strict=True):
        assert mine == spark
    assert here.note == there.note


def test_a_damaged_variant_is_named_and_left_to_spark(tmp_path: Path) -> None:
    values = [{"metadata": metadata(), "value": primitive(1)}, {"metadata": metadata(), "value": b"\x19"}]
    table = table_of(tmp_path / "t", pa.table({"v": pa.array(values, VARIANT)}), ("v", "variant"))
    page = first_rows(table, table.snapshot(), None, 10)
    assert isinstance(page, SparkOnly)
    assert "a variant of the file a.parquet cannot be decoded" in page.reason
    first = first_rows(table, table.snapshot(), None, 1)
    assert isinstance(first, SparkOnly) or first.table.to_pydict() == {"v": ["true"]}


def test_shredded_variants_are_left_to_spark(tmp_path: Path) -> None:
    shredded = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())])
    values = [{"metadata": metadata(), "value": None, "typed_value": 7}]
    table = table_of(tmp_path / "t", pa.table({"v": pa.array(values, shredded)}), ("v", "variant"))
    page = first_rows(table, table.snapshot(), None, 10)
    assert isinstance(page, SparkOnly)
    assert "the column v is stored as" in page.reason


@pytest.mark.reference
def test_variants_of_other_writers_are_read_here() -> None:
    reference = explorer.open_table(reference_root() / "tables" / "variant")
    page = first_rows(reference, reference.snapshot(), None, 50)
    assert not isinstance(page, SparkOnly), page
    assert page.table.num_rows
