"""Undoing commits in a browser: the exact inverse from a receipt, and a restore past an erasure that must be named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import explorer
from tests.e2e.conftest import settle
from tests.support.logs.small_logs import add, commit_info, metadata, remove, write_log
from tests.support.logs.small_proposals import protocol
from tests.support.pages.served_pages import SERVE_COMMITS, enter, served

pytestmark = [pytest.mark.e2e, pytest.mark.sampled(tests=1)]

MAPPED = {"delta.columnMapping.mode": "name"}
V7 = protocol(2, 7, w="columnMapping appendOnly invariants")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("undone") / "lake"
    named = explorer.open_table(write_log(found / "names", [[protocol(1, 2), metadata({"id": "long", "s": "string"})]]))
    assert named.commit(named.plan({"kind": "set-properties", "properties": MAPPED}), user="eva").outcome == "committed"
    erased = commit_info(
        "DELETE",
        user_name="eva",
        user_metadata="erasure request 17",
        operation_metrics={"numDeletedRows": "3"},
        operation_parameters={"predicate": '["id = 7"]'},
    )
    load = commit_info("WRITE", user_name="etl", user_metadata="nightly load")
    created = [commit_info("CREATE TABLE"), protocol(1, 2), metadata({"id": "long"}), add("a.parquet", 5)]
    mistake = [commit_info("WRITE", user_name="bo", user_metadata="wrong file"), add("b.parquet", 2)]
    folder = write_log(found / "people", [created, mistake, [erased, remove("a.parquet")], [load, add("c.parquet", 1)]])
    for name in "abc":
        (folder / f"{name}.parquet").write_bytes(b"x" * 100)
    return found


@pytest.fixture(scope="module")
def writable(root: Path) -> Iterator[str]:
    with served(root, SERVE_COMMITS, root.parent / "server.log") as url:
        yield url


@pytest.fixture
def act(watched: Any, writable: str) -> Callable[[str], Any]:
    def open_query(query: str) -> Any:
        enter(watched.context, writable)
        watched.goto(f"{writable}/{query}")
        settle(watched)
        return watched

    return open_query


def commit(page: Any, table: str, reason: str, button: str) -> None:
    page.locator("#confirm-reason").fill(reason)
    page.locator("#confirm-name").fill(table)
    page.get_by_role("button", name=button).click()
    page.locator("[data-outcome=committed]").wait_for()
    settle(page)


@pytest.mark.whole("tests/views/act and tests/page/act, without a browser")
def test_a_rename_is_undone_from_its_receipt_and_nothing_else(act: Callable[[str], Any], root: Path) -> None:
    page = act("?t=lake/names&tab=act&act=rename-column&f.column=s&f.to=t")
    page.get_by_role("button", name="Preview plan").click()
    commit(page, "names", "a better name", "Commit v2")
    page.get_by_role("link", name="Undo v2").click()
    page.get_by_text("Rename t to s again. No other commit is undone.", exact=True).wait_for()
    page.get_by_text("this commit alone", exact=True).wait_for()
    page.get_by_role("link", name="Preview plan").click()
    page.get_by_role("heading", name="Rename").wait_for()
    commit(page, "names", "the old name was right", "Commit v3")
    table = explorer.open_table(root / "names")
    assert [field.name for field in table.snapshot().schema.fields] == ["id", "s"]
    assert table.snapshot().metadata.configuration["delta.columnMapping.mode"] == "name"


@pytest.mark.whole("tests/page/act/test_pages.py")
def test_the_address_of_an_undo_opened_from_elsewhere_plans_nothing(act: Callable[[str], Any]) -> None:
    page = act("?t=lake/people&tab=act&step=undo&v=1")
    page.locator("#lead").get_by_text("Restore version 0. That undoes 2 later commits too.").wait_for()
    assert page.locator("[data-plan]").count() == 0


@pytest.mark.whole("tests/page/act/test_undo_pages.py, and tests/core/transaction/test_undone_changes.py")
def test_a_restore_past_an_erasure_is_refused_until_it_is_accepted_by_name(
    act: Callable[[str], Any], root: Path
) -> None:
    page = act("?t=lake/people&v=1")
    page.locator("#side").get_by_role("link", name="Undo v1").click()
    lost = page.locator("#lost")
    lost.get_by_text("erasure request 17").wait_for()
    assert lost.locator("tr.erases").count() == 1
    assert "nightly load" in lost.inner_text()
    page.locator("#lead").get_by_text("erased rows return").wait_for()
    page.get_by_role("link", name="Preview plan").click()
    page.locator("#lead").get_by_text("Nothing is committed unless you accept this by name.").wait_for()
    assert page.locator("form[data-confirm]").count() == 0
    page.locator("#lead").get_by_text("Accept by name\u2026").click()
    page.get_by_label("Name of the guard").fill("restore")
    page.get_by_role("button", name="Accept by name").click()
    page.locator("#notice").get_by_text("No guard to accept is called").wait_for()
    assert explorer.open_table(root / "people").latest_version() == 3
    if not page.get_by_label("Name of the guard").is_visible():
        page.locator("#lead").get_by_text("Accept by name\u2026").click()
    page.get_by_label("Name of the guard").fill("erased-rows")
    page.get_by_role("button", name="Accept by name").click()
    page.locator("#lead").get_by_text("as you accepted erased-rows by name").first.wait_for()
    commit(page, "people", "the request was withdrawn", "Commit v4")
    assert explorer.open_table(root / "people").snapshot().num_files == 1
