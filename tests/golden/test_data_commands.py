"""The page of the reference's statements that write rows says what the tests compare."""

from __future__ import annotations

import pytest

from tests.golden.data_commands import PAGE, page
from tests.spark.writes.test_data_commands import COMPARED, STATEMENTS
from tests.support.comparison.data_commands import UNSAID
from tests.support.comparison.data_differences import DATA_DIFFERENCES

pytestmark = pytest.mark.reference


def test_the_page_says_what_is_compared() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tests.golden.data_commands"


def test_every_reason_is_that_of_a_statement() -> None:
    assert DATA_DIFFERENCES.keys() <= {one.step.name for one in COMPARED}
    assert UNSAID.keys() <= {one.step.name for one in STATEMENTS}
    reasons = [*UNSAID.values(), *(difference.reason for difference in DATA_DIFFERENCES.values())]
    assert all(reason.endswith(".") for reason in reasons)
