"""Changes of tables whose metadata a broken client wrote: a typed error or an unknown guard, never a fault."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

import explorer
from explorer.core.errors import ExplorerError
from explorer.core.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.core.protocol.table_properties.registry import PROPERTIES
from explorer.core.transaction.intents.documents import parse_intent
from tests.support.dose import WHOLE_DOSE
from tests.support.logs import small_logs

pytestmark = pytest.mark.sampled(tests=6)

READERS = ("deletionVectors", "columnMapping", "v2Checkpoint", "vacuumProtocolCheck", "typeWidening")
WRITERS = (
    *READERS,
    *("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "identityColumns"),
    *("rowTracking", "domainMetadata", "clustering", "inCommitTimestamp", "allowColumnDefaults"),
    *("checkpointProtection", "columnMappingUsageTracking"),
)
RULES = Protocol(min_reader_version=3, min_writer_version=7, reader_features=READERS, writer_features=WRITERS)
IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": True}
TEXTS = ("", "x", "-1", "1e999", "9" * 5_000, f"interval {'9' * 40} days", "\x00", "[]", "`")
VALUES: tuple[Any, ...] = (None, "", "x", 0, -1, 2**70, 1.5, [], {}, [1], {"a": 1}, "((", "reflect('a', 'b')", "`")
KEYS = (
    *IDENTITY,
    *("delta.identity.highWaterMark", "delta.generationExpression", "delta.invariants", "CURRENT_DEFAULT"),
    *("delta.columnMapping.id", "delta.columnMapping.physicalName", "delta.typeChanges"),
    *("__CHAR_VARCHAR_TYPE_STRING", "comment"),
)
INTENTS: tuple[dict[str, Any], ...] = (
    {"kind": "set-properties", "properties": {"delta.enableRowTracking": "true"}},
    {"kind": "set-properties", "properties": {"delta.enableInCommitTimestamps": "true"}},
    {"kind": "unset-properties", "keys": ["delta.appendOnly"]},
    {"kind": "add-columns", "fields": [{"name": "new", "type": "long"}], "at": "first"},
    {"kind": "rename-column", "column": "n", "to": "m"},
    {"kind": "drop-columns", "columns": ["n"]},
    {"kind": "widen-type", "column": "n", "type": "decimal(20,0)"},
    {"kind": "set-not-null", "column": "n"},
    {"kind": "set-column-mapping", "mode": "name"},
    {"kind": "sync-identity", "column": "n"},
    {"kind": "add-constraint", "name": "c", "expression": "id > 0"},
    {"kind": "drop-feature", "feature": "rowTracking"},
    {"kind": "drop-feature", "feature": "checkpointProtection"},
    {"kind": "restore", "version": 0},
    {"kind": "checkpoint"},
    {"kind": "clean-log"},
    {"kind": "vacuum"},
)


def _table(properties: dict[str, str], metadata: dict[str, Any], *more: DomainMetadata) -> explorer.Table:
    columns = [{"name": "id", "metadata": {}}, {"name": "n", "metadata": metadata}]
    fields = [{"type": "long", "nullable": True, **column} for column in columns]
    schema = json.dumps({"type": "struct", "fields": fields})
    described = Metadata(id="odd", schema_string=schema, configuration=properties)
    return small_logs.table({0: (RULES, described, small_logs.add("a")), 1: (small_logs.add("b"), *more)})


def _plan_all(table: explorer.Table, intents: tuple[dict[str, Any], ...] = INTENTS) -> int:
    """Plan each intent; how many of the plans were made and not refused."""
    made = 0
    for intent in intents:
        parse_intent(intent)
        try:
            plan = table.plan(intent, check_rows=False)
        except ExplorerError:
            continue
        assert json.loads(json.dumps(plan.document()))["intent"] == intent
        made += 1
    return made


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("place", range(4))
def test_properties_that_say_nothing(place: int) -> None:
    settings = itertools.product((item.key for item in PROPERTIES.values()), TEXTS)
    made = 0
    for number, (key, text) in enumerate(settings):
        if number % 4 == place:
            # The intents take turns: all of them on all tables take minutes, as under `make prove`.
            chosen = INTENTS if WHOLE_DOSE else (INTENTS[number % len(INTENTS)],)
            made += _plan_all(_table({key: text}, {}), chosen)
    assert made > 0


@pytest.mark.sampled(cases=4)
@pytest.mark.parametrize("key", KEYS)
def test_columns_whose_metadata_says_nothing(key: str) -> None:
    made = 0
    for number, value in enumerate(VALUES):
        metadata = {**(IDENTITY if key.startswith("delta.identity") else {}), key: value}
        chosen = [intent for place, intent in enumerate(INTENTS) if WHOLE_DOSE or (place + number) % 4 == 0]
        made += _plan_all(_table({}, metadata), tuple(chosen))
    assert made > 0


def test_a_field_id_that_is_no_number_is_told_by_its_column() -> None:
    table = _table({}, {"delta.columnMapping.id": "x"})
    with pytest.raises(ExplorerError, match="'n'") as caught:
        table.plan({"kind": "set-column-mapping", "mode": "name"})
    assert type(caught.value).__name__ == "CorruptTable"


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("domain", ["delta.rowTracking", "delta.clustering"])
def test_domains_that_say_nothing(domain: str) -> None:
    for text in ("", "x", "{}", "[]", '{"rowIdHighWaterMark":"x"}', '{"clusteringColumns":[["nope"],[],5]}'):
        assert _plan_all(_table({}, {}, DomainMetadata(domain=domain, configuration=text))) > 0, text
