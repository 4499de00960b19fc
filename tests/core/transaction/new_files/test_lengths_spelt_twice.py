"""Lengths of texts in a struct bind once each: by the field that spells its own, else by what the struct spells."""

from __future__ import annotations

import json
from typing import Any

from explorer.core.transaction.new_files.row_constraints import row_rules
from tests.support.logs.small_proposals import snapshot
from tests.support.logs.spark_tables import column, struct

SPELT = "__CHAR_VARCHAR_TYPE_STRING"


def spelt(name: str, kind: Any, text: str) -> dict[str, Any]:
    return column(name, kind, **{SPELT: text})


def test_fields_after_one_that_spells_its_own_length_keep_theirs() -> None:
    inside = struct(column("a", "string"), spelt("b", "string", "char(2)"), column("c", "string"))
    schema = struct(spelt("s", inside, "struct<a:varchar(1),b:char(2),c:varchar(3)>"), spelt("t", "string", "char(4)"))
    found = [(rule.name, rule.expression) for rule in row_rules(snapshot(schema=json.dumps(schema)))]
    assert sorted(found) == [
        ("s", "coalesce(length(`s`.`a`) <= 1, true)"),
        ("s", "coalesce(length(`s`.`c`) <= 3, true)"),
        ("s.b", "coalesce(length(`s`.`b`) <= 2, true)"),
        ("t", "coalesce(length(`t`) <= 4, true)"),
    ]
