"""The marker ``conformance``: ids that the checklist does not know stop the collection."""

from __future__ import annotations

import pytest

from tests.conformance.checklist import load_checklist
from tests.conformance.proofs import MARKER


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check the ids of every marker that was collected."""
    known = load_checklist()
    wrong = []
    for item in items:
        for mark in item.iter_markers(MARKER):
            if not mark.args:
                wrong.append(f"{item.nodeid}: the marker names no row")
            wrong += [f"{item.nodeid}: there is no row {name!r}" for name in mark.args if name not in known]
    if wrong:
        raise pytest.UsageError("tests/conformance/checklist.csv does not hold what tests name:", *wrong)
