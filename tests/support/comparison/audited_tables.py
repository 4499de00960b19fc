"""Tables that show what a rule looks for, written commit by commit, and a clean one that shows nothing."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import explorer
from explorer.core.protocol.actions import Protocol
from tests.support.logs import small_logs
from tests.support.logs.small_logs import Line

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
    metadata = small_logs.metadata({"id": "long", "day": "string"}, partition_columns, properties)
    created: list[Line] = [small_logs.commit_info("CREATE TABLE"), protocol, metadata]
    return small_logs.table(dict(enumerate([created, *commits])))


def loaded(name: str, records: int | None = 1_000, *, operation: str = "WRITE", size: int = 500_000_000) -> list[Line]:
    """A commit that adds a file."""
    return [small_logs.commit_info(operation, user_name="etl"), small_logs.add(name, records, size=size)]


def clean() -> explorer.Table:
    """A table of the protocol that every client reads, loaded three times."""
    return written(*(loaded(f"{n}.parquet") for n in range(3)))


TIMED = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp",))
_CLOCK = {"delta.enableInCommitTimestamps": "true"}


def committed(before: int, operation: str = "WRITE", user: str = "etl", **more: Any) -> Line:
    """Provenance of a commit at some time before the present, ms, which in-commit timestamps make its time."""
    return small_logs.commit_info(
        operation, user_name=user, in_commit_timestamp=ago(before), timestamp=ago(before), **more
    )


def described(columns: Mapping[str, str] | None = None, properties: Mapping[str, str] | None = None) -> Line:
    """Metadata of a table whose commits carry their times."""
    return small_logs.metadata(columns or {"id": "long", "day": "string"}, (), {**_CLOCK, **(properties or {})})


def timed(commits: Sequence[Sequence[Line]]) -> explorer.Table:
    """A table whose commits have the times that they state."""
    return small_logs.table(dict(enumerate(timed_log(commits))))


def timed_log(commits: Sequence[Sequence[Line]]) -> list[Sequence[Line]]:
    """The commits of such a table."""
    created: list[Line] = [committed(900 * DAY, "CREATE TABLE", "admin"), TIMED, described()]
    return [created, *commits]
