"""What the audit knows of paths and of changes of types, the verdicts on clients know too."""

from __future__ import annotations

import json

import msgspec
import pyarrow as pa
import pytest

from explorer.core.compatibility.access import verdict_of
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.demands import NO_URI, UNLISTED_CHANGE, demands_of_paths
from explorer.core.protocol.actions import Protocol
from explorer.storage.schemes import STORAGES
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, metadata, table

WIDENING = Protocol(
    min_reader_version=3, min_writer_version=7, reader_features=("typeWidening",), writer_features=("typeWidening",)
)


@pytest.mark.parametrize(
    ("path", "odd"),
    [
        ("time=1971-07-22T03:06:40Z/a.parquet", True),
        ("a b.parquet", True),
        ("p=50%/a.parquet", True),
        ("{x}/a.parquet", True),
        ("1x:y/a.parquet", True),
        ("a%20b.parquet", False),
        ("p/x:y.parquet", False),
    ],
)
def test_delta_spark_does_not_read_a_table_with_a_path_that_is_not_a_uri(path: str, *, odd: bool) -> None:
    assert (NO_URI in demands_of_paths(pa.chunked_array([["b.parquet", path]]), "file:///t", STORAGES)) is odd
    asked = table({0: [PROTOCOL, METADATA, add(path)]}).requirements()
    facts = client_facts()
    found = verdict_of(asked, facts, "delta-spark", facts.versions["delta-spark"][-1])
    assert (found.read, found.write, NO_URI in found.because) == (("no", "no", True) if odd else ("yes", "yes", False))


@pytest.mark.parametrize(
    ("before", "after", "protocol", "unlisted"),
    [
        ("byte", "decimal(4,1)", WIDENING, True),
        ("short", "decimal(10,1)", WIDENING, True),
        ("byte", "decimal(11,1)", WIDENING, False),
        ("byte", "integer", WIDENING, False),
        ("byte", "decimal(4,1)", PROTOCOL, False),
    ],
)
def test_delta_spark_does_not_read_a_table_with_a_type_change_that_the_protocol_does_not_list(
    before: str, after: str, protocol: Protocol, *, unlisted: bool
) -> None:
    changed = {"delta.typeChanges": [{"fromType": before, "toType": after}]}
    inner = {"name": "in", "type": after, "nullable": True, "metadata": changed}
    field = {"name": "s", "type": {"type": "struct", "fields": [inner]}, "nullable": True, "metadata": {}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    said = msgspec.structs.replace(metadata({"s": after}), schema_string=schema)
    asked = table({0: [protocol, said, add("a.parquet")]}).requirements()
    facts = client_facts()
    found = verdict_of(asked, facts, "delta-spark", facts.versions["delta-spark"][-1])
    assert (found.read, found.write) == (("no", "no") if unlisted else ("yes", "yes"))
    assert (UNLISTED_CHANGE in found.because) is unlisted
