"""Writing version checksums: in full from the state of a version, or from the checksum before and one commit.

Protocol section: Version Checksum File. Invariants: both ways give the same (CRC-004); an unknown number is not
guessed, and no checksum is written, nor where 64 bits do not hold the bytes of all files: every checksum contains them
(CRC-002), and other readers would refuse it; a checksum is written after its commit and never over another (CRC-001).
The files are not listed: the field for it is optional, and repeats the log.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from explorer.core.log.commit import Commit
from explorer.core.log.log_path import checksum_name
from explorer.core.log.replay import Reconciliation
from explorer.core.log.table_state import (
    MASK_BINS,
    MaskHistogram,
    RecordedFile,
    SizeHistogram,
    TableState,
    VersionChecksum,
    decode_checksum,
    same_metadata,
    same_protocol,
)
from explorer.core.protocol.actions import CommitInfo, DeletionVectorId, Metadata, Protocol
from explorer.core.protocol.arrow.arrays import exact_sum, joined, numbers, strings, validity
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.json_values import encode_json
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.raw_actions import AddLine, RemoveLine
from explorer.core.protocol.table_features import active_features
from explorer.core.protocol.table_properties.registry import IN_COMMIT_TIMESTAMPS

Counts = npt.NDArray[np.int64]

_MIB: Final = 1 << 20
_MOST: Final = (1 << 63) - 1
_STEPS: Final = ((8, 4), (40, 8), (120, 4), (144, 16), (576, 64), (1408, 128), (2048, 256))
"""From the first size on, bins have the second width, in MiB."""

SIZE_BINS: Final = (
    0,
    *(1 << power for power in range(13, 23)),
    *(
        bound * _MIB
        for (first, step), last in zip(_STEPS, [first for first, _ in (*_STEPS[1:], (4096, 0))], strict=True)
        for bound in range(first, last, step)
    ),
    *(1 << power for power in range(32, 39)),
)
"""Where the bins of file sizes begin, in bytes: those of the reference writer."""


def version_checksum(state: TableState, files: LogicalFiles, info: CommitInfo | None) -> VersionChecksum | None:
    """Compute the checksum of a version from its state.

    Args:
        info: Provenance of the version's commit, if it has one.

    Returns:
        The checksum, or None if the log lacks the size of a file, or 64 bits do not hold the sum of the sizes.
    """
    chosen = files.select(["size", "dv_storage_type", "dv_cardinality"])
    size, vector, cardinality = (joined(column) for column in chosen.columns)
    if size.null_count:
        return None
    totals = _Totals()
    if len(size):
        masked = np.where(validity(vector), numbers(cardinality)[0], -1)
        totals.count_all(numbers(size)[0], masked)
    return _checksum(state, totals, info)


def next_checksum(
    previous: bytes, commit: Commit, state: TableState, live: LogicalFiles | None = None, *, vouched: bool = False
) -> VersionChecksum | None:
    """Compute the checksum of a version from that of the version before.

    Args:
        live: The live files before it, if the caller has them; a checksum that lists them works too.
        vouched: Whether to trust the commit about the live files where nothing else shows them: each path that it adds
            and does not remove is new, and each that it removes was live. That holds for commits of this program,
            except for adds and removes on their own that change no data, which are never trusted.

    Returns:
        The checksum, or None where it is not known: the checksum before is unreadable, lacks something or has another
        protocol or metadata, the commit does not describe its files in full, or 64 bits do not hold their sizes.
    """
    try:
        before = decode_checksum(previous)
        info = commit.commit_info()
        totals = _totals_before(before, commit, state)
        changes = None if totals is None else list(_changes(commit, _known_files(commit, before, live), vouched))
    except (ValueError, _UnknownError):
        return None
    if totals is None or changes is None:
        return None
    for file, sign in changes:
        totals.count(file, sign)
    return _checksum(state, totals, info)


def write_checksum(store: LogStore, version: int, checksum: VersionChecksum) -> bool:
    """Write a checksum next to its commit; return False if one exists already.

    It need not survive a crash of the machine: readers do without a damaged or missing one.

    Raises:
        StorageError: The store failed.
    """
    try:
        store.put_if_absent(checksum_name(version), encode_json(checksum), durable=False)
    except FileExistsError:
        return False
    return True


class _Totals:
    """The numbers of a checksum over the live files."""

    def __init__(self) -> None:
        self.files = self.bytes = self.masked = self.vectors = 0
        self.sizes, self.size_bytes = [0] * len(SIZE_BINS), [0] * len(SIZE_BINS)
        self.masks = [0] * len(MASK_BINS)

    def count(self, file: RecordedFile, sign: int) -> None:
        """Count a file whose size is known, or subtract it."""
        size = file.size or 0
        self.files += sign
        self.bytes += sign * size
        place = bisect_right(SIZE_BINS, size) - 1
        self.sizes[place] += sign
        self.size_bytes[place] += sign * size
        if file.vector_id is not None:
            self.masked += sign * file.masked
            self.vectors += sign
        self.masks[bisect_right(MASK_BINS, file.masked) - 1] += sign

    def count_all(self, sizes: Counts, masked: Counts) -> None:
        """Count all files at once: their sizes, and the rows masked in each, -1 without a vector."""
        self.files, self.bytes = len(sizes), exact_sum(sizes)
        self.masked, self.vectors = exact_sum(masked[masked > 0]), int((masked >= 0).sum())
        files, size_bytes = (np.zeros(len(SIZE_BINS), np.int64) for _ in range(2))
        bins = np.searchsorted(np.array(SIZE_BINS), sizes, "right") - 1
        np.add.at(files, bins, 1)
        np.add.at(size_bytes, bins, sizes)
        self.sizes, self.size_bytes = files.tolist(), size_bytes.tolist()
        bins = np.searchsorted(np.array(MASK_BINS), np.maximum(masked, 0), "right") - 1
        self.masks = np.bincount(bins, minlength=len(MASK_BINS)).tolist()


def _checksum(state: TableState, totals: _Totals, info: CommitInfo | None) -> VersionChecksum | None:
    if totals.bytes > _MOST:
        return None
    masking = _may_mask(state.protocol)
    timed = IN_COMMIT_TIMESTAMPS.of(state.metadata.configuration) and info is not None
    return VersionChecksum(
        txn_id=None if info is None else info.txn_id,
        table_size_bytes=totals.bytes,
        num_files=totals.files,
        num_deleted_records_opt=totals.masked if masking and totals.masked <= _MOST else None,
        num_deletion_vectors_opt=totals.vectors if masking else None,
        num_metadata=1,
        num_protocol=1,
        in_commit_timestamp_opt=info.in_commit_timestamp if timed and info is not None else None,
        set_transactions=tuple(txn.to_wire() for _, txn in sorted(state.transactions.items())),
        domain_metadata=tuple(domain.to_wire() for _, domain in sorted(state.domains.items())),
        metadata=state.metadata.to_wire(),
        protocol=state.protocol.to_wire(),
        file_size_histogram=SizeHistogram(SIZE_BINS, tuple(totals.sizes), tuple(totals.size_bytes)),
        deleted_record_counts_histogram_opt=MaskHistogram(tuple(totals.masks)) if masking else None,
    )


def _may_mask(protocol: Protocol) -> bool:
    return "deletionVectors" in active_features(protocol)


# --- from the checksum before -----------------------------------------------------------------------------------------


class _UnknownError(Exception):
    """The commit and the checksum before it do not determine the files after it."""


def _totals_before(before: VersionChecksum, commit: Commit, state: TableState) -> _Totals | None:
    """Return the counts of the checksum before, or None if it cannot be used."""
    if before.metadata is None or before.protocol is None:
        return None
    metadata, protocol = Metadata.from_wire(before.metadata), Protocol.from_wire(before.protocol)
    if commit.metadata() is None and not same_metadata(metadata, state.metadata):
        return None
    if commit.protocol() is None and not same_protocol(protocol, state.protocol):
        return None
    sizes = before.file_size_histogram or before.histogram_opt
    if sizes is None or sizes.sorted_bin_boundaries != SIZE_BINS:
        return None
    totals = _Totals()
    totals.files, totals.bytes = before.num_files, before.table_size_bytes
    totals.sizes, totals.size_bytes = list(sizes.file_counts), list(sizes.total_bytes)
    masks = before.deleted_record_counts_histogram_opt
    if masks is None or before.num_deleted_records_opt is None or before.num_deletion_vectors_opt is None:
        totals.masks[0] = totals.files
        return None if _may_mask(protocol) and _may_mask(state.protocol) else totals
    totals.masks = list(masks.deleted_record_counts)
    totals.masked, totals.vectors = before.num_deleted_records_opt, before.num_deletion_vectors_opt
    shapes = (len(totals.sizes), len(totals.size_bytes), len(totals.masks))
    return totals if shapes == (len(SIZE_BINS), len(SIZE_BINS), len(MASK_BINS)) else None


def _known_files(
    commit: Commit, before: VersionChecksum, live: LogicalFiles | None
) -> Mapping[str, RecordedFile] | None:
    """Return the known live files that a commit touches; None if nothing shows which are live."""
    if live is not None:
        keys = {canonical_key(line.path) for line in _file_lines(commit)}
        return dict(_find(live, keys)) if keys else {}
    if before.all_files is None or len(before.all_files) != before.num_files:
        return None
    files = {}
    for file in before.all_files:
        vector = file.deletion_vector
        vector_id, masked = (None, 0) if vector is None else (vector.unique_id, vector.cardinality)
        files[canonical_key(file.path)] = RecordedFile(vector_id, file.size, masked)
    return files


def _file_lines(commit: Commit) -> Iterable[AddLine | RemoveLine]:
    return (line.add or line.remove for line in commit.lines if line.add or line.remove)  # type: ignore[misc]


def _find(live: LogicalFiles, keys: set[str]) -> Iterator[tuple[str, RecordedFile]]:
    rows = live.rows_at(strings(list(keys)))
    columns = live.take(rows, ["path", "size", "dv_cardinality", "dv_storage_type", "dv_path_or_inline", "dv_offset"])
    for key, size, masked, kind, place, offset in zip(*(column.to_pylist() for column in columns.columns), strict=True):
        vector_id = None if kind is None else DeletionVectorId(kind, place, offset).unique_id
        yield key, RecordedFile(vector_id, size, masked or 0)


def _changes(
    commit: Commit, known: Mapping[str, RecordedFile] | None, vouched: bool
) -> Iterator[tuple[RecordedFile, int]]:
    """Yield files that leave the table, with -1, and that enter it, with 1.

    Raises:
        _UnknownError: A size is missing, or it is not known which files were live.
    """
    newest = Reconciliation()
    newest.apply(commit)
    if known is None and not vouched and (newest.live or newest.removed):
        raise _UnknownError
    removed: dict[str, list[RemoveLine]] = {}
    for (key, _), remove in newest.removed.items():
        removed.setdefault(key, []).append(remove)
    for key in newest.live.keys() | removed.keys():
        add, removes = newest.live.get(key), removed.get(key, [])
        leaving = _leaving_by_commit(add, removes) if known is None else _leaving(known.get(key), add, removes)
        entered = None if add is None else _file(add, add.size)
        for file, sign in ((leaving, -1), (entered, 1)):
            if file is not None:
                if file.size is None:
                    raise _UnknownError
                yield file, sign


def _leaving(old: RecordedFile | None, add: AddLine | None, removes: Iterable[RemoveLine]) -> RecordedFile | None:
    """Return the file that leaves, where the live files are known."""
    if old is None or add is not None:
        return old
    return old if any(remove.vector_id == old.vector_id for remove in removes) else None


def _leaving_by_commit(add: AddLine | None, removes: list[RemoveLine]) -> RecordedFile | None:
    """Return the file that leaves, by the commit alone."""
    if len(removes) > 1:
        raise _UnknownError
    if not removes:
        # An add that changes no data may give a live file new statistics or row ids.
        if add is not None and add.data_change is False:
            raise _UnknownError
        return None
    (remove,) = removes
    if add is None and remove.data_change is False:
        raise _UnknownError
    return _file(remove, add.size if remove.size is None and add is not None else remove.size)


def _file(line: AddLine | RemoveLine, size: int | None) -> RecordedFile:
    vector = line.deletion_vector
    return RecordedFile(line.vector_id, size, 0 if vector is None else vector.cardinality)
