"""Statistics that exclude rows which their file holds: erasure, delete, update and audit say so, and find the rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

OLD: Final = datetime(1850, 1, 1, 0, 7, 33, tzinfo=UTC)
CUT: Final = "1850-01-01T01:01:01.000+00:53"
FACE: Final = "\U0001f600" * 3
LONG: Final = "a" * 31
CASES: Final = {
    # Bounds whose zone has lost its seconds.
    "time": ("timestamp", OLD, CUT, CUT, "v < '1850-01-01T00:08:00Z'"),
    # A greatest value that was cut off with U+FFFD, which is below what follows.
    "text": ("string", LONG + FACE, LONG, LONG + "\ufffd", f"v >= '{LONG}\U0001f600'"),
    "number": ("long", 12, 1, 9, "v = 12"),
    "nulls": ("long", None, 1, 9, "v IS NULL"),
}  # fmt: skip


def _table(root: Path, kind: str, value: Any, low: Any, high: Any) -> explorer.Table:
    types = {"timestamp": pa.timestamp("us", "UTC"), "string": pa.string(), "long": pa.int64()}
    root.mkdir()
    pq.write_table(pa.table({"v": pa.array([value], types[kind])}), root / "a.parquet")
    pq.write_table(pa.table({"v": pa.array([None], types[kind])}), root / "b.parquet")
    stats = {"numRecords": 1, "minValues": {"v": low}, "maxValues": {"v": high}, "nullCount": {"v": 0}}
    said = {"a.parquet": stats, "b.parquet": {"numRecords": 1, "nullCount": {"v": 1}}}
    lines = [
        msgspec.structs.replace(add(name, size=(root / name).stat().st_size), stats=json.dumps(stated))
        for name, stated in said.items()
    ]
    write_log(root, [[PROTOCOL, metadata({"v": kind}), *lines]])
    return explorer.open_table(root)


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize("name", CASES)
def test_erasure_puts_the_statistics_first_and_delete_finds_the_rows_and_says_so(tmp_path: Path, name: str) -> None:
    kind, value, low, high, where = CASES[name]
    table = _table(tmp_path / "t", kind, value, low, high)
    proof = table.erasure(where)
    rows = 2 if name == "nulls" else 1
    assert proof.totals["live"] == rows
    assert proof.misleading == ("a.parquet",)
    assert [step.intent and step.intent["kind"] for step in proof.steps][:2] == ["recompute-statistics", "delete"]
    assert any("exclude matching rows" in reason for reason in proof.obstacles)
    plan = table.plan({"kind": "delete", "where": where})
    guard = next(guard for guard in plan.guards if guard.name == "statistics-right")
    assert guard.status == "warn"
    assert "a.parquet" in str(guard.evidence["detail"])
    assert table.commit(plan).outcome == "committed"
    assert table.erasure(where).totals["live"] == 0


def test_the_step_that_comes_first_repairs_what_queries_skip(tmp_path: Path) -> None:
    kind, value, low, high, where = CASES["time"]
    table = _table(tmp_path / "t", kind, value, low, high)
    assert table.rows(where=where).count() == 0
    audit = {finding.rule: finding for finding in table.audit(check_rows=True).findings}
    assert audit["wrong-statistics"].severity == "error"
    assert table.commit(table.plan({"kind": "recompute-statistics"})).outcome == "committed"
    assert table.rows(where=where).count() == 1
    proof = table.erasure(where)
    assert proof.misleading == ()
    assert "statistics-right" not in {guard.name for guard in table.plan({"kind": "delete", "where": where}).guards}


def test_an_update_says_it_too_and_sound_statistics_say_nothing(tmp_path: Path) -> None:
    table = _table(tmp_path / "t", "long", 12, 1, 9)
    guards = {guard.name for guard in table.plan({"kind": "update", "where": "v = 12", "set": {"v": "13"}}).guards}
    assert "statistics-right" in guards
    sound = _table(tmp_path / "s", "long", 12, 12, 12)
    guards = {guard.name for guard in sound.plan({"kind": "update", "where": "v = 12", "set": {"v": "13"}}).guards}
    assert "statistics-right" not in guards


def test_a_missing_file_that_statistics_exclude_does_not_stop_a_delete(tmp_path: Path) -> None:
    table = _table(tmp_path / "t", "long", 5, 5, 5)
    (tmp_path / "t" / "a.parquet").unlink()
    assert table.commit(table.plan({"kind": "delete", "where": "v IS NULL"})).outcome == "committed"


def test_the_audit_with_rows_names_a_text_bound_that_is_too_low(tmp_path: Path) -> None:
    kind, value, low, high, _ = CASES["text"]
    table = _table(tmp_path / "t", kind, value, low, high)
    findings = {finding.rule: finding for finding in table.audit(check_rows=True).findings}
    assert "maxValues of v" in " ".join(piece.text for piece in findings["wrong-statistics"].evidence)
