"""Findings speak first of the clients that somebody named; one that gets wrong results is an error."""

import pytest

from explorer.auditing import Subject, audit
from explorer.auditing.finding import Finding
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.my_clients import parse_my_clients
from tests.support.comparison.audited_tables import NOW
from tests.support.logs import small_logs

WRONG = '[[client]]\nname = "Presto"\nversion = "before 2026-04"\nrole = "reader"\nowner = "finance"\n'
REFUSES = '[[client]]\nname = "deltalake"\nversion = "0.15.0"\n'
READS = '[[client]]\nname = "delta-spark"\nversion = "4.1.0"\n'


def _findings(file: str) -> list[Finding]:
    table = small_logs.table(
        {0: [small_logs.MASKED, small_logs.METADATA, small_logs.add("a", vector=small_logs.vector("v"))]}
    )
    mine = parse_my_clients(file.encode(), client_facts()) if file else ()
    findings = audit(Subject(table, NOW, mine=mine)).findings
    return [finding for finding in findings if finding.rule in {"wrong-answers", "refusing-clients"}]


def test_one_of_mine_that_answers_wrongly_is_an_error() -> None:
    worst = _findings(WRONG + REFUSES + READS)[0]
    assert (worst.rule, worst.severity) == ("wrong-answers", "error")
    assert worst.title == "1 of your 3 clients gets wrong results without an error"
    assert [evidence.text for evidence in worst.evidence[:2]] == [
        "Presto before 2026-04",
        "because of deletionVectors",
    ]
    assert worst.evidence[-1].text == "owner: finance"


def test_one_of_mine_that_refuses_is_a_warning() -> None:
    first = _findings(REFUSES + READS)[0]
    assert (first.rule, first.severity) == ("refusing-clients", "warning")
    assert first.title == "1 of your 2 clients refuses the table"


@pytest.mark.parametrize("file", ["", READS])
def test_without_one_that_fails_nothing_is_said_of_mine(file: str) -> None:
    assert not [finding for finding in _findings(file) if "your" in finding.title]


def test_the_matrix_has_those_that_were_named_and_those_that_wrote() -> None:
    spark = small_logs.commit_info("WRITE", engine_info="Apache-Spark/4.2.1 Delta-Lake/4.4.0")
    table = small_logs.table({0: [spark, small_logs.PROTOCOL, small_logs.METADATA]})
    subject = Subject(table, NOW, mine=parse_my_clients(READS.encode(), client_facts()))
    mine = [(row.client, row.version, row.seen) for row in subject.matrix if row.mine]
    assert mine == [("delta-spark", "4.1.0", False), ("delta-spark", "4.4.0", True)]
