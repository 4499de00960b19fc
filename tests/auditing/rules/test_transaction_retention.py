"""Identifiers of transactions that expire at once, and keys of properties with blanks around them."""

from __future__ import annotations

import pytest

import explorer
from explorer.auditing import Finding
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import PROTOCOL, add, metadata, table
from tests.support.rule_findings import finding_of

KEPT = "delta.setTransactionRetentionDuration"


def _table(configuration: dict[str, str]) -> explorer.Table:
    return table({0: [PROTOCOL, metadata({"id": "long"}, configuration=configuration), add("a")]})


def _found(audited: explorer.Table, rule: str) -> Finding:
    return finding_of(audited.audit(NOW), rule)


@pytest.mark.parametrize(
    "kept", ["interval -1 days", "interval 0 days", "interval 1 millisecond", "interval 59 minutes", "-7 days"]
)
def test_identifiers_that_expire_at_once_are_an_error_with_a_step_that_works(kept: str) -> None:
    audited = _table({KEPT: kept})
    finding = _found(audited, "short-transaction-retention")
    assert finding.severity == "error"
    assert ("negative" in finding.title) is ("-" in kept)
    assert finding.remedy is not None
    assert finding.remedy.intent is not None
    assert audited.commit(audited.plan(finding.remedy.intent)).outcome == "committed"
    assert "short-transaction-retention" not in {each.rule for each in audited.audit(NOW).findings}


@pytest.mark.parametrize("configuration", [{}, {KEPT: "interval 1 hour"}, {KEPT: "interval 30 days"}])
def test_others_are_not(configuration: dict[str, str]) -> None:
    rules = {each.rule for each in _table(configuration).audit(NOW).findings}
    assert rules & {"short-transaction-retention", "property-values"} == set()


@pytest.mark.parametrize("key", ["delta.appendOnly ", " delta.appendOnly", "\tDELTA.APPENDONLY"])
def test_a_key_with_blanks_around_it_does_nothing_and_is_named(key: str) -> None:
    finding = _found(_table({key: "true"}), "property-case")
    assert "spaces surround it" in finding.title
    assert finding.remedy is not None
