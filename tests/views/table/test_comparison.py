"""What happened to each file between two versions, in words."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.views import TableFacts
from explorer.views.table.comparison import comparison_of
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add, commit_info, remove, vector


@pytest.fixture(scope="module")
def facts() -> TableFacts:
    """Two files; v2 compacts them, v3 masks rows, v4 writes masked rows, v5 replaces one file by two, v6 two by one."""
    commits: dict[int, list[Any]] = {
        0: [commit_info("CREATE TABLE"), small_logs.MASKED, small_logs.METADATA],
        1: [commit_info("WRITE"), add("a.parquet", 10), add("b.parquet", 20)],
        2: [
            commit_info("OPTIMIZE"),
            remove("a.parquet", data_change=False),
            remove("b.parquet", data_change=False),
            add("compacted-of-both.parquet", 30, data_change=False),
        ],
        3: [
            commit_info("DELETE"),
            remove("compacted-of-both.parquet"),
            add("compacted-of-both.parquet", 30, vector=vector("one", 4)),
        ],
        4: [commit_info("UPDATE"), add("new.parquet", 5, vector=vector("two", 2))],
        5: [commit_info("WRITE"), remove("new.parquet", vector=vector("two", 2)), add("x.parquet"), add("y.parquet")],
        6: [commit_info("WRITE"), remove("x.parquet"), remove("y.parquet"), add("z.parquet")],
    }
    return TableFacts(small_logs.table(commits))


def _words(facts: TableFacts, first: int, last: int) -> dict[str, str]:
    rows = comparison_of(facts, first, last).files.table.to_pylist()
    return {row["path"]: row["happened"] for row in rows}


def test_a_compaction_says_into_what_and_from_what(facts: TableFacts) -> None:
    assert _words(facts, 1, 2) == {
        "a.parquet": "rewritten at v2 into compacted-of-both.\u2026, no row changed",
        "b.parquet": "rewritten at v2 into compacted-of-both.\u2026, no row changed",
        "compacted-of-both.parquet": "rewritten at v2 from 2 files, no row changed",
    }


def test_masked_rows_of_a_new_file_are_explained(facts: TableFacts) -> None:
    assert _words(facts, 2, 4) == {
        "compacted-of-both.parquet": "rows masked 0 \u2192 4 at v3",
        "new.parquet": "new at v4, 2 of its rows masked",
    }


def test_numbers_of_masked_rows_are_parted_by_thousands() -> None:
    masked = add("large.parquet", 9_876_543, vector=vector("one", 1_234_567))
    commits: dict[int, list[Any]] = {
        0: [commit_info("CREATE TABLE"), small_logs.MASKED, small_logs.METADATA],
        1: [commit_info("WRITE"), add("large.parquet", 9_876_543)],
        2: [commit_info("DELETE"), remove("large.parquet"), masked],
    }
    words = _words(TableFacts(small_logs.table(commits)), 1, 2)
    assert words == {"large.parquet": "rows masked 0 \u2192 1,234,567 at v2"}


def test_a_file_that_changed_rows_replaced_names_how_many_took_its_place(facts: TableFacts) -> None:
    words = _words(facts, 4, 5)
    assert words["new.parquet"] == "removed at v5, replaced by 2 new files"
    assert words["x.parquet"] == "new at v5"
    words = _words(facts, 5, 6)
    assert words["x.parquet"] == words["y.parquet"] == "removed at v6, replaced by 1 new file"


def test_seen_backwards_the_words_say_what_happened_and_not_the_reverse(facts: TableFacts) -> None:
    assert _words(facts, 5, 4) == {
        "new.parquet": "removed at v5",
        "x.parquet": "added at v5",
        "y.parquet": "added at v5",
    }
