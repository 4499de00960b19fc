"""What keeps clients out beside features: property values, partition columns and types of columns.

What delta-spark 4.4.0 does was tried on tables with these values.
"""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.auditing import Finding
from explorer.core.compatibility.access import verdict_of
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.matrix import matrix
from explorer.core.compatibility.my_clients import MyClient
from explorer.core.protocol.actions import Metadata
from explorer.core.transaction.intents.records import SetProperties
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import MASKED, PROTOCOL, add, metadata, table, vector
from tests.support.rule_findings import finding_of

KEPT = "delta.deletedFileRetentionDuration"


def _table(said: Metadata) -> explorer.Table:
    return table({0: [PROTOCOL, said, add("a.parquet")]})


def _finding(table: explorer.Table, rule: str) -> Finding | None:
    return next((finding for finding in table.audit(NOW).findings if finding.rule == rule), None)


def _found(table: explorer.Table, rule: str) -> Finding:
    return finding_of(table.audit(NOW), rule)


def _access(table: explorer.Table, client: str) -> tuple[str, str]:
    """What the newest known release of a client reads and writes."""
    facts = client_facts()
    verdict = verdict_of(table.requirements(), facts, client, facts.versions[client][-1])
    return verdict.read, verdict.write


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        ("interval 1 month", False),
        ("interval 1 year", False),
        ("1 month", False),
        ("interval 1 month 3 days", False),
        ("7", False),
        ("interval 7", False),
        ("P7D", False),
        ("7d", False),
        ("interval '7' day", False),
        ("interval 1.5 days", False),
        ("", False),
        ("interval 7 days", True),
        (" INTERVAL 7 DAYS ", True),
        ("1 week", True),
        ("168 hours", True),
        ("interval 7 days 5 hours", True),
    ],
)
def test_a_retention_that_the_reference_cannot_parse_keeps_it_out_and_is_an_error(value: str, *, taken: bool) -> None:
    table = _table(metadata({"k": "long"}, (), {KEPT: value}))
    finding = _finding(table, "property-values")
    assert (finding is None) == taken
    assert _access(table, "delta-spark") == (("yes", "yes") if taken else ("no", "no"))
    if finding is not None:
        assert finding.severity == "error"
        assert finding.remedy is not None
        assert isinstance(finding.remedy.intent, SetProperties)
        assert table.commit(table.plan(finding.remedy.intent)).outcome == "committed"
        assert _finding(table, "property-values") is None


@pytest.mark.parametrize(
    ("key", "value", "severity", "access"),
    [
        ("delta.setTransactionRetentionDuration", "P7D", "error", ("no", "no")),
        ("delta.checkpointInterval", "x", "error", ("yes", "no")),
        ("delta.dataSkippingNumIndexedCols", "abc", "error", ("yes", "no")),
        ("delta.enableChangeDataFeed", "1", "error", ("yes", "no")),
        ("delta.isolationLevel", "foo", "error", ("yes", "no")),
        ("delta.logRetentionDuration", "interval 1 month", "warning", ("yes", "yes")),
        ("delta.enableExpiredLogCleanup", "maybe", "warning", ("yes", "yes")),
    ],
)
def test_any_value_that_cannot_be_read_is_a_finding_with_a_change_that_repairs_it(
    key: str, value: str, severity: str, access: tuple[str, str]
) -> None:
    table = _table(metadata({"k": "long"}, (), {key: value}))
    finding = _found(table, "property-values")
    assert finding.severity == severity
    assert key in finding.title
    assert finding.remedy is not None
    assert _access(table, "delta-spark") == access


def test_a_partition_column_of_another_case_is_an_error_and_decides_who_reads() -> None:
    for schema, partition in (({"Id": "long", "Region": "string"}, "region"), ({"id": "long", "É": "string"}, "é")):
        table = _table(metadata(schema, (partition,)))
        finding = _found(table, "partition-column-case")
        assert finding.severity == "error"
        assert finding.remedy is not None
        assert "--output" in finding.remedy.command
        assert _access(table, "delta-spark") == ("no", "no")
        assert _access(table, "DuckDB delta extension") == ("no", "no")
        assert _access(table, "delta-kernel-rs")[0] == "wrong"
    assert _finding(_table(metadata({"Id": "long", "Region": "string"}, ("Region",))), "partition-column-case") is None


@pytest.mark.parametrize(
    "kind",
    [
        "void",
        {"type": "struct", "fields": [{"name": "u", "type": "void", "nullable": True, "metadata": {}}]},
        {"type": "array", "elementType": "null", "containsNull": True},
    ],
)
def test_a_void_type_at_any_depth_decides_who_reads(kind: Any) -> None:
    table = _table(metadata({"k": "long", "x": kind}))
    assert _access(table, "delta-spark")[0] == "yes"
    assert _access(table, "delta-kernel-rs")[0] == "no"
    assert _access(table, "DuckDB delta extension")[0] == "no"
    assert _access(_table(metadata({"k": "long"})), "delta-kernel-rs")[0] == "yes"


def test_the_row_of_this_program_is_never_unknown() -> None:
    for said in (metadata({"k": "long"}), metadata({"k": "long", "i": "interval day"})):
        table = _table(said)
        own = MyClient("Delta-Table-Explorer/1.0", "", None, "writer", seen=True)
        (row,) = matrix(table.requirements(), (), client_facts(), (own,))
        assert (row.read, row.write) == (
            "yes",
            "yes" if said.schema_string and "interval" not in said.schema_string else "no",
        )


def test_rules_about_readers_fire_once_on_a_table_of_their_kind() -> None:
    unread = _found(_table(metadata({"k": "long", "i": "interval day"})), "unread-columns")
    assert (unread.severity, "i" in unread.title) == ("warning", True)
    masked = add("a.parquet", 10, vector=vector("one"))
    contested = table({0: [MASKED, metadata({"k": "long"}), add("a.parquet", 10)], 1: [masked]})
    assert _found(contested, "contested-files").severity == "error"
