"""The approval of a plan by a second person: what of a plan was approved, and what a commit says of it.

A plan is made again before it is committed, so it is never the very plan that was approved. Its answers are approved:
the requested change, the guards that were accepted by name, the status of every guard, the evidence of those that do
not pass, what clients, time travel, and the change data feed lose, the amounts of rows and files, the files that would
be deleted, and the content of the files whose rows come in, byte for byte. As long as these are the same, a newer
version of the table changes nothing.

Invariants: two plans with one digest of answers ask for the same change of the same table and were judged alike; a
plan that answers otherwise than the approved one is not committed under that approval.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from explorer.core.errors import RequestError
from explorer.core.protocol.counted import counted
from explorer.core.protocol.json_values import JsonObject
from explorer.core.transaction.commit_plan import TAG_PREFIX, CommitPlan, Plan
from explorer.core.transaction.intents.documents import intent_document
from explorer.core.transaction.proposal import GuardResult, SourceContent

GUARD: Final = "approval"
"""The name of the guard that a plan has where it is committed under an approval."""
_OTHER_TIMES: Final = frozenset({"cutoff"})
"""Evidence that differs with each plan."""
_MOST_NAMED: Final = 5


class ChangedAnswer(NamedTuple):
    """An answer of a plan that differs.

    Attributes:
        name: Its key in `answers_of_plan`; ``table`` also for ``tableId``, ``guards`` also for ``evidence``, and
            ``amounts`` for ``metrics`` and ``estimate``.
        text: What changed, as a sentence.
    """

    name: str
    text: str


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that a second person approved.

    Attributes:
        request: The number of the request.
        asked_by, approved_by: The two people, by name.
        reason: Why, as it was approved; that of the commit.
        digest: That of the plan that was asked for.
        answers: The answers of the plan that was approved; see `answers_of_plan`.
    """

    request: int
    asked_by: str
    approved_by: str
    reason: str
    digest: str
    answers: JsonObject

    @property
    def tags(self) -> dict[str, str]:
        """What the commit says of it, among the tags of its commitInfo."""
        source = source_of(self.answers)
        return {
            f"{TAG_PREFIX}approvalRequest": str(self.request),
            f"{TAG_PREFIX}askedBy": self.asked_by,
            f"{TAG_PREFIX}approvedBy": self.approved_by,
            f"{TAG_PREFIX}approvedPlan": self.digest,
            **({} if source is None else {f"{TAG_PREFIX}approvedSource": source.sha256}),
        }


def answers_of_plan(plan: Plan) -> JsonObject:
    """Return the answers of a plan: what a second person approves, as a JSON object that can be kept and compared.

    The source of its rows is read, which may take long.

    Raises:
        RequestError: The source cannot be bound: it is not on this machine, or changes while it is read.
        StorageError: The source cannot be read.
    """
    judged = [guard for guard in plan.guards if guard.name != GUARD]
    metrics: Mapping[str, object] = {}
    estimate: object = None
    source: object = None
    if isinstance(plan, CommitPlan):
        source = None if plan.proposal.source is None else plan.proposal.source()
        metrics = {name: value for name, value in plan.proposal.metrics.items() if not name.endswith("TimeMs")}
        estimate = plan.proposal.estimate
    deleted = sorted(file.path for file in plan.files if file.change == "delete")
    consequences = plan.consequences
    answers = {
        "table": plan.table,
        "tableId": plan.table_id if isinstance(plan, CommitPlan) else None,
        "intent": intent_document(plan.intent),
        "accepted": sorted(plan.accepted),
        "guards": {guard.name: guard.status for guard in judged},
        "evidence": {guard.name: _evidence(guard) for guard in judged if guard.status != "pass"},
        "readers": consequences.readers,
        "writers": consequences.writers,
        "timeTravel": consequences.time_travel,
        "changeFeed": consequences.change_feed,
        "metrics": metrics,
        "estimate": estimate,
        "filesDeleted": {"number": len(deleted), "digest": _sha256(deleted)},
        "source": source,
    }
    plain: JsonObject = msgspec.json.decode(msgspec.json.encode(answers, order="deterministic"))
    return plain


def source_of(answers: JsonObject) -> SourceContent | None:
    """Return what the source of the rows contained, by answers; None where no rows come from files."""
    content = answers.get("source")
    return None if content is None else msgspec.convert(content, SourceContent)


def answers_digest(answers: JsonObject) -> str:
    """Return the SHA-256 of answers."""
    return _sha256(answers)


def changed_answers(before: JsonObject, after: JsonObject) -> tuple[ChangedAnswer, ...]:
    """Return what differs between the answers of two plans; nothing if they are the same."""
    return tuple(_changes(before, after))


def approved(plan: Any, approval: Approval | None) -> Any:
    """Return a plan with the guard that says whether it is the approved one; the plan itself without an approval.

    Args:
        plan: The plan as it is about to be carried out, made on the newest version.
        approval: The approval under which that is done; None where none is needed.
    """
    if approval is None:
        return plan
    changes = changed_answers(approval.answers, answers_of_plan(plan))
    evidence: dict[str, object] = {
        "request": approval.request,
        "askedBy": approval.asked_by,
        "approvedBy": approval.approved_by,
        "reason": approval.reason,
        "approvedPlan": approval.digest,
    }
    if changes:
        guard = GuardResult(
            GUARD,
            "fail",
            evidence
            | {
                "detail": f"The plan is no longer the approved one. {' '.join(each.text for each in changes)}",
                "changed": names_of(changes),
            },
            "Ask for approval of the plan as it is now.",
        )
    else:
        detail = f"Asked for by {approval.asked_by}, and approved by {approval.approved_by}."
        guard = GuardResult(GUARD, "pass", evidence | {"detail": detail})
    return msgspec.structs.replace(plan, guards=(*(each for each in plan.guards if each.name != GUARD), guard))


def names_of(changes: Iterable[ChangedAnswer]) -> tuple[str, ...]:
    """Return the names of answers that changed, each once."""
    return tuple(dict.fromkeys(each.name for each in changes))


def check_names(approval: Approval) -> None:
    """Check that the names of an approval can be written into a log.

    Raises:
        RequestError: One contains an unpaired surrogate.
    """
    for name in (approval.asked_by, approval.approved_by):
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise RequestError(
                "The name of a person contains an unpaired surrogate, so it cannot be written into a log.", field="user"
            ) from error


def _evidence(guard: GuardResult) -> dict[str, object]:
    return {name: value for name, value in guard.evidence.items() if name not in _OTHER_TIMES}


def _changes(before: JsonObject, after: JsonObject) -> Iterator[ChangedAnswer]:
    if before.get("table") != after.get("table") or before.get("tableId") != after.get("tableId"):
        yield ChangedAnswer("table", "Another table is at this location now.")
    if before.get("intent") != after.get("intent"):
        yield ChangedAnswer("intent", "Another change is requested.")
    if before.get("source") != after.get("source"):
        yield ChangedAnswer("source", f"The source is now {_contents(after)}. Before: {_contents(before)}.")
    if before.get("accepted") != after.get("accepted"):
        yield ChangedAnswer("accepted", "Other guards were accepted by name.")
    yield from (ChangedAnswer("guards", text) for text in _guard_changes(before, after))
    if before.get("readers") != after.get("readers"):
        yield ChangedAnswer("readers", "Other clients would lose read access.")
    if before.get("writers") != after.get("writers"):
        yield ChangedAnswer("writers", "Other clients would lose write access.")
    if before.get("timeTravel") != after.get("timeTravel"):
        text = f"Time travel: {after.get('timeTravel')} Before: {before.get('timeTravel')}"
        yield ChangedAnswer("timeTravel", text)
    if before.get("changeFeed") != after.get("changeFeed"):
        text = f"Change data feed: {after.get('changeFeed')} Before: {before.get('changeFeed')}"
        yield ChangedAnswer("changeFeed", text)
    if before.get("metrics") != after.get("metrics") or before.get("estimate") != after.get("estimate"):
        text = f"The amounts have changed: {_amounts(after)}. Before: {_amounts(before)}."
        yield ChangedAnswer("amounts", text)
    if before.get("filesDeleted") != after.get("filesDeleted"):
        numbers = [_member(answers, "filesDeleted").get("number", 0) for answers in (after, before)]
        yield ChangedAnswer("filesDeleted", f"It would delete other files: {numbers[0]} now, {numbers[1]} before.")


def _contents(answers: JsonObject) -> str:
    """Return what the source of rows contains, in words."""
    content = source_of(answers)
    if content is None:
        return "not checked"
    return f"{counted(content.files, 'file')} of {counted(content.bytes, 'byte')} with the SHA-256 {content.sha256}"


def _guard_changes(before: JsonObject, after: JsonObject) -> Iterator[str]:
    was, now = _member(before, "guards"), _member(after, "guards")
    evidence = [_member(answers, "evidence") for answers in (before, after)]
    names = list(dict.fromkeys((*now, *was)))
    changed = [
        name for name in names if was.get(name) != now.get(name) or evidence[0].get(name) != evidence[1].get(name)
    ]
    for name in changed[:_MOST_NAMED]:
        detail = _member(evidence[1], name).get("detail")
        text = f": {detail}" if isinstance(detail, str) and detail else "."
        if name not in now:
            yield f"The guard {name} no longer applies."
        elif name not in was:
            yield f"The guard {name} is new, with the result {now[name]}{text}"
        elif was[name] != now[name]:
            yield f"The guard {name} changed from {was[name]} to {now[name]}{text}"
        else:
            yield f"The evidence of the guard {name} changed{text}"
    if len(changed) > _MOST_NAMED:
        yield f"{len(changed) - _MOST_NAMED} more guards changed."


def _member(value: JsonObject, name: str) -> dict[str, Any]:
    member = value.get(name)
    return member if isinstance(member, dict) else {}


def _amounts(answers: JsonObject) -> str:
    given = {**_member(answers, "estimate"), **_member(answers, "metrics")}
    return ", ".join(f"{name} {value}" for name, value in sorted(given.items()) if value is not None) or "none"


def _sha256(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
