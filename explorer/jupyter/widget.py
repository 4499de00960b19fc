"""The widget that `Table.explore` returns: one table, a chosen version, what differs from another one, and rows.

Its traits are the state: setting one from code, through a link to another widget, or by the controls is the same thing.
Invariants: a value that cannot be shown is refused when it is set, said in the widget, and nothing changes then; if a
part cannot be drawn, its place shows the error; one request of a control is one drawing; a part is made when it is
opened first; rows are read only on request; nothing is committed unless the widget was made for that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

import ipywidgets

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError, RequestError
from explorer.debug import log_failure
from explorer.jupyter.browser.host_page import HostPage
from explorer.jupyter.browser.page_kit import page_kit
from explorer.jupyter.browser.style import ROOT
from explorer.jupyter.checked_traits import Checked
from explorer.jupyter.controls import VersionControls
from explorer.jupyter.displays import card_html
from explorer.jupyter.findings import FindingsLine
from explorer.jupyter.panels import problem_lines, problem_panel, signs, version_line
from explorer.jupyter.parts import look, style, text
from explorer.jupyter.results import FORMS, changes_found, check_paths, converted, rows_found, selected_table
from explorer.jupyter.static_picture import picture_html, picture_text
from explorer.jupyter.tab_panel import TabPanel
from explorer.jupyter.tabs import TABS
from explorer.jupyter.timeline_chart import TimelineChart
from explorer.jupyter.waiting import told
from explorer.views import TableFacts, TableView
from explorer.views.cards import card_of
from explorer.views.problems import replaced_problem
from explorer.views.rows.row_work import change_range
from explorer.views.table.funnel import funnel_of

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.diff import SnapshotDiff

__all__ = ["TableExplorer"]

_log = logging.getLogger(__name__)
_THEMES = ("auto", "light", "dark")
_STATE = ["version", "compare_version", "tab", "selected_files", "predicate", "theme"]


class TableExplorer(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets publishes no types
    """A table's versions, the chosen one, and what differs between it and the one it is compared with.

    Args:
        table: The table's log. A table that cannot be read is shown as its error.
        version: The version chosen at first; the newest one unless given.
        compare_version: The version to compare it with.
        tab, selected_files, predicate, theme: Values of the traits.
        allow_commits: Let the Act part commit what it plans; otherwise it says what a change would do.

    Attributes:
        version: The chosen version; None only where the table cannot be read.
        compare_version: The version it is compared with; None is the version before.
        tab: The part on show: ``overview``; ``diff`` (files, schema and rows that differ); ``files``, ``columns``,
            ``deletion-vectors``, ``statistics`` and ``audit`` (by the log alone); ``data`` (rows of the chosen
            version), ``changes`` (rows that changed after the compared version, up to the chosen one) or ``act`` (what
            a change of the newest version would do).
        selected_files: Decoded paths of data files, a tuple; a selection stays when the version changes.
        predicate: A boolean SQL expression: which files it reads (``statistics``), and which rows are shown (``data``).
        theme: ``auto`` follows the page.

    Raises:
        RequestError: A value asked for cannot be shown.
    """

    version = Checked(default_value=None, help="The chosen version.")
    compare_version = Checked(default_value=None, help="The version compared with; None is the one before.")
    tab = Checked(default_value="diff", help="The part on show.")
    selected_files = Checked(default_value=(), help="Decoded paths of data files.")
    predicate = Checked(default_value="", help="A boolean SQL expression over the columns; empty for none.")
    theme = Checked(default_value="auto", help="The colours; auto follows the page.")

    def __init__(
        self,
        table: DeltaLog,
        *,
        version: int | None = None,
        compare_version: int | None = None,
        tab: str = "diff",
        selected_files: Sequence[str] = (),
        predicate: str = "",
        theme: str = "auto",
        allow_commits: bool = False,
    ) -> None:
        self.table, self.allow_commits = table, allow_commits
        self._view: TableView | None = None
        self._failure: ExplorerError | None = None
        self._host = HostPage(layout=look(display="none"))
        self._chart: TimelineChart | None = None
        self._panels: dict[str, TabPanel] = {}
        self._notice = text()
        try:
            facts = TableFacts(table)
        except ExplorerError as error:
            self._failure = error
        else:
            self._view = TableView(facts)
        parts = self._built(self._view, tab) if self._view else [text(problem_panel(self._broken())), self._notice]
        super().__init__([page_kit(look(display="none")), self._host, *parts])
        self.add_class(ROOT)
        if self._view is not None:
            self.version = self._view.version if version is None else version
            self.compare_version = compare_version
            self._view.go(self.version, self.compare_version)
            self.selected_files, self.predicate = selected_files, predicate
            self.observe(self._moved, ["version", "compare_version"])
            self.observe(self._mark_selection, "selected_files")
            self.observe(self._spread_predicate, "predicate")
            self.observe(self._turned, "tab")
        self.tab = tab
        self.observe(lambda _: self._say(None), _STATE)
        self.observe(self._paint, "theme")
        self._host.observe(self._paint, "theme")
        self._host.observe(self._fit, "width")
        self._host.on_msg(self._heard)
        self.theme = theme
        if self._view is not None:
            self._draw(self._view)
        self._paint()

    def __repr__(self) -> str:
        chosen = "" if not self.selected_files else f", {fmt.plural(len(self.selected_files), 'selected file')}"
        return (
            f"TableExplorer({self.table.name!r}, version={self.version}, compare_version={self.compare_version}, "
            f"tab={self.tab!r}{chosen})"
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The widget, and a picture of it for pages where no kernel lives."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        html, text = self._pictured()
        return bundle | {"text/plain": text, "text/html": html}

    def _pictured(self) -> tuple[str, str]:
        try:
            return str(picture_html(self.view)), picture_text(self.view)
        except ExplorerError as error:
            card = card_of(error)
            return str(card_html(card)), card.plain()

    # --- what code takes from it

    @property
    def view(self) -> TableView:
        """The chosen version, the one it is compared with, and what follows from them.

        Raises:
            ExplorerError: The table cannot be read.
        """
        if self._view is None:
            raise self._broken()
        return self._view

    @property
    def selected(self) -> pa.Table:
        """The selected files: ``version``, in which a file is live, then the columns of `Snapshot.files`.

        Files of the chosen version come first, then those of the compared version alone; others are not in it.
        """
        return selected_table(self.view, self.selected_files)

    @property
    def diff(self) -> SnapshotDiff:
        """What differs from the compared version to the chosen one."""
        return self.view.facts.diff(self.view.other, self.view.version)

    def rows(self, as_: str = "arrow", limit: int | None = None) -> Any:
        """Return the rows of the chosen version for which ``predicate`` is true; Spark reads them.

        Args:
            as_: ``arrow`` (a `pyarrow.Table`), ``pandas`` or ``spark`` (a DataFrame, which is not read yet).
            limit: The most rows to return; None returns all, which must fit into memory unless ``as_`` is ``spark``.

        Raises:
            RequestError: There is no such form.
            EngineUnavailable: Spark or Java is missing.
        """
        return converted(rows_found(self.view, self.predicate), _one_of("as_", as_, FORMS), limit)

    def changes(
        self, as_: str = "arrow", limit: int | None = None, *, inferred: bool = False, keys: Sequence[str] = ()
    ) -> Any:
        """Return the rows that changed after the compared version, up to the chosen one; Spark reads them.

        Args:
            as_, limit: As in `rows`.
            inferred: Infer the changes of versions that recorded none.
            keys: Columns by which inferred updates are paired.

        Raises:
            ChangeFeedGap: The feed was off in between, and ``inferred`` is not set.
            RequestError, EngineUnavailable: As in `rows`.
        """
        found = changes_found(self.view, change_range(self.view), keys, inferred=inferred)
        return converted(found, _one_of("as_", as_, FORMS), limit)

    def panel(self, tab: str) -> Any:
        """Return a part of the widget, whose controls can be set from code; it is made at its first use.

        Raises:
            RequestError: There is no such part.
        """
        name = _one_of("tab", tab, list(TABS))
        if name not in self._panels:
            self.view  # noqa: B018 - a table that cannot be read has no parts
            panel = self._panels[name] = TABS[name].make(self)
            panel.layout.display = "none"
            self._place.children = (*self._place.children, panel)
        return self._panels[name]

    def go(self, version: int, compare_version: int | None = None) -> None:
        """Choose a version and the one to compare it with (None: the one before) in one step.

        Raises:
            VersionNotFound: A version is outside the readable range. Nothing is changed then.
        """
        self.taken("version", version)
        self.taken("compare_version", compare_version)
        with self.hold_trait_notifications():
            self.version, self.compare_version = version, compare_version

    def select(self, paths: Iterable[str], *, selected: bool) -> None:
        """Select files, or let them go.

        Raises:
            RequestError: The table has no such file in any version that can be shown.
        """
        named = dict.fromkeys(paths)
        kept = [path for path in self.selected_files if selected or path not in named]
        self.selected_files = tuple(dict.fromkeys([*kept, *(named if selected else ())]))

    def refresh(self) -> None:
        """Look for new versions of the table; the chosen one stays.

        Raises:
            ExplorerError: The table cannot be read any more. What was shown stays.
        """
        view, before = self.view, self.view.facts
        self.table.refresh()
        view.facts = TableFacts(self.table)
        first, last = view.facts.first, view.facts.last
        self._controls.reach(first, last)
        if self._chart is not None:
            self._chart.renew()
        if not first <= view.version <= last or (view.compared is not None and not first <= view.compared <= last):
            gone = RequestError(f"v{view.version} or the version it was compared with is gone; v{last} is shown.")
            self.go(last)
            self._say(gone)
        elif not view.facts.follows(before):
            self.selected_files = ()
            self.go(last)
            self._notice.value = problem_lines(replaced_problem(before.last, last))
        self._draw(view)

    def turn_to(self, tab: str, **state: object) -> None:
        """Open a part with other values of the traits; a value that cannot be shown is said, and nothing changes."""

        def turn() -> None:
            checked = {name: self._checked(name, value) for name, value in {**state, "tab": tab}.items()}
            with self.hold_trait_notifications():
                for name, value in checked.items():
                    setattr(self, name, value)

        self._try(turn)

    def close(self) -> None:
        """Close the widget, and stop its work on Spark."""
        for panel in self._panels.values():
            panel.cancel()
        super().close()

    # --- what the traits take

    def taken(self, name: str, value: Any) -> Any:
        """Return a trait's value as it is kept, if it can be shown; otherwise say in the widget why not.

        Raises:
            RequestError: It is no value of this trait, or the table cannot show it.
            ExplorerError: The table cannot be read.
        """
        try:
            return self._checked(name, value)
        except ExplorerError as error:
            self._say(error)
            raise

    def propose(self, predicate: str) -> None:
        """Take a condition that was typed, if it is one; where it was typed says what is wrong with another."""
        try:
            self._checked("predicate", predicate)
        except ExplorerError:
            return
        self.predicate = predicate

    def _checked(self, name: str, value: Any) -> Any:
        match name:
            case "version" | "compare_version":
                return self._checked_version(name, value)
            case "selected_files":
                return self._checked_files(value)
            case "predicate":
                return self._checked_predicate(value)
            case "tab":
                return _one_of(name, value, list(TABS))
            case _:
                return _one_of(name, value, _THEMES)

    def _checked_version(self, name: str, value: Any) -> int | None:
        if value is None and (name != "version" or self._view is None):
            return None
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):
            named = "The chosen version" if name == "version" else "The version compared with"
            raise RequestError(
                f"{named} of {self.table.name} must be a number, not {_shown(value)}.", field=name, found=value
            )
        return self.view.facts.check(index(value))

    def _checked_files(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise RequestError(
                f"The selected files must be several paths, such as a list of texts, not {_shown(value)}.",
                field="selected_files", found=value,
            )  # fmt: skip
        paths = tuple(value)
        if strange := [path for path in paths if not isinstance(path, str)]:
            raise RequestError(
                f"A selected file is named by its path, a text, not by {_shown(strange[0])}.",
                field="selected_files", found=strange[0],
            )  # fmt: skip
        if paths:
            known = set(self.selected_files)
            check_paths(self.view, [path for path in paths if path not in known])
        return tuple(dict.fromkeys(paths))

    def _checked_predicate(self, value: Any) -> str:
        if not isinstance(value, str):
            raise RequestError(
                f"The predicate must be a text, such as \u201camount > 100\u201d, not {_shown(value)}.",
                field="predicate", found=value,
            )  # fmt: skip
        if value.strip():
            funnel_of(self.view.facts, self.view.version, value.strip())
        return value

    # --- drawing

    def _broken(self) -> ExplorerError:
        assert self._failure is not None, "a table without a view is one that could not be read"
        return self._failure

    def _built(self, view: TableView, tab: str) -> list[Any]:
        self._controls = VersionControls(
            view.facts.first, view.facts.last, self._ask, self._ask_named, lambda: self._try(self.refresh)
        )
        self._line, self._findings = text(), FindingsLine()
        self._wait, self._place = text(), ipywidgets.VBox(layout=look())
        first = tab if tab in list(TABS) else self.tab
        self._tabs = ipywidgets.ToggleButtons(
            options=[(part.title, name) for name, part in TABS.items()], value=first, layout=look(),
            style=style(ipywidgets.ToggleButtons, button_width="auto"),
        )  # fmt: skip
        self._tabs.add_class(f"{ROOT}-tabs")
        self._tabs.observe(lambda change: self.set_trait("tab", change["new"]), "value")
        if len(view.facts.commits):
            self._chart = TimelineChart(view, self._clicked)
        drawing = [self._chart.widget, text(signs(many=self.view.zoomable))] if self._chart else []
        return [self._controls, self._line, self._findings, *drawing, self._tabs, self._notice, self._wait, self._place]

    def _clicked(self, version: int, shift: bool) -> None:
        assert self.version is not None
        self._ask(*((self.version, version) if shift else (version, self.compare_version)))

    def _ask(self, version: int, compare_version: int | None) -> None:
        """Move as a control asks; an error is shown above the parts."""
        self._try(lambda: self.go(version, compare_version))

    def _ask_named(self, text: str) -> None:
        """Move to a version or a time that was typed."""
        self._try(lambda: self.go(self.view.facts.version_named(text), self.compare_version))

    def _try(self, action: Callable[[], None]) -> None:
        self._say(None)
        try:
            action()
        except ExplorerError as error:
            self._say(error)
        except Exception as error:  # noqa: BLE001 - a fault of ours is shown to the person and logged
            log_failure(_log, f"{self!r} could not be drawn", error)
            self._say(error)

    def _say(self, error: Exception | None) -> None:
        self._notice.value = "" if error is None else problem_panel(error)

    def _moved(self, _change: Any) -> None:
        view = self.view
        if (view.version, view.compared) != (self.version, self.compare_version):
            view.go(self.version, self.compare_version)
            self._draw(view)

    def _mark_selection(self, _change: Any) -> None:
        for panel in self._panels.values():
            panel.show_selection()

    def _spread_predicate(self, _change: Any) -> None:
        for panel in self._panels.values():
            panel.show_predicate()

    def _heard(self, _host: Any, content: Any, _buffers: Any) -> None:
        """Select the file whose box was ticked in the page."""
        match content:
            case {"list": str(name), "row": int(row), "selected": bool(selected)}:
                for panel in self._panels.values():
                    panel.pick(name, row, selected=selected)
            case _:
                _log.warning("the page of %r sent what it should not", self)

    def _draw(self, view: TableView) -> None:
        self._controls.show(view.version, view.compared, view.other)
        self._line.value = version_line(view, datetime.now(UTC))
        if self._chart is not None:
            self._chart.move()
        self._draw_tab()
        self._findings.ask(view.facts)

    def _turned(self, _change: Any) -> None:
        self._say(None)
        self._tabs.value = self.tab
        self._draw_tab()

    def _draw_tab(self) -> None:
        """Draw the shown part; the others are drawn when they are opened."""
        with told(self._wait, f"{TABS[self.tab].title} at v{self.version}"):
            shown = self.panel(self.tab)
            for panel in self._panels.values():
                panel.layout.display = None if panel is shown else "none"
            shown.draw()

    def _fit(self, change: Any) -> None:
        if self._chart is not None:
            self._chart.fit(change["new"])

    def _paint(self, _change: Any = None) -> None:
        name = self._host.theme if self.theme == "auto" else self.theme
        for kind, on in (("auto", self.theme == "auto"), ("dark", name == "dark")):
            (self.add_class if on else self.remove_class)(f"{ROOT}-{kind}")
        if self._view is not None and self._view.theme != name:
            self._view.theme = name
            if self._chart is not None:
                self._chart.recolour()
            self.panel(self.tab).draw()


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise RequestError(
            f"{name} must be one of {', '.join(allowed)}, not {_shown(value)}.",
            field=name, found=value, allowed=list(allowed),
        )  # fmt: skip
    return value


def _shown(value: Any) -> str:
    return fmt.shorten(fmt.plain(repr(value)), 60)
