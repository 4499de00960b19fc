"""web/events: a partitioned table of page views that a stream writes in small files, unevenly.

Most traffic is German, and one campaign day brought ten times as many files. Folder names hold spaces, quotes and
accents; some events have no country. Statistics cover the first four columns only. Later: a compaction of one country,
and the first days deleted as whole partitions.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.actions import TransactionAction
from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
from explorer.core.protocol.table_properties.registry import FILE_RETENTION, NUM_INDEXED_COLS
from explorer.core.protocol.times import milliseconds
from explorer.demo.provenance import DELTA_RS, Calendar, DemoProvenance
from explorer.demo.writer import TableWriter

SCHEMA: Final = StructType(
    (
        StructField("event_id", PrimitiveType("long"), nullable=False),
        StructField("event_date", PrimitiveType("date")),
        StructField("country", PrimitiveType("string")),
        StructField("seen_at", PrimitiveType("timestamp")),
        StructField("page", PrimitiveType("string")),
        StructField("load_ms", PrimitiveType("double"), metadata={"comment": "time to first paint, ms"}),
        StructField("signed_in", PrimitiveType("boolean")),
        StructField("agent", PrimitiveType("string")),
    )
)
_COUNTRIES: Final = ("Germany", "France", "Côte d'Ivoire", "Türkiye", None)
_SHARES: Final = (0.71, 0.16, 0.06, 0.05, 0.02)
_PAGES: Final = ("/", "/search?q=lamp&page=2", "/cart", "/item/4711", "/help", "/<b>sale</b>")
_AGENTS: Final = ("Firefox 131", "Chrome 129", "Safari 18", "bot/2.1 (+https://bots.example)")
_CAMPAIGN: Final = (2, 3)
_DAYS: Final = [(week, weekday) for week in range(4) for weekday in range(7)][:24]


def tell(table: TableWriter, calendar: Calendar) -> None:
    """Write the table."""
    stream, numbers = "1f0c9f5e-7f0b-4b0e-9a52-6f3f1a1d7a10", np.random.default_rng(404)
    table.create(
        DemoProvenance(calendar.at(0, 0, "08:00:00"), "platform@shop.example"),
        SCHEMA,
        description="Page views of the web shop, as the stream brings them. Made-up data.",
        partition_by=("event_date", "country"),
        properties={NUM_INDEXED_COLS.key: "4"},
    )
    first_id = 1
    for epoch, (week, weekday) in enumerate(_DAYS):
        busy = (week, weekday) == _CAMPAIGN
        by = DemoProvenance(calendar.at(week, weekday, "23:55:09"), "stream@shop.example")
        rows = _events(numbers, calendar.day(week, weekday), first_id, 9_000 if busy else 1_400)
        first_id += rows.num_rows
        transaction = TransactionAction(app_id=stream, version=epoch, last_updated=milliseconds(by.at))
        table.append(by, rows, rows_per_file=110, transaction=transaction)
        if table.log.version % 10 == 0:
            table.log.checkpoint(by)
        if (week, weekday) == (1, 6):
            _compact_germany(table, calendar)
    _clean_up(table, calendar)
    late = _events(numbers, calendar.day(3, 2), first_id, 60)
    table.append(DemoProvenance(calendar.at(3, 4, "12:20:31"), "cleo@shop.example", DELTA_RS), late)


def _compact_germany(table: TableWriter, calendar: Calendar) -> None:
    by = DemoProvenance(calendar.at(2, 0, "03:00:41"), "platform@shop.example")
    table.optimize(by, "country = 'Germany'")


def _clean_up(table: TableWriter, calendar: Calendar) -> None:
    by = DemoProvenance(calendar.at(3, 3, "08:15:00"), "dora@shop.example", reason="we keep three weeks")
    first = calendar.day(0, 3)
    table.delete(by, f"(event_date < '{first}')", lambda rows: pc.less(rows.column("event_date"), pa.scalar(first)))
    by = DemoProvenance(calendar.at(3, 3, "08:22:10"), "dora@shop.example")
    retention = {FILE_RETENTION.key: "interval 21 days"}
    table.alter(by, {"kind": "set-properties", "properties": retention})


def _events(numbers: np.random.Generator, day: date, first_id: int, count: int) -> pa.Table:
    rows = int(numbers.normal(count, count / 12))
    start = datetime.combine(day, time(), UTC)
    seconds = np.sort(numbers.integers(0, 86_000, rows))
    load = np.round(numbers.lognormal(5.6, 0.6, rows), 1)
    signed_in = numbers.random(rows) < 0.3
    columns = {
        "event_id": pa.array(range(first_id, first_id + rows)),
        "event_date": pa.array([day] * rows, pa.date32()),
        "country": pa.array([_COUNTRIES[n] for n in numbers.choice(len(_COUNTRIES), rows, p=_SHARES)], pa.string()),
        "seen_at": pa.array([start + timedelta(seconds=int(s)) for s in seconds], pa.timestamp("us", "UTC")),
        "page": pa.array(numbers.choice(_PAGES, rows).tolist()),
        "load_ms": pa.array([None if n % 40 == 0 else float(ms) for n, ms in enumerate(load)], pa.float64()),
        "signed_in": pa.array(signed_in.tolist()),
        "agent": pa.array(numbers.choice(_AGENTS, rows).tolist()),
    }
    return pa.table(columns).cast(arrow_schema(SCHEMA))
