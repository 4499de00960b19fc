"""Rows that the widget reads in a real kernel: what the work of threads draws reaches the page, on the loop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.core.errors import EngineUnavailable
from explorer.spark.engine.java import find_java
from tests.support.dose import WHOLE_DOSE
from tests.support.pages.page_elements import Elements
from tests.support.shared_tables import reference_root

BEGIN = """
import asyncio
import explorer

shown = explorer.open_table({table!r}).explore(version=6, tab="data")
heard, send = [], shown.send
shown.send = lambda content, buffers=None: (heard.append(content), send(content, buffers))


async def until(wanted):
    for _ in range(1_500):
        if found := [message for message in heard if wanted(message)]:
            return found[-1]
        await asyncio.sleep(0.1)
    raise AssertionError([message["kind"] for message in heard])


def ask(kind, number, **fields):
    heard.clear()
    shown._handle_custom_msg({{"kind": kind, "view": "one", "number": number, **fields}}, [])


ask("begin", 0, width=900, height=700, theme="light")
query = (await until(lambda message: message["kind"] == "window"))["query"]
ask("hello", 1, query=query, theme="light", shown="light", mark="", width=900, height=700)
await until(lambda message: message.get("number") == 1)
"""
ROWS = """
ask("rows", 2, where="")
print((await until(lambda message: "<caption" in message.get("regions", {}).get("lead", "")))["regions"]["lead"])
"""
REFUSED = """
ask("rows", 3, where="id > 10 AND")
print((await until(lambda message: 'role="alert"' in message.get("regions", {}).get("lead", "")))["regions"]["lead"])
"""


@pytest.mark.notebook
@pytest.mark.spark
@pytest.mark.reference
@pytest.mark.timeout(400)
@pytest.mark.skipif(not WHOLE_DOSE, reason="whole dose: make prove; page/tabs/test_row_tabs.py is the small one")
def test_rows_read_in_a_kernel_reach_the_page(jupyter_home: Path) -> None:
    try:
        find_java()
    except EngineUnavailable as error:
        pytest.skip(str(error))
    table = reference_root() / "tables" / "deletion-vectors"
    expected = json.loads((reference_root() / "expected" / "deletion-vectors.json").read_text("utf-8"))
    import nbformat
    from nbclient import NotebookClient

    cells = [BEGIN.format(table=str(table)), ROWS, REFUSED]
    story = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(story, timeout=300).execute(cwd=str(jupyter_home))
    rows, refused = ("".join(output["text"] for output in cell.outputs if "text" in output) for cell in story.cells[1:])
    read = Elements(rows.partition("<tbody>")[2]).names.count("tr")
    assert read == expected["versions"][6]["row_count"]
    assert "<tbody>" not in refused
