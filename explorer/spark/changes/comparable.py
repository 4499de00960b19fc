"""Columns by position, and values in a form that Spark can group by and compare: equal where the values are the same.

Sameness is SQL's ``IS NOT DISTINCT FROM`` at every depth: null is the same as null, NaN as NaN, 0.0 as -0.0; maps are
the same with the same entries in any order; variants with the same JSON text and the same types inside, however they
are encoded; strings and binaries byte by byte.
"""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.protocol.schema.data_types import ArrayType, DataType, MapType, PrimitiveType, StructType
from explorer.spark.scan.physical import spark_type

__all__ = ["by_place", "comparable", "is_plain", "same"]


def by_place(frame: DataFrame, schema: StructType, keep: int = 0) -> DataFrame:
    """The columns under the names ``c0``, ``c1`` and so on (a name may be anything), void ones typed as in the schema.

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
    """True if values of the type group and compare as they are, and come out of a grouping unchanged."""
    return isinstance(kind, PrimitiveType) and kind.name not in ("float", "double", "variant", "void")


def same(one: str, other: str, kind: DataType) -> Column:
    """Whether two columns, given by their names, have the same value."""
    if is_plain(kind):
        return sf.col(one).eqNullSafe(sf.col(other))
    return comparable(sf.col(one), kind).eqNullSafe(comparable(sf.col(other), kind))


def comparable(source: Column, kind: DataType) -> Column:
    """The value in a form that can be grouped, sorted and compared."""
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
