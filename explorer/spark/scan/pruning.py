"""Leave out files that cannot hold a matching row, before Spark sees them.

Protocol section: Per-file Statistics (data skipping). Invariants: a file that the log cannot exclude is kept; where
Spark would read a predicate differently from the core (another time zone, case-sensitive names), nothing is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import RequestError
from explorer.spark.scan.physical import case_collides

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from explorer.core.versions.snapshot import Snapshot

__all__ = ["needed_files", "reads_like_core"]

_ZONE: Final = "spark.sql.session.timeZone"
_UTC: Final = frozenset({"UTC", "Etc/UTC", "Z", "+00:00", "GMT"})


def reads_like_core(session: SparkSession, snapshot: Snapshot) -> bool:
    """Whether Spark reads the names and times of a predicate as the core does."""
    return not case_collides(snapshot.schema) and session.conf.get(_ZONE, "") in _UTC


def needed_files(session: SparkSession, snapshot: Snapshot, files: pa.Table, where: str) -> pa.Table:
    """The files that may hold a row for which the predicate is TRUE.

    Args:
        session: Where the predicate will be evaluated.
        snapshot: The version.
        files: Some rows of ``snapshot.logical_files``.
        where: A vetted predicate; one that the core cannot read keeps every file.
    """
    if not reads_like_core(session, snapshot):
        return files
    try:
        kept = snapshot.skipping(where).files.column("kept")
    except RequestError:
        return files
    everything = snapshot.logical_files
    if files is everything:
        return files.filter(kept)
    return files.filter(pc.is_in(files.column("raw_path"), everything.column("raw_path").filter(kept).combine_chunks()))
