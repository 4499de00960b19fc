"""Writes a demo table, one operation a commit, and keeps beside it what every version should hold.

What an intent can express is an intent here too: its proposal, its guards and its commit lines are those of the
program. What it cannot (UPDATE, MERGE, OPTIMIZE, overwriting) is put together of the same parts. Which rows a condition
means, and what every version holds (`TableWriter.versions`), is worked out on plain Arrow tables, by other code than
the files and the log are: whoever reads the table must find the same rows. The stories are fixed and know no
concurrency.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.actions import Add, DomainMetadata, Remove, SetTransaction
from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.clustering import DOMAIN as CLUSTERING
from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.protocol_evolution import with_features
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.times import milliseconds
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.intents.records import CreateTable, Delete, Restore
from explorer.core.transaction.new_files.file_actions import adds, remove_of
from explorer.core.transaction.new_files.layout import ROWS_PER_FILE
from explorer.core.transaction.new_files.rewrite import Rewrite
from explorer.core.transaction.proposal import Proposal
from explorer.core.transaction.proposals import propose
from explorer.core.transaction.proposals.create_table import create_table
from explorer.core.transaction.proposals.restore import restore
from explorer.core.transaction.proposals.rows.append_rows import addition, append_rows, layout_of
from explorer.core.transaction.proposals.rows.delete_rows import delete_rows, hides_rows, touched_files
from explorer.core.versions.reads import Reads
from explorer.demo import metrics
from explorer.demo.data_files import logical_rows, stored_rows
from explorer.demo.live_file import LiveFile, Mask
from explorer.demo.log import LogWriter
from explorer.demo.provenance import Provenance

__all__ = ["TableWriter"]

Predicate = Callable[[pa.Table], pa.ChunkedArray]
Change = Callable[[pa.Table], pa.Table]


class TableWriter:
    """One demo table.

    Attributes:
        log: Its log.
        rows: The rows a reader should see now, logical names.
        versions: The same for every version committed so far.
        removed: When a file left the table, in ms since the epoch, by decoded path.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.log = LogWriter(folder, np.random.default_rng(seed))
        self.rows = pa.table({})
        self.versions: dict[int, pa.Table] = {}
        self.removed: dict[str, int] = {}
        self._stored: dict[str, pa.Table] = {}

    @property
    def schema(self) -> StructType:
        """The schema in force."""
        return self.log.snapshot.schema

    def create(
        self,
        by: Provenance,
        schema: StructType,
        *,
        description: str,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        cluster_by: Sequence[str] = (),
    ) -> None:
        """Make the table; clustering is what no intent begins."""
        intent = CreateTable(
            schema=json.loads(schema.to_json()),
            partition_columns=tuple(partition_by),
            properties=dict(properties or {}),
            description=description,
        )
        proposal = create_table(intent, self.log.circumstances(by))
        self.rows = arrow_schema(schema).empty_table()
        self.commit(by, _clustered(proposal, cluster_by) if cluster_by else proposal)

    def alter(self, by: Provenance, intent: dict[str, Any], rows: pa.Table | None = None) -> None:
        """Change metadata or protocol by an intent; ``rows`` is how they look afterwards, if that changes."""
        proposal = propose(parse_intent(intent), self.log.snapshot, self.log.circumstances(by))
        self.rows = self.rows if rows is None else rows
        self.commit(by, proposal)

    def append(
        self,
        by: Provenance,
        rows: pa.Table,
        *,
        rows_per_file: int = ROWS_PER_FILE,
        transaction: SetTransaction | None = None,
    ) -> None:
        """INSERT, or a micro-batch of a stream where a transaction is given."""
        proposal = self._addition(by, rows, rows_per_file)
        if transaction is not None:
            epoch = str(transaction.version)
            proposal = msgspec.structs.replace(
                proposal,
                operation="STREAMING UPDATE",
                parameters={"outputMode": "Append", "queryId": transaction.app_id, "epochId": epoch},
                transactions=(transaction,),
            )
        self.rows = self._concat(self.rows, rows)
        self.commit(by, proposal)

    def overwrite(self, by: Provenance, rows: pa.Table) -> None:
        """INSERT OVERWRITE of the whole table."""
        added, gone = self._addition(by, rows), [file.add for file in self.live()]
        measures = {"numRemovedFiles": str(len(gone)), "numRemovedBytes": str(sum(add.size for add in gone))}
        proposal = msgspec.structs.replace(
            added,
            parameters={**added.parameters, "mode": "Overwrite"},
            removes=_removes(gone, by, data_change=True),
            metrics={**added.metrics, **measures},
            is_blind_append=False,
        )
        self.rows = rows
        self.commit(by, proposal)

    def delete(self, by: Provenance, condition: str, predicate: Predicate) -> None:
        """DELETE: whole files go, rows of other files are masked, or their files rewritten where vectors are off."""
        proposal, _ = self._deletion(by, condition, predicate)
        self.rows = self.rows.filter(pc.invert(pc.fill_null(predicate(self.rows), False)))
        self.commit(by, proposal)

    def update(self, by: Provenance, condition: str, predicate: Predicate, change: Change) -> None:
        """UPDATE: the old rows are hidden, the new ones written."""
        deletion, matched = self._deletion(by, condition, predicate)
        added = self._addition(by, change(matched))
        measures = metrics.updated(deletion.metrics, added.metrics)
        rest = self.rows.filter(pc.invert(pc.fill_null(predicate(self.rows), False)))
        self.rows = self._concat(rest, change(self.rows.filter(predicate(self.rows))))
        self.commit(by, _both(deletion, added, operation="UPDATE", metrics=measures))

    def merge(self, by: Provenance, source: pa.Table, key: str) -> None:
        """MERGE on a key: matched rows take the source's values, the others are inserted."""

        def matches(rows: pa.Table) -> pa.ChunkedArray:
            return pc.is_in(rows.column(key), value_set=source.column(key).combine_chunks())

        deletion, _ = self._deletion(by, f"(target.{key} = source.{key})", matches)
        added = self._addition(by, source)
        parameters = {
            **deletion.parameters,
            "matchedPredicates": _text([{"actionType": "update"}]),
            "notMatchedPredicates": _text([{"actionType": "insert"}]),
            "notMatchedBySourcePredicates": "[]",
        }
        measures = metrics.merged(deletion.metrics, added.metrics, source.num_rows)
        self.rows = self._concat(self.rows.filter(pc.invert(matches(self.rows))), source)
        self.commit(by, _both(deletion, added, operation="MERGE", parameters=parameters, metrics=measures))

    def optimize(self, by: Provenance, condition: str, predicate: Callable[[Add], bool]) -> None:
        """OPTIMIZE: the chosen files of each partition become one, without the masked rows; no data changes."""
        self._rewrite(by, "OPTIMIZE", {"predicate": _text([condition] if condition else []), "auto": False}, predicate)

    def purge(self, by: Provenance) -> None:
        """REORG APPLY (PURGE): files with deletion vectors are rewritten without the masked rows."""
        parameters = {"predicate": "[]", "applyPurge": True}
        self._rewrite(by, "REORG", parameters, lambda add: add.deletion_vector is not None)

    def restore(self, by: Provenance, version: int) -> None:
        """RESTORE to an earlier version."""
        snapshot, target = self.log.snapshot, self.log.past(version)
        proposal = restore(Restore(version=version), snapshot, target, {}, self.log.circumstances(by))
        self.rows = self.versions[version]
        self.commit(by, proposal)

    def commit(self, by: Provenance, proposal: Proposal) -> None:
        """Commit, and keep what the version holds."""
        self.log.commit(by, proposal)
        for file in proposal.staged:
            if file.path.endswith(".parquet"):
                self._stored[file.path] = stored_rows(file.data)
        self.removed.update((decode_path(remove.path), milliseconds(by.at)) for remove in proposal.removes)
        self.versions[self.log.version] = self.rows

    def live(self) -> Iterator[LiveFile]:
        """The files of the newest version."""
        snapshot = self.log.snapshot
        for add in adds(snapshot.logical_files, data_change=True):
            path = decode_path(add.path)
            rows = logical_rows(self._stored[path], add.partition_values, snapshot.schema)
            masked = np.zeros(rows.num_rows, np.bool_)
            if add.deletion_vector is not None:
                masked[read_rows(self.log.store, add.deletion_vector).astype(np.int64)] = True
            yield LiveFile(path, add, rows, masked)

    def _addition(self, by: Provenance, rows: pa.Table, rows_per_file: int = ROWS_PER_FILE) -> Proposal:
        snapshot, made = self.log.snapshot, self.log.circumstances(by)
        files = addition(snapshot, rows, rows.column_names, made, rows_per_file=rows_per_file)
        return append_rows(snapshot, files)

    def _deletion(self, by: Provenance, condition: str, predicate: Predicate) -> tuple[Proposal, pa.Table]:
        """The proposal that takes rows out, and these rows."""
        snapshot, made = self.log.snapshot, self.log.circumstances(by)
        found = list(self._matching(predicate))
        matched = {file.path: np.flatnonzero(mask).astype(np.uint64) for file, mask in found}
        touched = touched_files(self.log.store, snapshot, matched, {})
        rewrite = None
        if not hides_rows(snapshot):
            kept = [file.kept(mask) for file, mask in found]
            files = [new for rows in kept for new in layout_of(snapshot, made).files(rows)]
            new_adds, staged = tuple(new.add for new in files), tuple(new.staged for new in files)
            rewrite = Rewrite(new_adds, (), sum(rows.num_rows for rows in kept), staged)
        gone = self._concat(*(file.rows.filter(pa.array(mask)) for file, mask in found))
        return delete_rows(Delete(where=condition), snapshot, touched, rewrite, made, reads=Reads()), gone

    def _matching(self, predicate: Predicate) -> Iterator[tuple[LiveFile, Mask]]:
        """Live files with rows that match, and which visible rows do."""
        for file in self.live():
            flags = pc.fill_null(predicate(file.rows), False)
            mask = flags.combine_chunks().to_numpy(zero_copy_only=False) & ~file.masked
            if mask.any():
                yield file, mask

    def _rewrite(
        self, by: Provenance, operation: str, parameters: dict[str, Any], predicate: Callable[[Add], bool]
    ) -> None:
        chosen = [file for file in self.live() if predicate(file.add)]
        added = self._addition(by, self._concat(*(file.kept() for file in chosen)))
        gone = [file.add for file in chosen]
        new = tuple(msgspec.structs.replace(add, data_change=False) for add in added.adds)
        proposal = msgspec.structs.replace(
            added,
            operation=operation,
            parameters=parameters,
            adds=new,
            removes=_removes(gone, by, data_change=False),
            metrics=metrics.rewritten(new, gone),
            is_blind_append=False,
            isolation="SnapshotIsolation",
        )
        self.commit(by, proposal)

    def _concat(self, *parts: pa.Table) -> pa.Table:
        empty = arrow_schema(self.schema).empty_table()
        return pa.concat_tables([empty, *(part.select(empty.column_names).cast(empty.schema) for part in parts)])


def _clustered(proposal: Proposal, columns: Sequence[str]) -> Proposal:
    assert proposal.protocol is not None
    domain = {"clusteringColumns": [[column] for column in columns], "domainName": CLUSTERING}
    return msgspec.structs.replace(
        proposal,
        protocol=with_features(proposal.protocol, ["clustering"]),
        parameters={**proposal.parameters, "clusterBy": _text(list(columns))},
        domains=(DomainMetadata(domain=CLUSTERING, configuration=_text(domain), removed=False),),
    )


def _both(deletion: Proposal, added: Proposal, **changes: Any) -> Proposal:
    """One commit that takes rows out and brings others in."""
    return msgspec.structs.replace(
        deletion, adds=(*deletion.adds, *added.adds), staged=(*deletion.staged, *added.staged), guards=(), **changes
    )


def _removes(gone: Iterable[Add], by: Provenance, *, data_change: bool) -> tuple[Remove, ...]:
    return tuple(remove_of(add, now=milliseconds(by.at), data_change=data_change) for add in gone)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
