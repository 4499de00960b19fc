"""What the parts of the widget that show rows have in common: begin work of Spark, follow it, stop it.

Invariants: nothing runs until a button is pressed; while something runs, Cancel is shown; threads of the work
may draw a part, one drawing at a time, and a fault of the drawing never ends the work. A drawing asks for the state of
the work before the answer, as what has ended has its answer, and draws the answer before what says that it is there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

import ipywidgets
from markupsafe import Markup

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError
from explorer.debug import log_failure
from explorer.jupyter.explored import Explored
from explorer.jupyter.markup import tag
from explorer.jupyter.panels import problem_lines, problem_panel
from explorer.jupyter.parts import button, row, text
from explorer.jupyter.tab_panel import TabPanel
from explorer.views.rows.spark_work import WorkState

__all__ = ["RowPanel"]

_log = logging.getLogger(__name__)


class RowPanel(TabPanel):
    """A head, the controls of a question, the progress of its answer, and the answer.

    Args:
        explored: The whole; what is chosen is read at each drawing.
        question: The controls that say what is asked for.
        answer: What shows the answer.

    Attributes:
        begin: The button that asks.
        stop: The button that cancels; shown while something runs.
        progress: How far it is, why it failed, or what it would read.
    """

    def __init__(
        self, explored: Explored, question: Sequence[ipywidgets.Widget], answer: Sequence[ipywidgets.Widget]
    ) -> None:
        self._lock = threading.RLock()
        self.head, self.progress = text(), text()
        self.begin = button(primary=True)
        self.stop = button("Cancel", display="none")
        self.asking = row(*question, self.begin, self.stop, lasting=False)
        super().__init__(explored, [self.head, self.asking, self.progress, *answer])
        self.begin.on_click(lambda _: self.ask())
        self.stop.on_click(lambda _: self.cancel())

    def ask(self) -> None:
        """Begin what the controls ask for; what ran before is stopped."""
        raise NotImplementedError

    def draw(self) -> None:
        """Show the question and its answer as they are now; from any thread."""
        with self._lock:
            try:
                self._draw()
                self.asking.layout.display = None
            except ExplorerError as error:
                self._show_fault(error)
            except Exception as error:  # noqa: BLE001 - a fault of ours is shown to the person and logged
                log_failure(_log, f"{type(self).__name__} could not be drawn", error)
                self._show_fault(error)

    def _draw(self) -> None:
        raise NotImplementedError

    def _show_fault(self, error: Exception) -> None:
        self.asking.layout.display = "none"
        self.progress.value = problem_panel(error)

    def _show_work(self, state: WorkState, *, verb: str, answered: bool, before: str, available: bool = True) -> None:
        """Put the buttons and the progress to a state of the work.

        Args:
            state: How far it is.
            verb: The label of the button that asks.
            answered: An answer is shown.
            before: What is shown in the place of the answer before anything was asked for.
            available: There is something to ask for.
        """
        runs = state.state == "running"
        self.begin.description = f"{verb.split(maxsplit=1)[0]} again" if answered and not runs else verb
        self.begin.layout.display = None if available and not runs else "none"
        self.stop.layout.display = None if runs else "none"
        if runs:
            self.progress.value = _progress(state)
        elif state.problem is not None:
            self.progress.value = problem_lines(state.problem)
        else:
            self.progress.value = "" if answered else tag("p", before, class_="dte-muted")


def _progress(state: WorkState) -> Markup:
    of = {"value": state.done, "max": state.total} if state.total else {}
    tasks = f" \u00b7 {fmt.count(state.done)} / {fmt.count(state.total)} tasks" if state.total else ""
    words = f"{state.phase}{tasks} \u00b7 {state.elapsed:.0f} s"
    return tag("div", tag("progress", **of), " ", tag("span", words), class_="dte-progress", role="status")
