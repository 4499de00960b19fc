"""sales/orders: nightly loads, and the changes that users made in seven weeks.

Appends, a constraint, deletion vectors switched on (a protocol upgrade), a delete, a merge, a compaction, column
mapping switched on (another upgrade), a rename, a new and a dropped column, an update, an erasure and its purge, an
overwrite by mistake and the restore after it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
from explorer.core.protocol.table_properties.registry import DELETION_VECTORS, LOG_RETENTION
from explorer.demo.provenance import Calendar, DemoProvenance
from explorer.demo.upkeep import add_column, drop_column, rename_column
from explorer.demo.writer import TableWriter

SCHEMA: Final = StructType(
    (
        StructField("order_id", PrimitiveType("long"), nullable=False, metadata={"comment": "from the shop"}),
        StructField("cust", PrimitiveType("string"), metadata={"comment": "customer number"}),
        StructField("region", PrimitiveType("string")),
        StructField("ordered_at", PrimitiveType("timestamp")),
        StructField("quantity", PrimitiveType("integer")),
        StructField("amount", PrimitiveType("decimal", 10, 2), metadata={"comment": "EUR, tax included"}),
        StructField("status", PrimitiveType("string")),
        StructField("note", PrimitiveType("string"), metadata={"comment": "free text from the shop"}),
    )
)
_NOTES: Final = ("gift", "ring twice", "leave at the door", "call before delivery, please: the bell is broken")
_REGIONS: Final = ("eu", "us", "ap")
_ERASED: Final = "C-00417"


def tell(table: TableWriter, calendar: Calendar) -> None:
    """Write the table."""
    shop = _Shop(calendar)

    def load(week: int, weekday: int) -> None:
        by = DemoProvenance(calendar.at(week, weekday, "02:10:24"), "etl@shop.example")
        table.append(by, shop.orders(table, calendar.day(week, weekday)), rows_per_file=1_100)

    def ana(week: int, weekday: int, clock: str, reason: str | None = None) -> DemoProvenance:
        return DemoProvenance(calendar.at(week, weekday, clock), "ana@shop.example", reason=reason)

    def ben(week: int, weekday: int, clock: str, reason: str | None = None) -> DemoProvenance:
        return DemoProvenance(calendar.at(week, weekday, clock), "ben@shop.example", reason=reason)

    _first_weeks(table, load, ana, ben, shop)
    _mapped_weeks(table, load, ana, ben)
    _last_weeks(table, load, ana, ben, shop)


Load = Callable[[int, int], None]
Person = Callable[..., DemoProvenance]


def _first_weeks(table: TableWriter, load: Load, ana: Person, ben: Person, shop: _Shop) -> None:
    table.create(
        ana(0, 0, "09:12:40"),
        SCHEMA,
        description="Orders of the web shop. Made-up data.",
        properties={LOG_RETENTION.key: "interval 60 days"},
    )
    for weekday in (1, 2, 3):
        load(0, weekday)
    table.alter(
        ana(0, 3, "10:30:02", "amounts of 0 came in on Tuesday from the test shop"),
        {"kind": "add-constraint", "name": "positive_amount", "expression": "amount > 0"},
    )
    load(0, 4)
    load(1, 0)
    table.alter(
        ben(1, 0, "15:47:19", "so that deletes stop rewriting whole files"),
        {"kind": "set-properties", "properties": {DELETION_VECTORS.key: "true"}},
    )
    load(1, 1)
    table.delete(ana(1, 2, "11:05:53"), "(cust = 'TEST')", lambda rows: pc.equal(rows.column("cust"), "TEST"))
    load(1, 3)
    table.log.checkpoint(ana(1, 3, "02:10:24"))
    correction = DemoProvenance(ana(1, 4, "06:30:15").at, "corrections@shop.example")
    table.merge(correction, shop.corrections(table, late=120, changed=260), "order_id")
    load(2, 0)
    table.optimize(ben(2, 0, "20:00:48"))


def _mapped_weeks(table: TableWriter, load: Load, ana: Person, ben: Person) -> None:
    load(2, 1)
    before_renames = ben(2, 2, "14:02:11", "before the renames asked for by reporting")
    table.alter(before_renames, {"kind": "set-column-mapping", "mode": "name"})
    rename_column(table, ben(2, 2, "14:05:33"), "cust", "customer_id")
    load(2, 3)
    add_column(table, ben(2, 4, "09:41:07"), "discount", PrimitiveType("decimal", 9, 2), "EUR, null: none")
    for week, weekday in ((3, 0), (3, 1)):
        load(week, weekday)
    table.log.checkpoint(ana(3, 1, "02:10:24"))
    table.update(
        ana(3, 2, "16:20:59", "carrier lost the lot"),
        "((region = 'ap') AND (status = 'shipped'))",
        lambda rows: pc.and_(pc.equal(rows.column("region"), "ap"), pc.equal(rows.column("status"), "shipped")),
        {"status": "'lost'"},
        lambda rows: rows.set_column(
            rows.schema.get_field_index("status"), rows.schema.field("status"), pa.array(["lost"] * rows.num_rows)
        ),
    )
    load(3, 3)


def _last_weeks(table: TableWriter, load: Load, ana: Person, ben: Person, shop: _Shop) -> None:
    table.delete(
        ana(4, 0, "10:11:12", "erasure request 1042"),
        f"(customer_id = '{_ERASED}')",
        lambda rows: pc.equal(rows.column("customer_id"), _ERASED),
    )
    load(4, 1)
    table.purge(ben(4, 2, "20:00:37", "erasure request 1042: the masked rows leave the files"))
    drop_column(table, ben(4, 3, "13:37:00", "personal data in free text"), "note")
    load(4, 4)
    description = "Orders of the web shop, amounts in EUR. Made-up data."
    table.alter(ana(5, 0, "09:00:21"), {"kind": "set-description", "description": description})
    load(5, 1)
    table.log.checkpoint(ana(5, 1, "02:10:24"))
    before = table.log.version
    by_mistake = ben(5, 2, "17:58:44", "backfill for one customer")
    table.overwrite(by_mistake, table.rows.filter(pc.equal(table.rows.column("customer_id"), "C-00007")))
    table.restore(ana(5, 2, "18:21:30", "the backfill replaced the whole table"), before)
    load(5, 3)
    correction = DemoProvenance(ana(5, 4, "06:30:08").at, "corrections@shop.example")
    table.merge(correction, shop.corrections(table, late=80, changed=190), "order_id")
    load(6, 0)
    table.optimize(ben(6, 0, "20:00:52"), target_size=350_000)
    for weekday in (1, 2, 3):
        load(6, weekday)


class _Shop:
    """Makes up orders: the same numbers in every build, dates on the story's calendar."""

    def __init__(self, calendar: Calendar) -> None:
        self._numbers = np.random.default_rng(20_260_302)
        self._calendar = calendar
        self._next = 100_001

    def orders(self, table: TableWriter, day: date, count: int | None = None) -> pa.Table:
        """Return the orders of the day before ``day``, in the table's present columns; a few are from the test shop."""
        number = self._numbers
        rows = int(number.normal(2_600, 360)) if count is None else count
        start = datetime.combine(day - timedelta(days=1), time(), UTC)
        seconds = np.sort(number.integers(0, 86_400, rows))
        tests = number.random(rows) < (0.02 if table.log.version < 9 else 0)
        customers = number.zipf(1.35, rows) % 900
        cents = number.gamma(2.0, 3_100, rows).astype(int) + 199
        columns = {
            "order_id": pa.array(range(self._next, self._next + rows)),
            "cust": pa.array(["TEST" if t else f"C-{c:05}" for t, c in zip(tests, customers, strict=True)]),
            "region": pa.array(number.choice(_REGIONS, rows, p=[0.62, 0.27, 0.11]).tolist()),
            "ordered_at": pa.array([start + timedelta(seconds=int(s)) for s in seconds], pa.timestamp("us", "UTC")),
            "quantity": pa.array(number.integers(1, 9, rows), pa.int32()),
            "amount": pa.array([Decimal(int(c)).scaleb(-2) for c in cents], pa.decimal128(10, 2)),
            "status": pa.array(number.choice(["open", "shipped", "returned"], rows, p=[0.3, 0.64, 0.06]).tolist()),
            "note": pa.array([_NOTES[n] if n < len(_NOTES) else None for n in number.integers(0, 14, rows)]),
            "discount": pa.array(
                [Decimal(int(c)).scaleb(-2) if c % 5 == 0 else None for c in cents // 11], pa.decimal128(9, 2)
            ),
        }
        self._next += rows
        columns["customer_id"] = columns["cust"]
        return pa.table({name: columns[name] for name in table.rows.column_names}).cast(table.rows.schema)

    def corrections(self, table: TableWriter, late: int, changed: int) -> pa.Table:
        """Known orders that came back, and orders that came late."""
        picked = np.sort(self._numbers.choice(table.rows.num_rows, changed, replace=False))
        known = table.rows.take(picked)
        status = pa.array(["returned"] * known.num_rows)
        known = known.set_column(known.schema.get_field_index("status"), known.schema.field("status"), status)
        new = self.orders(table, self._calendar.day(1, 3), late)
        return pa.concat_tables([known, new]).combine_chunks()
