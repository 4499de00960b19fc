"""What people come for, each way from the list of tables to its end by what the pages show, and without Spark.

``docs/guide/jobs.md`` has the same ways in a browser, on the demo tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import explorer
from explorer.page.address import Address
from explorer.report import verify_report
from explorer.views.rows.spark_work import engine_state
from explorer.web.served_tables import Catalog
from tests.support.logs import small_logs
from tests.support.logs.changing_table import written
from tests.support.pages.followed_pages import Follower


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """``w/orders``, whose rows changed, and ``w/wide``, whose files all overlap."""
    written(tmp_path / "w" / "orders")
    spread = [small_logs.add(f"{number}.parquet", 1_000, bounds={"id": (number, 900 + number)}) for number in range(20)]
    created = small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.METADATA
    load = small_logs.commit_info("WRITE", user_name="eva"), *spread
    small_logs.write_log(tmp_path / "w" / "wide", [created, load])
    return tmp_path / "w"


@pytest.fixture
def person(root: Path) -> Iterator[Follower]:
    """Someone at the list of tables, who may commit; Spark is as it was when they are done."""
    before = engine_state()["state"]
    someone = Follower(Catalog([str(root)], allow_commits=True))
    someone.see("orders")
    someone.see("wide")
    yield someone
    assert engine_state()["state"] == before


def test_what_happened_last_night_and_is_anything_wrong(person: Follower) -> None:
    person.follow("orders").see("This commit")
    person.follow("Change feed", "tabs").see("insert", "lead")
    assert "five" in person.text("lead")


def test_the_commit_that_took_rows_is_found_by_its_reason_and_undone(person: Follower, root: Path) -> None:
    person.follow("orders").follow("Show the commits as a table", "strip")
    person.fill("cq", "bob", "commits").see("1 commit of 5", "commits")
    person.follow("v3", "commits").follow("Undo v3", "side").see("Restore version 2")
    person.follow("Preview plan").see("Nothing has been written")
    # The plan says that it can be committed; only the receipt offers another change.
    person.press("Commit", reason="not agreed", name="orders").see("New change")
    assert explorer.open_table(root / "orders").snapshot().version == 5


def test_an_auditor_takes_the_report_as_a_file(person: Follower) -> None:
    person.follow("orders").follow("Audit", "tabs").press("Download report")
    parts = [each["text"] for each in person.window.heard if each.get("kind") == "file"]
    assert verify_report("".join(parts).encode()).valid


def test_what_happened_to_one_row_in_the_change_feed(person: Follower) -> None:
    person.follow("orders").follow("Change feed", "tabs").follow("all since v0", "side")
    person.press("Read", "lead", where="id = 3", keys="id").see("update, after", "lead")
    assert "three" in person.text("lead")
    assert "five" not in person.text("lead")


def test_what_became_of_one_row_and_by_whom(person: Follower) -> None:
    person.follow("orders").follow("Row", "tabs").press("Follow row", "lead", **{"value.0": "3"})
    text = person.see("what happened", "lead")
    assert "three \u2192 THREE" in text
    assert "bob" in text


def test_who_could_not_read_any_more_if_a_feature_were_switched_on(person: Follower) -> None:
    person.follow("wide").follow("Edit", "tabs").follow("Enable a feature", "lead")
    person.press("Preview plan", "lead", **{"f.feature": "deletionVectors"}).see("Guards")
    assert "lose access or return wrong results" in person.text("rest")


def test_two_versions_are_compared_and_a_colleague_opens_the_link(person: Follower, root: Path) -> None:
    person.follow("orders").follow("Diff", "tabs")
    person.fill("c", "1", "strip").see("compared with v1", "strip")
    query = person.window.session.query
    assert Address.parse(query).compared == "1"
    theirs = Follower(Catalog([str(root)]), query)
    assert theirs.see("compared with v1", "strip")
    assert theirs.text("lead") == person.text("lead")


def test_which_files_are_small_and_who_wrote_them(person: Follower) -> None:
    person.follow("wide").follow("Files", "tabs").see("were written by", "lead")
    assert "eva" in person.text("lead")
    person.follow("0.parquet").see("Life in versions", "side")


def test_when_all_tables_changed_and_which_is_silent(person: Follower) -> None:
    person.follow("Timeline").follow("30 days").follow("silence")
    text = person.see("orders")
    assert "wide" in text


def test_whether_the_table_holds_what_its_log_says_and_a_colleague_sees_it(person: Follower) -> None:
    person.follow("orders").follow("Audit", "tabs").follow("stored files", "lead").follow("log replay", "lead")
    person.press("Run", "lead").see("Share result", "lead")
    person.press("Share result", "lead").see("kept for others until", "lead")
    theirs = Follower(person.tables, person.window.session.query)
    assert theirs.see("kept for others until", "lead")
