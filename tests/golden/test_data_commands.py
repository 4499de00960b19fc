"""The list of the reference's statements that write rows says what the tests compare."""

from __future__ import annotations

import re

import pytest

from tests.golden.data_commands import page
from tests.spark.writes.test_data_commands import COMPARED, STATEMENTS
from tests.support.at_least_one import at_least_one
from tests.support.comparison.data_commands import UNSAID
from tests.support.comparison.data_differences import DATA_DIFFERENCES

pytestmark = pytest.mark.reference


def test_the_list_has_every_statement_that_differs_or_is_not_compared_with_its_reason() -> None:
    text = page()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    compared = {one.step.name for one in COMPARED}
    left = {one.step.name for one in STATEMENTS} - compared
    for name in at_least_one([*DATA_DIFFERENCES, *left]):
        assert any(re.search(rf"\b{re.escape(name)}\b", row) for row in rows), name
    assert all(difference.reason in text for difference in DATA_DIFFERENCES.values())
    assert f"| all | {len(STATEMENTS)} | {len(compared)} | {len(DATA_DIFFERENCES)} | {len(left)} |" in rows


def test_every_reason_is_that_of_a_statement() -> None:
    assert DATA_DIFFERENCES.keys() <= {one.step.name for one in COMPARED}
    assert UNSAID.keys() <= {one.step.name for one in STATEMENTS}
    reasons = [*UNSAID.values(), *(difference.reason for difference in DATA_DIFFERENCES.values())]
    assert all(reason.endswith(".") for reason in reasons)
