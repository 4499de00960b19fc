"""Intervals that may be written into a table: those that Spark reads too, which stops at any other."""

from __future__ import annotations

import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.table_properties.table_property import Interval
from tests.support.logs import small_logs

KEPT = "delta.deletedFileRetentionDuration"


@pytest.mark.parametrize(
    "text",
    [
        *("interval 7 days", "7 days", " INTERVAL 1 Week 12 hours ", "interval 1 day -2 hours", "interval +3 DAYS"),
        *("interval 1.5 seconds", "interval 0.123456789 second", "interval\t2  weeks"),
    ],
)
def test_an_interval_that_every_client_reads_may_be_set(text: str) -> None:
    assert Interval("k", "").refusal(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        *("interval 7.5 days", "interval 1.5 weeks", "40.5 weeks", "interval 40days", "interval7 days", "1days"),
        *("interval 0.1234567891 seconds", "interval 1.5seconds", "interval 1 day2 hours", "interval"),
    ],
)
def test_an_interval_that_spark_stops_at_is_refused(text: str) -> None:
    assert len(Interval("k", "").refusal(text)) == 1
    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA]})
    with pytest.raises(InvalidIntent, match="interval 7 days"):
        table.plan({"kind": "set-properties", "properties": {KEPT: text}})
