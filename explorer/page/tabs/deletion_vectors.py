"""The Deletion vectors tab: which files have masked rows, how many, and where in a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc

from explorer.core.errors import ExplorerError
from explorer.core.protocol.table_properties.registry import DELETION_VECTORS
from explorer.page.address import Address
from explorer.page.tab_spec import Tab, TabSpec, arranged, listed
from explorer.page.window import WindowWork
from explorer.views import TableView
from explorer.views.figures.charts import BARS, HEAVY
from explorer.views.listing import Listing
from explorer.views.problems import problem_of
from explorer.views.table.files import masked_listing, row_strip

_POINTS = 300
_WIDTH, _HEIGHT, _FLOOR = 300, 84, 92


def _deletion_vectors(view: TableView, address: Address, _work: WindowWork) -> Tab:
    listing = masked_listing(view.facts, view.version)
    values = _state(view)
    shown = listed(listing, address)
    if not listing.total:
        return Tab(values | shown)
    view.file = _chosen(listing, shown["page"].rows, address)
    values |= _totals(view, listing) | shown | _strip(view, listing, view.file)
    return Tab(values, view.masked(), (view.version,))


def _export(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return arranged(masked_listing(view.facts, view.version), address)


def _state(view: TableView) -> dict[str, Any]:
    snapshot = view.facts.snapshot(view.version)
    protocol = snapshot.protocol
    return {
        "supported": "deletionVectors" in (*(protocol.writer_features or ()), *(protocol.reader_features or ())),
        "enabled": snapshot.properties.get(DELETION_VECTORS.key, "").lower() == "true",
        "series": _series(view),
        "drawn": BARS,
        "file": "",
    }


def _chosen(listing: Listing, rows: list[dict[str, Any]], address: Address) -> str:
    """Return the file that the address names, otherwise the first of the list."""
    if address.file in listing.table.column("path").to_pylist():
        return address.file
    return str(rows[0]["path"]) if rows else ""


def _totals(view: TableView, listing: Listing) -> dict[str, Any]:
    snapshot, table = view.facts.snapshot(view.version), listing.table
    shares = table.column("share").cast("double").to_numpy(zero_copy_only=False)
    dead = pc.sum(table.column("dead")).as_py()
    return {
        "masked_rows": int(pc.sum(table.column("cardinality")).as_py() or 0),
        "physical_rows": snapshot.num_records,
        "live_files": snapshot.num_files,
        "heavy": int(np.nansum(shares > HEAVY / 100)),
        "vector_files": pc.count_distinct(table.column("file")).as_py(),
        "inline": table.column("file").null_count,
        "dead_bytes": dead,
    }


def _strip(view: TableView, listing: Listing, path: str) -> dict[str, Any]:
    """Return where the masked rows of the chosen file are; an unreadable vector affects only this part."""
    empty = {"file": path, "strip": (), "strip_problem": None, "strip_count": 0, "rows_of_file": None}
    if not path:
        return empty
    row = listing.table.filter(pc.equal(listing.table.column("path"), path)).slice(0, 1).to_pylist()[0]
    snapshot = view.facts.snapshot(view.version)
    try:
        rows = view.facts.keep(("strip", view.version, path), lambda: snapshot.deletion_vector_rows(row["raw_path"]))
    except ExplorerError as error:
        return empty | {"strip_problem": problem_of(error)}
    strip = row_strip(rows, row["num_records"])
    return empty | {"strip": strip, "strip_count": len(rows), "rows_of_file": row["num_records"]}


def _series(view: TableView) -> dict[str, Any]:
    """Return the masked rows of all versions as a line of `_POINTS` points, and where the chosen version is."""
    commits = view.facts.commits
    if not len(commits):
        return {"top": 0}
    values = np.nan_to_num(commits.numbers("num_deleted_rows"))
    chosen = np.arange(0, len(values), max(1, len(values) // _POINTS))
    top = float(values.max()) if len(values) else 0.0
    span = max(commits.last - commits.first, 1)
    places = (commits.versions[chosen] - commits.first) / span * _WIDTH
    heights = _FLOOR - _HEIGHT * values[chosen] / (top or 1)
    slot = max(_WIDTH / (span + 1), 3)
    return {
        "top": int(top),
        "points": " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True)),
        "first": commits.first,
        "last": commits.last,
        "cursor": (view.version - commits.first) / span * _WIDTH - slot / 2,
        "slot": slot,
    }


TAB = TabSpec(
    "deletion-vectors",
    "Deletion vectors",
    "deletion-vectors",
    _deletion_vectors,
    exports={"deletion-vectors": _export},
    shows=("masked rows",),
)
