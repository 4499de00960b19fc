"""Overwriting: new rows replace all rows, those that meet a condition, or those of the partitions they are in.

Protocol sections: Add File and Remove File, Deletion Vectors, Add CDC File. Invariants: what goes and what comes is one
commit; a file of which only some rows go is masked or rewritten as in a deletion; a commit that records some changes
records all of them (CDF-005).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from explorer.core.protocol.actions import Add
from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.protocol.counted import counted
from explorer.core.protocol.json_values import JsonObject
from explorer.core.transaction.commit_info import IDENTITY_TAG
from explorer.core.transaction.intents.records import Overwrite
from explorer.core.transaction.new_files.file_actions import adds, num_records, number_rows, remove_of
from explorer.core.transaction.new_files.file_facts import Touched
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal, Written
from explorer.core.transaction.proposals.rows.append_rows import moved
from explorer.core.transaction.proposals.rows.delete_rows import (
    NOTHING_APPEARS,
    hide_rows,
    records_changes,
    row_id_tags,
)
from explorer.core.versions.reads import Reads, partitions_of
from explorer.core.versions.snapshot import Snapshot


class ReplacedRows(msgspec.Struct, frozen=True):
    """What goes.

    Attributes:
        files: Files that go.
        partial: Files of which some rows go.
        matched: Rows that the condition of the intent removes; None where files are replaced without reading rows.
        touched: All files in which the condition is met.
    """

    files: tuple[Add, ...]
    partial: tuple[Touched, ...] = ()
    matched: int | None = None
    touched: tuple[Touched, ...] = ()

    @property
    def rows(self) -> int | None:
        """Rows that go; None where a file does not record how many it has."""
        if self.matched is not None:
            return self.matched
        counts = [_live_rows(add) for add in self.files]
        return None if None in counts else sum(filter(None, counts))

    def files_to_read(self, recorded: bool) -> tuple[Touched, ...]:
        """Return the files whose rows have to be read: those that keep rows, and all where what goes is recorded."""
        return self.touched if recorded else self.partial


def replaced_files(snapshot: Snapshot, partitions: Collection[tuple[str | None, ...]] | None) -> ReplacedRows:
    """Return all live files, or those of some partitions.

    Args:
        partitions: Values in the order of the partition columns, as the log has them; None for all.
    """
    files = snapshot.logical_files
    if partitions is None:
        return ReplacedRows(adds(files, data_change=True))
    partition_of_files = partitions_of(snapshot, files.column("partition_values"))
    chosen = [place for place, values in enumerate(partition_of_files) if values in partitions]
    return ReplacedRows(adds(files.take(int64s(chosen)), data_change=True))


def overwrite_rows(
    intent: Overwrite,
    snapshot: Snapshot,
    replaced: ReplacedRows,
    written: Written,
    *,
    new_rows: int,
    circumstances: Circumstances,
    masked: bool,
    guards: Sequence[GuardResult],
    reads: Reads,
) -> Proposal:
    """Overwrite rows.

    Args:
        written: The files of the new rows, and of the rows that stay where files are rewritten.
        masked: Rows that go are masked; otherwise their files are rewritten.
    """
    hidden, staged = hide_rows(replaced.partial, circumstances) if masked else ((), ())
    fresh, mark, faults = number_rows(written.adds, snapshot.row_tracking, snapshot.version + 1)
    removed = (*replaced.files, *(file.add for file in replaced.partial))
    schema = moved(snapshot.schema, written.marks)
    numbered = schema != snapshot.schema
    return Proposal(
        operation="WRITE",
        parameters=_parameters(intent),
        metadata=msgspec.structs.replace(snapshot.metadata, schema_string=schema.to_json()) if numbered else None,
        adds=(*hidden, *fresh),
        removes=tuple(remove_of(add, now=circumstances.now, data_change=True) for add in removed),
        change_files=written.changes,
        domains=mark,
        metrics=_metrics(replaced, written, masked=masked, new_rows=new_rows),
        tags={**(row_id_tags(snapshot) if replaced.partial else {}), **({IDENTITY_TAG: "true"} if numbered else {})},
        is_blind_append=False,
        reads_files=True,
        reads=reads,
        staged=staged,
        guards=(*guards, *faults, _matches_guard(new_rows, len(removed), replaced.rows)),
        change_feed=_feed(new_rows, replaced.rows) if records_changes(snapshot) else None,
        undo=f"Restore version {snapshot.version}, as long as its files are not vacuumed.",
    )


def _parameters(intent: Overwrite) -> JsonObject:
    parameters: JsonObject = {"mode": "Overwrite", "partitionBy": "[]"}
    if intent.where is not None:
        parameters["predicate"] = intent.where
    if intent.partitions:
        parameters["isDynamicPartitionOverwrite"] = True
    return parameters


def _metrics(replaced: ReplacedRows, written: Written, *, masked: bool, new_rows: int) -> dict[str, str]:
    rewritten = [] if masked else [file.add for file in replaced.partial]
    copied = 0 if masked else sum(file.rows_left for file in replaced.partial)
    numbers = {
        "numFiles": len(written.adds),
        "numOutputRows": new_rows + copied,
        "numOutputBytes": sum(add.size for add in written.adds),
        "numRemovedFiles": len(replaced.files) + len(rewritten),
        "numRemovedBytes": sum(add.size for add in (*replaced.files, *rewritten)),
    }
    if replaced.matched is not None:
        numbers |= {
            "numDeletedRows": replaced.matched,
            "numCopiedRows": copied,
            "numAddedChangeFiles": len(written.changes),
        }
    return {name: str(number) for name, number in numbers.items()}


def _live_rows(add: Add) -> int | None:
    """Return the rows of a file that no vector masks."""
    rows = num_records(add)
    return None if rows is None else rows - (0 if add.deletion_vector is None else add.deletion_vector.cardinality)


def _feed(new: int, old_rows: int | None) -> str:
    old = "rows of the files that go" if old_rows is None else counted(old_rows, "row") if old_rows else ""
    appear = {"inserted": counted(new, "row") if new else "", "deleted": old}
    changes = [(rows, what) for what, rows in appear.items() if rows]
    if not changes:
        return NOTHING_APPEARS
    (first, what), *rest = changes
    others = "".join(f", {rows} as {done}" for rows, done in rest)
    return f"{first[0].upper()}{first[1:]} will appear as {what}{others}."


def _replacing(rows: int, files: int, old_rows: int | None) -> str:
    if not files:
        return f"{counted(rows, 'new row')}, and no row is removed."
    old = "an unknown number of rows" if old_rows is None else counted(old_rows, "row")
    if not rows:
        verb = "goes" if old_rows == 1 else "go"
        return f"{old[0].upper()}{old[1:]} in {counted(files, 'file')} {verb}, and none comes."
    return f"{counted(rows, 'row replaces', 'rows replace')} {old} in {counted(files, 'file')}."


def _matches_guard(rows: int, files: int, old_rows: int | None) -> GuardResult:
    evidence: dict[str, object] = {"rows": rows, "files": files, "rowsGone": old_rows}
    if rows or files:
        detail = _replacing(rows, files, old_rows)
        return GuardResult("rows-found", "pass", evidence | {"detail": detail})
    detail = "There are no rows to replace and none to write, so there is nothing to commit."
    return GuardResult("rows-found", "fail", evidence | {"detail": detail})
