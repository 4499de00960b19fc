"""The Columns tab: the columns of a version, and their names over all versions."""

from __future__ import annotations

from explorer.core.protocol.table_properties.registry import MAX_COLUMN_ID
from explorer.core.versions.column_lineage import NameHazard
from explorer.page.address import Address
from explorer.page.tab_spec import Tab, TabSpec, arranged, listed
from explorer.page.tabs.column_card import CardWork, card_messages, card_of, list_glances
from explorer.page.tabs.data import RowsWork
from explorer.page.window import WindowWork
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.table.columns import RIVER_LINES, columns_listing, lines_of


def _columns(view: TableView, address: Address, work: WindowWork) -> Tab:
    snapshot = view.facts.snapshot(view.version)
    values = {
        "mode": snapshot.column_mapping_mode,
        "max_id": snapshot.properties.get(MAX_COLUMN_ID.key, ""),
        "lines": len(lines_of(view.facts)),
        "shown_lines": RIVER_LINES,
        "hazards": _hazards(view),
        "column_card": card_of(view, address, work, work.of(RowsWork).read, address.column or address.card),
    }
    shown = listed(columns_listing(view.facts, view.version), address)
    names = [row["name"] for row in shown["page"].rows]
    return Tab(values | shown | {"glances": list_glances(view, work, names)}, view.river(), (view.column,))


def _hazards(view: TableView) -> list[NameHazard]:
    """Return the hazards; two names that were swapped are one."""
    hazards: list[NameHazard] = []
    swapped: set[tuple[int, frozenset[str]]] = set()
    for hazard in view.facts.lineage().hazards:
        pair = hazard.version, frozenset(hazard.detail.removesuffix(" swapped names").split(" and "))
        if hazard.kind == "swapped-name" and pair in swapped:
            continue
        swapped.add(pair)
        hazards.append(hazard)
    return hazards


def _export(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return arranged(columns_listing(view.facts, view.version), address)


TAB = TabSpec(
    "columns",
    "Columns",
    "columns",
    _columns,
    exports={"columns": _export},
    messages=card_messages,
    work=CardWork,
    shows=("columns",),
)
