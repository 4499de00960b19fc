"""What a window asks of its change: checks while typing, plans anew, a look at the rows, a commit.

Handlers run on the server's loop and hand what takes time to a thread. That a message arrives says nothing of what is
allowed: a commit is refused by the table.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import TYPE_CHECKING, Any

from explorer.views import TableFacts
from explorer.web.act_page import checked_answers
from explorer.web.address import Address

if TYPE_CHECKING:
    from explorer.web.session import Session

__all__ = ["ChangeMessages"]

_LONGEST = 400
Message = dict[str, Any]


class ChangeMessages:
    """The messages of the Act tab.

    Args:
        session: The window's session.
        workers: Threads for what takes time.
    """

    def __init__(self, session: Session, workers: Executor) -> None:
        self._session = session
        self._workers = workers
        self._newest = 0
        self.handlers: dict[str, Callable[[Message], None]] = {
            "draft": self._draft,
            "person": self._person,
            "look": self._look,
            "cancel-look": self._cancel_look,
            "accept": self._accept,
            "commit": self._commit,
            "cancel-commit": self._cancel_commit,
            "plan-again": self._plan_again,
            "try-again": self._try_again,
        }

    def _draft(self, message: Message) -> None:
        view = self._session.shown.view
        address = Address.parse(str(message.get("query", "")))
        number = self._newest = int(message.get("number", 0))
        if view is None or not address.act:
            self._session.acknowledge(message)
            return
        self._session.query = query = address.to(step=None)
        work = partial(self._checked, number, view.facts, address, int(message.get("pairs", 0)))
        arrived = partial(self._arrived, message, query)
        self._workers.submit(work).add_done_callback(lambda done: self._session.later(partial(arrived, done)))

    def _checked(self, number: int, facts: TableFacts, address: Address, pairs: int) -> dict[str, str]:
        return checked_answers(facts, address, self._session.works.desk, pairs) if number == self._newest else {}

    def _arrived(self, message: Message, query: str, done: Future[dict[str, str]]) -> None:
        error = done.exception()
        if isinstance(error, Exception):
            self._session.tell(error, number=message["number"])
        elif message["number"] == self._newest:
            self._session.patch(done.result(), message, query=query)
        else:
            self._session.acknowledge(message)

    def _person(self, message: Message) -> None:
        self._session.works.desk.named(_text(message, "name"))
        self._shown(message)

    def _look(self, message: Message) -> None:
        if self._session.works.desk.begin_look():
            self._workers.submit(self._session.works.desk.look_at_rows)
        self._shown(message)

    def _cancel_look(self, message: Message) -> None:
        self._session.works.desk.cancel_look()
        self._shown(message)

    def _accept(self, message: Message) -> None:
        self._session.works.desk.accept(_text(message, "name"))
        self._shown(message)

    def _commit(self, message: Message) -> None:
        desk = self._session.works.desk
        desk.approve(_text(message, "name"), str(message.get("reason", "")), _text(message, "digest"))
        self._workers.submit(desk.commit)
        self._shown(message)

    def _cancel_commit(self, message: Message) -> None:
        self._session.works.desk.cancel_commit()
        self._shown(message)

    def _plan_again(self, message: Message) -> None:
        self._session.works.desk.plan_again()
        self._shown(message)

    def _try_again(self, message: Message) -> None:
        self._session.works.desk.try_again()
        self._workers.submit(self._session.works.desk.commit)
        self._shown(message)

    def _shown(self, message: Message) -> None:
        self._session.acknowledge(message)
        self._session.show_again()


def _text(message: Message, name: str) -> str:
    return str(message.get(name, ""))[:_LONGEST]
