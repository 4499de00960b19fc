"""The Audit tab: what the rules find, which clients read and write the chosen version, and what decides it."""

from __future__ import annotations

import shlex
from typing import Any, Final

from explorer.core.compatibility.matrix import MatrixRow
from explorer.core.errors import ExplorerError
from explorer.page.address import Address
from explorer.page.tab_spec import Page, Tab, TabSpec, arranged, listed
from explorer.page.window import WindowWork
from explorer.report import render, table_report
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.problems import Problem, problem_of
from explorer.views.table.clients import client_listing, clients_in_use, newest_releases
from explorer.views.table.maintenance import maintenance_entries
from explorer.views.table.retention_curve import RetentionCurve, retention_curve
from explorer.views.table.settings import settings_listing, settings_people

_SHOWN: Final = 6
_DEEPER: Final = ("--files", "--verify", "--footers", "--rows")
"""What a page does not ask, as it costs more than the log."""


def _audit(view: TableView, address: Address, work: WindowWork) -> Tab:
    clients = newest_releases(view.facts, view.version)
    mine = clients_in_use(view.facts, view.version)
    values: dict[str, Any] = {
        "mine": mine,
        "clients": clients,
        "shown_clients": _SHOWN,
        "access_counts": _counts((*mine, *clients)),
    }
    values["signer"] = work.signer
    values["deeper"] = shlex.join(["delta-explorer", "audit", view.facts.location, *_DEEPER])
    return Tab(values | _retention(view, address) | _settings(view, address))


def _settings(view: TableView, address: Address) -> dict[str, Any]:
    """Return who changed what; a history that cannot be read affects this part alone."""
    try:
        return {"people": settings_people(view.facts), **listed(settings_listing(view.facts), address)}
    except ExplorerError:
        return {"people": (), "listing": None, "page": None}


def _retention(view: TableView, address: Address) -> dict[str, RetentionCurve | Problem | None]:
    """Return the retention horizon; a history that cannot be read affects this part alone."""
    try:
        return {"curve": retention_curve(view.facts, address.kept_days), "curve_problem": None}
    except ExplorerError as error:
        return {"curve": None, "curve_problem": problem_of(error)}


def _counts(clients: tuple[MatrixRow, ...]) -> tuple[tuple[str, int], ...]:
    """Return how many clients read: the wrong ones first, each kind that exists."""
    kinds = (("wrong", "wrong results"), ("no", "refuse"), ("unknown", "not known"), ("yes", "read it"))
    counted = ((words, sum(client.read == access for client in clients)) for access, words in kinds)
    return tuple((words, count) for words, count in counted if count)


def _all_clients(view: TableView, _address: Address, _work: WindowWork) -> Listing:
    return client_listing(view.facts, view.version)


def _all_settings(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return arranged(settings_listing(view.facts), address)


def _report(view: TableView, _address: Address, work: WindowWork) -> Page:
    facts = view.facts
    report = table_report(
        facts.subject(), facts.audit(), signer=work.signer, maintenance=lambda: maintenance_entries(facts)
    )
    return Page(f"{facts.name}-audit-v{facts.last}", "report", render(report), work.key)


TAB: Final = TabSpec(
    "audit",
    "Audit",
    "audit",
    _audit,
    exports={"clients": _all_clients, "settings": _all_settings, "report": _report},
    shows=("clients",),
)
