"""The Edit tab: a change is chosen, filled in, planned, approved and committed."""

from __future__ import annotations

from dataclasses import replace

from explorer.page.act.case_traces import case_traces
from explorer.page.act.form import ActDesk, ask_desk
from explorer.page.act.messages import messages
from explorer.page.act.page import act_page, proposed
from explorer.page.act.requests import ApprovalNeed, RequestDesk
from explorer.page.act.requests import messages as request_messages
from explorer.page.address import Address
from explorer.page.tab_spec import Document, Tab, TabSpec
from explorer.page.window import NewWindow, WindowWork
from explorer.report.case_desk import CaseDesk
from explorer.views import TableView
from explorer.views.act.desk.draft import Draft
from explorer.views.act.receipt import logged_receipt


def _act(view: TableView, address: Address, work: WindowWork) -> Tab:
    requests = work.of(RequestDesk)
    chooses = not address.act and address.step == "fill"
    if address.step == "request" or (chooses and requests.only_decides(address.table)):
        template, values = requests.page(view, address if address.step == "request" else replace(address, request=""))
        return Tab(values, template=template)
    template, values = act_page(view, address, work.of(ActDesk).sheet)
    draft = values.get("draft")
    values["open_requests"] = requests.open_lines(address.table) if template == "act-choose" else []
    values["approval"] = (
        requests.approval_need(address.table, draft.plan) if isinstance(draft, Draft) else ApprovalNeed()
    )
    if isinstance(draft, Draft):
        values["case_traces"] = case_traces(work.of(CaseDesk).file, draft.plan, view.facts.location)
    form = values.get("form")
    return Tab(values, template=template, needs_spark=form is not None and form.reads_rows)


def _ask(view: TableView, address: Address, work: WindowWork, *, by_person: bool) -> None:
    ask_desk(work.of(ActDesk), view.facts, proposed(view, address), by_person=by_person)


def _plan(view: TableView, _address: Address, work: WindowWork) -> Document:
    return Document(f"{view.facts.name}-plan", "plan", work.of(ActDesk).document())


def _receipt(view: TableView, address: Address, work: WindowWork) -> Document:
    sheet = work.of(ActDesk).sheet
    if address.step != "receipt":
        return Document(f"{view.facts.name}-receipt", "receipt", work.of(ActDesk).document())
    ended, logged = sheet.ended(address.table, view.version), logged_receipt(view.facts, view.version)
    content = logged.document(None if ended is None else ended.document)
    return Document(f"{view.facts.name}-v{view.version}-receipt", "receipt", content)


def _desk(window: NewWindow) -> ActDesk:
    return ActDesk(window.tables, window.person, signed_in=bool(window.identity.name), changed=window.changed)


TAB = TabSpec(
    "act",
    "Edit",
    "act-choose",
    _act,
    ask=_ask,
    exports={"plan": _plan, "receipt": _receipt},
    messages=lambda window: {**messages(window), **request_messages(window)},
    work=_desk,
)
