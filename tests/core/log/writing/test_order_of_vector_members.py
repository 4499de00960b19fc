"""What a checkpoint says of a deletion vector is kept, whatever the order of the members is in its columns."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Protocol
from tests.core.log.writing.test_writer_state import VECTOR
from tests.support.logs import small_logs
from tests.support.logs.written_checkpoints import checkpoint_of

RULES = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("deletionVectors",),
    writer_features=("deletionVectors", "domainMetadata", "rowTracking"),
)


def _ordered(column: pa.StructArray, first: str) -> pa.StructArray:
    """The same vectors with another member before all others."""
    members = dict(zip([field.name for field in column.type], column.flatten(), strict=True))
    ordered = {first: members.pop(first), **members}
    return pa.StructArray.from_arrays(list(ordered.values()), names=list(ordered), mask=column.is_null())


def _rewritten(data: bytes, first: str) -> bytes:
    """A checkpoint whose vectors have their members in another order."""
    table = pq.read_table(io.BytesIO(data)).combine_chunks()
    adds = table.column("add").chunk(0)
    members = dict(zip([field.name for field in adds.type], adds.flatten(), strict=True))
    members["deletionVector"] = _ordered(members["deletionVector"], first)
    changed = pa.StructArray.from_arrays(list(members.values()), names=list(members), mask=adds.is_null())
    sink = io.BytesIO()
    pq.write_table(table.set_column(table.column_names.index("add"), "add", changed), sink)
    return sink.getvalue()


@pytest.mark.parametrize("first", list(VECTOR))
def test_a_vector_that_is_written_again_says_all_that_it_said(first: str) -> None:
    store = small_logs.new_store()
    masked = {"add": {**small_logs.add("a").to_wire(), "deletionVector": VECTOR}}
    small_logs.write(store, {0: [RULES, small_logs.METADATA, masked, small_logs.add("b")]})
    path = checkpoint_of(store).path
    store.put(path, _rewritten(store.read(path), first))
    kind = pq.read_schema(io.BytesIO(store.read(path))).field("add").type.field("deletionVector").type
    assert kind.field(0).name == first
    small_logs.write(store, {1: [small_logs.add("other")]})
    store.delete(commit_name(0))
    actions: list[Any] = list(explorer.Table(store).plan({"kind": "enable-feature", "feature": "rowTracking"}).actions)
    added = {line["add"]["path"]: line["add"] for line in actions if "add" in line}
    assert added["a"]["deletionVector"] == VECTOR
    assert "deletionVector" not in added["b"]
