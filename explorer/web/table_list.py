"""The list of the served tables, one for all windows: searched in the background, and searched again while it is shown.

A search after the first one takes folders for tables that were tables before, so it lists only the folders between
them. Invariants: a root that does not answer keeps no other waiting; tables below a folder that cannot be listed stay
as they were; on average a search sends few requests a second, however many tables there are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from explorer.storage.served_roots import NamedRoot, ServedRoots, TableRef
from explorer.storage.silence import waiting_line
from explorer.storage.table_search.search import TableSearch, Unlisted

_EVERY: Final = 0.4
_FRESH: Final = 10.0
_PACE: Final = 0.1
"""Seconds between two searches for each folder that the first of them listed."""
_LONGER: Final = 20
"""How much longer the time between two searches is than a search."""
_WHOLE: Final = 60.0
"""Seconds after which a search lists tables again, at the least."""


@dataclass(frozen=True, slots=True)
class TableListing:
    """What the list is at one time.

    Attributes:
        refs: The tables so far, by name.
        unlisted: Folders that cannot be listed, the roots first.
        listed: How many folders were listed.
        searching: Whether a first search goes on, or one that the visitor asked for.
        seconds: How long it has taken so far.
        stopped: Whether a person ended it.
        cut: Roots with more tables than are listed.
        waiting: Which store does not answer, and for how long; empty if all do.
    """

    refs: tuple[TableRef, ...] = ()
    unlisted: tuple[Unlisted, ...] = ()
    listed: int = 0
    searching: bool = False
    seconds: float = 0.0
    stopped: bool = False
    cut: tuple[str, ...] = ()
    waiting: str = ""


class TableList:
    """The tables under the served roots.

    Args:
        roots: The roots.
    """

    def __init__(self, roots: ServedRoots) -> None:
        self._followers: set[Callable[[], None]] = set()
        self._roots = [_RootList(root, roots.most, self._changed) for root in roots.named]

    def begin(self, *, patience: float = 0.0, resume: bool = False) -> None:
        """Search the roots that were not searched for a while, unless a person ended the search.

        Args:
            patience: Seconds to wait for its end.
            resume: Go on with a search that a person ended, too.
        """
        for root in self._roots:
            root.begin(resume=resume)
        ends = time.monotonic() + patience
        for root in self._roots:
            root.wait(ends - time.monotonic())

    def stop(self) -> None:
        """End the search."""
        for root in self._roots:
            root.stop()

    def go_on(self) -> None:
        """Search on where the search was ended, or where as many tables as are listed were found."""
        for root in self._roots:
            root.go_on()

    def again(self) -> None:
        """Search all again."""
        for root in self._roots:
            root.again()

    def follow(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the list is another, at most every 0.4 s for a root, from a thread.

        Returns:
            A function that ends this.
        """
        self._followers.add(changed)
        return lambda: self._followers.discard(changed)

    def some_names(self, most: int) -> tuple[str, ...]:
        """Return the names of so many of the tables that were found, at most."""
        names = (ref.name for root in self._roots for ref in root.listing().refs)
        return tuple(islice(names, most))

    def listing(self, *, asked: bool = False) -> TableListing:
        """Return the list as it is now.

        Args:
            asked: Show a search as one that goes on, also if it is not the first one.
        """
        parts = [root.listing(asked=asked) for root in self._roots]
        unlisted = [each for part in parts for each in part.unlisted]
        return TableListing(
            refs=tuple(sorted((ref for part in parts for ref in part.refs), key=lambda ref: ref.name.casefold())),
            unlisted=tuple(sorted(unlisted, key=lambda each: bool(each.below))),
            listed=sum(part.listed for part in parts),
            searching=any(part.searching for part in parts),
            seconds=max((part.seconds for part in parts), default=0.0),
            stopped=any(part.stopped for part in parts),
            cut=tuple(place for part in parts for place in part.cut),
            waiting=next((part.waiting for part in parts if part.waiting), ""),
        )

    def _changed(self) -> None:
        for changed in tuple(self._followers):
            changed()


class _RootList:
    """The tables under one root; the search runs on a thread of its own.

    Args:
        root: The root.
        most: How many tables are listed.
        changed: Called from a thread when the list is another.
    """

    def __init__(self, root: NamedRoot, most: int | None, changed: Callable[[], None]) -> None:
        self._root, self._most, self._changed = root, most, changed
        self._lock = threading.Lock()
        self._tables: dict[str, TableRef] = {}
        self._unlisted: tuple[Unlisted, ...] = ()
        self._refused: dict[str, Unlisted] = {}
        self._search: TableSearch | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._shown = self._asked = self._stopped = False
        self._began = self._due = self._listed_whole = -float("inf")

    def begin(self, *, resume: bool = False) -> None:
        """Search if it is time."""
        with self._lock:
            if self._stopped and resume:
                self._go_on()
            if not self._idle.is_set() or self._stopped or time.monotonic() < self._due:
                return
            first = self._search is None
            whole = first or time.monotonic() - self._listed_whole > max(_WHOLE, _PACE * len(self._tables))
            known = () if whole else frozenset(self._tables)
            self._start(self._root.search(most=self._most, known=known), shown=first)

    def again(self) -> None:
        """Search all again, unless a search goes on."""
        with self._lock:
            self._stopped = False
            if self._idle.is_set():
                self._start(self._root.search(most=self._most), shown=self._search is None)
                self._asked = True

    def go_on(self) -> None:
        """Go on with a search that was ended or cut."""
        with self._lock:
            self._go_on()

    def _go_on(self) -> None:
        self._stopped = False
        if self._idle.is_set() and self._search is not None and not self._search.is_done:
            self._start(self._search, shown=True)

    def stop(self) -> None:
        """End the search."""
        with self._lock:
            if not self._idle.is_set() and self._search is not None:
                self._stopped = True
                self._search.stop()

    def wait(self, seconds: float) -> None:
        """Wait until no search goes on."""
        self._idle.wait(max(seconds, 0))

    def listing(self, *, asked: bool = False) -> TableListing:
        """Return the part of this root."""
        with self._lock:
            searching = (self._shown or asked) and not self._idle.is_set()
            search = self._search
            return TableListing(
                refs=tuple(self._tables.values()),
                unlisted=(*self._unlisted, *self._refused.values()),
                listed=0 if search is None else search.listed,
                searching=searching,
                seconds=time.monotonic() - self._began if searching else 0.0,
                stopped=self._stopped,
                cut=(self._root.tree.root,) if search is not None and search.cut and not searching else (),
                waiting=waiting_line(self._root.tree.root) if searching else "",
            )

    def _start(self, search: TableSearch, *, shown: bool) -> None:
        self._search, self._shown, self._asked, self._began = search, shown, False, time.monotonic()
        self._idle.clear()
        threading.Thread(target=self._run, args=(search,), name="explorer-list", daemon=True).start()

    def _run(self, search: TableSearch) -> None:
        reported, others = time.monotonic(), False
        try:
            for each in search.steps():
                others = self._take(each) or others
                if others and time.monotonic() - reported >= _EVERY:
                    reported, others = time.monotonic(), False
                    self._changed()
        finally:
            if self._end(search) or others:
                self._changed()

    def _take(self, each: str | Unlisted) -> bool:
        """Take what a search found; return whether the list is another."""
        ref = self._root.served(each)
        if isinstance(each, Unlisted):
            return False
        with self._lock:
            if isinstance(ref, Unlisted):
                self._refused[each] = ref
                return False
            new = each not in self._tables
            self._tables[each] = ref
            return new

    def _end(self, search: TableSearch) -> bool:
        """Take the end of a search; return whether the list is another."""
        with self._lock:
            places = [each.location for each in self._unlisted]
            self._unlisted = tuple(search.unlisted)
            others = self._shown or self._asked or places != [each.location for each in self._unlisted]
            now = time.monotonic()
            if search.is_done:
                self._stopped = False
                others = self._remove_all_but(search) or others
                if not search.known:
                    self._listed_whole = now
            self._due = now + max(_FRESH, _LONGER * (now - self._began), _PACE * search.listed)
            self._idle.set()
            return others

    def _remove_all_but(self, search: TableSearch) -> bool:
        """Remove tables that a complete search did not find, but for those below folders that it could not list."""
        closed = tuple(f"{each.below}/" if each.below else "" for each in search.unlisted)
        lost = [below for below in self._tables.keys() - set(search.tables) if not f"{below}/".startswith(closed)]
        for below in lost:
            del self._tables[below]
        return bool(lost)
