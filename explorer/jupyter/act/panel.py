"""Act: what a change would do, and the change itself where the widget was made for commits.

Invariants: what is shown follows from the state of the desk and the answers; threads of the work may draw, one drawing
at a time; a button that a state does not have does nothing in it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import ipywidgets
from markupsafe import Markup

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.versions.snapshot import Snapshot
from explorer.debug import log_failure
from explorer.jupyter.act.form import AnswerForm
from explorer.jupyter.act.plan_markup import headline_of, look_line, plan_panel, receipt_panel, refusal_panel
from explorer.jupyter.act.tables import OneTable
from explorer.jupyter.explored import Explored
from explorer.jupyter.markup import joined, tag
from explorer.jupyter.panels import problem_lines, problem_panel
from explorer.jupyter.parts import button, look, row, style, text
from explorer.jupyter.tab_panel import TabPanel
from explorer.views.act.answer_check import Check, check_answers, plans_at_once
from explorer.views.act.desk.desk import Desk
from explorer.views.act.desk.draft import ChangeableTable, Draft, Question
from explorer.views.act.desk.state import Committing, Ended, Looking, Planning, Ready
from explorer.views.act.guard_views import guard_views
from explorer.views.act.intent_form import IntentForm, offers
from explorer.views.act.intents.registry import headline
from explorer.views.act.plan_view import PlanView, plan_view
from explorer.views.act.ways import Way, ways_of
from explorer.views.rows.row_work import live_rows
from explorer.views.rows.spark_work import start_notice

__all__ = ["ActPanel"]

_log = logging.getLogger(__name__)
_FIRST = "Every change is first a plan: what is written, what blocks it, who loses access, how to undo it."
_BEFORE = " Nothing is done before you type the table\u2019s name."


class ActPanel(TabPanel):
    """A change of the newest version.

    Attributes:
        kind: Which change.
        form: Its questions.
        person: Who plans and commits.
        show_plan, back: The buttons of the form and of the plan.
        look, stop: The buttons that let Spark check the rows, and that stop what runs.
        accepted, accept: The name of a guard that may stay unknown, and the button that accepts it.
        reason, name, commit: What approves the plan: why, the table's name, and the button that carries it out.
        again, try_again, show_version: The buttons after a commit.
        show_outcome, go_on: The buttons where a commit ended while another change was on show.
    """

    def __init__(self, explored: Explored) -> None:
        self._lock = threading.RLock()
        self._planned = False
        self._complaint: ExplorerError | None = None
        self._said_last = ""
        # The widget is made of a table, which plans and commits; what only reads of it is typed as its log.
        table = cast("ChangeableTable", explored.table)
        read_only = bool(getattr(explored.table, "read_only", False))
        tables = OneTable(table, allow_commits=explored.allow_commits and not read_only, changed=self._refresh)
        self.desk = Desk(tables, "", signed_in=False, changed=self.draw)
        self._top = text(_why_read_only(explored, read_only=read_only))
        self._text, self._check, self._body, self._progress = (text() for _ in range(4))
        self.kind = ipywidgets.Dropdown(
            options=_kinds(explored.view.facts.snapshot(explored.view.facts.last)), description="change",
            layout={"width": "420px"}, style={"description_width": "initial"},
        )  # fmt: skip
        self.person = ipywidgets.Text(
            placeholder="your name", description="by", continuous_update=False, layout={"width": "220px"},
            style={"description_width": "initial"}, tooltip="the userName of the commit",
        )  # fmt: skip
        self.form = AnswerForm(self._answered)
        self._ways = ipywidgets.HBox([], layout={"flex_flow": "row wrap"})
        self._make_buttons()
        rows = [
            row(self.kind, self.person), self._text, self.form, self._check, row(self.back, self.show_plan),
            self._body, self._ways, row(self.accepted, self.accept), row(self.look, self.stop), self._progress,
            row(self.reason, self.name, self.commit), row(self.show_version, self.try_again, self.again),
            row(self.show_outcome, self.go_on),
        ]  # fmt: skip
        super().__init__(explored, [self._top, *rows])
        self.kind.observe(self._chosen, "value")
        self.person.observe(self._named, "value")

    def _make_buttons(self) -> None:
        self.show_plan = _button("Show the plan", self._plan, primary=True)
        self.back = _button("Back to the form", self._go_back)
        self.look = _button("Check the data", self._look, primary=True)
        self.stop = _button("Cancel", self.cancel)
        self.accept = _button("Accept as unknown", self._accept)
        self.commit = _button("Commit", self._commit, primary=True)
        self.again = _button("Plan again", self._plan_again)
        self.try_again = _button("Try again", self._try_again, primary=True)
        self.show_version = _button("Show it", self._show_version, primary=True)
        self.show_outcome = _button("Show its plan", self._show_outcome, primary=True)
        self.go_on = _button("Go on", self._go_on)
        self.accepted = _field("name of an unknown guard", "260px")
        self.reason, self.name = _field("why: the reason is kept in the history", "320px"), _field("", "220px")

    # --- what is asked

    @property
    def question(self) -> Question:
        """What the controls ask for."""
        return Question(
            self._explored.table.name, str(self.kind.value), tuple(self.form.answers.items()), self.desk.person
        )

    def propose(self, kind: str, answers: Mapping[str, str]) -> None:
        """Open a change with answers filled in; nothing is planned that is not cheap."""
        self._planned = False
        if self.kind.value != kind:
            self.kind.unobserve(self._chosen, "value")
            self.kind.value = kind
            self.kind.observe(self._chosen, "value")
        self.form.forget()
        self.form.ask(kind, self._snapshot(), answers)
        self._answered()

    def cancel(self) -> None:
        """Stop planning, a check of the rows, or a commit that writes rows."""
        match self.desk.state:
            case Planning():
                self._planned = False
                self._said_last = "Cancelled: no plan was made."
                self.desk.forget()
            case Looking():
                self.desk.stop_reading()
            case Committing():
                self.desk.cancel_commit()
        self.draw()

    # --- drawing

    def draw(self) -> None:
        """Show the change as it is now; from any thread."""
        with self._lock:
            try:
                self._draw()
            except ExplorerError as error:
                self._body.value = problem_panel(error)
            except Exception as error:  # noqa: BLE001 - a fault of ours is shown to the person and logged
                log_failure(_log, "the change could not be drawn", error)
                self._body.value = problem_panel(error)

    def _draw(self) -> None:
        self._show_only()
        self._body.value = self._progress.value = self._check.value = ""
        self._ways.children = ()
        untold = self.desk.sheet.untold
        if untold is not None and not (self._planned and isinstance(self.desk.sheet.draft_of(self.question), Draft)):
            self._draw_outcome(untold)
            return
        self.desk.show_outcome()
        if not self.kind.value:
            self.form.forget()
            self._text.value = tag("p", _FIRST, "" if self._top.value else _BEFORE, class_="dte-muted")
            return
        sheet, question = self.desk.sheet, self.question
        state, draft = sheet.state, sheet.draft_of(question)
        if self._planned and isinstance(state, Planning) and state.question == question:
            self._show_only(self.stop)
            self._progress.value = look_line(state.look, "Making the plan")
        elif self._planned and isinstance(draft, Draft) and isinstance(state, Ended):
            self._draw_receipt(state)
        elif self._planned and isinstance(draft, Draft):
            self._draw_plan(draft)
        else:
            self._draw_form()
        if self._complaint is not None:
            self._progress.value = problem_panel(self._complaint)

    def _draw_form(self) -> None:
        kind, facts = str(self.kind.value), self._explored.view.facts
        answers = self.form.answers
        form = self.form.ask(kind, self._snapshot(), answers or self._proposed(kind))
        self.form.layout.display = None
        self._text.value = tag("p", form.about, class_="dte-muted")
        if form.why_not:
            self._check.value = tag("p", tag("b", "Nothing to do here. "), form.why_not)
            return
        check = check_answers(facts, self.question, self.desk.sheet, form, asked=self._planned)
        self.form.show(check)
        self._check.value = _check_line(check)
        self._progress.value = tag("p", self._said_last, class_="dte-muted", role="status") if self._said_last else ""
        self._show_only(self.show_plan)
        self.form.layout.display = None

    def _draw_plan(self, draft: Draft) -> None:
        facts, plan, state = self._explored.view.facts, draft.plan, self.desk.state
        shown = plan_view(plan, draft.table.snapshot(plan.read_version))
        stale = draft.is_stale(facts.last)
        self._text.value = ""
        self._body.value = joined((plan_panel(shown), refusal_panel(draft)))
        if isinstance(state, Committing):
            doing = "Spark writes the rows" if state.look is not None else f"Under way: {shown.doing.lower()}"
            self._progress.value = look_line(state.look, doing)
            self._show_only(*([self.stop] if state.look is not None else []))
            return
        if isinstance(state, Looking):
            self._progress.value = look_line(draft.look, "Checking the rows")
            self._show_only(self.stop)
            return
        self._ways.children = self._buttons_of(draft)
        self._progress.value = self._said(draft, shown, stale=stale)
        buttons: list[Any] = [self.back]
        if stale:
            self.again.description = f"Plan again on v{facts.last}"
            buttons.append(self.again)
        elif shown.needs_rows and not shown.looked_at_rows:
            buttons.append(self.look)
        if any(guard.status == "unknown" and not guard.accepted for guard in shown.guards):
            buttons += [self.accepted, self.accept]
        if self.desk.sheet.may_commit and shown.committable and not shown.nothing_to_do and not stale:
            self.commit.description = shown.doing
            self.name.placeholder = f"type {fmt.shorten(draft.table.name, 40)}"
            buttons += [self.name, self.commit, *([self.reason] if isinstance(plan, CommitPlan) else [])]
        self._show_only(*buttons)

    def _said(self, draft: Draft, plan: PlanView, *, stale: bool) -> Markup:
        """What is to be known below a plan: what a check takes, what was typed wrong, that nothing is done."""
        rows = live_rows(draft.table.snapshot(plan.read_version))
        amount = "all rows" if rows is None else fmt.plural(rows, "row")
        asks = plan.needs_rows and not plan.looked_at_rows and not stale
        nothing = "Nothing has been written." if plan.commit_version is not None else "Nothing has been done."
        stopped = "Cancelled: the rows were not checked. Check them again at any time."
        looked = f"The rows were checked at v{plan.read_version} in {draft.look.elapsed:.1f} s."
        return joined(
            (
                problem_lines(draft.look.problem) if draft.look.problem is not None else None,
                tag("p", "The table has a newer version: plan again before this is done.", class_="dte-warn")
                if stale else None,
                tag("p", draft.done_before, class_="dte-warn") if draft.done_before and draft.refusal is None else None,
                tag("p", stopped, role="status") if draft.look.outcome == "cancelled" else None,
                tag("p", f"A check reads {amount}.{start_notice()}", class_="dte-muted") if asks else None,
                tag("p", looked, class_="dte-muted") if plan.looked_at_rows and draft.look.elapsed else None,
                tag("p", draft.approval_problem, class_="dte-wrong", role="alert") if draft.approval_problem else None,
                tag("p", nothing, class_="dte-muted") if draft.refusal is None else None,
            )
        )  # fmt: skip

    def _draw_receipt(self, ended: Ended) -> None:
        receipt = ended.receipt
        guards = guard_views(ended.draft.plan)
        self._text.value = ""
        self._body.value = receipt_panel(receipt, headline(ended.draft.plan.intent), guards)
        buttons: list[Any] = [self.back]
        if receipt.outcome == "committed" and receipt.version is not None:
            self.show_version.description = f"Show v{receipt.version}"
            buttons.append(self.show_version)
        elif receipt.outcome == "unknown":
            buttons.append(self.try_again)
        elif receipt.outcome != "committed":
            self.again.description = f"Plan again on v{self._explored.view.facts.last}"
            buttons.append(self.again)
        self._show_only(*buttons)

    def _draw_outcome(self, untold: Ready | Ended) -> None:
        """Show what came of a commit before anything else, where another change was on show when it ended."""
        draft = untold.draft
        asked = headline(draft.plan.intent)
        self._text.value = ""
        if isinstance(untold, Ended):
            self._body.value = receipt_panel(untold.receipt, asked, guard_views(draft.plan))
            self._show_only(*([self.try_again] if untold.receipt.outcome == "unknown" else []), self.go_on)
        else:
            self._body.value = joined((headline_of(asked), refusal_panel(draft)))
            self._show_only(self.show_outcome, self.go_on)

    def _show_only(self, *buttons: Any) -> None:
        self.form.layout.display = "none"
        for control in (
            self.show_plan, self.back, self.look, self.stop, self.accepted, self.accept, self.reason, self.name,
            self.commit, self.again, self.try_again, self.show_version, self.show_outcome, self.go_on,
        ):  # fmt: skip
            control.layout.display = None if control in buttons else "none"

    def _buttons_of(self, draft: Draft) -> list[Any]:
        """A button for each next step of a guard that did not pass."""
        ways = [way for guard in draft.plan.guards for way in ways_of(guard, draft.plan) if not way.part]
        return [_button(fmt.plain(way.label, 80), partial(self._follow, way)) for way in ways]

    def _follow(self, way: Way) -> None:
        if way.kind:
            self.propose(way.kind, dict(way.answers))
        elif way.where:
            self._explored.turn_to("data", predicate=way.where)
        else:
            self._explored.turn_to("diff", compare_version=way.compared)

    # --- what the controls do

    def _chosen(self, _change: object) -> None:
        self._planned, self._complaint = False, None
        self.form.forget()
        if self.kind.value:
            self.form.ask(str(self.kind.value), self._snapshot(), self._proposed(str(self.kind.value)))
        self._answered()

    def _named(self, _change: object) -> None:
        self.desk.name_person(self.person.value)
        self._answered()

    def _answered(self) -> None:
        """Plan answers that are complete, as far as that is cheap."""
        self._complaint, self._said_last = None, ""
        if self.kind.value:
            form = self.form.ask(str(self.kind.value), self._snapshot(), self.form.answers)
            if self._planned:
                self._ask(form)
            elif plans_at_once(form, self.form.answers):
                self.desk.ask_for(self.question, newest=self._explored.view.facts.last, wait=False)
        self.draw()

    def _plan(self) -> None:
        form = self.form.ask(str(self.kind.value), self._snapshot(), self.form.answers)
        check = check_answers(self._explored.view.facts, self.question, self.desk.sheet, form, asked=True)
        if check.missing or check.errors:
            self.draw()
            return
        self._planned, self._said_last = True, ""
        self._ask(form)
        self.draw()

    def _ask(self, form: IntentForm) -> None:
        """Plan what is asked for; what lists files does so on a thread, what reads rows on one of the desk's."""
        question, newest = self.question, self._explored.view.facts.last

        def ask() -> None:
            self.desk.ask_for(question, newest=newest, show=True, wait=False)
            self.draw()

        if form.costly and not form.reads_rows:
            self._begin(ask)
        else:
            ask()

    def _look(self) -> None:
        if self._did(self.desk.begin_look):
            self._begin(self.desk.look_at_rows)

    def _accept(self) -> None:
        self._did(lambda: self.desk.accept(self.accepted.value))
        self.accepted.value = ""

    def _commit(self) -> None:
        state = self.desk.sheet.draft_of(self.question)
        if not self.desk.sheet.may_commit or not isinstance(state, Draft):
            return
        digest = state.plan.digest
        if self._did(lambda: self.desk.approve(self.name.value, self.reason.value, digest)):
            self._begin(self.desk.commit)
            self.name.value = ""

    def _try_again(self) -> None:
        if self.desk.try_again():
            self._begin(self.desk.commit)
        self.draw()

    def _plan_again(self) -> None:
        self.desk.forget()
        self._plan()

    def _go_back(self) -> None:
        self._planned = False
        if isinstance(self.desk.state, Ended):
            self.desk.forget()
            self.reason.value = ""
            self.kind.value = ""
        self.draw()

    def _show_outcome(self) -> None:
        """Open the plan whose commit broke off."""
        untold = self.desk.sheet.untold
        if untold is not None:
            question = untold.draft.question
            self.propose(question.kind, dict(question.answers))
            self._planned = True
            self.draw()

    def _go_on(self) -> None:
        """Leave the outcome, and go on with the change that is on show."""
        self.desk.show_outcome()
        self._answered()

    def _show_version(self) -> None:
        state = self.desk.state
        if isinstance(state, Ended) and state.receipt.version is not None:
            self._explored.turn_to("diff", version=state.receipt.version, compare_version=None)

    def _did(self, step: Callable[[], Any]) -> Any:
        """Do a step of the desk; why it refuses is shown."""
        self._complaint = None
        try:
            return step()
        except ExplorerError as error:
            self._complaint = error
        finally:
            self.draw()
        return None

    def _begin(self, work: Callable[[], None]) -> None:
        """Work on a thread that the kernel waits for at its end: the outcome of a commit must be known."""
        threading.Thread(target=work, name="act", daemon=False).start()

    def _refresh(self) -> None:
        try:
            self._explored.refresh()
        except ExplorerError as error:
            self._complaint = error

    def _snapshot(self) -> Snapshot:
        facts = self._explored.view.facts
        return facts.snapshot(facts.last)

    def _proposed(self, kind: str) -> dict[str, str]:
        """What the widget itself proposes: to restore the old version that is shown."""
        view = self._explored.view
        return {"version": str(view.version)} if kind == "restore" and view.version < view.facts.last else {}


def _why_read_only(explored: Explored, *, read_only: bool) -> Markup | str:
    if read_only:
        why = "The table was opened for reading only"
        how = "explorer.open_table(location).explore(allow_commits=True)"
    elif not explored.allow_commits:
        why, how = "This widget plans and never writes", "table.explore(allow_commits=True)"
    else:
        return ""
    said = ". Every plan below is real: guards, consequences and the exact actions. To commit from a widget: "
    return tag("p", tag("b", why), said, tag("code", how), ".", class_="dte-muted")


def _kinds(snapshot: Snapshot) -> list[tuple[str, str]]:
    known = [(f"{group.title}: {offer.title}", offer.kind) for group in offers(snapshot) for offer in group.offers]
    return [("choose a change\u2026", ""), *known]


def _check_line(check: Check) -> Markup | str:
    if check.problem is not None:
        return problem_lines(check.problem)
    if check.errors:
        return tag("p", "Not valid yet: see above.", class_="dte-wrong")
    if check.missing:
        return tag("p", f"Still to fill in: {', '.join(check.missing).lower()}.", class_="dte-muted")
    if check.costly:
        return tag("p", f"Ready. {check.costly}", class_="dte-muted")
    if not check.counts:
        return ""
    said = "A guard blocks it." if check.blocked else "Ready."
    return tag("p", said, f" Guards: {check.counts}.", class_="dte-wrong" if check.blocked else "dte-ok")


def _button(label: str, action: Callable[[], None], *, primary: bool = False) -> Any:
    made = button(label, primary=primary)
    made.on_click(lambda _: action())
    return made


def _field(placeholder: str, width: str) -> Any:
    return ipywidgets.Text(
        placeholder=placeholder, tooltip=placeholder, layout=look(width=width), style=style(ipywidgets.Text)
    )
