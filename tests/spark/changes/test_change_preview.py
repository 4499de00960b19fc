"""Jobs that show what changed: samples and exact counts, notes, cancel, typed errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import ChangeFeedGap, RequestError
from explorer.spark.changes.change_preview import change_preview
from explorer.spark.changes.row_diff_preview import row_diff_preview
from explorer.spark.engine.session import Engine
from explorer.spark.rows.key_history import key_history
from tests.support.shared_tables import reference_root

pytestmark = [
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.usefixtures("spark_engine"),
    pytest.mark.sampled(tests=0),
]

LONG = 120


@pytest.fixture
def table() -> explorer.Table:
    return explorer.open_table(reference_root() / "tables" / "change-feed")


@pytest.mark.always
def test_a_preview_shows_the_first_changes_and_counts_all(table: explorer.Table) -> None:
    job = change_preview(table, 2, 10, 5)
    phases: list[str] = []
    job.subscribe(lambda job: phases.append(job.phase))
    seen = job.result(LONG)
    assert (seen.table.num_rows, seen.total, seen.complete) == (5, 24, False)
    assert seen.note == "The first 5 of 24 changes of versions 2 to 10."
    assert seen.counts is not None
    counted = {(row["version"], row["change_type"]): row["rows"] for row in seen.counts.to_pylist()}
    assert sum(counted.values()) == 24
    versions = seen.table.column("_commit_version").to_pylist()
    assert versions == sorted(versions)
    assert set(versions) <= {3, 4}
    assert (seen.inferred_versions, seen.skipped) == ((), ())
    assert [told.version for told in seen.versions] == list(range(2, 11))
    assert seen.estimate.files > 0
    assert any(phase.startswith("Counting") for phase in phases)


def test_a_preview_that_has_all_says_so_and_one_without_count_says_less(table: explorer.Table) -> None:
    whole = change_preview(table, 2, 10, 24).result(LONG)
    assert (whole.table.num_rows, whole.complete, whole.note) == (24, True, "All 24 changes of versions 2 to 10.")
    names = ("_commit_version", "_change_type")
    told = list(zip(*(whole.table.column(name).to_pylist() for name in names), strict=True))
    rows = list(zip(whole.table.column("id").to_pylist(), told, strict=True))
    order = {"delete": 0, "insert": 1, "update_preimage": 2, "update_postimage": 2}
    places = [(version, order[kind]) for _, (version, kind) in rows]
    assert places == sorted(places)
    # The two images of an update are neighbours, the old one first.
    images = [(id_, told) for id_, told in rows if told[1].startswith("update")]
    assert len(images) >= 6
    for (old_id, (old, before)), (new_id, (new, after)) in zip(images[::2], images[1::2], strict=True):
        assert (old_id, old, before, after) == (new_id, new, "update_preimage", "update_postimage")
    quick = change_preview(table, 2, 10, 5, count=False).result(LONG)
    assert (quick.counts, quick.total, quick.note) == (None, None, "The first 5 changes of versions 2 to 10.")
    none = change_preview(table, 2, 2, 5).result(LONG)
    assert (none.table.num_rows, none.total, none.note) == (0, 0, "No row changed in version 2.")


def test_holes_fail_the_job_or_are_skipped_and_named(table: explorer.Table) -> None:
    with pytest.raises(ChangeFeedGap):
        change_preview(table, 2, 18).result(LONG)
    seen = change_preview(table, 2, 18, skip=True, count=False).result(LONG)
    assert [hole.kind for hole in seen.skipped] == ["off", "schema"]
    assert seen.note.endswith("changes of versions 2 to 18, as far as they are known.")
    inferred = change_preview(table, 0, 12, 200, inferred=True, skip=True).result(LONG)
    assert set(inferred.inferred_versions) <= {0, 1, 11, 12}
    assert inferred.inferred_versions


@pytest.mark.whole("test_row_diff.py")
@pytest.mark.always
def test_a_row_diff_preview_has_some_of_each_kind_and_exact_counts(table: explorer.Table) -> None:
    seen = row_diff_preview(table, 3, 9, ["id"], 2).result(LONG)
    assert (seen.counts.updated, seen.counts.deleted, seen.counts.inserted) == (3, 4, 4)
    assert seen.table.column("change").to_pylist() == ["update"] * 2 + ["delete"] * 2 + ["insert"] * 2
    assert (seen.complete, seen.note) == (False, "6 of 11 rows that differ between version 3 and version 9.")
    assert (seen.keys, seen.from_version, seen.to_version, seen.left_out) == (("id",), 3, 9, ())
    whole = row_diff_preview(table, 3, 9).result(LONG)
    assert (whole.complete, whole.note) == (True, "All 14 rows that differ between version 3 and version 9.")
    same = row_diff_preview(table, 9, 9).result(LONG)
    assert (same.table.num_rows, same.complete) == (0, True)
    assert same.note == "No row differs between version 9 and version 9."
    with pytest.raises(RequestError, match="no column 'nope'"):
        row_diff_preview(table, 3, 9, ["nope"]).result(LONG)


def test_variants_are_shown_as_text(spark_engine: Engine) -> None:
    table = explorer.open_table(reference_root() / "tables" / "variant")
    first, last = table.version_range()
    seen = row_diff_preview(table, first, last, limit=3).result(LONG)
    assert seen.table.num_rows
    texts: list[Any] = [row["before"] or row["after"] for row in seen.table.to_pylist()]
    assert all(isinstance(value, str) for row in texts for name, value in row.items() if name == "v" and value)
    assert not spark_engine.session().catalog.listTables()


def test_a_history_is_a_job_too(table: explorer.Table) -> None:
    history = key_history(table, {"id": 3}).result(LONG)
    assert [(s["from_version"], s["to_version"], s["row"]["v"]) for s in history.spans.to_pylist()] == [
        (1, 4, "v3"),
        (16, 16, "w"),
        (18, 18, "v3"),
    ]


def test_a_job_that_is_cancelled_at_once_ends_so(table: explorer.Table, tmp_path: Path) -> None:
    job = row_diff_preview(table, 3, 9)
    job.cancel()
    with pytest.raises(explorer.ExplorerError, match="cancelled"):
        job.result(LONG)
    assert job.state == "cancelled"
