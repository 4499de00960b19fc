"""Plans and expressions over hostile logs: twice as much in a log takes about twice as long, not four times."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import count

import pytest

from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.schema.field_metadata import CHAR_VARCHAR, GENERATION_EXPRESSION, INVARIANTS
from explorer.core.protocol.sql.stored_expressions import expression_columns
from explorer.core.transaction.guards.columns import char_guard, constraint_guard, generated_guard
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.intents.records import AddColumns
from explorer.core.transaction.proposal import Circumstances
from explorer.core.transaction.proposals.add_columns import add_columns
from explorer.core.versions.snapshot import Snapshot
from tests.support.logs import small_logs

# Between the two sizes. What grows with the size takes as many times as long; what grows with its square, 64 times.
_FACTOR = 8


def snapshot_of(names: list[str], rules: dict[str, str], marks: dict[str, str]) -> Snapshot:
    """A table of columns that all have the same metadata."""
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": marks} for name in names]
    schema = json.dumps({"type": "struct", "fields": fields})
    metadata = Metadata(id=small_logs.METADATA.id, schema_string=schema, configuration=rules)
    return small_logs.table({0: [small_logs.PROTOCOL, metadata]}).snapshot()


def column_names(number: int) -> list[str]:
    return [f"c{place:05}" for place in range(number)]


def dropping_what_constraints_name(size: int) -> Callable[[], object]:
    names = column_names(size)
    snapshot = snapshot_of(names, {f"delta.constraints.k{name}": f"{name} > 0" for name in names}, {})
    return lambda: constraint_guard(snapshot, [(name,) for name in names])


def dropping_beside_rules_of_columns(size: int) -> Callable[[], object]:
    names = column_names(size)
    snapshot = snapshot_of(names, {}, {GENERATION_EXPRESSION: "z + 1", INVARIANTS: "z > 0", CHAR_VARCHAR: "char(3)"})
    paths = [(name, "x") for name in names]
    return lambda: (
        generated_guard(snapshot, paths),
        constraint_guard(snapshot, paths),
        char_guard(snapshot.schema, paths),
    )


def adding_columns_in_turn(size: int) -> Callable[[], object]:
    snapshot, numbers = snapshot_of(column_names(size), {}, {}), count()
    circumstances = Circumstances(now=0, new_id=lambda: str(next(numbers)))
    struct = {"name": "a", "type": {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True}]}}
    places = ({"name": f"a.n{place}" if place % 2 else f"n{place}", "type": "long"} for place in range(size))
    intent = parse_intent({"kind": "add-columns", "fields": [struct, *places]})
    assert isinstance(intent, AddColumns)
    return lambda: add_columns(intent, snapshot, circumstances)


def scopes(text: str) -> Callable[[int], Callable[[], object]]:
    return lambda size: lambda: expression_columns(text * size)


WORK: dict[str, Callable[[int], Callable[[], object]]] = {
    "columns that constraints name are dropped": dropping_what_constraints_name,
    "columns are dropped beside rules of columns": dropping_beside_rules_of_columns,
    "columns are added to two structs in turn": adding_columns_in_turn,
    "lambdas in lambdas": scopes("x->"),
    "lambdas of two parameters": scopes("(x,y)->"),
    "types in types": scopes("as array<"),
    "parentheses that are closed without a start": scopes("b)->"),
}
_SIZES = dict.fromkeys(WORK, 400) | {
    "columns that constraints name are dropped": 60,
    "columns are dropped beside rules of columns": 100,
    "columns are added to two structs in turn": 60,
}


@pytest.mark.parametrize("what", WORK)
def test_the_work_grows_in_proportion_to_the_log(what: str) -> None:
    def cost(size: int) -> float:
        work, costs = WORK[what](size), []
        for _ in range(3):
            began = time.process_time()
            work()
            costs.append(time.process_time() - began)
        return min(costs)

    few, many = cost(_SIZES[what]), cost(_SIZES[what] * _FACTOR)
    assert many < few * _FACTOR * 3, f"{few:.4f} s, and {many:.4f} s of {_FACTOR} times as much"
