"""The page on performance and the times in the guide are what the last records say."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.report import PAGE, RECORD, SPEED, page, readme
from tests.benchmarks.start import load_record, sentence


def test_the_page_is_what_the_record_says() -> None:
    if not RECORD.is_file():
        pytest.skip("nothing was measured yet: make bench")
    assert PAGE.read_text("utf-8") == page(json.loads(RECORD.read_text("utf-8"))), "run: make bench"


def test_the_readme_says_what_the_record_of_its_commands_says() -> None:
    assert sentence(load_record()) in SPEED.read_text("utf-8"), "run: python -m tests.benchmarks.start"


def test_the_readme_has_the_times_of_the_record() -> None:
    record, text = json.loads(RECORD.read_text("utf-8")), SPEED.read_text("utf-8")
    assert "browser" in record
    assert readme(text, record) == text, "run: python -m tests.benchmarks --only browser"
    assert "first picture of" in text
