"""A protocol that was raised for writers alone: two findings of one audit do not contradict each other."""

from __future__ import annotations

import pytest

import explorer
from explorer.auditing.finding import Finding
from tests.support.logs.small_logs import METADATA, add, new_store, write
from tests.support.logs.small_proposals import protocol


@pytest.mark.parametrize("feature", ["allowColumnDefaults", "generatedColumns", "identityColumns"])
def test_clients_that_lost_write_access_are_counted_as_those_that_are_kept_out(feature: str) -> None:
    store = new_store()
    write(store, {0: (protocol(1, 7, w="appendOnly"), METADATA, add("a"))})
    write(store, {1: (protocol(1, 7, w=f"appendOnly {feature}"),)})
    findings: dict[str, Finding] = {found.rule: found for found in explorer.Table(store).audit().findings}
    raised = findings["protocol-raised"].effect
    if "unused-features" in findings:
        assert raised != "No known client lost access."
    assert "that could write it before can no longer write it." in raised
    assert raised.startswith("In some releases, ")


def test_clients_that_lost_both_are_told_apart() -> None:
    store = new_store()
    write(store, {0: (protocol(1, 2), METADATA, add("a"))})
    write(store, {1: (protocol(3, 7, r="deletionVectors", w="deletionVectors"),)})
    [raised] = [finding for finding in explorer.Table(store).audit().findings if finding.rule == "protocol-raised"]
    assert " that could read it before refuse it or get wrong results, and " in raised.effect
    assert raised.effect.endswith(" that could write it before can no longer do so.")
