"""Times in words in intents: a plan has the time itself, in UTC, whatever words asked for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import InvalidIntent, RequestError
from explorer.core.transaction.intents.named_times import dated
from explorer.core.transaction.intents.records import CleanLog, Restore, SetDescription, Vacuum
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log

NOW = datetime(2026, 11, 29, 15, 30, tzinfo=UTC)  # a Sunday


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("yesterday 18:00", "2026-11-28T18:00:00Z"),
        ("last Monday", "2026-11-23T00:00:00Z"),
        ("7 days ago", "2026-11-22T15:30:00Z"),
        ("2026-11-20", "2026-11-20T00:00:00Z"),
        ("2026-11-20 14:05", "2026-11-20T14:05:00Z"),
        ("20 Nov 2026 6pm Europe/Berlin", "2026-11-20T17:00:00Z"),
    ],
)
def test_an_age_in_words_is_the_moment_of_a_plan(text: str, moment: str) -> None:
    assert dated(Vacuum(older_than=text), NOW) == Vacuum(older_than=moment)
    assert dated(CleanLog(older_than=text), NOW) == CleanLog(older_than=moment)
    assert dated(Restore(timestamp=text), NOW) == Restore(timestamp=moment)


@pytest.mark.parametrize("text", ["7 days", "interval 30 days", "2026-11-20T14:05:00+02:00", "2026-11-20T14:05:00Z"])
def test_intervals_and_exact_times_stay_as_they_are(text: str) -> None:
    assert dated(Vacuum(older_than=text), NOW) == Vacuum(older_than=text)
    assert dated(Vacuum(), NOW) == Vacuum()
    assert dated(SetDescription(description=text), NOW) == SetDescription(description=text)


@pytest.mark.parametrize(
    ("text", "words"), [("soon", "neither an interval"), ("3/4/2026", "is two dates"), ("last week", "is a time range")]
)
def test_what_is_no_age_is_refused_at_its_field(text: str, words: str) -> None:
    with pytest.raises(InvalidIntent, match=words) as caught:
        dated(CleanLog(older_than=text), NOW)
    assert caught.value.field == "olderThan"
    with pytest.raises(RequestError) as refused:
        dated(Restore(timestamp=text), NOW)
    assert refused.value.field == "timestamp"


def test_a_plan_of_a_vacuum_has_the_time_and_not_the_words(tmp_path: Path) -> None:
    table = explorer.open_table(write_log(tmp_path / "t", [[PROTOCOL, metadata({"id": "long"}), add("a", 1)]]))
    plan = table.plan({"kind": "vacuum", "olderThan": "40 days ago"})
    assert isinstance(plan.intent, Vacuum)
    assert plan.intent.older_than is not None
    age = datetime.now(UTC) - datetime.fromisoformat(plan.intent.older_than)
    assert timedelta(days=40) <= age < timedelta(days=40, hours=1)
