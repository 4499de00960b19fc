"""What a plan says of the protocol that it writes: its versions where they change, else that they stay."""

import pytest

from explorer.core.protocol.actions import Protocol
from explorer.core.transaction.guards.protocol import evolution_guard
from explorer.core.transaction.proposal import Proposal
from tests.support.logs.small_proposals import protocol


@pytest.mark.parametrize(
    ("before", "after", "detail"),
    [
        (None, protocol(1, 2), "The protocol becomes (1, 2)."),
        (protocol(1, 2), protocol(1, 2), "The protocol does not change."),
        (protocol(1, 2), protocol(2, 5), "The protocol changes from (1, 2) to (2, 5)."),
        (
            protocol(3, 7, r="columnMapping", w="columnMapping"),
            protocol(3, 7, r="columnMapping", w="columnMapping rowTracking domainMetadata"),
            "The protocol keeps its versions (3, 7); its list of features changes.",
        ),
    ],
)
def test_a_plan_says_which_part_of_the_protocol_changes(before: Protocol | None, after: Protocol, detail: str) -> None:
    guard = evolution_guard(before, Proposal(operation="SET TBLPROPERTIES", parameters={}, protocol=after))
    assert (guard.status, guard.evidence["detail"]) == ("pass", detail)
