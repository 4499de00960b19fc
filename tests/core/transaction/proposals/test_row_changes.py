"""Changes of rows, the rows given: what the log says of the files that hold them."""

from __future__ import annotations

import io
import json
from decimal import Decimal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.transaction.intents.records import Delete, RecomputeStatistics
from explorer.core.transaction.new_files.file_facts import LiveFacts
from explorer.core.transaction.proposals.rows.delete_rows import delete_rows, touched_files
from explorer.core.transaction.proposals.rows.recompute_statistics import described_leaves, recompute_statistics
from explorer.core.versions.reads import reads_of_files
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import circumstances

MASKS = {"delta.enableDeletionVectors": "true"}
LOW, HIGH = Decimal("1234567890123456789.990"), Decimal("12345678901234567890123456789012345.678")


@pytest.mark.conformance("STATS-002", "STATS-009")
@pytest.mark.parametrize("stats", [None, "", "{", "[]", '{"numRecords":-1}', '{"numRecords":"4"}'])
def test_rows_of_a_file_whose_statistics_cannot_be_used_are_counted_before_some_are_hidden(stats: str | None) -> None:
    store = small_logs.new_store()
    data = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2, 3, 4]}), data)
    store.put("f.parquet", data.getvalue())
    described = small_logs.metadata({"id": "long"}, configuration=MASKS)
    file = msgspec.structs.replace(small_logs.add("f.parquet"), stats=stats)
    snapshot = small_logs.table({0: (small_logs.MASKED, described, file)}, store).snapshot()
    touched = touched_files(store, snapshot, {"f.parquet": np.array([1, 2], np.uint64)}, {})
    made = delete_rows(Delete(where="id in (2, 3)"), snapshot, touched, None, circumstances(), reads=reads_of_files(()))
    ((again,), (gone,)) = made.adds, made.removes
    assert json.loads(again.stats or "") == {"numRecords": 4, "tightBounds": False}
    assert again.deletion_vector is not None
    assert again.deletion_vector.cardinality == 2
    assert (gone.path, gone.deletion_vector) == (again.path, None) == ("f.parquet", None)


@pytest.mark.conformance("STATS-010", "STATS-005")
@pytest.mark.parametrize("columns", [(), ("c",), ("n",)])
@pytest.mark.parametrize(
    "stats",
    [
        None,
        "{",
        f'{{"numRecords":9,"minValues":{{"c":{LOW}}},"maxValues":{{"c":{HIGH}}},"nullCount":{{"c":0}}}}',
        '{"minValues":null,"maxValues":5,"nullCount":{"c":{"x":1}}}',
    ],
)
def test_bounds_that_are_worked_out_again_keep_all_their_digits(columns: tuple[str, ...], stats: str | None) -> None:
    intent = RecomputeStatistics(columns=columns)
    described = small_logs.metadata({"c": "decimal(38,3)", "n": "long"})
    file = msgspec.structs.replace(small_logs.add("f"), stats=stats)
    snapshot = small_logs.table({0: (small_logs.PROTOCOL, described, file)}).snapshot()
    leaves = described_leaves(intent, snapshot, [((field.name,), field) for field in snapshot.schema.fields])
    extremes = pa.record_batch({"c": pa.array([LOW, HIGH], pa.decimal128(38, 3)), "n": [-1, 2**62]})
    facts = LiveFacts(2, (0,) * len(leaves), extremes.select([leaf.path[0] for leaf in leaves]))
    (again,) = recompute_statistics(intent, snapshot, {"f": file}, leaves, {"f": facts}).adds
    found = json.loads(again.stats or "", parse_float=Decimal)
    assert found["numRecords"] == 2
    wanted = {"c": (LOW, HIGH), "n": (-1, 2**62)}
    before = {"c": wanted["c"]} if stats is not None and str(LOW) in stats else {}
    after = before | {name: wanted[name] for name in columns or wanted}
    assert found["minValues"] == {name: low for name, (low, _) in after.items()}
    assert found["maxValues"] == {name: high for name, (_, high) in after.items()}
    same = recompute_statistics(intent, snapshot, {"f": again}, leaves, {"f": facts})
    assert same.adds == (), "a second time nothing differs"
