"""The layout of files: small files and their writers, groups, choices of an address, the target, and OPTIMIZE."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.views.layout.chart import binary_size, partition_bars, size_bars
from explorer.views.layout.file_card import file_card
from explorer.views.layout.groups import writer_key
from explorer.views.layout.layout import FileChoice, chosen_files, file_figures, table_layout
from explorer.views.layout.optimize import optimize_estimate
from explorer.views.layout.target import target_size
from explorer.views.layout.writers import UNKNOWN, Writer
from explorer.views.table.facts import TableFacts
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.logs.small_logs import LONG_AGO, add, commit_info, metadata, remove, vector

DAY = 86_400_000
CLEO = Writer("WRITE", "cleo")
STREAM = Writer("STREAMING UPDATE", "stream")


def _wrote(path: str, day: int, size: int, **more: Any) -> Any:
    return add(path, 10, size=size, partition_values={"day": f"2026-11-{day:02}"}, **more)


def _info(operation: str, user: str, version: int) -> Any:
    return commit_info(operation, user_name=user, timestamp=LONG_AGO + version * DAY // 4)


def facts(tmp_path: Path, configuration: dict[str, str] | None = None) -> TableFacts:
    """Two large files of a stream, six small ones of cleo, one of them masked by ana later."""
    properties = {"delta.enableDeletionVectors": "true", **(configuration or {})}
    commits: list[list[Any]] = [
        [
            _info("CREATE TABLE", "ana", 0),
            small_logs.MASKED,
            metadata({"id": "long", "day": "string"}, ("day",), properties),
        ],
        [_info("STREAMING UPDATE", "stream", 1), _wrote("big1", 1, 900_000_000), _wrote("big2", 2, 800_000_000)],
    ]
    commits += [
        [_info("WRITE", "cleo", 2 + place), _wrote(f"small{place}", 2 + place % 2, 1_000 + place)] for place in range(6)
    ]
    masked = _wrote("small5", 3, 1_005, vector=vector("a", 4))
    commits.append([_info("DELETE", "ana", 8), remove("small5", data_change=True), masked])
    return TableFacts(explorer.open_table(small_logs.write_log(tmp_path / "t", commits)))


def test_the_writer_of_most_small_files_is_named_with_its_commits_and_bytes(tmp_path: Path) -> None:
    small = table_layout(found := facts(tmp_path), found.last).small
    assert small is not None
    assert (small.limit, small.files, small.size) == (1_000_000, 6, sum(range(1_000, 1_006)))
    assert (small.writer, small.written, small.commits, small.versions) == (CLEO, 6, 6, (2, 7))


def test_a_file_that_was_masked_later_keeps_its_writer(tmp_path: Path) -> None:
    found = facts(tmp_path)
    listed = chosen_files(found, found.last, FileChoice()).table
    written = dict(zip(listed.column("path").to_pylist(), listed.column("commit").to_pylist(), strict=True))
    assert written["small5"] == 7
    layout = table_layout(found, found.last)
    assert {each.group.writer: each.files for each in layout.groups} == {CLEO: 6, STREAM: 2}
    assert layout.groups[0].group.tone == "lead"


@pytest.mark.parametrize(
    ("choice", "paths"),
    [
        (FileChoice(partition="day=2026-11-03"), {"small1", "small3", "small5"}),
        (FileChoice(partition="day=2026-11-01\x1fday=2026-11-02"), {"big1", "big2", "small0", "small2", "small4"}),
        (FileChoice(sizes="0-1002"), {"small0", "small1"}),
        (FileChoice(group=writer_key(STREAM)), {"big1", "big2"}),
        (FileChoice(group="share-3"), {"small5"}),
        (FileChoice(partition="day=2026-11-02", group=writer_key(CLEO)), {"small0", "small2", "small4"}),
        (FileChoice(partition="day=no such"), set()),
        (FileChoice(sizes="soon"), set()),
        (FileChoice(group="WRITE\x1fnobody"), set()),
        (FileChoice(group="age-77"), set()),
    ],
)
def test_an_address_chooses_files_by_partition_size_and_group(
    tmp_path: Path, choice: FileChoice, paths: set[str]
) -> None:
    found = facts(tmp_path)
    assert set(chosen_files(found, found.last, choice).table.column("path").to_pylist()) == paths


@pytest.mark.parametrize(
    ("text", "size", "is_set"),
    [
        (None, 1 << 30, False),
        ("134217728", 134_217_728, True),
        ("128mb", 128 << 20, True),
        ("1 GiB", 1 << 30, True),
        ("soon", 1 << 30, False),
        ("-4", 1 << 30, False),
        ("0", 1 << 30, False),
        ("9" * 30, 1 << 30, False),
    ],
)
def test_the_target_is_that_of_the_table_or_the_default_which_is_said(
    tmp_path: Path, text: str | None, size: int, *, is_set: bool
) -> None:
    found = facts(tmp_path, {} if text is None else {"delta.targetFileSize": text})
    target = target_size(found.snapshot(found.last))
    assert (target.size, target.is_set) == (size, is_set)
    assert "delta.targetFileSize" in target.source
    if text is not None and not is_set:
        assert "not a size" in target.source


def test_what_optimize_would_do_is_what_its_planner_chooses(tmp_path: Path) -> None:
    found = facts(tmp_path)
    layout = table_layout(found, found.last)
    estimate = optimize_estimate(found, found.last, layout)
    # Day 2 has a file of 800 MB and three small ones, which fit into one of 1 GiB; day 3 three small ones.
    assert (estimate.files, estimate.after, estimate.rewritten, estimate.made) == (8, 3, 7, 2)
    assert estimate.read == 800_000_000 + sum(range(1_000, 1_006))
    assert (estimate.masked, estimate.is_exact) == (4, True)
    assert estimate.returning is not None
    assert (estimate.returning.writer, estimate.returning.files) == (CLEO, 6)


def test_nothing_comes_back_where_no_commit_is_known(tmp_path: Path) -> None:
    created = [small_logs.PROTOCOL, metadata({"id": "long"})]
    files = [add(f"f{place}", 1, size=10) for place in range(4)]
    found = TableFacts(explorer.open_table(small_logs.write_log(tmp_path / "t", [[*created, *files]])))
    layout = table_layout(found, 0)
    assert optimize_estimate(found, 0, layout).returning is None
    assert layout.small is not None
    assert layout.small.writer.operation == "commit"


def test_files_from_before_the_log_have_no_writer_and_are_a_group(tmp_path: Path) -> None:
    found = facts(tmp_path)
    folder = tmp_path / "t"
    table = explorer.open_table(folder)
    table.commit(table.plan({"kind": "checkpoint"}), reason="")
    for version in range(found.last):
        (folder / "_delta_log" / f"{version:020}.json").unlink()
    later = TableFacts(explorer.open_table(folder))
    figures = file_figures(later, later.last)
    assert set(figures.writers.versions.tolist()) <= {UNKNOWN, later.last}
    layout = table_layout(later, later.last)
    assert "not in the log" in {each.group.label for each in layout.groups}
    assert layout.small is not None
    assert chosen_files(later, later.last, FileChoice(group="unknown")).total >= 1


def test_the_card_of_a_file_tells_its_life_in_versions(tmp_path: Path) -> None:
    found = facts(tmp_path)
    card = file_card(found, found.last, "small5")
    assert card is not None
    assert [(event.version, event.tone) for event in card.life] == [(7, "added"), (8, "remasked")]
    assert card.life[1].words == "4 rows more masked, 4 in all"
    assert card.written is not None
    assert (card.written.version, card.written.user_name) == (7, "cleo")
    assert file_card(found, found.last, "no such file") is None


def test_a_removed_file_still_has_its_life(tmp_path: Path) -> None:
    commits = [
        [small_logs.PROTOCOL, metadata({"id": "long"}), add("a", 1)],
        [commit_info("DELETE"), remove("a", data_change=True)],
    ]
    found = TableFacts(explorer.open_table(small_logs.write_log(tmp_path / "t", commits)))
    card = file_card(found, 1, "a")
    assert card is not None
    assert card.facts == ()
    assert [(event.version, event.words) for event in card.life] == [(0, "added"), (1, "removed")]


def _restored(tmp_path: Path, *, before: bool) -> TableFacts:
    """A file of cleo that ana deleted and restored; without ``before`` the log begins after it was written."""
    commits: list[list[Any]] = [
        [_info("CREATE TABLE", "ana", 0), small_logs.PROTOCOL, metadata({"id": "long"})],
        [_info("WRITE", "cleo", 1), *([add("a", 10)] if before else [])],
        [_info("DELETE", "ana", 2), *([remove("a", data_change=True)] if before else [])],
        [_info("RESTORE", "ana", 3), add("a", 10)],
    ]
    return TableFacts(explorer.open_table(small_logs.write_log(tmp_path / "t", commits)))


@pytest.mark.parametrize("before", [True, False])
def test_list_and_card_name_one_commit_for_a_file_that_a_restore_brought_back(tmp_path: Path, before: bool) -> None:
    found = _restored(tmp_path, before=before)
    listed = chosen_files(found, found.last, FileChoice()).table.column("commit").to_pylist()
    card = file_card(found, found.last, "a")
    assert card is not None
    # A restore writes no file: what it brings back was written by another commit, or by one that is not in the log.
    assert listed == [1 if before else None]
    assert (card.written.version if card.written else None) == listed[0]


def test_bounds_are_those_of_the_file_alone(tmp_path: Path) -> None:
    created = [small_logs.PROTOCOL, metadata({"id": "long", "name": "string"})]
    files = [add(f"f{place}", 5, bounds={"id": (place, place + 10)}) for place in range(3)]
    found = TableFacts(explorer.open_table(small_logs.write_log(tmp_path / "t", [[*created, *files]])))
    for place in range(3):
        card = file_card(found, 0, f"f{place}")
        assert card is not None
        assert [(each.column, each.min, each.max) for each in card.bounds] == [("id", str(place), str(place + 10))]
        assert card.without_bounds == 1


def test_many_partitions_are_drawn_by_their_outer_column_and_many_of_that_together(tmp_path: Path) -> None:
    created = [small_logs.PROTOCOL, metadata({"id": "long", "a": "integer", "b": "string"}, ("a", "b"))]
    files = [add(f"{a}-{b}", 1, size=1_000, partition_values={"a": str(a), "b": b}) for a in range(100) for b in "xyz"]
    found = TableFacts(explorer.open_table(small_logs.write_log(tmp_path / "t", [[*created, *files]])))
    layout = table_layout(found, 0)
    assert (layout.partitions, layout.axis, len(layout.bars)) == (300, "a", 34)
    assert layout.bars[0].label == "0 to 2"
    assert [sum(bar.files) for bar in layout.bars] == [9] * 33 + [3]
    drawn = partition_bars(layout)
    assert max(sum(part.height for part in bar.up) for bar in drawn.bars) == pytest.approx(100)
    for bar in at_least_one(layout.bars):
        assert chosen_files(found, 0, FileChoice(partition=bar.key)).total == sum(bar.files)


def test_a_version_without_files_has_an_empty_layout(tmp_path: Path) -> None:
    found = facts(tmp_path)
    layout = table_layout(found, 0)
    assert (layout.files, layout.bars, layout.bins, layout.groups, layout.small) == (0, (), (), (), None)
    assert size_bars(layout).bars == ()


@pytest.mark.parametrize(("number", "text"), [(1 << 30, "1 GiB"), (3 << 20, "3 MiB"), (1_000_000, "1 MB"), (7, "7 B")])
def test_sizes_have_the_unit_of_which_they_are_whole(number: int, text: str) -> None:
    assert binary_size(number) == text


def test_many_files_are_laid_out_without_a_call_for_each(tmp_path: Path) -> None:
    created = [small_logs.PROTOCOL, metadata({"id": "long", "day": "string"}, ("day",))]
    files = [_wrote(f"f{place}", 1 + place % 28, 1_000 + place) for place in range(20_000)]
    found = TableFacts(explorer.open_table(small_logs.write_log(tmp_path / "t", [[*created, *files]])))
    # What the log itself needs for each file is read before.
    found.snapshot(0).files()
    found.log.history_record().lifetimes.take(np.arange(len(files)))
    with cProfile.Profile() as profile:
        layout = table_layout(found, 0)
        optimize_estimate(found, 0, layout)
    assert layout.files == len(files)
    assert pstats.Stats(profile).total_calls < len(files)  # type: ignore[attr-defined]  # it has the count
