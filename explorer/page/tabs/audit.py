"""The Audit tab: what the rules find, which clients read and write the chosen version, and what decides it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from explorer.auditing import Audit
from explorer.core.compatibility.matrix import MatrixRow
from explorer.core.errors import ExplorerError, NotAllowed
from explorer.page.address import Address
from explorer.page.kept_results import KeptResults
from explorer.page.tab_spec import Page, Tab, TabSpec, arranged, listed
from explorer.page.tabs.data_messages import begin_reading
from explorer.page.tabs.shared_results import SharedState, share_handlers, shared_state
from explorer.page.window import Handler, Message, Window, WindowWork
from explorer.report import render, table_report
from explorer.views import TableView
from explorer.views.audit_work import CHECKS, AuditCheck, AuditWork, checks_text
from explorer.views.listing import Listing
from explorer.views.problems import Problem, problem_of
from explorer.views.rows.spark_work import Shareable, start_notice
from explorer.views.table.clients import client_listing, clients_in_use, newest_releases
from explorer.views.table.maintenance import maintenance_entries
from explorer.views.table.retention_curve import RetentionCurve, retention_curve
from explorer.views.table.settings import settings_listing, settings_people

_SHOWN: Final = 6


class CheckWork:
    """At most one audit that checks more than the log, for one window.

    Args:
        changed: Called, on any thread, when what is to be shown has changed.
        kept: Results that people share; None where nobody else can open an address.
    """

    def __init__(self, changed: Callable[[], None], kept: KeptResults | None = None) -> None:
        self.audits, self.kept = AuditWork(changed), kept

    def stop_reading(self) -> None:
        """Stop a running audit."""
        self.audits.cancel()

    def start(self, view: TableView, address: Address) -> None:
        """Begin the checks that an address names."""
        self.audits.start(view.facts, address.audit_checks)

    def shareable(self, view: TableView, address: Address) -> Shareable:
        """Return the result as others can open it."""
        return self.audits.shareable(view.facts, address.audit_checks)


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
    values |= _more_checks(view, address, work.of(CheckWork))
    checked = work.of(CheckWork).audits.result(view.facts, address.audit_checks)
    values["undecided"] = () if checked is None else _undecided(checked, view.facts.cached_audit())
    wants_rows = checked is None and any(check.name == "rows" for check in address.audit_checks)
    return Tab(values | _retention(view, address) | _settings(view, address), needs_spark=wants_rows, audit=checked)


def _more_checks(view: TableView, address: Address, work: CheckWork) -> dict[str, Any]:
    """Return what is said of the checks in addition to the log: those to choose from, and how far they are."""
    chosen = address.audit_checks
    # A person who may not read rows has no result of others, as it may hold values of rows.
    shared = shared_state(work.shareable(view, address), work.kept, address) if view.values else SharedState()
    options = [f"--{check.name}" for check in chosen or CHECKS]
    return {
        "checks": tuple((check, check in chosen, _turned(address, check)) for check in CHECKS),
        "chosen_checks": chosen,
        "job": work.audits.state(view.facts, chosen),
        "starts": start_notice() if any(check.name == "rows" for check in chosen) else "",
        "is_checked": work.audits.result(view.facts, chosen) is not None,
        "reads_values": _shows_values(chosen),
        "may_run": view.values or not _shows_values(chosen),
        "shared": shared,
        "command": shlex.join(["delta-explorer", "audit", view.facts.location, *options]),
    }


def _undecided(checked: Audit, by_log: Audit | None) -> tuple[str, ...]:
    """Return the rules that the checks could not decide, with the reason: those that are not as by the log alone."""
    if by_log is None:
        return ()
    expected = {(result.rule.id, result.not_answered) for result in by_log.not_answered}
    return tuple(
        f"{result.rule.title[:1].upper()}{result.rule.title[1:]}: {result.not_answered}"
        for result in checked.not_answered
        if (result.rule.id, result.not_answered) not in expected
    )


def _turned(address: Address, check: AuditCheck) -> str:
    """Return the query with a check chosen that was not, or not chosen that was."""
    chosen = address.audit_checks
    wanted = [each for each in CHECKS if (each in chosen) != (each == check)]
    return address.to(checks=checks_text(wanted) or None, result=None)


def _shows_values(checks: tuple[AuditCheck, ...]) -> bool:
    return any(check.shows_values for check in checks)


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


def _report(view: TableView, address: Address, work: WindowWork) -> Page:
    facts = view.facts
    audit = work.of(CheckWork).audits.result(facts, address.audit_checks) or facts.audit()
    report = table_report(facts.subject(), audit, signer=work.signer, maintenance=lambda: maintenance_entries(facts))
    return Page(f"{facts.name}-audit-v{facts.last}", "report", render(report), work.key)


def _messages(window: Window) -> Mapping[str, Handler]:
    own: dict[str, Handler] = {
        "audit-run": partial(_run, window, with_values=False),
        "audit-rows": partial(_run, window, with_values=True),
        "audit-cancel": partial(_cancel, window),
    }
    return own | dict(share_handlers(window, "audit", window.work.of(CheckWork)))


def _run(window: Window, message: Message, *, with_values: bool) -> None:
    """Run the checks of the address; those that can show values of rows have a message of their own, and its right."""
    if not with_values and _shows_values(Address.parse(window.query).audit_checks):
        raise NotAllowed("Checking footers or rows needs the right to read rows of this table.", field="checks")
    begin_reading(window, message, window.work.of(CheckWork).start, {"result": ""})


def _cancel(window: Window, message: Message) -> None:
    window.work.of(CheckWork).stop_reading()
    window.answer(message)


TAB: Final = TabSpec(
    "audit",
    "Audit",
    "audit",
    _audit,
    exports={"clients": _all_clients, "settings": _all_settings, "report": _report},
    messages=_messages,
    work=lambda window: CheckWork(window.changed, window.tables.kept),
    shows=("clients",),
)
