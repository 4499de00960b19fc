"""Tables that show what a rule looks for, written commit by commit, and a clean one that shows nothing."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import explorer
from explorer.core.protocol.actions import Protocol
from tests.support import small_logs
from tests.support.small_logs import Line

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOUR = 3_600_000
DAY = 24 * HOUR


def ago(milliseconds: int) -> int:
    """A time before the present, ms since the epoch."""
    return int(NOW.timestamp()) * 1000 - milliseconds


def written(
    *commits: Sequence[Line],
    properties: Mapping[str, str] | None = None,
    protocol: Protocol = small_logs.PROTOCOL,
    partition_columns: Sequence[str] = (),
) -> explorer.Table:
    """A table that is created and then changed by some commits."""
    described = small_logs.metadata({"id": "long", "day": "string"}, partition_columns, properties)
    created = [small_logs.commit_info("CREATE TABLE"), protocol, described]
    return small_logs.table(dict(enumerate([created, *commits])))


def loaded(name: str, records: int | None = 1_000, *, operation: str = "WRITE", size: int = 500_000_000) -> list[Line]:
    """A commit that adds a file."""
    return [small_logs.commit_info(operation, user_name="etl"), small_logs.add(name, records, size=size)]


def clean() -> explorer.Table:
    """A table of the protocol that every client reads, loaded three times."""
    return written(*(loaded(f"{n}.parquet") for n in range(3)))
