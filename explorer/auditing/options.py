"""What an audit looks at beside the actions of the log: one record for a table, for many, and for a report."""

from __future__ import annotations

import os

import msgspec

__all__ = ["AuditOptions"]


class AuditOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at; `explorer.Table.audit` says what each is."""

    check_files: bool = False
    verify: bool = False
    check_rows: bool = False
    check_footers: bool = False
    chain_head: str | None = None
    clients: str | os.PathLike[str] | None = None

    @property
    def of_one_table(self) -> bool:
        """Whether something is to be looked at that is asked of one table alone."""
        return self.check_rows or self.chain_head is not None
