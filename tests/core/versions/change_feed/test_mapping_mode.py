"""A column-mapping mode counts where the protocol allows it, for everything that follows columns over versions."""

from __future__ import annotations

import json

import msgspec
import pytest

from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import Metadata, Protocol, Remove
from explorer.core.versions.change_feed.feed import change_feed_gaps
from explorer.core.versions.retention.expiry import FOREVER, data_risk, expiries, last_needed, retention_terms
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, remove, table

MAPPING = Protocol(min_reader_version=2, min_writer_version=5)
MODE = {"delta.columnMapping.mode": "name"}
FED = {"delta.enableChangeDataFeed": "true"}


def _metadata(name: str, physical: str, **configuration: str) -> Metadata:
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": physical}
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": mapped}]
    return msgspec.structs.replace(
        METADATA,
        schema_string=json.dumps({"type": "struct", "fields": fields}),
        partition_columns=(name,),
        configuration={**MODE, **FED, **configuration},
    )


@pytest.mark.conformance("CM-001")
@pytest.mark.parametrize(
    ("protocol", "kinds", "names"),
    [
        (MAPPING, {"renamed"}, [["id", "key"]]),
        (Protocol(min_reader_version=1, min_writer_version=4), {"added", "dropped"}, [["id"], ["key"]]),
    ],
)
def test_a_rename_is_one_where_the_protocol_allows_the_mapping(
    protocol: Protocol, kinds: set[str], names: list[list[str]]
) -> None:
    renamed = table({0: (protocol, _metadata("id", "c1"), add("a")), 1: (_metadata("key", "c1"),)})
    assert {change.kind for change in renamed.diff(0, 1).schema} - {"metadata"} == kinds
    assert [[span.name for span in line.spans] for line in renamed.column_lineage().columns] == names


@pytest.mark.conformance("CM-001")
@pytest.mark.parametrize(
    ("protocol", "detail"),
    [
        (MAPPING, "column id is named key in the schema to read with"),
        (
            Protocol(min_reader_version=1, min_writer_version=4),
            "column id is not in the schema to read with (dropped, or replaced by another column)",
        ),
    ],
)
def test_a_change_feed_matches_columns_by_the_names_in_force(protocol: Protocol, detail: str) -> None:
    renamed = table({0: (protocol, _metadata("id", "c1"), add("a")), 1: (_metadata("key", "c1"),)})
    holes = change_feed_gaps(renamed.history_record(), 0, 1, schema_version=1)
    assert [hole.detail for hole in holes if hole.kind == "schema"] == [f"{detail}, that of version 1"]


@pytest.mark.conformance("CM-001")
@pytest.mark.parametrize(
    ("protocol", "names"),
    [(MAPPING, ("_id", "_c1")), (Protocol(min_reader_version=1, min_writer_version=2), ("_id", "_id"))],
)
def test_folders_of_partitions_bear_the_names_in_force(protocol: Protocol, names: tuple[str, ...]) -> None:
    mapped = table({0: (protocol, _metadata("_id", "_c1"), add("_c1=1/a")), 1: (remove("_c1=1/a"),)})
    history = mapped.history_record()
    terms = retention_terms(history)
    assert terms.partition_columns == names
    # A folder that begins with _ is passed over by VACUUM unless it is that of a partition column.
    expiry = expiries(last_needed(history.lifetimes, terms), terms)
    assert (data_risk(history.lifetimes, expiry).since[0] != FOREVER) == ("_c1" in names)


@pytest.mark.conformance("CM-001")
def test_a_mapping_that_the_protocol_allows_later_counts_from_then_on() -> None:
    upgraded = table(
        {
            0: (PROTOCOL, _metadata("id", "id"), add("a")),
            1: (MAPPING,),
            2: (_metadata("key", "id"),),
            3: (Remove(path="a", deletion_timestamp=1),),
        }
    )
    history = upgraded.history_record()
    assert [history.mapping_mode(version) for version in range(4)] == ["none", "name", "name", "name"]
    (line,) = upgraded.column_lineage().columns
    assert [(span.name, span.from_version, span.to_version) for span in line.spans] == [("id", 0, 1), ("key", 2, 3)]


def test_without_a_protocol_columns_are_not_guessed_at() -> None:
    broken = table({0: (_metadata("id", "c1"),), 1: (add("a"),)})
    with pytest.raises(CorruptTable, match="The log has no protocol action up to version 0"):
        broken.column_lineage()
