"""The orders notebook, executed; what it says is checked against the rows that the warehouse's writer put there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from nbclient import NotebookClient

from explorer.core.errors import EngineUnavailable
from explorer.spark.engine.java import find_java
from tests.support.shared_tables import REPOSITORY

STORY = REPOSITORY / "notebooks" / "orders_story.ipynb"
WIDGET = "application/vnd.jupyter.widget-view+json"
ERASED = "C-00417"


class Executed:
    """An executed notebook's outputs by cell id."""

    def __init__(self, story: Any) -> None:
        self.cells = {cell["id"]: cell for cell in story.cells if cell.cell_type == "code"}

    def tagged(self, tag: str) -> list[str]:
        return [name for name, cell in self.cells.items() if tag in cell.metadata.get("tags", [])]

    def failures(self) -> dict[str, str]:
        outputs = [(name, output) for name, cell in self.cells.items() for output in cell.outputs]
        return {name: f"{o.ename}: {o.evalue}" for name, o in outputs if o.output_type == "error"}

    def said(self, name: str) -> str:
        outputs = self.cells[name].outputs
        return "".join(o.text for o in outputs if o.output_type == "stream" and o.name == "stdout")

    def result(self, name: str) -> dict[str, Any]:
        return dict(next(o.data for o in self.cells[name].outputs if o.output_type == "execute_result"))


@pytest.mark.notebook
@pytest.mark.spark
def test_story_runs_and_tells_what_was_written(
    jupyter_home: Path, demo_build: tuple[Path, dict[str, dict[int, pa.Table]]]
) -> None:
    story = nbformat.read(STORY, as_version=4)
    # Errors are let through here so that each can be judged: none is allowed but Spark's where there is no Java.
    client = NotebookClient(story, timeout=180, allow_errors=True, store_widget_state=False)
    client.execute(cwd=str(jupyter_home))
    told = Executed(story)
    written = demo_build[1]["sales/orders"]
    last = max(written)

    assert told.said("open") == f"orders: versions 0 to {last}\n"
    assert f"{written[last].num_rows:,} live rows" in told.said("snapshot")
    assert f"columns: {', '.join(written[last].column_names)}\n" in told.said("snapshot")
    assert len(told.said("history").splitlines()) == last + 1
    _check_history(told.said("history"), written)

    renamed = next(v for v in written if "customer_id" in written[v].column_names)
    assert told.result("explore")[WIDGET]["model_id"]
    assert told.result("explore")["text/plain"] == f"TableExplorer('orders', version={last}, compared=None)"
    assert told.said("drive").splitlines()[-1] == f"seen: [{renamed}] - shown: {renamed}"
    assert told.said("rename") == "renamed: cust -> customer_id\n"
    assert f"field 2: cust (v0 to v{renamed - 1}), customer_id (v{renamed} to v{last})\n" in told.said("lineage")

    before, after = _rows_around_the_erasure(written)
    assert f"{before - after} rows in all" in told.said("masked")
    assert re.search(r"are masked, the first at row \d+\n", told.said("positions"))
    assert told.said("mistake").splitlines()[-1].endswith(": 0 files differ")

    if _java_is_there():
        assert told.failures() == {}
        counts = [int(n) for n in re.findall(r": (\d+) rows of the customer", told.said("rows"))]
        assert counts == [before - after, 0]
        assert "order_id" in told.said("sample")
    else:
        assert list(told.failures()) == told.tagged("spark")
        assert all(f.startswith("EngineUnavailable") and "install" in f for f in told.failures().values())


def test_notebooks_hold_no_outputs() -> None:
    stories = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in STORY.parent.glob("*.ipynb")}
    kept = [
        (name, cell["id"])
        for name, story in stories.items()
        for cell in story["cells"]
        if cell.get("outputs") or cell.get("execution_count") is not None
    ]
    assert kept == []
    assert [name for name, story in stories.items() if "widgets" in story["metadata"]] == []
    assert STORY.name in stories


def _check_history(said: str, written: dict[int, pa.Table]) -> None:
    """Each line's gain and loss must add up to the number of rows written into that version."""
    for line in said.splitlines():
        version, added, lost = map(int, re.findall(r"^v(\d+) .* \+(\d+) +-(\d+)", line)[0])
        before = written[version - 1].num_rows if version else 0
        assert before + added - lost == written[version].num_rows, line


def _rows_around_the_erasure(written: dict[int, pa.Table]) -> tuple[int, int]:
    """Rows of the erased customer in the version before the erasure and in the one that made it."""
    counts = {
        version: pc.sum(pc.equal(rows.column("customer_id"), ERASED)).as_py()
        for version, rows in written.items()
        if "customer_id" in rows.column_names
    }
    erased = next(version for version, count in counts.items() if not count and counts.get(version - 1))
    return counts[erased - 1], counts[erased]


def _java_is_there() -> bool:
    try:
        find_java()
    except EngineUnavailable:
        return False
    return True
