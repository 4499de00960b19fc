"""What people may do: rights, and the roles that give them."""

from __future__ import annotations

from enum import Enum


class Right(Enum):
    """A right on a table; its value is what a person may do, in words."""

    SEE = "see this table"
    ROWS = "read rows of this table"
    REPORT = "read reports about this table"
    COMMIT = "plan and commit changes of this table"
    APPROVE = "approve changes of this table"
    ACTIVITY = "read the record of activity about this table"
