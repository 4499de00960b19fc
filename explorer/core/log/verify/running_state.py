"""The state of a table carried from commit to commit, to check commits, checksums and checkpoints against.

Protocol sections: Actions, Action Reconciliation. Invariants: actions that must not be in one commit are reported
and applied in line order (D-15); a path is live with one deletion vector, the newest added (D-03).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from explorer.core.errors import CorruptTable
from explorer.core.log.commit import Commit
from explorer.core.log.table_state import RecordedFile
from explorer.core.log.verify.file_numbers import FileNumbers, NumberReader
from explorer.core.protocol.actions import CommitInfo, DomainMetadata, Metadata, Protocol, TransactionAction
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.record_counts import count_of_line
from explorer.core.protocol.row_tracking import DOMAIN, recorded_high_water_mark


class RunningState:
    """Files, protocol, metadata, transactions and domains after some version.

    Attributes:
        numbers: The other numbers that the log records of each file, by its key.
    """

    def __init__(self) -> None:
        self.files: dict[str, RecordedFile] = {}
        self.numbers: dict[str, FileNumbers] = {}
        self.protocol: Protocol | None = None
        self.metadata: Metadata | None = None
        self.transactions: dict[str, TransactionAction] = {}
        self.domains: dict[str, DomainMetadata] = {}
        self.num_bytes = 0
        self.num_unsized = 0
        self.masks: Counter[int] = Counter()
        self._reader = NumberReader()

    def take(self, files: LogicalFiles) -> None:
        """Add the files of a checkpoint."""
        for (key, file), numbers in zip(_live_files(files), self._reader.of_files(files), strict=True):
            self._put(key, file)
            self.numbers[key] = numbers

    def apply(self, commit: Commit) -> Iterator[tuple[str, str]]:
        """Apply a commit; yield kind and detail of its faults."""
        yield from self._apply_small(commit)
        removes = Counter(
            (canonical_key(line.remove.path), line.remove.vector_id) for line in commit.lines if line.remove
        )
        adds = Counter((canonical_key(line.add.path), line.add.vector_id) for line in commit.lines if line.add)
        for what, seen in (("add", adds), ("remove", removes)):
            for (path, vector_id), count in seen.items():
                if count > 1:
                    yield "duplicate-action", f"{count} {what} actions of {_named(path, vector_id)}"
        for path, vector_id in adds.keys() & removes.keys():
            yield "contradictory-action", f"{_named(path, vector_id)} is added and removed"
        for line in commit.lines:
            if (add := line.add) is not None:
                yield from self._add(add, removes)
            elif (remove := line.remove) is not None:
                key = canonical_key(remove.path)
                if (live := self.files.get(key)) is not None and live.vector_id == remove.vector_id:
                    self._drop(key)

    def _add(self, add: AddLine, removes: Mapping[tuple[str, str | None], int]) -> Iterator[tuple[str, str]]:
        key = canonical_key(add.path)
        live = self.files.get(key)
        if live is not None and live.vector_id != add.vector_id and (key, live.vector_id) not in removes:
            yield (
                "unremoved-vector",
                f"{_named(key, add.vector_id)} is added while {_named(key, live.vector_id)} is live and is not removed",
            )
        vector = add.deletion_vector
        self._put(key, RecordedFile(add.vector_id, add.size, 0 if vector is None else vector.cardinality))
        self.numbers[key] = self._reader.of_line(add)

    def _apply_small(self, commit: Commit) -> Iterator[tuple[str, str]]:
        for name in ("protocol", "metaData"):
            raws = (bytes(getattr(line, name)) for line in commit.lines)
            count = sum(raw not in {b"", b"null"} for raw in raws)
            if count > 1:
                yield "duplicate-action", f"{count} {name} actions"
        self.protocol = commit.protocol() or self.protocol
        self.metadata = commit.metadata() or self.metadata
        transactions, domains = commit.transactions(), commit.domains()
        for app, count in Counter(txn.app_id for txn in transactions).items():
            if count > 1:
                yield "duplicate-action", f"{count} txn actions of application {app!r}"
        for name, count in Counter(domain.domain for domain in domains).items():
            if count > 1:
                yield "duplicate-action", f"{count} domainMetadata actions of domain {name!r}"
        self.transactions.update((txn.app_id, txn) for txn in transactions)
        for domain in domains:
            if domain.removed:
                self.domains.pop(domain.domain, None)
            else:
                self.domains[domain.domain] = domain

    def _put(self, key: str, file: RecordedFile) -> None:
        if key in self.files:
            self._drop(key)
        self.files[key] = file
        self.num_bytes += file.size or 0
        self.num_unsized += file.size is None
        if file.vector_id is not None:
            self.masks[file.masked] += 1

    def _drop(self, key: str) -> None:
        file = self.files.pop(key)
        self.numbers.pop(key, None)
        self.num_bytes -= file.size or 0
        self.num_unsized -= file.size is None
        if file.vector_id is not None:
            self.masks[file.masked] -= 1


def _live_files(files: LogicalFiles) -> Iterator[tuple[str, RecordedFile]]:
    """Yield path and facts of every file of a checkpoint."""
    chosen = files.select(["path", "dv_unique_id", "size", "dv_cardinality"])
    for key, vector_id, size, masked in zip(*(column.to_pylist() for column in chosen.columns), strict=True):
        yield key, RecordedFile(vector_id, size, masked or 0)


def _named(path: str, vector_id: str | None) -> str:
    return path if vector_id is None else f"{path} with deletion vector {vector_id}"


def impossible_numbers(commit: Commit, info: CommitInfo | None, state: RunningState | None) -> Iterator[str]:
    """Yield each number that the commit cannot have.

    Args:
        state: The state after it; None where the state before it is not known.
    """
    read = None if info is None else info.read_version
    if read is not None and read >= commit.version:
        yield (
            f"commitInfo.readVersion is {read:,}: the writer read a version that does not come before this commit, so "
            "commits may have been lost or replaced"
        )
    mark = _mark(state)
    for line in commit.lines:
        add = line.add
        if add is None:
            continue
        if (add.default_row_commit_version or 0) > commit.version:
            yield f"defaultRowCommitVersion of {add.path} is {add.default_row_commit_version:,}, a later version"
        last = None if add.base_row_id is None else add.base_row_id + max(count_of_line(add.stats) or 1, 1) - 1
        if mark is not None and last is not None and last > mark:
            yield f"row ids of {add.path} reach {last:,}, but the highest that was assigned is {mark:,}"


def _mark(state: RunningState | None) -> int | None:
    """Return the highest row id that was assigned; None where it is not known."""
    domain = None if state is None else state.domains.get(DOMAIN)
    try:
        return None if domain is None else recorded_high_water_mark(domain.configuration)
    except CorruptTable:
        return None  # It is refused where row ids are read.
