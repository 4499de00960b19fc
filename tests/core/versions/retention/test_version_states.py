"""The state of every version: one source for lanes, findings and `Table.retention`."""

from typing import Any

import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.versions.retention.retention import version_retention
from explorer.core.versions.retention.version_states import StateSpan, VersionRisks
from tests.support.comparison.audited_tables import DAY, HOUR, NOW, ago, loaded, written
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint

NOW_MS = ago(0)


def _replaced(*ages: int) -> list[list[Any]]:
    """Commits that each replace the file of the one before, which left so long before the present."""
    return [
        [
            small_logs.commit_info("WRITE"),
            small_logs.remove(f"{place}.parquet", deletion_timestamp=ago(age)),
            small_logs.add(f"{place + 1}.parquet"),
        ]
        for place, age in enumerate(ages)
    ]


def _vacuum(status: str = "COMPLETED", **parameters: str) -> list[list[Any]]:
    start = small_logs.commit_info("VACUUM START", operation_parameters=parameters)
    return [[start], [small_logs.commit_info("VACUUM END", operation_parameters={"status": status})]]


def _spans(table: explorer.Table, **more: Any) -> list[tuple[int, int, str]]:
    return [(span.first, span.last, span.state) for span in _risks(table).at(NOW_MS, **more).spans()]


def _risks(table: explorer.Table) -> VersionRisks:
    return VersionRisks(table.history_record(), table.listing)


def test_successive_versions_of_one_state_are_one_span_with_the_earliest_time() -> None:
    table = written(loaded("0.parquet"), *_replaced(9 * DAY, 8 * DAY, HOUR))
    found = _risks(table).at(NOW_MS).spans()
    assert found == (
        StateSpan(0, 0, "readable", None, None),
        StateSpan(1, 2, "at risk", ago(2 * DAY), None),
        StateSpan(3, 4, "readable", ago(HOUR) + 7 * DAY, None),
    )


def test_a_version_is_at_risk_from_the_millisecond_after_its_tombstone_expires() -> None:
    risks = _risks(written(loaded("0.parquet"), *_replaced(9 * DAY)))
    expires = ago(2 * DAY)
    assert [risks.at(time).state(1) for time in (expires, expires + 1)] == ["readable", "at risk"]
    assert risks.at(expires).lost_at(1) == expires


@pytest.mark.parametrize("parameter", ["specifiedRetentionMillis", "defaultRetentionMillis"])
def test_a_completed_vacuum_in_the_log_takes_what_was_older_than_its_retention(parameter: str) -> None:
    commits = [loaded("0.parquet"), *_replaced(400 * DAY, 390 * DAY), *_vacuum(**{parameter: str(7 * DAY)})]
    table = written(*commits)
    assert _spans(table) == [(0, 0, "readable"), (1, 2, "data gone"), (3, 5, "readable")]
    assert {span.vacuum for span in _risks(table).at(NOW_MS).spans() if span.state == "data gone"} == {5}


@pytest.mark.parametrize(
    "vacuum",
    [
        pytest.param(_vacuum("FAILED", defaultRetentionMillis=str(7 * DAY)), id="failed"),
        pytest.param(_vacuum("COMPLETED"), id="retention not recorded"),
        pytest.param(_vacuum("COMPLETED", defaultRetentionMillis="soon"), id="retention is no number"),
        pytest.param(_vacuum("COMPLETED", defaultRetentionMillis=str(7 * DAY))[1:], id="no start"),
    ],
)
def test_a_vacuum_that_may_have_deleted_nothing_leaves_versions_at_risk(vacuum: list[Any]) -> None:
    table = written(loaded("0.parquet"), *_replaced(400 * DAY), *vacuum)
    assert _spans(table)[1] == (1, 1, "at risk")


def test_a_look_at_the_files_goes_before_the_record_of_a_vacuum() -> None:
    table = written(loaded("0.parquet"), *_replaced(400 * DAY), *_vacuum(defaultRetentionMillis=str(7 * DAY)))
    assert _spans(table, missing=frozenset())[1] == (1, 1, "at risk")
    assert _spans(table, missing=frozenset({"0.parquet"}))[1] == (1, 1, "data gone")


def test_versions_before_the_log_begins_are_gone() -> None:
    store = small_logs.new_store()
    adds = [small_logs.add(f"{n}.parquet") for n in range(1, 6)]
    small_logs.write(store, dict(enumerate([[small_logs.PROTOCOL, small_logs.METADATA], *([add] for add in adds)])))
    write_checkpoint(store, 4, [small_logs.PROTOCOL, small_logs.METADATA, *adds[:4]], "classic")
    for version in range(3):
        store.delete(commit_name(version))
    assert _spans(explorer.Table(store)) == [(0, 3, "log gone"), (4, 5, "readable")]


def test_the_states_are_those_that_retention_tells() -> None:
    table = written(loaded("0.parquet"), *_replaced(9 * DAY, 8 * DAY, HOUR))
    told = table.retention(NOW)
    missing = frozenset(f"{n}.parquet" for n in range(4))
    states = _risks(table).at(NOW_MS, missing)
    assert told.column("status").to_pylist() == [states.state(version) for version in range(5)]


def test_retention_without_a_look_believes_the_record_of_a_vacuum() -> None:
    table = written(loaded("0.parquet"), *_replaced(400 * DAY), *_vacuum(defaultRetentionMillis=str(7 * DAY)))
    told = version_retention(table.history_record(), table.listing, NOW).to_pylist()
    assert [row["status"] for row in told] == ["readable", "data gone", "readable", "readable", "readable"]
    assert told[1]["reason"] == "version 4 records a VACUUM that deleted files of it; its files were not checked"
