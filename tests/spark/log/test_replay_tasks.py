"""What the tasks make of a checkpoint, run in this process: every shape, any division, what commits replaced since."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import explorer
from explorer.core.errors import ExplorerError, LimitExceeded, NotAllowed, RequestError
from explorer.core.protocol import limits
from explorer.core.protocol.actions import Add, DeletionVectorDescriptor, Protocol
from explorer.core.protocol.logical_files import PUBLIC_COLUMNS, LogicalFiles
from explorer.core.protocol.statistics.data_skipping import counts_of_rules
from explorer.spark.log import replay
from explorer.spark.log.live_files import AllFiles, FileDecisions, plain_files
from explorer.spark.log.tasks import Make
from explorer.storage import open_store
from tests.support.comparison.compared_files import compare_files
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.shared_tables import golden_root, reference_root

pytestmark = pytest.mark.sampled(tests=4)

FIELDS = {"id": "long", "p": "string"}
COMMITTED = 20


def _table(folder: Path, shape: Shape | None) -> explorer.Table:
    """Twenty files, of which commits after the checkpoint remove, replace and mask some, and add others."""
    features = ["deletionVectors", "v2Checkpoint"]
    protocol = Protocol(min_reader_version=3, min_writer_version=7, reader_features=features, writer_features=features)
    made = [protocol, small_logs.metadata(FIELDS, ("p",))]
    files = [_file(f"{n}%20x.parquet", 10, str(n % 3), n) for n in range(COMMITTED)]
    tail = [
        [small_logs.remove("3%20x.parquet"), _file("new.parquet", 7, "1", 90)],
        [small_logs.remove("4%20x.parquet"), _file("4%20x.parquet", 10, "1", 4, small_logs.vector("one"))],
        [_file("5 x.parquet", 11, None, 5)],
        [small_logs.remove("new.parquet")],
    ]
    small_logs.write_log(folder, [[*made, *files], *tail])
    if shape is not None:
        write_checkpoint(open_store(folder), 0, [*made, *files], shape)
    return explorer.open_table(folder)


def _file(path: str, records: int, p: str | None, low: int, vector: DeletionVectorDescriptor | None = None) -> Add:
    bounds = {"id": (low, low + 5)}
    return small_logs.add(path, records, bounds=bounds, partition_values={"p": p}, vector=vector)


def _made(table: explorer.Table, make: Make) -> pa.Table:
    work = table.on_segment(table.latest_version(), partial(replay.work_of, table, make))
    sent = pickle.loads(pickle.dumps(work.replay))  # noqa: S301 - as Spark sends it
    batches = [batch for unit in work.units.to_batches(1) for batch in sent.task([unit])]
    return pa.Table.from_batches(batches, work.schema).sort_by("raw_path")


@pytest.mark.parametrize("shape", [None, *SHAPES])
@pytest.mark.parametrize("share_bytes", [1, 1 << 30])
def test_every_division_of_every_shape_gives_the_replay_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: Shape | None, share_bytes: int
) -> None:
    monkeypatch.setattr(replay, "_SHARE_BYTES", share_bytes)
    table = _table(tmp_path / "t", shape)
    snapshot = table.snapshot()
    assert len(snapshot.files()) == COMMITTED - 1
    local = snapshot.files().sort_by("raw_path")
    assert _made(table, partial(plain_files, PUBLIC_COLUMNS)).to_pylist() == local.to_pylist()
    found = _made(table, AllFiles.of(snapshot, None))
    bounds = snapshot.column_ranges("id").take(_order(snapshot))
    parts = found.column("statistics").combine_chunks()
    assert [row["min"]["id"] for row in parts.to_pylist()] == bounds.column("min").to_pylist()
    assert [row["max"]["id"] for row in parts.to_pylist()] == bounds.column("max").to_pylist()
    values = snapshot.column_ranges("p").take(_order(snapshot)).column("min").to_pylist()
    assert [row["p"] for row in found.column("partition").to_pylist()] == values
    skipped = snapshot.skipping("id > 12 AND p = '1'")
    needed = _made(table, FileDecisions.of(snapshot, "id > 12 AND p = '1'"))
    assert dict(zip(needed.column("path").to_pylist(), needed.column("rule").to_pylist(), strict=True)) == dict(
        zip(skipped.files.column("path").to_pylist(), skipped.files.column("rule").to_pylist(), strict=True)
    )
    rules = needed.column("rule").to_pylist()
    assert counts_of_rules({rule: rules.count(rule) for rule in set(rules)}) == skipped.counts


@pytest.mark.whole(
    (
        "tests/spark/log/test_files_frame.py on the reference tables, and "
        "test_every_division_of_every_shape_gives_the_replay_in_one_process"
    ),
    cases=["golden_root"],
)
@pytest.mark.golden
@pytest.mark.reference
@pytest.mark.parametrize("root", [golden_root, reference_root])
def test_the_tasks_make_of_every_shared_table_what_its_snapshot_says(
    root: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "_SHARE_BYTES", 10_000)
    compared = []
    for folder in sorted((root() / "tables").iterdir()):
        try:
            table = explorer.open_table(folder)
            snapshot = table.snapshot()
            snapshot.files()
        except ExplorerError:
            continue  # refused or broken for one process as for Spark
        compared.append(compare_files(snapshot, _made(table, AllFiles.of(snapshot, None))))
    assert len(compared) > 30
    assert sum(compared) > 100


def _order(snapshot: explorer.Snapshot) -> pa.Array:
    return pc.sort_indices(snapshot.files(["raw_path"]).column(0))


def test_a_checkpoint_past_the_limit_is_refused_here_with_the_way_on_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for shape in SHAPES:
        table = _table(tmp_path / shape, shape)
        files = table.snapshot().num_files
        with monkeypatch.context() as small:
            small.setattr(limits, "MAX_CHECKPOINT_BYTES", 900)
            again = explorer.open_table(tmp_path / shape)
            assert again.snapshot().schema.fields, "what the small actions say is still answered"
            with pytest.raises(LimitExceeded, match="--spark MASTER") as refused:
                again.snapshot().files()
            assert refused.value.version == 0
            assert refused.value.found is not None
            assert refused.value.found > 900
            assert _made(again, partial(plain_files, PUBLIC_COLUMNS)).num_rows == files


def test_a_condition_that_cannot_be_answered_is_refused_before_anything_runs(tmp_path: Path) -> None:
    snapshot = _table(tmp_path / "t", None).snapshot()
    with pytest.raises(RequestError, match="no column idd"):
        FileDecisions.of(snapshot, "idd > 1")
    with pytest.raises(RequestError, match="nothing"):
        AllFiles.of(snapshot, ["nothing"])


def test_only_the_bounds_that_are_asked_for_are_made(tmp_path: Path) -> None:
    snapshot = _table(tmp_path / "t", None).snapshot()
    whole, none = (AllFiles.of(snapshot, chosen)(LogicalFiles([])).schema for chosen in (None, ()))
    assert [field.name for field in whole.field("statistics").type] == ["tight", "min", "max", "null_count"]
    assert [field.name for field in none.field("statistics").type] == ["tight"]
    assert whole.field("partition").type == none.field("partition").type


def test_a_sidecar_outside_the_served_places_is_not_opened(tmp_path: Path) -> None:
    folder = tmp_path / "served" / "t"
    _table(folder, "v2-json-sidecars")
    (top,) = (folder / "_delta_log").glob("*.checkpoint.*.json")
    sidecar = next((folder / "_delta_log" / "_sidecars").iterdir())
    outside = tmp_path / sidecar.name
    sidecar.rename(outside)
    top.write_text(top.read_text("utf-8").replace(sidecar.name, f"file://{outside}"), "utf-8")
    table = explorer.open_table(folder, roots=[str(tmp_path / "served")])
    with pytest.raises(NotAllowed):
        _made(table, partial(plain_files, PUBLIC_COLUMNS))
