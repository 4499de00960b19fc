"""What a horizon says of one retention: the table's own, another, one that is none, and the dates of each version."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import Protocol
from explorer.core.versions.retention.horizon import Horizon, horizon
from explorer.core.versions.retention.version_states import VersionRisks
from tests.support.comparison.audited_tables import DAY, NOW, ago, loaded, written
from tests.support.logs import small_logs

FEED = {"delta.enableChangeDataFeed": "true"}


def _replaced(place: int, age: int, **properties: str) -> list[Any]:
    changed = [small_logs.metadata({"id": "long", "day": "string"}, (), properties)] if properties else []
    return [
        small_logs.commit_info("WRITE"),
        *changed,
        small_logs.remove(f"{place}.parquet", deletion_timestamp=ago(age)),
        small_logs.add(f"{place + 1}.parquet"),
    ]


def _horizon(table: explorer.Table) -> Horizon:
    history = table.history_record()
    return horizon(history, VersionRisks(history, table.listing), NOW)


def _table() -> explorer.Table:
    """Versions 1 to 4 with data, of which 3 and 4 are in the change feed; their files left 20, 10 and 2 days ago."""
    on = {"delta.deletedFileRetentionDuration": "interval 5 days", **FEED}
    commits = loaded("0.parquet"), _replaced(0, 20 * DAY), _replaced(1, 10 * DAY, **on), _replaced(2, 2 * DAY)
    return written(*commits, protocol=Protocol(min_reader_version=1, min_writer_version=4))


def test_the_retention_of_the_table_is_that_of_its_newest_version() -> None:
    found = _horizon(_table())
    own = found.what_if()
    assert found.retention == own.retention == 5 * DAY
    assert (own.kept, own.feed_kept, own.versions, own.feed_versions) == (3, 1, ((1, 2),), ((3, 3),))
    assert (own.files, own.bytes, own.sizes_unknown) == (2, 500_000_100, 0)
    longer = found.what_if(15 * DAY)
    assert (longer.retention, longer.kept, longer.versions, longer.files) == (15 * DAY, 4, ((1, 1),), 1)
    none = found.what_if(0)
    assert (none.retention, none.kept, none.versions, none.feed_versions) == (0, 2, ((1, 3),), ((3, 4),))


def test_each_version_has_the_date_from_which_it_and_its_changes_can_be_lost() -> None:
    dates = _horizon(_table()).what_if().dates
    assert dates.schema == pa.schema(
        [
            ("version", pa.int64()),
            ("lost_from", pa.timestamp("ms", "UTC")),
            ("gone", pa.bool_()),
            ("feed_lost_from", pa.timestamp("ms", "UTC")),
            ("feed_gone", pa.bool_()),
        ]
    )
    assert dates.column("version").to_pylist() == [0, 1, 2, 3, 4]
    day = [None, ago(15 * DAY), ago(5 * DAY), ago(-3 * DAY), None]
    moments = [None if each is None else datetime.fromtimestamp(each / 1000, UTC) for each in day]
    assert dates.column("lost_from").to_pylist() == moments
    assert dates.column("gone").to_pylist() == [False] * 5
    assert dates.column("feed_gone").to_pylist() == [None, None, None, False, False]


def test_a_negative_retention_is_refused_by_name() -> None:
    with pytest.raises(RequestError, match="as -1 ms is") as error:
        _horizon(_table()).what_if(-1)
    assert error.value.field == "retention"


def test_the_curves_are_columns_of_whole_numbers() -> None:
    found = _horizon(_table())
    table = found.table()
    assert table.schema == pa.schema(
        [(name, pa.int64()) for name in ("retention", "versions", "feed_versions", "files", "bytes")]
    )
    assert table.column("retention").to_pylist() == found.retentions.tolist()
    assert table.column("versions").to_pylist()[0] == 2
    assert table.column("versions").to_pylist()[-1] == 5
