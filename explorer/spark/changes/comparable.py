"""Values in a form that Spark can group by and compare, and rows that one side has more often than the other.

Sameness is SQL's ``IS NOT DISTINCT FROM`` at every depth: null is the same as null, NaN as NaN, 0.0 as -0.0; maps are
the same with the same entries in any order; variants with the same JSON text and the same types inside, however they
are encoded; strings and binaries byte by byte. Equal rows of the two sides cancel out one against one. Invariants:
a row that was only copied from one file to another is on both sides and is left out; each remaining row has its exact
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.protocol.schema.data_types import ArrayType, DataType, MapType, PrimitiveType, StructType
from explorer.core.versions.change_feed.sources import read_estimate
from explorer.spark.scan.physical import spark_type

SIGN: Final = "__explorer_sign"
"""Column of a row's side: 1 for the one, -1 for the other; after `surplus` how much more often a side has the row."""

BOTH: Final = "__explorer_both"
"""Column that `balance` adds: how many rows of the one side have an equal row on the other."""

# What one task compares in less time than it takes to spread it.
_FEW_ROWS: Final = 300_000
_FEW_BYTES: Final = 64 << 20


def by_place(frame: DataFrame, schema: StructType, keep: int = 0) -> DataFrame:
    """Name columns ``c0``, ``c1`` and so on (a name may be anything), void ones typed as in the schema.

    Args:
        frame: The columns of the schema, in its order, and others after them.
        schema: The columns with the types that are meant.
        keep: Number of the others, which stay as they are.
    """
    others = frame.columns[len(frame.columns) - keep :]
    places = [f"c{place}" for place in range(len(schema.fields))]
    named = frame.toDF(*places, *others)
    kinds = zip(places, schema.fields, named.schema.fields, strict=False)
    typed = [
        sf.col(place).cast(spark_type(meant.type)).alias(place) if isinstance(actual.dataType, st.NullType) else place
        for place, meant, actual in kinds
    ]
    return named.select(*typed, *others)


def is_plain(kind: DataType) -> bool:
    """Return whether values of the type group and compare as they are, and come out of a grouping unchanged."""
    return isinstance(kind, PrimitiveType) and kind.name not in ("float", "double", "variant", "void")


def same(one: str, other: str, kind: DataType) -> Column:
    """Return whether two columns, given by their names, have the same value."""
    if is_plain(kind):
        return sf.col(one).eqNullSafe(sf.col(other))
    return comparable(sf.col(one), kind).eqNullSafe(comparable(sf.col(other), kind))


def comparable(source: Column, kind: DataType) -> Column:
    """Return the value in a form that can be grouped, sorted and compared."""
    match kind:
        case PrimitiveType("float" | "double"):
            # Grouping takes both zeros for one, but not inside arrays and structs: there they become one here.
            return sf.when(source == sf.lit(0.0), sf.lit(0.0).cast(kind.name)).otherwise(source)
        case PrimitiveType("variant"):
            text, types = sf.to_json(source), sf.schema_of_variant(source)
            return sf.when(source.isNotNull(), sf.struct(text.alias("value"), types.alias("types")))
        case PrimitiveType("void"):
            return sf.lit(None).cast("boolean")
        case PrimitiveType():
            return source
        case StructType():
            parts = [
                comparable(source.getField(field.name), field.type).alias(f"f{place}")
                for place, field in enumerate(kind.fields)
            ]
            return sf.when(source.isNotNull(), sf.struct(*parts)) if parts else source.isNotNull()
        case ArrayType():
            element = kind.element_type
            return source if is_plain(element) else sf.transform(source, lambda item: comparable(item, element))
        case MapType():
            key, value = kind.key_type, kind.value_type
            pairs = sf.transform(
                sf.map_entries(source),
                lambda entry: sf.struct(
                    comparable(entry.getField("key"), key).alias("key"),
                    comparable(entry.getField("value"), value).alias("value"),
                ),
            )
            return sf.array_sort(pairs)
        case _:
            assert_never(kind)


def surplus(rows: DataFrame, schema: StructType, *, few: bool) -> DataFrame:
    """Return each distinct row that one side has more often, with the surplus in `SIGN`; arguments as `balance`."""
    return balance(rows, schema, few=few).where(sf.col(SIGN) != 0).drop(BOTH)


def balance(
    rows: DataFrame, schema: StructType, shared: Sequence[str] = (), carried: Sequence[str] = (), *, few: bool
) -> DataFrame:
    """Return each distinct row: how much more often one side has it in `SIGN`, how many rows cancelled out in `BOTH`.

    Args:
        rows: The columns of the schema as ``c0``, ``c1`` and so on, those of ``shared`` and ``carried``, and `SIGN`.
        schema: The types meant.
        shared: Columns that rows must share to cancel out.
        carried: Columns of which one value of the equal rows stays.
        few: The rows are few: compare them in one task, since spreading them takes longer.
    """
    both = rows.coalesce(1) if few else rows
    columns = [(f"c{place}", field.type) for place, field in enumerate(schema.fields)]
    forms = [comparable(sf.col(name), kind).alias(f"g{name}") for name, kind in columns]
    # Where the form for grouping is the value itself, grouping keeps it; of others one of the equal values stays.
    firsts = [sf.first(name).alias(name) for name in [*(n for n, kind in columns if not is_plain(kind)), *carried]]
    net = sf.sum(SIGN)
    cancelled = ((sf.sum(sf.abs(SIGN)) - sf.abs(net)) / 2).cast("long")
    grouped = both.groupBy(*forms, *shared).agg(net.alias(SIGN), cancelled.alias(BOTH), *firsts)
    values = [sf.col(f"g{name}" if is_plain(kind) else name).alias(name) for name, kind in columns]
    return grouped.select(*values, *shared, *carried, SIGN, BOTH)


def are_few(files: pa.Table) -> bool:
    """Return whether files are known to hold few rows; columns as in `ReadEstimate`'s sources."""
    records, size = files.column("num_records").to_pylist(), read_estimate(files).bytes
    if None in records or size is None:
        return False
    return sum(records) <= _FEW_ROWS and size <= _FEW_BYTES
