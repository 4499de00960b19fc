"""Every sentence of plans, receipts, guards and history that holds a number agrees with it: for 0, 1, 2 and many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from explorer.core.compatibility.matrix import losses_in_words
from explorer.core.protocol.counted import all_of
from explorer.core.transaction.commit_plan import Consequences, MaintenanceFile, MaintenancePlan, MaintenanceResult
from explorer.core.transaction.consequences import time_travel_effect
from explorer.core.transaction.guards.restore import restore_guard
from explorer.core.transaction.intents.records import Overwrite, Vacuum
from explorer.core.transaction.proposal import Estimate, GuardResult, Proposal, RowCounts, Written
from explorer.core.transaction.proposals.rows.append_rows import Addition, append_rows
from explorer.core.transaction.proposals.rows.overwrite_rows import ReplacedRows, overwrite_rows
from explorer.core.versions.commits.summary import CommitSummary
from explorer.core.versions.reads import Reads
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.guard_views import guard_counts, guard_views, verdict
from explorer.views.act.receipt import commit_facts
from explorer.views.act.written_lines import doing, done_facts, done_title, file_lines, written_lines
from explorer.views.table.commits import commit_sentence
from tests.support.at_least_one import at_least_one
from tests.support.counted_words import disagreeing
from tests.support.logs import small_logs
from tests.support.logs.small_plans import plan_with
from tests.support.logs.small_proposals import circumstances
from tests.views.act.test_rows_in_plans import merged, snapshot

NUMBERS = (0, 1, 2, 1_234)
Texts = Iterator[str]


def files(number: int, name: str = "f", rows: int | None = 1) -> list[Any]:
    return [small_logs.add(f"{name}{place}", rows) for place in range(number)]


def sentences(proposal: Proposal, of: Snapshot) -> Texts:
    """All that people read of a proposal."""
    yield from (f"{line.subject} {line.detail}" for line in written_lines(proposal, of))
    yield from (str(guard.evidence["detail"]) for guard in proposal.guards)
    yield time_travel_effect(of, proposal)
    yield from filter(None, [proposal.change_feed, proposal.undo])


def merges() -> Texts:
    of = snapshot(*files(2))
    for updated, deleted, inserted in product(NUMBERS, repeat=3):
        yield from sentences(merged(of, RowCounts(updated=updated, deleted=deleted, inserted=inserted, source=3)), of)


def overwrites() -> Texts:
    for new, gone, rows in product(NUMBERS, (0, 1, 2), (1, 2, None)):
        of = snapshot(*files(gone, rows=rows))
        replaced = ReplacedRows(tuple(files(gone, rows=rows)))
        made = overwrite_rows(
            Overwrite(source="s"), of, replaced, Written(()), new_rows=new, circumstances=circumstances(),
            masked=False, guards=(), reads=Reads(),
        )  # fmt: skip
        yield from sentences(msgspec.structs.replace(made, estimate=Estimate(rows=new)), of)


def appends() -> Texts:
    of = snapshot()
    for rows, number in product(NUMBERS, (None, *NUMBERS)):
        made = append_rows(of, Addition(of.schema, rows, ()))
        yield from sentences(msgspec.structs.replace(made, estimate=Estimate(rows=rows, files=number)), of)


def moves() -> Texts:
    of = snapshot(*files(2, "old"))
    for added, removed in product((0, 1, 2), (0, 1, 2)):
        removes = tuple(small_logs.remove(f"old{place}") for place in range(removed))
        proposal = Proposal(operation="X", parameters={}, adds=tuple(files(added, "new")), removes=removes)
        yield from sentences(proposal, of)
        yield from sentences(msgspec.structs.replace(proposal, adds=tuple(files(removed, "old"))), of)


def restores() -> Texts:
    of = snapshot(*files(1))
    for back, gone, both, rows in product((0, 1, 2), (0, 1, 2), (0, 1, 2), (0, 1, 5, None)):
        tables = [
            pa.table(
                {
                    "path": pa.array(
                        [*(f"{name}{n}" for n in range(count)), *(f"m{n}" for n in range(both))], pa.string()
                    ),
                    "num_records": pa.array([rows] * (count + both), pa.int64()),
                    "dv_cardinality": pa.array([None] * count + [masked if rows else None] * both, pa.int64()),
                }
            )
            for name, count, masked in (("b", back, 0), ("g", gone, 1))
        ]
        guard = restore_guard(of, of, (of.metadata, "none"), (tables[0], tables[1]), [])
        yield str(guard.evidence["detail"])


def guards() -> Texts:
    for failed, warned, passed in product((0, 1, 2), repeat=3):
        made = [GuardResult(f"{status}{n}", status, {"detail": "x"}) for status, count in (
            ("fail", failed), ("warn", warned), ("pass", passed)) for n in range(count)]  # type: ignore[arg-type]  # fmt: skip
        plan = plan_with(*made)
        yield guard_counts(guard_views(plan))
        yield verdict(plan, guard_views(plan))[0]


def maintenance() -> Texts:
    for deleted, written, done in product((0, 1, 2), repeat=3):
        listed = [MaintenanceFile(f"d{n}", "delete", 5) for n in range(deleted)]
        listed += [MaintenanceFile(f"w{n}", "write") for n in range(written)]
        plan = MaintenancePlan(
            table="file:///t", read_version=3, intent=Vacuum(), guards=(), consequences=Consequences(),
            files=tuple(listed),
        )  # fmt: skip
        result = MaintenanceResult(outcome="committed", plan=msgspec.structs.replace(plan, files=tuple(listed[:done])))
        yield from (doing(plan), done_title(result))
        yield from (f"{name} {text}" for name, text in done_facts(result, plan))
        yield from (f"{line.subject} {line.detail}" for line in file_lines(plan))


def history() -> Texts:
    for rows, removed, masked, updated in product((0, 1, 2, 1_234), (0, 1, 2), (-2, -1, 0, 1, 2), (0, 1, 2)):
        record = CommitSummary(
            version=1, timestamp=None, operation="MERGE", user_name="", engine_info="", rows_added=rows,
            rows_removed=removed, rows_masked=masked, rows_updated=updated, files_added=rows, files_removed=removed,
        )  # fmt: skip
        yield commit_sentence(record)
        yield commit_sentence(CommitSummary(1, None, "OPTIMIZE", "", "", rows_rewritten=rows, files_added=removed))


def receipts() -> Texts:
    for number, gone, both in product((0, 1, 2), repeat=3):
        metrics = {"numDeletedRows": str(number), "numCopiedRows": str(gone), "numTargetRowsInserted": str(both)}
        lines: list[Any] = [{"commitInfo": {"operation": "X", "operationMetrics": metrics}}]
        lines += [{"add": {"path": f"a{n}"}} for n in range(number)] + [
            {"remove": {"path": f"r{n}"}} for n in range(gone)
        ]
        lines += [{name: {"path": f"b{n}"}} for n in range(both) for name in ("add", "remove")]
        yield from (text for _, text in commit_facts(lines))


def clients() -> Texts:
    for wrong, refused, unknown, older in product((0, 1, 2), repeat=4):
        kinds = ("wrong", wrong), ("no", refused), ("unknown", unknown)
        now = [(f"{kind}{n}", kind, True) for kind, count in kinds for n in range(count)]
        yield losses_in_words([*now, *((f"old{n}", "no", False) for n in range(older))])


def wholes() -> Texts:
    yield from (all_of(number, noun, "exists", "exist") for number in NUMBERS for noun in ("file", "live file", "row"))


@pytest.mark.parametrize(
    "build",
    [merges, overwrites, appends, moves, restores, guards, maintenance, history, receipts, clients, wholes],
)
def test_numbers_agree_with_their_words(build: Callable[[], Texts]) -> None:
    for text in at_least_one(list(build())):
        assert disagreeing(text) == [], text


@pytest.mark.parametrize(
    "text",
    [
        "1 columns are left", "2 row in 1 file", "Rows: 2 inserted, in 0 files.", "All 0 live files exist.",
        "+ new files, 0 rows", "Rows: -1 deleted, 1 inserted.", "1 file stay until a vacuum", "2 files is removed",
    ],
)  # fmt: skip
def test_what_once_was_said_is_noticed(text: str) -> None:
    assert disagreeing(text)
