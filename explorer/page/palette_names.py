"""The tables that a page can go to, and their names as far as they were read; the rest is read in the background.

Invariant: a question is answered from what is known, and never waits for a table.
"""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from explorer import formatting as fmt
from explorer.auditing import Finding
from explorer.core.errors import ExplorerError
from explorer.core.versions.delta_log import DeltaLog
from explorer.debug import log_failure
from explorer.views import TableFacts
from explorer.views.palette.name_index import KINDS, Matches, Name, NameIndex, TableNames, table_names

_log = logging.getLogger(__name__)
_READERS: Final = 2
_FRESH: Final = 600.0
"""Seconds until the names of a table that no page follows are read again."""
_MOST_COMMITS: Final = 2_000
_MOST_PEOPLE: Final = 200
_FEW: Final = 100
"""Up to how many tables nothing is forgotten."""


@dataclass(frozen=True, slots=True)
class NamesState:
    """How many of the names are known.

    Attributes:
        tables: How many tables there are, as far as they were found.
        read: Of how many the names were read.
        failed: How many cannot be read.
        searching: Tables are still being looked for.
    """

    tables: int
    read: int
    failed: int
    searching: bool = False

    @property
    def pending(self) -> int:
        """How many are still to be read."""
        return max(0, self.tables - self.read - self.failed)


class PaletteNames:
    """The tables of a host; its methods may be called from any thread.

    Args:
        tables: Returns the names of the tables, and whether more are looked for.
        open_log: Opens a table by its name, for its names to be read; None where pages alone read tables.
        look: Begins to look for tables, if nothing did.
    """

    def __init__(
        self,
        tables: Callable[[], tuple[Sequence[str], bool]],
        open_log: Callable[[str], DeltaLog] | None = None,
        look: Callable[[], object] = lambda: None,
    ) -> None:
        self._tables, self._open, self._look = tables, open_log, look
        self._all = tables
        self._most = _FEW
        self._index = NameIndex()
        self._lock = threading.Lock()
        self._read: dict[str, float] = {}
        self._failed: dict[str, float] = {}
        self._facts: dict[str, tuple[object, object]] = {}
        self._waiting: deque[str] = deque()
        self._readers: set[threading.Thread] = set()

    def of_tables(self, tables: Callable[[], tuple[Sequence[str], bool]]) -> PaletteNames:
        """Return the names as they are for a person who sees some of its tables alone; what is read is shared.

        Args:
            tables: Returns their names, and whether more are looked for.
        """
        seen = copy.copy(self)
        seen._tables = tables
        return seen

    def put(self, table: str, facts: TableFacts, findings: Sequence[Finding] | None = None) -> None:
        """Take the names of a table from what a page or a list has read of it.

        Args:
            table: Its name.
            facts: What was read.
            findings: What the rules find; None for what they were last asked.
        """
        if findings is None and (audit := facts.cached_audit()) is not None:
            findings = audit.findings
        claims = None if findings is None else tuple((each.title, each.rule) for each in findings)
        mark = facts.last, facts.newest
        with self._lock:
            before = self._facts.get(table)
            known = before is not None and before[0] == mark and claims in (None, before[1])
            if facts.partial or known:
                return
            self._facts[table] = mark, claims
        try:
            names = table_names(table, facts.snapshot(facts.last), _people(facts), claims or ())
        except ExplorerError:
            self._failed[table] = time.monotonic()
            return
        self._keep(table, names)

    def begin(self) -> None:
        """Read the names of the tables that are not known, in the background."""
        self._look()
        if self._open is None:
            return
        now = time.monotonic()
        tables = self._tables()[0]
        with self._lock:
            waiting = set(self._waiting)
            known = {**self._failed, **self._read}
            due = (table for table in tables if now - known.get(table, -_FRESH) >= _FRESH and table not in waiting)
            self._waiting.extend(table for table in due if table not in self._facts)
            # Daemons: a program that ends does not wait for the tables that are left.
            readers = [
                threading.Thread(target=self._read_waiting, name="explorer-names", daemon=True)
                for _ in range(min(_READERS - len(self._readers), len(self._waiting)))
            ]
            self._readers.update(readers)
        for reader in readers:
            reader.start()

    def tables(self) -> Sequence[str]:
        """Return the names of the tables that are served."""
        return self._tables()[0]

    def state(self) -> NamesState:
        """Return how much is known."""
        tables, searching = self._tables()
        served = set(tables)
        with self._lock:
            read = len(served & self._read.keys())
            return NamesState(len(served), read, len((served & self._failed.keys()) - self._read.keys()), searching)

    def search(
        self, text: str, *, here: str = "", recent: Collection[Name] = (), kinds: Collection[str] = KINDS
    ) -> Matches:
        """Return the names that match a text; see `NameIndex.search`."""
        return self._index.search(text, self.tables(), here=here, recent=recent, kinds=kinds)

    def holds(self, name: Name) -> Name | None:
        """Return a name as it is now; None if no served table has it."""
        return self._index.holds(name) if name.table in set(self.tables()) else None

    def table_id(self, table: str) -> str:
        """Return the identity of a table; empty if it was not read."""
        known = self._index.known(table)
        return "" if known is None else known.table_id

    def _keep(self, table: str, names: TableNames) -> None:
        self._index.put(names)
        with self._lock:
            self._read[table] = time.monotonic()
            self._failed.pop(table, None)
            many = max(len(self._read), len(self._failed), len(self._facts)) > self._most
        if many:
            self._forget_others()

    def _forget_others(self) -> None:
        """Forget the tables that are not served any more, or that a page asked for under another name."""
        tables, searching = self._all()
        if searching:
            return
        served = set(tables)
        with self._lock:
            for known in (self._read, self._failed, self._facts):
                for table in known.keys() - served:
                    del known[table]
            self._most = 2 * max(len(served), _FEW)
        self._index.keep_only(served)

    def _read_waiting(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._readers.discard(threading.current_thread())
                    return
                table = self._waiting.popleft()
            self._read_one(table)

    def _read_one(self, table: str) -> None:
        assert self._open is not None, "only a host that can open tables has some waiting"
        try:
            log = self._open(table)
            names = table_names(table, log.snapshot(), _authors(log))
        except ExplorerError:
            with self._lock:
                self._failed[table] = time.monotonic()
        except Exception as error:  # noqa: BLE001  # one table must not end the reading of the others; it is logged
            log_failure(_log, f"the names of {table} could not be read", error)
            with self._lock:
                self._failed[table] = time.monotonic()
        else:
            self._keep(table, names)


def visit(facts: TableFacts, table: str) -> tuple[str, str, str, str]:
    """Return by which a browser remembers that a table was shown: as of `explorer.page.palette.Option.recent`."""
    try:
        identity = facts.snapshot(facts.last).metadata.id or ""
    except ExplorerError:
        identity = ""  # it is remembered by its name
    return "table", table, identity, fmt.plain(table, 300)


def _people(facts: TableFacts) -> dict[str, int]:
    return _counted(facts.commits.history) if len(facts.commits) else {}


def _authors(log: DeltaLog) -> dict[str, int]:
    """Return who made the commits of a short log; a long one is read when a page shows its table."""
    return _counted(log.provenance()) if len(log.listing.commits) <= _MOST_COMMITS else {}


def _counted(commits: pa.Table) -> dict[str, int]:
    counts = commits.column("user_name").value_counts().to_pylist()
    people = sorted((-each["counts"], each["values"]) for each in counts if each["values"])
    return {who: -count for count, who in people[:_MOST_PEOPLE]}
