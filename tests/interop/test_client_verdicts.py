"""What the program says of delta-spark, beside what it does with the tables of others, and with copies."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.support.clients.client_verdicts import cases, held_to_the_list, read_deviations, write_deviations
from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.clients.spark_client import SPARK, SparkClient
from tests.support.dose import WHOLE_DOSE

pytestmark = [pytest.mark.golden, pytest.mark.reference, pytest.mark.interop]

SOME_READ: Final = (
    "kernelrs__compacted-log-files-table", "kernelrs__table-with-geo", "kernelrs__timestamp-partitioned-table",
    "variant", "column-mapping",
)  # fmt: skip
SOME_WRITTEN: Final = ("identity", "timestamp-ntz", "append-only")


@pytest.mark.whole("tests/golden/test_client_verdicts.py of other clients, and what delta-spark is said to write")
def test_delta_spark_reads_what_it_is_said_to_read_and_refuses_the_rest(reference_writer: ReferenceWriter) -> None:
    tables = list(cases()) if WHOLE_DOSE else list(SOME_READ)
    found, done = read_deviations(SPARK, SparkClient(reference_writer), tables)
    print(f"\n{SPARK}: {dict(done)}")
    held_to_the_list(found, SPARK, "read", tables)
    assert done["yes: right"]
    assert sum(done.values()) == len(tables)


@pytest.mark.whole("tests/golden/test_client_verdicts.py, with other clients")
def test_delta_spark_writes_what_it_is_said_to_write_and_no_other(
    reference_writer: ReferenceWriter, tmp_path: Path
) -> None:
    tables = list(cases()) if WHOLE_DOSE else list(SOME_WRITTEN)
    found, done = write_deviations(SPARK, SparkClient(reference_writer), tables, tmp_path)
    print(f"\n{SPARK}, writing: {dict(done)}")
    held_to_the_list(found, SPARK, "write", tables)
    assert done["yes: right"]
    assert sum(done.values()) == len(tables)
