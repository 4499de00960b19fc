"""Credentials in addresses: none is in a page, a report, a receipt, a case file, the server's log or what is stored."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.cli.app import run
from explorer.core.errors import StorageError
from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.page.tabs import TABS
from explorer.views.act.receipt import receipt
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info, remove, write_log
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.open_windows import Window

CANARY = "CANARY4711"
PATHS = (f"s3://bucket/f.parquet?sig={CANARY}", f"s3://user:{CANARY}@bucket/g.parquet")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of one table, whose log names files by addresses with credentials."""
    lines: list[list[Any]] = [
        [commit_info("CREATE TABLE"), PROTOCOL, METADATA],
        [commit_info("WRITE"), *(add(path) for path in PATHS)],
        [commit_info("DELETE"), remove(PATHS[0])],
    ]
    write_log(tmp_path / "w" / "t", lines)
    return tmp_path / "w"


def shown_in(catalog: Catalog, view: str) -> list[Rendered]:
    """Each tab at the newest version and at an older one."""
    addresses = [f"?t=w/t&tab={tab.key}&view={view}{version}" for tab in TABS for version in ("", "&v=1")]
    return [table_page(catalog, Address.parse(each), "light", idle_work(catalog)) for each in addresses]


@pytest.mark.parametrize("view", ["chart", "table"])
def test_no_text_of_a_tab_and_nothing_kept_of_it_has_credentials_of_the_paths_in_a_log(
    root: Path, view: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "explorer")
    for page in shown_in(Catalog([str(root)]), view):
        assert page.view is not None
        texts = re.sub(r"<[^>]*>", "", "".join(page.regions.values()))
        assert CANARY not in "".join((page.title, texts, str(page.timeline), str(page.chart)))
    assert CANARY not in caplog.text
    cache = Path(os.environ["DELTA_EXPLORER_CACHE"])
    assert not any(CANARY.encode() in file.read_bytes() for file in cache.rglob("*") if file.is_file())


def test_no_link_of_a_tab_has_credentials_of_the_paths_in_a_log(root: Path) -> None:
    for page in at_least_one(shown_in(Catalog([str(root)]), "table")):
        assert CANARY not in "".join(page.regions.values())


def test_no_report_holds_credentials_of_the_paths_in_a_log(
    root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run(["audit", str(root / "t"), "--html", str(tmp_path / "report.html")])
    run(["audit", str(root / "t"), "--json"])
    told = capfd.readouterr()
    assert "<html" in (html := (tmp_path / "report.html").read_text("utf-8"))
    assert CANARY not in told.out + told.err + html


def test_a_receipt_has_no_credentials_of_the_paths_in_a_log(root: Path) -> None:
    table = explorer.open_table(root / "t")
    plan = table.plan({"kind": "set-properties", "properties": {"a": "b"}})
    told = receipt(table.commit(plan), plan, "r", "a")
    assert told.outcome == "committed"
    assert CANARY not in repr(told)


@pytest.mark.parametrize("path", PATHS)
def test_a_case_file_has_no_credentials_of_the_paths_in_a_log(root: Path, path: str) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t&v=1")
    window.ask("pin", pin="file", path=path)
    window.ask("go", query="?t=w/t&v=1&tab=case")
    assert CANARY not in str(window.heard)


def test_an_error_with_an_address_is_told_and_logged_without_its_credentials(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "explorer")
    secret = f"s3://user:{CANARY}@bucket/t"
    window = Window(Catalog([str(root)]), "?t=w/t")
    window.session.tell(ValueError(f"{secret} does not answer"))
    window.session.tell(StorageError(f"{secret} does not answer", path=secret))
    assert CANARY not in str(window.heard)
    window.session.query = f"?t={secret}"
    window.session.tell(KeyError("shapes"))
    assert "shapes" in caplog.text
    assert CANARY not in caplog.text
