"""Other readers read the tables of the reference through checkpoints of our own, with nothing else left to read."""

from __future__ import annotations

import shutil
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.log.log_segment import list_log
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.log.writing.checkpoint_layout import CheckpointLayout
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.clients.other_readers import deltalake_rows, duckdb_rows
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.reference, pytest.mark.interop]

ROOT = reference_root()
NOW = datetime(2026, 11, 22, tzinfo=UTC)
V2_LAYOUTS = (
    CheckpointLayout("v2"),
    CheckpointLayout("v2", top_level="json", sidecar_rows=4),
    CheckpointLayout("v2", most_inline=0, sidecar_rows=4),
    CheckpointLayout("v2", most_inline=0, classic_name=True),
)
TABLES = (
    "checkpoint-default",
    "checkpoint-json-stats",
    "checkpoint-no-stats",
    "checkpoint-struct-stats",
    "checkpoint-without-checksum",
    "column-mapping",
    "deletion-vectors",
    "generated-columns",
    "partition-types",
    "row-tracking",
    "schema-changes",
    "timestamp-ntz",
)
BY_DELTALAKE = set(TABLES) - {"checkpoint-without-checksum", "column-mapping", "generated-columns", "timestamp-ntz"}


@pytest.mark.parametrize("name", TABLES)
def test_v1_checkpoints_give_other_readers_the_same_rows(name: str, tmp_path: Path) -> None:
    folder = _copied(name, tmp_path)
    before = _rows(folder, name)
    assert before
    _rest_on_ours(folder, None)
    assert _rows(folder, name) == before


@pytest.mark.parametrize("layout", V2_LAYOUTS, ids=["inline", "json", "sidecars", "classic-name"])
def test_v2_checkpoints_give_other_readers_the_same_rows(layout: CheckpointLayout, tmp_path: Path) -> None:
    name = "checkpoint-v2-parquet"
    folder = _copied(name, tmp_path)
    for path in sorted((folder / "_delta_log").glob("*.json"))[9:]:
        path.unlink()
    for pattern in ("000000000000000000[01][0-9].checkpoint.parquet", "_last_checkpoint", "*.crc"):
        for path in (folder / "_delta_log").glob(pattern):
            path.unlink()
    before = _rows(folder, name)
    assert before
    _rest_on_ours(folder, layout)
    assert _rows(folder, name) == before


def test_the_parquet_schema_is_that_of_the_reference() -> None:
    """But for times, which the reference stores as INT96, and for tightBounds, which it adds only with vectors."""
    (theirs,) = (ROOT / "tables" / "checkpoint-struct-stats" / "_delta_log").glob("*8.checkpoint.parquet")
    store = open_store(ROOT / "tables" / "checkpoint-struct-stats")
    listing = list_log(store)
    kept = _Kept(store)
    write_checkpoint(kept, listing.without_checkpoints([8]), now=datetime(1970, 1, 1, tzinfo=UTC), new_uuid=uuid.uuid4)
    meant, found = pq.read_schema(theirs), pq.read_schema(pa.BufferReader(kept.data))
    for name in at_least_one(meant.names):
        one, other = (_fields(schema.field(name)) for schema in (meant, found))
        assert {path: kind for path, kind in other.items() if not path.endswith("tightBounds")} == {
            path: kind.replace("timestamp[ns]", "timestamp[us, tz=UTC]") for path, kind in one.items()
        }


class _Kept:
    """A store that keeps what is put instead of writing it."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.data = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def put_if_absent(self, path: str, data: bytes) -> None:
        self.data = data

    def put(self, path: str, data: bytes) -> None:
        del path, data


def _fields(field: pa.Field) -> dict[str, str]:
    """Every leaf of a column with its type."""
    if pa.types.is_struct(field.type):
        nested = [_fields(child) for child in field.type]
        return {f"{field.name}.{path}": kind for part in nested for path, kind in part.items()}
    return {field.name: str(field.type).replace("list<element", "list<item").replace(" ('", " (")}


def _copied(name: str, tmp_path: Path) -> Path:
    folder = tmp_path / name
    shutil.copytree(ROOT / "tables" / name, folder, copy_function=shutil.copyfile)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    return folder


def _rest_on_ours(folder: Path, layout: CheckpointLayout | None) -> None:
    """Write a checkpoint of the newest version and delete all that it stands for."""
    store = open_store(folder)
    listing = list_log(store)
    there = [found for found in listing.checkpoints if found.version == listing.latest]
    for found in there:
        for part in found.parts:
            store.delete(part.path)
    plain = listing.without_checkpoints([found.version for found in there])
    written = write_checkpoint(store, plain, now=NOW, new_uuid=uuid.uuid4, layout=layout)
    assert written.hint is not None
    for path in (folder / "_delta_log").iterdir():
        own = path.name in {written.path.rpartition("/")[2], "_last_checkpoint", f"{listing.latest:020d}.json"}
        if path.is_file() and not own:
            path.unlink()


def _rows(folder: Path, name: str) -> dict[str, list[Any]]:
    """The rows as each reader gives them that reads the table."""
    found = {"duckdb": _sorted(duckdb_rows(folder))}
    if name in BY_DELTALAKE:
        found["deltalake"] = _sorted(deltalake_rows(folder))
    return found


def _sorted(rows: pa.Table) -> list[Any]:
    return sorted(map(str, rows.to_pylist()))
