"""The version that a text names: a number is a number, and a time the newest commit at or before it."""

from datetime import UTC, datetime, timedelta

import pytest

import explorer
from explorer.core.errors import RequestError, TimestampOutOfRange
from explorer.core.transaction.intents.records import Restore
from explorer.core.versions.named_version import version_at, version_number
from tests.support.logs import small_logs
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata


def _table() -> explorer.Table:
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})]
    return small_logs.table(
        {0: created, 1: [commit_info("WRITE"), add("a", 1)], 2: [commit_info("WRITE"), add("b", 1)]}
    )


NUMBERS = {
    "12": 12, " v12 ": 12, "V0": 0, "": None, "-1": None, "vv1": None, "1" * 19: None, "yesterday": None, "1.0": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "number"), NUMBERS.items())
def test_digits_are_a_version(text: str, number: int | None) -> None:
    assert version_number(text) == number


def test_a_time_names_the_newest_commit_at_or_before_it_and_a_time_to_come_none() -> None:
    table = _table()
    commits = table.provenance_record()
    first = commits.timestamp(0)
    last = commits.timestamp(2)
    assert first is not None
    assert last is not None
    times = [datetime.fromtimestamp(ms / 1000, UTC) for ms in (first, last)]
    now = times[1] + timedelta(hours=5)
    for moment, version, is_newest in ((times[0], 0, False), (times[1], 2, False), (now - timedelta(hours=1), 2, True)):
        named = version_at(moment.isoformat(), now, table.provenance_record)
        assert (named.version, named.is_newest) == (version, is_newest)
    assert version_at("2 hours ago", now, table.provenance_record).version == 2
    with pytest.raises(TimestampOutOfRange, match=r"is in the future.*the newest is version 2\.$") as refused:
        version_at((now + timedelta(minutes=1)).isoformat(), now, table.provenance_record)
    assert refused.value.nearest == 2
    with pytest.raises(TimestampOutOfRange, match="before the oldest"):
        version_at((times[0] - timedelta(days=400)).isoformat(), now, table.provenance_record)


def test_the_api_takes_a_text_without_a_zone_and_a_plan_keeps_the_time_that_it_meant() -> None:
    table = _table()
    committed = table.provenance_record().timestamp(1)
    assert committed is not None
    text = f"{datetime.fromtimestamp(committed / 1000, UTC):%Y-%m-%d %H:%M:%S.%f}"
    assert table.snapshot(timestamp=text).version == 1
    with pytest.raises(RequestError, match="is not a time") as refused:
        table.snapshot(timestamp="soon")
    assert refused.value.table == table.location
    plan = table.plan({"kind": "restore", "timestamp": text}, check_rows=False)
    assert isinstance(plan.intent, Restore)
    assert plan.intent.timestamp == text.replace(" ", "T") + "Z"
