"""What the pages say of times, lost versions, ranges that a rename breaks, and readers that disagree."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.core.errors import TimestampOutOfRange, UnsupportedFeature
from explorer.storage import open_store
from explorer.views import TableFacts, TableView
from explorer.views.figures.strip_frame import Frame
from explorer.views.figures.theme import LIGHT
from explorer.views.figures.timeline import timeline_figure
from explorer.views.problems import problem_of
from explorer.views.rows.row_work import change_origins, readable_pieces
from explorer.views.table.commits import redated_note
from explorer.views.table.overview import overview_of
from explorer.views.table.timeline import timeline_of
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import DAY, NOW, ago, loaded, timed, written
from tests.support.logs import small_logs
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, commit_info, table, vector, write
from tests.support.shared_tables import golden_root

NOW_MS = ago(0)


def _facts(table: explorer.Table) -> TableFacts:
    return TableFacts(table, clock=lambda: NOW)


def _lost() -> explorer.Table:
    went = [commit_info("DELETE"), small_logs.remove("0.parquet", deletion_timestamp=ago(9 * DAY))]
    return written(loaded("0.parquet"), went, loaded("1.parquet"))


def test_versions_lost_to_a_vacuum_are_gone_in_the_strip_audit_overview_and_data() -> None:
    facts = _facts(_lost())
    data = facts.lanes()[1]
    assert [(span.first, span.last, span.state) for span in data.spans][1] == (1, 1, "at risk")
    facts.log.known_missing.deleted(["0.parquet"])
    spans = [(span.first, span.last, span.state) for span in facts.lanes()[1].spans]
    assert spans == [(0, 0, "readable"), (1, 1, "gone"), (2, 3, "readable")]
    rules = {finding.rule for finding in facts.audit().findings}
    assert ("versions-gone" in rules, "versions-at-risk" in rules) == (True, False)
    assert facts.horizon().what_if().versions == ()
    said = "1 file of v1 no longer exists: 0.parquet. Its rows can no longer be read"
    assert facts.lost_data(1).startswith(said)
    (alert,) = overview_of(facts, 1).alerts
    assert (alert.title, alert.rule) == ("The data of this version is lost", "versions-gone")
    assert alert.message.startswith(said)
    assert facts.lost_data(2) == ""


def test_a_vacuum_of_another_process_is_known_once_the_rules_were_asked() -> None:
    facts = _facts(_lost())
    facts.judge()
    assert [span.state for span in facts.cached_lanes()[1].spans] == ["readable", "gone", "readable"]
    there = _lost()
    there.store.put("0.parquet", b"PAR1")
    there.store.put("1.parquet", b"PAR1")
    facts = _facts(there)
    facts.judge()
    assert [span.state for span in facts.cached_lanes()[1].spans] == ["readable", "at risk", "readable"]


def test_what_one_window_learns_of_missing_files_every_window_knows(tmp_path: Path) -> None:
    write(open_store(tmp_path / "t"), {0: [PROTOCOL, METADATA, add("a")]})
    catalog = Catalog([str(tmp_path)])
    name = next(catalog.roots.tables()).name
    catalog.open(name).known_missing.deleted(["a"])
    assert catalog.facts(name).log.known_missing.now.missing == {"a"}


def _named(*names: str) -> explorer.Table:
    """A table of one column, whose every commit gives it a name and adds a file; the name is also the physical one."""
    commits = [
        [*([PROTOCOL] if not version else []), small_logs.metadata({name: "long"}), add(f"{version}.parquet", 5)]
        for version, name in enumerate(names)
    ]
    found = table(dict(enumerate(commits)))
    for version in range(len(names)):
        found.store.put(f"{version}.parquet", b"PAR1")
    return found


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        ("aab", ((1, 1), (2, 2))),
        ("aabbcc", ((1, 1), (2, 3), (4, 5))),
        ("aabcd", ((1, 1), (2, 2), (3, 3), (4, 4))),
        ("aaba", ((1, 1), (2, 2), (3, 3))),
        ("aaaa", ()),
    ],
)
def test_a_range_that_renames_break_is_offered_in_parts_that_each_can_be_read(
    names: str, parts: tuple[tuple[int, int], ...]
) -> None:
    facts = _facts(_named(*names))
    view = TableView(facts, version=len(names) - 1, compared=0)
    spans = change_origins(view, inferred=True).spans
    pieces = readable_pieces(view, spans)
    assert pieces == parts
    for first, last in pieces:
        part = change_origins(TableView(facts, version=last, compared=first - 1), inferred=True)
        assert part.available
        assert {span.kind for span in part.spans} == {"inferred"}
        assert (part.spans[0].from_version, part.spans[-1].to_version) == (first, last)


def test_a_lane_begins_with_the_commit_that_begins_its_state() -> None:
    feed = {"delta.enableChangeDataFeed": "true"}
    fed = small_logs.metadata({"id": "long", "day": "string"}, (), {"delta.enableInCommitTimestamps": "true", **feed})
    protocol = small_logs.Protocol(
        min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp", "changeDataFeed")
    )
    plain = small_logs.metadata({"id": "long", "day": "string"}, (), {"delta.enableInCommitTimestamps": "true"})
    ages = (400, 399, 30, 29, 28)
    commits: list[list[Any]] = [
        [
            commit_info("WRITE", in_commit_timestamp=ago(age * DAY), timestamp=ago(age * DAY)),
            *([protocol, plain] if not version else []),
            *([fed] if version == 2 else []),
            add(f"{version}.parquet"),
        ]
        for version, age in enumerate(ages)
    ]
    facts = _facts(table(dict(enumerate(commits))))
    timeline = timeline_of(facts.commits, axis="time")
    assert timeline.edges(2, 4)[0] == ago(30 * DAY)
    assert timeline.edges(0, 1)[1] == ago(30 * DAY)
    lanes = facts.lanes()
    drawn = timeline_figure(timeline, LIGHT, Frame(1200), lanes=lanes)["data"]
    recorded = next(trace for trace in drawn if trace["name"] == "recorded")
    assert at_least_one(list(recorded["base"]))[0] >= ago(30 * DAY)


def _copied(*written_ago: int | None, files_ago: int = 0) -> TableFacts:
    """A table whose files all have one time, and whose writers recorded others."""
    store = small_logs.new_store()
    commits: list[list[Any]] = [
        [
            commit_info("WRITE", timestamp=None if age is None else NOW_FILES - age),
            *([PROTOCOL, METADATA] if not version else []),
            add(f"{version}.parquet", 5),
        ]
        for version, age in enumerate(written_ago)
    ]
    write(store, dict(enumerate(commits)))
    return _facts(explorer.Table(store))


NOW_FILES = int(datetime.now(UTC).timestamp() * 1000)


def test_a_copied_table_is_drawn_at_the_times_that_its_writers_recorded() -> None:
    facts = _copied(40 * DAY, 30 * DAY, 20 * DAY)
    assert facts.commits.times.tolist() == [NOW_FILES - age * DAY for age in (40, 30, 20)]
    assert redated_note(facts.commits).startswith("All commits are drawn at the time that their writers recorded.")
    assert "by its writer; file of" in timeline_of(facts.commits).labels[0]
    # Time travel stays as the protocol says.
    with pytest.raises(TimestampOutOfRange):
        facts.version_named(f"{datetime.fromtimestamp((NOW_FILES - 25 * DAY) / 1000, UTC):%Y-%m-%d %H:%M}")


@pytest.mark.parametrize(
    ("ages", "redated"),
    [
        ((DAY // 2, DAY // 4, 0), [False, False, False]),
        ((40 * DAY, None, 0), [True, False, False]),
        ((40 * DAY, -900 * DAY, 0), [True, False, False]),
    ],
)
def test_only_times_that_contradict_by_more_than_a_day_are_replaced(
    ages: tuple[int | None, ...], redated: list[bool]
) -> None:
    facts = _copied(*ages)
    assert facts.commits.redated.tolist() == redated
    assert (np.diff(facts.commits.times) >= 0).all()


def test_in_commit_timestamps_are_never_replaced() -> None:
    result = timed([[commit_info("WRITE", in_commit_timestamp=ago(DAY), timestamp=ago(900 * DAY)), add("a")]])
    facts = _facts(result)
    assert not facts.commits.redated.any()
    assert redated_note(facts.commits) == ""


def test_the_sparkline_of_a_copied_table_is_not_one_bar_of_today(tmp_path: Path) -> None:
    commits: dict[int, list[Any]] = {
        version: [
            commit_info("WRITE", timestamp=NOW_FILES - age * DAY),
            *([PROTOCOL, METADATA] if not version else []),
            add(f"{version}.parquet", 5),
        ]
        for version, age in enumerate((50, 40, 30))
    }
    write(open_store(tmp_path / "t"), commits)
    catalog = Catalog([str(tmp_path)])
    summary = catalog.summary(next(catalog.roots.tables()))
    assert sum(bar.added > 0 for bar in summary.bars) == 3
    assert summary.bars[-1].added == 0
    assert "time travel by timestamp still uses the times of the files" in summary.redated


def test_readers_that_disagree_are_an_error_in_the_overview_and_before_rows_and_files() -> None:
    one = vector("one", 1)
    found = table({0: [MASKED, METADATA, add("a.parquet", 10)], 1: [add("a.parquet", 10, vector=one)]})
    facts = _facts(found)
    (problem,) = facts.alerts(1)
    assert overview_of(facts, 1).alerts == (problem,)
    assert (problem.severity, problem.title) == ("danger", "Readers disagree about this version")
    assert "Version 1 contradicts itself" in problem.message
    assert "This program takes the newest vector alone and reads 9 rows." in problem.message
    assert "delta-spark and delta-kernel, read 19 rows" in problem.message
    assert problem.next_step.startswith("Do not rely on either count")
    assert facts.alerts(0) == overview_of(facts, 0).alerts == ()


@pytest.mark.golden
def test_a_table_that_a_catalog_manages_is_refused_as_such_and_never_shown_as_empty() -> None:
    folder = str(golden_root() / "tables" / "delta__bench-basic_catalog_managed__delta")
    table = explorer.open_table(folder)
    for ask in (table.snapshot, table.history, table.provenance, table.version_range, lambda: TableFacts(table)):
        with pytest.raises(UnsupportedFeature, match="A catalog manages the commits of this table") as refused:
            ask()
        assert "backup" not in refused.value.message
    problem = problem_of(refused.value)
    assert (problem.severity, problem.title) == ("warning", "A catalog manages this table")
