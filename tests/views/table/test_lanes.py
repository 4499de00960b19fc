"""The strip's lanes: which versions can be read, may be lost or are gone, and where the change feed was recorded."""

from datetime import UTC, datetime

import numpy as np
import pytest

import explorer
from explorer.core.versions.retention.expiry import FOREVER
from explorer.core.versions.retention.version_states import STATES, VersionState, VersionStates
from explorer.views import TableFacts
from explorer.views.table.lanes import feed_lane, retention_lanes, spans_of
from tests.support.at_least_one import at_least_one
from tests.support.shared_tables import reference_root


def _states(rows: list[tuple[VersionState, bool, int]], first: int = 0) -> VersionStates:
    """Versions with their state, whether their data decides, and when they may be lost."""
    count = len(rows)
    return VersionStates(
        first=first,
        readable_from=first,
        codes=np.array([STATES.index(row[0]) for row in rows], np.int8),
        since=np.array([row[2] for row in rows], np.int64),
        by_data=np.array([row[1] for row in rows]),
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
    assert data.spans[2].label == "the next vacuum may take it"


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
