"""The compactions that readers of the newest version may take for its commits, held against these.

Protocol section: Log Compaction Files. Invariant: what an audit compares unasked is small; a log with larger
compactions waits until its replay is asked for.
"""

from __future__ import annotations

from typing import Final

import msgspec

from explorer.auditing.subject import Subject
from explorer.core.log.verify.listed_files import compaction_problems
from explorer.core.log.verify.problem import Problem

__all__ = ["newest_compaction_problems"]

_MOST_BYTES: Final = 4 << 20


def newest_compaction_problems(subject: Subject) -> tuple[Problem, ...] | None:
    """Find what such compactions say and their commits do not; None where they are too large to compare unasked."""
    listing = subject.log.whole_listing()
    base = listing.checkpoints[-1].version if listing.checkpoints else -1
    newest = tuple(path for path in listing.compactions if path.version > base)
    if not newest:
        return ()
    first = min(path.version for path in newest)
    commits = (path.size for version, path in listing.commits.items() if version >= first)
    if sum(path.size for path in newest) + len(newest) * sum(commits) > _MOST_BYTES:
        return None
    return tuple(compaction_problems(subject.log.store, msgspec.structs.replace(listing, compactions=newest)))
