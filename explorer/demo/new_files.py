"""New files of a demo table, in the forms in which proposals take them."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from explorer.core.protocol.actions import AddCDCFile
from explorer.core.transaction.new_files.file_actions import num_records
from explorer.core.transaction.new_files.layout import NewFile
from explorer.core.transaction.new_files.rewrite import Rewrite
from explorer.core.transaction.proposal import Proposal, StagedFile, Written

__all__ = ["NewFiles"]


@dataclass(frozen=True, slots=True)
class NewFiles:
    """Files of one commit: those of rows, and those that record changes."""

    files: tuple[NewFile, ...]
    recorded: tuple[tuple[StagedFile, AddCDCFile], ...] = ()

    @property
    def told(self) -> Written:
        """As an engine of rows tells what it wrote."""
        adds = tuple(file.add for file in self.files)
        return Written(adds, self._changes, sum(num_records(add) or 0 for add in adds))

    @property
    def rewrite(self) -> Rewrite:
        """As what replaces other files."""
        return Rewrite(self.told.adds, self._changes, self.told.rows, self._staged)

    def staged_for(self, proposal: Proposal) -> Proposal:
        """A proposal that knows these files, with their bytes."""
        return msgspec.structs.replace(proposal, staged=(*proposal.staged, *self._staged))

    @property
    def _staged(self) -> tuple[StagedFile, ...]:
        return (*(file.staged for file in self.files), *(staged for staged, _ in self.recorded))

    @property
    def _changes(self) -> tuple[AddCDCFile, ...]:
        return tuple(action for _, action in self.recorded)
