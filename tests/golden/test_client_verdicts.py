"""What the program says of other clients, beside what those at hand do with the tables of others, and with copies."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.clients.client_verdicts import LISTED, cases, held_to_the_list, read_deviations, write_deviations
from tests.support.clients.other_clients import INSTALLED, OLDER, OtherClient, Way
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.shared_tables import REPOSITORY

pytestmark = [pytest.mark.golden, pytest.mark.reference, pytest.mark.interop]

WRITTEN: Final = (
    "column-mapping", "change-feed", "deletion-vectors", "identity", "row-tracking", "clustering", "partition-types",
)  # fmt: skip
SOME_GOLDEN: Final = 12


@contextmanager
def _running(way: Way, folder: Path) -> Iterator[OtherClient]:
    client = OtherClient(way, folder)
    try:
        yield client
    finally:
        client.close()


def _read_tables() -> list[str]:
    golden = [name for name in cases() if "__" in name]
    return [*some_of(golden, SOME_GOLDEN), *(name for name in cases() if "__" not in name)]


WAYS: Final = (*INSTALLED, *(OLDER if WHOLE_DOSE else ()))


@pytest.mark.whole(
    "tests/golden/test_independent_readers.py, where DuckDB reads too, and other clients", cases=["duckdb HEAD 2026-07"]
)
@pytest.mark.whole("deltalake by its other way, and other clients", cases=["deltalake to_pyarrow 1.6.6"])
@pytest.mark.parametrize("way", [way for way in WAYS if way.reads], ids=str)
def test_a_client_reads_what_it_is_said_to_read_refuses_the_rest_and_errs_where_that_is_said(
    way: Way, tmp_path: Path
) -> None:
    tables = _read_tables()
    with _running(way, tmp_path) as client:
        found, done = read_deviations(way, client, tables)
    print(f"\n{way}: {dict(done)}")
    held_to_the_list(found, way, "read", tables)
    assert done["yes: right"]


def test_each_cause_of_a_deviation_is_in_the_documents() -> None:
    with LISTED.open(encoding="utf-8", newline="") as file:
        causes = {row["cause"] for row in csv.DictReader(file)}
    text = (REPOSITORY / "docs" / "clients.md").read_text("utf-8")
    assert causes
    assert [cause for cause in sorted(causes) if not cause or cause not in text] == []


@pytest.mark.parametrize(
    "way", [way for way in (*INSTALLED[:1], *(INSTALLED[1:] + OLDER if WHOLE_DOSE else ())) if way.writes], ids=str
)
def test_a_client_writes_what_it_is_said_to_write_and_no_other(way: Way, tmp_path: Path) -> None:
    tables = list(cases()) if WHOLE_DOSE else list(WRITTEN)
    with _running(way, tmp_path) as client:
        found, done = write_deviations(way, client, tables, tmp_path)
    print(f"\n{way}, writing: {dict(done)}")
    held_to_the_list(found, way, "write", tables)
    assert sum(done.values()) == len(tables)
