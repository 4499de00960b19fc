"""The physical limit of an operation on a table of the bench: its bytes read and decoded, and nothing else done.

Of a commit all members stay undecoded, but where totals of every version are asked for: these need the paths, sizes,
statistics and deletion vectors of its files.

It knows how these tables are laid out (classic checkpoints in one file, no column mapping) and checks nothing; texts of
statistics are read, but not parsed. What a reader needs beyond it is the cost of being right.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet

COLUMNS = {
    "open": ["protocol.minReaderVersion", "metaData.id", "txn.appId"],
    "list": ["add.path", "add.size", "add.modificationTime"],
    "statistics": ["add.path", "add.partitionValues", "add.stats"],
    "columns": ["add.path", "add.size", "add.modificationTime", "add.partitionValues", "add.stats"],
}
# Rows of a lone row group from which on several threads for its columns are worth their start.
_MANY = 1 << 15
_COMMIT = re.compile(r"\d{20}\.json\Z")
_CHECKPOINT = re.compile(r"\d{20}\.checkpoint\.parquet\Z")


class _Vector(msgspec.Struct, rename="camel", gc=False):
    storage_type: str
    path_or_inline_dv: str
    offset: int | None = None
    cardinality: int = 0


class _File(msgspec.Struct, rename="camel", gc=False):
    path: str
    size: int | None = None
    stats: msgspec.Raw = msgspec.Raw()
    deletion_vector: _Vector | None = None


class _Line(msgspec.Struct, gc=False):
    add: _File | None = None
    remove: _File | None = None


def floor(name: str, path: str) -> Callable[[], int]:
    """The reading and decoding that the operation is made of; it returns how many bytes were read."""
    log = Path(path) / "_delta_log"
    totals = name in ("history", "ten")
    decode = (msgspec.json.Decoder(_Line) if totals else msgspec.json.Decoder(dict[str, msgspec.Raw])).decode_lines

    def listed() -> int:
        for found in os.listdir(log):
            (log / found).stat()
        return 0

    def run() -> int:
        names = os.listdir(log)
        checkpoints = sorted(filter(_CHECKPOINT.match, names))
        newest = checkpoints[-1] if checkpoints else ""
        every = totals or name == "provenance"
        commits = sorted(found for found in names if _COMMIT.match(found) and (every or found[:20] > newest[:20]))
        read = 0
        for commit in commits:
            data = _bytes(log / commit)
            read += len(data)
            decode(data)
        if every:
            # Where the log was cleaned up, the files of its first checkpoint are the beginning of the history.
            first = checkpoints[0] if checkpoints and commits[0][:20] >= checkpoints[0][:20] != f"{0:020}" else ""
            return read + (_columns(log / first, ["add.path", "add.size", "add.stats"]) if first else 0)
        return read + (_columns(log / newest, COLUMNS[name]) if newest else 0)

    # What is kept of a log is good if all files of the log are as they were.
    return listed if name.endswith(" again") else run


def _columns(path: Path, columns: Sequence[str]) -> int:
    wanted = tuple(columns)
    metadata = pyarrow.parquet.ParquetFile(path).metadata
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]

    def decode(place: int) -> None:
        file = pyarrow.parquet.ParquetFile(path, metadata=metadata)
        file.read_row_group(place, list(columns), use_threads=len(groups) == 1 and groups[0].num_rows > _MANY)

    if len(groups) > 1:
        with ThreadPoolExecutor(pa.cpu_count()) as pool:
            list(pool.map(decode, range(len(groups))))
    else:
        decode(0)
    chunks = (group.column(place) for group in groups for place in range(group.num_columns))
    return sum(c.total_compressed_size for c in chunks if c.path_in_schema.startswith(wanted))


def _bytes(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY)
    try:
        return os.read(handle, os.fstat(handle).st_size)
    finally:
        os.close(handle)
