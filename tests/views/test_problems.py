"""Errors as people see them: how serious each is."""

from __future__ import annotations

import pytest

from explorer.core.errors import Cancelled, ExpressionRefused, LimitExceeded, VersionNotFound
from explorer.views.problems import problem_of


@pytest.mark.parametrize(
    ("error", "severity"),
    [
        (ExpressionRefused("The condition 'x >' cannot be used: it ends too early."), "danger"),
        (VersionNotFound("There is no version 9."), "info"),
        (Cancelled("The job was cancelled."), "info"),
        (LimitExceeded("The checkpoint of version 9 has 3,000,000,000 bytes."), "warning"),
    ],
)
def test_a_condition_that_cannot_be_used_is_an_error_and_a_wrong_address_is_not(
    error: Exception, severity: str
) -> None:
    assert problem_of(error).severity == severity
