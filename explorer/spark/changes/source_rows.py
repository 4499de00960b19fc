"""Rows of files that were added, removed, or got another deletion vector: one read of all files, whatever their parts.

Protocol sections: Deletion Vectors, Add CDC File. Each part of a file (the rows outside a mask, or those inside it)
is one row of what is joined to its rows. Invariants: a file is read once, however many parts it plays; rows outside
those parts are never given (CDF-008, CDF-009); a file that is missing, or of another size than the log says, is
an error that names it and the version concerned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from explorer.changed_rows.parts import source_parts
from explorer.core.errors import CorruptTable, ExplorerError, StorageError
from explorer.spark.engine.failures import failure_of
from explorer.spark.engine.file_addresses import FileAddress, check_present
from explorer.spark.scan.layout import Layout
from explorer.spark.scan.masks import MaskWords, is_masked, mask_column, mask_words
from explorer.spark.scan.plan import MASK, PATH, ROW, addresses_of, file_facts, file_rows, session_of

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

_INSIDE = PATH + "_inside"


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some rows of one file.

    Attributes:
        source: Its row among the sources.
        change: ``insert`` or ``delete``; None where the file itself says.
        mask: Bit set of row indexes, as in `explorer.spark.scan.masks`; None has no row.
        inside: True for the rows in the mask, False for those outside.
    """

    source: int
    change: Literal["insert", "delete"] | None
    mask: MaskWords | None
    inside: bool


@dataclass(frozen=True, slots=True)
class SourceRows:
    """Rows of some sources, planned and not run.

    Attributes:
        frame: The rows: columns and marks of the layout.
        addresses: The files that are read, each once.
        versions: For each path as in the log, the first version that needs the file.
    """

    frame: DataFrame
    addresses: tuple[FileAddress, ...]
    versions: dict[str, int]

    def failure(self, error: Exception) -> ExplorerError:
        """Return the typed error for an exception out of Spark, naming the file and the version concerned."""
        typed = failure_of(error, self.addresses)
        match typed:
            case StorageError(path=str(path)) | CorruptTable(path=str(path)) if path in self.versions:
                return failure_of(error, self.addresses, self.versions[path])
            case _:
                return typed


def failure_of_reads(reads: Sequence[SourceRows], error: Exception) -> ExplorerError:
    """Return the typed error for an exception out of several reads: one that names a version, if any does."""
    failures = [read.failure(error) for read in reads]
    return next((typed for typed in failures if typed.facts().get("version") is not None), failures[0])


def file_parts(log: DeltaLog, files: pa.Table) -> list[FilePart]:
    """Return the parts that the files of sources play; reads deletion vectors.

    Args:
        files: Sources, columns as in `explorer.core.versions.change_feed.feed.ChangeSources`.

    Raises:
        CorruptDeletionVector: A vector does not match its descriptor; it names the file and the version.
    """
    return [
        FilePart(part.source, part.change, mask_words(part.places) if len(part.places) else None, inside=part.inside)
        for part in source_parts(log, files)
    ]


def source_rows(log: DeltaLog, layout: Layout, files: pa.Table, parts: list[FilePart]) -> SourceRows:
    """Plan the reading of parts of files.

    Args:
        layout: How to read the files; its marks receive what is known of each part: the columns of ``files`` and
            ``change``.
        files: Sources.
        parts: Their parts that are wanted.

    Raises:
        StorageError: A file is missing.
        CorruptTable: A file's size or a partition value contradicts the log.
        UnsupportedFeature: A type or location that Spark cannot read right.
    """
    chosen = files.take(pa.array([part.source for part in parts], pa.int64()))
    chosen = chosen.append_column("change", pa.array([part.change for part in parts], pa.string()))
    addresses = addresses_of(log, chosen)
    _check_present(chosen, addresses)
    session = session_of(layout)
    masks = _mask_columns(parts)
    is_wanted = is_masked(sf.col(MASK), sf.col(ROW)) == sf.col(_INSIDE) if masks else sf.lit(True)
    # Whole files with nothing to add to their rows need no join.
    plain = not masks and not layout.partitions and layout.marks is None
    facts = None if plain else file_facts(layout, chosen, addresses, masks, is_wanted)
    distinct = tuple({address.metadata_path: address for address in addresses}.values())
    return SourceRows(file_rows(session, layout, distinct, facts), distinct, _first_versions(chosen))


def _mask_columns(parts: list[FilePart]) -> dict[str, pa.Array]:
    """Return the masks of parts, and whether their rows are inside; nothing if all parts are whole files."""
    if all(part.mask is None for part in parts):
        return {}
    return {MASK: mask_column([part.mask for part in parts]), _INSIDE: pa.array([part.inside for part in parts])}


def _first_versions(files: pa.Table) -> dict[str, int]:
    """Return the first version that needs each file, by path as in the log."""
    first_versions: dict[str, int] = {}
    for raw_path, version in zip(
        files.column("raw_path").to_pylist(), files.column("version").to_pylist(), strict=True
    ):
        first_versions[raw_path] = min(version, first_versions.get(raw_path, version))
    return first_versions


def _check_present(files: pa.Table, addresses: list[FileAddress]) -> None:
    """Check each file once, for the first version that needs it."""
    sizes, versions = files.column("size").to_pylist(), files.column("version").to_pylist()
    seen: set[str] = set()
    for place in sorted(range(len(addresses)), key=versions.__getitem__):
        if addresses[place].metadata_path not in seen:
            seen.add(addresses[place].metadata_path)
            check_present([addresses[place]], [sizes[place]], versions[place])
