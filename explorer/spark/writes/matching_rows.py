"""The rows that match a predicate: their places by file, and the files that mask such rows.

Protocol section: Deletion Vectors. Each result is one aggregate over a scan; rows come as bitmaps of 32,768 rows each,
so that it grows with the number of files and not with the length of their names. Invariants: indexes are places in the
data file, from 0, masked rows counted but never given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
from pyspark.sql import functions as sf

from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.logical_files import vector_descriptors
from explorer.spark.engine.deadline import limited
from explorer.spark.engine.failures import failure_of
from explorer.spark.engine.file_addresses import check_present
from explorer.spark.scan.compared import as_compared
from explorer.spark.scan.layout import layout_of
from explorer.spark.scan.masks import is_masked, mask_column, mask_words
from explorer.spark.scan.plan import MASK, ROW, addresses_of, file_facts, file_rows, session_of
from explorer.spark.scan.predicate import condition, vet
from explorer.spark.scan.results import Reading, to_arrow
from explorer.spark.scan.row_marks import place_marks
from explorer.spark.scan.scan import scan

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

_BITS: Final = 32_768


@limited(lambda _log, _snapshot, where, *_, **__: where)
def matching_rows(
    log: DeltaLog, snapshot: Snapshot, where: str, doubted: Collection[str] = ()
) -> dict[str, npt.NDArray[np.uint64]]:
    """Find the live rows for which a predicate is TRUE; see `RowEngine.matching_rows`."""
    matches = scan(log, snapshot, where=where, row_identity=True, doubted=doubted)
    # Spark counts the bits of a bitmap from 1.
    place = sf.col("_row_index") + 1
    frame = (
        matches.frame.select("_file", place.alias("place"))
        .groupBy("_file", sf.bitmap_bucket_number("place").alias("bucket"))
        .agg(sf.bitmap_construct_agg(sf.bitmap_bit_position("place")).alias("bits"))
    )
    rows = to_arrow(Reading(frame, matches.failure))
    columns = (rows.column(name).to_pylist() for name in ("_file", "bucket", "bits"))
    return rows_of_bitmaps(zip(*columns, strict=True))


def rows_of_bitmaps(bitmaps: Iterable[tuple[str, int, bytes]]) -> dict[str, npt.NDArray[np.uint64]]:
    """Return row indexes by path, ascending, each once.

    Args:
        bitmaps: Path, number of the bitmap from 1, and the bitmap: Spark's, of 32,768 rows each, counted from 1.
    """
    parts: dict[str, list[npt.NDArray[np.uint64]]] = {}
    for path, bucket, bits in bitmaps:
        places = np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")).astype(np.uint64)
        parts.setdefault(path, []).append(places + np.uint64((bucket - 1) * _BITS))
    return {path: np.unique(np.concatenate(several)) for path, several in parts.items()}


@limited(lambda _log, _snapshot, where: where)
def files_masking(log: DeltaLog, snapshot: Snapshot, where: str) -> frozenset[str]:
    """Find the live files that mask a row for which a predicate is TRUE; see `RowEngine.files_masking`."""
    vet(snapshot.schema, where, repeatable=False)
    files = snapshot.logical_files
    files = files.filter(pc.is_valid(files.column("dv_unique_id")))
    if not files.num_rows:
        return frozenset()
    layout = layout_of(snapshot)
    place = place_marks(layout.schema)
    file, row = place.given
    layout = layout.with_marks(place)
    session, version = session_of(layout), snapshot.version
    addresses = addresses_of(log, files)
    check_present(addresses, files.column("size").to_pylist(), version)
    paths = files.column("path").to_pylist()
    masks = [
        None if vector is None else mask_words(read_rows(log.store, vector, path, version))
        for vector, path in zip(vector_descriptors(files), paths, strict=True)
    ]
    facts = file_facts(layout, files, addresses, {MASK: mask_column(masks)}, is_masked(sf.col(MASK), sf.col(ROW)))
    rows = as_compared(file_rows(session, layout, addresses, facts), layout.schema)
    wanted = condition(session, rows.drop(file, row).schema, where)
    masking = rows.where(wanted).select(file).distinct()
    masking_files = to_arrow(Reading(masking, lambda error: failure_of(error, addresses, version, where)))
    return frozenset(paths[number] for number in masking_files.column(0).to_pylist())
