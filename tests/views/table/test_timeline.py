"""The marks of the strip against plain computations, commit by commit."""

import statistics
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from explorer.core.versions.commits.commits import Commits
from explorer.views.table.timeline import ALONE, MARKS, Signs, timeline_of

START = datetime(2026, 1, 1, tzinfo=UTC)


def history(
    added: list[int], removed: list[int] | None = None, masked: list[int] | None = None, *,
    versions: list[int] | None = None, updated: list[int] | None = None,
) -> Commits:  # fmt: skip
    """Commits that added and removed so many rows, an hour apart, by two people in turn."""
    count = len(added)
    numbers = {"rows_added": added, "rows_removed": removed or [0] * count, "rows_masked": masked or [0] * count}
    texts = {"operation": ["WRITE"] * count, "user_name": ["ana", "ben"] * (count // 2) + ["ana"] * (count % 2)}
    columns: dict[str, pa.Array] = {
        "version": pa.array(versions or range(count), pa.int64()),
        "timestamp": pa.array([START + timedelta(hours=n) for n in range(count)], pa.timestamp("ms", "UTC")),
        "parameters": pa.array([[]] * count, pa.map_(pa.string(), pa.string())),
        "metrics": pa.array(
            [[("numUpdatedRows", str(number))] for number in updated or [0] * count], pa.map_(pa.string(), pa.string())
        ),
        "num_rows": pa.array(np.cumsum(added), pa.int64()),
    }
    columns |= {name: pa.array(values, pa.int64()) for name, values in numbers.items()}
    columns |= {name: pa.array(values, pa.string()) for name, values in texts.items()}
    columns |= {name: pa.nulls(count, pa.string()) for name in ("engine_info", "reason")}
    columns |= {"timestamp_basis": pa.array(["file"] * count), "commit_info_timestamp": columns["timestamp"]}
    columns["rows_rewritten"] = pa.array([0] * count, pa.int64())
    for name in ("num_files_added", "num_files_removed", "num_files_remasked", "bytes_added",
                 "bytes_removed", "num_files", "num_bytes", "num_deleted_rows"):  # fmt: skip
        columns[name] = pa.nulls(count, pa.int64())
    for name in ("metadata_changed", "protocol_changed", "schema_changed", "change_feed"):
        columns[name] = pa.array([False] * count)
    return Commits(pa.table(columns))


def rows_of(seed: int, count: int) -> list[int]:
    """Amounts as a loader makes them: some days none."""
    chance = np.random.default_rng(seed)
    return np.where(chance.random(count) > 0.2, chance.integers(50, 150, count), 0).tolist()


@pytest.mark.parametrize(("window", "marks"), [(None, 50), ((137, 902), 40), ((137, 902), 300)])
def test_a_bin_keeps_its_median_and_its_largest_commit(window: tuple[int, int] | None, marks: int) -> None:
    added, removed = rows_of(1, 1_000), rows_of(2, 1_000)
    timeline = timeline_of(history(added, removed), window, marks=marks)
    assert timeline.width > 1
    assert len(timeline.start) <= marks + 1
    first, last = window or (0, 999)
    for mark, start in enumerate(timeline.start.tolist()):
        inside = [v for v in range(start, start + timeline.width) if first <= v <= last]
        for values, heights in ((added, timeline.up), (removed, timeline.down)):
            some = [values[v] for v in inside if values[v] > 0]
            assert heights.median[mark] == (statistics.median(some) if some else 0)
            assert heights.largest[mark] == max(some, default=0)
        assert timeline.added[mark] == sum(added[v] for v in inside)


def test_a_bin_is_itself_wherever_the_window_is() -> None:
    commits = history(rows_of(3, 1_000))
    one, other = (timeline_of(commits, window, marks=50) for window in ((100, 499), (137, 536)))
    shared = set(one.start.tolist()[1:-1]) & set(other.start.tolist()[1:-1])
    assert (one.width, len(shared) > 30) == (other.width, True)
    for start in shared:
        places = one.start.tolist().index(start), other.start.tolist().index(start)
        assert one.up.median[places[0]] == other.up.median[places[1]]


def test_a_commit_far_above_the_median_stands_alone_and_is_in_no_bin() -> None:
    added = rows_of(4, 1_000)
    removed = [0] * 1_000
    usual = statistics.median(n for n in added if n)
    added[600], removed[700] = 90_000, 70_000
    timeline = timeline_of(history(added, removed), marks=50)
    alone = dict(zip(timeline.alone.versions.tolist(), timeline.alone.amounts.tolist(), strict=True))
    assert alone[600] == 90_000 > ALONE * usual
    assert timeline.up.largest.max() < ALONE * usual
    assert timeline.alone.labels[0] == "+90 k rows"
    assert timeline.alone.details[0] == "v600 \u00b7 WRITE by ana"
    # Two commits that removed rows have no usual amount to be far above.
    assert 700 not in alone
    assert timeline.down.largest.max() == 70_000


def test_the_scale_fits_what_differs_and_is_that_of_the_whole_table() -> None:
    even = timeline_of(history([100] * 50))
    assert even.scale.kind == "linear"
    assert timeline_of(history([100] * 49 + [3_000])).scale.kind == "root"
    spread = history([100] * 49 + [1_000_000])
    assert timeline_of(spread).scale.kind == timeline_of(spread, (0, 20)).scale.kind == "log"
    heights = timeline_of(spread).scale.heights(np.array([0.0, 100.0, 1_000_000.0]))
    assert heights[0] == 0
    # A usual commit is low but seen beside the largest.
    assert 0.05 < heights[1] / heights[2] < 0.2


def test_commits_that_the_log_lacks_are_gaps() -> None:
    commits = history([5] * 20, versions=[*range(10), *range(15, 25)])
    assert timeline_of(commits).gaps == ((10, 14),)
    assert timeline_of(commits, (12, 20)).gaps == ((12, 14),)
    assert timeline_of(commits, (10, 14)).gaps == ((10, 14),)


def test_masked_rows_are_told_from_removed_ones() -> None:
    timeline = timeline_of(history([100] * 20, [0] * 20, [0] * 19 + [7]))
    assert timeline.masked[19] == 7
    assert timeline.removed.sum() == 0
    assert timeline.top == (100, 7)


def test_updated_rows_neither_came_nor_went() -> None:
    # The second commit rewrites a file and updates 30 of its rows; the third masks 20 and writes them again, and 5 new.
    commits = history([100, 100, 25], [0, 100, 0], [0, 0, 20], updated=[0, 30, 20])
    timeline = timeline_of(commits)
    assert timeline.updated.tolist() == [0, 30, 20]
    assert timeline.came.tolist() == [100, 70, 5]
    assert timeline.went.tolist() == [0, 70, 0]


def test_metrics_that_the_files_cannot_hold_are_not_believed() -> None:
    commits = history([100, 10, 10], [0, 10, 0], updated=[5, 11, 10])
    assert timeline_of(commits).updated.tolist() == [0, 0, 0]


def test_marks_of_time_hold_the_commits_of_equal_times_and_are_themselves_wherever_the_window_is() -> None:
    commits = history(rows_of(10, 5_000))
    whole = timeline_of(commits, marks=100, axis="time")
    assert len(whole.start) <= 101
    assert (np.diff(whole.middles) == whole.width).all()
    assert whole.added.sum() == timeline_of(commits).added.sum()
    one, other = (timeline_of(commits, window, marks=100, axis="time") for window in ((1_000, 2_999), (1_013, 3_012)))
    assert one.width == other.width
    assert len(set(one.middles.tolist()) & set(other.middles.tolist())) > 80
    for version in (0, 77, 4_999):
        at = whole.start.tolist().index(max(start for start in whole.start.tolist() if start <= version))
        assert whole.position(version) == whole.middles[at]


def test_commits_of_one_moment_are_in_one_mark() -> None:
    hours = history([5] * 12)
    column = hours.history.schema.get_field_index("timestamp")
    moments = pa.array([START] * 6 + [START + timedelta(days=1)] * 6, pa.timestamp("ms", "UTC"))
    timeline = timeline_of(Commits(hours.history.set_column(column, "timestamp", moments)), axis="time")
    assert (timeline.start.tolist(), timeline.bins.ends.tolist(), timeline.single) == ([0, 6], [5, 11], False)
    assert [timeline.version_at(place) for place in timeline.middles.tolist()] == [5, 11]


def test_colours_go_to_those_with_most_commits_and_a_bin_takes_that_of_most_of_its() -> None:
    commits = history([1] * 999)
    timeline = timeline_of(commits, marks=100, colouring="author")
    assert timeline.groups == ("ana", "ben")
    votes = [
        max((0, 1), key=lambda who: sum(v % 2 == who for v in range(start, min(start + timeline.width, 999))))
        for start in timeline.start.tolist()
    ]
    assert timeline.group.tolist() == votes
    assert timeline_of(commits, marks=100).groups == ()


def test_signs_are_those_of_the_window() -> None:
    signs = Signs(np.array([0, 40, 90]), ((40, "protocol 1 \u00b7 7"),), ((90, "close"),), (10, 80))
    found = timeline_of(history([1] * 100), (30, 85), signs=signs).signs
    assert (found.form.tolist(), found.protocols, found.tags, found.checkpoints) == ([40], signs.protocols, (), (80,))


@pytest.mark.parametrize("count", [1, 12, 500, 10_000])
def test_as_many_marks_as_there_is_room_for(count: int) -> None:
    timeline = timeline_of(history([3] * count))
    assert 0 < len(timeline.start) <= MARKS + 1
    assert (timeline.first, timeline.last) == (0, count - 1)
    assert timeline.added.sum() == 3 * count
    assert bool(timeline.names) == (count <= 60)


def test_a_log_of_no_rows_counts_files() -> None:
    commits = history([0, 0, 0])
    table = commits.history
    for name in ("rows_added", "rows_removed"):
        table = table.set_column(table.schema.get_field_index(name), name, pa.nulls(3, pa.int64()))
    table = table.set_column(table.schema.get_field_index("num_files_added"), "num_files_added", pa.array([1, 2, 3]))
    timeline = timeline_of(Commits(table))
    assert (timeline.unit, timeline.added.tolist()) == ("files", [1, 2, 3])
