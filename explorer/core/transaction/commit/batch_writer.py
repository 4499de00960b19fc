"""A stream's batches, each written once: what a streaming engine calls with every batch, however often.

Protocol section: Transaction Identifiers. Invariants: a batch that the table holds is not written again, even if
another writer wrote it or the store's answer was lost; a batch that could not be written raises, so that the stream
stops there and begins with it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from explorer.core.errors import CommitConflict, EngineUnavailable, InvalidIntent
from explorer.core.transaction.commit.committer import commit_plan
from explorer.core.transaction.commit.conflicts import error_of
from explorer.core.transaction.commit_plan import CommitResult
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents.documents import intent_document, parse_intent
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.planner import Request, make_plan
from explorer.core.transaction.preparation import prepared
from explorer.core.versions.delta_log import DeltaLog

_WITH_SOURCE: Final = ("append", "overwrite", "merge")
_TRIES: Final = 10
_RESOLVES: Final = 5
_PAUSE: Final = 0.2


@dataclass(frozen=True, slots=True)
class BatchWriter:
    """Writes the batches of a stream to a table: a function of a batch's rows and its number, for ``foreachBatch``.

    Attributes:
        log: The table's log.
        app_id: The name under which the table records the batches; the same each time the stream is started.
        intent: What is done with a batch, as a record or as JSON: append, overwrite or merge; its source is the batch.
        context: Clock, identifiers and the engine of rows.
        user: Who commits.
        reason: Why; stored in the commit.
    """

    log: DeltaLog
    app_id: str
    intent: Intent | Mapping[str, object]
    context: Context
    user: str | None = None
    reason: str | None = None

    def __call__(self, rows: object, batch: int) -> CommitResult:
        """Write a batch, unless the table holds it.

        Returns:
            The commit; with a note if the table held the batch already.

        Raises:
            InvalidIntent: The intent cannot be carried out batch by batch.
            GuardFailed: The batch breaks a rule of the table.
            CommitConflict: Others changed the same rows each time it was tried.
            CommitUnknown: The store lost the answer, and the log does not show the outcome.
        """
        wanted = self._of(batch)
        for attempt in range(_TRIES):
            if attempt:
                self.context.sleep(_PAUSE * attempt * self.context.chance())
            result = self._tried(wanted, rows)
            if result.outcome == "committed":
                return result
            error = error_of(result)
            if not isinstance(error, CommitConflict):
                raise error
        raise error

    def __reduce__(self) -> NoReturn:
        """Refuse to be sent to another process, which Spark Connect does with what its ``foreachBatch`` is given.

        Raises:
            EngineUnavailable: Always. The server would call this in a process without this table, its storage and its
                credentials.
        """
        raise EngineUnavailable(
            "A batch writer stays in the process that opened the table, and Spark Connect sends to its server what "
            "foreachBatch calls. Run the stream on a Spark session of this process (local[*] or a cluster, not sc://), "
            "or commit each batch as an intent with txnAppId and txnVersion.",
            engine="spark",
        )

    def check(self) -> None:
        """Check the intent before a batch is there.

        Raises:
            InvalidIntent: It is none, or does not change rows.
        """
        self._of(0)

    def _of(self, batch: int) -> Intent:
        document = dict(self.intent) if isinstance(self.intent, Mapping) else intent_document(self.intent)
        if document.get("kind") not in _WITH_SOURCE:
            raise InvalidIntent(
                f"The kind {document.get('kind')!r} does not write the rows of a batch. Kinds that do: "
                f"{', '.join(_WITH_SOURCE)}.",
                field="kind",
                allowed=list(_WITH_SOURCE),
            )
        return parse_intent({"source": "", **document, "txnAppId": self.app_id, "txnVersion": batch})

    def _tried(self, wanted: Intent, rows: object) -> CommitResult:
        """Plan and commit on the newest version; an unknown outcome is looked up again."""
        self.log.refresh()
        propose = prepared(self.log, wanted, self.context, rows)
        plan = make_plan(self.log, Request(wanted, propose, user=self.user), self.context)
        result = commit_plan(self.log, plan, self.context, reason=self.reason)
        for pause in range(_RESOLVES):
            if result.outcome != "unknown":
                break
            self.context.sleep(_PAUSE * pause)
            result = commit_plan(self.log, plan, self.context, reason=self.reason)
        return result
