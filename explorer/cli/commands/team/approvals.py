"""``approvals``, ``approve``, ``decline``, and ``withdraw``: changes that a second person decides."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

import typer

from explorer import formatting as fmt
from explorer.approvals.guarded_table import commit_guarded
from explorer.approvals.request import ApprovalRequest
from explorer.cli.arguments import JsonFlag
from explorer.cli.in_force import in_force
from explorer.cli.output import complain, emit, facts, listing, note, patience
from explorer.cli.tables import location_of, open_named
from explorer.cli.two_people import CommandApprovals, command_approvals
from explorer.core.errors import CommitError, RequestError
from explorer.core.protocol.json_values import JsonObject, JsonRecord
from explorer.core.transaction.commit.conflicts import error_of, guard_failed
from explorer.core.transaction.commit_plan import MaintenanceResult, Plan
from explorer.core.transaction.intents.documents import parse_intent

_NOT_COMMITTED = 5
NumberArgument = Annotated[int, typer.Argument(metavar="N", min=1, help="Number of the request.", show_default=False)]


class ApprovalDocument(JsonRecord, frozen=True, kw_only=True):
    """A request for approval.

    Attributes:
        number: Its number.
        table: The served name of the table, or its location where it has none.
        location: The table's root as a URL.
        kind, intent: What is asked for.
        state: ``asked``, ``approved``, ``committing``, ``committed``, ``declined``, ``withdrawn`` or ``stale``.
        reason: Why; the commit records it.
        asked_by, asked_at: Who asked, and when.
        approved_by: Who approved it; null before that.
        note: The note of the last step; of a stale request, what changed.
        changed: Of a stale request, which answers of the plan changed: ``table``, ``intent``, ``source`` (the content
            of the files whose rows come in), ``accepted``, ``guards``, ``readers``, ``writers``, ``timeTravel``,
            ``changeFeed``, ``amounts`` (the metrics and the estimate), and ``filesDeleted``; see
            `explorer.core.transaction.approval.ChangedAnswer`.
        source: What the files contain whose rows come in: ``files``, ``bytes`` and ``sha256``, which is that of the
            file, or of a folder that of what ``sha256sum`` prints of its files; null without such files.
        commits: ``maker`` or ``itself``: who commits it once it is approved.
        read_version: The version for which it was planned.
        plan_digest: The digest of that plan.
        valid_until: Until when it can be approved and committed.
        version: The version that was committed; null before that, and for maintenance that writes none.
        address: Where a server of the same configuration shows it: a query, after the public URL if there is one.
    """

    number: int
    table: str
    location: str
    kind: str
    intent: JsonObject
    state: str
    reason: str
    asked_by: str
    asked_at: str
    approved_by: str | None
    note: str
    changed: tuple[str, ...]
    source: JsonObject | None
    commits: str
    read_version: int
    plan_digest: str
    valid_until: str
    version: int | None
    address: str


def approvals(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Only requests on this table.", show_default=False)
    ] = None,
    *,
    all_states: Annotated[bool, typer.Option("--all", help="Include closed requests.")] = False,
    json: JsonFlag = False,
) -> None:
    """List the requests for approval that are open, newest first.

    [[two_people]] in the configuration sets which changes need a second person.
    """
    own = _required()
    wanted = None if table is None else own.target(location_of(table)).name
    requests = [
        request
        for request in own.decisions.shelf.all()
        if (all_states or request.is_open) and (wanted is None or request.table == wanted)
    ]
    if json:
        for request in requests:
            emit(approval_document(request))
        return
    listing(
        ["number", "state", "change", "table", "asked by", "reason"],
        (
            (request.number, request.state, request.kind, request.table, request.asked_by.name, request.reason)
            for request in requests
        ),
        "No requests." if all_states else "No open requests.",
        numbers=("number",),
        whole=("state",),
    )


def approve(
    number: NumberArgument,
    *,
    note: Annotated[
        str, typer.Option("--note", metavar="TEXT", help="Note for the other person; it is kept with the request.")
    ] = "",
    json: JsonFlag = False,
) -> int:
    """Approve a request of another person, after planning its change again on the newest version.

    You are the user of the operating system who runs this. If the new plan differs in what is approved, such as a
    guard, the affected clients, the amounts, or the source of rows, the request becomes stale and nothing is approved:
    exit code 5. An approved change is committed at once if the configuration says that it commits by itself.
    """
    own = _required()
    request = own.decisions.shelf.get(number)
    target, made = own.target(request.location), list[Plan]()
    opened = open_named(request.location)

    def remake(asked: ApprovalRequest) -> Plan:
        with patience("Making the plan again"):
            made.append(
                opened.plan(
                    parse_intent(asked.intent),
                    accept=asked.accepted,
                    check_rows=asked.checked_rows,
                    user=asked.asked_by.name,
                )
            )
        return made[-1]

    decided = own.decisions.approve(number, note, target.place, remake)
    error: CommitError | None = None
    if decided.state == "approved" and decided.commits == "itself":
        with patience("Committing"):
            result = commit_guarded(opened, target, own.decisions, made[-1], reason=None, user=None)
        decided = own.decisions.shelf.get(number)
        if result.outcome != "committed":
            error = guard_failed(result.plan) if isinstance(result, MaintenanceResult) else error_of(result)
    _print(decided, as_json=json)
    if error is not None:
        complain(error.facts(), as_json=json)
    return 0 if error is None and decided.state != "stale" else _NOT_COMMITTED


def decline(
    number: NumberArgument,
    *,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why, for the person who asked.")],
    json: JsonFlag = False,
) -> None:
    """Decline a request of another person, and say why. Nothing is written to the table."""
    own = _required()
    request = own.decisions.shelf.get(number)
    _print(own.decisions.decline(number, note, own.target(request.location).place), as_json=json)


def withdraw(number: NumberArgument, *, json: JsonFlag = False) -> None:
    """Withdraw a request of your own, also one that is approved and not committed yet."""
    _print(_required().decisions.withdraw(number), as_json=json)


def approval_document(request: ApprovalRequest) -> ApprovalDocument:
    """Return a request as the commands print it."""
    return ApprovalDocument(
        number=request.number,
        table=request.table,
        location=request.location,
        kind=request.kind,
        intent=request.intent,
        state=request.state,
        reason=request.reason,
        asked_by=request.asked_by.name,
        asked_at=request.steps[0].time,
        approved_by=None if request.approved_by is None else request.approved_by.name,
        note=request.last.note,
        changed=request.last.changed,
        source=source if isinstance(source := request.answers.get("source"), dict) else None,
        commits=request.commits,
        read_version=request.read_version,
        plan_digest=request.plan_digest,
        valid_until=request.valid_until,
        version=request.version,
        address=_address(request),
    )


def asked(target_location: str, planned: Plan, reason: str, *, as_json: bool) -> None:
    """Ask for the approval of a plan, and print the request."""
    own = _required()
    _print(own.decisions.ask(own.target(target_location), planned, reason), as_json=as_json)


def _required() -> CommandApprovals:
    own = command_approvals()
    if own is None:
        raise RequestError(
            "No change needs a second person in this configuration. [[two_people]] sets which changes do.",
            field="two_people",
        )
    return own


def _address(request: ApprovalRequest) -> str:
    public = in_force().values.serve.public_url
    query = urlencode({"t": request.table, "tab": "act", "step": "request", "request": request.number}, safe="/")
    return f"{public[0] if public else ''}?{query}"


def _print(request: ApprovalRequest, *, as_json: bool) -> None:
    document = approval_document(request)
    if as_json:
        emit(document)
        return
    stated = [
        ("state", document.state),
        ("change", document.kind),
        ("table", document.table),
        ("asked by", document.asked_by),
        ("reason", document.reason),
        ("approved by", document.approved_by or ""),
        ("note", document.note if document.note != document.reason else ""),
        ("version", "" if document.version is None else str(document.version)),
        ("address", document.address),
    ]
    facts(f"Request {document.number}", [(name, text) for name, text in stated if text])
    match document.state:
        case "asked":
            note(f"Another person can approve it: delta-explorer approve {document.number}")
        case "approved":
            people = [request.asked_by.name]
            if request.commits == "itself" and document.approved_by:
                people.append(document.approved_by)  # its own commit did not succeed, and either of them can repeat it
            note(f"{fmt.plain(' or '.join(people))} can commit it now, with delta-explorer commit or in the Edit tab.")
        case "stale":
            note("The change would no longer be the one that was requested. Make a new plan and ask again.")
        case _:
            pass
