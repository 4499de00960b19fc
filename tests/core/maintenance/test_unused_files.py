"""Until when each key under a root is needed, by whatever names it, and which keys may go at a cut-off to the
millisecond."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import read_commits
from explorer.core.log.writing.writer_state import carry_actions
from explorer.core.maintenance.unused_files import UNNAMED, ReferencedFiles, needed_files, other_tables, unused_files
from explorer.core.protocol.actions import AddCDCFile, DeletionVectorDescriptor, Remove
from explorer.core.protocol.arrow import arrays
from explorer.core.protocol.arrow.arrays import int64s, strings
from explorer.core.protocol.raw_actions import RemoveLine
from explorer.core.versions.retention.expiry import FOREVER
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import MASKED, METADATA, add, new_store, remove, write

VECTOR = "p", "file:///table/dv.bin"


def _until(needed: ReferencedFiles, *keys: str) -> list[int]:
    return [int(time) for time in needed.until(strings(keys))]


def _times(*times: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(times, np.int64)


def test_a_key_is_needed_until_the_latest_time_of_all_that_name_it() -> None:
    needed = ReferencedFiles()
    needed.add(strings(["a", "b", "a", "c"]), _times(5, 7, 9, 3))
    needed.add(strings(["b", "d"]), _times(6, 6))
    needed.add(strings(["e"]))
    assert _until(needed, "a", "b", "c", "d", "e", "x") == [9, 7, 3, 6, FOREVER, UNNAMED]
    assert needed.holds(strings(["a", "x", "e"])).tolist() == [True, False, True]


def test_places_of_one_time_are_looked_up_as_those_of_many() -> None:
    needed = ReferencedFiles()
    needed.add(strings(["a", "b"]), _times(4, 4))
    needed.add(strings(["b", "a"]), _times(3, 8))
    assert _until(needed, "b", "a", "c") == [4, 8, UNNAMED]


@pytest.mark.parametrize("place", ["/elsewhere/a", "s3://bucket/a", "x//a", "./a", "x/../a", "x/."])
def test_a_place_that_may_be_under_the_root_keeps_all_files_of_its_name(place: str) -> None:
    needed = ReferencedFiles()
    needed.add(strings(["b", place]), _times(2, 5))
    name = place.rpartition("/")[2]
    assert _until(needed, f"deep/{name}", name, f"deep/x{name}", "deep/b", "b") == [5, 5, UNNAMED, UNNAMED, 2]


def test_a_file_of_vectors_is_needed_as_long_as_the_last_vector_in_it() -> None:
    needed = ReferencedFiles()
    kinds, places = ["p", None, "p", "i", "p"], [VECTOR[1], None, "file:///table/other.bin", "inline", VECTOR[1]]
    needed.add_vectors(strings(kinds), strings(places), _times(9, 1, 4, 8, 5))
    assert _until(needed, "dv.bin", "other.bin", "inline") == [9, 4, UNNAMED]
    live = ReferencedFiles()
    live.add_vectors(strings(kinds), strings(places))
    assert _until(live, "dv.bin", "other.bin") == [FOREVER, FOREVER]


def test_lines_name_their_file_in_both_spellings_and_their_vector() -> None:
    needed = ReferencedFiles()
    vector = DeletionVectorDescriptor(*VECTOR, 34, 1, 1)
    needed.add_lines([RemoveLine("a%20b", deletion_vector=vector), RemoveLine("c")], [5, 6])
    assert _until(needed, "a b", "a%20b", "dv.bin", "c") == [5, 5, 5, 6]


@pytest.mark.parametrize("large", [1, 2, 1 << 16])
def test_columns_in_several_chunks_have_each_its_own_times(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_LARGE_CHUNK", large)

    def column(*chunks: Sequence[str | None]) -> pa.ChunkedArray:
        return pa.chunked_array([strings(chunk) for chunk in chunks])

    files = pa.table(
        {
            "path": column(["a", "b"], ["c"], ["d"]),
            "raw_path": column(["a", "b"], ["%63"], ["d"]),
            "dv_storage_type": column([None, "p"], [None], ["p"]),
            "dv_path_or_inline": column([None, VECTOR[1]], [None], ["file:///table/last.bin"]),
        }
    )
    needed = ReferencedFiles()
    needed.add_columns(files, _times(1, 2, 3, 4))
    assert _until(needed, "a", "b", "c", "%63", "d", "dv.bin", "last.bin") == [1, 2, 3, 3, 4, 2, 4]
    assert needed.unlisted(strings(["a"])) == (0, [])
    live = ReferencedFiles()
    live.add_columns(files, live=True)
    assert live.unlisted(strings(["a", "d"])) == (4, ["b", "c"])
    assert _until(live, "a", "last.bin") == [FOREVER, FOREVER]


def test_a_live_file_elsewhere_is_not_looked_for_under_the_root() -> None:
    files = pa.table(
        {name: strings([*texts]) for name, texts in (("path", ("/x/a", "b")), ("raw_path", ("/x/a", "b")))}
    )
    files = files.append_column("dv_storage_type", pa.nulls(2, pa.string()))
    files = files.append_column("dv_path_or_inline", pa.nulls(2, pa.string()))
    needed = ReferencedFiles()
    needed.add_columns(files, live=True)
    assert needed.unlisted(strings(["c"])) == (1, ["b"])


def _needed(*removals: Remove, checkpoint: bool = False) -> ReferencedFiles:
    """What a table needs that added three files and removed some; the newest checkpoint has the removals, or not."""
    store = new_store()
    adds = [add("a", vector=removals[0].deletion_vector), add("b"), add("c")]
    change = AddCDCFile(path="_change_data/x%20y", partition_values={}, size=1)
    write(store, {0: (MASKED, METADATA, *adds), 1: (*removals, change)})
    gone = {removal.path for removal in removals}
    if checkpoint:
        left = [each for each in adds if each.path not in gone]
        write_checkpoint(store, 1, [MASKED, METADATA, *left, *removals], "classic")
    listing = list_log(store)
    life = explorer.Table(store).history_record().lifetimes
    carried = carry_actions(store, listing.segment())
    changes = [(commit, 77) for commit in read_commits(store, [listing.commits[1]])]
    return needed_files(carried, life, changes)


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_table_needs_its_live_files_and_its_removed_ones_until_they_went(checkpoint: bool) -> None:
    vector = DeletionVectorDescriptor(*VECTOR, 34, 1, 1)
    needed = _needed(
        remove("a", deletion_timestamp=5, vector=vector), remove("b", deletion_timestamp=6), checkpoint=checkpoint
    )
    keys = ("a", "b", "c", "dv.bin", "_change_data/x y", "_change_data/x%20y")
    assert _until(needed, *keys) == [5, 6, FOREVER, 5, 77, UNNAMED]


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_removal_without_a_time_was_long_ago(checkpoint: bool) -> None:
    needed = _needed(Remove(path="a", deletion_timestamp=None), checkpoint=checkpoint)
    assert _until(needed, "a", "b") == [0, FOREVER]


@pytest.mark.parametrize(
    ("stated", "known"),
    [(1 << 70, FOREVER - 1), (FOREVER, FOREVER - 1), (FOREVER - 1, FOREVER - 1), (-(1 << 70), 0), (-5, 0), (3, 3)],
)
def test_a_time_that_no_column_holds_is_the_nearest_that_one_does(stated: int, known: int) -> None:
    """A removal of long ago is one of time 0 to the history of the table."""
    assert _until(_needed(Remove(path="a", deletion_timestamp=stated)), "a") == [known]


def _listing(**modified: int) -> pa.Table:
    return pa.table(
        {
            "path": strings([*modified]),
            "size": int64s([1] * len(modified)),
            "modified": int64s([*modified.values()]),
        }
    )


def test_what_goes_is_older_than_the_cut_off_and_was_not_needed_at_it() -> None:
    needed = ReferencedFiles()
    needed.add(strings(["c", "d", "e"]), _times(99, 100, 101))
    listing = _listing(z=99, a=100, b=101, c=1, d=1, e=1)
    assert unused_files(listing, needed, 100).files.column("path").to_pylist() == ["c", "z"]


def test_folders_named_metadata_stay_only_where_they_are_iceberg_s() -> None:
    listing = pa.table({"path": strings(["metadata/a", "x"]), "size": int64s([1, 1]), "modified": int64s([1, 1])})
    for iceberg, gone in ((False, ["metadata/a", "x"]), (True, ["x"])):
        assert unused_files(listing, ReferencedFiles(), 5, iceberg=iceberg).files.column("path").to_pylist() == gone
    assert unused_files(listing, ReferencedFiles(), 5).files.column("path").to_pylist() == ["metadata/a", "x"]


def test_a_table_inside_another_inside_the_root_is_the_outer_one_s() -> None:
    keys = [
        "_delta_log/0.json",
        "t/_delta_log/0.json",
        "t/u/_delta_log/0.json",
        "v/_delta_log/w/_delta_log/0.json",
        "x",
    ]
    assert other_tables(strings(keys)) == ("t", "t/u", "v")


def test_a_checkpoint_whose_removals_have_a_path_alone() -> None:
    """A removal without a time was long ago, and one without a vector names none."""
    store = new_store()
    key = f"_delta_log/{1:020d}.checkpoint.parquet"
    write(store, {0: (MASKED, METADATA, add("a"), add("b")), 1: (remove("a"),)})
    write_checkpoint(store, 1, [MASKED, METADATA, add("b"), remove("a")], "classic")
    whole = pq.read_table(pa.BufferReader(store.read(key)))
    removals = whole.column("remove").combine_chunks()
    paths = pa.StructArray.from_arrays([removals.field("path")], names=["path"], mask=removals.is_null())
    sink = pa.BufferOutputStream()
    pq.write_table(whole.set_column(whole.schema.get_field_index("remove"), "remove", paths), sink)
    store.put(key, sink.getvalue().to_pybytes())
    write(store, {2: (add("c"),)})
    store.delete(commit_name(0))
    store.delete(commit_name(1))
    life = explorer.Table(store).history_record().lifetimes
    needed = needed_files(carry_actions(store, list_log(store).segment()), life, [])
    assert _until(needed, "a", "b", "c", "x") == [0, FOREVER, FOREVER, UNNAMED]
