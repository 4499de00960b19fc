"""The list of commits: what it finds, on which page a version is, what it exports."""

from __future__ import annotations

import csv
import io

import pytest

from explorer.views import TableFacts
from explorer.views.table.commit_list import CommitChoice, choices, chosen_commits, page_of
from tests.support.logs import small_logs

LAST = 260


@pytest.fixture(scope="module")
def facts() -> TableFacts:
    """A table of 261 commits: appends by etl, a delete by ana with a predicate and a reason at each hundredth."""
    first = [small_logs.commit_info("CREATE TABLE", user_name="ana"), small_logs.PROTOCOL, small_logs.METADATA]
    commits: dict[int, list[small_logs.Line]] = {0: [*first]}
    for version in range(1, LAST + 1):
        if version % 100:
            commits[version] = [small_logs.commit_info("WRITE", user_name="etl"), small_logs.add(f"{version}.parquet")]
        else:
            info = small_logs.commit_info(
                "DELETE",
                user_name="ana",
                user_metadata='"erasure 1042"',
                operation_parameters={"predicate": '["(id = 7)","(id > 3)"]'},
            )
            commits[version] = [info, small_logs.remove(f"{version - 1}.parquet")]
    return TableFacts(small_logs.table(commits))


def _versions(facts: TableFacts, **choice: str) -> list[int]:
    versions: list[int] = chosen_commits(facts, CommitChoice(**choice)).matching().column("version").to_pylist()
    return versions


def test_the_newest_commit_comes_first_and_pages_hold_a_hundred(facts: TableFacts) -> None:
    listing = chosen_commits(facts, CommitChoice())
    assert [row["version"] for row in listing.paged().rows[:2]] == [LAST, LAST - 1]
    assert (listing.paged().pages, listing.paged().last) == (3, 100)


@pytest.mark.parametrize(("version", "page"), [(LAST, 1), (161, 1), (160, 2), (0, 3)])
def test_a_version_is_found_on_its_page(facts: TableFacts, version: int, page: int) -> None:
    listing = chosen_commits(facts, CommitChoice())
    assert page_of(listing, version) == page
    assert version in [row["version"] for row in listing.at(page).paged().rows]


@pytest.mark.parametrize(
    "choice",
    [{"find": "ERASURE"}, {"find": "id = 7"}, {"operation": "DELETE"}, {"author": "ana", "find": "delete"}],
)
def test_commits_are_found_by_reason_predicate_operation_and_author(facts: TableFacts, choice: dict[str, str]) -> None:
    assert _versions(facts, **choice) == [200, 100]


def test_commits_are_found_by_date(facts: TableFacts) -> None:
    day = facts.commits.record(5)
    assert day is not None
    assert day.timestamp is not None
    assert 5 in _versions(facts, find=f"{day.timestamp:%Y-%m-%d}")
    assert _versions(facts, find="1999-01") == []


def test_predicates_are_shown_as_conditions_and_exported_with_the_reason(facts: TableFacts) -> None:
    listing = chosen_commits(facts, CommitChoice(operation="DELETE", sort="version"))
    rows = list(csv.DictReader(io.StringIO(listing.to_csv())))
    assert [row["version"] for row in rows] == ["100", "200"]
    assert {(row["predicate"], row["reason"], row["by"]) for row in rows} == {
        ("(id = 7) AND (id > 3)", "erasure 1042", "ana")
    }


def test_operations_and_authors_are_offered_the_most_frequent_first(facts: TableFacts) -> None:
    assert choices(facts) == (("WRITE", "DELETE", "CREATE TABLE"), ("etl", "ana"))


def test_what_a_commit_did_stands_before_the_long_texts(facts: TableFacts) -> None:
    keys = [column.key for column in chosen_commits(facts, CommitChoice()).columns]
    assert keys.index("rows_added") < keys.index("files") < keys.index("reason") < keys.index("predicate")
