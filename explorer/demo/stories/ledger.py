"""finance/ledger: postings of an old table whose early history was cleaned.

The log begins at version 10, at a checkpoint: the commits before it were removed as too old, and VACUUM deleted the
data files they alone needed. In-commit timestamps, one application that counts its batches, a clustering domain.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.actions import TransactionAction
from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
from explorer.core.protocol.table_properties.registry import APPEND_ONLY, IN_COMMIT_TIMESTAMPS, LOG_RETENTION
from explorer.core.protocol.times import milliseconds
from explorer.demo.provenance import Calendar, DemoProvenance
from explorer.demo.upkeep import vacuum
from explorer.demo.writer import TableWriter

SCHEMA: Final = StructType(
    (
        StructField("posting", PrimitiveType("long"), nullable=False),
        StructField("account", PrimitiveType("string"), nullable=False),
        StructField("posted_on", PrimitiveType("date"), nullable=False),
        StructField("amount", PrimitiveType("decimal", 18, 4), metadata={"comment": "EUR, debit positive"}),
        StructField("text", PrimitiveType("string")),
    )
)
FIRST_KEPT: Final = 10
_ACCOUNTS: Final = ("1200 bank", "1400 receivables", "3000 stock", "4400 sales", "6300 rent")
_IMPORT: Final = "ledger-import"


def tell(table: TableWriter, calendar: Calendar) -> None:
    """Write the table."""
    numbers = np.random.default_rng(1_494)
    table.create(
        DemoProvenance(calendar.at(0, 0, "07:30:00"), "finance@shop.example"),
        SCHEMA,
        description="General ledger. Made-up data.",
        properties={
            IN_COMMIT_TIMESTAMPS.key: "true",
            LOG_RETENTION.key: "interval 14 days",
            APPEND_ONLY.key: "false",
        },
        cluster_by=("account",),
    )
    days = [(week, weekday) for week in range(6) for weekday in (0, 2, 4)]
    for batch, (week, weekday) in enumerate(days, 1):
        _post(table, numbers, batch, calendar.at(week, weekday, "18:00:31"))
        if batch == 6:
            by = DemoProvenance(calendar.at(1, 5, "05:00:12"), "finance@shop.example")
            table.optimize(by)
        if batch == 10:
            _correct(table, calendar)
        if batch == 12:
            vacuum(table, DemoProvenance(calendar.at(3, 6, "05:30:00"), "finance@shop.example"))
        if table.log.version in {FIRST_KEPT, 20}:
            table.log.checkpoint(DemoProvenance(calendar.at(week, weekday, "18:00:31"), "finance@shop.example"))
    table.log.clean(FIRST_KEPT)


def _post(table: TableWriter, numbers: np.random.Generator, batch: int, at: datetime) -> None:
    transaction = TransactionAction(app_id=_IMPORT, version=batch, last_updated=milliseconds(at))
    by = DemoProvenance(at, "import@shop.example")
    table.append(by, _postings(numbers, at.date(), batch), transaction=transaction)


def _correct(table: TableWriter, calendar: Calendar) -> None:
    """Correct a wrong account by rewriting its files: deletion vectors are off here."""
    by = DemoProvenance(calendar.at(3, 1, "11:44:03"), "ivo@shop.example", reason="rent was booked on stock")

    def wrong(rows: pa.Table) -> pa.ChunkedArray:
        return pc.and_(pc.equal(rows.column("account"), "3000 stock"), pc.equal(rows.column("text"), "rent"))

    def right(rows: pa.Table) -> pa.Table:
        place = rows.schema.get_field_index("account")
        return rows.set_column(place, rows.schema.field("account"), pa.array(["6300 rent"] * rows.num_rows))

    table.update(by, "((account = '3000 stock') AND (text = 'rent'))", wrong, {"account": "'6300 rent'"}, right)


def _postings(numbers: np.random.Generator, day: date, batch: int) -> pa.Table:
    rows = int(numbers.integers(500, 800))
    first = batch * 1_000
    amounts = numbers.normal(0, 900_0000, rows).astype(int)
    accounts = numbers.choice(_ACCOUNTS, rows).tolist()
    rents = [n % 90 == 7 for n in range(rows)]
    texts = ["rent" if rent else None if n % 11 == 0 else f"batch {batch}" for n, rent in enumerate(rents)]
    columns = {
        "posting": pa.array(range(first, first + rows)),
        "account": pa.array(["3000 stock" if rent else account for rent, account in zip(rents, accounts, strict=True)]),
        "posted_on": pa.array([day] * rows, pa.date32()),
        "amount": pa.array([Decimal(int(a)).scaleb(-4) for a in amounts], pa.decimal128(18, 4)),
        "text": pa.array(texts),
    }
    return pa.table(columns).cast(arrow_schema(SCHEMA))
