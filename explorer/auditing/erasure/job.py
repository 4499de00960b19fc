"""An erasure proof as a job of Spark: the log and the folder first, then the files, with progress and a way to stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from explorer.auditing.erasure.neighbour_tables import Neighbour
from explorer.auditing.erasure.proof import Erasure
from explorer.auditing.erasure.search import prove_erasure
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.delta_log import DeltaLog

if TYPE_CHECKING:
    from explorer.job import Job

__all__ = ["erasure_job"]


def erasure_job(
    log: DeltaLog,
    predicates: Mapping[str, str],
    now: datetime,
    *,
    others: Iterable[Neighbour] = (),
    looked_in: tuple[str, ...] = (),
) -> Job[dict[str, Erasure]]:
    """Begin to search the stored copies of the rows that match.

    Args:
        log: The table's log.
        predicates: SQL by name.
        now: The present, with a zone.
        others, looked_in: As in `prove_erasure`.

    Raises:
        EngineUnavailable: Spark is missing.
    """
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    from explorer.spark.checks.file_search import search_files
    from explorer.spark.engine.job import submit

    def work(job: Job[dict[str, Erasure]]) -> dict[str, Erasure]:
        job.report("Reading the log and the folder")
        return prove_erasure(
            log,
            predicates,
            milliseconds(now),
            lambda groups: search_files(job, log, log.snapshot(), groups, predicates),
            job.check_cancelled,
            others=others,
            looked_in=looked_in,
        )

    return submit(f"Erasure proof of {log.name}", work, "; ".join(predicates.values()))
