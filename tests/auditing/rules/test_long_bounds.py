"""Bounds of long strings against footers, whose writer may have cut them off and raised the last letter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log

LONG: Final = "b" * 70
CASES: Final = {
    # What the file holds, the bounds in the log, and whether they are certainly wrong.
    "a maximum cut off without a raise": ([LONG], "b" * 32, "b" * 32, True),
    "a maximum cut off with U+FFFD below what follows": (
        ["a", "b" * 40 + "\U0001f600" * 10], "a", "b" * 40 + "\ufffd", True),
    "a minimum above a long string": (["a" * 70, "c"], "b", "c", True),
    "a minimum that is cut off": (["a" * 70, "c"], "a" * 32, "c", False),
    "a minimum as long as the string": (["a" * 70, "c"], "a" * 70, "c", False),
    "a maximum that is cut off and raised": ([LONG], "b" * 32, "b" * 32 + "\U0010ffff", False),
    "a maximum as long as the string": ([LONG], "b" * 32, LONG, False),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_audit_with_footers_names_a_long_bound_that_is_certainly_wrong(tmp_path: Path, name: str) -> None:
    values, low, high, is_wrong = CASES[name]
    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(pa.table({"v": values}), root / "a.parquet")
    stats = {"numRecords": len(values), "minValues": {"v": low}, "maxValues": {"v": high}, "nullCount": {"v": 0}}
    line = msgspec.structs.replace(add("a.parquet", size=(root / "a.parquet").stat().st_size), stats=json.dumps(stats))
    write_log(root, [[PROTOCOL, metadata({"v": "string"}), line]])
    rules = {finding.rule for finding in explorer.open_table(root).audit(NOW, check_footers=True).findings}
    assert ("wrong-statistics" in rules) == is_wrong
