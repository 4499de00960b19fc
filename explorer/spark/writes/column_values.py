"""Values brought into the type of a column: nested fields go by their names, as columns do, and never by their place.

Protocol section: Schema Serialization Format. Invariants: a nested field that the table lacks is refused by its path;
one that the value lacks is null; a value that does not fit its type fails and is never made null.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import EngineUnavailable, InvalidIntent
from explorer.core.protocol.schema.edit import choices, first_names

_ANSI: Final = "spark.sql.ansi.enabled"


def check_casts(session: SparkSession) -> None:
    """Check that a session fails on a value that does not fit a type, as is the default of Spark.

    Raises:
        EngineUnavailable: It makes such a value null, or another number.
    """
    if str(session.conf.get(_ANSI, "true")).lower() != "true":
        raise EngineUnavailable(
            f"The Spark session writes NULL or another number where a value does not fit its type. Set {_ANSI} to true "
            "in it, and plan again.",
            engine="spark",
        )


def column_value(value: Column, given: st.DataType, wanted: st.DataType, name: str, field: str = "source") -> Column:
    """Return a value in the type of a column.

    Args:
        given: Its type.
        wanted: The type of the column, every part nullable.
        name: The column's dotted path, for errors.
        field: The intent's field that an error names.

    Raises:
        InvalidIntent: The value has a nested field that the column lacks, or is of another kind.
    """
    if given.simpleString() == wanted.simpleString():
        return value.cast(wanted)
    match given, wanted:
        case st.StructType(), st.StructType():
            return _struct(value, given, wanted, name, field)
        case st.ArrayType(), st.ArrayType() if _has_struct(wanted):
            inner = given.elementType
            return sf.transform(value, lambda item: column_value(item, inner, wanted.elementType, name, field))
        case st.MapType(), st.MapType() if _has_struct(wanted):
            keys, values = (given.keyType, wanted.keyType), (given.valueType, wanted.valueType)
            mapped = sf.transform_values(value, lambda _, item: column_value(item, *values, f"{name}.value", field))
            return sf.transform_keys(mapped, lambda key, _: column_value(key, *keys, f"{name}.key", field))
        case st.NullType(), _:
            return sf.lit(None).cast(wanted)
        case _:
            if _is_nested(given) != _is_nested(wanted):
                raise InvalidIntent(
                    f"The column {name} has the type {wanted.simpleString()}, and the rows have "
                    f"{given.simpleString()}: convert it first.",
                    field=field,
                    column=name,
                )
            return value.cast(wanted)


def _struct(value: Column, given_type: st.StructType, wanted: st.StructType, name: str, field: str) -> Column:
    given = {inner.name.lower(): inner for inner in given_type.fields}
    known = {own.name.lower() for own in wanted}
    foreign = [inner.name for inner in given_type.fields if inner.name.lower() not in known]
    if foreign or len(given) < len(given_type.fields):
        odd = f"no field {foreign[0]!r}" if foreign else "two fields whose names differ only by case"
        names = first_names(own.name for own in wanted.fields)
        raise InvalidIntent(
            f"The column {name} has {odd}. Its fields: {names}. Set mergeSchema to add the field, or leave it out.",
            field=field,
            column=name,
            allowed=choices(own.name for own in wanted.fields),
        )
    parts = []
    for own in wanted.fields:
        inner = given.get(own.name.lower())
        if inner is None:
            parts.append(sf.lit(None).cast(own.dataType).alias(own.name))
        else:
            part = value.getField(inner.name)
            parts.append(column_value(part, inner.dataType, own.dataType, f"{name}.{own.name}", field).alias(own.name))
    return sf.when(value.isNotNull(), sf.struct(*parts))


def _has_struct(kind: st.DataType) -> bool:
    match kind:
        case st.StructType():
            return True
        case st.ArrayType():
            return _has_struct(kind.elementType)
        case st.MapType():
            return _has_struct(kind.keyType) or _has_struct(kind.valueType)
        case _:
            return False


def _is_nested(kind: st.DataType) -> bool:
    return isinstance(kind, st.StructType | st.ArrayType | st.MapType)
