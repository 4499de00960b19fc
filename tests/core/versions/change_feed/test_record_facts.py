"""What is said of a record at its edges: times to the instant, holes to the version, what is not known as not known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from explorer.core.errors import ChangeFeedGap, CorruptTable
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.versions.change_feed.feed import ChangeSources, FeedGap, change_feed_gaps, change_sources
from explorer.core.versions.record_search import EntryFilter, matching_entries
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, metadata, remove, table

FEED = Protocol(min_reader_version=1, min_writer_version=4)
ON, OFF = (
    Metadata(id="m", schema_string=METADATA.schema_string, configuration={"delta.enableChangeDataFeed": value})
    for value in ("true", "false")
)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PARIS = timezone(timedelta(hours=1))


def _entries(*times: datetime | None) -> pa.Table:
    return pa.table(
        {
            "timestamp": pa.array(times, pa.timestamp("ms", "UTC")),
            "user_name": [f"user {place}" for place in range(len(times))],
            "operation": ["WRITE"] * len(times),
        }
    )


MOMENT = timedelta(milliseconds=1)
TIMES = (NOON - MOMENT, NOON, NOON + MOMENT, None)


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ({}, [0, 1, 2, 3]),
        ({"since": NOON}, [1, 2]),
        ({"since": NOON.astimezone(PARIS)}, [1, 2]),
        ({"since": NOON + MOMENT}, [2]),
        ({"until": NOON}, [0]),
        ({"until": NOON.astimezone(PARIS)}, [0]),
        ({"until": NOON + MOMENT}, [0, 1]),
        ({"since": NOON, "until": NOON + MOMENT}, [1]),
        ({"since": NOON, "until": NOON}, []),
        ({"since": NOON + MOMENT, "until": NOON}, []),
    ],
)
def test_entries_are_found_from_a_time_on_and_before_another(wanted: dict[str, Any], places: list[int]) -> None:
    found = matching_entries(_entries(*TIMES), EntryFilter(**wanted), ())
    assert found.column("user_name").to_pylist() == [f"user {place}" for place in places]


def _feeds(*on: bool) -> dict[int, list[Any]]:
    """A table whose feed is on in some versions; each adds a file."""
    commits: dict[int, list[Any]] = {0: [FEED]}
    for version, is_on in enumerate(on):
        commits.setdefault(version, []).extend([ON if is_on else OFF, add(f"f{version}")])
    return commits


@pytest.mark.parametrize(
    ("on", "first", "last", "holes"),
    [
        ("1", 0, 0, []),
        ("0", 0, 0, [(0, 0)]),
        ("10", 0, 1, [(1, 1)]),
        ("01", 0, 1, [(0, 0)]),
        ("01", 0, 0, [(0, 0)]),
        ("01", 1, 1, []),
        ("0110", 0, 3, [(0, 0), (3, 3)]),
        ("1001", 0, 3, [(1, 2)]),
        ("1001", 1, 3, [(1, 2)]),
        ("1001", 2, 3, [(2, 2)]),
        ("1001", 2, 2, [(2, 2)]),
        ("10101", 0, 4, [(1, 1), (3, 3)]),
        ("10101", 0, 3, [(1, 1), (3, 3)]),
        ("000", 1, 2, [(1, 2)]),
    ],
)
def test_the_versions_in_which_the_feed_was_off_are_left_out_and_no_other(
    on: str, first: int, last: int, holes: list[tuple[int, int]]
) -> None:
    found = table(_feeds(*(each == "1" for each in on)))
    history, listing = found.history_record(), found.listing
    said = change_feed_gaps(history, first, last)
    detail = "the change feed was off (delta.enableChangeDataFeed was not true)"
    assert said == tuple(FeedGap("off", *span, detail) for span in holes)
    skipped = change_sources(found.store, listing, history, first, last, skip=True)
    gone = {version for start, end in holes for version in range(start, end + 1)}
    kept = [version for version in range(first, last + 1) if version not in gone]
    assert [each.version for each in skipped.versions] == kept
    assert skipped.files.column("path").to_pylist() == [f"f{version}" for version in kept]
    assert (skipped.from_version, skipped.to_version, skipped.skipped) == (first, last, said)
    assert skipped.schema_version == len(on) - 1
    if holes:
        with pytest.raises(ChangeFeedGap) as caught:
            change_sources(found.store, listing, history, first, last)
        assert str(caught.value).startswith(f"The changes of versions {first} to {last} cannot be read: at version")
        assert caught.value.version == holes[0][0]
    else:
        assert change_sources(found.store, listing, history, first, last) == skipped
    inferred = change_sources(found.store, listing, history, first, last, inferred=True)
    assert [each.version for each in inferred.versions] == list(range(first, last + 1))


def test_changes_are_shown_in_the_schema_that_was_asked_for() -> None:
    found = table({0: [FEED, ON, add("a")], 1: [add("b")], 2: [add("c")]})

    def shown(**more: Any) -> ChangeSources:
        return change_sources(found.store, found.listing, found.history_record(), 0, 1, **more)

    assert [shown().schema_version, shown(schema_version=1).schema_version] == [2, 1]


@pytest.mark.parametrize(("size", "records"), [(None, 2), (5, None), (5, 2)])
def test_a_sum_is_not_known_where_a_part_of_it_is_not(size: int | None, records: int | None) -> None:
    snapshot = table({0: [PROTOCOL, METADATA, add("a", 3, size=7), add("b", records, size=size)]}).snapshot()  # type: ignore[arg-type]
    assert snapshot.size_in_bytes == (None if size is None else 12)
    assert snapshot.num_records == (None if records is None else 5)


@pytest.mark.parametrize(
    ("actions", "lacking"), [((METADATA,), "protocol"), ((PROTOCOL,), "metaData"), ((), "protocol")]
)
def test_a_version_without_its_foundations_says_which_is_lacking(actions: tuple[Any, ...], lacking: str) -> None:
    found = table({0: [add("a")], 1: [*actions, add("b")]})
    with pytest.raises(CorruptTable, match=rf"has no {lacking} action up to version 1") as caught:
        found.provenance_record().mapping_mode(1)
    assert caught.value.version == 1


def test_a_lineage_says_how_much_it_is() -> None:
    found = table({0: [PROTOCOL, metadata({"id": "long"})], 1: [metadata({"id": "long", "v": "string"})]})
    assert repr(found.column_lineage()) == "Lineage(2 columns, 0 hazards, versions 0 to 1)"


def test_a_removal_is_in_the_versions_of_its_feed() -> None:
    found = table({0: [FEED, ON, add("a")], 1: [remove("a")], 2: [OFF, add("b")]})
    sources = change_sources(found.store, found.listing, found.history_record(), 0, 2, skip=True)
    rows = sources.files.select(["version", "kind", "path"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [(0, "insert", "a"), (1, "delete", "a")]
