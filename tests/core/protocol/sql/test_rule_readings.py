"""Rules that Spark and other writers read differently: which are in doubt, and how they are written for both."""

from __future__ import annotations

import json

import pytest

from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.protocol.sql.rule_readings import Subject, doubt, in_backticks
from tests.support.logs.small_schemas import field, struct

SCHEMA = parse_schema(
    json.dumps(struct(field("id", "long"), field("my col", "long"), field("Status"), field("a`b"), field("and")))
)


@pytest.mark.parametrize(
    ("text", "said", "better"),
    [
        ("\"Status\" != 'deleted'", "deltalake", "`Status` != 'deleted'"),
        ('"my col" > 0 AND id > 0', "deltalake", "`my col` > 0 AND id > 0"),
        ('"a`b" IS NOT NULL', "deltalake", "`a``b` IS NOT NULL"),
        ("\"STATUS\" = 'x'", "deltalake", "`STATUS` = 'x'"),
        ('Status = "open"', "other writers", None),
        ('r"x" = Status', "other writers", None),
        ('id > 0 AND "x" = "x"', "other writers", None),
        ("1 = 1", "names no column", None),
        ("true", "names no column", None),
        ("'Status' != 'deleted'", "names no column", None),
        ("current_date() > DATE '2020-01-01'", "names no column", None),
        ("nope > 0", "nope, which is not a column", None),
        ("my col > 0", "not a column", None),
        ("id > 'x", "cannot be read", None),
    ],
)
def test_a_rule_in_doubt_says_why(text: str, said: str, better: str | None) -> None:
    assert said in doubt(text, SCHEMA, of="rows")
    assert in_backticks(text, SCHEMA) == better


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("id > 0", "rows"),
        ("`my col` > 0 AND Status IN ('a', 'b\"c')", "rows"),
        ("and > 'x'", "rows"),
        ('STATUS IS NOT NULL -- "x"', "rows"),
        ("1", "values"),
        ("CAST(id AS STRING)", "values"),
        ("current_date()", "default"),
        ("'x'", "default"),
    ],
)
def test_a_rule_that_all_read_alike_is_not_in_doubt(text: str, of: Subject) -> None:
    assert doubt(text, SCHEMA, of=of) == ""


@pytest.mark.parametrize("of", ["rows", "values", "default"])
def test_double_quotes_are_in_doubt_in_every_expression(of: Subject) -> None:
    assert '"id"' in doubt('upper("id")', SCHEMA, of=of)
