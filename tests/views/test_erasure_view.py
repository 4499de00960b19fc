"""What a person sees of an erasure's proof: places, bars, steps, dates, and the list of files."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pytest

from explorer.auditing.erasure import Erasure, ErasureStep
from explorer.auditing.erasure.proof import Basis, MatchedPlace, State
from explorer.auditing.erasure.stored_files import StoredFiles
from explorer.auditing.erasure.traces import Trace
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.file_search import SearchResult
from explorer.views.erasure_view import ErasureView, erasure_view, place_listing
from tests.support.at_least_one import at_least_one

NOW: Final = datetime(2026, 11, 22, 9, tzinfo=UTC)
MONTH: Final = 30
DELETE: Final = ErasureStep({"kind": "delete", "where": "id = 1"}, None, None, "why", 38)
PURGE: Final = ErasureStep({"kind": "purge", "where": "id = 1"}, None, None, "why")
AGAIN: Final = ErasureStep(None, "delta-explorer erasure t", None, "why")


def _time(days: float) -> int:
    return milliseconds(NOW + timedelta(days=days))


def _vacuum(days: float) -> ErasureStep:
    return ErasureStep({"kind": "vacuum"}, None, _time(days), "why")


def _place(path: str, state: State, days: float | None, **values: Any) -> MatchedPlace:
    kept_by = "" if days is not None else "it lies outside"
    known: dict[str, Any] = {"rows": 1, "size": 10, "from_version": 0, "to_version": 1}
    gone = None if days is None else _time(days)
    return MatchedPlace(path=path, state=state, gone_from=gone, kept_by=kept_by, **(known | values))


def _proof(*places: MatchedPlace, steps: tuple[ErasureStep, ...] = (), traces: tuple[Trace, ...] = ()) -> Erasure:
    files = StoredFiles(pa.table({"key": ["a"]}), (), 0, (), MONTH * 86_400_000)
    read = SearchResult(pa.table({"key": ["a"], "rows": [5], "digest": ["0"]}), pa.table({"key": ["a"]}), {})
    basis = Basis(
        table="t",
        table_id="t",
        version=3,
        now=milliseconds(NOW),
        chain_head=None,
        program="0",
        stored=files,
        results=read,
    )
    return Erasure(
        basis=basis,
        where="id = 1",
        places=places,
        traces=traces,
        log_files=1,
        not_answered=(),
        not_read=(),
        other_tables=(),
        steps=steps,
    )


def _bars(view: ErasureView) -> list[tuple[str, list[tuple[float, str, str]]]]:
    return [(line.state, [(round(bar.share, 2), bar.words, bar.form) for bar in line.bars]) for line in view.places]


def test_files_of_a_day_share_a_bar_and_a_step_comes_before_the_wait() -> None:
    view = erasure_view(
        _proof(
            _place("l1", "live", MONTH, rows=36),
            _place("l2", "live", MONTH, rows=2),
            _place("m", "masked", MONTH),
            _place("h1", "history", 3),
            _place("h2", "history", 3.1),
            _place("h3", "history", 15),
            _place("h4", "history", -4),
            _place("o", "orphan", None),
            steps=(DELETE, PURGE, _vacuum(MONTH), AGAIN),
        )
    )
    assert [(step.title, step.not_before, step.waits) for step in view.steps] == [
        ("Delete rows", "", False),
        ("Purge masked rows", "", False),
        ("Delete unused files", "22 Dec 2026", True),
        ("Search again", "", False),
    ]
    assert _bars(view) == [
        ("live", [(1.0, "deleted, files wait 30 days", "plain")]),
        ("masked", [(1.0, "purged, its file waits 30 days", "plain")]),
        (
            "history",
            [(0.0, "1 file, with the next vacuum", "plain"), (0.1, "2 files", "plain"), (0.5, "1 file", "plain")],
        ),
        ("feed", [(1.0, "+38 written by step 2", "planned")]),
        ("orphan", [(1.0, "1 file, stays", "stays")]),
    ]
    assert [(mark.share, mark.numbers, mark.words) for mark in view.marks] == [
        (0.0, "2 \u00b7 3", "today: Delete rows, Purge masked rows"),
        (1.0, "4", "22 Dec: Delete unused files"),
    ]
    assert [(tick.share, tick.text) for tick in view.ticks if tick.text] == [
        (0.0, "today"),
        (0.5, "7 Dec"),
        (1.0, "22 Dec"),
    ]
    feed = next(line for line in view.places if line.state == "feed")
    assert (feed.rows, feed.files, feed.gone, feed.what) == (0, 0, "22 Dec 2026", "nothing recorded yet")
    assert feed.why == "step 2 writes 38 rows more: the delete itself is recorded"
    assert next(line.gone for line in view.places if line.state == "orphan") == "stays"


def test_a_file_with_rows_of_two_places_counts_once_and_is_said() -> None:
    view = erasure_view(_proof(_place("a", "live", MONTH), _place("a", "masked", MONTH), _place("b", "live", MONTH)))
    assert (view.copies, view.files, view.overlap) == (3, 2, "1 holds live rows and masked rows")
    assert erasure_view(_proof(_place("a", "live", 1), _place("b", "masked", 1))).overlap == ""


def test_the_due_date_is_held_against_files_and_log_each_by_itself() -> None:
    trace = Trace("_delta_log/1.json", 1, "predicate", "", "id = 1", 1, _time(50))
    view = erasure_view(_proof(_place("a", "live", MONTH), traces=(trace,)), date(2026, 12, 6))
    due = view.due
    assert due is not None
    # The file goes on 22 December at 9, the log on 11 January; the due day ends 14 days and 15 hours after the search.
    assert (due.day, due.gone, due.late) == ("6 Dec 2026", "22 Dec 2026", 16)
    assert (due.logged, due.log_late, due.fitting) == ("11 Jan 2027", 36, 14)
    assert [(round(tick.share, 2), tick.text, tick.tone) for tick in view.ticks if tick.tone] == [
        (0.49, "due 6 Dec", "danger")
    ]
    assert _bars(view)[-1] == ("log", [(1.0, "1 log file", "beyond")])


@pytest.mark.parametrize(
    ("days", "due", "late", "fitting", "tone"),
    [
        (MONTH, date(2027, 1, 31), 0, None, "ok"),
        (MONTH, date(2026, 11, 1), 51, None, None),
        (MONTH, date(2036, 1, 1), 0, None, None),
        (None, date(2026, 12, 6), None, None, None),
    ],
)
def test_a_due_date_that_cannot_be_drawn_or_kept_is_only_said(
    days: float | None, due: date, late: int | None, fitting: int | None, tone: str | None
) -> None:
    view = erasure_view(_proof(_place("a", "live", days)), due)
    assert view.due is not None
    assert (view.due.late, view.due.fitting) == (late, fitting)
    assert [tick.tone for tick in view.ticks if tick.tone] == ([] if tone is None else [tone])


def test_many_days_are_drawn_together_and_no_bar_ends_before_its_last_file() -> None:
    view = erasure_view(_proof(*(_place(f"f{day:02}", "history", day + 1) for day in range(23))))
    (line,) = view.places
    assert len(line.bars) == 5
    assert line.bars[-1].share == 1.0
    assert line.bars[0].share == pytest.approx(5 / 23)
    assert sum(int(bar.words.split()[0]) for bar in at_least_one(line.bars)) == 23
    shown = [tick.share for tick in view.ticks if tick.text]
    assert all(later - earlier >= 0.15 for earlier, later in pairwise(shown))


def test_nothing_found_draws_nothing() -> None:
    view = erasure_view(_proof())
    assert (view.places, view.copies, view.marks, view.due) == ((), 0, (), None)


def test_files_are_ordered_by_the_time_from_which_they_can_be_gone() -> None:
    listing = place_listing([_place("b", "history", 2), _place("a", "history", 40)])
    rows = listing.arranged(sort="gone").paged().rows
    assert [row["path"] for row in rows] == ["b", "a"]
    assert "why it stays" not in [column.title for column in listing.columns]


def test_files_are_ordered_by_versions_as_numbers() -> None:
    ends: tuple[tuple[str, int, int | None], ...] = (("nine", 9, 12), ("ten", 10, None), ("two", 2, 100))
    listing = place_listing([_place(path, "history", 1, from_version=a, to_version=b) for path, a, b in ends])
    order = {
        key: [row["path"] for row in listing.arranged(sort=key).paged().rows] for key in ("from_version", "to_version")
    }
    assert order == {"from_version": ["two", "nine", "ten"], "to_version": ["nine", "two", "ten"]}


def test_a_file_that_stays_says_why() -> None:
    listing = place_listing([_place("a", "history", None), _place("b", "history", 1)])
    shown = [[column.text(row[column.key]) for column in listing.columns] for row in listing.paged().rows]
    assert shown[0][-2:] == ["stays", "it lies outside"]
    assert shown[1][-1] == ""
