"""Every example of the README and the guide does what it says, on a copy of the demo tables."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from explorer.cli.app import run
from tests.guide.blocks import LANGUAGES, PAGES, Block, blocks_of
from tests.support.at_least_one import at_least_one
from tests.support.dose import IN_WHOLE_DOSE, WHOLE_DOSE

MARKS = {"", "not run", "whole", "file"}
WITHOUT_SPARK = [page for page in PAGES if any(block.mark != "whole" for block in blocks_of(page))]
WITH_SPARK = [page for page in PAGES if any(block.mark == "whole" for block in blocks_of(page))]


@pytest.fixture
def folder(demo_warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(demo_warehouse, tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DELTA_EXPLORER_CACHE", str(tmp_path / "cache"))
    # A command sets it for the work that it starts, and ends; here the process goes on.
    monkeypatch.setenv("DELTA_EXPLORER_CLIENTS", "")
    return tmp_path


@pytest.mark.parametrize("document", WITHOUT_SPARK, ids=lambda path: path.stem)
def test_examples_that_need_no_spark_run(document: Path, folder: Path) -> None:
    for block in at_least_one([block for block in blocks_of(document) if block.mark != "whole"]):
        _run(block, folder)


@pytest.mark.skipif(not WHOLE_DOSE, reason=f"{IN_WHOLE_DOSE}; the small one: the examples without Spark")
@pytest.mark.spark
@pytest.mark.parametrize("document", WITH_SPARK, ids=lambda path: path.stem)
def test_all_examples_run_in_their_order(document: Path, folder: Path, spark_engine: Any) -> None:
    for block in at_least_one(blocks_of(document)):
        _run(block, folder)


def _run(block: Block, folder: Path) -> None:
    assert block.mark in MARKS
    assert block.language in LANGUAGES
    if block.mark == "file":
        (folder / block.note).write_text(block.text, "utf-8")
    elif block.language == "python" and block.mark != "not run":
        exec(compile(block.text, "example", "exec"), {"__name__": "__main__"})  # noqa: S102
    elif block.language == "bash" and block.mark != "not run":
        for line in at_least_one(block.text.splitlines()):
            name, *arguments = shlex.split(line, comments=True)
            assert name == "delta-explorer"
            expected = re.search(r"# exits with (\d+)$", line)
            assert run(arguments) == (int(expected[1]) if expected else 0), line
