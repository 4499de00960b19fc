"""What the pages say of plans and receipts holds: after a reload, for a change done before, for a file out of reach."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

import explorer
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.page.act.form import ActDesk, redrawn_parts
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.views.act.desk.draft import Attempt, Draft, Question
from explorer.views.act.receipt import logged_receipt, receipt
from explorer.views.table.facts import TableFacts
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.idle_windows import work_at

BEGAN = small_logs.commit_info("WRITE")


def table_in(folder: Path) -> explorer.Table:
    created = hostile_tables.created({"id": "long", "other": "string"})
    files = [small_logs.add("a.parquet", 3), small_logs.add("b.parquet", 2)]
    return explorer.open_table(small_logs.write_log(folder / "w" / "orders", [created, [BEGAN, *files]]))


@pytest.mark.parametrize(
    "intent",
    [
        {"kind": "set-properties", "properties": {"team": "sales", "delta.enableDeletionVectors": "true"}},
        {"kind": "add-constraint", "name": "positive", "expression": "id > 0"},
        {"kind": "restore", "version": 0},
        {"kind": "enable-feature", "feature": "inCommitTimestamp"},
    ],
)
def test_a_receipt_from_the_log_says_all_that_the_receipt_after_the_commit_said(
    tmp_path: Path, intent: dict[str, object]
) -> None:
    table = table_in(tmp_path)
    plan = table.plan(intent, user="ana", accept=("existing-rows", "files-exist"), check_rows=False)
    assert isinstance(plan, CommitPlan)
    if intent["kind"] == "restore":
        (tmp_path / "w" / "orders" / "a.parquet").touch()
    result = table.commit(plan, reason="because", user="ana")
    assert result.outcome == "committed", result
    said = receipt(result, plan, "because", "ana")
    assert result.version is not None
    facts = TableFacts(explorer.open_table(table.location))
    logged = logged_receipt(facts, result.version).receipt()
    assert dict(said.facts).items() <= dict(logged.facts).items()
    assert dict(logged.facts)["digest"] == plan.digest == result.plan.digest
    document = logged_receipt(facts, result.version).document()
    assert document.digest == plan.digest
    assert document.operation_parameters == result.plan.proposal.parameters


def test_the_page_of_a_receipt_has_predicate_counts_and_digest_of_a_commit_of_rows(tmp_path: Path) -> None:
    created = hostile_tables.created({"id": "long"})
    info = small_logs.commit_info(
        "DELETE",
        operation_parameters={"predicate": '["(id#3L > 5)","true"]'},
        operation_metrics={"numDeletedRows": "1", "numCopiedRows": "2", "numRemovedFiles": "1"},
        engine_info="Delta-Table-Explorer/1.0",
        txn_id="t-1",
    )
    first = [BEGAN, small_logs.add("a", 3), small_logs.add("b", 2)]
    masked = [small_logs.remove("b"), small_logs.add("b", 2, vector=small_logs.vector("x"))]
    second = [info, small_logs.remove("a"), small_logs.add("c", 2), *masked]
    small_logs.write_log(tmp_path / "w" / "orders", [[*created[:-1], small_logs.MASKED, created[-1]], first, second])
    catalog = Catalog([str(tmp_path / "w")])
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    address = Address.parse("?t=w/orders&tab=act&v=2&step=receipt")
    lead = table_page(catalog, address, "light", work_at(desk)).regions["lead"]
    facts = dict(re.findall(r"<dt>([^<]*)</dt><dd[^>]*>([^<]*)</dd>", lead))
    assert facts["predicate"] == "(id#3L &gt; 5) AND true"
    assert facts["rows"] == "1 row deleted, 2 rows rewritten unchanged"
    assert facts["files"] == "1 file added, 1 file removed, 1 file stays and masks other rows"
    assert re.fullmatch(r"[0-9a-f]{64}", facts["digest"])


def test_two_digests_are_explained_and_one_is_not(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    plan = table.plan({"kind": "set-description", "description": "x"}, user="ana")
    assert isinstance(plan, CommitPlan)
    result = table.commit(plan, reason="because", user="ana")
    same = receipt(result, plan, "because", "ana")
    assert "digest of the approved plan" not in dict(same.facts)
    assert "differs" not in same.text
    approved = msgspec.structs.replace(plan, read_version=0)
    two = receipt(result, approved, "because", "ana")
    assert dict(two.facts)["digest of the approved plan"] == approved.digest
    assert "Its digest differs from the approved plan's because" in two.text


@pytest.mark.parametrize(
    ("again", "words"),
    [
        ({"kind": "set-description", "description": "x"}, "Nothing remains to be done."),
        ({"kind": "set-properties", "properties": {"team": "a"}}, "Nothing remains to be done."),
        ({"kind": "vacuum"}, "Nothing remains to be done."),
        ({"kind": "set-description", "description": "y"}, "This plan would repeat it."),
    ],
)
def test_a_change_done_before_is_said_to_be_done_again_only_if_it_would_be(
    tmp_path: Path, again: dict[str, object], words: str
) -> None:
    table = table_in(tmp_path)
    for name in ("a", "b"):
        (tmp_path / "w" / "orders" / f"{name}.parquet").write_bytes(b"x")
    for intent in (
        {"kind": "set-description", "description": "x"},
        {"kind": "set-properties", "properties": {"team": "a"}},
    ):
        table.commit(table.plan(intent), reason="because")
    plan = table.plan(again)
    question = Question("w/orders", str(again["kind"]), (), "")
    draft = Draft(question, plan, table, earlier=Attempt("committed", datetime(2026, 3, 2, tzinfo=UTC), "ana", 2))
    assert draft.done_before.endswith(words)
    assert plan.nothing_to_do is words.startswith("Nothing")


SOURCES = (
    "act=append&f.source={}",
    "act=overwrite&f.source={}&f.replaces=all",
    "act=merge&f.source={}&f.on=target.id+%3D+source.id",
)


@pytest.mark.parametrize("form", SOURCES)
def test_a_form_is_not_ready_for_rows_outside_the_served_folders(tmp_path: Path, form: str) -> None:
    table_in(tmp_path)
    catalog = Catalog([str(tmp_path / "w")])
    inside, outside = tmp_path / "w" / "new.parquet", tmp_path / "new.parquet"
    for path in (inside, outside):
        path.write_bytes(b"x")
    link = tmp_path / "w" / "link.parquet"
    link.symlink_to(outside)
    ready = {}
    for path in (inside, outside, link, Path("/etc/hostname")):
        address = Address.parse(f"?t=w/orders&tab=act&{form.format(path)}")
        desk = ActDesk(catalog, "", signed_in=False, changed=list)
        regions = redrawn_parts(catalog.facts("w/orders"), address, desk.sheet, 0)
        ready[path] = "Ready." in regions["act-check"]
        told = "is outside the folders this server serves" in regions["act-note-source"]
        assert told is not ready[path]
    assert ready == {inside: True, outside: False, link: False, Path("/etc/hostname"): False}


@pytest.mark.parametrize("where", ["reflect('a', 'b')", "java_method('a', 'b')", "id > 1; drop table t"])
def test_a_form_is_not_ready_for_an_expression_that_no_engine_gets(tmp_path: Path, where: str) -> None:
    table_in(tmp_path)
    catalog = Catalog([str(tmp_path / "w")])
    address = Address(table="w/orders", tab="act", act="delete", answers=(("where", where),))
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    regions = redrawn_parts(catalog.facts("w/orders"), address, desk.sheet, 0)
    assert "Ready." not in regions["act-check"]
    assert "note-error" in regions["act-note-where"]


def test_the_receipt_of_a_vacuum_says_which_versions_can_no_longer_be_read(tmp_path: Path) -> None:
    created = hostile_tables.created({"id": "long"})
    old = small_logs.remove("a.parquet", deletion_timestamp=small_logs.LONG_AGO)
    folder = small_logs.write_log(
        tmp_path / "t", [created, [BEGAN, small_logs.add("a.parquet", 3)], [small_logs.add("b.parquet", 1), old]]
    )
    for name in ("a", "b"):
        (folder / f"{name}.parquet").write_bytes(b"x")
        os.utime(folder / f"{name}.parquet", (small_logs.LONG_AGO // 1000,) * 2)
    table = explorer.open_table(folder)
    plan = table.plan({"kind": "vacuum"})
    result = table.commit(plan, reason="because")
    assert result.outcome == "committed"
    assert dict(receipt(result, plan, "", None).facts)["time travel"] == "Version 1 can no longer be read."
