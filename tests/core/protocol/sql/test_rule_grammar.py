"""Rules that Spark cannot evaluate, told from the text alone: functions that it lacks, and what its grammar lacks."""

from __future__ import annotations

import json

import pytest

import explorer
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.protocol.sql.rule_readings import Subject, doubt
from tests.support.logs.small_logs import METADATA, add, new_store, write
from tests.support.logs.small_schemas import field, struct

SCHEMA = parse_schema(
    json.dumps(struct(field("id", "long"), field("Status", "string"), field("and"), field("s", struct(field("a")))))
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("frobnicate(id) > 0", "calls frobnicate, which is not a function of Spark"),
        ("ISNUMERIC(Status)", "calls isnumeric, which is not a function of Spark"),
        ("id > 0 AND to_tsvector(Status) IS NOT NULL", "to_tsvector"),
        ("max(id) > 0", "an aggregate over many rows"),
        ("id > 0 AND row_number() OVER () > id", "a window of rows"),
        ("explode(array(id)) > 0", "a generator"),
        ("id > rand()", "differs from one reading to the next"),
        ("id > 0 AND", "ends after AND"),
        ("id > 0 or not", "ends after not"),
        ("id IN", "ends after IN"),
        ("id >", "ends before an expression does"),
        ("id + ", "ends before an expression does"),
        ("[id] > 0", "cannot read [ at character 1"),
        ("id > 0 OR [Status] = 'x'", "cannot read [ at character 11"),
        ("\u201cid\u201d > 0", "cannot read \u201c at character 1"),
        ("id > 0;", "cannot read ; at character 7"),
        ("id > $1", "cannot read $"),
        ("id > ?", "cannot read ?"),
        ("id > @limit", "cannot read @"),
        ("Status ~ '^a'", "cannot read ~ at character 8"),
        ("id > 0 AND lower(Status) ~* '^a'", "cannot read ~"),
        ("`Status` !~ '^a'", "cannot read ! at character 10"),
    ],
)
@pytest.mark.parametrize("of", ["rows", "values"])
def test_what_spark_cannot_evaluate_is_in_doubt(text: str, said: str, of: Subject) -> None:
    assert said in doubt(text, SCHEMA, of=of)


@pytest.mark.parametrize(
    "text",
    [
        "Status LIKE ANY ('a%', 'b%') OR Status ILIKE SOME ('c%')",
        "s['a'] > 0 AND array(id)[0] > 0 AND (array(id))[0] > 0",
        "id::int > 0",
        "CASE WHEN (id > 0) THEN (id < 9) ELSE (NOT (id = 3)) END",
        "id > and",
        "id IN (1, 2) AND (id BETWEEN (1) AND (9)) AND id <=> 3 AND id % 2 | 1 > 0",
        "exists(array(id), x -> x > 0) AND element_at(map(id, 1), id) = 1",
        "cast(id AS decimal(10,2)) > 0 AND Status || '' <> '?;$@'",
        "~id < 0 AND !(id = 0)",
    ],
)
def test_what_spark_evaluates_is_not(text: str) -> None:
    assert doubt(text, SCHEMA, of="rows") == ""


@pytest.mark.parametrize(
    "metadata",
    [
        {"delta.invariants": json.dumps({"expression": {"expression": "frob(id) > 0"}})},
        {"delta.generationExpression": "frob(id)"},
    ],
)
def test_invariants_and_generated_columns_alike(metadata: dict[str, str]) -> None:
    schema = json.dumps(struct(field("id", "long"), field("g", "long", **metadata)))
    found = explorer.Table(table_store(schema)).audit().findings
    (finding,) = (each for each in found if each.rule == "rules-in-doubt")
    assert finding.severity == "error"
    assert "frob, which is not a function of Spark" in finding.evidence[0].text
    assert finding.remedy is not None


def table_store(schema: str) -> LogStore:
    store = new_store()
    said = {"metaData": {**METADATA.to_wire(), "schemaString": schema}}
    write(store, {0: ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}, said, add("a"))})
    return store
