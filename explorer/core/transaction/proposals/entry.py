"""The entry of an intent: the function that makes its proposal from a version.

Invariant: an entry is made in the module that holds the function; `explorer.core.transaction.proposals` lists the
modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.versions.snapshot import Snapshot

__all__ = ["ProposalEntry", "proposes", "proposes_alone"]

Asked = TypeVar("Asked", bound=Intent)


class ProposalEntry(msgspec.Struct, frozen=True):
    """An intent's record, and what makes its proposal."""

    intent: type[msgspec.Struct]
    propose: Callable[[Intent, Snapshot, Circumstances], Proposal]


def proposes(intent: type[Asked], function: Callable[[Asked, Snapshot, Circumstances], Proposal]) -> ProposalEntry:
    """Make the entry of an intent whose proposal needs the time or fresh identifiers."""

    def propose(asked: Intent, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
        assert isinstance(asked, intent)
        return function(asked, snapshot, circumstances)

    return ProposalEntry(intent, propose)


def proposes_alone(intent: type[Asked], function: Callable[[Asked, Snapshot], Proposal]) -> ProposalEntry:
    """Make the entry of an intent whose proposal follows from the version alone."""
    return proposes(intent, lambda asked, snapshot, _: function(asked, snapshot))
