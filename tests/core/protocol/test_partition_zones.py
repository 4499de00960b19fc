"""Partition values that are moments and say no zone: read in a zone that can be chosen, and the doubt is shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest

import explorer
from explorer.core.errors import CorruptTable, RequestError
from explorer.core.protocol.actions import Action, Add
from explorer.core.protocol.partition_values import ZoneWarning, parse_partition_value
from explorer.core.protocol.schema.data_types import PrimitiveType
from explorer.storage import open_store
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write

TIMESTAMP = PrimitiveType("timestamp")
BERLIN = ZoneInfo("Europe/Berlin")


def _partitioned(folder: Path, kind: str, *values: str | None) -> Path:
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "at", "type": kind, "nullable": True, "metadata": {}},
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    metadata = msgspec.structs.replace(METADATA, schema_string=schema, partition_columns=("at",))
    files: list[Add] = [
        msgspec.structs.replace(add(f"f{place}"), partition_values={"at": value}) for place, value in enumerate(values)
    ]
    start: list[Action] = [PROTOCOL, metadata]
    write(open_store(folder), {0: start + files})
    return folder


@pytest.mark.conformance("PART-008")
def test_one_log_under_two_zones_gives_two_instants(tmp_path: Path) -> None:
    folder = _partitioned(tmp_path, "timestamp", "2026-07-01 12:00:00", "2026-01-01 12:00:00.5", None)
    lows = {}
    for zone in ("UTC", "Europe/Berlin"):
        snapshot = explorer.open_table(folder, time_zone=zone).snapshot()
        lows[zone] = snapshot.column_ranges("at").column("min").to_pylist()
    assert lows["UTC"] == [
        datetime(2026, 7, 1, 12, tzinfo=UTC),
        datetime(2026, 1, 1, 12, 0, 0, 500_000, tzinfo=UTC),
        None,
    ]
    assert lows["Europe/Berlin"] == [
        datetime(2026, 7, 1, 10, tzinfo=UTC),
        datetime(2026, 1, 1, 11, 0, 0, 500_000, tzinfo=UTC),
        None,
    ]


@pytest.mark.conformance("PART-008")
def test_skipping_goes_by_the_chosen_zone(tmp_path: Path) -> None:
    folder = _partitioned(tmp_path, "timestamp", "2026-07-01 12:00:00")
    where = "at < TIMESTAMP '2026-07-01 11:00:00Z'"
    for zone, kept in ((UTC, 0), (BERLIN, 1)):
        found = explorer.open_table(folder, time_zone=zone).snapshot().skipping(where)
        assert found.files.column("kept").to_pylist().count(True) == kept


@pytest.mark.conformance("PART-008")
def test_the_doubt_is_told_with_the_zone_that_was_assumed(tmp_path: Path) -> None:
    values = ("2026-07-01 12:00:00", "2026-07-01T12:00:00.000000Z", "2026-07-01 12:00:00+02:00", "", None, "2026-07-02")
    folder = _partitioned(tmp_path, "timestamp", *values)
    assert explorer.open_table(folder).snapshot().zone_doubts() == (ZoneWarning("at", "UTC", 2, "2026-07-01 12:00:00"),)
    assert explorer.open_table(folder, time_zone="Asia/Kolkata").snapshot().zone_doubts()[0].zone == "Asia/Kolkata"


@pytest.mark.conformance("PART-008")
@pytest.mark.parametrize(
    ("kind", "value"),
    [("timestamp", "2026-07-01T12:00:00.000000Z"), ("timestamp_ntz", "2026-07-01 12:00:00"), ("date", "2026-07-01")],
)
def test_values_that_need_no_zone_raise_no_doubt_and_do_not_move(tmp_path: Path, kind: str, value: str) -> None:
    folder = _partitioned(tmp_path, kind, value)
    there, here = (explorer.open_table(folder, time_zone=zone).snapshot() for zone in ("America/Lima", "UTC"))
    assert there.zone_doubts() == ()
    assert there.statistics(["at"]).equals(here.statistics(["at"]))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        # Clocks go back at 3:00: 2:30 comes twice.
        ("2026-10-25 02:30:00", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        # Clocks go from 2:00 to 3:00: there is no 2:30.
        ("2026-03-29 02:30:00", datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
    ],
)
def test_times_that_come_twice_or_never_are_taken_as_the_jvm_takes_them(text: str, moment: datetime) -> None:
    assert parse_partition_value(text, TIMESTAMP, "at", BERLIN) == moment


def test_a_moment_that_its_zone_takes_out_of_the_calendar_is_refused() -> None:
    with pytest.raises(CorruptTable, match="0001-01-01 00:00:00"):
        parse_partition_value("0001-01-01 00:00:00", TIMESTAMP, "at", ZoneInfo("Asia/Kolkata"))


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", "\0"])
def test_a_zone_that_does_not_exist_is_refused(tmp_path: Path, zone: str) -> None:
    with pytest.raises(RequestError, match="Unknown time zone"):
        explorer.open_table(_partitioned(tmp_path, "timestamp"), time_zone=zone)


@pytest.mark.conformance("META-011")
def test_properties_of_every_name_are_listed_as_they_stand(tmp_path: Path) -> None:
    written = {
        "delta.logRetentionDuration": "interval 30 days",
        "delta.deletedFileRetentionDuration": "interval 1 week",
        "delta.checkpointInterval": "10",
        "delta.dataSkippingNumIndexedCols": "32",
        "delta.checkpointPolicy": "classic",
        "delta.randomizeFilePrefixes": "false",
        "delta.madeUpTomorrow": "yes",
        "team": "sales",
    }
    metadata = msgspec.structs.replace(METADATA, configuration=written)
    store = open_store(tmp_path)
    write(store, {0: (PROTOCOL, metadata), 1: (msgspec.structs.replace(metadata, name="orders"),)})
    found = explorer.Table(store)
    assert found.snapshot().properties == found.snapshot(0).properties == written
    assert found.diff(0, 1).properties == ()
