"""The Edit tab in a browser: rules held against rows, commits, what is refused, hostile text."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.protocol.actions import TransactionAction
from tests.e2e.conftest import settle
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.served_pages import SERVE_COMMITS, enter, served
from tests.support.pages.waiting import wait_until
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.e2e, pytest.mark.sampled(tests=1)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("writable") / "act"
    shutil.copytree(reference_root() / "tables" / "optimize", found / "optimize")
    hostile_tables.hostile_table(found / "hostile")
    created = hostile_tables.created({"id": "long"})
    removed = small_logs.remove("old.parquet", deletion_timestamp=small_logs.LONG_AGO)
    small_logs.write_log(found / "moving", [created])
    small_logs.write_log(found / "described", [created])
    small_logs.write_log(found / "unused", [created, [small_logs.add("old.parquet", 2)], [removed]])
    (found / "unused" / "old.parquet").write_bytes(b"x" * 700)
    os.utime(found / "unused" / "old.parquet", (1_772_460_311, 1_772_460_311))
    return found


@pytest.fixture(scope="module")
def writable(root: Path) -> Iterator[str]:
    """Serve tables that may be changed, in a process of its own; yields the URL."""
    with served(root, SERVE_COMMITS, root.parent / "server.log") as url:
        yield url


@pytest.fixture
def act(watched: Any, writable: str) -> Callable[[str], Any]:
    """Return a function that opens a query on the writable server."""

    def open_query(query: str) -> Any:
        enter(watched.context, writable)
        watched.goto(f"{writable}/{query}")
        settle(watched)
        # An address alone plans nothing.
        if "step=plan" in query and (button := watched.locator("#act-plan")).is_visible():
            button.click()
            settle(watched)
        return watched

    return open_query


def newest(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = explorer.open_table(folder).history(1).to_pylist()[0]
    return record


@pytest.mark.whole("tests/web/act, and tests/spark/checks")
def test_a_rule_is_held_against_the_rows_and_what_breaks_it_is_shown(opened: Any) -> None:
    page = opened("?t=shop/reference/optimize&tab=act")
    page.get_by_role("link", name="Add a constraint").click()
    page.locator("#f-name").fill("small")
    page.locator("#f-expression").press_sequentially("idd < 5", delay=5)
    page.get_by_text("Did you mean id?").wait_for()
    assert "f.expression=idd" in page.url
    assert page.evaluate("document.activeElement.id") == "f-expression"
    page.locator("#f-expression").fill("id < 5")
    page.get_by_text("Ready.").wait_for()
    assert "id: long" in page.locator("#act-note-expression").inner_text()
    page.get_by_role("button", name="Preview plan").click()
    page.get_by_role("button", name="Check the data").click()
    page.locator("#look").get_by_role("button", name="Cancel").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Cancel"
    page.locator("#look .bar-line").wait_for(timeout=90_000)
    found = page.locator(".guards > li").first.inner_text()
    if "could not be checked" in found:
        pytest.skip("no Spark on this machine")
    assert "of 24 rows do not satisfy it" in found
    assert "rowIndex" in found
    number = found.partition(" of 24 rows")[0].split()[-1]
    # From what breaks the rule to these rows, and back to the same plan.
    page.get_by_role("link", name=f"Show these {number} rows").click()
    page.locator("#rows-where").wait_for()
    assert page.locator("#rows-where").input_value() == "(id < 5) IS NOT TRUE"
    page.get_by_role("button", name="Show 100 rows").click()
    page.locator("table.list tbody tr").nth(int(number) - 1).wait_for()
    assert page.locator("table.list tbody tr").count() == int(number)
    page.get_by_role("link", name="Back to the plan").click()
    page.get_by_text("rows do not satisfy it").wait_for()
    # To a guarded deletion of these rows, and back.
    page.get_by_role("link", name=f"Delete these {number} rows").click()
    page.locator("#f-where").wait_for()
    assert page.locator("#f-where").input_value() == "(id < 5) IS NOT TRUE"
    page.get_by_role("button", name="Preview plan").click()
    page.get_by_text(f"{number} rows in ").wait_for()
    page.get_by_role("link", name="Back to the plan: add a constraint").click()
    page.get_by_role("heading", name="Add constraint small").wait_for()
    page.get_by_role("link", name="Back", exact=True).click()
    page.locator("#f-expression").fill("id >= 0")
    page.get_by_role("button", name="Preview plan").click()
    page.get_by_role("button", name="Check the data").click()
    page.get_by_text("All 24 rows satisfy it.").wait_for()


@pytest.mark.whole("tests/page/act, without a browser")
def test_a_rule_is_accepted_unseen_committed_and_stands_in_the_history(act: Callable[[str], Any], root: Path) -> None:
    page = act("?t=act/optimize&tab=act&act=add-constraint&f.name=positive&f.expression=id+%3E%3D+0&step=plan")
    page.get_by_label("Your name").fill("Ana <b>")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Ana <b> · can commit").wait_for()
    assert page.locator("form[data-confirm]").count() == 0
    page.get_by_text("Accept as unknown\u2026").click()
    page.get_by_label("Name of the guard").fill("existing-rows")
    page.get_by_role("button", name="Accept as unknown").click()
    commit = page.get_by_role("button", name="Commit v15")
    page.locator("#confirm-name").fill("optimise")
    page.locator("#confirm-reason").fill("Agreed <b>")
    assert commit.is_disabled()
    page.locator("#confirm-name").fill("optimize")
    commit.click()
    page.locator("[data-outcome=committed]").wait_for()
    assert "Committed v15." in page.evaluate("document.activeElement.textContent")
    written = newest(root / "optimize")
    assert (written["version"], written["operation"]) == (15, "ADD CONSTRAINT")
    assert (written["user_name"], written["reason"]) == ("Ana <b>", "Agreed <b>")
    wait_until(page, "location.search.includes('step=receipt')")
    settle(page)
    assert "f." not in page.url.partition("?")[2]
    page.reload()
    settle(page)
    receipt = page.locator("[data-outcome=committed]").inner_text()
    for text in ("Committed v15.", "Agreed <b>", "file digest", "chain head", "UTC"):
        assert text in receipt, text
    with page.expect_download() as download:
        page.get_by_role("button", name="Save receipt as JSON").click()
    assert download.value.suggested_filename == "optimize-v15-receipt.json"
    saved = json.loads(Path(download.value.path()).read_text())
    assert saved["chainHead"] == explorer.open_table(root / "optimize").verify().chain_head
    assert (saved["version"], saved["reason"]) == (15, "Agreed <b>")
    page.get_by_role("link", name="Show v15").click()
    settle(page)
    assert page.locator("h1.version").inner_text() == "v15"
    assert "Agreed <b>" in page.locator("#side").inner_text()
    assert "id >= 0" in page.locator("#side").inner_text()


@pytest.mark.whole("tests/page/act, without a browser")
def test_the_reason_and_the_name_outlive_a_reload_and_the_reason_ends_with_its_commit(
    act: Callable[[str], Any], root: Path
) -> None:
    page = act("?t=act/described&tab=act&act=set-description&f.description=What+a+row+is&step=plan")
    page.get_by_label("Your name").fill("Ana")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Ana · can commit").wait_for()
    page.locator("#confirm-reason").fill("People asked")
    page.reload()
    settle(page)
    # The form is as it was left; a plan is made by a click alone, never by loading an address.
    assert page.locator("#f-description").input_value() == "What a row is"
    assert page.locator("#confirm-reason").count() == 0
    page.locator("#act-plan").click()
    settle(page)
    page.locator("#confirm-reason").wait_for()
    assert page.locator("#confirm-reason").input_value() == "People asked"
    assert page.get_by_label("Your name").input_value() == "Ana"
    assert page.locator("#confirm-name").input_value() == ""
    assert "asked" not in page.url
    page.locator("#confirm-name").fill("described")
    page.get_by_role("button", name="Commit v1").click()
    page.locator("[data-outcome=committed]").wait_for()
    written = newest(root / "described")
    assert (written["user_name"], written["reason"]) == ("Ana", "People asked")
    kept = page.evaluate("Object.entries(sessionStorage).filter(([key]) => key.startsWith('explorer'))")
    assert {key for key, _ in kept} <= {"explorer case"}
    assert "People asked" not in str(kept)


@pytest.mark.whole("tests/page/act/test_pages.py")
def test_a_server_without_commits_plans_and_is_refused_by_the_table(opened: Any, warehouse: Path) -> None:
    page = opened("?t=shop/reference/optimize&tab=act&act=set-description&f.description=x&step=plan")
    assert page.locator("[data-plan]").count() == 0, "an address alone plans nothing"
    page.locator("#act-plan").click()
    page.locator("[data-plan]").wait_for()
    assert "This server is read-only." in page.locator("#lead").inner_text()
    assert page.locator("form[data-confirm]").count() == 0
    digest = page.locator("[data-plan]").get_attribute("data-plan")
    page.evaluate("digest => explorerPage.ask('commit', {digest, name: 'optimize', reason: 'anyway'})", digest)
    page.locator("[data-kind=NotAllowed]").wait_for()
    assert newest(warehouse / "reference" / "optimize")["version"] == 14


@pytest.mark.whole("tests/page/act/test_pages.py")
def test_hostile_text_is_planned_committed_and_shown_as_text(act: Callable[[str], Any], root: Path) -> None:
    page = act("?t=act/hostile&tab=act&act=set-description")
    page.locator("#f-description").fill("Now " + hostile_tables.HOSTILE)
    page.get_by_role("button", name="Preview plan").click()
    page.locator("#confirm-reason").fill(hostile_tables.HOSTILE)
    page.locator("#confirm-name").fill("hostile")
    page.locator("#actions summary").last.click()
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main iframe").count() == 0
    page.get_by_role("button", name="Commit v").click()
    page.locator("[data-outcome]").wait_for()
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main iframe").count() == 0
    assert newest(root / "hostile")["reason"] == hostile_tables.HOSTILE


def _tab_to(page: Any, id_: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == id_:
            return
    pytest.fail(f"Tab does not reach {id_}")


@pytest.mark.whole("tests/page/act, without a browser")
def test_unused_files_are_deleted_with_the_keyboard_alone(act: Callable[[str], Any], root: Path) -> None:
    page = act("?t=act/unused&tab=act")
    page.get_by_role("link", name="Delete unused files").focus()
    page.keyboard.press("Enter")
    page.get_by_text("Planning lists all files in the").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Vacuum: delete unused files"
    _tab_to(page, "f-olderThan")
    page.keyboard.type("soon")
    page.get_by_text("is neither an interval").wait_for()
    page.keyboard.press("Control+a")
    page.keyboard.type("interval 8 days")
    page.get_by_text("Planning lists all files in the").wait_for()
    page.keyboard.press("Enter")
    page.locator("#files").wait_for()
    assert page.evaluate("document.activeElement.className") == "asked"
    assert "This can be done." in page.locator("#spoken").inner_text()
    assert "not needed since version 2" in page.locator("#files").inner_text()
    heading, bar = page.locator(".steps").bounding_box(), page.locator("#bar").bounding_box()
    assert heading["y"] >= bar["y"] + bar["height"]
    assert (root / "unused" / "old.parquet").exists()
    _tab_to(page, "confirm-reason")
    page.keyboard.type("storage is full")
    _tab_to(page, "confirm-name")
    page.keyboard.type("unused")
    page.keyboard.press("Enter")
    page.locator("[data-outcome=committed]").wait_for()
    assert "1 file deleted. The log records it in v3 and v4; the rows are those of v2." in page.evaluate(
        "document.activeElement.textContent"
    )
    assert "1 file deleted" in page.locator("#spoken").inner_text()
    assert not (root / "unused" / "old.parquet").exists()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "What the digests prove"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Show the table"


def test_a_plan_that_was_overtaken_is_made_anew_and_committed(act: Callable[[str], Any], root: Path) -> None:
    page = act("?t=act/moving&tab=act&act=set-description&f.description=x&step=plan")
    page.locator("#confirm-reason").fill("because")
    other = TransactionAction(app_id="other", version=1)
    small_logs.write_log(root / "moving", [[small_logs.commit_info("WRITE"), other]], 1)
    page.locator("#confirm-name").fill("moving")
    page.get_by_role("button", name="Commit v1").click()
    page.locator("[data-outcome=committed]").wait_for()
    assert "Committed v2." in page.locator(".outcome").inner_text()
    assert "Others committed after v0" in page.locator("#lead").inner_text()
