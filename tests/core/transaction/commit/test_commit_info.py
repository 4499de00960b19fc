"""Which commits may be made on top of others that came first, and the times that commits carry."""

from __future__ import annotations

import msgspec
import pytest

from explorer.core.log.commit import decode_commit
from explorer.core.protocol.actions import Action, CommitInfo, DomainMetadata, Metadata, TransactionAction
from explorer.core.transaction.commit.conflicts import conflict_with
from explorer.core.transaction.commit_info import (
    commit_bytes,
    commit_info,
    has_timestamp,
    in_commit_timestamp,
    with_timestamp,
)
from explorer.core.transaction.proposal import Proposal, RowCheck
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, lines, remove, table, vector

COMMENT = Proposal(operation="SET TBLPROPERTIES", parameters={}, metadata=METADATA)
UPGRADE = Proposal(operation="UPGRADE PROTOCOL", parameters={}, protocol=PROTOCOL)
BATCH = Proposal(
    operation="WRITE", parameters={}, transactions=(TransactionAction(app_id="loader", version=2),), adds=(add("new"),)
)
DOMAIN = Proposal(operation="SET DOMAIN METADATA", parameters={}, domains=(DomainMetadata(domain="d"),))
APPEND = Proposal(operation="WRITE", parameters={}, adds=(add("new"),))
DELETE = Proposal(operation="DELETE", parameters={}, removes=(remove("a%41"),), reads_files=True, is_blind_append=False)
CHECKED = Proposal(
    operation="ADD CONSTRAINT",
    parameters={},
    metadata=METADATA,
    row_checks=(RowCheck("rows", "positive", "id > 0", "Mend them."),),
)
COMPACTION = Proposal(
    operation="OPTIMIZE", parameters={}, removes=(remove("a"),), reads_files=True, isolation="SnapshotIsolation"
)


def conflict(proposal: Proposal, *winner: Action) -> str | None:
    info = CommitInfo(operation="MERGE")
    found = conflict_with(proposal, decode_commit(lines([info, *winner]), 7, "_delta_log/7.json"))
    if found is None:
        return None
    assert found.version == 7
    assert found.why.startswith("Version 7 (MERGE) came first: ")
    return found.action


@pytest.mark.conformance("LOG-023", "TXN-007", "DOMAIN-004", "WRITER-004", "WRITER-006")
@pytest.mark.parametrize(
    ("proposal", "winner", "action"),
    [
        (APPEND, add("other"), None),
        (APPEND, remove("other"), None),
        (APPEND, PROTOCOL, None),
        (APPEND, METADATA, "metaData"),
        (APPEND, TransactionAction(app_id="loader", version=1), None),
        (BATCH, TransactionAction(app_id="loader", version=1), "txn"),
        (BATCH, TransactionAction(app_id="other", version=9), None),
        (BATCH, add("other"), None),
        (COMMENT, METADATA, "metaData"),
        (COMMENT, PROTOCOL, None),
        (COMMENT, add("other"), None),
        (COMMENT, remove("other"), None),
        (UPGRADE, PROTOCOL, "protocol"),
        (UPGRADE, METADATA, "metaData"),
        (DOMAIN, DomainMetadata(domain="d", removed=True), "domainMetadata"),
        (DOMAIN, DomainMetadata(domain="e"), None),
        (DELETE, add("other"), "add"),
        (DELETE, remove("other"), "remove"),
        (DELETE, remove("aA"), "remove"),
        (DELETE, remove("a%41", vector=vector("v")), "remove"),
        (DELETE, DomainMetadata(domain="e"), None),
        (CHECKED, add("other"), "add"),
        (CHECKED, remove("other"), "remove"),
        (CHECKED, TransactionAction(app_id="loader", version=1), None),
        (COMPACTION, add("other"), None),
        (COMPACTION, remove("a"), "remove"),
        (COMPACTION, remove("other"), "remove"),
    ],
)
def test_what_stands_against_a_commit(proposal: Proposal, winner: Action, action: str | None) -> None:
    assert conflict(proposal, winner) == action


def test_two_writers_of_the_row_tracking_domain_do_not_mind_each_other() -> None:
    tracked = msgspec.structs.replace(APPEND, domains=(DomainMetadata(domain="delta.rowTracking"),))
    assert conflict(tracked, DomainMetadata(domain="delta.rowTracking"), add("other")) is None


@pytest.mark.conformance("ICT-002")
def test_in_commit_timestamps_rise_although_the_clock_was_set_back() -> None:
    assert in_commit_timestamp(1_000, None) == 1_000
    assert in_commit_timestamp(1_000, 400) == 1_000
    assert in_commit_timestamp(1_000, 1_000) == 1_001
    assert in_commit_timestamp(1_000, 9_000) == 9_001


def _metadata(**configuration: str) -> Metadata:
    named = {key.replace("_", "."): value for key, value in configuration.items()}
    return msgspec.structs.replace(METADATA, configuration=named)


@pytest.mark.conformance("ICT-001", "ICT-003")
def test_the_commit_that_enables_timestamps_says_since_when() -> None:
    before = table({0: (PROTOCOL, METADATA), 1: (add("a"),)}).snapshot()
    enabled = _metadata(delta_enableInCommitTimestamps="true", delta_x="y")
    proposal = Proposal(operation="SET TBLPROPERTIES", parameters={}, metadata=enabled)
    assert has_timestamp(proposal, before)
    written = with_timestamp(proposal, before, 5_000)
    assert written.metadata is not None
    assert written.metadata.configuration == {
        "delta.enableInCommitTimestamps": "true",
        "delta.x": "y",
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": "5000",
    }
    info = commit_info(written, read_version=1, now=4_000, txn_id="t", engine="e", timestamp=5_000)
    commit = decode_commit(commit_bytes(written, info), 2, "2.json")
    first = commit.lines[0].commitInfo
    assert msgspec.json.decode(first)["inCommitTimestamp"] == 5_000


def test_timestamps_enabled_from_the_start_or_before_need_no_mark() -> None:
    enabled = _metadata(delta_enableInCommitTimestamps="true")
    proposal = Proposal(operation="CREATE TABLE", parameters={}, metadata=enabled)
    assert has_timestamp(proposal, None)
    assert with_timestamp(proposal, None, 5_000) == proposal
    before = table({0: (PROTOCOL, enabled)}).snapshot()
    assert with_timestamp(proposal, before, 5_000) == proposal
    assert has_timestamp(APPEND, before)
    assert not has_timestamp(APPEND, table({0: (MASKED, METADATA)}).snapshot())
