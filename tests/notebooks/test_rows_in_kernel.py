"""Rows that the widget reads in a real kernel: what the threads of the work draw reaches the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.core.errors import EngineUnavailable
from explorer.spark.engine.java import find_java
from tests.support.dose import WHOLE_DOSE
from tests.support.page_elements import Elements
from tests.support.shared_tables import reference_root

WAIT = """
import time
end = time.monotonic() + 90
while panel.stop.layout.display is None:
    assert time.monotonic() < end
    time.sleep(0.1)
"""


@pytest.mark.notebook
@pytest.mark.spark
@pytest.mark.reference
@pytest.mark.timeout(240)
@pytest.mark.skipif(not WHOLE_DOSE, reason="whole dose: make prove; jupyter/test_row_panels.py is the small one")
def test_rows_read_in_a_kernel_reach_the_page(jupyter_home: Path) -> None:
    try:
        find_java()
    except EngineUnavailable as error:
        pytest.skip(str(error))
    table = reference_root() / "tables" / "deletion-vectors"
    expected = json.loads((reference_root() / "expected" / "deletion-vectors.json").read_text("utf-8"))
    cells = [
        f"import explorer\nshown = explorer.open_table({str(table)!r}).explore(version=6, tab='data')\nshown",
        "panel = shown.panel('data')\npanel.begin.click()\nassert panel.stop.layout.display is None" + WAIT,
        "panel.where.value = 'id > 10 AND'\npanel.ask()" + WAIT,
    ]
    import nbformat
    from nbclient import NotebookClient

    story = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(story, timeout=180, store_widget_state=True)
    pages: list[str] = []
    with client.setup_kernel(cwd=str(jupyter_home)):
        for index, cell in enumerate(story.cells):
            client.execute_cell(cell, index)
            pages.append(_html(client.widget_state))
    _, rows, refused = pages
    read = Elements(rows.partition("<tbody>")[2]).names.count("tr")
    assert read == expected["versions"][6]["row_count"]
    assert "Show 100 rows" in json.dumps(client.widget_state)
    assert 'role="alert"' in refused
    assert "<tbody>" not in refused


def _html(state: dict[str, Any]) -> str:
    """The HTML of all widgets as the page has it, but for the list of files that differ."""
    values = [model["value"] for model in state.values() if model.get("_model_name") == "HTMLModel"]
    return "\n".join(value for value in values if 'aria-label="rows"' in value or "dte-problem" in value)
