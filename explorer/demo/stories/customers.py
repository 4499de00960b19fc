"""crm/customers: names that changed hands, so that a query by name means something else before and after.

``email`` was renamed to ``contact_email``, and later another column was given the name ``email``. First and last names
had been loaded the wrong way round and were put right by swapping the columns' names. The address is a struct.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
from explorer.core.protocol.table_properties.registry import COLUMN_MAPPING_MODE
from explorer.demo.provenance import Calendar, DemoProvenance
from explorer.demo.upkeep import add_column, rename_column
from explorer.demo.writer import TableWriter

_TEXT: Final = PrimitiveType("string")
SCHEMA: Final = StructType(
    (
        StructField("customer_id", _TEXT, nullable=False),
        StructField("first_name", _TEXT),
        StructField("last_name", _TEXT),
        StructField("email", _TEXT),
        StructField("address", StructType((StructField("city", _TEXT), StructField("postcode", _TEXT)))),
        StructField("since", PrimitiveType("date")),
    )
)
_GIVEN: Final = ("Ada", "Béla", "Chiara", "Đorđe", "Emine", "Finn", "Grete", "Hiroshi", "Inês", "Jan")
_FAMILY: Final = ("Acar", "Berg", "Conti", "Duarte", "Ek", "Fischer", "Grün", "Horvat", "Ito", "Jovanović")
_CITIES: Final = (("Köln", "50667"), ("Lyon", "69001"), ("Abidjan", None), ("İzmir", "35210"))


def tell(table: TableWriter, calendar: Calendar) -> None:
    """Write the table."""
    numbers = np.random.default_rng(99)

    def eva(week: int, weekday: int, clock: str, reason: str | None = None) -> DemoProvenance:
        return DemoProvenance(calendar.at(week, weekday, clock), "eva@shop.example", reason=reason)

    def load(week: int, weekday: int) -> None:
        by = DemoProvenance(calendar.at(week, weekday, "04:00:10"), "crm-sync@shop.example")
        table.append(by, _customers(table, numbers, calendar))

    table.create(
        eva(0, 1, "10:00:00"),
        SCHEMA,
        description="Customers of the web shop. Made-up people.",
        properties={COLUMN_MAPPING_MODE.key: "name"},
    )
    load(0, 2)
    load(1, 2)
    rename_column(table, eva(1, 3, "11:20:45", "it is what the customer gave for contact"), "email", "contact_email")
    load(2, 2)
    add_column(table, eva(2, 4, "15:31:08"), "email", _TEXT, "address for the newsletter")
    load(3, 2)
    swap = "first and last names were loaded the wrong way round"
    rename_column(table, eva(3, 3, "09:05:00", swap), "first_name", "given")
    rename_column(table, eva(3, 3, "09:05:20", swap), "last_name", "first_name")
    rename_column(table, eva(3, 3, "09:05:40", swap), "given", "last_name")
    load(4, 2)
    table.delete(
        eva(4, 4, "16:02:27", "closed accounts"),
        "startswith(customer_id, 'C-0010')",
        lambda rows: pc.starts_with(rows.column("customer_id"), pattern="C-0010"),
    )


def _customers(table: TableWriter, numbers: np.random.Generator, calendar: Calendar) -> pa.Table:
    """Forty new customers; before the names were swapped the first name came as the last one."""
    first, count = table.rows.num_rows, 40
    given = numbers.choice(_GIVEN, count).tolist()
    family = numbers.choice(_FAMILY, count).tolist()
    swapped = "given" in table.rows.column_names or table.log.version < 7
    emails = [
        None if n % 9 == 0 else f"{g}.{f}{first + n}@mail.example".lower()
        for n, (g, f) in enumerate(zip(given, family, strict=True))
    ]
    places = [_CITIES[n] for n in numbers.integers(0, len(_CITIES), count)]
    columns = {
        "customer_id": [f"C-{first + n:05}" for n in range(count)],
        "first_name": family if swapped else given,
        "last_name": given if swapped else family,
        "email": [e if e is None or n % 3 else "news+" + e for n, e in enumerate(emails)],
        "contact_email": emails,
        "address": [{"city": city, "postcode": code} if n % 13 else None for n, (city, code) in enumerate(places)],
        "since": [calendar.day(-40, 7 * (first + n) % 270) for n in range(count)],
    }
    return pa.Table.from_pylist(
        [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        schema=arrow_schema(table.schema),
    )
