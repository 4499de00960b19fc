"""A request for approval as people read it: what is asked for, how it was judged, who did what, and what comes next.

Invariants: every text is as the people and the table gave it; the code that draws it escapes it. What is shown of the
plan is what was asked for, not what a plan would be now; a state that leads nowhere says what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

import msgspec

from explorer import formatting as fmt
from explorer.approvals.request import ApprovalRequest, Step
from explorer.core.errors import ExplorerError
from explorer.core.transaction.approval import source_of
from explorer.core.transaction.commit_plan import TAG_PREFIX, JudgedPlan, Plan
from explorer.core.transaction.intents.documents import parse_intent
from explorer.views.act.guard_views import GuardView, guard_counts, guard_views
from explorer.views.act.intent_form import answers_of, headline, offered_kinds
from explorer.views.act.intents.entry import Headline
from explorer.views.act.plan_view import ClientLoss, client_losses, loss_summary

_TONES: Final[Mapping[str, str]] = {
    "asked": "info",
    "approved": "ok",
    "committing": "warning",
    "committed": "ok",
    "declined": "danger",
    "withdrawn": "muted",
    "stale": "warning",
}
_DID: Final[Mapping[str, str]] = {
    "asked": "asked for approval",
    "approved": "approved it",
    "declined": "declined it",
    "withdrawn": "withdrew it",
    "stale": "marked it as stale",
    "begun": "began the commit",
    "failed": "found that the commit did not happen",
    "committed": "committed it",
}
STATE_WORDS: Final[Mapping[str, str]] = {"asked": "waiting"} | {name: name for name in _TONES if name != "asked"}
"""The states for people."""


@dataclass(frozen=True, slots=True)
class RequestStep:
    """What happened to a request: who did what, when, and why."""

    who: str
    did: str
    when: str
    note: str
    tone: str


@dataclass(frozen=True, slots=True)
class RequestLine:
    """A request in a list.

    Attributes:
        number, table: Which one.
        headline: What it asks for.
        state, tone: Where it is, in a word, and how serious that is.
        by, time: Who asked, and when.
        reason: Why.
    """

    number: int
    table: str
    headline: Headline
    state: str
    tone: str
    by: str
    time: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request.

    Attributes:
        line: As in a list.
        title, text: What its state means.
        guards, counts: How the plan was judged when it was asked for.
        losses: Clients that can do less afterwards.
        worst: What they lose, in a sentence; empty if nothing.
        consequences: What else follows, by name.
        amounts: What it concerns, by name.
        steps: What happened, oldest first.
        facts: What identifies it, by name.
        answers: The answers to the form of its change; None if no form asks for it.
        read_version: The version that the plan read.
        version: The version that was committed.
    """

    line: RequestLine
    title: str
    text: str
    guards: tuple[GuardView, ...]
    counts: str
    losses: tuple[ClientLoss, ...]
    worst: str
    consequences: tuple[tuple[str, str], ...]
    amounts: tuple[tuple[str, str], ...]
    steps: tuple[RequestStep, ...]
    facts: tuple[tuple[str, str], ...]
    answers: tuple[tuple[str, str], ...] | None
    read_version: int
    version: int | None


def request_line(request: ApprovalRequest, name: str) -> RequestLine:
    """Return a request as a line of a list, under the name of its table there."""
    return RequestLine(
        number=request.number,
        table=name,
        headline=_headline(request),
        state=STATE_WORDS[request.state],
        tone=_TONES[request.state],
        by=request.asked_by.name,
        time=request.asked_at,
        reason=request.reason,
    )


def request_view(request: ApprovalRequest, name: str) -> RequestView:
    """Describe a request."""
    intent = parse_intent(request.intent)
    plan = cast(
        Plan,
        JudgedPlan(
            table=request.location,
            read_version=request.read_version,
            intent=intent,
            guards=request.guards,
            consequences=request.consequences,
            accepted=request.accepted,
        ),
    )
    guards, losses = guard_views(plan), client_losses(plan)
    title, text = _meaning(request)
    return RequestView(
        line=request_line(request, name),
        title=title,
        text=text,
        guards=guards,
        counts=guard_counts(guards),
        losses=losses,
        worst=loss_summary(losses) if losses else "",
        consequences=(
            ("time travel", request.consequences.time_travel),
            ("change feed", request.consequences.change_feed),
            ("undo", request.consequences.undo or "Unknown."),
        ),
        amounts=tuple(_amounts(request)),
        steps=tuple(map(_step, request.steps)),
        facts=(
            ("asked by", request.asked_by.name),
            *((("approved by", request.approved_by.name),) if request.approved_by is not None else ()),
            ("planned at", f"v{request.read_version}"),
            ("accepted by name", ", ".join(request.accepted) or "none"),
            ("committed by", "the person who asked" if request.commits == "maker" else "the program, once approved"),
            ("valid until", fmt.moment(datetime.fromisoformat(request.valid_until))),
            *_source(request),
            ("plan digest", request.plan_digest),
        ),
        answers=tuple(sorted(answers_of(intent).items())) if request.kind in offered_kinds() else None,
        read_version=request.read_version,
        version=request.version,
    )


def approval_facts(info: Mapping[str, object], guards: object = ()) -> list[tuple[str, str]]:
    """Return who asked for a commit and who approved it, as names and texts; none for a commit of one person.

    Args:
        info: The commitInfo of the commit; its tags say it.
        guards: The guards of its plan, for maintenance that writes no commit.
    """
    tags = info.get("tags")
    said: Mapping[str, Any] = {}
    if isinstance(tags, Mapping):
        said = {str(name).removeprefix(TAG_PREFIX): value for name, value in tags.items()}
    if "approvedBy" not in said and isinstance(guards, tuple | list):
        evidence = (guard.evidence for guard in guards if guard.name == "approval" and guard.status == "pass")
        said = next(evidence, {})
        said = {**said, "approvalRequest": said.get("request", "")} if said else {}
    names = (
        ("asked by", "askedBy"),
        ("approved by", "approvedBy"),
        ("request for approval", "approvalRequest"),
        ("digest of the approved plan", "approvedPlan"),
        ("digest of the approved source", "approvedSource"),
    )
    return [(name, str(said[key])) for name, key in names if said.get(key) not in (None, "")]


def _source(request: ApprovalRequest) -> Iterator[tuple[str, str]]:
    """Yield what identifies the content of the source of rows, which is approved with the plan."""
    content = source_of(request.answers)
    if content is not None:
        yield "source", f"{fmt.plural(content.files, 'file')}, {fmt.size(content.bytes)}"
        yield "source SHA-256", content.sha256


def _headline(request: ApprovalRequest) -> Headline:
    try:
        return headline(parse_intent(request.intent))
    except ExplorerError:
        return Headline(request.kind)


def _step(step: Step) -> RequestStep:
    when = fmt.moment(datetime.fromisoformat(step.time))
    who = "" if step.by is None else step.by.name
    tone = {"approved": "ok", "committed": "ok", "declined": "danger", "stale": "warning", "failed": "warning"}
    return RequestStep(who, _DID[step.what], when, step.note, tone.get(step.what, ""))


def _meaning(request: ApprovalRequest) -> tuple[str, str]:
    approver = "" if request.approved_by is None else request.approved_by.name
    match request.state:
        case "asked":
            return "Waiting for approval", "Another person must read this plan, then approve or decline it."
        case "approved":
            return f"Approved by {approver}", _who_commits(request, approver)
        case "committing":
            return (
                "Commit in progress",
                "Its outcome is not known yet. From ten minutes after its start, this page looks for it in the log.",
            )
        case "committed":
            version = "" if request.version is None else f" as v{request.version}"
            return f"Committed{version}", f"Approved by {approver}."
        case "declined":
            by = "" if request.last.by is None else f" by {request.last.by.name}"
            return f"Declined{by}", "Nothing was written. Change the plan and ask again."
        case "withdrawn":
            return "Withdrawn", "Nothing was written."
        case "stale":
            return "Stale: the plan has changed", f"{request.last.note} Nothing was written."


def _who_commits(request: ApprovalRequest, approver: str) -> str:
    """Return who can commit an approved request: its maker, or either person where its own commit did not succeed."""
    if request.commits == "maker":
        return f"{request.asked_by.name} can commit it now."
    people = f"{request.asked_by.name} or {approver}"
    if request.last.what == "failed":
        return f"It was to commit by itself, but that commit did not happen. {people} can commit it now."
    return f"It commits by itself. If it does not, {people} can commit it."


def _amounts(request: ApprovalRequest) -> list[tuple[str, str]]:
    amounts: list[tuple[str, str]] = []
    if request.estimate is not None:
        estimate = msgspec.structs.asdict(request.estimate)
        amounts += [
            (name, fmt.size(value) if name == "bytes" else fmt.count(value)) for name, value in estimate.items()
        ]
    metrics = request.answers.get("metrics")
    if isinstance(metrics, dict):
        amounts += [(str(name), _amount(str(name), value)) for name, value in sorted(metrics.items())]
    deleted = request.answers.get("filesDeleted")
    if isinstance(deleted, dict) and deleted.get("number"):
        amounts.append(("files deleted", str(deleted["number"])))
    return amounts


def _amount(name: str, value: object) -> str:
    """Return a metric of an operation for people; sizes and counts are recorded as numbers or as strings of digits."""
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        return text
    return fmt.size(int(text)) if "Size" in name or name.endswith("Bytes") else fmt.count(int(text))
