"""Rows that one commit deleted and inserted without a recorded feed: copies cancel out, updates pair before and after.

Protocol section: Row Tracking. A deleted and an inserted row of one version are one row, before and after an update, by
their row id; or by key columns that a user names, once equal rows have cancelled out. Invariants: an id or a key that
a version has more than once on a side pairs nothing; without ids and keys nothing is paired; whatever is paired, the
rows before the commit, without those deleted and the old images, and with those inserted and the new images, are the
rows after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from explorer.core.protocol.schema.data_types import StructType
from explorer.spark.changes.comparable import BOTH, SIGN, balance, comparable, same
from explorer.spark.engine.expressions import joined

ROW_ID: Final = "__explorer_row_id"
"""Column of a row's id, where rows are tracked."""
REWRITTEN: Final = "rewritten"
"""Kind of the rows, as `kinds_in` counts them, that a commit only wrote to another file."""

_OLD: Final = "__explorer_old"
_NEW: Final = "__explorer_new"
_PAIR: Final = "__explorer_pair"
_COPY: Final = "__explorer_copy"


def unpaired(rows: DataFrame, schema: StructType, commit: Sequence[str], *, few: bool) -> DataFrame:
    """Cancel out equal rows alone.

    Args:
        rows: The columns of the schema as ``c0``, ``c1`` and so on, those of ``commit``, and `SIGN`: 1 for a row that
            was inserted, -1 for one that was deleted.
        schema: The types meant.
        commit: Columns that rows of one commit share.
        few: As in `balance`.

    Returns:
        For `changes_in` and `kinds_in`.
    """
    return balance(rows, schema, commit, few=few).withColumn(_NEW, sf.lit(None).cast("boolean"))


def pairs_by_key(
    rows: DataFrame, schema: StructType, commit: Sequence[str], keys: Sequence[str], *, few: bool
) -> DataFrame:
    """Cancel out equal rows, then pair those that are left by key columns, where null is the same as null."""
    left = balance(rows, schema, commit, few=few)
    places = [place for place, field in enumerate(schema.fields) if field.name in keys]
    key = [comparable(sf.col(f"c{place}"), schema.fields[place].type) for place in places]
    return _with_new(left, schema, [*commit, *key])


def pairs_by_id(rows: DataFrame, schema: StructType, commit: Sequence[str], *, few: bool) -> DataFrame:
    """Pair rows by `ROW_ID`, then cancel out equal rows; a row with the same values is only rewritten."""
    both = rows.coalesce(1) if few else rows
    with_new = _with_new(both, schema, [*commit, ROW_ID], where=sf.col(ROW_ID).isNotNull())
    pair = with_new.withColumn(_PAIR, sf.when(sf.col(_NEW).isNotNull(), sf.col(ROW_ID))).drop(ROW_ID)
    return balance(pair, schema, [*commit, _PAIR], [_NEW], few=few).drop(_PAIR)


def changes_in(paired: DataFrame, schema: StructType, commit: Sequence[str]) -> DataFrame:
    """Return the changes: the columns of the schema as ``c0`` and so on, the change type, and those of ``commit``."""
    new = sf.col(_NEW).isNotNull()
    times = sf.when(new, 2).otherwise(sf.abs(SIGN).cast("int"))
    each = paired.where(sf.col(SIGN) != 0).withColumn(_COPY, sf.explode(sf.sequence(sf.lit(1), times)))
    kind = (
        sf.when(new & (sf.col(_COPY) == 1), "update_preimage")
        .when(new, "update_postimage")
        .when(sf.col(SIGN) > 0, "insert")
        .otherwise("delete")
    )
    return each.select(*_images(paired, schema), kind, *commit)


def kinds_in(paired: DataFrame, version: str) -> DataFrame:
    """Return how many rows of each kind there are, `REWRITTEN` among them: version, kind, rows."""
    new, sign = sf.col(_NEW).isNotNull(), sf.col(SIGN)
    rows = {
        "insert": sf.when(~new & (sign > 0), sign),
        "delete": sf.when(~new & (sign < 0), -sign),
        "update_preimage": sf.when(new, 1),
        "update_postimage": sf.when(new, 1),
        REWRITTEN: sf.col(BOTH),
    }
    sums = paired.groupBy(version).agg(*(sf.sum(value).alias(kind) for kind, value in rows.items()))
    stacked = [part for kind in rows for part in (sf.lit(kind), sf.col(kind))]
    return sums.select(version, sf.stack(sf.lit(len(rows)), *stacked).alias("kind", "rows")).where(sf.col("rows") > 0)


def _with_new(
    rows: DataFrame, schema: StructType, identity: Sequence[str | Column], where: Column | None = None
) -> DataFrame:
    """Keep of two rows that are one, with different values, the deleted row, with the inserted one as a struct."""
    group = Window.partitionBy(*identity)
    inserted, deleted = sf.col(SIGN) > 0, sf.col(SIGN) < 0
    values = sf.struct(*(f"c{place}" for place in range(len(schema.fields))))

    def of(side: Column) -> tuple[Column, Column]:
        number = sf.sum(sf.when(side, sf.abs(SIGN)).otherwise(0)).over(group)
        return number == 1, sf.first(sf.when(side, values), ignorenulls=True).over(group)

    (one_deleted, old), (one_inserted, new) = of(deleted), of(inserted)
    pair = one_deleted & one_inserted if where is None else one_deleted & one_inserted & where
    paired = rows.select(*rows.columns, sf.when(pair, old).alias(_OLD), sf.when(pair, new).alias(_NEW))
    same_values = [same(f"{_OLD}.c{place}", f"{_NEW}.c{place}", f.type) for place, f in enumerate(schema.fields)]
    updated = sf.col(_NEW).isNotNull() & ~joined([sf.lit(True), *same_values], Column.__and__)
    remaining = paired.where(~updated | deleted | (sf.col(SIGN) == 0))
    return remaining.withColumn(_NEW, sf.when(updated & deleted, sf.col(_NEW))).drop(_OLD)


def _images(paired: DataFrame, schema: StructType) -> list[Column]:
    """Return the values of a change: those of the new row in the second copy of an update."""
    names = [f"c{place}" for place in range(len(schema.fields))]
    if dict(paired.dtypes)[_NEW] == "boolean":
        return [sf.col(name) for name in names]
    after = sf.col(_NEW).isNotNull() & (sf.col(_COPY) == 2)
    return [sf.when(after, sf.col(f"{_NEW}.{name}")).otherwise(sf.col(name)).alias(name) for name in names]
