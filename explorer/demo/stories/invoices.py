"""finance/invoices: numbers that the table gives, sums that it works out, and a change feed with a hole in it.

An identity column, a generated column, a default and a constraint. Payments and corrections are recorded in the change
data feed, but for a week in which it was off: updates of that week are not in the feed.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
from explorer.core.protocol.schema.field_metadata import (
    CURRENT_DEFAULT,
    GENERATION_EXPRESSION,
    IDENTITY_ALLOW_EXPLICIT_INSERT,
    IDENTITY_START,
    IDENTITY_STEP,
)
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_FEED, FEATURE_PREFIX
from explorer.core.transaction.proposals.rows.append_rows import numberings
from explorer.demo.provenance import Calendar, DemoProvenance
from explorer.demo.writer import TableWriter

_FIRST: Final = 10_001
_GROSS: Final = "CAST((net + vat) AS DECIMAL(11,2))"
SCHEMA: Final = StructType(
    (
        StructField(
            "invoice_no",
            PrimitiveType("long"),
            metadata={IDENTITY_START: _FIRST, IDENTITY_STEP: 1, IDENTITY_ALLOW_EXPLICIT_INSERT: False},
        ),
        StructField("customer_id", PrimitiveType("string"), nullable=False),
        StructField("issued_on", PrimitiveType("date")),
        StructField("net", PrimitiveType("decimal", 10, 2), metadata={"comment": "EUR"}),
        StructField("vat", PrimitiveType("decimal", 10, 2), metadata={"comment": "EUR"}),
        StructField("gross", PrimitiveType("decimal", 11, 2), metadata={GENERATION_EXPRESSION: _GROSS}),
        StructField("status", PrimitiveType("string"), metadata={CURRENT_DEFAULT: "'open'"}),
    )
)


def tell(table: TableWriter, calendar: Calendar) -> None:
    """Write the table."""
    numbers = np.random.default_rng(10_001)

    def ilse(week: int, weekday: int, clock: str, reason: str | None = None) -> DemoProvenance:
        return DemoProvenance(calendar.at(week, weekday, clock), "ilse@shop.example", reason=reason)

    def bill(week: int) -> None:
        by = DemoProvenance(calendar.at(week, 0, "06:00:20"), "billing@shop.example")
        table.append(by, _invoices(numbers, _next(table), calendar.day(week, 0)))

    def paid(by: DemoProvenance, before: date) -> None:
        _set_status(table, by, "paid", f"((status = 'open') AND (issued_on < '{before}'))", before)

    table.create(
        ilse(0, 0, "05:30:00"),
        SCHEMA,
        description="Invoices of the web shop. Made-up data.",
        properties={CHANGE_DATA_FEED.key: "true", f"{FEATURE_PREFIX}allowColumnDefaults": "supported"},
    )
    bill(0)
    bill(1)
    table.alter(
        ilse(1, 2, "10:05:31", "credit notes go to a table of their own"),
        {"kind": "add-constraint", "name": "net_not_negative", "expression": "net >= 0"},
    )
    paid(ilse(1, 4, "16:40:02"), calendar.day(1, 0))
    bill(2)
    table.merge(
        DemoProvenance(calendar.at(2, 3, "22:15:47"), "bank@shop.example", reason="statement of account 11"),
        _reminded(table, numbers),
        "invoice_no",
    )
    switched = "the export to the warehouse is done by hand this week"
    table.alter(
        ilse(3, 0, "05:10:09", switched), {"kind": "set-properties", "properties": {CHANGE_DATA_FEED.key: "false"}}
    )
    bill(3)
    paid(ilse(3, 3, "17:02:55"), calendar.day(3, 0))
    table.alter(ilse(4, 0, "05:12:40"), {"kind": "set-properties", "properties": {CHANGE_DATA_FEED.key: "true"}})
    bill(4)
    twice = _next(table) - 3
    table.delete(
        ilse(4, 1, "09:20:18", "billed twice, see the note of the auditor"),
        f"(invoice_no >= {twice})",
        lambda rows: pc.greater_equal(rows.column("invoice_no"), twice),
    )
    bill(5)


def _next(table: TableWriter) -> int:
    """Return the next number that the table gives."""
    (numbering,) = numberings(table.schema, (), 1)
    return numbering.first


def _set_status(table: TableWriter, by: DemoProvenance, status: str, where: str, before: date) -> None:
    def chosen(rows: pa.Table) -> pa.ChunkedArray:
        return pc.and_(pc.equal(rows.column("status"), "open"), pc.less(rows.column("issued_on"), pa.scalar(before)))

    def change(rows: pa.Table) -> pa.Table:
        return _with_status(rows, status)

    table.update(by, where, chosen, {"status": f"'{status}'"}, change)


def _reminded(table: TableWriter, numbers: np.random.Generator) -> pa.Table:
    """Open invoices whose payers were reminded."""
    due = table.rows.filter(pc.equal(table.rows.column("status"), "open"))
    return _with_status(due.take(np.sort(numbers.choice(due.num_rows, 24, replace=False))), "reminded").combine_chunks()


def _with_status(rows: pa.Table, status: str) -> pa.Table:
    place = rows.schema.get_field_index("status")
    return rows.set_column(place, rows.schema.field("status"), pa.array([status] * rows.num_rows, pa.string()))


def _invoices(numbers: np.random.Generator, first: int, day: date) -> pa.Table:
    """Return the invoices of a week, with the numbers and sums that the table gives them."""
    count = int(numbers.integers(120, 180))
    cents = (numbers.gamma(2.0, 4_000, count).astype(int) + 150).tolist()
    tax = [round(cent * 19 / 100) for cent in cents]
    columns = {
        "invoice_no": pa.array(range(first, first + count)),
        "customer_id": pa.array([f"C-{customer:05}" for customer in numbers.integers(0, 900, count)]),
        "issued_on": pa.array([day] * count, pa.date32()),
        "net": _euros(cents, 10),
        "vat": _euros(tax, 10),
        "gross": _euros([net + vat for net, vat in zip(cents, tax, strict=True)], 11),
        "status": pa.array(["open"] * count),
    }
    return pa.table(columns).cast(arrow_schema(SCHEMA))


def _euros(cents: list[int], digits: int) -> pa.Array:
    return pa.array([Decimal(cent).scaleb(-2) for cent in cents], pa.decimal128(digits, 2))
