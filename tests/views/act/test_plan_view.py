"""Plans as records for people: what would be written, guards with their evidence, who loses access, the outcome."""

from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult, Conflict, Consequences
from explorer.core.transaction.intents.documents import intent_kinds, parse_intent
from explorer.core.transaction.proposal import GuardResult
from explorer.views.act.forms import change_kinds, intent_of
from explorer.views.act.guard_views import guard_counts, guard_views
from explorer.views.act.plan_view import PlanView, headline, plan_view, receipt
from tests.support import hostile_tables


@pytest.fixture
def table(tmp_path: Any) -> explorer.Table:
    created = [
        hostile_tables.commit_info("CREATE TABLE"),
        hostile_tables.protocol(),
        hostile_tables.metadata({"id": "long"}, (), team="ana"),
    ]
    hostile_tables.write_table(
        tmp_path / "t", [created, [hostile_tables.commit_info("WRITE"), hostile_tables.add("a.parquet", 3)]]
    )
    return explorer.open_table(tmp_path / "t")


def view(table: explorer.Table, **intent: Any) -> PlanView:
    plan = table.plan(intent, check_rows=False, user="ana")
    return plan_view(plan, table.snapshot(plan.read_version))


def written(found: PlanView) -> list[tuple[str, str, str]]:
    return [(line.sign, line.subject, line.detail) for line in found.written]


def test_what_a_property_brings_along_is_written_out(table: explorer.Table) -> None:
    found = view(table, kind="set-properties", properties={"delta.enableDeletionVectors": "true", "team": "bob"})
    assert written(found) == [
        ("+", "delta.enableDeletionVectors", "true"),
        ("~", "team", "ana \u2192 bob"),
        ("~", "protocol", "(1, 2) \u2192 (3, 7)"),
        ("+", "feature deletionVectors", "binds readers and writers"),
        ("\u00b7", "no data file", "comes or goes"),
    ]
    assert (found.headline.verb, found.headline.subject) == ("Set", "2 properties")
    assert found.losses
    assert {loss.operation for loss in found.losses} == {"reads", "writes"}
    assert [loss.severity for loss in found.losses] == sorted(loss.severity for loss in found.losses)
    assert "lose" in found.who_reads


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (["wrong"], "1 client answers wrongly"),
        (["no", "no"], "2 clients lose access"),
        (["unknown", "wrong", "no"], "1 client answers wrongly, 1 loses access, 1 is unknown"),
    ],
)
def test_who_loses_what_is_told_apart(table: explorer.Table, after: list[str], words: str) -> None:
    losses = tuple(
        {"client": f"c{n}", "versionFrom": "1", "before": "yes", "after": kind} for n, kind in enumerate(after)
    )
    plan = msgspec.structs.replace(plan_with(), consequences=Consequences(readers=losses))
    found = plan_view(plan, table.snapshot())
    assert (found.who_reads, found.who_writes) == (words, "no change")


def test_every_warning_is_to_be_read(table: explorer.Table) -> None:
    one, two = GuardResult("one", "warn", {"detail": "Look."}), GuardResult("two", "warn", {"detail": "Look."})
    verdicts = [plan_view(plan_with(*guards), table.snapshot()).verdict for guards in ((one,), (one, two))]
    assert verdicts[0].endswith("Read the warning first.")
    assert verdicts[1].endswith("Read the 2 warnings first.")


def test_a_rename_is_a_rename(table: explorer.Table) -> None:
    mapping = table.plan({"kind": "set-column-mapping", "mode": "name"})
    table.commit(mapping, reason="names may change")
    found = view(table, kind="rename-column", column="id", to="key")
    assert ("~", "column key", "renamed: id \u2192 key") in written(found)
    assert (found.headline.verb, found.headline.subject) == ("Rename column", "id \u2192 key")


def test_rows_that_were_not_looked_at_are_asked_for(table: explorer.Table) -> None:
    found = view(table, kind="add-constraint", name="positive", expression="id > 0")
    assert (found.needs_rows, found.looked_at_rows, found.committable, found.tone) == (True, False, False, "warning")
    assert found.verdict == "The rows have to be looked at before this can be committed."
    assert [guard.name for guard in found.guards if guard.blocks] == ["existing-rows"]
    assert found.guards[0].name == "existing-rows"
    assert found.headline.code == "id > 0"
    assert [action.name for action in found.actions][:1] == ["commitInfo"]
    assert '"schemaString": {' in found.actions[-1].pretty


def plan_with(*guards: GuardResult, accepted: tuple[str, ...] = ()) -> CommitPlan:
    intent = parse_intent({"kind": "set-description", "description": "x"})
    return CommitPlan(
        table="file:///t", read_version=3, intent=intent, guards=guards, actions=(), consequences=Consequences(),
        accepted=accepted, txn_id="7",
    )  # fmt: skip


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


@pytest.mark.parametrize("outcome", ["committed", "conflicted", "rejected", "unknown"])
def test_every_outcome_has_its_words(outcome: str) -> None:
    plan = plan_with()
    conflict = Conflict(4, "metaData", "Version 4 changed the metadata.") if outcome == "conflicted" else None
    version = 4 if outcome in {"committed", "unknown"} else None
    found = receipt(CommitResult(outcome=outcome, plan=plan, version=version, conflict=conflict), plan, "why", None)
    assert found.title
    assert found.text
    facts = dict(found.facts)
    assert (facts["reason"], facts["by"], facts["transaction"]) == ("why", "nobody named", "7")
    assert ("decided by" in facts) == (outcome == "conflicted")
    assert found.winner == (4 if outcome == "conflicted" else None)


def test_every_kind_of_change_on_the_page_is_an_intent() -> None:
    assert set(change_kinds()) <= set(intent_kinds())
    answers = {
        "name": "n", "expression": "id > 0", "column": "id", "feature": "rowTracking", "mode": "name",
        "version": "v7", "key.0": "a", "value.0": "1", "key.10": "b", "keys.1": "k", "description": "d",
        "minReaderVersion": "3", "minWriterVersion": "7", "from": "2", "to": "9", "type": "long", "at": "first",
    }  # fmt: skip
    for kind in change_kinds():
        intent = parse_intent(intent_of(kind, answers | ({"to": "key"} if kind == "rename-column" else {})))
        assert headline(intent).verb
    assert intent_of("set-properties", answers)["properties"] == {"a": "1", "b": ""}
    assert intent_of("unset-properties", answers)["keys"] == ["k"]
    assert intent_of("move-column", answers) == {"kind": "move-column", "column": "id", "at": "first"}
    assert intent_of("move-column", answers | {"at": "2"})["at"] == 2
    assert intent_of("clean-log", {}) == {"kind": "clean-log"}
    assert intent_of("restore", answers) == {"kind": "restore", "version": 7}


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
def test_guards_are_counted_by_how_they_ended(table: explorer.Table, statuses: list[Any], words: str) -> None:
    guards = tuple(GuardResult(str(number), status, {}) for number, status in enumerate(statuses))
    plan = table.plan({"kind": "set-description", "description": "x"}, check_rows=False)
    assert guard_counts(guard_views(msgspec.structs.replace(plan, guards=guards))) == words
