"""What the erasure desk shows of a proof."""

from __future__ import annotations

from datetime import UTC, datetime

from explorer.auditing.erasure.proof import Place
from explorer.core.protocol.times import milliseconds
from explorer.views.erasure_desk import place_listing


def _place(path: str, gone: datetime | None, kept_by: str = "") -> Place:
    return Place(path, "history", 1, 10, 0, 1, None if gone is None else milliseconds(gone), kept_by)


def test_files_are_ordered_by_the_time_from_which_they_can_be_gone() -> None:
    places = [_place("b", datetime(2026, 10, 2, tzinfo=UTC)), _place("a", datetime(2026, 11, 18, tzinfo=UTC))]
    listing = place_listing(places)
    rows = listing.arranged(sort="gone").paged().rows
    assert [row["path"] for row in rows] == ["b", "a"]
    assert "why it stays" not in [column.title for column in listing.columns]


def test_a_file_that_stays_says_why() -> None:
    listing = place_listing([_place("a", None, "it lies outside of the table"), _place("b", datetime.now(UTC))])
    shown = [[column.text(row[column.key]) for column in listing.columns] for row in listing.paged().rows]
    assert shown[0][-2:] == ["stays", "it lies outside of the table"]
    assert shown[1][-1] == ""
