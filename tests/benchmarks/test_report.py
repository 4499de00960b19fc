"""The page on performance, and what the README says of its two commands, are what the last records say."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.report import PAGE, RECORD, page
from tests.benchmarks.start import README, load_record, sentence


def test_the_page_is_what_the_record_says() -> None:
    if not RECORD.is_file():
        pytest.skip("nothing was measured yet: make bench")
    assert PAGE.read_text("utf-8") == page(json.loads(RECORD.read_text("utf-8"))), "run: make bench"


def test_the_readme_says_what_the_record_of_its_commands_says() -> None:
    assert sentence(load_record()) in README.read_text("utf-8"), "run: python -m tests.benchmarks.start"
