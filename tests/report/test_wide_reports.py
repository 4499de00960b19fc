"""Reports of wide tables: the page names the first changes of a commit, and its data has all of them."""

from __future__ import annotations

import json
from pathlib import Path

import explorer
from explorer.report import render, verify_report
from tests.support.logs.wide_tables import column_name, wide_table
from tests.support.pages.page_elements import Elements

_COLUMNS = 4_000


def test_a_commit_of_many_changes_names_the_first_and_the_data_has_all(tmp_path: Path) -> None:
    report = explorer.open_table(wide_table(tmp_path / "wide", _COLUMNS)).report()
    html = render(report)
    page = Elements(html.partition('<script type="application/json"')[0])
    assert f"column {column_name(_COLUMNS // 2)} added" in page.text
    assert f"and {_COLUMNS // 2 - 200:,} more changes, in the data of this file" in page.text
    assert page.names.count("span") < 1_000
    assert report.changes is not None
    assert len(report.changes[0].changes) == _COLUMNS // 2
    assert json.dumps(f"column {column_name(_COLUMNS - 1)} added")[1:-1] in html
    assert verify_report(html.encode()).valid
