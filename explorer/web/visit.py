"""The list of tables as one visitor follows it: which search is shown, and whether it was ended, is the visitor's own.

Invariants: what a visitor presses changes nothing for another one; a search goes on as long as one visitor waits for
it, and ends when all who are there have ended it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from explorer.web.table_list import TableList, TableListing


class Visits:
    """The visitors of one list.

    Args:
        whole: The list.
    """

    def __init__(self, whole: TableList) -> None:
        self.whole = whole
        self.there: set[Visit] = set()

    def begin(self, shown: TableList) -> Visit:
        """Return a visit of one more visitor, to whom the list is shown as given."""
        return Visit(self, shown)

    def end_if_nobody_waits(self) -> None:
        """End the search if all visitors who are there have ended it."""
        there = tuple(self.there)
        if there and all(visit.has_ended for visit in there):
            self.whole.stop()


class Visit:
    """One visitor's list.

    Args:
        visits: All visitors of it.
        shown: The list, as far as this visitor may see it.
    """

    def __init__(self, visits: Visits, shown: TableList) -> None:
        self._visits, self._whole = visits, shown
        self._ended: TableListing | None = None
        self._asked = False
        self._unfollow: Callable[[], None] = lambda: None

    @property
    def has_ended(self) -> bool:
        """Whether the visitor ended the search, and sees the list as it was then."""
        return self._ended is not None

    def follow(self, changed: Callable[[], None]) -> None:
        """Call a function when the visitor's list is another, as of `TableList.follow`."""
        self._unfollow = self._whole.follow(lambda: None if self.has_ended else changed())

    def attend(self) -> None:
        """Count the visitor among those who wait: the window is open."""
        self._visits.there.add(self)

    def leave(self) -> None:
        """Follow the list no more."""
        self._unfollow()
        self._visits.there.discard(self)
        self._visits.end_if_nobody_waits()

    def begin(self, *, patience: float = 0.0) -> None:
        """Search where it is time, and where others ended a search that this visitor waits for.

        Args:
            patience: Seconds to wait for its end.
        """
        if not self.has_ended:
            self._whole.begin(patience=patience, resume=True)

    def stop(self) -> None:
        """End the search for this visitor."""
        now = self.listing()
        if now.searching:
            self._ended = replace(now, searching=False, stopped=True, waiting="")
            self._visits.end_if_nobody_waits()

    def go_on(self) -> None:
        """Go on where the search was ended, or where as many tables as are listed were found."""
        self._ended = None
        self._whole.go_on()

    def again(self) -> None:
        """Search all again, and show that to this visitor."""
        self._ended, self._asked = None, True
        self._whole.again()

    def listing(self) -> TableListing:
        """Return the list as it is now; as it was, if the visitor ended the search."""
        if self._ended is not None:
            return self._ended
        now = self._whole.listing(asked=self._asked)
        self._asked = self._asked and now.searching
        # That others ended a search is none of this visitor's business.
        return replace(now, stopped=False)
