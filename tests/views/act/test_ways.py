"""A remedy leads on: to a change whose form is filled in and can be planned, to the rows, to the versions."""

from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.proposal import GuardResult
from explorer.views.act.guard_views import GuardStep, guard_views
from explorer.views.act.intent_form import intent_form, intent_of, missing_answers
from tests.support.logs import hostile_tables, small_logs
from tests.support.logs.small_plans import plan_with


@pytest.fixture
def table(tmp_path: Path) -> explorer.Table:
    created = hostile_tables.created({"id": "long", "v": "long"}, {"delta.constraints.rule": "v > 0"})
    small_logs.write_log(tmp_path / "t", [created, [small_logs.commit_info("WRITE"), small_logs.add("a.parquet", 3)]])
    return explorer.open_table(tmp_path / "t")


def ways(table: explorer.Table, guard: str, **intent: Any) -> tuple[GuardStep, ...]:
    plan = table.plan(intent, check_rows=False)
    (match,) = (view for view in guard_views(plan) if view.name == guard)
    assert match.status != "pass"
    return match.ways


@pytest.mark.parametrize(
    ("intent", "guard", "kind"),
    [
        ({"kind": "rename-column", "column": "id", "to": "key"}, "column-mapping", "set-column-mapping"),
        ({"kind": "set-column-mapping", "mode": "id"}, "mapping-mode", "set-column-mapping"),
        (
            {"kind": "set-properties", "properties": {"delta.deletedFileRetentionDuration": "interval 90 days"}},
            "retention",
            "set-properties",
        ),
        ({"kind": "drop-columns", "columns": ["v"]}, "constraint-columns", "drop-constraint"),
        ({"kind": "vacuum", "olderThan": "interval 1 hour"}, "retention", "set-properties"),
    ],
)
def test_a_remedy_opens_a_change_that_is_filled_in_and_can_be_planned(
    table: explorer.Table, intent: dict[str, Any], guard: str, kind: str
) -> None:
    (way,) = ways(table, guard, **intent)
    assert way.kind == kind
    answers = dict(way.answers)
    assert missing_answers(intent_form(kind, table.snapshot(), answers), answers) == ()
    plan = table.plan(parse_intent(intent_of(kind, answers)), check_rows=False)
    assert guard not in {view.name for view in guard_views(plan) if view.status == "fail"}


def test_a_way_on_keeps_what_was_asked_for(table: explorer.Table) -> None:
    asked = {"team": "ana", "delta.deletedFileRetentionDuration": "interval 90 days"}
    (way,) = ways(table, "retention", kind="set-properties", properties=asked)
    document = intent_of(way.kind, dict(way.answers))
    assert document["properties"] == asked | {"delta.logRetentionDuration": "interval 90 days"}


@pytest.mark.parametrize(
    ("key", "shorter"),
    [("delta.deletedFileRetentionDuration", "interval 2 days"), ("delta.logRetentionDuration", "interval 20 days")],
)
def test_a_retention_that_is_made_shorter_asks_for_no_other_one(table: explorer.Table, key: str, shorter: str) -> None:
    assert ways(table, "retention", kind="set-properties", properties={key: shorter}) == ()


def test_rows_that_break_a_rule_can_be_shown_updated_and_deleted() -> None:
    evidence = {"predicate": "v > 0", "rows": 9, "violations": 2_625, "detail": "Some rows."}
    (guard,) = guard_views(plan_with(GuardResult("existing-rows", "fail", evidence, "Delete them.")))
    condition = "(v > 0) IS NOT TRUE"
    assert [(way.label, way.where, way.kind, way.answers) for way in guard.ways] == [
        ("Show these 2,625 rows", condition, "", ()),
        ("Update these 2,625 rows \u2026", "", "update", (("where", condition),)),
        ("Delete these 2,625 rows \u2026", "", "delete", (("where", condition),)),
    ]
    (unseen,) = guard_views(plan_with(GuardResult("existing-rows", "unknown", {"predicate": "v > 0"})))
    assert unseen.ways == ()


def test_a_guard_that_passes_leads_nowhere(table: explorer.Table) -> None:
    plan = table.plan({"kind": "set-description", "description": "x"}, user="ana")
    passed = [view.ways for view in guard_views(plan) if view.status == "pass"]
    assert set(passed) == {()}
    (anonymous,) = ways(table, "committer", kind="set-description", description="x")
    assert anonymous.part == "person-card"
