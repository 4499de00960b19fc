"""Files written to the place of a table, and the reports on them from the tasks that wrote them.

Protocol sections: Add File, Add CDC File, Identity Columns. Invariants: no version names the files yet; no
version ever names a file that a lost attempt of a task leaves; a table in memory gets its files through a folder of
the machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.new_files.file_facts import NewFileFacts
from explorer.data_files.file_plan import FilePlan
from explorer.storage.local import LocalLogStore
from explorer.storage.objects import ObjectLogStore
from explorer.storage.schemes import scheme_of


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """What was written.

    Attributes:
        files: The files.
        marks: The furthest value in each identity column that was filled.
        broken: How many rows break each rule, in the order of the rules.
    """

    files: tuple[NewFileFacts, ...]
    marks: Mapping[str, int]
    broken: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)


def write_files(
    store: LogStore, plan: FilePlan, run: Callable[[FilePlan], Sequence[Mapping[str, Any]]]
) -> WrittenFiles:
    """Write files of a table.

    Args:
        plan: How rows become files.
        run: Writes them by the plan with its place filled in, and returns the rows of
            `explorer.data_files.file_writer.WRITTEN`.
    """
    with _placed(store, plan) as placed:
        reports = run(placed)
        if placed.store is None and _of_this_process(store):
            for file in reports:
                store.put_if_absent(file["location"], Path(placed.root + file["location"]).read_bytes())
    return _described(plan, reports)


@contextmanager
def _placed(store: LogStore, plan: FilePlan) -> Iterator[FilePlan]:
    if isinstance(store, LocalLogStore):
        yield replace(plan, root=f"{store.folder}/", allowed=store.written_places)
    elif _of_this_process(store):
        with tempfile.TemporaryDirectory(prefix="delta-table-explorer-memory-") as folder:
            yield replace(plan, root=f"{folder}/", durable=False)
    else:
        assert isinstance(store, ObjectLogStore), f"files of {store.root} are written by another store"
        sent, prefix = store.sendable("")
        yield replace(plan, store=sent, root=prefix, secrets=store.secrets)


def _of_this_process(store: LogStore) -> bool:
    """Return whether no other process reaches the table's store, so that its files pass through the disk."""
    return scheme_of(store.root).rows == "copied"


def _described(plan: FilePlan, reports: Sequence[Mapping[str, Any]]) -> WrittenFiles:
    described = len(plan.leaves) - len(plan.marks)
    files, furthest = [], []
    for file in reports:
        extremes = pa.ipc.open_stream(file["extremes"]).read_next_batch()
        furthest.append(extremes.select(list(map(str, range(described, len(plan.leaves))))))
        files.append(
            NewFileFacts(
                file["location"],
                tuple(file["partition"]),
                file["size"],
                file["written_at"],
                file["rows"],
                tuple(file["nulls"][:described]),
                extremes.select(list(map(str, range(described)))),
            )
        )
    marks = {}
    for place, (name, rises) in enumerate(plan.marks.items()):
        ends = [value for batch in furthest for value in batch.column(place).to_pylist() if value is not None]
        if ends:
            marks[name] = max(ends) if rises else min(ends)
    broken = tuple(sum(file["broken"][place] for file in reports) for place in range(plan.rules))
    return WrittenFiles(tuple(files), marks, broken)
