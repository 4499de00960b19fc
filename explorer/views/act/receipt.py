"""The receipt of a commit, or of maintenance without a commit: right after it, or as the log holds it.

Both are made from the lines of the commit, so they say the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import msgspec

from explorer import formatting as fmt
from explorer.core.compatibility.releases import OWN_ENGINE
from explorer.core.errors import LimitExceeded
from explorer.core.log.verify.hash_chain import CommitSeal
from explorer.core.protocol.json_values import JsonObject, JsonRecord, JsonValue, decode_json
from explorer.core.transaction.commit_plan import (
    MaintenancePlan,
    MaintenanceResult,
    Plan,
    PlanDocument,
    PlanResult,
    commit_digest,
)
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.versions.commits.summary import CommitSummary
from explorer.views.act.request_view import approval_facts
from explorer.views.act.written_lines import done_facts, done_title
from explorer.views.table.facts import TableFacts


@dataclass(frozen=True, slots=True)
class Receipt:
    """How a commit ended.

    Attributes:
        outcome: ``committed``, ``conflicted``, ``rejected`` or ``unknown``.
        title, text, tone: What that means, and how serious it is.
        version: The version written, or in doubt.
        winner: The version that conflicts with it.
        rebased_from: The version that the approved plan was based on, if the plan was made again on a later one.
        facts: Names and values worth keeping.
        notes: What went wrong after the commit; the commit itself is valid.
    """

    outcome: str
    title: str
    text: str
    tone: str
    version: int | None
    winner: int | None
    rebased_from: int | None
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def receipt(result: PlanResult, approved: Plan, reason: str, user: str | None) -> Receipt:
    """Describe the outcome of a commit."""
    title, text, tone = _OUTCOMES[result.outcome]
    # What a second person approved has the reason and the name that were approved, whatever was typed since.
    said = next((guard.evidence for guard in result.plan.guards if guard.name == "approval"), {})
    reason, user = str(said.get("reason", reason)), str(said.get("askedBy", user or "")) or None
    if isinstance(result, MaintenanceResult):
        assert isinstance(approved, MaintenancePlan)
        shown = _done(result, approved, title, text, tone)
        people = approval_facts({}, result.plan.guards) if result.outcome == "committed" else []
        return replace(shown, facts=(*shown.facts, ("reason", reason), ("by", user or "no name given"), *people))
    facts = commit_facts(result.plan.actions) or [("operation", result.plan.proposal.operation)]
    facts += [("reason", reason), ("by", user or "no name given")]
    if result.outcome == "unknown" and result.version is not None:
        facts.insert(0, ("outcome unknown", f"v{result.version}"))
    facts += approval_facts(provenance(result.plan.actions)) if result.outcome != "rejected" else []
    facts += [("based on", f"v{result.plan.read_version}"), ("digest", result.plan.digest)]
    if result.plan.digest != approved.digest:
        facts.append(("digest of the approved plan", approved.digest))
        text = f"{text} {_TWO_DIGESTS}" if result.outcome == "committed" else text
    facts.append(("transaction", result.plan.txn_id))
    if result.conflict is not None:
        text = f"{result.conflict.why} Nothing was written."
        facts.insert(0, ("decided by", f"{result.conflict.action} of v{result.conflict.version}"))
    moved = result.plan.read_version != approved.read_version
    return Receipt(
        outcome=result.outcome,
        title=title,
        text=text,
        tone=tone,
        version=result.version,
        winner=None if result.conflict is None else result.conflict.version,
        rebased_from=approved.read_version if moved else None,
        facts=tuple(facts),
        notes=result.notes,
    )


def _done(result: MaintenanceResult, approved: MaintenancePlan, title: str, text: str, tone: str) -> Receipt:
    """Return the receipt of maintenance, which writes no commit."""
    facts = [("operation", intent_kind(result.plan.intent)), ("at", f"v{result.plan.read_version}")]
    if result.outcome == "committed":
        title, text = done_title(result), _after(result)
        facts += done_facts(result, approved)
        facts.append(("time travel", result.plan.consequences.time_travel))
        # No log holds what was accepted, as no commit is written.
        facts += [("accepted by name", ", ".join(approved.accepted))] if approved.accepted else []
    facts.append(("digest", approved.digest))
    return Receipt(result.outcome, title, text, tone, None, None, None, tuple(facts), result.notes)


def _after(result: MaintenanceResult) -> str:
    """Say what of the log changed with maintenance."""
    if not result.recorded:
        return f"The table is at v{result.plan.read_version}, as before."
    versions = " and ".join(f"v{version}" for version in result.recorded)
    return f"The log records it in {versions}; the rows are those of v{result.plan.read_version}."


_TWO_DIGESTS: Final = (
    "Its digest differs from the approved plan's because rows were written after the approval, or because the "
    "plan was rebased on a newer version."
)
_OUTCOMES: Final = {
    "committed": ("Committed", "The new version is in the log.", "ok"),
    "conflicted": ("Conflict with another commit", "", "danger"),
    "rejected": (
        "Rejected by a guard",
        "The table had a newer version, and a guard failed on it. Nothing was written.",
        "danger",
    ),
    "unknown": (
        "Outcome unknown",
        (
            "The store's response was lost, and the log does not show this commit yet. You can "
            "safely try again: the commit has a unique identifier and is never written twice."
        ),
        "warning",
    ),
}


_UNSAID: Final = frozenset(["", "[]", "{}", "null"])
_TOLD: Final = frozenset(["commitInfo", "add", "remove"])
_ROWS: Final = {
    "numDeletedRows": "deleted",
    "numUpdatedRows": "updated",
    "numTargetRowsDeleted": "deleted",
    "numTargetRowsUpdated": "updated",
    "numTargetRowsInserted": "inserted",
    "numOutputRows": "written",
    "numCopiedRows": "rewritten unchanged",
    "numTargetRowsCopied": "rewritten unchanged",
}
"""What became of the rows that a metric counts."""


def provenance(actions: Sequence[JsonObject]) -> JsonObject:
    """Return the commitInfo among the lines of a commit; empty without one."""
    info = next((action["commitInfo"] for action in actions if "commitInfo" in action), None)
    return info if isinstance(info, dict) else {}


def commit_facts(actions: Sequence[JsonObject]) -> list[tuple[str, str]]:
    """Return what was asked of a commit and what it did, as names and texts."""
    info = provenance(actions)
    facts = [("operation", _text(info.get("operation")))]
    facts += _parameters(info.get("operationParameters"))
    facts += [("rows", ", ".join(_rows(info.get("operationMetrics"))))]
    facts += [("files", ", ".join(_files(actions))), ("other actions", _others(actions))]
    return [(name, text) for name, text in facts if text not in _UNSAID]


def _parameters(parameters: object) -> Iterator[tuple[str, str]]:
    if isinstance(parameters, Mapping):
        yield from ((str(name), _unpacked(_text(value))) for name, value in sorted(parameters.items()))


def _unpacked(text: str) -> str:
    """Return a parameter as readable text: writers record a predicate as a JSON list of strings."""
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(parts, list) and parts and all(isinstance(part, str) for part in parts):
        return " AND ".join(parts)
    return text


def _rows(metrics: object) -> Iterator[str]:
    if not isinstance(metrics, Mapping):
        return
    for name, done in _ROWS.items():
        number = str(metrics.get(name, ""))
        if number.isdecimal() and int(number):
            yield f"{fmt.plural(int(number), 'row')} {done}"


def _files(actions: Sequence[JsonObject]) -> Iterator[str]:
    """Yield what happened to data files; one that is removed and added in the same commit stays."""
    adds, removes = (_by_path(actions, name) for name in ("add", "remove"))
    stay = len(adds.keys() & removes.keys())
    new = len(adds) - stay
    if new and not removes and not any(add.get("dataChange", True) for add in adds.values()):
        yield f"{fmt.plural(new, 'file')} described again"
    elif new:
        yield f"{fmt.plural(new, 'file')} added"
    if removed := len(removes) - stay:
        yield f"{fmt.plural(removed, 'file')} removed"
    if stay:
        yield fmt.plural(stay, "file stays and masks other rows", "files stay and mask other rows")


def _by_path(actions: Sequence[JsonObject], name: str) -> dict[str, JsonObject]:
    files = (action.get(name) for action in actions)
    return {str(body.get("path")): body for body in files if isinstance(body, dict)}


def _others(actions: Sequence[JsonObject]) -> str:
    counts = Counter(name for action in actions for name in action if name not in _TOLD)
    return ", ".join(f"{fmt.count(number)} {name}" for name, number in counts.items())


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


class ReceiptDocument(JsonRecord, frozen=True, kw_only=True):
    """The receipt of a commit as JSON.

    Attributes:
        operation_parameters, operation_metrics: As the commitInfo of the commit records them.
        digest: That of the plan; null if another program wrote the commit.
        transaction: The ``txnId`` of the commit; null if it has none.
        file_digest: SHA-256 of the file of the commit.
        chain_head: The head of the hash chain over the commits up to this one.
        plan: The plan with its outcome, in the window that made the commit.
    """

    table: str
    version: int
    time: datetime | None
    operation: str | None
    user_name: str | None
    reason: str | None
    operation_parameters: JsonValue
    operation_metrics: JsonValue
    digest: str | None
    transaction: str | None
    file: str
    file_digest: str
    chain_head: str
    plan: PlanDocument | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class LoggedReceipt:
    """A commit and its seal.

    Attributes:
        location: The table's root as a URL.
        version: The version that it wrote.
        commit: What its commitInfo says; None if the history cannot be read.
        actions: Its lines as JSON objects; empty if they cannot be read.
        seal: Its file's digest and the head of the hash chain.
    """

    location: str
    version: int
    commit: CommitSummary | None
    actions: tuple[JsonObject, ...]
    seal: CommitSeal

    @property
    def transaction(self) -> str:
        """Its own identifier (``txnId``); empty if it has none."""
        return str(provenance(self.actions).get("txnId") or "")

    @property
    def digest(self) -> str:
        """The digest of its plan, where this program wrote it; empty for a commit of another writer."""
        if not str(provenance(self.actions).get("engineInfo", "")).startswith(OWN_ENGINE):
            return ""
        return commit_digest(self.location, self.version - 1, self.actions)

    def receipt(self) -> Receipt:
        """Return the receipt that people read."""
        facts = commit_facts(self.actions)
        facts += (
            [("reason", self.commit.reason), ("by", self.commit.user_name or "no name given")] if self.commit else []
        )
        facts += approval_facts(provenance(self.actions)) if self.digest else []
        facts += [("based on", f"v{self.version - 1}")] if self.version and self.digest else []
        facts += [("digest", self.digest), ("transaction", self.transaction)]
        return Receipt(
            outcome="committed",
            title="Committed",
            text="This is what the log records about it.",
            tone="ok",
            version=self.version,
            winner=None,
            rebased_from=None,
            facts=(*((name, text) for name, text in facts if text), *seal_facts(self)),
            notes=(),
        )

    def document(self, plan: PlanDocument | None = None) -> ReceiptDocument:
        """Return the receipt that programs read.

        Args:
            plan: The plan with its outcome, where it is known.
        """
        commit, info = self.commit, provenance(self.actions)
        return ReceiptDocument(
            table=self.location,
            version=self.version,
            time=None if commit is None else commit.timestamp,
            operation=None if commit is None else commit.operation,
            user_name=None if commit is None else commit.user_name or None,
            reason=None if commit is None else commit.reason or None,
            operation_parameters=info.get("operationParameters"),
            operation_metrics=info.get("operationMetrics"),
            digest=self.digest or None,
            transaction=self.transaction or None,
            file=self.seal.file,
            file_digest=self.seal.file_digest,
            chain_head=self.seal.chain_head,
            plan=msgspec.UNSET if plan is None else plan,
        )


def logged_receipt(facts: TableFacts, version: int) -> LoggedReceipt:
    """Return the receipt of a version; this reads every commit before it, once.

    Raises:
        VersionNotFound: The commit's file is gone.
    """
    return facts.keep(
        ("receipt", version),
        lambda: LoggedReceipt(
            facts.location,
            version,
            facts.commits.record(version),
            _actions(facts.log.commit_actions(version)),
            facts.log.commit_seal(version),
        ),
    )


def seal_facts(logged: LoggedReceipt) -> tuple[tuple[str, str], ...]:
    """Return when a commit was made and the digests that identify it, as names and texts."""
    commit, seal = logged.commit, logged.seal
    return (
        ("time", fmt.moment(None if commit is None else commit.timestamp)),
        ("file", seal.file),
        ("file digest", seal.file_digest),
        ("chain head", seal.chain_head),
    )


def _actions(lines: list[bytes]) -> tuple[JsonObject, ...]:
    """Return the lines that are JSON objects; a commit that cannot be read has no facts but its seal."""
    try:
        return tuple(decode_json(line) for line in lines)
    except (ValueError, RecursionError, LimitExceeded):
        return ()
