"""The receipt of a version as the log holds it: who committed what, when and why, and the digests that identify it."""

from __future__ import annotations

from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.core.errors import LimitExceeded
from explorer.core.log.verify.hash_chain import CommitSeal
from explorer.core.protocol.json_values import JsonObject, decode_json
from explorer.views.act.receipt import Receipt
from explorer.views.table.commits import CommitRecord
from explorer.views.table.facts import TableFacts

__all__ = ["LoggedReceipt", "logged_receipt", "seal_facts"]


@dataclass(frozen=True, slots=True)
class LoggedReceipt:
    """A commit and its seal.

    Attributes:
        location: The table's root as a URL.
        version: The version that it wrote.
        commit: What its commitInfo says; None if the history cannot be read.
        transaction: Its own identifier (``txnId``); empty if it has none.
        seal: Its file's digest and the head of the hash chain.
    """

    location: str
    version: int
    commit: CommitRecord | None
    transaction: str
    seal: CommitSeal

    def receipt(self) -> Receipt:
        """Return the receipt that people read."""
        facts = [("operation", self.commit.operation), ("reason", self.commit.reason)] if self.commit else []
        facts += [("by", self.commit.user_name or "nobody named")] if self.commit else []
        facts += [("transaction", self.transaction)] if self.transaction else []
        return Receipt(
            outcome="committed",
            title="Committed",
            text="This is what the log holds about it.",
            tone="ok",
            version=self.version,
            winner=None,
            rebased_from=None,
            facts=(*((name, text) for name, text in facts if text), *seal_facts(self)),
            notes=(),
        )

    def document(self) -> JsonObject:
        """Return the receipt that programs read."""
        commit = self.commit
        return {
            "table": self.location,
            "version": self.version,
            "time": None if commit is None or commit.timestamp is None else commit.timestamp.isoformat(),
            "operation": None if commit is None else commit.operation,
            "userName": None if commit is None else commit.user_name or None,
            "reason": None if commit is None else commit.reason or None,
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
            _transaction(facts.log.commit_actions(version)),
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


def _transaction(lines: list[bytes]) -> str:
    """The identifier that the commit carries, if its commitInfo can be read."""
    for line in lines:
        if b'"commitInfo"' not in line:
            continue
        try:
            found = decode_json(line).get("commitInfo", {}).get("txnId")
        except (ValueError, RecursionError, AttributeError, LimitExceeded):
            return ""
        return str(found) if found else ""
    return ""
