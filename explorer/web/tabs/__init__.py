"""What each tab shows: the template's values, and the figure of its chart if it has one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.compute as pc

from explorer.core.errors import ExplorerError, RequestError
from explorer.views import TableView
from explorer.views.figures.charts import BARS
from explorer.views.figures.plotly import Figure
from explorer.views.listing import Listing
from explorer.views.problems import problem_of
from explorer.views.table.column_lines import RIVER_LINES
from explorer.views.table.columns import column_story, columns_listing, lines_of
from explorer.views.table.comparison import Comparison
from explorer.views.table.files import file_facts, files_listing, masked_listing, ranges_listing, row_strip
from explorer.web.address import Address

__all__ = ["TITLES", "Tab", "arranged", "listing_of", "tab_of"]

TITLES = (
    ("overview", "Overview"),
    ("diff", "Diff"),
    ("files", "Files"),
    ("columns", "Columns"),
    ("deletion-vectors", "Deletion vectors"),
    ("statistics", "Statistics"),
    ("data", "Data"),
    ("changes", "Changes"),
    ("act", "Act"),
)


@dataclass(frozen=True, slots=True)
class Tab:
    """The values of a tab's template, and its figure.

    Two figures with the same ``drawn`` differ in their shapes alone, so that moving the cursor redraws no data.
    """

    values: dict[str, Any] = field(default_factory=dict)
    figure: Figure | None = None
    drawn: tuple[object, ...] = ()


def tab_of(view: TableView, address: Address) -> Tab:
    """Gather what the chosen tab shows (Data, Changes and Act belong to the session, which owns their jobs)."""
    return _TABS[view.tab](view, address)


def arranged(listing: Listing, address: Address) -> Listing:
    """Return a list as the address asks for it."""
    key = address.sort.removeprefix("-")
    return listing.arranged(sort=key, descending=address.sort.startswith("-"), find=address.find).at(
        address.page_number
    )


def listing_of(name: str, view: TableView, address: Address) -> Listing:
    """Return the list of that name as it is shown, for export.

    Raises:
        RequestError: There is no such list.
    """
    makers: dict[str, Callable[[], Listing]] = {
        "diff": lambda: _changed(view.comparison(), address),
        "files": lambda: files_listing(view.facts, view.version),
        "columns": lambda: columns_listing(view.facts, view.version),
        "deletion-vectors": lambda: masked_listing(view.facts, view.version),
        "statistics": lambda: ranges_listing(view.facts, view.version, view.column),
    }
    if name not in makers:
        raise RequestError(f"There is no list {name!r}.", field="list", allowed=tuple(makers))
    return arranged(makers[name](), address)


def _listed(listing: Listing) -> dict[str, Any]:
    return {"listing": listing, "page": listing.paged()}


def _overview(view: TableView, address: Address) -> Tab:
    snapshot = view.facts.snapshot(view.version)
    values = {"overview": view.overview(), "schema_string": snapshot.metadata.schema_string or ""}
    figure = view.totals(address.metric) if len(view.facts.commits) else None
    return Tab(values | {"raw": "", "broken": not len(view.facts.commits)}, figure, (address.metric,))


def _diff(view: TableView, address: Address) -> Tab:
    diff = view.comparison()
    return Tab(
        {"diff": diff, "compared_same": view.other == view.version}
        | _listed(arranged(_changed(diff, address), address))
    )


def _changed(diff: Comparison, address: Address) -> Listing:
    if address.change == "all":
        return diff.files
    kept = diff.files.table.filter(pc.equal(diff.files.table.column("change"), address.change))
    return Listing(diff.files.name, diff.files.columns, kept, diff.files.searched)


def _files(view: TableView, address: Address) -> Tab:
    listing = arranged(files_listing(view.facts, view.version), address)
    size = view.facts.snapshot(view.version).size_in_bytes
    facts = file_facts(view.facts, view.version, address.file) if address.file else None
    return Tab({"total_size": size, "file_facts": facts} | _listed(listing))


def _columns(view: TableView, address: Address) -> Tab:
    snapshot = view.facts.snapshot(view.version)
    lines = lines_of(view.facts)
    values = {
        "mode": snapshot.column_mapping_mode,
        "max_id": snapshot.properties.get("delta.columnMapping.maxColumnId", ""),
        "lines": len(lines),
        "shown_lines": RIVER_LINES,
        "hazards": view.facts.lineage().hazards,
        "story": column_story(view.facts, address.column) if address.column else None,
    }
    return Tab(
        values | _listed(arranged(columns_listing(view.facts, view.version), address)), view.river(), (view.column,)
    )


def _deletion_vectors(view: TableView, address: Address) -> Tab:
    facts, version = view.facts, view.version
    snapshot = facts.snapshot(version)
    protocol = snapshot.protocol
    listing = masked_listing(facts, version)
    values: dict[str, Any] = {
        "supported": "deletionVectors" in (*(protocol.writer_features or ()), *(protocol.reader_features or ())),
        "enabled": snapshot.properties.get("delta.enableDeletionVectors", "").lower() == "true",
        "series": _masked_series(view),
        "drawn": BARS,
        "file": "",
    }
    if not listing.total:
        return Tab(values | _listed(listing))
    values |= _masked_totals(view, listing)
    shown = _listed(arranged(listing, address))
    chosen = (
        address.file
        if address.file in listing.table.column("path").to_pylist()
        else shown["page"].rows[0]["path"]
        if shown["page"].rows
        else ""
    )
    view.file = chosen
    return Tab(values | shown | _strip(view, listing, chosen), view.masked(), (view.version,))


def _masked_totals(view: TableView, listing: Listing) -> dict[str, Any]:
    facts, version = view.facts, view.version
    table = listing.table
    sizes = (
        facts.snapshot(version)
        .files()
        .select(["path", "size"])
        .join(table.select(["path", "share"]), "path", join_type="inner")
    )
    shares = table.column("share").cast("double").to_numpy(zero_copy_only=False)
    dead = pc.sum(pc.multiply(sizes.column("size").cast("double"), sizes.column("share"))).as_py()
    return {
        "masked_rows": int(pc.sum(table.column("cardinality")).as_py() or 0),
        "physical_rows": facts.snapshot(version).num_records,
        "live_files": facts.snapshot(version).num_files,
        "heavy": int(np.nansum(shares > 0.30)),
        "vector_files": pc.count_distinct(table.column("file")).as_py(),
        "inline": table.column("file").null_count,
        "dead_bytes": None if dead is None else int(dead),
    }


def _strip(view: TableView, listing: Listing, path: str) -> dict[str, Any]:
    """Where in the chosen file the masked rows lie; a vector that cannot be read spoils only this part."""
    empty = {"file": path, "strip": (), "strip_problem": None, "strip_count": 0, "rows_of_file": None}
    if not path:
        return empty
    row = listing.table.filter(pc.equal(listing.table.column("path"), path)).slice(0, 1).to_pylist()[0]
    snapshot = view.facts.snapshot(view.version)
    try:
        rows = view.facts.keep(("strip", view.version, path), lambda: snapshot.deletion_vector_rows(row["raw_path"]))
    except ExplorerError as error:
        return empty | {"strip_problem": problem_of(error)}
    return empty | {
        "strip": row_strip(rows, row["num_records"]),
        "strip_count": len(rows),
        "rows_of_file": row["num_records"],
    }


def _masked_series(view: TableView) -> dict[str, Any]:
    commits = view.facts.commits
    if not len(commits):
        return {"top": 0}
    values = np.nan_to_num(commits.values("num_deleted_rows"))
    step = max(1, len(values) // 300)
    chosen = np.arange(0, len(values), step)
    top = float(values.max()) if len(values) else 0.0
    span = max(commits.last - commits.first, 1)
    places = (commits.versions[chosen] - commits.first) / span * 300
    points = " ".join(f"{x:.1f},{92 - 84 * v / (top or 1):.1f}" for x, v in zip(places, values[chosen], strict=True))
    slot = max(300 / (span + 1), 3)
    cursor = (view.version - commits.first) / span * 300 - slot / 2
    return {
        "top": int(top),
        "points": points,
        "first": commits.first,
        "last": commits.last,
        "cursor": cursor,
        "slot": slot,
    }


def _statistics(view: TableView, address: Address) -> Tab:
    facts, version = view.facts, view.version
    coverage = facts.coverage(version).to_pylist()
    names = [row["column"] for row in coverage]
    column = address.column if address.column in names else _first_covered(coverage) if not address.column else ""
    values: dict[str, Any] = {
        "coverage": coverage,
        "names": names,
        "column": column,
        "ranges": None,
        "wide": 0,
        "single": True,
    }
    nothing = _why_no_ranges(view, address, names, column)
    if nothing:
        title, why = nothing
        return Tab(values | {"drawn": False, "title": title, "why": why, "column": address.column})
    ranges = facts.ranges(version, column)
    if not len(ranges.low):
        title = f"No file has bounds for {column}"
        why = f"{ranges.missing} live files, none with bounds of it: the writer kept none, or every value is null."
        return Tab(values | {"drawn": False, "title": title, "why": why})
    view.column = column
    values |= {
        "ranges": ranges,
        "wide": sum(tight is False for tight in ranges.tight),
        "single": len(ranges.paths) <= BARS,
    }
    values |= {"drawn": True, "title": "", "why": ""} | _listed(
        arranged(ranges_listing(facts, version, column), address)
    )
    return Tab(values, view.ranges(), (view.version, column, view.file))


def _first_covered(coverage: list[dict[str, Any]]) -> str:
    best = max(coverage, key=lambda row: row["files"], default=None)
    return best["column"] if best else ""


def _why_no_ranges(view: TableView, address: Address, names: list[str], column: str) -> tuple[str, str] | None:
    if not view.facts.snapshot(view.version).num_files:
        return "No live files", f"v{view.version} holds no files, so there are no statistics."
    if not names:
        return (
            "No column can have statistics",
            "Only columns of simple types outside arrays and maps have a least and a greatest value.",
        )
    if not column:
        return (
            f"No statistics for \u201c{address.column}\u201d",
            "It is no simple column of this version. Choose another one.",
        )
    return None


_TABS: dict[str, Callable[[TableView, Address], Tab]] = {
    "overview": _overview,
    "diff": _diff,
    "files": _files,
    "columns": _columns,
    "deletion-vectors": _deletion_vectors,
    "statistics": _statistics,
}
