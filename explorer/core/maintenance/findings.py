"""What maintenance would do to a table: the files to write or delete, the guards, the consequences."""

from __future__ import annotations

import msgspec

from explorer.core.transaction.commit_plan import Consequences, MaintenanceFile
from explorer.core.transaction.proposal import GuardResult

__all__ = ["Findings"]


class Findings(msgspec.Struct, frozen=True):
    """The part of a plan that the table decides."""

    guards: tuple[GuardResult, ...]
    files: tuple[MaintenanceFile, ...] = ()
    consequences: Consequences = Consequences()
