"""What makes clients refuse a table or return wrong results is an error of the audit, unasked if it costs no read."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import explorer
from explorer.auditing.finding import Finding
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import METADATA, PROTOCOL, Line, add, metadata, new_store, write


def _table(*commits: list[Line]) -> explorer.Table:
    store = new_store()
    write(store, dict(enumerate([[PROTOCOL, METADATA], *commits])))
    return explorer.Table(store)


def _finding(table: explorer.Table, rule: str, **asked: Any) -> Finding | None:
    found = table.audit(NOW, **asked).findings
    return next((each for each in found if each.rule == rule), None)


@pytest.mark.parametrize(
    "line",
    [
        b'{"add":{"path":"a","partitionValues":{},"size":1}}',
        b'{"Add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}',
        b'{"txn":{"appId":"a","version":1},"commitInfo":{"timestamp":1}}',
        b'{"commitInfo":{"timestamp":1,"readVersion":7}}',
    ],
    ids=["missing member", "misspelled action", "two actions", "impossible number"],
)
def test_what_misleads_clients_is_an_error_of_the_replay(line: bytes) -> None:
    store = new_store()
    write(store, {0: [PROTOCOL, METADATA]})
    store.put_if_absent(f"_delta_log/{1:020d}.json", line + b"\n")
    found = _finding(explorer.Table(store), "log-faults", verify=True)
    assert found is not None
    assert (found.severity, found.remedy is not None) == ("error", True)
    assert "not known to answer wrongly" not in found.effect


@pytest.mark.parametrize(
    ("kind", "low", "high", "wrong"),
    [
        ("long", 5, 4, True),
        ("long", 4, 4, False),
        ("string", "b", "a", True),
        ("string", "a", "b", False),
        ("boolean", True, False, True),
        ("double", 2.5, 1.5, True),
        ("decimal(5,2)", 2.5, 1.5, True),
        ("date", "2026-02-01", "2026-01-01", True),
        ("timestamp", "2026-01-01T00:00:00.000900Z", "2026-01-01T00:00:00.000Z", False),
        ("timestamp", "2026-01-01T00:00:00.002Z", "2026-01-01T00:00:00.000Z", True),
    ],
)
def test_bounds_out_of_order_are_an_error_though_no_footer_was_read(
    kind: str, low: object, high: object, wrong: bool
) -> None:
    table = _table([metadata({"a": kind}), add("f", 3, bounds={"a": (low, high)})])
    found = _finding(table, "wrong-statistics")
    assert (found is not None) == wrong
    if found is not None:
        assert (found.severity, found.files, "themselves" in found.title) == ("error", 1, True)
        assert found.remedy is not None
        assert found.remedy.intent is not None


def test_more_nulls_than_rows_are_an_error_and_as_many_are_not() -> None:
    def stats(nulls: int) -> Line:
        stated = json.dumps({"numRecords": 3, "nullCount": {"a": nulls}})
        return msgspec.structs.replace(add("f"), stats=stated)

    assert _finding(_table([metadata({"a": "long"}), stats(3)]), "wrong-statistics") is None
    found = _finding(_table([metadata({"a": "long"}), stats(4)]), "wrong-statistics")
    assert found is not None
    assert "4 nulls in 3 rows" in found.evidence[0].text
