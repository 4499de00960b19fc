"""What a window asks of its desk: checks while typing, plans made again, a check of the rows, a commit.

Handlers run on the server's loop and hand long work to a thread. A message decides nothing about what is
allowed: the table refuses a commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from explorer.core.errors import NotAllowed
from explorer.page.act.form import ActDesk, ask_desk, question_of, redrawn_parts
from explorer.page.address import Address
from explorer.page.window import Handler, Message, Window
from explorer.views.act.desk.state import Ended

_LONGEST_REASON = 4_000


def messages(window: Window) -> Mapping[str, Handler]:
    """Return the messages that the Edit tab handles for a window."""
    heard = ActMessages(window)
    return {
        "draft": heard.draft,
        "person": heard.person,
        "look": heard.look,
        "cancel-look": heard.cancel_look,
        "accept": heard.accept,
        "commit": heard.commit,
        "outcome-read": heard.outcome_read,
        "cancel-commit": heard.cancel_commit,
        "cancel-plan": heard.cancel_plan,
        "plan-again": heard.plan_again,
        "try-again": heard.try_again,
    }


class ActMessages:
    """The handlers of one window."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._newest = 0

    @property
    def _desk(self) -> ActDesk:
        return self._window.work.of(ActDesk)

    def draft(self, message: Message) -> None:
        """Check answers while they are typed; only the newest ones are answered."""
        window, number = self._window, message.number
        view, address = window.view, Address.parse(message.text("query", 1_000_000))
        self._newest = number
        if view is None or not address.act:
            window.answer(message)
            return
        typed, query = replace(address, step="fill"), address.to(step=None)
        window.query = query

        def check() -> dict[str, str]:
            if number != self._newest:
                return {}
            ask_desk(self._desk, view.facts, typed, by_person=True)
            return redrawn_parts(view.facts, typed, self._desk.sheet, message.amount("pairs"))

        def show(regions: dict[str, str]) -> None:
            newest = number == self._newest
            window.answer(message, regions if newest else {}, query=query if newest else "")

        window.compute(message, check, show)

    def person(self, message: Message) -> None:
        """Take the name of who commits."""
        self._desk.name_person(message.text("name"))
        self._show(message)

    def look(self, message: Message) -> None:
        """Begin a check of the rows."""
        if self._desk.start_row_check():
            self._window.begin(self._desk.run_row_check)
        self._show(message)

    def cancel_look(self, message: Message) -> None:
        """Stop it."""
        self._desk.stop_reading()
        self._show(message)

    def accept(self, message: Message) -> None:
        """Let a guard stay unknown."""
        self._desk.accept(message.text("name"))
        self._show(message)

    def commit(self, message: Message) -> None:
        """Commit the plan that was shown."""
        self._check_right()
        name, reason, digest = message.text("name"), message.text("reason", _LONGEST_REASON), message.text("digest")
        self._commit(message, approved=self._desk.approve(name, reason, digest))

    def cancel_commit(self, message: Message) -> None:
        """Stop a commit that checks the rows again."""
        self._desk.cancel_commit()
        self._show(message)

    def cancel_plan(self, message: Message) -> None:
        """Stop planning, and go back to the form."""
        self._desk.forget()
        self._window.query = Address.parse(self._window.query).to(step=None)
        self._window.answer(message, query=self._window.query)
        self._window.redraw()

    def plan_again(self, message: Message) -> None:
        """Make the plan again, on the newest version."""
        self._desk.forget()
        self._window.by_person = True
        self._show(message)

    def try_again(self, message: Message) -> None:
        """Commit the same plan again, as its outcome is not known."""
        self._check_right()
        self._commit(message, approved=self._desk.try_again())

    def outcome_read(self, message: Message) -> None:
        """Leave the outcome of a commit of another change, and go on with this one."""
        self._desk.show_outcome()
        self._show(message)

    def _check_right(self) -> None:
        if not self._window.identity.may_commit:
            raise NotAllowed(
                "Changes cannot be committed from this page, because its server only reads tables. To let changes be "
                "committed, start it with: delta-explorer serve --allow-commits"
            )

    def _commit(self, message: Message, *, approved: bool) -> None:
        """Commit what this message approved; a second press approves nothing."""
        if approved:
            self._window.compute(message, self._desk.commit, lambda _: self._committed(message))
        self._show(message)

    def _committed(self, message: Message) -> None:
        """Give the receipt its own address, if the window is still where the commit was approved."""
        address, state = Address.parse(self._window.query), self._desk.state
        here = self._desk.sheet.draft_of(question_of(address, self._desk.person)) is not None and address.step == "plan"
        ended = state.receipt if here and isinstance(state, Ended) else None
        if ended is not None and ended.outcome == "committed" and ended.version is not None:
            self._window.query = address.receipt_of(ended.version)
            self._window.answer(message, query=self._window.query)
        self._window.redraw()

    def _show(self, message: Message) -> None:
        self._window.answer(message)
        self._window.redraw()
