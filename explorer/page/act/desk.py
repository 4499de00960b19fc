"""The Act desk of one window: the address of the page says what is asked for."""

from __future__ import annotations

from explorer.page.address import Address
from explorer.views.act.desk.desk import Desk
from explorer.views.act.desk.draft import Question
from explorer.views.act.desk.state import State

__all__ = ["ActDesk", "question_of"]


class ActDesk(Desk):
    """At most one plan, one check of the rows and one commit at a time."""

    def ask(self, address: Address, *, newest: int, show: bool = False) -> State:
        """Plan what an address asks for, one that reads rows on a thread of its own; see `Desk.ask_for`."""
        return self.ask_for(question_of(address, self.person), newest=newest, show=show, wait=False)


def question_of(address: Address, person: str) -> Question:
    """Return what an address asks for."""
    return Question(address.table, address.act, address.answers, person)
