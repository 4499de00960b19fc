"""A restore says which side of it has an unknown number of rows, also where a file is on both sides."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.logs import small_logs

File = tuple[str, int | None, int]
"""Path, records and how many of them are masked."""


def added(path: str, records: int | None, masked: int) -> Any:
    vector = small_logs.vector(f"{path}-{masked}", masked) if masked else None
    return small_logs.add(path, records, vector=vector)


@pytest.mark.parametrize(
    ("then", "now", "back", "gone"),
    [
        ([("a", 9, 2), ("x", None, 0)], [("a", 9, 9)], None, 0),
        ([("a", 9, 9)], [("a", 9, 2), ("x", None, 0)], 0, None),
        ([("a", 9, 2), ("x", None, 0)], [("a", 9, 5)], None, 0),
        ([("a", 9, 5)], [("a", 9, 2), ("x", None, 0)], 0, None),
        ([("a", 9, 5), ("x", None, 0)], [("a", 9, 2)], None, 3),
        ([("x", None, 3)], [("a", 9, 2), ("x", None, 0)], None, None),
        ([("x", 9, 1)], [("x", None, 3)], 8, None),
        ([("x", None, 3)], [("x", 9, 1)], None, 8),
        ([("a", 9, 2)], [("a", 9, 9)], 7, 0),
        ([("a", 9, 9)], [("a", 9, 2)], 0, 7),
    ],
)
def test_a_file_on_both_sides_is_counted_beside_one_that_does_not_say_its_rows(
    then: list[File], now: list[File], back: int | None, gone: int | None
) -> None:
    first = [added(*file) for file in then]
    taken = [small_logs.remove(file.path, vector=file.deletion_vector) for file in first]
    store = small_logs.new_store()
    for path in ("a", "x"):
        store.put(path, b"x")
    commits = {
        0: [small_logs.MASKED, small_logs.METADATA, *first],
        1: [*taken, *(added(*file) for file in now)],
    }
    plan = small_logs.table(commits, store).plan({"kind": "restore", "version": 0})
    [found] = [guard for guard in plan.guards if guard.name == "restore"]
    assert (found.evidence["rowsBack"], found.evidence["rowsGone"]) == (back, gone)
    assert found.status == ("pass" if gone == 0 else "warn")
