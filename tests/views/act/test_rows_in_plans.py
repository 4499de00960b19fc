"""What a plan says of rows that come and go: in the change data feed, in its headline, and in the lines it writes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from explorer.core.compatibility.access import losses, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.protocol.actions import Add
from explorer.core.transaction.commit_plan import CommitPlan, Consequences
from explorer.core.transaction.consequences import change_feed_effect
from explorer.core.transaction.intents.records import Intent, Merge, Overwrite
from explorer.core.transaction.new_files.file_facts import Arrangement
from explorer.core.transaction.planner import access_change
from explorer.core.transaction.proposal import Estimate, Proposal, RowCounts, Writing, Written
from explorer.core.transaction.proposals.rows.append_rows import Addition, append_rows
from explorer.core.transaction.proposals.rows.change_rows import change_rows
from explorer.core.transaction.proposals.rows.overwrite_rows import overwrite_rows, replaced_files
from explorer.core.versions.reads import Reads
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.plan_view import plan_view
from explorer.views.act.written_lines import written_lines
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import circumstances, protocol

FEED = {"delta.enableChangeDataFeed": "true"}
RULES = protocol(1, 7, w="changeDataFeed")


def snapshot(*files: Add, feed: bool = True) -> Snapshot:
    described = small_logs.metadata({"id": "long"}, configuration=FEED if feed else {})
    return small_logs.table({0: (RULES, described, *files)}).snapshot()


def overwritten(of: Snapshot, rows: int) -> Proposal:
    return overwrite_rows(
        Overwrite(source="new.parquet"),
        of,
        replaced_files(of, None),
        Written((small_logs.add("new", rows),) if rows else ()),
        new_rows=rows,
        circumstances=circumstances(),
        masked=False,
        guards=(),
        reads=Reads(),
    )


def merged(of: Snapshot, counts: RowCounts) -> Proposal:
    intent = Merge(source="new.parquet", on="source.id = target.id", matched=({"delete": True},))
    return change_rows(
        intent,
        of,
        (),
        counts,
        Written(()),
        circumstances=circumstances(),
        masked=False,
        guards=(),
        reads=Reads(),
    )


def plan(of: Snapshot, intent: Intent, proposal: Proposal) -> CommitPlan:
    return CommitPlan(
        table="t",
        read_version=of.version,
        intent=intent,
        guards=proposal.guards,
        consequences=Consequences(),
        actions=(),
        txn_id="1",
        proposal=proposal,
        propose=lambda _: proposal,
    )


MASKED = small_logs.add("c", 9, vector=small_logs.vector("v", 4))
THREE = (small_logs.add("a", 900), small_logs.add("b", 49), MASKED)


@pytest.mark.parametrize(
    ("files", "rows", "said"),
    [
        (THREE, 3, "3 rows will appear as inserted, 954 rows as deleted."),
        (THREE[:1], 1, "1 row will appear as inserted, 900 rows as deleted."),
        ((), 2, "2 rows will appear as inserted."),
        ((small_logs.add("a", None),), 1, "1 row will appear as inserted, rows of the files that go as deleted."),
    ],
)
def test_the_feed_shows_what_an_overwrite_replaces(files: tuple[Add, ...], rows: int, said: str) -> None:
    of = snapshot(*files)
    assert change_feed_effect(of, overwritten(of, rows)) == said
    off = snapshot(*files, feed=False)
    assert change_feed_effect(off, overwritten(off, rows)) == "The table records no change data feed."


def test_the_feed_shows_what_an_append_adds() -> None:
    of = snapshot(*THREE)
    made = append_rows(of, Addition(of.schema, 3, ()))
    assert change_feed_effect(of, made) == "3 rows will appear as inserted."
    off = snapshot(*THREE, feed=False)
    assert change_feed_effect(off, append_rows(off, Addition(off.schema, 3, ()))) == (
        "The table records no change data feed."
    )


def test_rows_of_any_commit_that_says_nothing_of_the_feed_appear_in_it() -> None:
    of = snapshot(*THREE)
    for made, said in (
        (
            Proposal(operation="X", parameters={}, adds=(small_logs.add("n", 1),)),
            "Rows that the commit adds or removes",
        ),
        (Proposal(operation="X", parameters={}, adds=(small_logs.add("n", 1, data_change=False),)), "Nothing changes"),
    ):
        assert change_feed_effect(of, made).startswith(said)


@pytest.mark.parametrize(
    ("files", "rows", "headline"),
    [
        (THREE, 3, "954 rows are deleted."),
        (THREE, 0, "954 rows are deleted."),
        ((small_logs.add("a", 1),), 0, "1 row is deleted."),
        ((small_logs.add("a", None),), 1, "Rows are deleted; the log does not record how many."),
        ((), 3, ""),
    ],
)
def test_an_overwrite_that_deletes_rows_warns_of_it(files: tuple[Add, ...], rows: int, headline: str) -> None:
    of = snapshot(*files)
    view = plan_view(plan(of, Overwrite(source="new.parquet"), overwritten(of, rows)), of)
    assert view.worst == headline
    assert (view.worst_tone == "warning") is bool(headline)


def test_a_merge_that_deletes_rows_warns_of_it() -> None:
    of = snapshot(*THREE)
    intent = Merge(source="new.parquet", on="source.id = target.id", matched=({"delete": True},))
    view = plan_view(plan(of, intent, merged(of, RowCounts(deleted=5, deleted_alone=2, inserted=2, source=7))), of)
    assert view.worst == "7 rows are deleted."
    only_new = merged(of, RowCounts(inserted=2, source=2))
    assert plan_view(plan(of, intent, only_new), of).worst == ""
    (match,) = [guard for guard in only_new.guards if guard.name == "rows-found"]
    assert match.evidence["detail"] == "Rows: 2 inserted."


def test_no_new_file_is_promised_where_no_row_is_written() -> None:
    of = snapshot(*THREE)
    lines = [(line.sign, line.subject, line.detail) for line in written_lines(_estimated(of, 0), of)]
    assert ("\u00b7", "no new data file", "because no row is written") in lines
    assert not any(subject.startswith("new file") for _, subject, _ in lines)
    lines = [(line.sign, line.subject, line.detail) for line in written_lines(_estimated(of, 2), of)]
    assert ("+", "new files", "2 rows") in lines


def _estimated(of: Snapshot, rows: int) -> Proposal:
    return msgspec.structs.replace(overwritten(of, 0), estimate=Estimate(rows=rows))


@pytest.mark.parametrize(("files", "exact"), [(2, True), (3, False)])
def test_a_number_of_ordered_files_is_exact_where_each_group_becomes_one(files: int, exact: bool) -> None:
    assert Arrangement({"a": 0, "b": 0, "c": 1}, ("id",), curve=True, files=files).is_exact is exact


@pytest.mark.parametrize("vectors", [False, True])
def test_clients_that_fail_at_vectors_are_lost_by_a_feature_only_where_rows_are_masked(vectors: bool) -> None:
    """A client that reads a listed feature which nothing uses may fail at the next one."""
    rules = protocol(3, 7, r="deletionVectors", w="deletionVectors")
    files = (MASKED,) if vectors else (small_logs.add("a", 3),)
    of = small_logs.table({0: (rules, small_logs.metadata({"id": "long"}), *files)}).snapshot()
    after: Any = protocol(3, 7, r="deletionVectors v2Checkpoint", w="deletionVectors v2Checkpoint")
    made = Proposal(operation="X", parameters={}, protocol=after)
    stated = losses(*access_change(of, made), client_facts())
    sides = [requirements(each, of.metadata, has_vectors=vectors) for each in (rules, after)]
    assert list(stated) == list(losses(*sides, client_facts()))
    lost = [each for each in stated if (each.client, each.version_from) == ("delta-rs QueryBuilder (SQL)", "0.25.5")]
    assert [(each.before, each.after) for each in lost] == ([] if vectors else [("yes", "wrong")])


@pytest.mark.parametrize(("rows", "to_come"), [(7, True), (None, True), (0, False)])
def test_a_plan_whose_files_are_written_with_the_commit_says_that_their_lines_are_missing(
    rows: int | None, to_come: bool
) -> None:
    of = snapshot(small_logs.add("a", 8))
    made = overwritten(of, 1)
    later = Writing(lambda: Written(()), lambda _: made)
    planned = plan(
        of, Overwrite(source="s"), msgspec.structs.replace(made, writing=later, estimate=Estimate(rows=rows))
    )
    assert plan_view(planned, of).has_files_to_come == to_come
    assert not plan_view(plan(of, Overwrite(source="s"), made), of).has_files_to_come
