"""A plan names what this program lacks to write a table: it reads what a catalog manages, but does not write it."""

from __future__ import annotations

import pytest

from explorer.core.protocol.actions import Protocol
from explorer.core.transaction.guards.judge import protocol_guard
from tests.support.logs.small_proposals import protocol


@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        (protocol(3, 8, r="catalogManaged", w="catalogManaged"), "minWriterVersion 8"),
        (protocol(3, 7, r="catalogManaged"), "minWriterVersion 7 but no list writerFeatures"),
        (
            protocol(3, 7, r="catalogManaged", w="catalogManaged inCommitTimestamp vacuumProtocolCheck"),
            "catalogManaged",
        ),
    ],
)
def test_what_a_catalog_manages_is_no_reason_where_the_rules_of_writers_are_not_known(
    rules: Protocol, missing: str
) -> None:
    found = protocol_guard([rules])
    assert found.status == "fail"
    assert found.evidence["missing"] == [missing]
    assert found.evidence["detail"] == f"This program does not write tables with {missing}."
