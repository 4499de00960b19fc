"""Plans that write no commit, as a person reads them: the files to write or delete, why each, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer import formatting as fmt
from explorer.core.transaction.commit_plan import CommitPlan, MaintenanceFile, MaintenancePlan, MaintenanceResult, Plan
from explorer.core.transaction.intents.records import CleanLog, CompactLog, Vacuum
from explorer.views.act.written_lines import ADDED, REMOVED, SAME, WrittenLine

__all__ = ["PlannedFile", "doing", "done_facts", "done_title", "file_lines", "planned_files"]

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
