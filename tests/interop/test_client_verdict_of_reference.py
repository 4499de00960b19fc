"""What the program says of the reference, beside what it does with the tables of others, and on copies of them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.client_verdicts import cases, held_to_the_list, read_deviations, write_deviations
from tests.support.dose import WHOLE_DOSE
from tests.support.other_clients import ClientRefused, Way
from tests.support.reference_writer import ReferenceRefused, ReferenceWriter

pytestmark = [pytest.mark.golden, pytest.mark.reference, pytest.mark.interop]

FEW = ("column-mapping", "type-widening", "delta__deltalog-invalid-protocol-version", "kernelrs__table-with-geo")


class Reference:
    """The reference as a client among others."""

    def __init__(self, writer: ReferenceWriter) -> None:
        self._writer = writer
        self.way = Way("delta-spark", writer.coordinates.rpartition(":")[2], "delta-spark")

    def read(self, table: Path) -> pa.Table:
        """Read the newest version."""
        try:
            return self._writer.rows(table)
        except ReferenceRefused as error:
            raise ClientRefused(str(error)) from error

    def append(self, table: Path, rows: pa.Table) -> None:
        """Append rows."""
        try:
            self._writer.commit(table, rows)
        except ReferenceRefused as error:
            raise ClientRefused(str(error)) from error


@pytest.mark.parametrize("operation", ["read", "write"])
def test_the_reference_does_what_is_said_of_it(
    operation: str, reference_writer: ReferenceWriter, tmp_path: Path
) -> None:
    client = Reference(reference_writer)
    tables = [name for name in cases() if WHOLE_DOSE or name in FEW]
    if operation == "read":
        found, done = read_deviations(client.way, client, tables)
    else:
        found, done = write_deviations(client.way, client, tables, tmp_path)
    print(f"\n{client.way}, {operation}: {dict(done)}")
    held_to_the_list(found, client.way, operation, tables)
    assert done["yes: right"]
