"""What a saved notebook shows where no kernel lives, and how little it holds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import plotly
import pytest
from ipywidgets.embed import dependency_state

import explorer
from explorer.table import Table
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.pages.page_elements import Elements, assert_harmless
from tests.support.shared_tables import REPOSITORY

VIEW = "application/vnd.jupyter.widget-view+json"


def bundle(widget: Any) -> dict[str, Any]:
    found: dict[str, Any] = widget._repr_mimebundle_()[0]
    return found


def test_the_display_holds_the_widget_and_a_picture_of_it(orders: Table) -> None:
    found = bundle(orders.explore(version=3))
    assert set(found) == {VIEW, "text/html", "text/plain"}
    page = Elements(found["text/html"])
    assert page.names.count("svg") == 1
    outlines = [value or "" for name, value in page.attributes if name == "d"]
    assert sum(outline.count("M") for outline in outlines) == 4  # v1 to v3 add rows, v5 removes some
    picture = found["text/html"]
    drawn = ElementTree.fromstring(picture[picture.index("<svg") : picture.index("</svg>") + len("</svg>")])  # noqa: S314  # ours
    assert len(drawn) == 4, "an element that is not closed hides those after it"
    for text in ("orders, v3", "WRITE by etl", "+30", "DELETE"):
        assert text in page.text, text
        assert text in found["text/plain"], text
    assert len(found["text/html"]) < 12_000


def test_nothing_of_the_table_is_markup_and_nothing_is_fetched(tmp_path: Path) -> None:
    created = [commit_info(HOSTILE, user_name=HOSTILE), PROTOCOL, metadata({HOSTILE: "string"})]
    loaded = [commit_info(HOSTILE, user_name=HOSTILE), add("a.parquet", 3)]
    found = bundle(explorer.open_table(write_log(tmp_path / "<b>t", [created, loaded])).explore())
    assert_harmless(found["text/html"])
    assert {name for name, _ in Elements(found["text/html"]).attributes}.isdisjoint({"src", "href", "srcset"})
    assert "\x1b" not in found["text/plain"]


@pytest.mark.whole("the other tests of this file")
def test_a_long_history_is_a_small_picture(tmp_path: Path) -> None:
    commits = [[PROTOCOL, metadata({"a": "long"})], *[[add(f"{n}.parquet", n)] for n in range(1, 1_500)]]
    found = bundle(explorer.open_table(write_log(tmp_path / "long", commits)).explore())
    assert len(found["text/html"]) < 25_000


def test_a_table_that_cannot_be_read_is_pictured_as_its_error(tmp_path: Path) -> None:
    write_log(tmp_path / "t", [[PROTOCOL, metadata({"a": "long"})], [b'{"add":']])
    found = bundle(explorer.open_table(tmp_path / "t").explore())
    assert "MalformedAction" in found["text/html"]
    assert "MalformedAction" in found["text/plain"]


def test_scripts_and_plotly_are_sent_when_a_page_asks_and_are_no_state(orders: Table) -> None:
    widget = orders.explore()
    state = widget.get_state()
    assert len(state["_esm"]) < 4_000
    assert state.keys().isdisjoint({"version", "tab", "predicate"}), "the address is the kernel's"
    sent: list[Any] = []
    widget.send = lambda content, buffers: sent.append((content, buffers))
    for kind in ("kit", "plotly"):
        widget._handle_custom_msg({"kind": kind, "view": "one"}, [])
    (kit, (parts,)), (figures, (packed,)) = sent
    assert (kit, figures) == ({"kind": "kit"}, {"kind": "plotly"})
    assert json.loads(gzip.decompress(parts)).keys() == {"rules", "script"}
    bundled = Path(plotly.__file__).with_name("package_data") / "plotly.min.js"
    assert gzip.decompress(packed) == bundled.read_bytes()


def test_the_widget_can_be_embedded_in_a_page(orders: Table) -> None:
    widget = orders.explore()
    assert widget.model_id in dependency_state([widget], drop_defaults=True)


@pytest.mark.whole("test_scripts_and_plotly_are_sent_when_a_page_asks_and_are_no_state")
@pytest.mark.notebook
def test_a_notebook_saved_with_its_state_is_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    commits = [[PROTOCOL, metadata({"a": "long"})], *[[add(f"{n}.parquet", n)] for n in range(1, 40)]]
    folder = write_log(tmp_path / "t", commits)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    cell = f"import explorer\nshown = explorer.open_table({str(folder)!r}).explore()\nshown"
    cells = [cell, cell.replace("shown", "other")]
    story = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    NotebookClient(story, timeout=120, store_widget_state=True).execute(cwd=str(tmp_path))
    saved = json.dumps(story)
    assert '"AnyModel"' in saved
    assert len(saved) < 100_000, len(saved)
