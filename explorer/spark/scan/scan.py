"""Rows of a snapshot, as a lazy Spark DataFrame or as Arrow.

This module loads PySpark only inside its calls, so that a missing package is a typed error like a missing Java.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.spark.engine.session import require_pyspark

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.spark.scan.results import Scan


def rows(log: DeltaLog, snapshot: Snapshot, where: str | None = None, row_identity: bool = False) -> DataFrame:
    """Return all live rows of a snapshot; lazy.

    Args:
        where: A boolean SQL expression over the logical columns, and those of row identity on request; only
            rows for which it is TRUE are given.
        row_identity: Add ``_file`` (the file's path in the log, decoded), ``_row_index`` (the row's place in the file,
            from 0, masked rows counted), ``_row_id`` and ``_row_commit_version`` (null where row tracking is not
            enabled or gives none).

    Raises:
        StorageError: A data file is missing.
        CorruptTable: A data file's size, a partition value or a deletion vector contradicts the log, or row tracking
            does not say where the requested IDs are stored.
        UnsupportedFeature: A type or location that Spark cannot read right.
        RequestError: ``where`` is not one boolean expression over the columns, or calls a refused function; or the
            table has a column of a name that ``row_identity`` adds.
        EngineUnavailable: Spark or Java is missing.
    """
    return scan(log, snapshot, where=where, row_identity=row_identity).frame


def scan(
    log: DeltaLog,
    snapshot: Snapshot,
    files: pa.Table | None = None,
    where: str | None = None,
    *,
    row_identity: bool = False,
    hidden: Mapping[str, npt.NDArray[np.uint64]] | None = None,
    needed: bool = False,
    unpadded: bool = False,
    doubted: Collection[str] = (),
) -> Scan:
    """Plan a scan of a snapshot's live rows, or of those in some of its files; errors as `rows`.

    Args:
        files: Rows of ``snapshot.logical_files``; None for all.
        where, row_identity: As in `rows`.
        hidden: Rows to leave out, besides the masked ones: their places, ascending, by the file's path in the log.
        needed: The files are those, or some of those, of `files_to_read`, which chose them and checked that they exist.
        unpadded: Give CHAR values as the files hold them, for rows that move to other files; ``where`` still compares
            them as engines do.
        doubted: Decoded paths of files to read although their statistics exclude them.
    """
    require_pyspark()
    from explorer.spark.scan.plan import plan

    chosen = snapshot.logical_files if files is None else files
    return plan(
        log,
        snapshot,
        chosen,
        where,
        identified=row_identity,
        hidden=hidden or {},
        needed=needed,
        unpadded=unpadded,
        doubted=doubted,
    )


def files_to_read(log: DeltaLog, snapshot: Snapshot, where: str | None) -> pa.Table:
    """Return the live files that may hold a row for which a condition is TRUE, all present; errors as of `rows`."""
    require_pyspark()
    from explorer.spark.scan.plan import files_to_read

    return files_to_read(log, snapshot, where)
