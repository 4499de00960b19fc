"""Action reconciliation: a log segment -> the state of the table.

Protocol section: Action Reconciliation. Invariants: the newest file action for a key (path, deletion-vector id) wins
(REPLAY-003) and a path is live with at most one vector, the newest added (D-03); files that other readers take for
live too, as no removal names them, are separate; the newest protocol, metadata,
transaction per application and domain win (REPLAY-001, TXN-001, REPLAY-008); change files and provenance never
matter (REPLAY-009, REPLAY-011).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import TypeAlias, TypeVar

import msgspec

from explorer.core.errors import CorruptTable, VersionGap
from explorer.core.log.checkpoint.column_cache import ColumnCache
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.commit import Commit, CommitFile, SmallActions, decode_commits, decode_small_actions
from explorer.core.log.decoded_parts import DecodedPart, decode_joined, decode_parts
from explorer.core.log.index_cache import IndexCache
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import LogSegment
from explorer.core.log.similar_lines import SimilarLines
from explorer.core.log.table_state import TableState
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.file_paths import canonical_key, other_spelling
from explorer.core.protocol.log_store import JoinedObjects, LogStore
from explorer.core.protocol.logical_files import FileSource, LineSource, LogicalFiles
from explorer.core.protocol.raw_actions import AddLine, RemoveLine

_BATCH = 1024
_BATCH_BYTES = 1 << 22
_Joined: TypeAlias = tuple[Sequence[LogPath], JoinedObjects]
_ReadT = TypeVar("_ReadT")


def read_commits(store: LogStore, paths: Iterable[LogPath]) -> Iterator[Commit]:
    """Read and decode commits in the order given, some at a time.

    Raises:
        VersionGap: A commit vanished since it was listed.
        MalformedAction: A line is damaged.
    """
    return chain.from_iterable(map(decode_commits, _read_ahead(store, paths)))


def read_parts(store: LogStore, paths: Iterable[LogPath], similar: SimilarLines | None) -> Iterator[DecodedPart]:
    """Read commits in the order given, and decode some together, a large one in parts.

    Args:
        similar: Finds similar lines; None decodes every line by itself.

    Raises:
        VersionGap: A commit vanished since it was listed.
        MalformedAction: A line is damaged; parts of its commit may have come before.
    """
    if similar is None:
        return chain.from_iterable(decode_parts(files, None) for files in _read_ahead(store, paths))
    reads = _ahead(partial(_read_lines, store), list(_batches(paths)))
    return chain.from_iterable(
        decode_parts(read, similar) if isinstance(read, list) else decode_joined(*read, similar) for read in reads
    )


def read_small_actions(store: LogStore, paths: Iterable[LogPath]) -> Iterator[SmallActions]:
    """Read commits in the order given, some at a time, and decode all but the file actions.

    Raises:
        VersionGap: A commit vanished since it was listed.
        MalformedAction: A line is damaged.
    """
    return chain.from_iterable(map(decode_small_actions, _read_ahead(store, paths)))


def read_commit_files(store: LogStore, paths: Iterable[LogPath]) -> Iterator[CommitFile]:
    """Read the bytes of commits in the order given, some at a time.

    Raises:
        VersionGap: A commit vanished since it was listed.
    """
    return chain.from_iterable(_read_ahead(store, paths))


def _read_ahead(store: LogStore, paths: Iterable[LogPath]) -> Iterator[list[CommitFile]]:
    """Return the bytes of commits in batches; the next is read while the one before is decoded."""
    return _ahead(partial(_read, store), list(_batches(paths)))


def _ahead(read: Callable[[Sequence[LogPath]], _ReadT], batches: Sequence[Sequence[LogPath]]) -> Iterator[_ReadT]:
    """Yield the results of reading batches; the next is read while the caller decodes the one before.

    The reading thread does nothing else: a call that needs the interpreter there waits for the decoder to release it.
    """
    if len(batches) < 2:
        yield from map(read, batches)
        return
    with ThreadPoolExecutor(1) as ahead:
        coming = ahead.submit(read, batches[0])
        for following in (*batches[1:], ()):
            batch_result = coming.result()
            if following:
                coming = ahead.submit(read, following)
            yield batch_result


def read_commit_starts(store: LogStore, commits: VersionFiles, length: int) -> list[bytes]:
    """Read the first bytes of commits, ascending: of each up to ``length``.

    Raises:
        VersionGap: A commit vanished since it was listed.
    """
    try:
        return store.read_starts(commits.file_keys, commits.sizes.clip(max=length).tolist())
    except FileNotFoundError as error:
        raise _vanished(error, next(iter(commits)), commits.latest) from error


def _read(store: LogStore, batch: Sequence[LogPath]) -> list[CommitFile]:
    try:
        contents = store.read_many([path.path for path in batch])
    except FileNotFoundError as error:
        raise _vanished(error, batch[0].version, batch[-1].version) from error
    return list(zip(batch, contents, strict=True))


def _read_lines(store: LogStore, batch: Sequence[LogPath]) -> list[CommitFile] | _Joined:
    """Return the commits of a batch in one buffer; a large one, which is decoded in parts, by itself."""
    sizes = [path.size for path in batch]
    if sum(sizes) > _BATCH_BYTES:
        return _read(store, batch)
    try:
        return batch, store.read_joined([path.path for path in batch], sizes)
    except FileNotFoundError as error:
        raise _vanished(error, batch[0].version, batch[-1].version) from error


def _vanished(error: FileNotFoundError, earliest: int, latest: int) -> VersionGap:
    return VersionGap(
        f"A commit between versions {earliest} and {latest} disappeared while the log was being read ({error}). A "
        "cleanup of the log is running. Open the table again.",
        vanished=True,
        earliest=earliest,
        latest=latest,
    )


def _batches(paths: Iterable[LogPath]) -> Iterator[list[LogPath]]:
    """Yield commits to read together: many, because stores can be slow, but only bytes that are quick to decode."""
    batch: list[LogPath] = []
    size = 0
    for path in paths:
        if batch and (len(batch) == _BATCH or size + path.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += path.size
    if batch:
        yield batch


def checkpoint_reader(store: LogStore, segment: LogSegment) -> CheckpointReader | None:
    """Return a reader of the checkpoint that a segment begins with; None if it has none."""
    return None if segment.checkpoint is None else CheckpointReader(store, segment.checkpoint)


def replay_state(base: CheckpointReader | None, commits: Iterable[Commit], version: int) -> TableState:
    """Reconcile the small actions.

    Args:
        base: The checkpoint to begin with; None begins before the first commit.
        commits: The commits since, ascending.

    Raises:
        CorruptTable: There is no protocol or no metadata by the end (LOG-021, D-30).
    """
    return advance_state(None if base is None else base.state(), commits, version)


def advance_state(base: TableState | None, commits: Iterable[Commit], version: int) -> TableState:
    """Reconcile the small actions of commits with the state before them.

    Args:
        base: The state before the commits; None before the first commit.
        commits: The commits since, ascending.

    Raises:
        CorruptTable: There is no protocol or no metadata by the end (LOG-021, D-30).
    """
    protocol: Protocol | None = base.protocol if base else None
    metadata: Metadata | None = base.metadata if base else None
    transactions = dict(base.transactions) if base else {}
    domains = dict(base.domains) if base else {}
    for commit in commits:
        protocol = commit.protocol() or protocol
        metadata = commit.metadata() or metadata
        transactions.update((txn.app_id, txn) for txn in commit.transactions())
        for domain in commit.domains():
            if domain.removed:
                domains.pop(domain.domain, None)
            else:
                domains[domain.domain] = domain
    if protocol is None or metadata is None:
        lacking = "protocol" if protocol is None else "metaData"
        raise CorruptTable(
            f"The log has no {lacking} action up to version {version}, so the table cannot be read. "
            "The log was written by a faulty client, or its first commit was changed.",
            version=version,
        )
    return TableState(protocol, metadata, transactions, domains)


def replay_files(
    base: CheckpointReader | None,
    commits: Iterable[Commit],
    cache: ColumnCache | None = None,
    indexes: Callable[[], IndexCache | None] | None = None,
) -> LogicalFiles:
    """Reconcile the file actions to the live files.

    Files of the checkpoint come first in its order, then those added since in the order of their commits.

    Args:
        base: The checkpoint to begin with; None begins before the first commit.
        commits: The commits since, ascending.
        cache: Caches columns of checkpoints; None caches nothing.
        indexes: Opens the cache of statistics of checkpoints between processes; None caches nothing.
    """
    newest = Reconciliation()
    for commit in commits:
        newest.apply(commit)
    return newest.files(base, cache, indexes)


class Superseded(msgspec.Struct, frozen=True):
    """The files of a checkpoint that the commits after it replaced or removed.

    Attributes:
        added: Paths that were added since.
        removed: Removals in force: path and deletion-vector id.
    """

    added: frozenset[str]
    removed: frozenset[tuple[str, str | None]]

    def survivors(self, source: FileSource) -> FileSource:
        """Return the remaining files of a checkpoint."""
        touched = self.added | {key for key, _ in self.removed}
        if not touched:
            return source
        matches = source.find(touched)
        return source.without([row for row, key, id_ in matches if key in self.added or (key, id_) in self.removed])

    def overlaid(self, source: FileSource, vectors: Mapping[str, str | None]) -> FileSource | None:
        """Return files of a checkpoint that an add replaced under another vector, and that no removal names, if any.

        Args:
            vectors: The vector of each file that is live after the commits, by path.
        """
        matches = source.find(self.added)
        replaced = {
            row
            for row, key, id_ in matches
            if (key, id_) not in self.removed and key in vectors and vectors[key] != id_
        }
        return source.without([row for row in range(source.num_rows) if row not in replaced]) if replaced else None


class Reconciliation:
    """The file actions of some commits; the newest for each key counts.

    Attributes:
        live: Files that the commits added and that are live after them, by path.
        removed: Removals in force after them, by path and deletion-vector id.
        overlaid: Files that a later add of their path replaced under another vector, and that no removal names.
        respelled: Files that a later action replaced or removed under another spelling of their path, by the path as
            the log has it.
    """

    def __init__(self) -> None:
        self.live: dict[str, AddLine] = {}
        self.overlaid: dict[tuple[str, str | None], AddLine] = {}
        self.respelled: dict[str, AddLine] = {}
        self.removed: dict[tuple[str, str | None], RemoveLine] = {}
        self._added: set[str] = set()

    def apply(self, commit: Commit) -> None:
        """Apply the next commit.

        Raises:
            MalformedAction: A line contains two file actions, or a path is not valid.
        """
        live, added, removed = self.live, self._added, self.removed
        overlaid, respelled = self.overlaid, self.respelled
        for place, line in enumerate(commit.lines):
            if (add := line.add) is not None:
                if line.remove is not None:
                    raise commit.two_actions(place)
                key = canonical_key(add.path)
                before = live.pop(key, None)
                if before is not None and before.vector_id != add.vector_id:
                    overlaid[key, before.vector_id] = before
                elif before is not None:
                    self._respell(before, add.path)
                if overlaid:
                    overlaid.pop((key, add.vector_id), None)
                live[key] = add
                if respelled:
                    respelled.pop(add.path, None)
                added.add(key)
                if removed:
                    removed.pop((key, add.vector_id), None)
            elif (remove := line.remove) is not None:
                key, vector_id = canonical_key(remove.path), remove.vector_id
                current = live.get(key)
                if current is not None and current.vector_id == vector_id:
                    del live[key]
                    self._respell(current, remove.path)
                respelled.pop(remove.path, None)
                overlaid.pop((key, vector_id), None)
                removed[key, vector_id] = remove

    def _respell(self, before: AddLine, path: str) -> None:
        """Record that a later action spells the path of a file otherwise; other readers may see another file."""
        if other_spelling(before.path, path):
            self.respelled[before.path] = before

    def files(
        self,
        base: CheckpointReader | None,
        cache: ColumnCache | None = None,
        indexes: Callable[[], IndexCache | None] | None = None,
    ) -> LogicalFiles:
        """Return the live files: the remaining ones of the checkpoint before the commits, then those added since."""
        sources: list[FileSource] = []
        before: list[FileSource] = []
        superseded = self.superseded()
        if base is not None:
            before = list(base.files(cache, indexes))
            sources = [superseded.survivors(source) for source in before]

        def overlaid() -> list[FileSource]:
            vectors = {key: line.vector_id for key, line in self.live.items()} if before else {}
            replaced = (superseded.overlaid(source, vectors) for source in before)
            return [LineSource(list(self.overlaid.values())), *(source for source in replaced if source is not None)]

        respelled = LineSource(list(self.respelled.values()))
        return LogicalFiles([*sources, LineSource(list(self.live.values()))], overlaid, respelled)

    def superseded(self) -> Superseded:
        """Return the files of the checkpoint before them that the commits replaced or removed."""
        return Superseded(frozenset(self._added), frozenset(self.removed))
