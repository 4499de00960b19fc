"""The widget that `Table.explore` returns: the page of one table in a notebook.

Its traits are the address of the page, both ways: setting one from code, through a link to another widget, or by what
a person presses is the same thing. Invariants: a value that cannot be shown is refused when it is set, with a typed
error, and nothing changes then; each view has a page of its own; rows are read only on request; nothing is committed
unless the widget was made for that.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

import anywidget
import traitlets

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError, RequestError
from explorer.debug import log_failure
from explorer.jupyter.browser.page_kit import PAGE_KIT, packed_plotly, waiting_script
from explorer.jupyter.displays import card_html
from explorer.jupyter.one_table import OneTable
from explorer.jupyter.person import notebook_identity
from explorer.jupyter.results import FORMS, check_paths, converted, planned_changes, planned_rows, selected_table
from explorer.jupyter.static_picture import picture_html, picture_text
from explorer.jupyter.window import NotebookHost, WidgetWindow
from explorer.page.address import Address
from explorer.page.pages import Rendered
from explorer.page.session import screen_of, theme_of
from explorer.page.tabs import TABS
from explorer.page.window import Message
from explorer.views import TableFacts, TableView
from explorer.views.cards import card_of
from explorer.views.problems import problem_of
from explorer.views.rows.row_work import change_range
from explorer.views.table.funnel import funnel_of

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.diff import SnapshotDiff

_log = logging.getLogger(__name__)
_THEMES = ("auto", "light", "dark")
_LONGEST_VIEW = 40
_MOST_VIEWS = 12


class _Checked(traitlets.TraitType[Any, Any]):
    """A trait whose widget says what a value means: its ``taken`` returns the value to take, or raises."""

    def validate(self, obj: Any, value: Any) -> Any:
        return obj.taken(self.name, value)


class TableExplorer(anywidget.AnyWidget):
    """A table's versions, the chosen one, and what differs between it and the one it is compared with.

    Args:
        table: The table's log. A table that cannot be read is shown as its error.
        version: The version chosen at first, by number or time; the newest one unless given.
        compare_version: The version to compare it with.
        tab, selected_files, predicate, theme: Values of the traits.
        allow_commits: Let the Edit tab commit what it plans; otherwise it says what a change would do.

    Attributes:
        version: The chosen version; None only where the table cannot be read. A text is read when it is set, as
            `explorer.core.versions.commits.time_words` does: ``widget.version = "yesterday 18:00"`` is the one of then.
        compare_version: The version it is compared with; None is the version before.
        tab: The tab on show, by its name in an address: ``overview``, ``diff``, ``files`` and so on.
        selected_files: Decoded paths of data files, a tuple; a selection stays when the version changes.
        predicate: A boolean SQL expression: which files it reads (``statistics``), and which rows are shown (``data``).
        theme: ``light``, ``dark``, or ``auto``, which follows the notebook.

    Raises:
        RequestError: A value asked for cannot be shown.
    """

    version = _Checked(default_value=None, help="The chosen version.")
    compare_version = _Checked(default_value=None, help="The version compared with; None is the one before.")
    tab = _Checked(default_value="diff", help="The tab on show.")
    selected_files = _Checked(default_value=(), help="Decoded paths of data files.")
    predicate = _Checked(default_value="", help="A boolean SQL expression over the columns; empty for none.")
    theme = _Checked(default_value="auto", help="The colors; auto follows the notebook.").tag(sync=True)

    def __init__(
        self,
        table: DeltaLog,
        *,
        version: int | str | None = None,
        compare_version: int | str | None = None,
        tab: str = "diff",
        selected_files: Sequence[str] = (),
        predicate: str = "",
        theme: str = "auto",
        allow_commits: bool = False,
        beside: Sequence[DeltaLog] = (),
    ) -> None:
        self.table, self.allow_commits = table, allow_commits
        self._tables = OneTable(table, allow_commits=allow_commits, others=beside)
        self._seen: TableFacts | None = None
        self._windows: dict[str, WidgetWindow] = {}
        self._beginning: set[Any] = set()
        # The window whose page the traits are following.
        self._led_by: WidgetWindow | None = None
        super().__init__(_esm=waiting_script())
        self.on_msg(self._heard)
        self.tab, self.theme = tab, theme
        if self._is_readable():
            self._seen = self.facts
            self.version = self._seen.last if version is None else version
            self.compare_version = compare_version
            self.selected_files, self.predicate = selected_files, predicate
        self.observe(self._move, ["version", "compare_version", "tab", "selected_files", "predicate"])

    def __repr__(self) -> str:
        chosen = "" if not self.selected_files else f", {fmt.plural(len(self.selected_files), 'selected file')}"
        return (
            f"TableExplorer({self.table.name!r}, version={self.version}, compare_version={self.compare_version}, "
            f"tab={self.tab!r}{chosen})"
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, and a picture of it for pages where no kernel lives."""
        result = super()._repr_mimebundle_(**kwargs)
        bundle, metadata = result if isinstance(result, tuple) else (result, {})
        html, text = self._pictured()
        return {**(bundle or {}), "text/plain": text, "text/html": html}, metadata

    def _pictured(self) -> tuple[str, str]:
        try:
            return str(picture_html(self.view)), picture_text(self.view)
        except ExplorerError as error:
            card = card_of(error)
            return str(card_html(card)), card.plain()

    # --- what code takes from it

    @property
    def facts(self) -> TableFacts:
        """What is known of the table as it is now.

        Raises:
            ExplorerError: The table cannot be read.
        """
        return self._tables.facts()

    @property
    def view(self) -> TableView:
        """The chosen version, the one it is compared with, and what follows from them.

        Raises:
            ExplorerError: The table cannot be read.
        """
        return TableView(self.facts, version=self.version, compared=self.compare_version)

    @property
    def selected(self) -> pa.Table:
        """The selected files: ``version``, in which a file is live, then the columns of `Snapshot.files`.

        Files of the chosen version come first, then those of the compared version alone; others are not in it.
        """
        return selected_table(self.view, self.selected_files)

    @property
    def diff(self) -> SnapshotDiff:
        """What differs from the compared version to the chosen one."""
        view = self.view
        return view.facts.diff(view.other, view.version)

    def rows(self, as_: str = "arrow", limit: int | None = None) -> Any:
        """Return the rows of the chosen version for which ``predicate`` is true; Spark reads them.

        Args:
            as_: ``arrow`` (a `pyarrow.Table`), ``pandas`` or ``spark`` (a DataFrame, which is not read yet).
            limit: The most rows to return; None returns all, which must fit into memory unless ``as_`` is ``spark``.

        Raises:
            RequestError: There is no such form.
            EngineUnavailable: Spark or Java is missing.
        """
        return converted(planned_rows(self.view, self.predicate), _one_of("as_", as_, FORMS), limit)

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
        view = self.view
        planned = planned_changes(view, change_range(view), keys, inferred=inferred)
        return converted(planned, _one_of("as_", as_, FORMS), limit)

    def go(self, version: int, compare_version: int | None = None) -> None:
        """Choose a version and the one to compare it with (None: the one before) in one step.

        Raises:
            VersionNotFound: A version is outside the readable range. Nothing is changed then.
        """
        self._set(version=version, compare_version=compare_version)

    def select(self, paths: Iterable[str], *, selected: bool) -> None:
        """Select files, or let them go.

        Raises:
            RequestError: The table has no such file in any version that can be shown.
        """
        named = dict.fromkeys(paths)
        left = [path for path in self.selected_files if selected or path not in named]
        self.selected_files = tuple(dict.fromkeys([*left, *(named if selected else ())]))

    def refresh(self) -> None:
        """Look for new versions of the table; the chosen one stays.

        Raises:
            ExplorerError: The table cannot be read any more. What was shown stays.
        """
        before = self._seen
        self._tables.check_again(reopen=True)
        facts = self._seen = self.facts
        self.table.refresh()
        if before is not None and not facts.follows(before):
            self._set(version=facts.last, compare_version=None, selected_files=())
        elif self.version is None or not facts.first <= self.version <= facts.last:
            self.go(facts.last)
        for window in tuple(self._windows.values()):
            if window.is_open:
                window.redraw()

    def close(self) -> None:
        """Close the widget, and stop its work on Spark."""
        for window in tuple(self._windows.values()):
            window.view_host.close()
        self._windows.clear()
        super().close()

    # --- what the traits take

    def taken(self, name: str, value: Any) -> Any:
        """Return a trait's value as it is taken, if it can be shown; otherwise the pages say why not.

        Raises:
            RequestError: It is no value of this trait, or the table cannot show it.
            ExplorerError: The table cannot be read.
        """
        try:
            return self._checked(name, value)
        except ExplorerError as error:
            for window in tuple(self._windows.values()):
                if window is not self._led_by and window.is_open:
                    window.tell(error)
            raise

    def _checked(self, name: str, value: Any) -> Any:
        match name:
            case "version" | "compare_version":
                return self._checked_version(name, value)
            case "selected_files":
                return self._checked_files(value)
            case "predicate":
                return self._checked_predicate(value)
            case "tab":
                return _one_of(name, value, [tab.key for tab in TABS])
            case _:
                return _one_of(name, value, _THEMES)

    def _checked_version(self, name: str, value: Any) -> int | None:
        if value is None and (name != "version" or not self._is_readable()):
            return None
        if isinstance(value, str):
            return self.facts.version_named(value)
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):
            named = "The chosen version" if name == "version" else "The version compared with"
            raise RequestError(
                f"{named} of {self.table.name} must be a number, or a time such as "
                f"\u201cyesterday 18:00\u201d, not {_shown(value)}.",
                field=name,
                found=value,
            )
        return self.facts.check(index(value))

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
            funnel_of(self.facts, self.view.version, value.strip())
        return value

    def _is_readable(self) -> bool:
        try:
            return bool(self.facts)
        except ExplorerError:
            return False

    # --- its views

    def _heard(self, _widget: object, content: object, _buffers: object) -> None:
        """Take a message of a view."""
        message = Message.read(content)
        if message is None or not 0 < len(view := message.text("view")) <= _LONGEST_VIEW:
            _log.warning("the page of %r sent what it should not", self)
            return
        window = self._windows.get(view)
        match message.kind:
            case "begin":
                self._begin(view, message)
            case "kit":
                self.send({"kind": "kit"}, buffers=[PAGE_KIT])
            case "plotly":
                self.send({"kind": "plotly"}, buffers=[packed_plotly()])
            case "end":
                if (ended := self._windows.pop(view, None)) is not None:
                    ended.view_host.close()
            case _ if window is None:
                # It was let go: it begins again.
                self.send({"kind": "reload", "view": view})
            case _ if window.is_open:
                window.view_host.take(content)

    def _begin(self, view: str, message: Message) -> None:
        """Begin the page of a view, or begin it again."""
        if (before := self._windows.pop(view, None)) is not None:
            before.view_host.close()
        # A table that may not be changed refuses a commit itself, and says how to allow it.
        host = NotebookHost(view, self.send, notebook_identity(), message.text("person", 200))
        window = WidgetWindow(
            self._tables,
            host,
            self._query(),
            theme=theme_of(message),
            screen=screen_of(message),
            shows=self._follow,
        )
        self._windows[view] = window
        # A page whose browser ended or lost its connection does not say that its views are gone.
        while len(self._windows) > _MOST_VIEWS:
            self._windows.pop(next(iter(self._windows))).view_host.close()
        if host.loop is None:
            window.send_page()
        else:
            task = host.loop.create_task(self._made(window))
            self._beginning.add(task)
            task.add_done_callback(self._beginning.discard)

    async def _made(self, window: WidgetWindow) -> None:
        try:
            await window.begin_page()
            # The traits may have been set while the page was made.
            self._lead(window)
        except Exception as error:  # noqa: BLE001  # shown and logged: a view must never stay blank
            log_failure(_log, f"{self!r} could not be drawn", error)
            problem = problem_of(error)
            window.host.send({"kind": "failed", "text": f"{problem.title}. {problem.message}"})

    def _query(self) -> str:
        newest = self._is_readable() and self.version == self.facts.last
        versions = {"version": None if newest else self.version, "compared": self.compare_version}
        return Address(table=self.table.name).to(**versions, **self._beside_versions())

    def _beside_versions(self) -> dict[str, object]:
        """Return the fields of an address that come from the other traits."""
        picked = "\n".join(self.selected_files) or None
        return {"tab": self.tab, "where": self.predicate or None, "picked": picked}

    def _move(self, _change: object) -> None:
        """Let the pages follow the traits; the one that led them is there already."""
        for window in tuple(self._windows.values()):
            if window is not self._led_by and window.is_open:
                self._lead(window)

    def _lead(self, window: WidgetWindow) -> None:
        view, versions = window.view, {}
        if view is None or (view.version, view.compared) != (self.version, self.compare_version):
            versions = {"version": self.version, "compared": self.compare_version}
        window.move(**self._beside_versions(), **versions)

    def _follow(self, window: WidgetWindow, rendered: Rendered) -> None:
        """Let the traits follow the page of a window; what they do not take stays as it was."""
        if (view := rendered.view) is None:
            return
        address = Address.parse(window.query)
        self._led_by = window
        try:
            self._set(version=view.version, compare_version=view.compared, tab=address.tab)
            for name, value in (("predicate", address.where), ("selected_files", address.picked.splitlines())):
                # An address may hold what no trait takes, such as a condition that only Spark can read.
                with suppress(RequestError):
                    self._set(**{name: value})
        finally:
            self._led_by = None

    def _set(self, **values: object) -> None:
        """Set some traits in one step: all of them, or none; raise as `taken`."""
        checked = {name: self.taken(name, value) for name, value in values.items()}
        with self.hold_trait_notifications():
            for name, value in checked.items():
                setattr(self, name, value)


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise RequestError(
            f"{name} must be one of {', '.join(allowed)}, not {_shown(value)}.",
            field=name, found=value, allowed=list(allowed),
        )  # fmt: skip
    return value


def _shown(value: Any) -> str:
    return fmt.shorten(fmt.plain(repr(value)), 60)
