"""A version's live files, replayed by Spark: the checkpoint by the tasks, the commits after it here.

Invariant: nothing of the checkpoint's files is read here; what the commits after it added, replaced and removed is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from explorer.core.errors import ExplorerError
from explorer.core.log.checkpoint.reader import CheckpointFile, unreadable
from explorer.core.log.log_segment import LogSegment
from explorer.core.log.replay import Reconciliation, checkpoint_reader, read_commits
from explorer.core.protocol.logical_files import LineSource, LogicalFiles
from explorer.data_files.object_rows import ObjectRows
from explorer.spark.engine.failures import failure_of, messages_of
from explorer.spark.engine.file_addresses import FileAddress
from explorer.spark.engine.session import engine
from explorer.spark.engine.shipped import equip
from explorer.spark.log.tasks import UNITS, Make, Replay, packed
from explorer.spark.scan.object_files import room, secrets_in, sent_files
from explorer.spark.scan.plan import addresses_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from explorer.core.versions.delta_log import DeltaLog

# A file of a checkpoint is split among tasks by so many bytes; Spark's row groups have about twice as many.
_SHARE_BYTES: Final = 64 << 20
_MOST_SHARES: Final = 64
_MOST_TASKS: Final = 1_000
_SAID: Final = re.compile(r"explorer: file (.*)|IncompleteCheckpoint: (.*)")


@dataclass(frozen=True, slots=True)
class ReplayedFiles:
    """Rows made of a version's live files, planned and not run.

    Attributes:
        frame: The rows, in no order.
        failure: The typed error for an exception of running it.
        size: Bytes of the checkpoint's files, as the log states them (a sidecar action may state any size), and of what
            is made of the files that came after it.
    """

    frame: DataFrame
    failure: Callable[[Exception], ExplorerError]
    size: int


def replayed(log: DeltaLog, version: int, make: Make) -> ReplayedFiles:
    """Plan the rows made of a version's live files, as a lazy DataFrame in no order.

    Args:
        make: Makes a row or several of each file, for the files of any part of the version.

    Raises:
        EngineUnavailable: Spark or Java is missing.
        TableError: The log is broken.
    """
    return _planned(log.on_segment(version, partial(work_of, log, make)))


@dataclass(frozen=True)
class Work:
    """A replay that is divided and not begun.

    Attributes:
        units: Rows of `UNITS`.
        replay: The input of the tasks.
        schema: The columns of what they make.
        files: The checkpoint's files.
    """

    units: pa.Table
    replay: Replay
    schema: pa.Schema
    files: list[CheckpointFile]


def work_of(log: DeltaLog, make: Make, segment: LogSegment) -> Work:
    """Read the commits after the checkpoint, and divide the checkpoint among tasks.

    Raises:
        NotAllowed: The log points outside the places that may be read.
        TableError: The log is broken.
    """
    newest = Reconciliation()
    for commit in read_commits(log.store, segment.commits):
        newest.apply(commit)
    base = checkpoint_reader(log.store, segment)
    files, lines = ([], []) if base is None else base.contents()
    superseded = newest.superseded()
    own = make(LogicalFiles([superseded.survivors(LineSource(lines)), LineSource(list(newest.live.values()))]))
    addresses = _addresses(log, files)
    units, stores = _units(files, addresses, packed(own))
    replay = Replay(make, superseded, ObjectRows(stores, secrets_in(addresses), (), "", "", room()))
    return Work(units, replay, own.schema, files)


def _planned(work: Work) -> ReplayedFiles:
    session = _session(work.schema)
    equip(session)
    kinds = from_arrow_schema(work.schema, prefer_timestamp_ntz=True)
    if not work.units.num_rows:
        return ReplayedFiles(session.createDataFrame([], kinds), failure_of, 0)
    frame = session.createDataFrame(work.units).repartition(min(work.units.num_rows, _MOST_TASKS))
    made = frame.mapInArrow(work.replay.task, kinds)
    size = sum(file.size for file in work.files) + int(work.units.column("rows").nbytes)
    return ReplayedFiles(made, partial(_failure, work.files), size)


def _session(schema: pa.Schema) -> SparkSession:
    """Return the session; where names differ by case alone, the one that tells them apart."""
    return engine().case_sensitive_session() if _has_case_collision(schema) else engine().session()


def _has_case_collision(fields: pa.Schema | pa.StructType) -> bool:
    names = [field.name.lower() for field in fields]
    return len(set(names)) < len(names) or any(
        _has_case_collision(field.type) for field in fields if pa.types.is_struct(field.type)
    )


def _addresses(log: DeltaLog, files: Sequence[CheckpointFile]) -> list[FileAddress]:
    paths = pa.array([file.path for file in files], pa.string())
    sizes = pa.nulls(len(files), pa.int64())  # a sidecar action may state a wrong one, which no replay asks for
    return addresses_of(log, pa.table({"raw_path": paths, "path": paths, "size": sizes}))


def _units(
    files: Sequence[CheckpointFile], addresses: Sequence[FileAddress], ready: Sequence[bytes]
) -> tuple[pa.Table, tuple[object, ...]]:
    """Return the tasks' work, and the stores that it names by number."""
    sent, stores = sent_files(addresses)
    units: list[dict[str, object]] = [{"rows": rows} for rows in ready]
    for file, address, row in zip(files, addresses, sent.to_pylist(), strict=True):
        shares = max(1, min(_MOST_SHARES, file.size // _SHARE_BYTES))
        common = row | {"rows": None, "local": address.local, "name": file.path, "shares": shares}
        units += [common | {"share": share} for share in range(shares)]
    return pa.Table.from_pylist(units, UNITS), stores


def _failure(files: Sequence[CheckpointFile], error: Exception) -> ExplorerError:
    """Return the typed error for what Spark raised: a file of the checkpoint is named with its checkpoint."""
    text = "\n".join(messages_of(error))
    match = _SAID.search(text)
    reason = "" if match is None else next(part for part in match.groups() if part is not None).strip()
    part = next((file.part for file in files if file.path in reason), None)
    return failure_of(error) if part is None else unreadable(part, reason.rstrip("."))
