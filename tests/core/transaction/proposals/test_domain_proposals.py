"""Domains, transaction identifiers, and the guards that every commit passes."""

import json

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Add, DomainMetadata, Protocol, TransactionAction, encode_line
from explorer.core.transaction.guards.judge import Situation, judge
from explorer.core.transaction.proposal import Proposal
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import proposal, protocol, snapshot

DOMAINS = protocol(1, 7, w="domainMetadata")


def _status(before: explorer.Snapshot, made: Proposal, guard: str) -> str | None:
    found = {result.name: result.status for result in judge(Situation(before, made, "tester"))}
    return found.get(guard)


@pytest.mark.conformance("DOMAIN-002")
def test_a_removed_domain_leaves_what_it_said_last() -> None:
    before = snapshot(DomainMetadata(domain="app", configuration='{"a":1}'), rules=DOMAINS)
    made = proposal(before, "remove-domain", domain="app")
    assert made.domains == (DomainMetadata(domain="app", configuration='{"a":1}', removed=True),)


@pytest.mark.conformance("DOMAIN-002")
def test_a_domain_is_written_with_its_name_its_text_and_whether_it_goes() -> None:
    before = snapshot(DomainMetadata(domain="app", configuration="old"), rules=DOMAINS)
    for kind, fields, text, removed in (
        ("set-domain", {"configuration": '{"a":1}'}, '{"a":1}', False),
        ("remove-domain", {}, "old", True),
    ):
        (action,) = proposal(before, kind, domain="app", **fields).actions()
        assert json.loads(encode_line(action)) == {
            "domainMetadata": {"domain": "app", "configuration": text, "removed": removed}
        }


@pytest.mark.conformance("DOMAIN-002")
@pytest.mark.parametrize(
    ("rules", "status"),
    [
        (DOMAINS, "pass"),
        (protocol(3, 7, r="", w="domainMetadata"), "pass"),
        (protocol(1, 2), "fail"),
        (protocol(1, 6), "fail"),
        (protocol(1, 7, w="appendOnly"), "fail"),
    ],
)
@pytest.mark.parametrize("kind", ["set-domain", "remove-domain"])
def test_a_domain_needs_the_feature(rules: Protocol, status: str, kind: str) -> None:
    before = snapshot(DomainMetadata(domain="app", configuration="old"), rules=rules)
    made = proposal(before, kind, domain="app", **({"configuration": "x"} if kind == "set-domain" else {}))
    assert _status(before, made, "features-present") == status
    assert _status(before, made, "feature-supported") == status


@pytest.mark.conformance("DOMAIN-003")
@pytest.mark.parametrize("domain", ["delta.rowTracking", "DELTA.clustering", "delta.", ""])
def test_domains_of_the_system_are_not_edited(domain: str) -> None:
    before = snapshot(DomainMetadata(domain=domain, configuration="{}"), rules=DOMAINS)
    for kind, fields in (("set-domain", {"configuration": "x"}), ("remove-domain", {})):
        with pytest.raises(InvalidIntent):
            proposal(before, kind, domain=domain, **fields)


@pytest.mark.conformance("DOMAIN-003")
def test_other_changes_leave_every_domain_as_it_is() -> None:
    first = DomainMetadata(domain="delta.ofTomorrow", configuration="{}")
    second = DomainMetadata(domain="app", configuration="x")
    rules = protocol(1, 7, w="domainMetadata appendOnly")
    table = small_logs.table({0: (rules, small_logs.METADATA, first, second), 1: (small_logs.add("a"),)})
    for intent in (
        {"kind": "set-description", "description": "x"},
        {"kind": "set-domain", "domain": "other", "configuration": "y"},
        {"kind": "remove-domain", "domain": "app"},
        {"kind": "restore", "version": 0},
    ):
        assert table.commit(table.plan(intent)).outcome == "committed"
    assert table.snapshot().domain_metadata == {"delta.ofTomorrow": "{}", "other": "y"}


def test_a_domain_that_says_the_same_already_is_not_committed() -> None:
    before = snapshot(DomainMetadata(domain="app", configuration="x"), rules=DOMAINS)
    made = proposal(before, "set-domain", domain="app", configuration="x")
    assert _status(before, made, "changes-something") == "fail"


@pytest.mark.conformance("TXN-003", "TXN-004")
@pytest.mark.parametrize(("version", "status"), [(8, "pass"), (7, "fail"), (3, "fail")])
def test_a_batch_that_was_written_is_not_written_again(version: int, status: str) -> None:
    before = snapshot(TransactionAction(app_id="stream", version=7))
    made = proposal(before, "set-transaction", appId="stream", version=version)
    assert _status(before, made, "transaction-rises") == status
    assert made.transactions[0].last_updated is not None
    assert made.read_applications == ("stream",)


@pytest.mark.parametrize("version", [2**63, -(2**63) - 1])
def test_a_version_that_does_not_fit_is_refused(version: int) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(snapshot(), "set-transaction", appId="stream", version=version)
    assert caught.value.field == "version"


def _masked(file: Add) -> Proposal:
    """A file gets a deletion vector."""
    vector = msgspec.structs.replace(file, deletion_vector=small_logs.vector("v"))
    return Proposal(operation="DELETE", parameters={}, adds=(vector,), removes=(small_logs.remove(file.path),))


@pytest.mark.conformance("CONSTR-001", "CONSTR-002", "FEAT-007", "WRITER-002")
@pytest.mark.parametrize(
    ("rules", "value", "refused"),
    [
        (protocol(1, 2), "true", True),
        (protocol(1, 2), "TRUE", True),
        (protocol(1, 2), "false", False),
        (protocol(1, 2), None, False),
        (protocol(1, 1), "true", False),
        *((protocol(2, writer), "true", True) for writer in (3, 4, 5, 6)),
        (protocol(1, 7, w="appendOnly"), "true", True),
        (protocol(1, 7, w="appendOnly"), "false", False),
        (protocol(1, 7, w="appendOnly"), None, False),
        (protocol(1, 7, w=""), "true", False),
    ],
)
def test_rows_of_an_append_only_table_stay(rules: Protocol, value: str | None, refused: bool) -> None:
    file = small_logs.add("a", records=3)
    before = snapshot(file, rules=rules, properties={} if value is None else {"delta.appendOnly": value})
    gone = Proposal(operation="DELETE", parameters={}, removes=(small_logs.remove("a"),))
    moved = Proposal(
        operation="OPTIMIZE",
        parameters={},
        adds=(small_logs.add("b"),),
        removes=(small_logs.remove("a", data_change=False),),
    )
    assert (_status(before, gone, "append-only") == "fail") is refused
    assert (_status(before, _masked(file), "append-only") == "fail") is refused
    assert _status(before, moved, "append-only") in ("pass", None)


@pytest.mark.conformance("ROWTRACK-001")
def test_a_file_without_row_ids_does_not_enter_a_tracked_table() -> None:
    before = snapshot(rules=protocol(1, 7, w="domainMetadata rowTracking"))
    made = Proposal(operation="WRITE", parameters={}, adds=(small_logs.add("a"),))
    assert _status(before, made, "row-tracking") == "fail"


def test_a_deletion_vector_needs_its_feature() -> None:
    file = small_logs.add("a", records=3)
    before = snapshot(file)
    assert _status(before, _masked(file), "features-present") == "fail"


@pytest.mark.parametrize(
    ("kind", "domain", "fields", "operation", "undo"),
    [
        ("set-domain", "app", {"configuration": "x"}, "SET DOMAIN METADATA", "Set it to 'old' again."),
        ("set-domain", "new", {"configuration": "x"}, "SET DOMAIN METADATA", "Remove the domain 'new'."),
        ("remove-domain", "app", {}, "REMOVE DOMAIN METADATA", "Set the domain 'app' to 'old' again."),
    ],
)
def test_a_change_of_a_domain_says_what_it_is_and_how_to_undo_it(
    kind: str, domain: str, fields: dict[str, str], operation: str, undo: str
) -> None:
    made = proposal(
        snapshot(DomainMetadata(domain="app", configuration="old"), rules=DOMAINS), kind, domain=domain, **fields
    )
    assert (made.operation, made.parameters, made.undo) == (operation, {"domain": domain}, undo)
    assert [guard.name for guard in made.guards] == ["feature-supported"]


@pytest.mark.parametrize(("there", "said"), [(("b", "a", "delta.x"), "a, b"), ((), "none")])
def test_a_domain_that_is_not_there_is_told_with_those_that_are(there: tuple[str, ...], said: str) -> None:
    before = snapshot(*(DomainMetadata(domain=name, configuration="x") for name in there), rules=DOMAINS)
    with pytest.raises(InvalidIntent) as refused:
        proposal(before, "remove-domain", domain="c")
    assert str(refused.value) == f"There is no domain 'c'. Domains: {said}."
    assert (refused.value.field, refused.value.allowed) == ("domain", [name for name in ("a", "b") if name in there])
