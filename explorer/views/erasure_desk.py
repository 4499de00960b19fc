"""The erasure desk: a search of every stored copy of some rows.

Invariants: at most one search runs for a window; a proof is given, and a search shown, only for the table and the
conditions searched: another table at the same place is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from explorer.auditing.erasure import Erasure, Neighbour
from explorer.core.errors import RequestError
from explorer.views.rows.spark_work import SparkWork, WorkState

if TYPE_CHECKING:
    from explorer.job import Job
    from explorer.views.table.facts import TableFacts

__all__ = ["ErasureDesk"]


class ErasureDesk:
    """At most one search for one window.

    Args:
        changed: Called, on any thread, when something else is to be shown.
        beside: Returns the tables beside those of the window, and where these are all there are.
    """

    def __init__(
        self, changed: Callable[[], None], other_tables: Callable[[], tuple[Iterable[Neighbour], tuple[str, ...]]]
    ) -> None:
        self._other_tables = other_tables
        self._work: SparkWork[dict[str, Erasure]] = SparkWork(changed)

    def start(self, facts: TableFacts, requests: Sequence[str]) -> None:
        """Begin to search for the rows of some conditions, in one pass over the files; a running search is stopped.

        Raises:
            RequestError: There is no condition.
        """
        if not requests:
            raise RequestError("Enter a condition for the rows, such as customer_id = 'C-1'.", field="where")
        self._work.begin(_key(facts, requests), lambda: self._begin(facts, requests))

    def stop_reading(self) -> None:
        """Stop a running search."""
        self._work.cancel()

    def state(self, facts: TableFacts, requests: Sequence[str]) -> WorkState:
        """Return how far the search for the rows of some conditions on a table is; idle if it is another one."""
        return self._work.state if self._work.key == _key(facts, requests) else WorkState()

    def _begin(self, facts: TableFacts, requests: Sequence[str]) -> Job[dict[str, Erasure]]:
        from explorer.auditing.erasure.job import erasure_job

        others, looked_in = self._other_tables()
        predicates = {where: where for where in requests}
        return erasure_job(facts.log, predicates, datetime.now(UTC), others=others, looked_in=looked_in)

    def proofs(self, facts: TableFacts, requests: Sequence[str]) -> Mapping[str, Erasure] | None:
        """Return the proof of each of some conditions on a table, if these are what was searched."""
        return self._work.about(_key(facts, requests))


def _key(facts: TableFacts, requests: Sequence[str]) -> Hashable:
    return facts.location, facts.snapshot(facts.last).metadata.id, tuple(requests)
