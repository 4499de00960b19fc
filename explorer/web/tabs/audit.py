"""The Audit tab: what the rules find, which clients read and write the chosen version, and what decides it."""

from __future__ import annotations

from typing import Final

from explorer.core.compatibility.access import ClientVerdict
from explorer.core.errors import ExplorerError
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.problems import Problem, problem_of
from explorer.views.table.clients import client_listing, newest_releases
from explorer.views.table.retention_curve import RetentionCurve, retention_curve
from explorer.web.address import Address
from explorer.web.tab_spec import Tab, TabSpec
from explorer.web.window_work import WindowWork

__all__ = ["TAB"]

_SHOWN: Final = 6


def _audit(view: TableView, address: Address, _work: WindowWork) -> Tab:
    clients = newest_releases(view.facts, view.version)
    values = {"clients": clients, "shown_clients": _SHOWN, "access_counts": _counts(clients)}
    return Tab(values | _retention(view, address))


def _retention(view: TableView, address: Address) -> dict[str, RetentionCurve | Problem | None]:
    """The retention horizon; a history that cannot be read affects this part alone."""
    try:
        return {"curve": retention_curve(view.facts, address.kept_days), "curve_problem": None}
    except ExplorerError as error:
        return {"curve": None, "curve_problem": problem_of(error)}


def _counts(clients: tuple[ClientVerdict, ...]) -> tuple[tuple[str, int], ...]:
    """How many clients read: the wrong ones first, each kind that there is."""
    kinds = (("wrong", "answer wrongly"), ("no", "refuse"), ("unknown", "not known"), ("yes", "read it"))
    counted = ((words, sum(client.read == access for client in clients)) for access, words in kinds)
    return tuple((words, count) for words, count in counted if count)


def _export(view: TableView, _address: Address, _work: WindowWork) -> Listing:
    return client_listing(view.facts, view.version)


TAB: Final = TabSpec("audit", "Audit", "audit", _audit, exports={"clients": _export}, shows=("clients",))
