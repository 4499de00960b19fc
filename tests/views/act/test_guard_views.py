"""Guards as a person reads them: the gravest first, their evidence as facts and tables, counts and a verdict."""

import pytest

from explorer.core.transaction.proposal import GuardResult, GuardStatus
from explorer.views.act.guard_views import guard_counts, guard_views, verdict
from tests.support.logs.small_plans import plan_with


def test_guards_come_gravest_first_with_records_as_tables() -> None:
    rows = [{"file": "a", "rowIndex": n, "row": {"id": None, "v": "<b>"}} for n in range(11)]
    guards = guard_views(
        plan_with(
            GuardResult("one", "pass", {"detail": "Fine.", "nothing": None, "files": 12_000}),
            GuardResult("two", "warn", {"detail": "Look."}, "Read it."),
            GuardResult("three", "unknown", {}),
            GuardResult(
                "four", "fail", {"detail": "Broken.", "examples": rows, "names": list("abcdefghij")}, "Mend it."
            ),
            accepted=("three",),
        )
    )
    assert [(guard.name, guard.sign, guard.blocks) for guard in guards] == [
        ("four", "\u00d7", True), ("three", "?", False), ("two", "!", False), ("one", "\u2713", False),
    ]  # fmt: skip
    (examples,) = guards[0].tables
    assert examples.columns == ("file", "rowIndex", "id", "v")
    assert (examples.rows[1], examples.more) == (("a", "1", "null", "<b>"), 3)
    assert guards[0].facts == (("names", "a, b, c, d, e, f, g, h and 2 more"),)
    assert (guards[1].accepted, guards[1].sentence) == (True, "Three")
    assert guards[3].facts == (("files", "12,000"),)


def test_evidence_is_named_in_words_and_times_have_their_zone() -> None:
    evidence = {
        "detail": "Look.", "rowsGone": 35_932, "numMissing": 2, "highWaterMark": 7, "delta.appendOnly": "true",
        "cutoff": "2026-11-18T12:14:57+00:00", "named": "2026-11-18 at noon",
    }  # fmt: skip
    (guard,) = guard_views(plan_with(GuardResult("one", "warn", evidence)))
    assert guard.facts == (
        ("rows gone", "35,932"), ("missing", "2"), ("highWaterMark", "7"), ("delta.appendOnly", "true"),
        ("cutoff", "Wed 18 Nov 2026 12:14:57 UTC"), ("named", "2026-11-18 at noon"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("statuses", "words"),
    [
        (["pass", "fail", "pass"], "1 failed, 2 passed"),
        (["warn", "unknown", "fail", "warn"], "1 failed, 1 unknown, 2 warnings"),
        (["pass", "warn"], "1 warning, 1 passed"),
        (["pass", "pass"], "all 2 passed"),
        (["pass"], "1 passed"),
        ([], ""),
    ],
)
def test_guards_are_counted_by_how_they_ended(statuses: list[GuardStatus], words: str) -> None:
    guards = tuple(GuardResult(str(number), status, {}) for number, status in enumerate(statuses))
    assert guard_counts(guard_views(plan_with(*guards))) == words


@pytest.mark.parametrize(("warnings", "words"), [(1, "Read the warning first."), (2, "Read the 2 warnings first.")])
def test_every_warning_is_to_be_read(warnings: int, words: str) -> None:
    plan = plan_with(*(GuardResult(str(number), "warn", {"detail": "Look."}) for number in range(warnings)))
    assert verdict(plan, guard_views(plan))[0].endswith(words)
