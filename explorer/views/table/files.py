"""The live files of a version as lists: all of them, and those with masked rows; and one file in detail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.protocol.times import from_milliseconds
from explorer.core.versions.snapshot import Snapshot
from explorer.credentials import safe_path
from explorer.views.listing import Listing, ListingColumn, partition_words
from explorer.views.table.facts import TableFacts

_FILES = (
    ListingColumn("path", "path", "path"),
    ListingColumn("partition", "partition", "text"),
    ListingColumn("num_records", "rows", "rows", "unknown"),
    ListingColumn("size", "size", "size"),
    ListingColumn("dv_cardinality", "masked", "masked"),
    ListingColumn("modified", "modified", "time"),
)
_MASKED = (
    ListingColumn("path", "file", "path"),
    ListingColumn("num_records", "rows", "rows", "unknown"),
    ListingColumn("cardinality", "masked", "masked"),
    ListingColumn("share", "share", "share", "unknown"),
    ListingColumn("since", "since", "version", "unknown"),
    ListingColumn("dead", "bytes of masked rows", "size", "unknown"),
    ListingColumn("stored", "stored as", "mono"),
    ListingColumn("size_in_bytes", "vector", "size"),
)
_RANGES = (
    ListingColumn("path", "file", "path"),
    ListingColumn("min", "minimum", "text"),
    ListingColumn("max", "maximum", "text"),
    ListingColumn("null_count", "nulls", "number", "unknown"),
    ListingColumn("num_records", "rows", "rows", "unknown"),
    ListingColumn("tight", "bounds", "text", "unknown"),
)
_STORAGE = {"u": "separate file", "p": "absolute path", "i": "inline in the log"}


def files_listing(facts: TableFacts, version: int) -> Listing:
    """Return the live files of a version as a list."""
    return facts.keep(("files", version), lambda: _files(facts, version))


def masked_listing(facts: TableFacts, version: int) -> Listing:
    """Return the files with deletion vectors, the largest share of masked rows first."""
    return facts.keep(("masked", version), lambda: _masked(facts, version))


def file_facts(facts: TableFacts, version: int, name: str) -> tuple[tuple[str, str], ...] | None:
    """Return the facts of a live file in the log as names and texts, or None if the version has no such file."""
    snapshot = facts.snapshot(version)
    path = facts.file_names(version).path(name)
    files, names = snapshot.files(), {key: name for name, key in partition_keys(snapshot)}
    matches = files.filter(pc.equal(files.column("path"), path))
    if not matches.num_rows:
        return None
    row = matches.slice(0, 1).to_pylist()[0]
    values = [(names.get(key, key), value) for key, value in row["partition_values"] or ()]
    partition = ", ".join(f"{name}={'null' if value is None else value}" for name, value in values)
    masked, contested = row["dv_cardinality"], snapshot.contested
    entries = [
        ("error", contested.message if contested is not None and path in contested.paths else ""),
        ("path", safe_path(path)),
        ("in the log as", safe_path(row["raw_path"]) if row["raw_path"] != path else ""),
        ("partition", partition),
        ("rows", "unknown" if row["num_records"] is None else fmt.count(row["num_records"])),
        ("masked", f"{fmt.count(masked)} ({fmt.percent(masked, row['num_records'])})" if masked else ""),
        ("size", f"{fmt.size(row['size'])} ({fmt.count(row['size'])} bytes)"),
        ("modified", fmt.moment(_time(row["modification_time"]))),
        ("deletion vector", _STORAGE.get(row["dv_storage_type"] or "", "")),
        ("first row id", "" if row["base_row_id"] is None else fmt.count(row["base_row_id"])),
        ("row commit", "" if row["default_row_commit_version"] is None else f"v{row['default_row_commit_version']}"),
        *((f"tag {key}", value) for key, value in row["tags"] or ()),
    ]
    return tuple((name, fmt.plain(text)) for name, text in entries if text)


def partition_keys(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    """Return the partition columns in order: the name, and the key that the log has for it."""
    keys = {column.path[0]: column.physical[0] for column in snapshot.statistics_columns if column.partition}
    return tuple((name, keys.get(name, name)) for name in snapshot.partition_columns)


def ranges_listing(facts: TableFacts, version: int, column: str) -> Listing:
    """Return the bounds of a column by file, as a list; files without bounds come last."""
    return facts.keep(("ranges-list", version, column), lambda: _ranges(facts, version, column))


def row_strip(
    rows: npt.NDArray[np.uint64], num_records: int | None, bins: int = 320
) -> tuple[tuple[float, float, float], ...]:
    """Return where masked rows are in a file: left and width as shares of the file, and the share masked there.

    Args:
        rows: Masked row indexes, sorted.
        num_records: Physical rows of the file; the last masked row replaces it where it is unknown.
        bins: The largest number of pieces.
    """
    if not len(rows):
        return ()
    total = num_records or int(rows[-1]) + 1
    pieces = min(bins, total)
    place = np.asarray(rows, dtype=np.float64) * pieces / total
    counts = np.bincount(np.minimum(place.astype(np.int64), pieces - 1), minlength=pieces)
    full = total / pieces
    return tuple((float(i) / pieces, 1.0 / pieces, min(1.0, float(counts[i]) / full)) for i in np.flatnonzero(counts))


def _files(facts: TableFacts, version: int) -> Listing:
    snapshot = facts.snapshot(version)
    files = snapshot.files(["path", "partition_values", "num_records", "size", "dv_cardinality", "modification_time"])
    table = pa.table(
        {
            "path": files.column("path"),
            "partition": partition_words(files.column("partition_values"), partition_keys(snapshot)),
            "num_records": files.column("num_records"),
            "size": files.column("size"),
            "dv_cardinality": files.column("dv_cardinality"),
            "modified": files.column("modification_time").cast(pa.timestamp("ms", "UTC")),
        }
    )
    dropped = {"partition"} if not snapshot.partition_columns else set()
    if files.column("dv_cardinality").null_count == files.num_rows:
        dropped.add("dv_cardinality")
    columns = tuple(column for column in _FILES if column.key not in dropped)
    if snapshot.partition_columns:
        # The partition has a column of its own, and the folders mostly repeat it.
        columns = (replace(columns[0], kind="name"), *columns[1:])
    return Listing(
        f"{facts.name}-v{version}-files", columns, facts.file_names(version).named(table), ("path", "partition")
    )


def _masked(facts: TableFacts, version: int) -> Listing:
    vectors = facts.snapshot(version).deletion_vectors()
    records = pc.cast(vectors.column("num_records"), pa.float64())
    share = pc.divide(
        pc.cast(vectors.column("cardinality"), pa.float64()), pc.if_else(pc.equal(records, 0), None, records)
    )
    stored = [_stored(row) for row in vectors.select(["storage_type", "file", "offset"]).to_pylist()]
    table = vectors.append_column("share", share).append_column("stored", pa.array(stored, pa.string()))
    files = facts.snapshot(version).files()
    size = pc.cast(files.column("size").take(pc.index_in(vectors.column("path"), files.column("path"))), pa.float64())
    table = table.append_column("dead", pc.cast(pc.round(pc.multiply(size, share)), pa.int64()))
    table = table.append_column("since", _masked_since(facts, version, vectors.column("path")))
    order = pc.sort_indices(table, sort_keys=[("share", "descending"), ("cardinality", "descending")])
    named = facts.file_names(version).named(table.take(order))
    return Listing(f"{facts.name}-v{version}-deletion-vectors", _MASKED, named, ("path",), page_size=12)


def _masked_since(facts: TableFacts, version: int, paths: pa.ChunkedArray) -> pa.Array:
    """Return the version since which some rows of each file are masked; null where the log no longer says."""
    unknown = pa.nulls(len(paths), pa.int64())
    if not len(facts.commits) or not facts.commits.has(version):
        return unknown
    life = facts.log.history_record().lifetimes
    rows = np.flatnonzero(life.live(version) & (life.masked > 0))
    since, current = life.added[rows].astype(np.int64), rows
    while True:
        before = life.previous[current]
        goes_on = (before >= 0) & (life.masked[before] > 0)
        if not goes_on.any():
            break
        current = np.where(goes_on, before, current)
        since = np.where(goes_on, life.added[current], since)
    versions = pa.array(since, mask=since < life.first)
    return versions.take(pc.index_in(paths, life.take(rows, ["path"]).column("path")))


def _ranges(facts: TableFacts, version: int, column: str) -> Listing:
    bounds = facts.file_names(version).named(facts.snapshot(version).column_ranges(column))
    order = pc.sort_indices(bounds, sort_keys=[("min", "ascending")]) if _sortable(bounds) else None
    bounds = bounds if order is None else bounds.take(order)
    tight = pc.if_else(bounds.column("tight"), "tight", "wide")
    table = bounds.set_column(bounds.schema.get_field_index("tight"), "tight", tight)
    figures = not pa.types.is_string(table.schema.field("min").type)
    columns = tuple(replace(c, kind="amount") if figures and c.key in {"min", "max"} else c for c in _RANGES)
    return Listing(f"{facts.name}-v{version}-ranges", columns, table, ("path",), page_size=25)


def _sortable(bounds: pa.Table) -> bool:
    kind = bounds.schema.field("min").type
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind))


def _stored(row: Mapping[str, Any]) -> str:
    if row["file"] is None:
        return "inline in the log"
    offset = "" if row["offset"] is None else f" @{row['offset']}"
    return f"{fmt.shorten(safe_path(row['file']), 34)}{offset}"


def _time(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else from_milliseconds(milliseconds)
