"""Which files a condition reads: counted by hand on a table whose files are known, step by step and rule by rule."""

from __future__ import annotations

import json

import msgspec
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.views.table.facts import TableFacts
from explorer.views.table.funnel import (
    compared_words,
    funnel_of,
    read_files,
    requested_columns,
    rule_listing,
)
from tests.support.logs.small_logs import MASKED, Line, add, commit_info, metadata, remove, vector, write_log

WHERE = "region = 'eu' AND amount > 100"


def _file(name: str, region: str, low: int, high: int, size: int) -> Line:
    return add(name, 10, bounds={"amount": (low, high)}, partition_values={"region": region}, size=size)


def _wide(name: str, size: int) -> Line:
    """A file whose bounds are those of before its rows were masked."""
    stats = {
        "numRecords": 10, "minValues": {"amount": 0}, "maxValues": {"amount": 500}, "nullCount": {"amount": 0},
        "tightBounds": False,
    }  # fmt: skip
    plain = add(name, 10, partition_values={"region": "eu"}, size=size, vector=vector("w", 3))
    return msgspec.structs.replace(plain, stats=json.dumps(stats))


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> TableFacts:
    """v1 has six files; v2 removes the two that the condition reads for certain and adds one larger one."""
    created = [
        commit_info("CREATE TABLE"),
        MASKED,
        metadata({"region": "string", "amount": "long"}, ("region",)),
    ]
    loaded = [
        commit_info("WRITE"),
        _file("us.parquet", "us", 0, 900, 1),
        _file("low.parquet", "eu", 0, 100, 2),
        _file("a.parquet", "eu", 50, 150, 4),
        _file("b.parquet", "eu", 200, 300, 8),
        add("unknown.parquet", 10, partition_values={"region": "eu"}, size=16),
        _wide("wide.parquet", 32),
    ]  # fmt: skip
    merged = [
        commit_info("OPTIMIZE"),
        remove("a.parquet"),
        remove("b.parquet"),
        _file("ab.parquet", "eu", 50, 300, 13),
    ]
    location = write_log(tmp_path_factory.mktemp("funnel") / "t", [created, loaded, merged])
    return TableFacts(explorer.open_table(location))


def test_each_step_counts_what_is_left_and_what_it_dropped(facts: TableFacts) -> None:
    funnel = funnel_of(facts, 1, WHERE)
    assert [(step.label, step.files, step.size, step.dropped) for step in funnel.steps] == [
        ("live files", 6, 63, 0),
        ("after partition values", 5, 62, 1),
        ("after statistics", 4, 60, 1),
    ]
    assert (funnel.without_statistics, funnel.wide, funnel.counts) == (
        1,
        1,
        {"read": 4, "partition": 1, "statistics": 1},
    )
    assert read_files(facts, 1, WHERE) == {"a.parquet", "b.parquet", "unknown.parquet", "wide.parquet"}


def test_two_versions_are_drawn_on_one_scale_and_their_difference_is_said(facts: TableFacts) -> None:
    before, after = (funnel_of(facts, version, WHERE, 6) for version in (1, 2))
    assert before.steps[0].share == 1
    assert after.steps[0].share == pytest.approx(5 / 6)
    assert compared_words(before, after) == "1 file fewer, 1 B more at v2 than at v1."
    assert compared_words(before, before) == "Same files and bytes as at v1."


def test_every_file_is_listed_with_its_rule(facts: TableFacts) -> None:
    rules = {
        row["path"]: (row["rule"], row["size"]) for row in rule_listing(facts, 1, WHERE, "amount", "").table.to_pylist()
    }
    assert rules == {
        "us.parquet": ("skipped by its partition values", 1),
        "low.parquet": ("skipped by its minimum and maximum", 2),
        "a.parquet": ("read: it may contain a matching row", 4),
        "b.parquet": ("read: it may contain a matching row", 8),
        "unknown.parquet": ("read: no statistics for a column", 16),
        "wide.parquet": ("read: bounds are wide because rows are masked", 32),
    }
    for kind, count in (("read", 4), ("partition", 1), ("statistics", 1)):
        assert rule_listing(facts, 1, WHERE, "amount", kind).total == count


def test_a_part_that_no_statistics_answer_is_named(facts: TableFacts) -> None:
    funnel = funnel_of(facts, 1, f"{WHERE} AND length(region) > 1")
    assert [text for text, _ in funnel.unsplittable] == ["length(region) > 1"]
    assert funnel.read.files == 4


def test_the_columns_of_a_condition_are_found_wherever_they_stand() -> None:
    assert requested_columns("NOT (a = 1 OR b.c IS NULL) AND d LIKE 'x%' AND a < 3") == ("a", "b.c", "d")


def test_a_text_that_is_no_condition_is_refused(facts: TableFacts) -> None:
    with pytest.raises(RequestError):
        funnel_of(facts, 1, "amount >")
    with pytest.raises(RequestError, match="no column nope"):
        funnel_of(facts, 1, "nope = 1")
