"""The strip's lanes: which versions can be read, may be lost or are gone, and where the change feed was recorded."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

import explorer
from explorer.core.protocol.table_properties.registry import FILE_RETENTION, LOG_RETENTION
from explorer.views import TableFacts
from explorer.views.table.lanes import feed_lane, retention_lanes, spans_of
from tests.support.shared_tables import reference_root


def _retention(rows: list[tuple[str, str | None, int | None]], first: int = 0) -> pa.Table:
    return pa.table(
        {
            "version": pa.array(range(first, first + len(rows)), pa.int64()),
            "status": pa.array([row[0] for row in rows], pa.string()),
            "by": pa.array([row[1] for row in rows], pa.string()),
            "at_risk_from": pa.array([row[2] for row in rows], pa.timestamp("ms", "UTC")),
        }
    )


def test_each_lane_shows_what_its_own_clean_up_does() -> None:
    may = int(datetime(2026, 5, 4, tzinfo=UTC).timestamp() * 1000)
    table = _retention(
        [
            ("log gone", None, None),
            ("data gone", None, None),
            ("at risk", LOG_RETENTION.key, may),
            ("at risk", FILE_RETENTION.key, may),
            ("at risk", FILE_RETENTION.key, may),
            ("readable", FILE_RETENTION.key, may),
            ("readable", None, None),
        ],
        first=10,
    )
    log, data = retention_lanes(table)
    assert [(span.first, span.last, span.state) for span in log.spans] == [
        (10, 10, "gone"), (11, 11, "readable"), (12, 12, "at risk"), (13, 16, "readable"),
    ]  # fmt: skip
    assert [(span.first, span.last, span.state) for span in data.spans] == [
        (10, 11, "gone"), (12, 12, "readable"), (13, 14, "at risk"), (15, 16, "readable"),
    ]  # fmt: skip
    assert data.spans[-1].label == "readable at least until 4 May 2026"
    assert data.spans[2].label == "dies at the next vacuum"


@pytest.mark.reference
def test_a_table_whose_files_were_removed_long_ago_is_at_risk_from_the_log_alone() -> None:
    facts = TableFacts(explorer.open_table(str(reference_root() / "tables" / "optimize")))
    states = {version: span.state for span in facts.lanes()[1].spans for version in range(span.first, span.last + 1)}
    later = facts.log.retention(datetime.now(UTC))
    plain = dict(zip(later.column("version").to_pylist(), later.column("status").to_pylist(), strict=True))
    by = dict(zip(later.column("version").to_pylist(), later.column("by").to_pylist(), strict=True))
    assert {version for version, state in states.items() if state == "at risk"} == {
        version for version, status in plain.items() if status == "at risk" and by[version] == FILE_RETENTION.key
    }


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
