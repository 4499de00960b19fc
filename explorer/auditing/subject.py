"""The table that rules are asked of: each part of it is read at first need, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from datetime import datetime
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa

from explorer.core.compatibility.access import ClientVerdict, Requirements, compatibility, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.matrix import MatrixRow, matrix
from explorer.core.compatibility.my_clients import MyClient, with_writers
from explorer.core.compatibility.writers_seen import writers_seen
from explorer.core.errors import ExplorerError
from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.commit_times import moment
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.history import History
from explorer.core.versions.retention.version_states import VersionRisks, VersionStates
from explorer.core.versions.snapshot import Snapshot

__all__ = ["Commits", "Subject"]


class Commits:
    """The commits as columns, ascending.

    Args:
        table: As `DeltaLog.history` returns it, in any order.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table.sort_by("version")
        self.versions: Int64s = self._table.column("version").to_numpy()

    def numbers(self, column: str) -> Float64s:
        """A column of numbers; NaN where the log does not say."""
        found: Float64s = self._table.column(column).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return found

    def flags(self, column: str) -> Mask:
        """Where a column of truth values is true."""
        found: Mask = self._table.column(column).fill_null(False).to_numpy(zero_copy_only=False).astype(bool)
        return found

    def text(self, version: int, column: str) -> str:
        """A text of one commit; empty where the log does not say, or has no such commit."""
        place = int(np.searchsorted(self.versions, version))
        if place == len(self.versions) or self.versions[place] != version:
            return ""
        return str(self._table.column(column)[place].as_py() or "")

    def unique(self, column: str) -> list[str]:
        """The different texts of a column."""
        return [str(text) for text in self._table.column(column).unique().to_pylist() if text]

    def where(self, column: str, text: str) -> Int64s:
        """The places of the commits with a text in a column."""
        found: Int64s = np.flatnonzero(np.array(self._table.column(column).to_pylist(), object) == text)
        return found


class Subject:
    """A table at its newest version, with all that its log says.

    Args:
        log: The table's log.
        now: The present, with a zone.
        missing: Those of its needed locations at which there is no file; None if nobody looked.
        commits, lineage, risks: The same as the log would give, from whoever has read it already.
        problem: Why the history cannot be read, if that is known already.
        mine: The clients in use, as somebody named them.

    Attributes:
        version: The newest version.
        now: The present, ms since the epoch.
        named_clients: The clients in use, as somebody named them.
    """

    def __init__(
        self,
        log: DeltaLog,
        now: datetime,
        *,
        missing: Set[str] | None = None,
        commits: Callable[[], pa.Table] | None = None,
        lineage: Callable[[], Lineage] | None = None,
        risks: Callable[[], VersionRisks] | None = None,
        problem: ExplorerError | None = None,
        mine: Sequence[MyClient] = (),
    ) -> None:
        self.named_clients = tuple(mine)
        self.log = log
        self.version = log.latest_version()
        self.now = milliseconds(now)
        self.missing = missing
        self._commits, self._lineage = commits or log.history, lineage or log.column_lineage
        self._risks = risks or log.version_risks
        self._unreadable = problem

    @property
    def listing(self) -> LogListing:
        """What the log folder holds."""
        return self.log.listing

    @property
    def history(self) -> History:
        """The recorded commits."""
        return self.read()

    def read(self) -> History:
        """Read the recorded commits, unless that is done; a history that cannot be read is read once."""
        if self._unreadable is not None:
            raise self._unreadable
        try:
            return self.log.history_record()
        except ExplorerError as error:
            self._unreadable = error
            raise

    @cached_property
    def commits(self) -> Commits:
        """The commits as columns."""
        self.read()
        return Commits(self._commits())

    @cached_property
    def snapshot(self) -> Snapshot:
        """The newest version."""
        return self.log.snapshot()

    @cached_property
    def live(self) -> Int64s:
        """The live files, as rows of the lifetimes: what is known of them without reading a checkpoint again."""
        life = self.history.lifetimes
        return np.flatnonzero(life.live(life.last))

    @cached_property
    def lineage(self) -> Lineage:
        """How each column was named and typed."""
        self.read()
        return self._lineage()

    @cached_property
    def risks(self) -> VersionRisks:
        """What leads to the loss of versions."""
        self.read()
        return self._risks()

    @cached_property
    def states(self) -> VersionStates:
        """The state of every version now."""
        return self.risks.at(self.now, self.missing)

    @cached_property
    def requirements(self) -> Requirements:
        """What the newest version demands of its clients."""
        some = bool(self.history.lifetimes.with_vector[self.live].any())
        return requirements(self.snapshot.protocol, self.snapshot.metadata, has_vectors=some)

    @cached_property
    def clients(self) -> tuple[ClientVerdict, ...]:
        """What each client can do with the newest version, as far as it is known of its newest release."""
        asked, protocol = self.requirements, self.requirements.protocol
        versions = (protocol.min_reader_version, protocol.min_writer_version)
        features = (protocol.reader_features, protocol.writer_features)
        return _newest_verdicts(versions, features, asked.unused, by_id=asked.by_id)

    @cached_property
    def matrix(self) -> tuple[MatrixRow, ...]:
        """Every client at every version: those in use first, the writers of the table among them, then the worst."""
        facts, asked = client_facts(), self.requirements
        mine = with_writers(self.named_clients, writers_seen(self.history.commits, facts))
        return matrix(asked, compatibility(asked, facts), facts, mine)

    @cached_property
    def my_clients(self) -> tuple[MatrixRow, ...]:
        """What the clients can do that somebody named."""
        return matrix(self.requirements, (), client_facts(), self.named_clients) if self.named_clients else ()

    def when(self, version: int) -> datetime | None:
        """The time of a commit; None if it is gone."""
        found = self.history.timestamp(version)
        return None if found is None else moment(found)


@lru_cache(maxsize=256)
def _newest_verdicts(
    versions: tuple[int, int],
    features: tuple[tuple[str, ...] | None, tuple[str, ...] | None],
    unused: frozenset[str],
    *,
    by_id: bool,
) -> tuple[ClientVerdict, ...]:
    """Tables that demand the same have the same clients, so many tables are judged once."""
    demanded = Requirements(
        Protocol(
            min_reader_version=versions[0],
            min_writer_version=versions[1],
            reader_features=features[0],
            writer_features=features[1],
        ),
        unused,
        by_id=by_id,
    )
    return tuple({verdict.client: verdict for verdict in compatibility(demanded, client_facts())}.values())
