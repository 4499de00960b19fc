"""What a saved notebook shows where no kernel lives, and how little it holds."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ipywidgets
import numpy as np
import plotly
import pytest
from ipywidgets.embed import dependency_state

import explorer
from explorer.jupyter.browser.figure import LeanFigure
from explorer.jupyter.tabs import TABS
from explorer.table import Table
from tests.jupyter.conftest import figure_of
from tests.support.hostile_tables import HOSTILE
from tests.support.page_elements import Elements, assert_harmless
from tests.support.shared_tables import REPOSITORY
from tests.support.small_logs import PROTOCOL, add, commit_info, metadata, write_log

VIEW = "application/vnd.jupyter.widget-view+json"


def bundle(widget: Any) -> dict[str, Any]:
    found: dict[str, Any] = widget._repr_mimebundle_()
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


def test_a_long_history_is_a_small_picture(tmp_path: Path) -> None:
    commits = [[PROTOCOL, metadata({"a": "long"})], *[[add(f"{n}.parquet", n)] for n in range(1, 1_500)]]
    found = bundle(explorer.open_table(write_log(tmp_path / "long", commits)).explore())
    assert len(found["text/html"]) < 25_000


def test_a_table_that_cannot_be_read_is_pictured_as_its_error(tmp_path: Path) -> None:
    write_log(tmp_path / "t", [[PROTOCOL, metadata({"a": "long"})], [b'{"add":']])
    found = bundle(explorer.open_table(tmp_path / "t").explore())
    assert "MalformedAction" in found["text/html"]
    assert "MalformedAction" in found["text/plain"]


def test_plotly_and_what_it_draws_are_sent_when_a_page_asks_and_are_no_state(orders: Table) -> None:
    figure = figure_of(orders.explore())
    assert isinstance(figure, LeanFigure)
    state = figure.get_state()
    assert len(state["_esm"]) < 4_000
    assert state.keys().isdisjoint({"_widget_data", "_widget_layout"})
    sent: list[Any] = []
    figure.send = lambda content, buffers: sent.append((content, buffers))
    figure._handle_custom_msg({"kind": "something else"}, [])
    assert sent == []
    figure.layout.title = "moved"
    figure._handle_custom_msg({"kind": "plotly"}, [])
    figure._handle_custom_msg({"kind": "drawn"}, [])
    (of_plotly, [packed]), (first, arrays) = sent
    assert of_plotly == {"kind": "plotly"}
    bundled = Path(plotly.__file__).with_name("package_data") / "widgetbundle.js"
    assert gzip.decompress(packed) == bundled.read_bytes()
    assert first["drawn"]["_widget_layout"]["title"] == {"text": "moved"}
    assert len(first["paths"]) == len(arrays)
    assert [trace["type"] for trace in first["drawn"]["_widget_data"]] == [trace.type for trace in figure.data]
    plain = figure.to_plotly_json()
    for path, array in zip(first["paths"], arrays, strict=True):
        told, meant = first["drawn"], {"_widget_data": plain["data"], "_widget_layout": plain["layout"]}
        for key in path[:-1]:
            told, meant = told[key], meant[key]
        assert np.frombuffer(array, told["dtype"]).tolist() == _numbers(meant)


def _numbers(array: Any) -> list[float]:
    """The numbers of an array as plotly's JSON has it."""
    coded = isinstance(array, dict)
    found: list[float] = (np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]) if coded else array).tolist()
    return found


def test_every_part_can_be_embedded_in_a_page(orders: Table) -> None:
    widget = orders.explore()
    for tab in TABS:
        widget.tab = tab
    state = dependency_state([widget], drop_defaults=True)
    assert widget.model_id in state
    assert {state[panel.model_id]["model_name"] for panel in map(widget.panel, ("diff", "columns"))} == {"VBoxModel"}


def test_a_figure_that_is_drawn_anew_is_closed(orders: Table) -> None:
    widget = orders.explore(tab="columns")
    (before,) = (child for box in widget.panel("columns").children for child in getattr(box, "children", ())
                 if isinstance(child, LeanFigure))  # fmt: skip
    widget.version = 1
    assert before.comm is None
    (after,) = (child for box in widget.panel("columns").children for child in getattr(box, "children", ())
                if isinstance(child, LeanFigure))  # fmt: skip
    assert after.comm is not None


def test_widgets_share_the_style_sheet_unless_it_was_closed(orders: Table) -> None:
    first, second = orders.explore(), orders.explore()
    assert first.children[0] is second.children[0]
    first.close()
    assert orders.explore().children[0] is second.children[0]
    second.children[0].close()
    assert orders.explore().children[0].comm is not None


@pytest.mark.notebook
def test_a_notebook_saved_with_its_state_is_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    commits = [[PROTOCOL, metadata({"a": "long"})], *[[add(f"{n}.parquet", n)] for n in range(1, 40)]]
    folder = write_log(tmp_path / "t", commits)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    cell = f"import explorer\nshown = explorer.open_table({str(folder)!r}).explore()\nshown"
    story = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    NotebookClient(story, timeout=120, store_widget_state=True).execute(cwd=str(tmp_path))
    _drop_defaults(story)
    saved = json.dumps(story)
    assert '"FigureModel"' in saved or '"AnyModel"' in saved
    assert len(saved) < 100_000, len(saved)


def _drop_defaults(story: Any) -> None:
    """Leave out what a page leaves out when it saves: values that are those of a fresh model, and nulls."""
    fresh = {
        kind.__name__: kind().get_state()
        for kind in (ipywidgets.Layout, ipywidgets.HTML, ipywidgets.Button, ipywidgets.HBox, ipywidgets.VBox)
    }
    models = story.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    for model in models.values():
        defaults = fresh.get(model["model_name"].removesuffix("Model"), {})
        kept = {k: v for k, v in model["state"].items() if v is not None and (k not in defaults or v != defaults[k])}
        model["state"] = kept
