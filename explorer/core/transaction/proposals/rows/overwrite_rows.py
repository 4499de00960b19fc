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
from explorer.core.transaction.proposals.rows.delete_rows import NOTHING_APPEARS, hide_rows, kept_tags, records_changes
from explorer.core.versions.reads import Reads, partitions_of
from explorer.core.versions.snapshot import Snapshot

__all__ = ["Replaced", "overwrite_rows", "replaced_files"]


class Replaced(msgspec.Struct, frozen=True):
    """What goes.

    Attributes:
        whole: Files that go.
        partial: Files of which some rows go.
        matched: Rows that go with the condition of the intent; None where whole files go without a look at rows.
        touched: All files in which the condition is met.
    """

    whole: tuple[Add, ...]
    partial: tuple[Touched, ...] = ()
    matched: int | None = None
    touched: tuple[Touched, ...] = ()

    @property
    def rows(self) -> int | None:
        """Rows that go; None where a file does not record how many it has."""
        if self.matched is not None:
            return self.matched
        counts = [_live_rows(add) for add in self.whole]
        return None if None in counts else sum(filter(None, counts))

    def looked_into(self, recorded: bool) -> tuple[Touched, ...]:
        """The files whose rows have to be read: those that keep rows, and all where what goes is recorded."""
        return self.touched if recorded else self.partial


def replaced_files(snapshot: Snapshot, partitions: Collection[tuple[str | None, ...]] | None) -> Replaced:
    """All live files, or those of some partitions.

    Args:
        snapshot: The newest version.
        partitions: Values in the order of the partition columns, as the log has them; None for all.
    """
    files = snapshot.logical_files
    if partitions is None:
        return Replaced(adds(files, data_change=True))
    found = partitions_of(snapshot, files.column("partition_values"))
    chosen = [place for place, values in enumerate(found) if values in partitions]
    return Replaced(adds(files.take(int64s(chosen)), data_change=True))


def overwrite_rows(
    intent: Overwrite,
    snapshot: Snapshot,
    replaced: Replaced,
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
        intent: What was asked for.
        snapshot: The newest version.
        replaced: What goes.
        written: The files of the new rows, and of the rows that stay where files are rewritten.
        new_rows: How many new rows there are.
        circumstances: The present and fresh identifiers.
        masked: Rows that go are masked; otherwise their files are rewritten.
        guards: The table's rules, judged over the new rows.
        reads: What of the table it depends on.
    """
    hidden, staged = hide_rows(replaced.partial, circumstances) if masked else ((), ())
    fresh, mark, faults = number_rows(written.adds, snapshot.row_tracking, snapshot.version + 1)
    gone = (*replaced.whole, *(file.add for file in replaced.partial))
    schema = moved(snapshot.schema, written.marks)
    numbered = schema != snapshot.schema
    return Proposal(
        operation="WRITE",
        parameters=_parameters(intent),
        metadata=msgspec.structs.replace(snapshot.metadata, schema_string=schema.to_json()) if numbered else None,
        adds=(*hidden, *fresh),
        removes=tuple(remove_of(add, now=circumstances.now, data_change=True) for add in gone),
        change_files=written.changes,
        domains=mark,
        metrics=_metrics(replaced, written, masked=masked, new_rows=new_rows),
        tags={**(kept_tags(snapshot) if replaced.partial else {}), **({IDENTITY_TAG: "true"} if numbered else {})},
        is_blind_append=False,
        reads_files=True,
        reads=reads,
        staged=staged,
        guards=(*guards, *faults, _found(new_rows, len(gone), replaced.rows)),
        change_feed=_feed(new_rows, replaced.rows) if records_changes(snapshot) else None,
        undo=f"Restore version {snapshot.version}, as long as its files are not vacuumed.",
    )


def _parameters(intent: Overwrite) -> JsonObject:
    told: JsonObject = {"mode": "Overwrite", "partitionBy": "[]"}
    if intent.where is not None:
        told["predicate"] = intent.where
    if intent.partitions:
        told["isDynamicPartitionOverwrite"] = True
    return told


def _metrics(replaced: Replaced, written: Written, *, masked: bool, new_rows: int) -> dict[str, str]:
    rewritten = [] if masked else [file.add for file in replaced.partial]
    copied = 0 if masked else sum(file.rows_left for file in replaced.partial)
    numbers = {
        "numFiles": len(written.adds),
        "numOutputRows": new_rows + copied,
        "numOutputBytes": sum(add.size for add in written.adds),
        "numRemovedFiles": len(replaced.whole) + len(rewritten),
        "numRemovedBytes": sum(add.size for add in (*replaced.whole, *rewritten)),
    }
    if replaced.matched is not None:
        numbers |= {
            "numDeletedRows": replaced.matched,
            "numCopiedRows": copied,
            "numAddedChangeFiles": len(written.changes),
        }
    return {name: str(number) for name, number in numbers.items()}


def _live_rows(add: Add) -> int | None:
    """Rows of a file that no vector masks."""
    rows = num_records(add)
    return None if rows is None else rows - (0 if add.deletion_vector is None else add.deletion_vector.cardinality)


def _feed(new: int, gone: int | None) -> str:
    old = "rows of the files that go" if gone is None else counted(gone, "row") if gone else ""
    appear = {"inserted": counted(new, "row") if new else "", "deleted": old}
    told = [(rows, what) for what, rows in appear.items() if rows]
    if not told:
        return NOTHING_APPEARS
    (first, what), *rest = told
    others = "".join(f", {rows} as {done}" for rows, done in rest)
    return f"{first[0].upper()}{first[1:]} will appear as {what}{others}."


def _replacing(rows: int, files: int, gone: int | None) -> str:
    if not files:
        return f"{counted(rows, 'new row')}, and no row goes."
    old = "an unknown number of rows" if gone is None else counted(gone, "row")
    if not rows:
        return f"{old[0].upper()}{old[1:]} in {counted(files, 'file')} {'goes' if gone == 1 else 'go'}, and none comes."
    return f"{counted(rows, 'row replaces', 'rows replace')} {old} in {counted(files, 'file')}."


def _found(rows: int, files: int, gone: int | None) -> GuardResult:
    evidence: dict[str, object] = {"rows": rows, "files": files, "rowsGone": gone}
    if rows or files:
        detail = _replacing(rows, files, gone)
        return GuardResult("rows-found", "pass", evidence | {"detail": detail})
    detail = "There are no rows to replace and none to write, so there is nothing to commit."
    return GuardResult("rows-found", "fail", evidence | {"detail": detail})
