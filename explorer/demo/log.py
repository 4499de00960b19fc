"""The log of a demo table: proposals of the core -> commits of the story's day, checkpoints, clean-up of old commits.

Protocol sections: Delta Log Entries, Checkpoints, Metadata Cleanup. Invariants: a commit's file is created, never
replaced; everything that a story writes has the time of the story.
"""

from __future__ import annotations

import os
import uuid
from datetime import UTC
from pathlib import Path

import numpy as np

from explorer.core.log.log_path import LAST_CHECKPOINT, checkpoint_name, commit_name
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.protocol.times import milliseconds
from explorer.core.transaction.commit_info import (
    commit_bytes,
    commit_info,
    has_timestamp,
    in_commit_timestamp,
    with_timestamp,
)
from explorer.core.transaction.guards.judge import Situation, judge
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot
from explorer.demo.provenance import DemoProvenance
from explorer.storage import open_store


class LogWriter:
    """Writes the log of one table.

    Attributes:
        version: The last committed version, -1 before the first.
        last: The table at that version; None before the first.
        store: Where its bytes are.
    """

    def __init__(self, folder: Path, identities: np.random.Generator) -> None:
        self.folder = folder
        self.version = -1
        self.last: Snapshot | None = None
        self._identities = identities
        self.store = open_store(folder)
        self._log: DeltaLog | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The table as it is."""
        assert self.last is not None
        return self.last

    def past(self, version: int) -> Snapshot:
        """Return the table as it was."""
        assert self._log is not None
        return self._log.snapshot(version)

    def identity(self) -> uuid.UUID:
        """Return a fresh UUID; the same ones in every build."""
        return uuid.UUID(bytes=self._identities.bytes(16), version=4)

    def circumstances(self, by: DemoProvenance) -> Circumstances:
        """Return what a proposal may use: the time of the commit, and fresh identifiers."""
        return Circumstances(now=milliseconds(by.at), new_id=lambda: str(self.identity()))

    def commit(self, by: DemoProvenance, proposal: Proposal) -> None:
        """Write a proposal that no guard refuses: its files, then its commit."""
        before, now, timestamp = self.last, milliseconds(by.at), None
        # The commits of VACUUM hold no action at all, and mean to.
        guards = judge(Situation(before, proposal, by.user)) if proposal.actions() else ()
        failed = [guard for guard in guards if guard.status == "fail"]
        assert not failed, failed
        for file in proposal.staged:
            self._write(file.path, file.data, now)
        if has_timestamp(proposal, before):
            earlier = None if before is None else milliseconds(before.timestamp)
            timestamp = in_commit_timestamp(now, earlier)
            proposal = with_timestamp(proposal, before, timestamp)
        info = commit_info(
            proposal,
            read_version=self.version,
            now=now,
            txn_id=str(self.identity()),
            engine=by.engine,
            user=by.user,
            reason=by.reason,
            timestamp=timestamp,
        )
        self.version += 1
        self._write(commit_name(self.version), commit_bytes(proposal, info), now)
        self._look()

    def checkpoint(self, by: DemoProvenance) -> None:
        """Write a checkpoint of the last version, and the hint that names it."""
        assert self._log is not None
        moment = by.at.astimezone(UTC)
        written = write_checkpoint(self.store, self._log.listing, now=moment, new_uuid=self.identity)
        for path in (written.path, LAST_CHECKPOINT):
            self.date(path, milliseconds(by.at) + 400)
        self._look()

    def clean(self, before: int) -> None:
        """Delete the commits and checkpoints before a version, as the clean-up of expired log files does."""
        for version in range(before):
            for name in (commit_name(version), checkpoint_name(version)):
                (self.folder / name).unlink(missing_ok=True)

    def _write(self, path: str, data: bytes, time: int) -> None:
        self.store.put_if_absent(path, data, durable=False)
        self.date(path, time)

    def date(self, path: str, time: int) -> None:
        """Give a file a time, in ms since the epoch."""
        os.utime(self.folder / path, (time / 1000, time / 1000))

    def _look(self) -> None:
        if self._log is None:
            self._log = DeltaLog(self.store, None, UTC)
        self._log.refresh()
        self.last = self._log.snapshot(self.version)
