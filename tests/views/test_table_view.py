"""View models and figures on tables of the reference writer."""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

import explorer
from explorer.core.errors import TimestampOutOfRange, VersionNotFound
from explorer.views import TableFacts, TableView
from explorer.views.figures.charts import total_over_versions
from explorer.views.figures.strip_frame import Frame
from explorer.views.figures.theme import DARK, LIGHT
from explorer.views.figures.timeline import timeline_figure
from explorer.views.table.columns import column_story, columns_listing
from explorer.views.table.comparison import comparison_of
from explorer.views.table.files import file_facts, files_listing, masked_listing, row_strip
from explorer.views.table.timeline import MARKS, timeline_of
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.reference
TABLES = reference_root() / "tables"


def _facts(name: str) -> TableFacts:
    return TableFacts(explorer.open_table(str(TABLES / name)))


@pytest.fixture(scope="module")
def vectors() -> TableFacts:
    return _facts("deletion-vectors")


@pytest.fixture(scope="module")
def mapping() -> TableFacts:
    return _facts("column-mapping")


@pytest.mark.sampled(cases=8)
@pytest.mark.parametrize("name", sorted(path.name for path in TABLES.iterdir()))
def test_every_part_of_every_version_can_be_made(name: str) -> None:
    view = TableView(_facts(name))
    go.Figure(view.timeline())
    go.Figure(view.river())
    for version in {view.facts.first, (view.facts.first + view.facts.last) // 2, view.facts.last}:
        view.go(version)
        assert view.overview().verdict
        assert view.comparison().to_version == version
        assert files_listing(view.facts, version).total == view.facts.snapshot(version).num_files
        masked_listing(view.facts, version)
        columns_listing(view.facts, version)
        go.Figure(view.totals())
        for row in view.facts.coverage(version).to_pylist():
            if row["files"]:
                view.column = row["column"]
                go.Figure(view.ranges())


def test_a_version_that_is_not_there_raises_and_changes_nothing(vectors: TableFacts) -> None:
    view = TableView(vectors, version=3)
    with pytest.raises(VersionNotFound) as raised:
        view.go(99_999)
    assert (raised.value.facts()["nearest"], view.version) == (17, 3)
    with pytest.raises(VersionNotFound):
        TableView(vectors, version=-1)


def test_a_compaction_is_no_change_of_rows() -> None:
    facts = _facts("optimize")
    commit = facts.commits.record(4)
    assert commit is not None
    assert (commit.operation, commit.rows_added, commit.rows_removed, commit.rows_rewritten) == ("OPTIMIZE", 0, 0, 7)
    timeline = facts.timeline()
    assert (timeline.added[4], timeline.removed[4]) == (0, 0)


def test_timeline_shows_masked_rows_below_and_form_changes_as_marks(vectors: TableFacts) -> None:
    timeline = vectors.timeline()
    assert timeline.masked[3] == 2
    assert bool(timeline.form[0])
    bars = {trace["name"]: trace for trace in TableView(vectors).timeline()["data"]}
    assert 3.0 in bars["masked"]["x"]
    assert (bars["masked"]["y"] < 0).all()
    assert (bars["added"]["y"] > 0).all()


def test_moving_the_cursor_changes_the_shapes_alone(vectors: TableFacts) -> None:
    view = TableView(vectors, version=5)
    before = view.timeline()
    view.go(6)
    after = view.timeline()
    ends = view.timeline_ends()
    assert before["layout"]["shapes"] != after["layout"]["shapes"]
    assert (after["layout"]["shapes"], after["layout"]["annotations"]) == (ends["shapes"], ends["annotations"])
    np.testing.assert_equal(before["data"], after["data"])


def test_a_long_history_is_binned_and_a_window_shows_single_versions(vectors: TableFacts) -> None:
    history = vectors.log.history()
    long = _Longer(history)
    timeline = timeline_of(long.commits)
    assert len(timeline.start) <= MARKS
    assert timeline.added.sum() + timeline.updated.sum() == pytest.approx(long.rows)
    line = total_over_versions(long.commits, LIGHT, metric="rows", version=7)["data"][0]
    assert len(line["x"]) <= 1002
    assert max(line["y"]) == np.nanmax(long.commits.numbers("num_rows"))
    window = timeline_of(long.commits, (100, 200))
    assert (window.width, window.first, window.last) == (1, 100, 200)


class _Longer:
    """The history repeated, with versions of its own."""

    def __init__(self, history: object) -> None:
        import pyarrow as pa

        from explorer.core.versions.commits.commits import Commits

        rows = history.num_rows  # type: ignore[attr-defined]
        copies = 5_000 // rows
        table = pa.concat_tables([history] * copies)
        versions = pa.array(range(copies * rows), pa.int64())
        self.commits = Commits(table.set_column(table.schema.get_field_index("version"), "version", versions))
        self.rows = float(sum(row["rows_added"] - row["rows_rewritten"] for row in self.commits.history.to_pylist()))


def test_diff_lists_every_file_that_differs(vectors: TableFacts) -> None:
    comparison = comparison_of(vectors, 2, 6)
    assert sum(comparison.counts.values()) == comparison.files.total
    signs = set(comparison.files.table.column("sign").to_pylist())
    assert signs <= {"+", "\u2212", "~"}
    assert comparison_of(vectors, 4, 4).same


def test_a_rename_is_a_rename(mapping: TableFacts) -> None:
    changes = comparison_of(mapping, 3, 4).schema
    assert [(change.sign, change.subject) for change in changes] == [("\u25c7", "name \u2192 title")]
    story = column_story(mapping, "s.b")
    assert story is not None
    assert column_story(mapping, "never there") is None


def test_change_feed_lane_covers_the_versions_with_the_feed_on() -> None:
    facts = _facts("change-feed")
    lane = facts.feed_lane()
    assert lane is not None
    on = {v for s in lane.spans if s.state == "recorded" for v in range(s.first, s.last + 1)}
    history = {row["version"]: row["change_feed"] for row in facts.log.history().to_pylist()}
    assert on == {version for version, enabled in history.items() if enabled}
    assert _facts("optimize").feed_lane() is None


def test_file_facts_are_told_of_live_files_alone(vectors: TableFacts) -> None:
    path = vectors.snapshot(6).files().column("path").to_pylist()[0]
    assert dict(file_facts(vectors, 6, path) or ())["path"] == path
    assert file_facts(vectors, 6, "../../etc/passwd") is None


def test_row_strip_places_rows_by_their_share_of_the_file() -> None:
    strip = row_strip(np.array([0, 1, 999], dtype=np.uint64), 1000, bins=10)
    assert [(left, share) for left, _, share in strip] == [(0.0, 0.02), (0.9, 0.01)]
    assert row_strip(np.array([], dtype=np.uint64), 1000) == ()


def test_early_history_that_was_cleaned_is_said() -> None:
    facts = _facts("log-cleanup")
    assert facts.first > 0
    findings = facts.audit().findings
    assert any("history was deleted" in finding.title for finding in findings)


def test_a_version_is_named_by_its_number_or_by_a_time() -> None:
    facts = _facts("in-commit-timestamps")
    line = (TABLES / "in-commit-timestamps" / "_delta_log" / f"{facts.last - 1:020}.json").read_text().splitlines()[0]
    committed = datetime.fromtimestamp(json.loads(line)["commitInfo"]["inCommitTimestamp"] / 1000, UTC)
    assert facts.version_named(f"v{facts.last}") == facts.version_named(f" {facts.last} ") == facts.last
    assert facts.version_named(committed.isoformat()) == facts.last - 1
    assert facts.version_named(f"{committed.replace(tzinfo=None)}") == facts.last - 1
    assert facts.version_named(f"{committed:%Y-%m-%d %H:%M:%S.%f} UTC") == facts.last - 1
    with pytest.raises(TimestampOutOfRange) as late:
        facts.version_named("2999-01-01")
    assert late.value.nearest == facts.last
    for wrong in ("", "soon", "-1", "1" * 30, "<b>"):
        with pytest.raises(VersionNotFound):
            facts.version_named(wrong)


def test_dark_figures_use_the_dark_colours(vectors: TableFacts) -> None:
    figure = TableView(vectors, theme="dark").timeline()
    bars = {trace["name"]: trace for trace in figure["data"]}
    assert bars["added"]["marker"]["color"] == DARK.added


def test_a_log_that_breaks_off_still_shows_the_versions_before(tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "broken"
    shutil.copytree(TABLES / "optimize", copy)
    for checkpoint in [*copy.glob("_delta_log/*.parquet"), *copy.glob("_delta_log/_last_checkpoint")]:
        checkpoint.unlink()
    last = max(copy.glob("_delta_log/*.json"))
    last.write_bytes(last.read_bytes()[:-40])
    facts = TableFacts(explorer.open_table(str(copy)))
    assert facts.problem is not None
    assert not len(facts.commits)
    assert TableView(facts, version=facts.last - 1).overview().verdict
    with pytest.raises(explorer.TableError):
        facts.snapshot(facts.last)


def test_an_empty_table_has_an_axis_of_whole_rows() -> None:
    facts = _facts("change-feed")
    figure = timeline_figure(facts.timeline((0, 0)), LIGHT, Frame())
    assert set(figure["layout"]["yaxis"]["ticktext"]) <= {"0", "1"}


@pytest.mark.reference
def test_partitions_of_a_mapped_table_have_the_names_and_values_of_its_columns() -> None:
    facts = _facts("checkpoint-without-checksum")
    listing = files_listing(facts, facts.last)
    assert facts.snapshot(facts.last).column_mapping_mode == "name"
    in_log = [dict(row) for row in facts.snapshot(facts.last).files().column("partition_values").to_pylist()]
    texts = [f"p={value or 'null'}" for row in in_log for value in row.values()]
    assert {"p=0", "p=1"} <= set(texts)
    assert listing.table.column("partition").to_pylist() == texts
    path = listing.table.column("path")[0].as_py()
    assert ("partition", texts[0]) in (file_facts(facts, facts.last, path) or ())
