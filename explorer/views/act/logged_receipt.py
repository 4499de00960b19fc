"""The receipt of a version as the log holds it: who committed what, when and why, and the digests that identify it."""

from __future__ import annotations

from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.core.compatibility.releases import OWN_ENGINE
from explorer.core.errors import LimitExceeded
from explorer.core.log.verify.hash_chain import CommitSeal
from explorer.core.protocol.json_values import JsonObject, decode_json
from explorer.core.transaction.commit_plan import commit_digest
from explorer.core.versions.commits.summary import CommitSummary
from explorer.views.act.commit_facts import commit_facts, provenance
from explorer.views.act.receipt import Receipt
from explorer.views.table.facts import TableFacts

__all__ = ["LoggedReceipt", "logged_receipt", "seal_facts"]


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

    def document(self) -> JsonObject:
        """Return the receipt that programs read."""
        commit, info = self.commit, provenance(self.actions)
        return {
            "table": self.location,
            "version": self.version,
            "time": None if commit is None or commit.timestamp is None else commit.timestamp.isoformat(),
            "operation": None if commit is None else commit.operation,
            "userName": None if commit is None else commit.user_name or None,
            "reason": None if commit is None else commit.reason or None,
            "operationParameters": info.get("operationParameters"),
            "operationMetrics": info.get("operationMetrics"),
            "digest": self.digest or None,
            "transaction": self.transaction or None,
            "file": self.seal.file,
            "fileDigest": self.seal.file_digest,
            "chainHead": self.seal.chain_head,
        }


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
