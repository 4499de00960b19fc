"""Commits whose operation metrics their actions contradict, as the audit tells of them."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.auditing import Finding
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info, table
from tests.support.rule_findings import finding_of


def _found(table: explorer.Table, rule: str) -> Finding:
    return finding_of(table.audit(NOW, verify=True), rule)


@pytest.mark.parametrize(
    ("metrics", "severity", "title"),
    [
        ({"numFiles": "2", "numOutputRows": "7"}, "error", "1 commit did less than its writer recorded"),
        ({"numOutputRows": "3"}, "warning", "1 commit does not match its operation metrics"),
    ],
)
def test_a_commit_that_lacks_rows_is_an_error_and_other_numbers_are_a_warning(
    metrics: dict[str, Any], severity: str, title: str
) -> None:
    written = [commit_info("WRITE", operation_metrics=metrics), add("c", 4)]
    finding = _found(table({0: [PROTOCOL, METADATA], 1: written}), "metrics-differ")
    assert (finding.severity, finding.title, finding.versions) == (severity, title, ((1, 1),))
    assert finding.remedy is not None
