"""Whatever a table holds is shown as text."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.jupyter.markup import joined, tag
from explorer.jupyter.tables import listing_table
from explorer.jupyter.tabs.differences_panel import differences_table
from explorer.views.rows.differences import DifferenceCell, DifferenceRow, RowDifferences
from explorer.views.rows.listings import changes_listing, rows_listing
from tests.jupyter.conftest import figure_of, shown
from tests.support.at_least_one import at_least_one
from tests.support.page_elements import Elements
from tests.support.small_logs import PROTOCOL, add, commit_info, metadata, write_log

HOSTILE = "<img src=x onerror=alert(1)>\"'&lt;</td></style><script>alert(2)</script>\u202e%{x}$y$"
OURS = {
    "b", "code", "dd", "div", "dl", "dt", "h4", "i", "input", "p", "s", "span", "table", "tbody", "td", "th", "thead",
    "tr",
}  # fmt: skip
ATTRIBUTES = {"aria-label", "class", "data-list", "data-row", "role", "scope", "style", "title", "type"}
SHARE = re.compile(r"flex-grow:[\d.]+")


@pytest.fixture
def widget(tmp_path: Path) -> explorer.jupyter.widget.TableExplorer:
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


def test_only_our_elements_reach_the_page(widget: explorer.jupyter.widget.TableExplorer) -> None:
    page = Elements(shown(widget))
    _holds_only_ours(shown(widget))
    assert page.text.count("<img src=x onerror=alert(1)>\"'&lt;</td></style><script>alert(2)</script>\ufffd") >= 4


@pytest.mark.parametrize("tab", ["data", "changes"])
def test_only_our_elements_reach_the_parts_that_show_rows(
    widget: explorer.jupyter.widget.TableExplorer, tab: str
) -> None:
    widget.tab = tab
    _holds_only_ours(shown(widget))


def test_names_and_values_of_rows_are_text() -> None:
    rows = pa.table({HOSTILE: [HOSTILE, None], "list": [[HOSTILE], []], "bytes": [HOSTILE.encode(), None]})
    places = pa.table({"path": [HOSTILE, HOSTILE], "row": [0, 1], "masked": [False, True]})
    changed = rows.append_column("_change_type", pa.array(["insert", HOSTILE]))
    changed = changed.append_column("_commit_version", pa.array([1, 2]))
    changed = changed.append_column("_commit_timestamp", pa.array([0, 0], pa.timestamp("us", "UTC")))
    for listing in (rows_listing("rows", rows, places), changes_listing("changes", changed)):
        page = listing_table(listing, listing.paged(), "rows")
        _holds_only_ours(page)
        assert Elements(page).text.count("<script>alert(2)</script>\ufffd") >= 3
    cell = DifferenceCell(HOSTILE, HOSTILE)
    row = DifferenceRow("~", "remasked", 1, False, (cell,))
    counts = {"inserted": 0, "deleted": 0, "updated": 1, "repeated": 0}
    found = RowDifferences((HOSTILE,), 1, 0, (row,), **counts, note=HOSTILE, left_out=((HOSTILE, HOSTILE),))
    _holds_only_ours(differences_table(found))


def _holds_only_ours(markup: str) -> None:
    page = Elements(markup)
    assert set(page.names) <= OURS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    assert all(SHARE.fullmatch(value or "") for name, value in page.attributes if name == "style")
    assert {value for name, value in page.attributes if name == "type"} <= {"checkbox"}
    assert "\u202e" not in markup


def test_figure_holds_no_markup_of_the_table(widget: explorer.jupyter.widget.TableExplorer) -> None:
    texts = [text for trace in figure_of(widget).data for text in trace.hovertext or ()]
    assert texts
    for text in texts:
        plain = text.replace("<br>", "")
        assert "<" not in plain
        assert "$" not in plain
        assert "%{" not in plain


def test_no_label_of_a_control_is_taken_as_html(widget: explorer.jupyter.widget.TableExplorer) -> None:
    waiting = list(widget.children)
    for part in at_least_one(waiting):
        waiting += getattr(part, "children", ())
        assert not getattr(part, "description_allow_html", False)


def test_markup_escapes_content_and_attributes_and_keeps_markup() -> None:
    inner = tag("b", HOSTILE, title=HOSTILE, class_="x")
    outer = joined(["<i>", inner, None, 7])
    assert Elements(outer).names == ["b"]
    assert Elements(outer).attributes[0] == ("title", HOSTILE.replace("\u202e", "\ufffd"))
    assert Elements(outer).text == "<i>" + HOSTILE.replace("\u202e", "\ufffd") + "7"
