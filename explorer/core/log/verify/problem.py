"""A fault of a log, and which kinds of them keep versions from being read."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["BREAKING", "Problem"]

BREAKING: Final = frozenset(
    {
        *("gap", "truncated-log", "two-names", "unreadable-commit", "unreadable-checkpoint"),
        *("no-metadata", "no-protocol", "invalid-metadata", "invalid-protocol"),
        *("lost-version", "checkpoint-short", "invalid-file-values"),
    }
)
"""Kinds of problems that keep versions from being read."""


class Problem(msgspec.Struct, frozen=True):
    """One fault.

    Attributes:
        kind: ``gap``, ``truncated-log``, ``two-names``, ``unreadable-commit``, ``unreadable-checkpoint``,
            ``no-metadata``, ``no-protocol``, ``invalid-metadata``, ``invalid-protocol``, ``lost-version`` (files of the
            log name a newer version than any commit or checkpoint), ``checkpoint-short`` (it holds fewer actions than
            were written to it, and no commits replace them), ``invalid-file-values`` (no reader can decode what an
            action says of its file; all of these: versions cannot be read, or not in full);
            ``damaged-checkpoint`` (it cannot be read, and readers that can begin earlier do without it),
            ``hint-differs`` (the hint states other numbers than its checkpoint has), ``empty-commit`` (a commit of
            zero bytes),
            ``duplicate-action``, ``contradictory-action``, ``unremoved-vector``, ``misplaced-action``,
            ``clock-went-back``, ``no-in-commit-timestamp``, ``incomplete-checkpoint`` (it lacks a part or a sidecar,
            and readers do without it), ``checkpoint-differs``, ``checksum-differs``, ``unreadable-checksum``,
            ``compaction-differs``, ``unusable-hint``, ``stale-hint``, ``stray-compaction``, ``orphan-file``,
            ``former-property`` (a property with an older name, which has no effect).
        version: The version it is about, None for the log as a whole.
        file: Key of the file below the table's root.
        detail: What was found and what was expected.
    """

    kind: str
    version: int | None
    file: str
    detail: str

    @property
    def breaking(self) -> bool:
        """Whether versions cannot be read because of it."""
        return self.kind in BREAKING
