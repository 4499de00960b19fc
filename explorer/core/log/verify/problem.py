"""A fault of a log, and the kinds that keep versions from being read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

BREAKING: Final = frozenset(
    {
        *("gap", "truncated-log", "two-names", "unreadable-commit", "unreadable-checkpoint"),
        *("no-metadata", "no-protocol", "invalid-metadata", "invalid-protocol"),
        *("lost-version", "checkpoint-short", "invalid-file-values"),
    }
)
"""Kinds of problems that keep versions from being read."""
_REWRITE: Final = "Write it again with `plan` and `commit` of checkpoint, if it is the newest; else restore it."
_HARMLESS: Final = "Nothing: readers skip it. You may delete the file."
_WRITER: Final = "Update the client that wrote the commit; the history names it."
_STEPS: Final[Mapping[str, str]] = {
    "gap": "Restore the missing commits from a backup.",
    "truncated-log": "Restore the missing commits, or a checkpoint, from a backup.",
    "two-names": "Move the wrong one of the two files out of the log.",
    "unreadable-commit": "Follow the advice in the detail, or restore the file from a backup.",
    "unreadable-checkpoint": "Restore the file, or the commits before it, from a backup.",
    "no-metadata": "Restore the commit that sets the metadata from a backup.",
    "no-protocol": "Restore the commit that sets the protocol from a backup.",
    "invalid-metadata": "Restore the file from a backup, or set the metadata again with the client that wrote it.",
    "invalid-protocol": "Restore the file from a backup, or set the protocol again with the client that wrote it.",
    "lost-version": "Restore the missing log files from a backup. If they were deleted on purpose, delete this too.",
    "checkpoint-short": "Restore the checkpoint, or the commits before it, from a backup: rows are lost.",
    "invalid-file-values": "Remove the file from the table, and add it again with valid values.",
    "empty-partition-value": "If the file is still live, set the partition column to NULL with `plan` and `commit`.",
    "damaged-checkpoint": _REWRITE,
    "checkpoint-differs": _REWRITE,
    "incomplete-checkpoint": "Nothing: readers do without it. You may delete its files.",
    "hint-differs": "Write a checkpoint, which renews the hint.",
    "stale-hint": "Nothing: the next checkpoint renews it.",
    "unusable-hint": "Nothing, unless a version is lost as well: the next checkpoint renews it.",
    "spread-action": "Write a checkpoint, so that clients that read line by line begin after this commit.",
    "empty-commit": "Check its writer: it was interrupted, or the commit changes nothing.",
    "unknown-action": f"Compare the commit with its source: readers skip the line, or a part of it. {_WRITER}",
    "missing-member": f"Write a checkpoint with `plan` and `commit`, which adds it: readers begin there. {_WRITER}",
    "checkpoint-types": "After the next commit, write a checkpoint with `plan` and `commit`: readers begin there.",
    "duplicate-action": _WRITER,
    "contradictory-action": _WRITER,
    "unremoved-vector": _WRITER,
    "misplaced-action": _WRITER,
    "clock-went-back": _WRITER,
    "no-in-commit-timestamp": _WRITER,
    "checksum-differs": "Delete the checksum file: clients work without it.",
    "unreadable-checksum": "Delete the checksum file: clients work without it.",
    "compaction-differs": "Delete the compaction: the commits have all actions that it replaces.",
    "stray-compaction": "Keep it unless the commits that it names were deleted on purpose: readers skip it.",
    "unusual-name": "While nobody writes, give its version 20 digits, or move the file out of the log.",
    "orphan-file": _HARMLESS,
    "commit-short": "Compare the rows with their source, then write again what the commit lacks.",
    "metrics-differ": f"Do not rely on the metrics of this commit. {_WRITER}",
    "impossible-number": "Find out whether commits were lost or replaced, then update the client that wrote it.",
    "former-property": "Set the property under the name in the detail.",
}


class LogProblem(msgspec.Struct, frozen=True):
    """One fault.

    Attributes:
        kind: ``gap``, ``truncated-log``, ``two-names``, ``unreadable-commit``, ``unreadable-checkpoint``,
            ``no-metadata``, ``no-protocol``, ``invalid-metadata``, ``invalid-protocol``, ``lost-version`` (files of the
            log name a newer version than any commit or checkpoint), ``checkpoint-short`` (it has fewer actions than
            were written to it, and no commits replace them), ``invalid-file-values`` (no reader can decode the values
            of a file in an action; all of these: versions cannot be read, or not in full);
            ``empty-partition-value`` (an empty string, which only some clients take for NULL),
            ``damaged-checkpoint`` (it cannot be read, and readers that can begin earlier do without it),
            ``hint-differs`` (the hint states other numbers than its checkpoint has), ``empty-commit`` (a commit of
            zero bytes), ``unusual-name`` (a version with more or fewer than 20 digits, which some
            clients skip), ``spread-action`` (an action is written over several lines), ``unknown-action`` (a line is
            not one action of the protocol), ``missing-member`` (an action lacks a member that the protocol requires,
            and some clients refuse it), ``checkpoint-types`` (a checkpoint has columns of other types than the
            protocol's, and some clients refuse it),
            ``duplicate-action``, ``contradictory-action``, ``unremoved-vector``, ``misplaced-action``,
            ``clock-went-back``, ``no-in-commit-timestamp``, ``incomplete-checkpoint`` (it lacks a part or a sidecar,
            and readers do without it), ``checkpoint-differs``, ``checksum-differs``, ``unreadable-checksum``,
            ``compaction-differs``, ``unusable-hint``, ``stale-hint``, ``stray-compaction``, ``orphan-file``,
            ``commit-short`` (its metrics record rows or files that its actions lack), ``metrics-differ`` (other numbers
            that its actions contradict), ``impossible-number`` (its own version or the row ids given so far contradict
            it), ``former-property`` (a property with an older name, which has no effect).
        version: The version it is about, None for the log as a whole.
        file: Key of the file below the table's root.
        detail: The actual and the expected value.
    """

    kind: str
    version: int | None
    file: str
    detail: str

    @property
    def next_step(self) -> str:
        """The next step."""
        return _STEPS[self.kind]

    @property
    def breaking(self) -> bool:
        """Whether versions cannot be read because of it."""
        return self.kind in BREAKING
