"""The README and the pages of the guide: their size, their links, and the settings they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.guide.blocks import PAGES
from tests.support.at_least_one import at_least_one
from tests.support.shared_tables import REPOSITORY

DOCUMENTS = [*PAGES, *(REPOSITORY / name for name in ("CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md"))]
TARGET = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
VARIABLE = re.compile(r"DELTA_EXPLORER_[A-Z_]+[A-Z]|DELTA_DEMO")


@pytest.mark.parametrize(("name", "most"), [("README.md", 700), ("CONTRIBUTING.md", 800)])
def test_a_page_for_newcomers_is_short(name: str, most: int) -> None:
    assert len((REPOSITORY / name).read_text("utf-8").split()) <= most


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_no_link_is_dead(document: Path) -> None:
    text = document.read_text("utf-8")
    assert [target for target in TARGET.findall(text) if not (document.parent / target).exists()] == []


def test_the_guide_lists_each_of_its_pages() -> None:
    pages = {page.name for page in PAGES if page.parent != REPOSITORY and page.name != "index.md"}
    assert set(TARGET.findall((REPOSITORY / "docs/guide/index.md").read_text("utf-8"))) == pages


def test_every_setting_is_listed() -> None:
    sources = at_least_one(sorted((REPOSITORY / "explorer").rglob("*.py")))
    used = {name for path in sources for name in VARIABLE.findall(path.read_text("utf-8"))}
    listed = set(VARIABLE.findall((REPOSITORY / "docs/guide/settings.md").read_text("utf-8")))
    assert listed == used
