"""What undoes a commit, as a page: the steps, the later commits that are lost with their reasons, and ways to it."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import explorer
from explorer.page.act.case_traces import case_traces
from explorer.page.act.form import ActDesk
from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.report.case_file import CaseFile, FindingPin, RowsPin
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables
from tests.support.logs.small_logs import add, commit_info, metadata, remove, write_log
from tests.support.logs.small_proposals import protocol
from tests.support.pages.idle_windows import work_at
from tests.support.pages.page_elements import assert_harmless

V7 = protocol(2, 7, w="columnMapping appendOnly invariants")
MAPPED = {"delta.columnMapping.mode": "name"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("served") / "w"
    table = explorer.open_table(write_log(found / "names", [[protocol(1, 2), metadata({"id": "long", "s": "string"})]]))
    for intent in (
        {"kind": "set-properties", "properties": MAPPED},
        {"kind": "rename-column", "column": "s", "to": "t"},
    ):
        assert table.commit(table.plan(intent), user="eva", reason="names").outcome == "committed"
    created = [commit_info("CREATE TABLE"), protocol(1, 2), metadata({"id": "long"}), add("a.parquet", 5)]
    mistake = [commit_info("WRITE", user_name="bo", user_metadata="wrong file"), add("b.parquet", 2)]
    erased = commit_info("DELETE", user_name="eva", user_metadata=f"erasure request 17 {hostile_tables.HOSTILE}")
    load = [commit_info("WRITE", user_name="etl", user_metadata="nightly load"), add("c.parquet", 1)]
    write_log(found / "people", [created, mistake, [erased, remove("a.parquet")], load])
    return found


def page(root: Path, query: str) -> Rendered:
    catalog = Catalog([str(root)])
    desk = ActDesk(catalog, "ana", signed_in=False, changed=list)
    return table_page(catalog, Address.parse(query), "light", work_at(desk))


def words(region: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", region)).split())


def test_the_receipt_of_a_rename_leads_to_its_inverse_which_is_planned_by_a_click_alone(root: Path) -> None:
    receipt = page(root, "?t=w/names&tab=act&step=receipt&v=2").regions["lead"]
    assert "step=undo" in receipt
    shown = page(root, "?t=w/names&tab=act&step=undo&v=2").regions["lead"]
    assert "Rename t to s again. No other commit is undone." in words(shown)
    assert "this commit alone" in words(shown)
    (way,) = re.findall(r'id="undo-plan" data-nav href="([^"]+)"', shown)
    address = Address.parse(html.unescape(way))
    assert (address.act, address.step, dict(address.answers)) == ("rename-column", "plan", {"column": "t", "to": "s"})
    assert "data-plan" not in shown


def test_a_restore_names_the_later_commits_that_are_lost_and_the_erasure_among_them(root: Path) -> None:
    shown = page(root, "?t=w/people&tab=act&step=undo&v=1")
    lead, rest = words(shown.regions["lead"]), words(shown.regions["rest"])
    assert "Restore version 0. That undoes 2 later commits too." in lead
    assert "A commit erased rows that would return." in lead
    assert "nightly load" in rest
    assert "erasure request 17" in rest
    assert len(re.findall(r'<tr class="erases"', shown.regions["rest"])) == 1
    assert_harmless(shown.regions["lead"] + shown.regions["rest"])


def test_the_card_of_a_commit_leads_to_its_undo_and_the_first_version_has_none(root: Path) -> None:
    assert "step=undo" in page(root, "?t=w/people&v=3").regions["side"]
    assert "step=undo" not in page(root, "?t=w/people&v=0").regions["side"]
    assert "Nothing to undo" in page(root, "?t=w/people&tab=act&step=undo&v=0").regions["lead"]


def test_a_finding_that_one_commit_caused_leads_to_its_undo(root: Path) -> None:
    lead = page(root, "?t=w/people&tab=audit").regions["lead"]
    table = explorer.open_table(root / "people")
    causes = [finding.cause for finding in table.audit().findings if finding.cause]
    assert len(re.findall(r"undo-way", lead)) == len(causes)


def test_pins_of_a_case_that_name_a_dropped_column_are_listed(root: Path) -> None:
    table = explorer.open_table(root / "names")
    here = table.location
    case = CaseFile(
        title="a case",
        pins=(
            RowsPin(version=1, where="t IS NULL", table=here),
            RowsPin(version=1, where="id = 1", table=here),
            FindingPin(id="swapped-names", subject="t", table=here),
            FindingPin(id="swapped-names", subject="t", table="file:///elsewhere"),
        ),
    )
    plan = table.plan({"kind": "drop-columns", "columns": ["t"]})
    assert case_traces(case, plan, here) == (
        "pinned rows of v1 where t IS NULL",
        "the finding swapped-names of t",
    )
    assert case_traces(case, table.plan({"kind": "set-description", "description": "x"}), here) == ()
