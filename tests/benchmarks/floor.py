"""The physical limit of an operation on a table of the bench: its bytes read and decoded, and nothing else done.

Of a commit all members stay undecoded, but where a history or all columns are asked for. Provenance needs what each
commit says of itself in its first line, and the time of its file. Opening needs the protocol, the schema and the
transactions, and so does all that comes after it. Totals of every version need the paths, sizes, statistics and
deletion vectors of its files as columns, the add that each removal ends, and sums; a history with totals needs both.
All columns need texts that are UTF-8 and no file that later commits name. What is kept needs a log that is as it was.
It is the least that the libraries used here can do that in, one process, line after line.

It knows how these tables are laid out (classic checkpoints in one file, no column mapping, one vector a file at a time,
no path with an escape) and checks nothing more; no other member of an action is kept. What a reader needs beyond it is
the cost of being right, and of what is asked next.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import explorer
from explorer.core.protocol.arrow.arrays import bools, int64s, string_maps, strings
from explorer.core.protocol.arrow.text_spans import TextSpans
from explorer.core.protocol.record_counts import counts_of_column, counts_of_lines
from explorer.storage.index_folder import IndexFolder
from tests.benchmarks.operation import KEPT, chosen

COLUMNS = {
    "open": [],
    "list": ["add.path", "add.size", "add.modificationTime"],
    "statistics": ["add.path", "add.partitionValues", "add.stats"],
    "statistics again": ["add.path", "add.partitionValues"],
    "snapshots": ["add.path"],
    "columns": [
        *("add.path", "add.size", "add.modificationTime", "add.partitionValues", "add.dataChange"),
        *("add.deletionVector", "add.tags", "add.stats"),
    ],
}
KEPT_OF = {"history again": "history", "ten again": "stays"}
"""What of that which is kept an operation needs beside the list of the log's commits."""
_STATUS = ("st_size", "st_mtime_ns", "st_ctime_ns")
_SMALL = ["protocol", "metaData", "txn"]
_TEXTS = "add.stats"
# Rows of a checkpoint in which those of these tables stand, and bytes in which the first line of a commit does.
_FIRST_ROWS, _FIRST_BYTES = 3, 1 << 11
# Files that are made columns at once.
_FILES = 1 << 12
# Files that are looked at before what was seen of them becomes columns.
_LOOKED_AT = 1 << 8
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


class _Removed(msgspec.Struct, rename="camel", gc=False):
    path: str
    deletion_vector: _Vector | None = None


class _Line(msgspec.Struct, gc=False):
    add: _File | None = None
    remove: _Removed | None = None
    commitInfo: msgspec.Raw = msgspec.Raw()  # noqa: N815  # the name that it has in the log


class _WholeFile(_File, rename="camel", gc=False):
    partition_values: dict[str, str | None] | None = None
    modification_time: int | None = None
    data_change: bool | None = None
    tags: dict[str, str | None] | None = None


class _WholeLine(msgspec.Struct, gc=False):
    add: _WholeFile | None = None
    remove: _Removed | None = None


class _Commit(msgspec.Struct, rename="camel", gc=False):
    timestamp: int | None = None
    operation: str | None = None
    operation_parameters: dict[str, Any] | None = None
    operation_metrics: dict[str, Any] | None = None
    user_name: str | None = None
    engine_info: str | None = None
    user_metadata: str | None = None
    is_blind_append: bool | None = None


class _Totals:
    """Files, bytes, rows and masked rows after every version of a record that begins with version 0."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._adds: list[_File] = []
        self._removes: list[_Removed] = []
        self._counts: list[tuple[int, int]] = []
        self._version = 0
        self._columns: list[tuple[np.ndarray, ...]] = []

    def take(self, lines: Sequence[_Line]) -> None:
        """Take the next commit."""
        adds, removes = len(self._adds), len(self._removes)
        self._adds += [line.add for line in lines if line.add is not None]
        self._removes += [line.remove for line in lines if line.remove is not None]
        self._counts.append((len(self._adds) - adds, len(self._removes) - removes))
        if len(self._adds) + len(self._removes) >= _FILES:
            self._flush()

    def _flush(self) -> None:
        paths, removed = [add.path for add in self._adds], [remove.path for remove in self._removes]
        vectors = [add.deletion_vector for add in self._adds]
        codes = np.fromiter(map(self._numbers.__getitem__, paths), np.int64, len(paths))
        same = codes if paths == removed else np.fromiter(map(self._numbers.__getitem__, removed), np.int64)
        sizes = np.array([add.size for add in self._adds], np.int64)
        rows = counts_of_lines(TextSpans.of_bytes([add.stats for add in self._adds]))[0]
        masked = np.array([0 if vector is None else vector.cardinality for vector in vectors], np.int64)
        versions = np.arange(self._version, self._version + len(self._counts))
        added, ended = (np.repeat(versions, [each[place] for each in self._counts]) for place in (0, 1))
        self._columns.append((codes, same, sizes, rows, masked, added, ended))
        self._version += len(self._counts)
        self._adds, self._removes, self._counts = [], [], []

    def sums(self) -> list[np.ndarray]:
        """A column for each total."""
        self._flush()
        codes, removed, *values, added, ended = map(np.concatenate, zip(*self._columns, strict=True))
        path, at = np.concatenate([codes, removed]), np.concatenate([added, ended])
        row = np.concatenate([np.arange(len(codes)), np.full(len(removed), -1)])
        order = np.argsort(path << 33 | at << 1 | (row >= 0))
        lives = row[order[:-1]] >= 0
        follows = lives & (path[order[:-1]] == path[order[1:]])
        gone, by = row[order[:-1]][follows], at[order[1:]][follows]
        found = []
        sizes, rows, masked = values
        for value in (np.ones(len(codes), np.int64), sizes, rows - masked, masked):
            steps = np.zeros(self._version, np.int64)
            np.add.at(steps, added, value)
            np.subtract.at(steps, by, value[gone])
            found.append(np.cumsum(steps))
        return found


def floor(name: str, path: str) -> Callable[[], int]:
    """The reading and decoding that the operation is made of; it returns how many bytes were read."""
    log = Path(path) / "_delta_log"
    totals, told = name in ("history", "ten"), name in ("history", "provenance")
    decode: Callable[[bytes], list[Any]] = msgspec.json.Decoder(
        _Line if totals else dict[str, msgspec.Raw]
    ).decode_lines

    decode_info = msgspec.json.Decoder(_Commit).decode

    def info(line: Any) -> msgspec.Raw | None:
        found: msgspec.Raw | None = line.commitInfo if totals else line.get("commitInfo")
        return found

    def run() -> int:
        names = os.listdir(log)
        checkpoints = sorted(filter(_CHECKPOINT.match, names))
        newest = checkpoints[-1] if checkpoints else ""
        every = totals or name == "provenance"
        commits = sorted(found for found in names if _COMMIT.match(found) and (every or found[:20] > newest[:20]))
        read, found, said = 0, _Totals(), list[_Commit]()
        times = [os.stat(f"{log}/{commit}").st_mtime_ns for commit in commits] if told else []
        for commit in commits:
            data = _bytes(f"{log}/{commit}", _FIRST_BYTES if name == "provenance" else None)
            read += len(data)
            lines = decode(data[: data.index(b"\n")] if name == "provenance" else data)
            if totals:
                found.take(lines)
            if told:
                said += [decode_info(raw) for line in lines if (raw := info(line))]
        assert len(times) == len(said)
        if totals:
            found.sums()
        if name == "provenance":
            return read
        if every:
            # Where the log was cleaned up, the files of its first checkpoint are the beginning of the history.
            first = checkpoints[0] if checkpoints and commits[0][:20] >= checkpoints[0][:20] != f"{0:020}" else ""
            return read + (_columns(log / first, ["add.path", "add.size", "add.stats"]) if first else 0)
        return read + (_columns(log / newest, COLUMNS[name], counted=False) if newest else 0)

    if name == "snapshots":
        return lambda: _each_by_itself(log, decode)
    if name == "columns":
        return partial(_live_files, log)
    if name in KEPT_OF:
        return partial(kept, Path(path), IndexFolder(KEPT, explorer.__version__), KEPT_OF[name])
    return run


def _live_files(log: Path) -> int:
    """All columns of the files of the checkpoint that no later commit names, and of those added since.

    It returns how many bytes were read.
    """
    names = os.listdir(log)
    newest = max(filter(_CHECKPOINT.match, names))
    since = [_bytes(f"{log}/{name}") for name in sorted(names) if _COMMIT.match(name) and name[:20] > newest[:20]]
    lines = [line for data in since for line in msgspec.json.Decoder(_WholeLine).decode_lines(data)]
    added = [line.add for line in lines if line.add is not None]
    paths = [add.path for add in added]
    gone = strings([*paths, *(line.remove.path for line in lines if line.remove is not None)])
    read = _columns(log / newest, COLUMNS["columns"], gone=gone)
    strings(paths)
    int64s([add.size for add in added])
    int64s([add.modification_time for add in added])
    bools([add.data_change for add in added])
    string_maps([add.partition_values for add in added])
    string_maps([add.tags for add in added])
    vectors = [add.deletion_vector for add in added]
    strings([None if vector is None else vector.path_or_inline_dv for vector in vectors])
    int64s([None if vector is None else vector.cardinality for vector in vectors])
    counts_of_lines(TextSpans.of_bytes([add.stats for add in added]))
    return read + sum(map(len, since))


def kept(table: Path, indexes: IndexFolder, name: str) -> int:
    """What is kept of a table under a name, if its log is as it was; it returns how many bytes that has."""
    folder = os.open(table / "_delta_log", os.O_RDONLY | os.O_DIRECTORY)
    names, columns = sorted(os.listdir(folder)), list[list[np.ndarray]]()
    for start in range(0, len(names), _LOOKED_AT):
        seen = [os.stat(found, dir_fd=folder) for found in names[start : start + _LOOKED_AT]]
        columns.append([np.fromiter(map(attrgetter(column), seen), np.int64, len(seen)) for column in _STATUS])
    os.close(folder)
    commits = [place for place, found in enumerate(names) if _COMMIT.match(found)]
    size, modified, changed = (np.concatenate(column)[commits] for column in zip(*columns, strict=True))
    listed = [strings([names[place] for place in commits])]
    listed += [int64s(column) for column in (size, modified // 1_000_000, changed)]
    index = indexes.find(table.resolve().as_uri())
    then, found = (None if index is None else index.table(each) for each in ("log", name))
    assert then is not None
    assert found is not None
    assert then.equals(pa.table(dict(zip(then.column_names, listed, strict=True))))
    return int(found.nbytes)


def _each_by_itself(log: Path, decode: Callable[[bytes], list[Any]]) -> int:
    """Ten versions, each out of its checkpoint and the commits after it; it returns how many bytes were read."""
    names, read = os.listdir(log), 0
    commits = {int(found[:20]): found for found in names if _COMMIT.match(found)}
    checkpoints = {int(found[:20]): found for found in names if _CHECKPOINT.match(found)}
    for version in chosen(min(commits), max(commits)):
        base = max((each for each in checkpoints if each <= version), default=-1)
        for number in range(base + 1, version + 1):
            data = _bytes(f"{log}/{commits[number]}")
            decode(data)
            read += len(data)
        if base >= 0:
            read += _columns(log / checkpoints[base], COLUMNS["snapshots"])
    return read


def _columns(path: Path, columns: Sequence[str], *, counted: bool = True, gone: pa.StringArray | None = None) -> int:
    """Read the first rows, which hold the small actions, and columns of all; it returns how many bytes those have.

    Of the statistics come the rows of each file, some thousand texts at a time, unless they are not to be counted.
    Files of the paths that are gone are left out.
    """
    first = _opened(path)
    metadata = first.metadata
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    next(first.iter_batches(_FIRST_ROWS, row_groups=[0], columns=_SMALL, use_threads=False))
    others = [column for column in columns if column != _TEXTS]

    def decode(place: int) -> None:
        file = _opened(path, metadata) if place else first
        if others:
            threads = len(groups) == 1 and groups[0].num_rows > _MANY
            (files,) = file.read_row_group(place, others, use_threads=threads).column("add").chunks
            if gone is not None:
                files.validate(full=True)
                left = pc.and_(pc.invert(pc.is_in(pc.struct_field(files, "path"), value_set=gone)), files.is_valid())
                for column in files.flatten():
                    column.filter(left)
        if _TEXTS in columns:
            for batch in file.iter_batches(_FILES, row_groups=[place], columns=[_TEXTS], use_threads=False):
                if gone is not None:
                    batch.validate(full=True)
                if counted:
                    counts_of_column(batch.column(0).flatten()[0].cast(pa.string()))

    if columns and len(groups) > 1:
        with ThreadPoolExecutor(pa.cpu_count()) as pool:
            list(pool.map(decode, range(len(groups))))
    elif columns:
        decode(0)
    chunks = (group.column(place) for group in groups for place in range(group.num_columns))
    wanted = (*_SMALL, *columns)
    return sum(c.total_compressed_size for c in chunks if c.path_in_schema.startswith(wanted))


def _opened(path: Path, metadata: pq.FileMetaData | None = None) -> pq.ParquetFile:
    return pq.ParquetFile(pa.OSFile(str(path)), metadata=metadata, pre_buffer=False)


def _bytes(path: str, most: int | None = None) -> bytes:
    handle = os.open(path, os.O_RDONLY)
    try:
        return os.read(handle, os.fstat(handle).st_size if most is None else most)
    finally:
        os.close(handle)
