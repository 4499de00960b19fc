"""Write a demo table, one operation a commit, and record the rows that every version should have.

Every operation is an intent of the program: proposal, guards, metrics and commit lines are its own. Rows go
into files through what Spark's workers run for others, `explorer.data_files`, and come out the same byte for byte.
Which rows a condition means, and what every version contains (`TableWriter.versions`), is computed on plain Arrow
tables, by other code than the files and the log are: every reader of the table must give the same rows. The stories are
fixed and know no concurrency.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.actions import DomainMetadata, TransactionAction
from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.clustering import DOMAIN as CLUSTERING
from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.protocol_evolution import with_features
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.schema.field_metadata import IDENTITY_START
from explorer.core.protocol.times import milliseconds
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.intents.records import CreateTable, Delete, Merge, Optimize, Overwrite, Restore, Update
from explorer.core.transaction.new_files.file_actions import adds
from explorer.core.transaction.new_files.file_facts import NewFileFacts, Numbering, Touched
from explorer.core.transaction.new_files.layout import ROWS_PER_FILE, FileLayout
from explorer.core.transaction.proposal import Proposal, RowCounts, Written
from explorer.core.transaction.proposals import propose
from explorer.core.transaction.proposals.create_table import create_table
from explorer.core.transaction.proposals.restore import restore
from explorer.core.transaction.proposals.rows.append_rows import Addition, append_rows, moved, numberings
from explorer.core.transaction.proposals.rows.change_rows import change_rows
from explorer.core.transaction.proposals.rows.delete_rows import delete_rows, hides_rows, records_changes, touched_files
from explorer.core.transaction.proposals.rows.optimize_files import compaction, optimize_files
from explorer.core.transaction.proposals.rows.overwrite_rows import overwrite_rows, replaced_files
from explorer.core.transaction.proposals.rows.purge_rows import files_to_purge, purge_rows
from explorer.core.versions.reads import Reads
from explorer.data_files.file_plan import CHANGE_TYPE, file_plan
from explorer.data_files.in_memory_rows import write_rows
from explorer.demo.live_file import DemoFile, Mask, logical_rows, stored_rows
from explorer.demo.log import LogWriter
from explorer.demo.provenance import DemoProvenance

Predicate = Callable[[pa.Table], pa.ChunkedArray]
Change = Callable[[pa.Table], pa.Table]
_Matching = tuple[DemoFile, Mask]


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
        """The schema of the newest version."""
        return self.log.snapshot.schema

    def create(
        self,
        by: DemoProvenance,
        schema: StructType,
        *,
        description: str,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        cluster_by: Sequence[str] = (),
    ) -> None:
        """Create the table; no intent begins clustering."""
        intent = CreateTable(
            schema=json.loads(schema.to_json()),
            partition_columns=tuple(partition_by),
            properties=dict(properties or {}),
            description=description,
        )
        proposal = create_table(intent, self.log.circumstances(by))
        self.rows = arrow_schema(schema).empty_table()
        self.commit(by, _clustered(proposal, cluster_by) if cluster_by else proposal)

    def alter(self, by: DemoProvenance, intent: dict[str, Any], rows: pa.Table | None = None) -> None:
        """Change metadata or protocol by an intent; ``rows`` is how they look afterwards, if that changes."""
        proposal = propose(parse_intent(intent), self.log.snapshot, self.log.circumstances(by))
        self.rows = self.rows if rows is None else rows
        self.commit(by, proposal)

    def append(
        self,
        by: DemoProvenance,
        rows: pa.Table,
        *,
        rows_per_file: int = ROWS_PER_FILE,
        transaction: TransactionAction | None = None,
    ) -> None:
        """Run INSERT, or a micro-batch of a stream if a transaction is given; identity columns number the rows."""
        proposal = append_rows(self.log.snapshot, self._addition(by, rows, rows_per_file))
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

    def overwrite(self, by: DemoProvenance, rows: pa.Table) -> None:
        """Run INSERT OVERWRITE of the entire table."""
        snapshot, written = self.log.snapshot, self._written(by, [rows])
        proposal = overwrite_rows(
            Overwrite(source="rows"), snapshot, replaced_files(snapshot, None), written, new_rows=rows.num_rows,
            circumstances=self.log.circumstances(by), masked=False, guards=(), reads=Reads(),
        )  # fmt: skip
        self.rows = rows
        self.commit(by, proposal)

    def delete(self, by: DemoProvenance, where: str, predicate: Predicate) -> None:
        """Run DELETE: remove full files, and mask rows of others, or rewrite these where deletion vectors are off."""
        snapshot, matching = self.log.snapshot, list(self._matching(predicate))
        remaining, deleted = [file.remaining(mask) for file, mask in matching], {"delete": self._matched(matching)}
        rewrite = None if hides_rows(snapshot) else self._written(by, remaining, deleted)
        proposal = delete_rows(
            Delete(where=where), snapshot, self._touched(matching), rewrite, self.log.circumstances(by), reads=Reads()
        )
        self.rows = self._without(predicate)
        self.commit(by, proposal)

    def update(
        self, by: DemoProvenance, where: str, predicate: Predicate, assigned: Mapping[str, str], change: Change
    ) -> None:
        """Run UPDATE: mask the old rows or rewrite their files, and write the new ones."""
        matching = list(self._matching(predicate))
        matched = self._matched(matching)
        self.rows = self._concat(self._without(predicate), change(self.rows.filter(predicate(self.rows))))
        intent = Update(set=dict(assigned), where=where)
        changes = {"update_preimage": matched, "update_postimage": change(matched)}
        self._change(by, intent, matching, RowCounts(updated=matched.num_rows), changes)

    def merge(self, by: DemoProvenance, source: pa.Table, key: str) -> None:
        """Run MERGE on a key: matched rows take the source's values, the others are inserted."""

        def matches(rows: pa.Table) -> pa.ChunkedArray:
            return pc.is_in(rows.column(key), value_set=source.column(key).combine_chunks())

        matching = list(self._matching(matches))
        matched, known = self._matched(matching), pc.is_in(source.column(key), value_set=self.rows.column(key))
        changes = {
            "update_preimage": matched,
            "update_postimage": source.filter(known),
            "insert": source.filter(pc.invert(known)),
        }
        inserted = changes["insert"].num_rows
        counts = RowCounts(updated=matched.num_rows, inserted=inserted, source=source.num_rows)
        self.rows = self._concat(self.rows.filter(pc.invert(matches(self.rows))), source)
        intent = Merge(
            source="rows", on=f"target.{key} = source.{key}", matched=({"update": "*"},),
            not_matched=({"insert": "*"},) if inserted else (),
        )  # fmt: skip
        self._change(by, intent, matching, counts, changes)

    def optimize(self, by: DemoProvenance, where: str | None = None, target_size: int | None = None) -> None:
        """Run OPTIMIZE: the small files of each partition become one, without the masked rows; no data changes."""
        intent, snapshot = Optimize(where=where, target_size=target_size), self.log.snapshot
        plan = compaction(intent, snapshot, {})
        groups: dict[int, list[pa.Table]] = {}
        for file in self.live():
            if file.add.path in plan.arrangement.groups:
                groups.setdefault(plan.arrangement.groups[file.add.path], []).append(file.remaining())
        order = [(name, "ascending") for name in plan.arrangement.order]
        joined = [self._concat(*groups[number]) for number in sorted(groups)]
        written = self._written(by, [rows.sort_by(order) if order else rows for rows in joined])
        proposal = optimize_files(intent, snapshot, plan, written, self.log.circumstances(by))
        self.commit(by, proposal)

    def purge(self, by: DemoProvenance) -> None:
        """Run REORG APPLY (PURGE): rewrite files with deletion vectors without the masked rows."""
        snapshot, circumstances = self.log.snapshot, self.log.circumstances(by)
        touched = touched_files(self.log.store, snapshot, files_to_purge(snapshot, None, ()), {})
        paths = {file.add.path for file in touched}
        written = self._written(by, [file.remaining() for file in self.live() if file.add.path in paths])
        self.commit(by, purge_rows(snapshot, touched, written, circumstances))

    def restore(self, by: DemoProvenance, version: int) -> None:
        """Run RESTORE to an earlier version."""
        snapshot, target = self.log.snapshot, self.log.past(version)
        proposal = restore(Restore(version=version), snapshot, target, {}, self.log.circumstances(by))
        self.rows = self.versions[version]
        self.commit(by, proposal)

    def commit(self, by: DemoProvenance, proposal: Proposal) -> None:
        """Commit, and record the rows of the version."""
        self.log.commit(by, proposal)
        self.removed.update((decode_path(remove.path), milliseconds(by.at)) for remove in proposal.removes)
        self.versions[self.log.version] = self.rows

    def live(self) -> Iterator[DemoFile]:
        """Yield the files of the newest version."""
        snapshot = self.log.snapshot
        for add in adds(snapshot.logical_files, data_change=True):
            path = decode_path(add.path)
            rows = logical_rows(self._stored[path], add.partition_values, snapshot.schema)
            masked = np.zeros(rows.num_rows, np.bool_)
            if add.deletion_vector is not None:
                masked[read_rows(self.log.store, add.deletion_vector).astype(np.int64)] = True
            yield DemoFile(path, add, rows, masked)

    def _addition(self, by: DemoProvenance, rows: pa.Table, rows_per_file: int) -> Addition:
        schema = self.schema
        given = [field.name for field in schema.fields if IDENTITY_START not in field.metadata]
        numbered = numberings(schema, given, rows.num_rows)
        for one in numbered:
            rows = _filled(rows, one)
        written = self._written(by, [rows], rows_per_file=rows_per_file)
        marks = {one.column: one.last(rows.num_rows) for one in numbered}
        return Addition(moved(schema, marks), rows.num_rows, (), written.adds)

    def _change(
        self, by: DemoProvenance, intent: Update | Merge, matching: Sequence[_Matching], counts: RowCounts,
        changes: Mapping[str, pa.Table],
    ) -> None:  # fmt: skip
        """Commit new rows in the place of those that match; the changes have both, by what happened to them."""
        snapshot, masked = self.log.snapshot, hides_rows(self.log.snapshot)
        new = self._concat(*(rows for kind, rows in changes.items() if kind != "update_preimage"))
        written = self._written(
            by, [new, *(() if masked else (file.remaining(mask) for file, mask in matching))], changes
        )
        proposal = change_rows(
            intent, snapshot, self._touched(matching), counts, written, circumstances=self.log.circumstances(by),
            masked=masked, guards=(), reads=Reads(),
        )  # fmt: skip
        self.commit(by, proposal)

    def _written(
        self,
        by: DemoProvenance,
        tables: Sequence[pa.Table],
        changes: Mapping[str, pa.Table] | None = None,
        rows_per_file: int = ROWS_PER_FILE,
    ) -> Written:
        """Write rows as new files, those of a table together, and changes by type where the table records them."""
        layout = FileLayout.of(self.log.snapshot)
        nonempty = {kind: rows for kind, rows in (changes or {}).items() if rows.num_rows}
        recorded = [
            layout.change_of(facts)
            for kind, rows in (nonempty.items() if records_changes(self.log.snapshot) else ())
            for facts in self._files(by, _marked(rows, kind), ROWS_PER_FILE, changes=True)
        ]
        made = [facts for rows in tables for facts in self._files(by, rows, rows_per_file)]
        return Written(tuple(map(layout.add_of, made)), tuple(recorded), sum(facts.rows for facts in made))

    def _files(
        self, by: DemoProvenance, rows: pa.Table, rows_per_file: int, *, changes: bool = False
    ) -> Iterator[NewFileFacts]:
        """Write files with names that are the same in every build, at the time of the story."""
        layout, at = FileLayout.of(self.log.snapshot), self.log.circumstances(by)
        plan = file_plan(layout, changes=changes, most_rows=rows_per_file)
        plan = dataclasses.replace(plan, new_id=at.new_id, durable=False)
        for facts in write_rows(self.log.store, layout, plan, rows).files:
            self.log.date(facts.location, at.now)
            self._stored[facts.location] = stored_rows(self.log.store.read(facts.location))
            yield msgspec.structs.replace(facts, written_at=at.now)

    def _without(self, predicate: Predicate) -> pa.Table:
        """Return the rows that do not match."""
        return self.rows.filter(pc.invert(pc.fill_null(predicate(self.rows), False)))

    def _matched(self, matching: Sequence[_Matching]) -> pa.Table:
        return self._concat(*(file.rows.filter(pa.array(mask)) for file, mask in matching))

    def _touched(self, matching: Sequence[_Matching]) -> tuple[Touched, ...]:
        matched = {file.path: np.flatnonzero(mask).astype(np.uint64) for file, mask in matching}
        return tuple(touched_files(self.log.store, self.log.snapshot, matched, {}))

    def _matching(self, predicate: Predicate) -> Iterator[_Matching]:
        """Yield live files with rows that match, and which visible rows do."""
        for file in self.live():
            flags = pc.fill_null(predicate(file.rows), False)
            mask = flags.combine_chunks().to_numpy(zero_copy_only=False) & ~file.masked
            if mask.any():
                yield file, mask

    def _concat(self, *parts: pa.Table) -> pa.Table:
        empty = arrow_schema(self.schema).empty_table()
        return pa.concat_tables([empty, *(part.select(empty.column_names).cast(empty.schema) for part in parts)])


def _filled(rows: pa.Table, one: Numbering) -> pa.Table:
    """Return rows with the values of an identity column."""
    values = pa.array([one.first + one.step * row for row in range(rows.num_rows)], pa.int64())
    return rows.set_column(rows.column_names.index(one.column), one.column, values)


def _marked(rows: pa.Table, change_type: str) -> pa.Table:
    return rows.append_column(CHANGE_TYPE, pa.array([change_type] * rows.num_rows, pa.string()))


def _clustered(proposal: Proposal, columns: Sequence[str]) -> Proposal:
    assert proposal.protocol is not None
    domain = {"clusteringColumns": [[column] for column in columns], "domainName": CLUSTERING}
    return msgspec.structs.replace(
        proposal,
        protocol=with_features(proposal.protocol, ["clustering"]),
        parameters={**proposal.parameters, "clusterBy": _text(list(columns))},
        domains=(DomainMetadata(domain=CLUSTERING, configuration=_text(domain), removed=False),),
    )


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
