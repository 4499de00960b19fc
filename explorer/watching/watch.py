"""The rounds of a watch: all tables, each by itself, until it is stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import explorer
from explorer.auditing.tripwires.records import Silence, Tripwire
from explorer.core.compatibility.access import Access
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.errors import ExplorerError, StorageError
from explorer.debug import log_failure
from explorer.notices.book import NoticeBook
from explorer.storage.served_roots import ServedRoots, TableRef
from explorer.system import my_clients
from explorer.watching.table_watch import (
    SeenTable,
    TableNews,
    WatchedPlace,
    changed_verdicts,
    judged,
    judged_names,
    readable,
    tripped,
    unreadable,
    vanished,
    went_back,
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Round:
    """What one round came to.

    Attributes:
        tables: How many tables were looked at.
        unreadable: How many of them, or of folders, cannot be read.
        posted: How many notices are new.
    """

    tables: int
    unreadable: int
    posted: int


class Watch:
    """Watches the tables under served roots.

    Args:
        roots: The roots.
        wires: The tripwires; none watches the clients in use and whether tables can be read.
        book: Takes the notices.
        home: The address of the pages of a server, for links; empty if it is not known.
    """

    def __init__(self, roots: ServedRoots, wires: Sequence[Tripwire], book: NoticeBook, home: str = "") -> None:
        self._roots, self._wires, self._book, self._home = roots, tuple(wires), book, home
        self._stopping = threading.Event()
        self._unwritten = ""

    def stop(self) -> None:
        """End after the table that is being looked at; from any thread, or a handler of a signal."""
        self._stopping.set()

    def run(self, every: timedelta, report: Callable[[Round], None] = lambda _: None) -> None:
        """Look at all tables, again and again, until `stop`.

        Args:
            every: From the beginning of a round to that of the next one; a round that takes longer is followed at once.
            report: Called after each round.
        """
        while not self._stopping.is_set():
            began = datetime.now(UTC)
            try:
                report(self.look())
            except StorageError as error:
                # The notices cannot be written: nothing was seen then, so the next round sees it again.
                _log.error("%s", error)  # the message is complete
            took = max(datetime.now(UTC) - began, timedelta())
            self._stopping.wait(max((every - took).total_seconds(), 1.0))

    def look(self) -> Round:
        """Look at all tables once.

        Raises:
            StorageError: The notices cannot be written.
        """
        known = self._book.watched(SeenTable)
        missing = {place: seen for place, seen in known.items() if place.startswith(self._roots.locations)}
        tables = bad = posted = 0
        for place, ref, error in self._places():
            if self._stopping.is_set():
                return Round(tables, bad, posted)
            tables += ref is not None
            missing.pop(place.location, None)
            news = self._news(place, ref, error, known.get(place.location))
            bad += news.seen is None
            with self._book.changes() as changes:
                posted += news.write(changes, place)
        # What could not be listed may hold them.
        if missing and not self._roots.unlisted and not self._roots.cut:
            with self._book.changes() as changes:
                for location, seen in missing.items():
                    place = WatchedPlace(seen.name, location, self._home)
                    posted += changes.post(vanished(place, datetime.now(UTC)))
            bad += len(missing)
        return Round(tables, bad, posted)

    def _places(self) -> Iterator[tuple[WatchedPlace, TableRef | None, ExplorerError | None]]:
        """Yield the tables, and the folders that cannot be listed with why."""
        for ref in self._roots.tables():
            yield WatchedPlace(ref.name, ref.location, self._home), ref, None
        for each in self._roots.unlisted:
            yield WatchedPlace(each.location, each.location), None, each.error

    def _news(
        self, place: WatchedPlace, ref: TableRef | None, error: ExplorerError | None, before: SeenTable | None
    ) -> TableNews:
        """Return what is to be told of a table; whatever is wrong with it is told, too."""
        now, news = datetime.now(UTC), TableNews()
        try:
            if ref is None:
                assert error is not None
                raise error
            self._look_at(place, ref, before, now, news)
            news.ends.append(readable(place, now))
        except ExplorerError as failed:
            news.seen = None
            news.posts.append(unreadable(place, failed, now))
        except Exception as fault:  # noqa: BLE001  # one table must not end the watch; the fault is logged
            log_failure(_log, f"cannot watch {place.location}", fault)
            news.seen = None
            news.posts.append(
                unreadable(
                    place, ExplorerError(f"This is a bug: {type(fault).__name__}. The log of the watch has more."), now
                )
            )
        return news

    def _look_at(
        self, place: WatchedPlace, ref: TableRef, before: SeenTable | None, now: datetime, news: TableNews
    ) -> None:
        table = explorer.open_table(
            ref.location, storage_options=ref.storage_options, roots=(ref.root,), read_only=True
        )
        latest = table.latest_version()
        # First, as also tables that this program cannot read are judged.
        verdicts, of = self._judge(place, table, latest, before, news)
        after = latest if before is None else before.version
        if after > latest:
            news.posts.append(went_back(place, after, latest, now))
            after = latest
        silent = any(isinstance(wire, Silence) for wire in self._wires)
        if self._wires and (after < latest or silent):
            news.add(tripped(place, self._wires, table.history_record(), after, now))
        news.seen = SeenTable(place.name, latest, verdicts, of)

    def _judge(
        self, place: WatchedPlace, table: explorer.Table, latest: int, before: SeenTable | None, news: TableNews
    ) -> tuple[dict[str, Access], int | None]:
        """Return what the clients in use can do with the newest version, and that version; None without clients."""
        clients = my_clients()
        if not clients:
            return {}, None
        if before is not None and before.verdicts_at == latest and before.verdicts.keys() == judged_names(clients):
            return before.verdicts, latest
        verdicts = judged(clients, client_facts(), table.requirements(latest))
        if before is not None and before.verdicts_at is not None:
            news.add(changed_verdicts(place, before.verdicts, verdicts, (before.verdicts_at, latest)))
        return verdicts, latest
