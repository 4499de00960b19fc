"""The page on performance is what the last run's record says."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.report import PAGE, RECORD, page


def test_the_page_is_what_the_record_says() -> None:
    if not RECORD.is_file():
        pytest.skip("nothing was measured yet: make bench")
    assert PAGE.read_text("utf-8") == page(json.loads(RECORD.read_text("utf-8"))), "run: make bench"
