"""What the program says of other clients, beside what those at hand do with the tables of others, and with copies.

A client that reads rows is right if they are those that the tables' own expectations have. Where a client does another
thing than is said of it, ``tests/golden/client_deviations.csv`` says what and why.
"""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import duckdb
import pyarrow as pa

import explorer
from explorer.core.compatibility.access import verdict_of
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.releases import known_release
from explorer.core.errors import ExplorerError
from explorer.core.protocol.arrow.arrow_types import nullable_arrow_schema
from explorer.core.protocol.schema.nested_types import holds
from tests.support.clients.golden_expectations import expected
from tests.support.clients.other_clients import ClientRefused, Way
from tests.support.clients.other_readers import duckdb_rows
from tests.support.comparison.row_content import content_hash
from tests.support.shared_tables import REPOSITORY, golden_root, reference_root

__all__ = ["LISTED", "Deviation", "cases", "held_to_the_list", "read_deviations", "write_deviations"]

LISTED: Final = REPOSITORY / "tests" / "golden" / "client_deviations.csv"
_MOST_COMPARED: Final = 5_000
DOING: Final = {"yes": "right", "no": "refuses", "wrong": "wrong"}
"""What a client does of which this is said; ``unknown`` is no claim."""


class Deviation(NamedTuple):
    """A client that does another thing than is said of it: a row of `client_deviations.csv` without its cause."""

    client: str
    operation: str
    table: str
    said: str
    does: str


class Reader(Protocol):
    """Reads a table's newest version, or raises `ClientRefused`."""

    def read(self, table: Path) -> pa.Table: ...


class Writer(Protocol):
    """Appends rows to a table, or raises `ClientRefused`."""

    def append(self, table: Path, rows: pa.Table) -> None: ...


class Case(NamedTuple):
    """A table of others.

    Attributes:
        folder: Where it is.
        rows: The content hash of its newest rows; None where nobody could compute it.
        count: How many there are; None where it is not known.
    """

    folder: Path
    rows: str | None
    count: int | None


@cache
def cases() -> dict[str, Case]:
    """Every golden and reference table whose newest version says what it demands of clients, and whose files are there.

    Of some golden tables only the log was collected: nobody can read their rows, whatever he knows.
    """
    found = {}
    for root in (golden_root(), reference_root()):
        for name, record in expected(root).items():
            newest = record["versions"][-1]
            rows = newest if "content_hash" in newest else (newest.get("replay") or {}).get("rows") or {}
            if rows.get("error_type") == "FileNotFoundError":
                continue
            folder = root / "tables" / name
            # Each client gives a variant in a form of its own, so rows of such a table are counted.
            digest = None if _holds_variants(folder) else rows.get("content_hash")
            found[name] = Case(folder, digest, rows.get("row_count"))
    return {name: case for name, case in found.items() if _is_known(case.folder)}


def _holds_variants(folder: Path) -> bool:
    try:
        return any(holds(field.type, "variant") for field in explorer.open_table(folder).snapshot().schema.fields)
    except ExplorerError:
        return False


def _is_read_here(folder: Path) -> bool:
    try:
        explorer.open_table(folder).snapshot()
    except ExplorerError:
        return False
    return True


def _is_known(folder: Path) -> bool:
    try:
        explorer.open_table(folder).requirements()
    except ExplorerError:
        return False
    return True


def said_of(way: Way, folder: Path, operation: str) -> str:
    """What the program says that a client does with the newest version of a table."""
    facts = client_facts()
    release = known_release(way.client, way.release, facts)
    verdict = verdict_of(explorer.open_table(folder).requirements(), facts, way.client, release)
    return verdict.write if operation == "write" else verdict.read


def outcome(read: Callable[[], pa.Table], case: Case) -> tuple[str, str]:
    """What a client does that reads a table, and what it says where it refuses."""
    try:
        found = read()
    except ClientRefused as error:
        return "refuses", str(error)
    if case.rows is None or not _is_read_here(case.folder):
        return ("right" if case.count in (None, found.num_rows) else "wrong"), f"{found.num_rows} rows"
    try:
        digest = content_hash(_as_stated(found, case.folder))
    except (AssertionError, pa.ArrowException, KeyError) as error:
        return "wrong", f"{type(error).__name__}: {error}"
    return ("right" if digest == case.rows else "wrong"), f"{found.num_rows} rows"


def _as_stated(rows: pa.Table, folder: Path) -> pa.Table:
    """Rows with the types of the table's schema, in its order; a column that is missing or too many is an error."""
    schema = nullable_arrow_schema(explorer.open_table(folder).snapshot().schema)
    if set(rows.column_names) != set(schema.names):
        raise KeyError(rows.column_names)
    columns = [_cast(rows.column(field.name), field.type) for field in schema]
    return pa.table(columns, schema=schema) if columns else rows


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)
    return column.cast(kind)


def _differs(said: str, does: str) -> bool:
    return said in DOING and DOING[said] != does


def read_deviations(way: Way, client: Reader, tables: Iterable[str]) -> tuple[dict[Deviation, str], Counter[str]]:
    """Where a client that reads does another thing than is said, with what it says; and how often it does what."""
    found, done = {}, Counter[str]()
    for name in tables:
        case = cases()[name]
        said = said_of(way, case.folder, "read")
        does, detail = outcome(partial(client.read, case.folder), case)
        done[f"{said}: {does}"] += 1
        if _differs(said, does):
            found[Deviation(str(way), "read", name, said, does)] = detail
    return found, done


def write_deviations(
    way: Way, client: Writer, tables: Iterable[str], folder: Path
) -> tuple[dict[Deviation, str], Counter[str]]:
    """The same of a client that appends a row to a copy of each table, as it can be read before and after."""
    found, done = {}, Counter[str]()
    for name in tables:
        case = cases()[name]
        said = said_of(way, case.folder, "write")
        does, detail = _appended(client, case, folder / name)
        shutil.rmtree(folder / name)
        done[f"{said}: {does}"] += 1
        if _differs(said, does):
            found[Deviation(str(way), "write", name, said, does)] = detail
    return found, done


def _appended(client: Writer, case: Case, copy: Path) -> tuple[str, str]:
    shutil.copytree(case.folder, copy)
    table = explorer.open_table(copy)
    before = _rows(copy)
    row = _one_row(copy) if before is None else before.slice(0, 1)
    try:
        client.append(copy, row)
    except ClientRefused as error:
        return "refuses", str(error)
    table.refresh()
    if table.latest_version() != explorer.open_table(case.folder).latest_version() + 1:
        return "wrong", f"the newest version is {table.latest_version()}"
    after = _rows(copy)
    if before is None or after is None:
        return "right", "one version more; nobody here reads its rows"
    together = pa.concat_tables([before, row])
    if after.num_rows > _MOST_COMPARED:
        is_right = after.num_rows == together.num_rows
    else:
        is_right = content_hash(after) == content_hash(together)
    return ("right" if is_right else "wrong"), f"{after.num_rows} rows"


def _rows(folder: Path) -> pa.Table | None:
    """The rows with the types of the schema, by DuckDB; None where it does not read them."""
    try:
        return _as_stated(duckdb_rows(folder), folder)
    except (ExplorerError, AssertionError, pa.ArrowException, KeyError, duckdb.Error):
        return None


def _one_row(folder: Path) -> pa.Table:
    """No row, with the columns of the schema where it can be read."""
    try:
        return nullable_arrow_schema(explorer.open_table(folder).snapshot().schema).empty_table()
    except ExplorerError:
        return pa.table({"id": pa.array([], pa.int64())})


def _listed(found: Mapping[Deviation, str]) -> tuple[dict[Deviation, str], set[Deviation]]:
    """Those that the list does not have, with what the client says; and those that it has."""
    with LISTED.open(encoding="utf-8", newline="") as file:
        listed = {Deviation(*row[:5]) for row in list(csv.reader(file))[1:]}
    return {each: detail for each, detail in found.items() if each not in listed}, listed


def held_to_the_list(found: Mapping[Deviation, str], way: object, operation: str, tables: Iterable[str]) -> None:
    """Whatever is found is listed, and whatever is listed of these tables is found."""
    unlisted, listed = _listed(found)
    assert not unlisted, "\n".join(f"{','.join(each)}: {detail[:300]}" for each, detail in unlisted.items())
    among = set(tables)
    assert {
        each for each in listed if (each.client, each.operation) == (str(way), operation) and each.table in among
    } == set(found)
