"""The change feed of the reference writer's tables: what it answers and refuses, and the rows of each answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import explorer
from explorer.core.errors import ChangeFeedGap, RequestError, VersionNotFound
from explorer.core.versions.change_feed.feed import FeedSpan, change_feed_coverage
from tests.support.clients.golden_expectations import expected, spark_type
from tests.support.comparison.change_rows import change_rows, content_hash, table_rows
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.reference

ROOT = reference_root()
RANGES = [(name, change) for name, record in expected(ROOT).items() for change in record.get("changes", ())]
ANSWERED = [(name, change) for name, change in RANGES if "error" not in change]
CLOCK = "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION"
REFUSED = [(n, c) for n, c in RANGES if "error" in c and c["error"].get("condition") != CLOCK]

# What the reference calls it, and the hole or error that says the same.
REASONS: dict[str | None, str] = {
    "DELTA_MISSING_CHANGE_DATA": "off",
    "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE": "schema",
    "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA": "schema",
    "DELTA_INVALID_CDC_RANGE": "reversed",
    "DELTA_CDC_START_VERSION_AFTER_LATEST": "version",
    "DELTA_LOG_FILE_NOT_FOUND": "version",
    None: "vacuumed",
}


def _open(name: str) -> explorer.Table:
    return explorer.open_table(str(ROOT / "tables" / name))


def _id(value: Any) -> str:
    return value if isinstance(value, str) else f"{value['from']}-{value['to']}"


@pytest.mark.conformance("CDF-005", "CDF-006", "CDF-007", "CDF-010", "CDF-012", "CDF-020")
@pytest.mark.parametrize(("name", "change"), ANSWERED, ids=_id)
def test_the_rows_of_a_range_are_those_the_reference_gives(name: str, change: dict[str, Any]) -> None:
    table = _open(name)
    sources = table.change_sources(change["from"], change["to"])
    rows = list(change_rows(table, ROOT / "tables" / name, sources))
    assert len(rows) == change["row_count"]
    assert content_hash(rows) == change["content_hash"]
    fields = table.snapshot(sources.schema_version).schema.fields
    assert [f"{field.name} {spark_type(field.type)}" for field in fields] == change["columns"][:-2]


@pytest.mark.conformance("CDF-011", "CDF-012", "CDF-013", "CDF-018")
@pytest.mark.parametrize(("name", "change"), REFUSED, ids=_id)
def test_a_range_that_the_reference_refuses_is_refused_for_the_same_reason(name: str, change: dict[str, Any]) -> None:
    reason = REASONS[change["error"].get("condition")]
    if (name, change["from"], change["to"]) in BEYOND_THE_END:
        reason = "version"
    with pytest.raises(RequestError) as caught:
        _open(name).change_sources(change["from"], change["to"])
    match reason:
        case "off" | "schema":
            assert isinstance(caught.value, ChangeFeedGap)
            assert reason in {hole["kind"] for hole in caught.value.holes}
        case "vacuumed":
            assert isinstance(caught.value, ChangeFeedGap)
            assert caught.value.path is not None
            assert caught.value.version == 1
        case "version":
            assert isinstance(caught.value, VersionNotFound)
        case _:
            assert type(caught.value) is RequestError


BEYOND_THE_END = {("change-feed", 3, 100), ("change-feed-partitioned", 3, 100)}
"""Ranges that end after the newest version: the reference cuts them there, here they are refused as asked."""


def test_a_range_that_the_reference_refuses_by_the_clock_alone_is_answered() -> None:
    """The log and the files of these versions are there; the reference refuses them once they are old enough."""
    by_clock = [(n, c) for n, c in RANGES if c.get("error", {}).get("condition") == CLOCK]
    assert by_clock
    for name, change in by_clock:
        table = _open(name)
        sources = table.change_sources(change["from"], change["to"])
        rows = list(change_rows(table, ROOT / "tables" / name, sources))
        assert [row[:-1] for row in rows] == [
            (version, "insert") for version in range(change["from"], change["to"] + 1)
        ]


@pytest.mark.conformance("CDF-011")
@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("change-feed", [(2, 10), (13, 18)]),
        ("change-feed-partitioned", [(2, 11), (14, 19)]),
        ("drop-feature", [(0, 31)]),
        ("protocol-features", [(2, 15)]),
        ("log-cleanup", [(6, 10)]),
        ("deletion-vectors", []),
    ],
)
def test_the_versions_with_the_feed_are_those_of_the_commands(name: str, spans: list[tuple[int, int]]) -> None:
    assert list(change_feed_coverage(_open(name).history_record())) == [FeedSpan(*span) for span in spans]


@pytest.mark.conformance("CDF-013")
def test_a_range_whose_schema_is_no_longer_the_table_s_can_be_read_with_its_own() -> None:
    table = _open("change-feed")
    sources = table.change_sources(15, 17, schema_version=17)
    rows = list(change_rows(table, ROOT / "tables" / "change-feed", sources))
    assert (3, "w", 1, 7, "insert", 16) in rows
    assert sorted(row[-2:] for row in rows) == [("delete", 17)] * 3 + [("insert", 16)]


@pytest.mark.conformance("CDF-007", "CDF-008", "CDF-009")
@pytest.mark.parametrize("name", ["deletion-vectors", "copy-on-write", "clustering", "optimize", "replace-where"])
def test_rows_before_and_inferred_changes_make_the_rows_after(name: str) -> None:
    """Without a recorded feed: the rows of a version, less the deletes, plus the inserts, are those of the next."""
    table, root = _open(name), ROOT / "tables" / name
    compared = 0
    for version in range(1, table.latest_version() + 1):
        sources = table.change_sources(version, version, inferred=True, schema_version=version)
        before = table.snapshot(version - 1).schema
        if before != table.snapshot(version).schema:
            continue
        rows = Counter(map(repr, table_rows(table, root, version - 1, version)))
        for *values, kind, _ in change_rows(table, root, sources):
            rows[repr(tuple(values))] += 1 if kind in ("insert", "update_postimage") else -1
            compared += 1
        after = Counter(map(repr, table_rows(table, root, version, version)))
        assert {row: count for row, count in rows.items() if count} == after, version
    assert compared
