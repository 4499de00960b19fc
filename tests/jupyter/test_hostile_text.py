"""Whatever a table holds is shown as text."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.jupyter.markup import joined, tag
from tests.jupyter.conftest import figure_of, shown
from tests.jupyter.logs import Elements, add, commit_info, metadata, protocol, write_log

HOSTILE = "<img src=x onerror=alert(1)>\"'&lt;</td></style><script>alert(2)</script>\u202e%{x}$y$"
OURS = {
    "b", "code", "dd", "div", "dl", "dt", "h4", "p", "span", "table", "tbody", "td", "th", "thead", "tr",
}  # fmt: skip
ATTRIBUTES = {"aria-label", "class", "role", "scope", "title"}


@pytest.fixture
def widget(tmp_path: Path) -> explorer.jupyter.widget.TableExplorer:
    region = {HOSTILE: f"eu{HOSTILE}"}
    commits = [
        [
            commit_info(operation=f"CREATE{HOSTILE}", userName=HOSTILE),
            protocol(),
            metadata({"a": "long", HOSTILE: "string"}, [HOSTILE]),
        ],
        [
            commit_info(operation=HOSTILE, userName=HOSTILE, userMetadata=HOSTILE, engineInfo=HOSTILE),
            metadata({"a": "long", HOSTILE: "string", f"b{HOSTILE}": "string"}, [HOSTILE], {HOSTILE: HOSTILE}),
            add("%3Cimg%20src=x%20onerror=alert(1)%3E%22'.parquet", partition=region),
        ],
    ]
    return explorer.open_table(write_log(tmp_path / "<b>orders", commits)).explore()


def test_only_our_elements_reach_the_page(widget: explorer.jupyter.widget.TableExplorer) -> None:
    page = Elements(shown(widget))
    assert set(page.names) <= OURS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    assert page.text.count("<img src=x onerror=alert(1)>\"'&lt;</td></style><script>alert(2)</script>\ufffd") >= 4
    assert "\u202e" not in shown(widget)


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
    for part in waiting:
        waiting += getattr(part, "children", ())
        assert not getattr(part, "description_allow_html", False)


def test_markup_escapes_content_and_attributes_and_keeps_markup() -> None:
    inner = tag("b", HOSTILE, title=HOSTILE, class_="x")
    outer = joined(["<i>", inner, None, 7])
    assert Elements(outer).names == ["b"]
    assert Elements(outer).attributes[0] == ("title", HOSTILE.replace("\u202e", "\ufffd"))
    assert Elements(outer).text == "<i>" + HOSTILE.replace("\u202e", "\ufffd") + "7"
