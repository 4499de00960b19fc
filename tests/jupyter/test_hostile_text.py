"""Whatever a table holds is shown as text in the notebook too, and its figures hold no markup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import explorer
from explorer.jupyter.displays import joined, tag
from explorer.jupyter.widget import TableExplorer
from explorer.page.tabs import TABS
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.pages.page_elements import Elements, assert_harmless
from tests.support.pages.widget_view import View

HOSTILE = "<img src=x onerror=alert(1)>\"'&lt;</td></style><script>alert(2)</script>\u202e%{x}$y$"


@pytest.fixture
def widget(tmp_path: Path) -> TableExplorer:
    region = {HOSTILE: f"eu{HOSTILE}"}
    commits = [
        [
            commit_info(f"CREATE{HOSTILE}", user_name=HOSTILE),
            PROTOCOL,
            metadata({"a": "long", HOSTILE: "string"}, [HOSTILE]),
        ],
        [
            commit_info(HOSTILE, user_name=HOSTILE, user_metadata=HOSTILE, engine_info=HOSTILE),
            metadata({"a": "long", HOSTILE: "string", f"b{HOSTILE}": "string"}, [HOSTILE], {HOSTILE: HOSTILE}),
            add("%3Cimg%20src=x%20onerror=alert(1)%3E%22'.parquet", partition_values=region),
        ],
    ]
    return explorer.open_table(write_log(tmp_path / "<b>orders", commits)).explore()


def test_no_element_of_the_table_reaches_any_tab(widget: TableExplorer) -> None:
    view = View(widget)
    for tab in TABS:
        widget.tab = tab.key
        assert view.shows(f'aria-current="page">{tab.label}')
        assert_harmless(view.html)
        assert "img" not in Elements(view.html).names
    whole = view.until(lambda message: message["kind"] == "window")["html"]
    assert_harmless(whole)


def test_figure_holds_no_markup_of_the_table(widget: TableExplorer) -> None:
    drawn = json.dumps(View(widget).figures)
    assert "<img" not in drawn
    assert "<script" not in drawn
    assert "$y$" not in drawn
    assert "%{x}$" not in drawn


def test_markup_escapes_content_and_attributes_and_keeps_markup() -> None:
    inner = tag("b", HOSTILE, title=HOSTILE, class_="x")
    outer = joined(["<i>", inner, None, 7])
    assert Elements(outer).names == ["b"]
    assert Elements(outer).attributes[0] == ("title", HOSTILE.replace("\u202e", "\ufffd"))
    assert Elements(outer).text == "<i>" + HOSTILE.replace("\u202e", "\ufffd") + "7"
