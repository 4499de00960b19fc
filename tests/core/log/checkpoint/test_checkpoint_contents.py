"""What a whole checkpoint gives its readers, in every shape; what is kept of it; and how one is refused that cannot be
used."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from explorer.core.errors import IncompleteCheckpoint, LimitExceeded, MalformedAction
from explorer.core.log.checkpoint.column_cache import ColumnCache
from explorer.core.log.checkpoint.parquet_part import CheckpointPart
from explorer.core.log.checkpoint.reader import (
    CheckpointFile,
    CheckpointReader,
    unreadable,
)
from explorer.core.log.log_path import LogFileKind, LogPath, checkpoint_name
from explorer.core.log.log_segment import CompleteCheckpoint, list_log
from explorer.core.log.table_state import TableState
from explorer.core.protocol import limits
from explorer.core.protocol.actions import Action, CheckpointMetadata, DomainMetadata, Sidecar, TransactionAction
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LineSource
from explorer.core.protocol.schema.data_types import PrimitiveType
from explorer.core.protocol.statistics.json_statistics import ParsedTexts, StatisticsLeaf, parse_texts
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, Line, add, lines, new_store, remove, vector

FILES = [add(name) for name in "abcde"]
GONE = [remove("x"), remove("y", vector=vector("v"))]
BATCH, DOMAIN = TransactionAction(app_id="app", version=3), DomainMetadata(domain="d", configuration="{}")
OFF = DomainMetadata(domain="off", configuration="", removed=True)
HELD: tuple[Action, ...] = (PROTOCOL, METADATA, BATCH, DOMAIN, OFF, *FILES, *GONE)
NAME = checkpoint_name(4, UUID(int=7), "json")


def checkpoint(store: LogStore) -> CompleteCheckpoint:
    return list_log(store).checkpoints[-1]


def reader(store: LogStore) -> CheckpointReader:
    return CheckpointReader(store, checkpoint(store))


def in_json(*actions: Line) -> tuple[LogStore, CompleteCheckpoint]:
    store = new_store()
    store.put(NAME, lines([CheckpointMetadata(version=4), *actions]))
    return store, checkpoint(store)


def names(sources: Sequence[Any]) -> list[list[str]]:
    return [[path for chunk in source.chunks(["path"])[0] for path in chunk.to_pylist()] for source in sources]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_small_actions_in_force_are_read_from_every_shape(shape: Shape) -> None:
    store = new_store()
    write_checkpoint(store, 4, HELD, shape)
    found = reader(store).state()
    assert found == TableState(PROTOCOL, METADATA, {"app": BATCH}, {"d": DOMAIN})


LIVE = {
    "classic": [list("abcde")],
    "multi-part": [["b", "e"], ["c"], ["a", "d"]],
    "v2-parquet": [list("abcde")],
    "v2-json": [list("abcde")],
    "v2-sidecars": [["a", "c", "e"], ["b", "d"]],
    "v2-json-sidecars": [["a", "c", "e"], ["b", "d"]],
}


@pytest.mark.parametrize("kept", [None, ColumnCache()])
@pytest.mark.parametrize("shape", SHAPES)
def test_live_files_come_part_by_part_and_those_of_sidecars_behind(shape: Shape, kept: ColumnCache | None) -> None:
    store = new_store()
    write_checkpoint(store, 4, HELD, shape)
    sources = reader(store).files(kept)
    assert names(sources) == LIVE[shape]
    assert (reader(store).files(kept) is sources) is (kept is not None)
    assert [type(source) for source in sources] == [LineSource if shape == "v2-json" else CheckpointPart] * len(sources)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_may_hold_files_is_listed_without_being_opened(shape: Shape) -> None:
    store = new_store()
    keys = write_checkpoint(store, 4, HELD, shape)
    found, held = reader(store).contents()
    parts = checkpoint(store).parts
    sidecars = [key for key in keys if "_sidecars" in key]
    own = [] if "json" in shape else [CheckpointFile(part.path, store.head(part.path).size, part) for part in parts]
    assert found == own + [CheckpointFile(key, store.head(key).size, parts[0]) for key in sidecars]
    assert [line.path for line in held] == (list("abcde") if shape == "v2-json" else [])
    assert reader(store).sidecar_keys() == tuple(sidecars)


@pytest.mark.parametrize("shape", SHAPES)
def test_tombstones_are_read_from_every_shape_and_no_live_file_with_them(shape: Shape) -> None:
    store = new_store()
    write_checkpoint(store, 4, HELD, shape)
    found = []
    for source in reader(store).tombstones():
        if isinstance(source, CheckpointPart):
            found += [row["path"] for batch in source.batches(9) for row in batch.to_pylist()]
        else:
            found += [line.path for line in source]
    assert sorted(found) == ["x", "y"]


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("s.parquet", "_delta_log/_sidecars/s.parquet"),
        ("a%20b.parquet", "_delta_log/_sidecars/a b.parquet"),
        ("_delta_log/_sidecars/s.parquet", "_delta_log/_sidecars/s.parquet"),
        ("elsewhere/s.parquet", "elsewhere/s.parquet"),
        ("file:///t/s.parquet", "/t/s.parquet"),
        ("memory://b/s.parquet", "memory://b/s.parquet"),
    ],
)
def test_a_sidecar_is_found_by_its_name_or_by_its_path(path: str, key: str) -> None:
    sidecar = Sidecar(path=path, size_in_bytes=5, modification_time=1)
    store, found = in_json(PROTOCOL, METADATA, sidecar)
    assert CheckpointReader(store, found).sidecar_keys() == (key,)
    assert CheckpointReader(store, found).contents() == ([CheckpointFile(key, 5, found.parts[0])], [])


def test_a_sidecar_of_another_store_is_read_from_there() -> None:
    other = new_store()
    (key,) = write_checkpoint(other, 4, FILES[:2], "classic")
    place = Sidecar(path=f"{other.root}/{key}", size_in_bytes=1, modification_time=1)
    store, found = in_json(PROTOCOL, METADATA, place, FILES[4])
    assert names(CheckpointReader(store, found).files()) == [["e"], ["a", "b"]]


def test_a_sidecar_whose_path_names_no_file_is_refused() -> None:
    store, found = in_json(PROTOCOL, METADATA, Sidecar(path="x:s.parquet", size_in_bytes=5, modification_time=1))
    with pytest.raises(MalformedAction, match=r"^The path 'x:s\.parquet' is an opaque URI"):
        CheckpointReader(store, found).sidecar_keys()


def test_a_checkpoint_in_json_may_have_blank_lines_nulls_and_actions_of_the_future() -> None:
    odd = [b"", b" \t", b"[1]", b'{"txn":null}', b'{"future":{"x":1}}']
    store, found = in_json(*odd, {"protocol": PROTOCOL.to_wire(), "txn": None}, METADATA, BATCH)
    assert CheckpointReader(store, found).state() == TableState(PROTOCOL, METADATA, {"app": BATCH}, {})


# --- what cannot be used ----------------------------------------------------------------------------------------------

DO = "If all commits since an older checkpoint still exist, remove the damaged checkpoint. If not, restore it."
Read = Callable[[CheckpointReader], object]
FILE_READERS: list[Read] = [CheckpointReader.files, CheckpointReader.tombstones]
READERS: list[Read] = [CheckpointReader.state, CheckpointReader.contents, *FILE_READERS, CheckpointReader.sidecar_keys]


def refused(
    read: Read, store: LogStore, found: CompleteCheckpoint, reason: str, *, vanished: bool | None = None
) -> None:
    with pytest.raises(IncompleteCheckpoint) as caught:
        read(CheckpointReader(store, found))
    part = found.parts[0]
    error = caught.value
    assert str(error) == f"The checkpoint of version 4 ({part.name}) cannot be used: {reason}. {DO}"
    assert (error.version, error.path, error.vanished) == (4, part.path, vanished)


def test_a_checkpoint_that_cannot_be_used_is_named_with_what_to_do() -> None:
    part = LogPath("x.parquet", LogFileKind.CLASSIC_CHECKPOINT, 9)
    error = unreadable(part, "it is odd")
    assert str(error) == f"The checkpoint of version 9 (x.parquet) cannot be used: it is odd. {DO}"
    assert (error.version, error.path, error.vanished) == (9, "_delta_log/x.parquet", None)


@pytest.mark.parametrize("read", READERS)
def test_a_checkpoint_that_vanished_is_said_to_be_gone(read: Read) -> None:
    store, found = in_json(*HELD)
    store.delete(NAME)
    refused(read, store, found, f"{NAME} is missing", vanished=True)
    (key,) = write_checkpoint(store, 4, HELD, "classic")
    found = checkpoint(store)
    store.delete(key)
    refused(read, store, found, f"{key} is missing", vanished=True)


@pytest.mark.parametrize("read", READERS)
def test_a_checkpoint_that_is_no_parquet_is_refused_with_the_reason(read: Read) -> None:
    store = new_store()
    key = checkpoint_name(4)
    store.put(key, b"PAR1")
    reason = "Parquet file size is 4 bytes, smaller than the minimum file footer (8 bytes)"
    refused(read, store, checkpoint(store), f"{key}: {reason}")


@pytest.mark.parametrize("read", FILE_READERS)
def test_a_sidecar_that_is_missing_or_broken_is_named(read: Read) -> None:
    store = new_store()
    key = write_checkpoint(store, 4, HELD, "v2-sidecars")[1]
    store.put(key, b"PAR1")
    said = f"{key}: Parquet file size is 4 bytes, smaller than the minimum file footer (8 bytes)"
    refused(read, store, checkpoint(store), said)
    store.delete(key)
    refused(read, store, checkpoint(store), f"{key} is missing", vanished=True)


@pytest.mark.parametrize(
    ("held", "protocols", "metadatas"),
    [((PROTOCOL,), 1, 0), ((METADATA,), 0, 1), ((PROTOCOL, PROTOCOL, METADATA), 2, 1), ((), 0, 0)],
)
@pytest.mark.parametrize("shape", ["classic", "v2-json"])
def test_there_is_exactly_one_protocol_and_one_metadata(held: Any, protocols: int, metadatas: int, shape: Any) -> None:
    store = new_store()
    write_checkpoint(store, 4, held, shape)
    reason = f"it contains {protocols} protocol and {metadatas} metaData actions instead of one each"
    refused(CheckpointReader.state, store, checkpoint(store), reason)


@pytest.mark.parametrize("read", [CheckpointReader.contents, *FILE_READERS])
@pytest.mark.parametrize(("held", "name"), [((PROTOCOL,), "metaData"), ((METADATA,), "protocol"), ((), "protocol")])
def test_a_checkpoint_in_json_without_its_foundations_does_not_look_like_one_without_files(
    read: Read, held: Any, name: str
) -> None:
    store, found = in_json(*held)
    refused(read, store, found, f"it contains no {name} action")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"protocol":{"minReaderVersion":"x"}}', "Expected `int`, got `str` - at `$.minReaderVersion`"),
        (b'{"metaData":{"id":7}}', "Expected `str`, got `int` - at `$.id`"),
        (b'{"txn":{"appId":"a"}}', "Object missing required field `version`"),
        (b'{"domainMetadata":"d"}', "Expected `object`, got `str`"),
        (b"{", "Input data was truncated"),
    ],
)
def test_a_small_action_that_is_none_is_told(line: bytes, reason: str) -> None:
    store, found = in_json(PROTOCOL, METADATA, line)
    refused(CheckpointReader.state, store, found, reason)


@pytest.mark.parametrize("read", [CheckpointReader.contents, *FILE_READERS, CheckpointReader.sidecar_keys])
def test_a_sidecar_action_that_is_none_is_told(read: Read) -> None:
    store, found = in_json(PROTOCOL, METADATA, b'{"sidecar":{"path":"s","sizeInBytes":1}}')
    refused(read, store, found, "sidecar: Object missing required field `modificationTime`")


@pytest.mark.parametrize("shape", SHAPES)
def test_all_parts_and_sidecars_count_towards_the_size_that_is_read(
    shape: Shape, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store()
    keys = write_checkpoint(store, 4, HELD, shape)
    size = sum(store.head(key).size for key in keys)
    monkeypatch.setattr(limits, "MAX_CHECKPOINT_BYTES", size)
    assert names(reader(store).files()) == LIVE[shape]
    monkeypatch.setattr(limits, "MAX_CHECKPOINT_BYTES", size - 1)
    with pytest.raises(LimitExceeded) as caught:
        reader(store).files()
    assert (caught.value.version, caught.value.found, caught.value.allowed) == (4, size, size - 1)


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_what_was_not_used_for_longest_goes_first_and_half_of_it_is_the_most_for_one() -> None:
    columns = ColumnCache(10)
    for key, size in (("a", 5), ("b", 5), ("large", 6)):
        columns.put(key, key, size)
    assert (columns.num_bytes, columns.find("a"), columns.find("b"), columns.find("large")) == (10, "a", "b", None)
    columns.find("a")
    columns.put("c", "c", 1)
    assert (columns.num_bytes, columns.find("a"), columns.find("b"), columns.find("c")) == (6, "a", None, "c")
    columns.put("a", "again", 2)
    assert (columns.num_bytes, columns.find("a")) == (3, "again")


@pytest.mark.parametrize(("size", "found"), [(1 << 27, "x"), ((1 << 27) + 1, None)])
def test_usually_256_mebibytes_are_kept(size: int, found: str | None) -> None:
    columns = ColumnCache()
    columns.put("x", "x", size)
    assert columns.find("x") == found


def test_a_file_counts_as_much_as_a_mebibyte_beside_its_paths() -> None:
    columns = ColumnCache()
    sources = [LineSource([]), LineSource([])]
    asked: list[int] = []

    def open_files() -> list[LineSource]:
        asked.append(1)
        return sources

    assert columns.opened("key", open_files) is columns.opened("key", open_files) is sources
    assert (len(asked), columns.num_bytes) == (1, 2 << 20)


def test_only_columns_that_are_not_kept_are_made() -> None:
    columns, asked = ColumnCache(), list[list[str]]()

    def make(names: Sequence[str]) -> list[pa.Array]:
        asked.append(list(names))
        return [pa.array([f"{len(asked)}{name}"]) for name in names]

    part = columns.part("file", 1)

    def found(group: int, *names: str) -> list[str]:
        return [column[0].as_py() for column in part.columns(group, names, make)]

    assert found(0, "b", "a") == ["1b", "1a"]
    assert columns.num_bytes == 2 * pa.array(["1b"]).nbytes
    assert found(0, "a", "c", "b") == ["1a", "2c", "1b"]
    assert found(0, "c") == ["2c"]
    assert found(1, "a") == ["3a"]
    assert [column[0].as_py() for column in columns.part("file", 2).columns(0, ["a"], make)] == ["4a"]
    assert asked == [["b", "a"], ["c"], ["a"], ["a"]]


def test_only_statistics_that_are_not_kept_are_parsed() -> None:
    texts = pa.array([json.dumps({"numRecords": 4, "minValues": {"x": 1, "y": 2, "z": 3}}), "{"])
    x, y, z = (StatisticsLeaf((name,), PrimitiveType("long")) for name in "xyz")
    columns, asked = ColumnCache(), list[list[StatisticsLeaf]]()

    def make(leaves: Sequence[StatisticsLeaf]) -> ParsedTexts:
        asked.append(list(leaves))
        return parse_texts(texts, leaves)

    part = columns.part("file")
    for leaves in ([y, x], [x, z, y], [x], []):
        found, meant = part.statistics(0, leaves, make), parse_texts(texts, leaves)
        assert list(found.bounds) == leaves
        assert (found.tight, found.num_records) == (meant.tight, meant.num_records)
        assert [bounds.low.to_pylist() for bounds in found.bounds.values()] == [
            bounds.low.to_pylist() for bounds in meant.bounds.values()
        ]
        assert found.problems == meant.problems
        assert len(found.problems) == 1
    whole = parse_texts(texts, [x, y, z])
    arrays = [array for each in whole.bounds.values() for array in (each.low, each.high, each.nulls)]
    assert columns.num_bytes == sum(array.nbytes for array in (*arrays, whole.tight, whole.num_records))
    assert asked == [[y, x], [z]]
    assert part.statistics(1, [x], make).bounds.keys() == {x}
    assert columns.part("other").statistics(0, [], make).bounds == {}
    assert asked[2:] == [[x], []]
