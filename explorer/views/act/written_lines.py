"""What a plan would write, in a few lines: properties, columns, protocol, files; for maintenance, the files and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.schema.column_mapping import mapping_mode
from explorer.core.transaction.commit_plan import CommitPlan, MaintenanceFile, MaintenancePlan, MaintenanceResult, Plan
from explorer.core.transaction.consequences import file_moves
from explorer.core.transaction.intents.records import CleanLog, CompactLog, Vacuum
from explorer.core.transaction.proposal import Estimate, Proposal
from explorer.core.versions.diff import ColumnChange, PropertyChange, diff_metadata, diff_properties, diff_protocols
from explorer.core.versions.snapshot import Snapshot

ADDED: Final = "+"
REMOVED: Final = "\u2212"
CHANGED: Final = "\u25c7"
SAME: Final = "\u00b7"
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class WrittenLine:
    """One change: ``+`` added, ``\u2212`` removed, ``~`` changed, ``\u00b7`` unchanged; what, and to what."""

    sign: str
    subject: str
    detail: str = ""


def written_lines(proposal: Proposal, snapshot: Snapshot) -> tuple[WrittenLine, ...]:
    """Compare a proposal with the version it is based on."""
    lines = [
        *_metadata(proposal, snapshot),
        *_protocol(proposal, snapshot),
        *_small(proposal),
        *_files(proposal, snapshot),
    ]
    if len(lines) > _SHOWN:
        rest = WrittenLine(SAME, f"{len(lines) - _SHOWN} more changes", "in the actions themselves")
        return (*lines[:_SHOWN], rest)
    return tuple(lines)


def _metadata(proposal: Proposal, snapshot: Snapshot) -> Iterator[WrittenLine]:
    before, after = snapshot.metadata, proposal.metadata
    if after is None:
        yield WrittenLine(SAME, "metadata", "unchanged")
        return
    changes = diff_properties(before.configuration, after.configuration)
    yield from (_property(change) for change in changes)
    protocol = proposal.protocol or snapshot.protocol
    modes = snapshot.column_mapping_mode, mapping_mode(after.configuration, protocol)
    columns = diff_metadata(before, after, modes)
    yield from (_column(change) for change in columns)
    others = [("description", before.description, after.description), ("name", before.name, after.name)]
    partitions = [", ".join(item.partition_columns) or None for item in (before, after)]
    others.append(("partition columns", partitions[0], partitions[1]))
    changed = [PropertyChange(key, was, now) for key, was, now in others if was != now]
    yield from (_property(change) for change in changed)
    if not (changes or columns or changed):
        yield WrittenLine(SAME, "metadata", "rewritten, the same logical names")


def _property(change: PropertyChange) -> WrittenLine:
    if change.before is None:
        return WrittenLine(ADDED, change.key, change.after or "")
    if change.after is None:
        return WrittenLine(REMOVED, change.key, f"was {change.before}")
    return WrittenLine(CHANGED, change.key, f"{change.before} \u2192 {change.after}")


def _column(change: ColumnChange) -> WrittenLine:
    match change.kind:
        case "added":
            return WrittenLine(ADDED, f"column {change.column}", change.after or "")
        case "dropped":
            return WrittenLine(REMOVED, f"column {change.column}", f"was {change.before}")
        case _:
            before, after = change.before or "none", change.after or "none"
            return WrittenLine(CHANGED, f"column {change.column}", f"{change.kind}: {before} \u2192 {after}")


def _protocol(proposal: Proposal, snapshot: Snapshot) -> Iterator[WrittenLine]:
    before = snapshot.protocol
    now = f"({before.min_reader_version}, {before.min_writer_version})"
    change = None if proposal.protocol is None else diff_protocols(before, proposal.protocol)
    if change is None:
        yield WrittenLine(SAME, "protocol", f"unchanged {now}")
        return
    after = f"({change.after.min_reader_version}, {change.after.min_writer_version})"
    yield WrittenLine(CHANGED, "protocol", now if now == after else f"{now} \u2192 {after}")
    readers = set(change.after.reader_features or ())
    for name in change.features_added:
        yield WrittenLine(ADDED, f"feature {name}", "binds readers and writers" if name in readers else "binds writers")
    for name in change.features_removed:
        yield WrittenLine(REMOVED, f"feature {name}")


def _small(proposal: Proposal) -> Iterator[WrittenLine]:
    for transaction in proposal.transactions:
        yield WrittenLine(ADDED, f"transaction {transaction.app_id}", str(transaction.version))
    for domain in proposal.domains:
        yield WrittenLine(REMOVED if domain.removed else ADDED, f"domain {domain.domain}")


def _expected(estimate: Estimate) -> tuple[str, str]:
    """Return the expected actions, as far as a plan knows them."""
    files = "new files" if not estimate.files else fmt.plural(estimate.files, "new file")
    rows = "rows not counted" if estimate.rows is None else fmt.plural(estimate.rows, "row")
    return files, rows if estimate.bytes is None else f"{rows}, about {fmt.size(estimate.bytes)}"


def _files(proposal: Proposal, snapshot: Snapshot) -> Iterator[WrittenLine]:
    if proposal.estimate is not None and proposal.estimate.rows == 0:
        yield WrittenLine(SAME, "no new data file", "because no row is written")
    elif proposal.estimate is not None:
        yield WrittenLine(ADDED, *_expected(proposal.estimate))
    elif not (proposal.adds or proposal.removes or proposal.change_files):
        yield WrittenLine(SAME, "no data file", "is added or removed")
        return
    moves = file_moves(snapshot, proposal)
    if moves.added:
        size = fmt.size(sum(add.size or 0 for add in moves.added))
        yield WrittenLine(ADDED, fmt.plural(len(moves.added), "file"), size)
    if moves.removed:
        stays = "stays until a vacuum" if len(moves.removed) == 1 else "stay until a vacuum"
        yield WrittenLine(REMOVED, fmt.plural(len(moves.removed), "file"), stays)
    if moves.tombstones:
        yield WrittenLine(ADDED, fmt.plural(len(moves.tombstones), "tombstone"), "of files that are no longer live")
    if moves.remasked:
        masks = "stays and masks other rows" if len(moves.remasked) == 1 else "stay and mask other rows"
        yield WrittenLine(CHANGED, fmt.plural(len(moves.remasked), "file"), masks)
    if moves.described:
        is_ = "gets new statistics" if len(moves.described) == 1 else "get new statistics"
        yield WrittenLine(CHANGED, fmt.plural(len(moves.described), "file"), f"{is_}; the rows stay the same")
    if proposal.change_files:
        yield WrittenLine(ADDED, fmt.plural(len(proposal.change_files), "file"), "of the change data feed")


SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file to write or delete: its key under the table's root, its size in words, and why."""

    sign: str
    tone: str
    path: str
    size: str
    reason: str


def planned_files(files: Sequence[MaintenanceFile]) -> tuple[PlannedFile, ...]:
    """Return the first files of a plan that writes no commit."""
    return tuple(
        PlannedFile(
            REMOVED if file.change == "delete" else ADDED,
            "removed" if file.change == "delete" else "added",
            file.path,
            "" if file.size is None else fmt.size(file.size),
            file.reason or "",
        )
        for file in files[:SHOWN]
    )


def file_lines(plan: MaintenancePlan) -> tuple[WrittenLine, ...]:
    """Say in a few lines which files would be written or deleted; no version is written."""
    deleted = [file for file in plan.files if file.change == "delete"]
    written = [file for file in plan.files if file.change != "delete"]
    lines = [WrittenLine(ADDED, fmt.plural(len(written), "file"), _size(written))] if written else []
    lines += [WrittenLine(REMOVED, fmt.plural(len(deleted), "file"), _size(deleted))] if deleted else []
    lines += [] if lines else [WrittenLine(SAME, "no file", "is written or deleted")]
    return (*lines, WrittenLine(SAME, "no commit:", f"the table stays at v{plan.read_version}"))


def doing(plan: Plan) -> str:
    """Return the label of the button that carries out the plan."""
    if isinstance(plan, CommitPlan):
        return f"Commit v{plan.commit_version}"
    match plan.intent:
        case CleanLog() | Vacuum():
            return f"Delete {fmt.plural(len(plan.files), 'file')}" if plan.files else "Delete nothing"
        case CompactLog():
            return "Write the compaction"
        case _:
            return "Write the checkpoint"


def done_title(result: MaintenanceResult) -> str:
    """Say what was done, where no commit was written."""
    deleted = sum(file.change == "delete" for file in result.plan.files)
    written = len(result.plan.files) - deleted
    texts = [
        f"{fmt.plural(count, 'file')} {verb}" for count, verb in ((written, "written"), (deleted, "deleted")) if count
    ]
    return " and ".join(texts) or "Nothing remained to be done"


def done_facts(result: MaintenanceResult, approved: MaintenancePlan) -> list[tuple[str, str]]:
    """Return the facts of the result that are worth keeping."""
    files = result.plan.files
    facts = [("files", fmt.plural(len(files), "file") if files else "none")]
    if any(file.size is not None for file in files):
        facts.append(("size", _size(files)))
    if skipped := len(approved.files) - len(files):
        facts.append(
            ("left", f"{fmt.plural(skipped, 'file')} of the plan, which {'is' if skipped == 1 else 'are'} needed now")
        )
    return facts


def _size(files: Sequence[MaintenanceFile]) -> str:
    return fmt.size(sum(file.size or 0 for file in files)) if any(file.size is not None for file in files) else ""
