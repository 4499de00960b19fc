"""The commits that a restore undoes, with their reasons; and the guard of those among them that erased rows.

Protocol section: Commit Provenance Information. Invariants: a commit counts as an erasure by its reason or its
operation's parameters alone, so a warning too many is possible and one too few needs a reason that does not say it;
whether its rows come back follows from the files: where a file that comes back was live until the erasure, they may.
A restore that may bring erased rows back fails, and only this guard's name lets it pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from explorer.core.errors import ExplorerError
from explorer.core.log.commit_infos import plain_reason
from explorer.core.protocol.actions import CommitInfo
from explorer.core.protocol.counted import counted
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.provenance import Provenance

GUARD: Final = "erased-rows"
_MOST_NAMED: Final = 20
_MOST_CHECKED: Final = 20
_REMOVES_ROWS: Final = frozenset(
    ["DELETE", "MERGE", "UPDATE", "WRITE", "OVERWRITE", "TRUNCATE", "REORG", "CREATE OR REPLACE TABLE AS SELECT"]
)
_ERASES: Final = re.compile(
    r"""\b(
        eras(e|ed|es|ing|ures?) | gdpr | dsgvo | rgpd | ccpa | lgpd | right[ ]to[ ]be[ ]forgotten | forget[ -]?me
        | art(icle|ikel|\.)?\s*17 | data[ ]subjects?[ ](deletion|request) | deletion[ ]requests?
        | l(ö|oe)schung | l(ö|oe)schantr\w* | l(ö|oe)schbegehren | privacy[ ](deletion|request)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


class UndoneCommit(msgspec.Struct, frozen=True, rename="camel"):
    """A commit that a restore undoes: its version, operation, user and reason, if the log has them.

    Attributes:
        rows_deleted: Rows that it deleted, by its metrics; None where they do not say.
        erases: Whether its reason says that it deletes rows for an erasure.
    """

    version: int
    operation: str | None
    user: str | None
    reason: str | None = None
    rows_deleted: int | None = None
    erases: bool = False

    @classmethod
    def of(cls, version: int, info: CommitInfo | None) -> UndoneCommit:
        """Return the commit of a version."""
        if info is None:
            return cls(version, None, None)
        reason = plain_reason(info.user_metadata) or None
        removes = (info.operation or "").upper() in _REMOVES_ROWS
        return cls(
            version,
            info.operation,
            info.user_name,
            reason,
            _rows_deleted(info),
            removes and _ERASES.search(reason or "") is not None,
        )

    def document(self) -> dict[str, object]:
        """Return it as evidence; members without a value are left out, but for operation and user."""
        facts: dict[str, object] = {"version": self.version, "operation": self.operation, "user": self.user}
        facts |= {} if self.reason is None else {"reason": self.reason}
        return facts if self.rows_deleted is None else facts | {"rowsDeleted": self.rows_deleted}


def undone_commits(record: Provenance, after: int, last: int) -> tuple[UndoneCommit, ...]:
    """Return the commits after a version up to another one, the newest first."""
    known = {commit.version: commit.info for commit in record.commits if after < commit.version <= last}
    return tuple(UndoneCommit.of(version, known.get(version)) for version in range(last, after, -1))


def erasure_guard(undone: Iterable[UndoneCommit] | ExplorerError, comes_back: Callable[[int], bool]) -> GuardResult:
    """Judge whether a restore brings back rows that one of the undone commits erased.

    Args:
        undone: The commits, the newest first; or why they could not be read.
        comes_back: Whether rows that a version deleted may be in the files that come back.
    """
    if isinstance(undone, ExplorerError):
        detail = f"The undone commits cannot be read, so it is not known whether one of them erased rows: {undone}"
        return GuardResult(GUARD, "unknown", {"detail": detail}, "Repair the log first, or accept this guard by name.")
    commits = list(undone)
    erasures = [commit for commit in commits if commit.erases]
    back = [commit for place, commit in enumerate(erasures) if place >= _MOST_CHECKED or comes_back(commit.version)]
    if not back:
        detail = (
            "The rows that an undone commit erased do not come back."
            if erasures
            else "No undone commit states an erasure as its reason."
        )
        return GuardResult(GUARD, "pass", {"commits checked": len(commits), "detail": detail})
    named = [commit.document() for commit in back[:_MOST_NAMED]]
    detail = f"What {_commits(back)} deleted for an erasure returns: {_reasons(back)}."
    remedy = (
        "Do not restore this version if the erasure must hold: undo only what went wrong, or delete the rows again "
        f"right afterwards. If the rows may return, accept this guard by name: {GUARD}."
    )
    evidence = {"erasures": named, "numErasures": len(back), "detail": detail}
    return GuardResult(GUARD, "fail", evidence, remedy, acceptable=True)


def _commits(back: list[UndoneCommit]) -> str:
    if len(back) == 1:
        commit = back[0]
        by = f" by {commit.user}" if commit.user else ""
        rows = "" if commit.rows_deleted is None else f" ({counted(commit.rows_deleted, 'row')})"
        return f"v{commit.version}{by}{rows}"
    return f"{counted(len(back), 'commit')}, the newest v{back[0].version},"


def _reasons(back: list[UndoneCommit]) -> str:
    reasons = list(dict.fromkeys(f"\u201c{_short(commit.reason or '')}\u201d" for commit in back))
    more = len(reasons) - 3
    return ", ".join(reasons[:3]) + (f" and {more} more" if more > 0 else "")


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}\u2026"


def _rows_deleted(info: CommitInfo) -> int | None:
    metrics: Mapping[str, Any] = info.operation_metrics or {}
    for name in ("numDeletedRows", "numTargetRowsDeleted"):
        text = str(metrics.get(name, ""))
        if text.isascii() and text.isdecimal() and len(text) < 19:
            return int(text)
    return None
