"""The parts of the widget that the log alone answers: overview, files, columns, deletion vectors, statistics, audit.

Invariants: a part is drawn when it is opened, and again when the version changes while it is open; what cannot be drawn
is shown as its error, and the other parts stay; nothing starts Spark.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import ipywidgets
from markupsafe import Markup

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError
from explorer.debug import log_failure
from explorer.jupyter.browser.figure import LeanFigure
from explorer.jupyter.column_box import ColumnBox
from explorer.jupyter.explored import Explored
from explorer.jupyter.list_box import ListBox
from explorer.jupyter.markup import joined, tag
from explorer.jupyter.panels import problem_panel
from explorer.jupyter.parts import look, text
from explorer.jupyter.tab_panel import TabPanel
from explorer.views.figures.plotly import Figure
from explorer.views.listing import Listing
from explorer.views.table.clients import client_listing
from explorer.views.table.columns import columns_listing
from explorer.views.table.coverage import coverage_of
from explorer.views.table.files import files_listing, masked_listing, ranges_listing
from explorer.views.table.funnel import Funnel, funnel_of, read_files, rule_listing

__all__ = ["AuditPanel", "ColumnsPanel", "FilesPanel", "LogPanel", "OverviewPanel", "StatisticsPanel", "VectorsPanel"]

_log = logging.getLogger(__name__)
_PAGE = 15
_MOST = 100


class LogPanel(TabPanel):
    """Text, a chart and a list, each only where there is one.

    Args:
        explored: The whole; what is chosen is read at each drawing.
        lists: What the list holds, for screen readers, and what its filter looks in.
        controls: What a question is put with.
        files: The list is one of files, which can be selected.

    Attributes:
        list: The list, with its filter, order and pages.
    """

    def __init__(
        self,
        explored: Explored,
        lists: tuple[str, str],
        controls: Sequence[ipywidgets.Widget] = (),
        *,
        files: bool = False,
    ) -> None:
        self._text, self._chart = text(), ipywidgets.VBox(layout=look())
        select = (lambda paths, on: explored.select(paths, selected=on)) if files else None
        self.list = ListBox(*lists, "in the order of the log", page_size=_PAGE, select=select)
        self.list.show_list(None)
        super().__init__(explored, [*controls, self._text, self._chart, self.list])

    def draw(self) -> None:
        """Show the chosen version."""
        try:
            self._text.value, figure, listing = self._drawn()
        except ExplorerError as error:
            self._text.value, figure, listing = problem_panel(error), None, None
        except Exception as error:  # noqa: BLE001 - a fault of ours is shown to the person and logged
            log_failure(_log, f"{type(self).__name__} could not be drawn", error)
            self._text.value, figure, listing = problem_panel(error), None, None
        before, self._chart.children = self._chart.children, () if figure is None else (LeanFigure(figure),)
        for chart in before:
            chart.close()  # else the kernel, the page and a saved notebook would keep every figure that was ever drawn
        self.list.show_list(listing)
        self.show_selection()

    def _drawn(self) -> tuple[Markup, Figure | None, Listing | None]:
        raise NotImplementedError


class OverviewPanel(LogPanel):
    """What the table is at the version: a sentence, key figures, protocol, properties, schema."""

    def __init__(self, explored: Explored) -> None:
        super().__init__(explored, ("columns", "name, type or comment"))

    def _drawn(self) -> tuple[Markup, Figure | None, Listing | None]:
        view, found = self._explored.view, self._explored.view.overview()
        figures = (tag("div", tag("b", f.value), f"{f.label}, {f.basis}", class_="dte-figure") for f in found.figures)
        protocol = f"reader {found.reader_version}, writer {found.writer_version}"
        facts = [("protocol", protocol), ("features", ", ".join(found.features) or "none"), *found.properties]
        text = joined((tag("p", found.verdict), tag("div", *figures, class_="dte-figures"), _facts(facts)))
        return text, None, columns_listing(view.facts, view.version)


class ColumnsPanel(LogPanel):
    """The columns of the version, and their names over all versions."""

    def __init__(self, explored: Explored) -> None:
        super().__init__(explored, ("columns", "name, type or comment"))

    def _drawn(self) -> tuple[Markup, Figure | None, Listing | None]:
        view = self._explored.view
        hazards = view.facts.lineage().hazards
        said = [tag("p", f"v{hazard.version}: {hazard.detail}") for hazard in hazards[:_MOST]]
        return joined((*said, _more(len(hazards)))), view.river(), columns_listing(view.facts, view.version)


class FilesPanel(LogPanel):
    """The live files of the version."""

    def __init__(self, explored: Explored) -> None:
        super().__init__(explored, ("live files", "path or partition"), files=True)

    def _drawn(self) -> tuple[Markup, Figure | None, Listing | None]:
        view = self._explored.view
        snapshot = view.facts.snapshot(view.version)
        if not snapshot.num_files:
            return tag("p", f"v{view.version} has no live file.", class_="dte-muted"), None, None
        amount = f"{fmt.plural(snapshot.num_files, 'live file')}, {fmt.size(snapshot.size_in_bytes)}"
        return tag("p", tag("b", f"v{view.version}"), f": {amount}"), None, files_listing(view.facts, view.version)


class VectorsPanel(LogPanel):
    """Which files have masked rows, and how many."""

    def __init__(self, explored: Explored) -> None:
        super().__init__(explored, ("files with masked rows", "path"), files=True)

    def _drawn(self) -> tuple[Markup, Figure | None, Listing | None]:
        view = self._explored.view
        snapshot, listing = view.facts.snapshot(view.version), masked_listing(view.facts, view.version)
        if not listing.total:
            return tag("p", f"No live file of v{view.version} masks a row.", class_="dte-muted"), None, None
        masked, live = fmt.quantity(snapshot.num_deleted_records, "row"), fmt.plural(snapshot.num_files, "file")
        return tag("p", tag("b", masked), f" masked in {listing.total:,} of {live}"), view.masked(), listing


class StatisticsPanel(LogPanel):
    """Which files a condition reads, and the range of a column in each file.

    Attributes:
        where: The condition, a boolean SQL expression; empty for none.
        column: The column whose ranges are drawn.
    """

    def __init__(self, explored: Explored) -> None:
        self.where = ipywidgets.Text(
            placeholder="which files would this read? amount > 100", tooltip="a condition, in SQL",
            continuous_update=False, layout={"width": "auto", "flex": "1 1 320px"},
        )  # fmt: skip
        self.column = ColumnBox(self._asked)
        controls = ipywidgets.HBox([self.where, self.column], layout=look(flex_flow="row wrap"))
        super().__init__(explored, ("files", "path or rule"), [controls], files=True)
        self._drawing = False
        self.where.value = explored.predicate
        self.where.observe(lambda _: self._asked(), "value")

    def show_predicate(self) -> None:
        """Put the condition into its field, and say which files it reads."""
        self.where.value = self._explored.predicate

    def _asked(self) -> None:
        if not self._drawing:
            self.draw()
            self._explored.propose(self.where.value)

    def draw(self) -> None:
        """Show the chosen version, and what the condition reads of it."""
        self._drawing = True
        try:
            super().draw()
        finally:
            self._drawing = False

    def _drawn(self) -> tuple[Markup, Figure | None, Listing | None]:
        view, where = self._explored.view, self.where.value.strip()
        names = [row.column for row in coverage_of(view.facts, view.version)]
        self.column.offer(names)
        funnel = funnel_of(view.facts, view.version, where) if where else None
        text = Markup() if funnel is None else _funnel(funnel)
        if not names:
            return joined((text, tag("p", "No column can have statistics.", class_="dte-muted"))), None, None
        view.column = column = self.column.value
        ranges = view.facts.ranges(view.version, column)
        read = read_files(view.facts, view.version, where) if where else None
        figure = view.ranges(read) if len(ranges.low) else None
        if where:
            return text, figure, rule_listing(view.facts, view.version, where, column, "")
        return text, figure, ranges_listing(view.facts, view.version, column)


class AuditPanel(LogPanel):
    """What the rules find, and which clients read and write the version."""

    def __init__(self, explored: Explored) -> None:
        super().__init__(explored, ("clients", "client or feature"))

    def _drawn(self) -> tuple[Markup, Figure | None, Listing | None]:
        view, audit = self._explored.view, self._explored.view.facts.audit()
        found = (
            tag(
                "div",
                tag("h4", tag("span", finding.severity, class_=f"dte-chip dte-{finding.severity}"), " ", finding.title),
                tag("p", "; ".join(piece.text for piece in finding.evidence), class_="dte-muted"),
                tag("p", finding.effect),
                class_="dte-card",
            )
            for finding in audit.findings[:_MOST]
        )
        silent, open_ = fmt.plural(len(audit.silent), "rule"), fmt.plural(len(audit.not_answered), "rule")
        basis = f"v{audit.version}: {silent} found nothing, {open_} not answered. Clients at v{view.version}:"
        return (
            joined((*found, _more(len(audit.findings)), tag("p", basis, class_="dte-muted"))),
            None,
            client_listing(view.facts, view.version),
        )


def _funnel(found: Funnel) -> Markup:
    steps = (
        tag("div", tag("b", fmt.count(step.files)), f"{step.label}, {fmt.size(step.size)}", class_="dte-figure")
        for step in found.steps
    )
    unsplittable = (tag("p", tag("code", text), f" drops no file: {why}.") for text, why in found.unsplittable)
    return joined((tag("div", *steps, class_="dte-figures"), *unsplittable))


def _facts(pairs: Sequence[tuple[str, str]]) -> Markup:
    shown = pairs[:_MOST]
    rows = (tag("tr", tag("th", name, scope="row"), tag("td", fmt.plain(text))) for name, text in shown)
    return joined((tag("table", tag("tbody", *rows)), _more(len(pairs))))


def _more(total: int) -> Markup | None:
    """How many of a list are left out; None where it is shown whole."""
    return tag("p", f"and {fmt.count(total - _MOST)} more.", class_="dte-caption") if total > _MOST else None
