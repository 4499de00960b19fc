"""What types, mappings of columns, names and properties demand of clients where the protocol says nothing of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.core.compatibility.access import verdict_of
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.demands import (
    EMPTY_STRING,
    LIKE_NAMES,
    NO_FIELD_METADATA,
    ONLY_PARTITION_COLUMNS,
    PARTITION_TWICE,
    PROPERTY_READ,
    PROPERTY_VALUE,
    UNLISTED_TYPE,
    UNSUPPORTED_MAPPING,
)
from explorer.core.errors import CorruptTable
from explorer.core.log.verify.integrity import verify
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.table_definition import check_allowed_mapping
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, write
from tests.support.logs.spark_tables import column, struct

SPARK, DELTALAKE, DUCKDB = "delta-spark", "delta-rs (python deltalake)", "DuckDB delta extension"
MAPPED = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "p1"}
MODE = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}


def _table(*fields: dict[str, Any], protocol: Protocol = PROTOCOL, **metadata: Any) -> explorer.Table:
    store = new_store()
    schema = json.dumps(struct(column("k", "integer"), *fields))
    write(store, {0: (protocol, Metadata(id=METADATA.id, schema_string=schema, **metadata), add("a"))})
    return explorer.Table(store)


def _reads(table: explorer.Table) -> dict[str, str]:
    facts = client_facts()
    newest = {client: facts.versions[client][-1] for client in (SPARK, DELTALAKE, DUCKDB)}
    return {name: verdict_of(table.requirements(), facts, name, newest[name]).read for name in newest}


@pytest.mark.parametrize(
    ("fields", "more", "demand", "reads"),
    [
        ([column("b", "timestamp_ntz")], {}, UNLISTED_TYPE, "yes no no"),
        ([column("b", "variant")], {}, UNLISTED_TYPE, "yes no no"),
        ([column("K", "integer")], {}, LIKE_NAMES, "no no no"),
        ([column("b", "string")], {"partition_columns": ("b", "b")}, PARTITION_TWICE, "no no yes"),
        ([], {"configuration": {"delta.enableRowTracking": "x"}}, PROPERTY_READ, "no yes yes"),
        ([], {"configuration": {"delta.columnMapping.mode": "names"}}, PROPERTY_READ, "no yes yes"),
        ([column("b", "char(3)")], {}, "type char", "yes no no"),
        ([], {"partition_columns": ("k",)}, ONLY_PARTITION_COLUMNS, "yes yes yes"),
        ([column("b", "varchar(3)")], {}, "type varchar", "yes no no"),
        ([column("b", "decimal")], {}, "type decimal without digits", "yes no no"),
        ([{"name": "b", "type": "long", "nullable": True}], {}, NO_FIELD_METADATA, "yes no no"),
        ([column("b", "decimal(10,-2)")], {}, "type decimal(10,-2)", "unknown unknown unknown"),
    ],
)
def test_a_demand_decides_who_reads_as_the_clients_do(
    fields: list[dict[str, Any]], more: dict[str, Any], demand: str, reads: str
) -> None:
    table = _table(*fields, **more)
    assert demand in table.requirements().demands
    assert list(_reads(table).values()) == reads.split()


def test_what_no_client_refuses_is_no_demand() -> None:
    listed = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("timestampNtz",),
        writer_features=("timestampNtz",),
    )
    assert _table(column("b", "timestamp_ntz"), protocol=listed).requirements().demands == frozenset()
    assert _table(column("b", "decimal(38,38)")).requirements().demands == frozenset()


@pytest.mark.parametrize("value", ["x", "names"])
def test_a_property_that_the_reference_needs_to_read_is_an_error(value: str) -> None:
    key = "delta.enableRowTracking" if value == "x" else "delta.columnMapping.mode"
    finding = next(f for f in _table(configuration={key: value}).audit().findings if f.rule == "property-values")
    assert (finding.severity, finding.remedy is not None) == ("error", True)
    assert "neither read nor write" in finding.effect


def test_a_partition_column_that_is_named_twice_is_an_error() -> None:
    table = _table(column("b", "string"), partition_columns=("b", "b"))
    finding = next(f for f in table.audit().findings if f.rule == "partition-column-case")
    assert "more than once" in finding.title
    assert (finding.severity, finding.remedy is not None) == ("error", True)


@pytest.mark.parametrize("mode", ["name", "id", "NAME"])
@pytest.mark.parametrize(
    "protocol",
    [PROTOCOL, Protocol(min_reader_version=3, min_writer_version=7, reader_features=(), writer_features=())],
)
def test_a_mapping_that_the_protocol_does_not_allow_is_an_error_where_it_decides_the_values(
    mode: str, protocol: Protocol
) -> None:
    store = new_store()
    configuration = {**MODE, "delta.columnMapping.mode": mode}
    for version, name in enumerate(("p1", "k")):
        schema = json.dumps(struct(column(name, "integer", **MAPPED)))
        metadata = Metadata(id=METADATA.id, schema_string=schema, configuration=configuration)
        write(store, {version: (protocol, metadata, add(f"{version}"))})
    table = explorer.Table(store)
    check_allowed_mapping("none", table.snapshot(0).metadata, 0)
    with pytest.raises(CorruptTable, match="the protocol does not list columnMapping"):
        check_allowed_mapping(table.snapshot().column_mapping_mode, table.snapshot().metadata, 1)
    assert [(each.kind, each.version) for each in verify(store).problems if each.breaking] == [("invalid-metadata", 1)]
    finding = next(each for each in table.audit().findings if each.rule == "property-values")
    assert (finding.severity, finding.title.endswith("does not list columnMapping")) == ("error", True)
    assert finding.remedy is not None
    assert finding.remedy.intent is not None
    assert table.commit(table.plan(finding.remedy.intent)).outcome == "committed"
    assert table.snapshot().column_mapping_mode == mode.lower()
    assert "property-values" not in {each.rule for each in table.audit().findings}


def test_who_reads_a_mapping_that_the_protocol_does_not_allow_is_not_claimed() -> None:
    table = _table(configuration={"delta.columnMapping.mode": "NAME"})
    assert (table.snapshot().column_mapping_mode, list(_reads(table).values())) == (
        "none",
        ["unknown", "unknown", "no"],
    )
    store = new_store()
    schema = json.dumps(struct(column("k", "integer", **MAPPED)))
    write(store, {0: (PROTOCOL, Metadata(id=METADATA.id, schema_string=schema, configuration=MODE), add("a"))})
    table = explorer.Table(store)
    assert UNSUPPORTED_MAPPING in table.requirements().demands
    assert list(_reads(table).values()) == ["unknown", "unknown", "no"]


def test_in_commit_timestamps_that_are_neither_on_nor_off_are_a_problem_of_the_metadata() -> None:
    table = _table(configuration={"delta.enableInCommitTimestamps": "x"})
    problems = verify(table.store).problems
    assert [(each.kind, each.breaking, bool(each.next_step)) for each in problems] == [("invalid-metadata", True, True)]
    set_again = {"kind": "set-properties", "properties": {"delta.enableInCommitTimestamps": "false"}}
    assert table.commit(table.plan(set_again)).outcome == "committed"
    assert table.snapshot().version == 1


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(("value", "reads"), [("", "wrong wrong yes"), (None, "yes yes yes"), ("x", "yes yes yes")])
def test_an_empty_string_as_a_partition_value_decides_who_reads_null(
    value: str | None, reads: str, mapped: bool
) -> None:
    named = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "c2"} if mapped else {}
    first = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"} if mapped else {}
    schema = json.dumps(struct(column("k", "integer", **first), column("p", "string", **named)))
    rules = Protocol(min_reader_version=2, min_writer_version=5)
    more = {"delta.columnMapping.mode": "name"} if mapped else {}
    described = Metadata(id=METADATA.id, schema_string=schema, partition_columns=("p",), configuration=more)
    values = {"c2" if mapped else "p": value}
    store = new_store()
    write(store, {0: (rules, described, add("a"), add("b", partition_values=values))})
    table = explorer.Table(store)
    assert (EMPTY_STRING in table.requirements().demands) == (value == "")
    assert mapped or list(_reads(table).values()) == reads.split()
    seen = {each.rule: each for each in table.audit().findings}
    assert ("contested-files" in seen) == (value == "")


@pytest.mark.parametrize(
    ("properties", "stops"),
    [
        ({"delta.isolationLevel": "WriteSerializable"}, False),
        ({"delta.isolationLevel": "snapshotisolation"}, False),
        ({"delta.isolationLevel": "Junk"}, True),
        ({"delta.dataSkippingNumIndexedCols": "-2"}, False),
        ({"delta.dataSkippingNumIndexedCols": "many"}, True),
        ({"delta.checkpointInterval": "0"}, True),
        ({"delta.checkpointInterval": "10.5"}, True),
    ],
)
def test_values_that_delta_spark_takes_in_a_table_stop_no_write(properties: dict[str, str], stops: bool) -> None:
    table = _table(configuration=properties)
    assert (PROPERTY_VALUE in table.requirements().demands) == stops
    told = [each for each in table.audit().findings if each.rule == "property-values"]
    assert ("every write fails" in "".join(each.effect for each in told)) == stops
