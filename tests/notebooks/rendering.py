"""The notebooks as pages of the documents: Markdown with the outputs of a run as text."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any, Final

from nbconvert.exporters import MarkdownExporter
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from traitlets.config import Config

from tests.notebooks.stories import Executed
from tests.support.shared_tables import REPOSITORY

__all__ = ["COMMAND", "PAGES", "code_of", "rendered"]

COMMAND: Final = "python -m tests.notebooks"
PAGES: Final = REPOSITORY / "docs" / "notebooks"
_HEAD: Final = "<!-- Made from notebooks/{name}.ipynb and a run of it by `{command}`; a test compares the code. -->\n\n"
_TERMINAL: Final = re.compile(r"\x1b\[[0-9;]*m")
_TEMPORARY: Final = re.compile(r"(/[\w.-]+)*/tmp\w{8}\b")
_ENDS: Final = re.compile(r"[ \t]+$", re.MULTILINE)
_BLANK: Final = re.compile(r"\n{3,}")
_FENCED: Final = re.compile(r"(^```python\n.*?^```$)", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def rendered(name: str, run: Executed, warehouse: Path) -> str:
    """Return the page of a notebook that was run; where things were on this machine is left out."""
    story = copy.deepcopy(run.story)
    for cell in story.cells:
        for output in cell.get("outputs", ()):
            _make_text(output)
    as_text = Config({"NbConvertBase": {"display_data_priority": ["text/plain"]}})
    body, _ = MarkdownExporter(config=as_text, preprocessors=[CoalesceStreamsPreprocessor]).from_notebook_node(story)
    body = _TEMPORARY.sub("/tmp", body.replace(str(warehouse), "/demo"))  # noqa: S108  # a text, no file
    parts = _FENCED.split(_ENDS.sub("", body))  # what is between the cells of code, and these, in turns
    parts[::2] = [_BLANK.sub("\n\n", part) for part in parts[::2]]
    return _HEAD.format(name=name, command=COMMAND) + "".join(parts).strip() + "\n"


def code_of(page: str) -> list[str]:
    """Return the code of a page, cell by cell."""
    return [found.strip("\n") for found in _CODE.findall(page)]


def _make_text(output: Any) -> None:
    if output.output_type == "stream":
        output.text = _TERMINAL.sub("", output.text)
    elif "data" in output:
        output.data = {"text/plain": _TERMINAL.sub("", output.data["text/plain"])}
