"""One Parquet file of a checkpoint, read by column.

Protocol sections: Checkpoints, V1 Spec, Sidecar Files. Invariants: every row group is read, whatever its statistics
say, since one wrong count there would lose files; a missing column reads as null (CKPT-010); where only
``stats_parsed`` exists, statistics are rebuilt from it (CKPT-019).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from typing import Any, Final, Literal

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.columns import int64s, mask, one_array, strings, validity
from explorer.core.errors import IncompleteCheckpoint
from explorer.core.logical_files import MAP, SCHEMA, StructStatistics, rows_among
from explorer.core.record_counts import counts_of_column
from explorer.core.uris import canonical_key

__all__ = ["CheckpointPart", "read_rows", "stated_struct", "texts_of"]

_MEMBERS: Final[dict[str, tuple[str, ...]]] = {
    "path": ("path",),
    "raw_path": ("path",),
    "partition_values": ("partitionValues",),
    "size": ("size",),
    "modification_time": ("modificationTime",),
    "data_change": ("dataChange",),
    "num_records": ("stats", "stats_parsed.numRecords"),
    "dv_unique_id": ("deletionVector",),
    "dv_storage_type": ("deletionVector",),
    "dv_cardinality": ("deletionVector",),
    "base_row_id": ("baseRowId",),
    "default_row_commit_version": ("defaultRowCommitVersion",),
    "tags": ("tags",),
    "dv_path_or_inline": ("deletionVector",),
    "dv_offset": ("deletionVector",),
    "dv_size_in_bytes": ("deletionVector",),
    "stats": ("stats", "stats_parsed"),
}
"""What of the ``add`` struct each column is made of."""

_OWN: Final = ("path", "raw_path")
# How much of the paths' text is searched at once, in bytes.
_SLICE: Final = 1 << 22

_BY_COLUMN: Final = ("minValues", "maxValues", "nullCount", "nullCounts")

_OF_VECTOR: Final = {
    "dv_storage_type": "storageType",
    "dv_cardinality": "cardinality",
    "dv_path_or_inline": "pathOrInlineDv",
    "dv_offset": "offset",
    "dv_size_in_bytes": "sizeInBytes",
}


class CheckpointPart:
    """The ``add`` rows, or else the ``remove`` rows, of one Parquet file.

    Args:
        file: The open file; the part keeps it.
        broken: Makes the error for a file that cannot be read.
        action: Which rows; columns of `explorer.core.logical_files.SCHEMA` are those of ``add``.

    Raises:
        IncompleteCheckpoint: The file is no Parquet.
    """

    def __init__(
        self,
        file: pa.NativeFile,
        broken: Callable[[str], IncompleteCheckpoint],
        action: Literal["add", "remove"] = "add",
    ) -> None:
        self._broken = broken
        self._action = action
        try:
            self._parquet = _parquet(file)
            self._members = _members(self._parquet.schema_arrow, action)
            # Only this column tells which rows are files, so it is read at once and kept.
            self._raw_paths = self._read(["path"]).get("path", pa.nulls(0, pa.string()))
            self._paths = _decoded(self._raw_paths)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise broken(str(error)) from error
        self._kept = validity(self._raw_paths)
        self._count = int(self._kept.sum())

    @property
    def num_rows(self) -> int:
        """How many files."""
        return self._count

    def find(self, keys: Collection[str]) -> list[tuple[int, str, str | None]]:
        """The files whose path is one of the keys: place, path, deletion-vector id."""
        rows = [row for row in rows_among(self._paths, keys).tolist() if self._kept[row]]
        places = int64s(rows)
        try:
            vectors = self._read(["deletionVector"]).get("deletionVector") if rows else None
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._broken(str(error)) from error
        ids = [None] * len(rows) if vectors is None else _unique_ids(vectors.take(places)).to_pylist()
        return list(zip(rows, self._paths.take(places).to_pylist(), ids, strict=True))

    def without(self, places: Sequence[int]) -> CheckpointPart:
        """The same files but those at some places that `find` gave."""
        part = copy(self)
        part._kept = self._kept.copy()
        part._kept[list(places)] = False
        part._count = int(part._kept.sum())
        return part

    def batches(self, length: int) -> Iterator[pa.StructArray]:
        """Read the rows as they are, whole, up to so many at a time.

        Raises:
            IncompleteCheckpoint: A page is broken.
        """
        if not self._count:
            return
        start = 0
        try:
            for batch in self._parquet.iter_batches(length, columns=[self._action]):
                kept = self._kept[start : start + batch.num_rows]
                start += batch.num_rows
                if kept.any():
                    yield batch.column(0) if kept.all() else batch.column(0).filter(mask(kept))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._broken(str(error)) from error

    def stated_members(self) -> dict[str, pa.DataType]:
        """Members that are not null throughout, by what the file's own counts say, with their types."""
        place = self._parquet.schema_arrow.get_field_index(self._action)
        fields = [] if place < 0 else list(self._parquet.schema_arrow.field(place).type)
        stated = _not_null_throughout(self._parquet.metadata)
        heads = {field.name: f"{self._action}.{field.name}" for field in fields}
        return {
            field.name: field.type
            for field in fields
            if any(path == heads[field.name] or path.startswith(heads[field.name] + ".") for path in stated)
        }

    def columns(self, names: Sequence[str]) -> list[pa.Array]:
        """Read columns of `explorer.core.logical_files.SCHEMA`.

        Raises:
            IncompleteCheckpoint: A page is broken, or a column has a type that no action has.
        """
        keep = None if self._count == len(self._kept) else mask(self._kept)
        wanted = {member for name in names for member in _MEMBERS[name]} - {"path"}
        if "stats" in wanted and "stats" not in names and "stats_parsed.numRecords" in self._members:
            wanted -= {"stats"}
        try:
            values = self._read(sorted(wanted)) | {"path": self._paths, "raw_path": self._raw_paths}
            if keep is not None:
                used = {name: value for name, value in values.items() if name not in _OWN or name in names}
                values = {name: value.filter(keep) for name, value in used.items()}
            return [self._column(name, values) for name in names]
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._broken(str(error)) from error

    def struct_statistics(self, paths: Sequence[tuple[str, ...]]) -> StructStatistics | None:
        """Read of ``stats_parsed`` the columns at these physical paths, and of ``stats`` what it lacks.

        Raises:
            IncompleteCheckpoint: A page is broken.
        """
        if "stats_parsed.numRecords" not in self._members:
            return None
        names = [f"{member}.{'.'.join(path)}" for path in paths for member in _BY_COLUMN]
        wanted = [f"add.stats_parsed.{name}" for name in ("numRecords", "tightBounds", *names)]
        keep = None if self._count == len(self._kept) else mask(self._kept)
        try:
            add = _single(self._parquet.read(columns=wanted).column("add"))
            parsed = stated_struct(add.flatten()[add.type.get_field_index("stats_parsed")])
            parsed = parsed if keep is None else parsed.filter(keep)
            texts = self._read(["stats"]).get("stats") if parsed.null_count else None
            if texts is not None:
                texts = (texts if keep is None else texts.filter(keep)).cast(pa.string())
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._broken(str(error)) from error
        return StructStatistics(parsed, texts)

    def _column(self, name: str, values: dict[str, Any]) -> pa.Array:
        match name:
            case "path" | "raw_path":
                return values[name]
            case "num_records":
                return self._counts(values)
            case "stats":
                return self._stats(values)
            case "dv_unique_id":
                vectors = self._vectors(values)
                return pa.nulls(self.num_rows, pa.string()) if vectors is None else _unique_ids(vectors)
            case "data_change":
                flags = self._plain("dataChange", pa.bool_(), values)
                return flags.fill_null(True) if flags.null_count else flags
            case "partition_values" | "tags":
                return self._plain(_MEMBERS[name][0], MAP, values)
            case _ if name in _OF_VECTOR:
                kind, vectors = SCHEMA.field(name).type, self._vectors(values)
                return pa.nulls(self.num_rows, kind) if vectors is None else _member(vectors, _OF_VECTOR[name], kind)
            case _:
                return self._plain(_MEMBERS[name][0], SCHEMA.field(name).type, values)

    def _plain(self, member: str, kind: pa.DataType, values: dict[str, Any]) -> pa.Array:
        if member not in values:
            return pa.nulls(self.num_rows, kind)
        return values[member] if values[member].type.equals(kind) else values[member].cast(kind)

    def _vectors(self, values: dict[str, Any]) -> pa.StructArray | None:
        vectors = values.get("deletionVector")
        return None if vectors is None or vectors.null_count == len(vectors) else vectors

    def _counts(self, values: dict[str, Any]) -> pa.Array:
        """Counts of ``stats_parsed``, and of ``stats`` where these are null."""
        parsed = values.get("stats_parsed")
        if parsed is None:
            return counts_of_column(self._plain("stats", pa.string(), values))
        counts = _member(parsed, "numRecords", pa.int64())
        if counts.null_count and "stats" in self._members:
            text = values.get("stats")
            if text is None:
                text = self._read(["stats"])["stats"]
                text = text if self._count == len(self._kept) else text.filter(mask(self._kept))
            return _or_else(counts, counts_of_column(text.cast(pa.string())))
        return counts

    def _stats(self, values: dict[str, Any]) -> pa.Array:
        text = self._plain("stats", pa.string(), values)
        return texts_of(text, values.get("stats_parsed"))

    def _read(self, members: Sequence[str]) -> dict[str, Any]:
        """Members of the action that the file has, as arrays with the action's nulls applied."""
        present = [member for member in members if member in self._members]
        if "stats_parsed" in present:
            present = [member for member in present if member != "stats_parsed.numRecords"]
        if not present:
            return {}
        columns = [f"{self._action}.{member}" for member in present]
        add = _single(self._parquet.read(columns=columns).column(self._action))
        names = [field.name for field in add.type]
        return dict(zip(names, add.flatten(), strict=True))


def read_rows(file: pa.NativeFile, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read small actions as objects.

    Raises:
        pa.ArrowException, OSError, ValueError: The file cannot be read.
    """
    parquet = _parquet(file)
    present = [name for name in names if parquet.schema_arrow.get_field_index(name) >= 0]
    table = parquet.read(columns=present)
    return {name: table.column(name).drop_null().to_pylist(maps_as_pydicts="strict") for name in present}


def _parquet(file: pa.NativeFile) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(file, coerce_int96_timestamp_unit="us")


def stated_struct(parsed: pa.StructArray) -> pa.StructArray:
    """The column ``stats_parsed``, null too where it says nothing at all, which is how some writers spell null."""
    import pyarrow.compute as pc

    counts = _member(parsed, "numRecords", pa.int64())
    return parsed if not counts.null_count else pc.if_else(counts.is_valid(), parsed, pa.nulls(1, parsed.type)[0])


def texts_of(texts: pa.StringArray, parsed: pa.StructArray | None) -> pa.StringArray:
    """Statistics as texts, rebuilt from ``stats_parsed`` where there is none (CKPT-019)."""
    import pyarrow.compute as pc

    if parsed is None or not texts.null_count:
        return texts
    rebuilt = pc.and_(texts.is_null(), parsed.is_valid())
    values = strings([_as_json(value) for value in parsed.filter(rebuilt).to_pylist()])
    return pc.replace_with_mask(texts, rebuilt, values) if len(values) else texts


def _members(schema: pa.Schema, action: str) -> set[str]:
    """Members of the action, and with a dot the members of ``stats_parsed``."""
    place = schema.get_field_index(action)
    if place < 0:
        return set()
    kind = schema.field(place).type
    nested = kind.field("stats_parsed").type if kind.get_field_index("stats_parsed") >= 0 else ()
    return {field.name for field in kind} | {f"stats_parsed.{field.name}" for field in nested}


def _not_null_throughout(metadata: Any) -> set[str]:
    """Dotted paths of the columns in which a value may be; one without counts may have some."""
    found = set()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            counts = column.statistics
            if counts is None or not counts.has_null_count or counts.null_count < column.num_values:
                found.add(column.path_in_schema)
    return found


def _single(column: pa.ChunkedArray) -> pa.StructArray:
    return one_array(column.chunks, column.type)


def _member(struct: pa.StructArray, name: str, kind: pa.DataType) -> Any:
    """A member of a struct column with the struct's nulls applied."""
    if struct.type.get_field_index(name) < 0:
        return pa.nulls(len(struct), kind)
    values = struct.flatten()[struct.type.get_field_index(name)]
    return values if values.type.equals(kind) else values.cast(kind)


def _or_else(first: pa.Array, second: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.coalesce(first, second)


def _decoded(paths: pa.StringArray) -> pa.StringArray:
    """Decode a column of paths; where nothing needs it the column itself."""
    if not len(paths) or not _any_special(paths):
        return paths
    return strings([None if path is None else canonical_key(path) for path in paths.to_pylist()])


def _any_special(paths: pa.StringArray) -> bool:
    """Whether any path holds an escape or a scheme, or begins with a slash, by a search of the raw bytes."""
    offsets = np.frombuffer(paths.buffers()[1], np.int32)[paths.offset : paths.offset + len(paths) + 1]
    if offsets[0] == offsets[-1]:
        return False
    data = memoryview(paths.buffers()[2])
    starts = offsets[:-1][offsets[:-1] < offsets[1:]]
    if (np.frombuffer(data, np.uint8)[starts] == ord("/")).any():
        return True
    slices = (bytes(data[start : start + _SLICE]) for start in range(int(offsets[0]), int(offsets[-1]), _SLICE))
    return any(b"%" in part or b":" in part for part in slices)


def _unique_ids(vectors: pa.StructArray) -> pa.Array:
    kinds, places, offsets = (
        _member(vectors, name, kind).to_pylist()
        for name, kind in (("storageType", pa.string()), ("pathOrInlineDv", pa.string()), ("offset", pa.int32()))
    )
    rows = zip(kinds, places, offsets, strict=True)
    return strings([None if k is None else f"{k}{p}" if o is None else f"{k}{p}@{o}" for k, p, o in rows])


_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def _as_json(parsed: dict[str, Any] | None) -> str | None:
    """Statistics of a struct as JSON; both spellings of the null counter are read (D-09)."""
    kept: dict[str, Any] = _prune(parsed or {})
    if "nullCounts" in kept:
        kept.setdefault("nullCount", kept.pop("nullCounts"))
    return _ENCODER.encode(kept).decode() if kept else None


def _prune(value: Any) -> Any:
    """Drop nulls at every depth and spell typed values as statistics in JSON do."""
    match value:
        case dict():
            return {name: _prune(item) for name, item in value.items() if item is not None}
        case bytes():
            return value.decode("latin-1")
        case _:
            return value
