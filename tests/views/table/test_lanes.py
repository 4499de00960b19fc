"""The strip's lanes: which versions can be read, may be lost or are gone, and where the change feed was recorded."""

import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import explorer
from explorer.core.versions.retention.expiry import FOREVER, UNTIMED
from explorer.core.versions.retention.version_states import STATES, VersionState, VersionStates
from explorer.storage import open_store
from explorer.views import TableFacts
from explorer.views.table.lanes import feed_lane, retention_lanes, spans_of
from tests.support.at_least_one import at_least_one
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, remove, write
from tests.support.shared_tables import reference_root


def _states(
    rows: list[tuple[VersionState, bool, int]], first: int = 0, laters: list[int | None] | None = None
) -> VersionStates:
    """Versions with their state, whether their data decides, when they may be lost, and when otherwise, if that is
    due too."""
    count = len(rows)
    return VersionStates(
        first=first,
        readable_from=first,
        codes=np.array([STATES.index(row[0]) for row in rows], np.int8),
        since=np.array([row[2] for row in rows], np.int64),
        by_data=np.array([row[1] for row in rows]),
        later=np.array([FOREVER if later is None else later for later in laters or [None] * count], np.int64),
        both=np.array([later is not None for later in laters or [None] * count]),
        vacuums=np.full(count, -1),
        unfinished=np.full(count, -1),
        lacking=np.full(count, -1),
        checked=False,
    )


def test_each_lane_shows_what_its_own_clean_up_does() -> None:
    may = int(datetime(2026, 5, 4, tzinfo=UTC).timestamp() * 1000)
    states = _states(
        [
            ("log gone", False, FOREVER),
            ("data gone", True, FOREVER),
            ("at risk", False, may),
            ("at risk", True, may),
            ("at risk", True, may),
            ("readable", True, may),
            ("readable", True, FOREVER),
        ],
        first=10,
    )
    log, data = retention_lanes(states)
    assert [(span.first, span.last, span.state) for span in log.spans] == [
        (10, 10, "gone"), (11, 11, "readable"), (12, 12, "at risk"), (13, 16, "readable"),
    ]  # fmt: skip
    assert [(span.first, span.last, span.state) for span in data.spans] == [
        (10, 11, "gone"), (12, 12, "readable"), (13, 14, "at risk"), (15, 16, "readable"),
    ]  # fmt: skip
    assert data.spans[-1].label == "readable at least until 4 May 2026"
    assert data.spans[2].label == "the next vacuum may delete it"


def test_where_vacuum_and_log_cleanup_are_both_due_both_lanes_name_them_the_earlier_first() -> None:
    early, late = (int(datetime(2026, 5, day, tzinfo=UTC).timestamp() * 1000) for day in (4, 9))
    rows: list[tuple[VersionState, bool, int]] = [
        ("at risk", True, early), ("at risk", False, early), ("at risk", True, UNTIMED), ("at risk", True, early),
    ]  # fmt: skip
    log, data = retention_lanes(_states(rows, laters=[late, late, late, None]))
    both = [
        "a vacuum may delete it since 4 May 2026, a log cleanup since 9 May 2026",
        "a log cleanup may delete it since 4 May 2026, a vacuum since 9 May 2026",
        "a vacuum may delete it at any time, a log cleanup since 9 May 2026",
    ]
    assert [(span.label, span.state) for span in data.spans] == [
        *((label, "at risk") for label in both), ("the next vacuum may delete it", "at risk"),
    ]  # fmt: skip
    assert [(span.label, span.state) for span in log.spans[:3]] == [(label, "at risk") for label in both]
    assert log.spans[3].state == "readable"


def test_a_table_whose_vacuum_and_log_cleanup_are_both_due_says_both(tmp_path: Path) -> None:
    day = 86_400_000
    now = int(datetime.now(UTC).timestamp() * 1000)
    store = open_store(tmp_path / "t")
    removed = remove("a", deletion_timestamp=now - 59 * day)
    write(store, {0: [PROTOCOL, METADATA, add("a")], 1: [removed], 2: [add("b")], 3: [add("c")]})
    write_checkpoint(store, 2, (PROTOCOL, METADATA, add("b")), "classic")
    for version, age in ((0, 60), (1, 59), (2, 58), (3, 1)):
        for path in (tmp_path / "t" / "_delta_log").glob(f"{version:020d}.*"):
            os.utime(path, (now / 1000 - age * 86_400,) * 2)
    log, data = TableFacts(explorer.open_table(tmp_path / "t")).lanes()[:2]
    assert log.spans[0].state == data.spans[0].state == "at risk"
    assert log.spans[0].label == data.spans[0].label
    assert "a vacuum" in data.spans[0].label
    assert "a log cleanup" in data.spans[0].label


def test_versions_that_are_kept_past_the_calendar_say_so() -> None:
    log, data = retention_lanes(_states([("readable", False, 10**15), ("readable", False, 10**15 + 1)]))
    assert [span.label for span in (*log.spans, *data.spans)] == ["readable past the year 9999", ""]


@pytest.mark.reference
def test_the_lanes_of_a_table_are_its_states() -> None:
    facts = TableFacts(explorer.open_table(str(reference_root() / "tables" / "optimize")))
    shown = {v: span.state for span in facts.lanes()[1].spans for v in range(span.first, span.last + 1)}
    states = facts.states()
    for version, state in at_least_one(shown.items()):
        decides = bool(states.by_data[version - states.first])
        assert (state == "at risk") == (states.state(version) == "at risk" and decides)


def test_a_feed_that_was_switched_off_has_a_hole_and_one_that_began_late_none_before() -> None:
    versions = np.arange(10)
    lane = feed_lane(versions, np.array([0, 0, 1, 1, 0, 0, 0, 1, 1, 1], bool))
    assert lane is not None
    assert [(span.first, span.last, span.state) for span in lane.spans] == [
        (0, 1, "gone"), (2, 3, "recorded"), (4, 6, "hole"), (7, 9, "recorded"),
    ]  # fmt: skip
    assert feed_lane(versions, np.zeros(10, bool)) is None


def test_runs_end_where_a_version_is_missing() -> None:
    assert spans_of(np.array([3, 4, 6, 7]), np.array([1, 1, 1, 0])) == [(3, 4, 1), (6, 6, 1), (7, 7, 0)]
