"""Which files under a table's root nothing needs any more, so that VACUUM may delete them.

Protocol sections: VACUUM, Action Reconciliation (tombstones), Deletion Vectors. Invariants: a file goes only if nothing
live names it, no tombstone within the retention does, and it is itself older than that (VACUUM-001); a file of deletion
vectors stays while one vector in it is needed (VACUUM-002); hidden names stay, change files, folders of partition
columns and Hadoop's checksums of deleted files excepted (VACUUM-003). In doubt a file stays: every spelling of a needed
path counts, an absolute one keeps all files of its name, and files in the folder of another table belong to that
table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.log.checkpoint.file_columns import decoded_paths
from explorer.core.log.commit import Commit
from explorer.core.log.writing.writer_state import CarriedActions
from explorer.core.protocol.actions import DeletionVectorId
from explorer.core.protocol.arrow.arrays import Mask, flags, int64s, mask, numbers, strings, validity
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_paths import canonical_key, decode_path
from explorer.core.protocol.raw_actions import AddLine, RemoveLine
from explorer.core.versions.lifetimes.lifetimes import NEVER, Lifetimes
from explorer.core.versions.retention.expiry import is_hidden

__all__ = ["NeededFiles", "UnusedFiles", "needed_files", "unused_files"]


_CHUNK: Final = 1 << 16
_COLUMNS: Final = ("path", "raw_path", "dv_storage_type", "dv_path_or_inline")
_ODD: Final = r"^/|:|//|(^|/)\.\.?(/|$)"
"""Paths that may name a file of the table without being its key: absolute, or with empty or dot parts."""
_HIDDEN: Final = r"(^|/)[_.]"
_OTHER_LOG: Final = "/_delta_log/"


class NeededFiles:
    """The files that something names, in columns, so that there may be many."""

    def __init__(self) -> None:
        self._live: list[pa.StringArray] = []
        self._keys: list[pa.StringArray] = []
        self._names: list[pa.StringArray] = []

    def add(self, places: pa.StringArray) -> None:
        """Add decoded locations."""
        import pyarrow.compute as pc

        self._keys.append(places)
        odd = places.filter(pc.match_substring_regex(places, _ODD))
        if len(odd):
            self._names.append(_names(odd))

    def add_vectors(self, kinds: pa.StringArray, places: pa.StringArray) -> None:
        """Add the files of deletion vectors: storage type and pathOrInlineDv, null where there is none.

        Raises:
            CorruptDeletionVector: A vector does not say where it is.
            UnsupportedFeature: A storage type is not known.
        """
        kept = mask(validity(kinds))
        pairs = set(zip(kinds.filter(kept).to_pylist(), places.filter(kept).to_pylist(), strict=True))
        found = (location(DeletionVectorId(kind, place)) for kind, place in pairs)
        self.add(strings([place for place in found if place is not None]))

    def add_lines(self, lines: Iterable[AddLine | RemoveLine]) -> None:
        """Add what file actions of commits name."""
        found = list(lines)
        vectors = [line.deletion_vector for line in found if line.deletion_vector is not None]
        self.add(strings([canonical_key(line.path) for line in found]))
        self.add(strings([line.path for line in found]))
        kinds, places = [each.storage_type for each in vectors], [each.path_or_inline_dv for each in vectors]
        self.add_vectors(strings(kinds), strings(places))

    def add_columns(self, files: pa.Table, *, live: bool = False) -> None:
        """Add what logical files name (columns of `explorer.core.protocol.logical_files.SCHEMA`)."""
        paths, raw_paths, kinds, places = (files.column(name) for name in _COLUMNS)
        self._live += paths.chunks if live else []
        for column in (paths, raw_paths):
            for chunk in column.chunks:
                self.add(chunk)
        for kind, place in zip(kinds.chunks, places.chunks, strict=True):
            self.add_vectors(kind, place)

    def unlisted(self, keys: pa.StringArray) -> tuple[int, list[str]]:
        """How many live data files are under the root, and which of them are not in the store."""
        import pyarrow.compute as pc

        inside = [places.filter(pc.invert(pc.match_substring_regex(places, _ODD))) for places in self._live]
        lacking = [places.filter(pc.invert(pc.is_in(places, value_set=keys))).to_pylist() for places in inside]
        return sum(map(len, inside)), [place for places in lacking for place in places]

    def holds(self, keys: pa.StringArray) -> Mask:
        """The keys under the root that something may name."""
        import pyarrow.compute as pc

        found = np.zeros(len(keys), bool)
        for wanted in self._keys:
            found |= flags(pc.is_in(keys, value_set=wanted))
        names = _names(keys) if self._names else None
        for wanted in self._names:
            found |= flags(pc.is_in(names, value_set=wanted))
        return found


class UnusedFiles(msgspec.Struct, frozen=True):
    """What may go.

    Attributes:
        files: path, size (bytes), modified (ms since the epoch), by path.
        other_tables: Folders under the root that are tables of their own; nothing in them is checked.
    """

    files: pa.Table
    other_tables: tuple[str, ...] = ()


def needed_files(carried: CarriedActions, life: Lifetimes, recent: Iterable[Commit], cutoff: int) -> NeededFiles:
    """Gather the files that are live, or were live at the cut-off or later.

    Args:
        carried: The newest version with its tombstones.
        life: All recorded instances: a checkpoint drops the tombstones that the table's own retention lets expire.
        recent: Commits made since the cut-off, for their change files.
        cutoff: ms since the epoch; a tombstone of that time or later counts.

    Raises:
        TableError: The log is broken.
        UnsupportedFeature: A deletion vector is stored in a way that is not known.
    """
    needed = NeededFiles()
    needed.add_columns(carried.files.select(_COLUMNS), live=True)
    young = np.flatnonzero((life.removed != NEVER) & (life.deletion_times >= cutoff))
    needed.add_columns(life.take(young, _COLUMNS))
    for chunk in carried.removes(_CHUNK):
        if isinstance(chunk, list):
            needed.add_lines(line for line in chunk if (line.deletion_timestamp or 0) >= cutoff)
        else:
            _add_tombstones(needed, chunk, cutoff)
    needed.add(strings([decode_path(file.path) for commit in recent for file in commit.change_files()]))
    return needed


def unused_files(
    listing: pa.Table, needed: NeededFiles, cutoff: int, partition_columns: Sequence[str] = (), *, iceberg: bool = False
) -> UnusedFiles:
    """Find the files that may go.

    Args:
        listing: What is stored (`explorer.core.protocol.log_store.LogStore.list_files`).
        needed: The files that something names.
        cutoff: ms since the epoch; only older files go.
        partition_columns: Logical and physical names of the partition columns: folders may have either.
        iceberg: Folders ``metadata`` belong to Iceberg, whose metadata the table keeps beside its own log.
    """
    import pyarrow.compute as pc

    paths = one_column(listing, "path")
    others = _other_tables(paths)
    times, _ = numbers(one_column(listing, "modified"))
    old = listing.filter(mask(times < cutoff))
    keys = one_column(old, "path")
    named = needed.holds(keys)
    kept = named | _hidden(keys, partition_columns)
    for folder in others:
        kept |= flags(pc.starts_with(keys, f"{folder}/"))
    if iceberg:
        kept |= flags(pc.match_substring_regex(keys, "(^|/)metadata/"))
    found = old.filter(mask(~kept | (_shadows(keys, keys.filter(mask(~kept))) & ~named)))
    return UnusedFiles(found.take(pc.sort_indices(one_column(found, "path"))), others)


def one_column(table: pa.Table, name: str) -> Any:
    """A column in one piece."""
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _names(places: pa.StringArray) -> pa.StringArray:
    """The last part of each location."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(places, "(?s)^.*/", "")


def _add_tombstones(needed: NeededFiles, chunk: pa.StructArray, cutoff: int) -> None:
    """Add the recent tombstones of a checkpoint."""
    members = dict(zip([field.name for field in chunk.type], chunk.flatten(), strict=True))
    if "deletionTimestamp" not in members:
        return
    times, _ = numbers(members["deletionTimestamp"].cast(pa.int64()))
    young = mask(times >= cutoff)
    raw_paths = members["path"].filter(young).cast(pa.string())
    needed.add(decoded_paths(raw_paths))
    needed.add(raw_paths)
    vectors = members.get("deletionVector")
    if vectors is not None and pa.types.is_struct(vectors.type):
        parts = dict(zip([field.name for field in vectors.type], vectors.filter(young).flatten(), strict=True))
        needed.add_vectors(*(parts[name].cast(pa.string()) for name in ("storageType", "pathOrInlineDv")))


def _hidden(keys: pa.StringArray, partition_columns: Sequence[str]) -> Mask:
    import pyarrow.compute as pc

    found: Mask = flags(pc.match_substring_regex(keys, _HIDDEN))
    rows = np.flatnonzero(found)
    names = keys.take(int64s(rows.tolist())).to_pylist()
    found[rows] = [is_hidden(name, partition_columns) for name in names]
    return found


def _shadows(keys: pa.StringArray, gone: pa.StringArray) -> Mask:
    """The checksums ``.NAME.crc`` that Hadoop keeps on a local disk beside deleted files: nothing else uses them."""
    import pyarrow.compute as pc

    shadows = pc.replace_substring_regex(gone, r"([^/]+)\z", r".\1.crc")
    found: Mask = flags(pc.is_in(keys, value_set=shadows))
    return found


def _other_tables(keys: pa.StringArray) -> tuple[str, ...]:
    """Folders below the root that have a log of their own; those inside hidden ones go with these."""
    import pyarrow.compute as pc

    logs = keys.filter(pc.match_substring(keys, _OTHER_LOG)).to_pylist()
    return tuple(sorted({key.partition(_OTHER_LOG)[0] for key in logs}))
