"""A column that is no identity column, or one whose metadata cannot be used, is refused by its name in the schema."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.transaction.intents.records import SyncIdentity
from explorer.core.transaction.proposals.identity_columns import counts_up, recorded_extreme, sync_identity
from tests.support.logs.small_proposals import protocol, snapshot
from tests.support.logs.spark_tables import column, struct

STILL = {"delta.identity.start": 1, "delta.identity.step": 0, "delta.identity.allowExplicitInsert": True}


def moved(before: explorer.Snapshot, name: str) -> object:
    return sync_identity(SyncIdentity(column=name), before, 5)


@pytest.mark.parametrize("use", [recorded_extreme, counts_up, moved])
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("PLAIN", "plain is not an identity column."),
        ("`A B`", "`a b` is not an identity column."),
        ("Still", "The identity metadata of still cannot be used: start 1, step 0, mark None (IDENT-001)."),
    ],
)
def test_a_column_that_does_not_count_is_named(
    use: Callable[[explorer.Snapshot, str], object], asked: str, said: str
) -> None:
    schema = struct(column("plain", "long"), column("a b", "long"), column("still", "long", **STILL))
    before = snapshot(rules=protocol(1, 6), schema=json.dumps(schema))
    with pytest.raises(InvalidIntent) as refused:
        use(before, asked)
    assert (str(refused.value), refused.value.field) == (said, "column")
