"""The provenance of each commit, from the first line of its file where it is there.

Protocol sections: Commit Provenance Information, In-Commit Timestamps. Invariants: the first commitInfo of a commit
counts, as in the reference implementation; it is that of `explorer.core.log.commit.SmallActions.commit_info`. What
follows the first line is read only where that has none, and is not checked otherwise, its length included.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import msgspec

from explorer.core.errors import LimitExceeded
from explorer.core.log.replay import read_commit_starts, read_small_actions
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.actions import CommitInfo
from explorer.core.protocol.json_values import exact_number
from explorer.core.protocol.limits import check_json_values
from explorer.core.protocol.log_store import LogStore

# Most provenance is shorter than this. Where that of a log is longer, more of its commits is read, and all of them
# where it is not in the first line.
_START: Final = 1 << 11
_MOST: Final = 1 << 14
_BATCH: Final = 1 << 8


class _FirstLine(msgspec.Struct, gc=False):
    commitInfo: CommitInfo | None = None  # noqa: N815  # the name that it has in the log


_DECODER: Final = msgspec.json.Decoder(_FirstLine, float_hook=exact_number)


def read_commit_infos(store: LogStore, commits: VersionFiles) -> Iterator[list[CommitInfo | None]]:
    """Read the provenance of commits, newest first, some hundred at a time; None for one without any.

    Raises:
        VersionGap: A commit vanished since it was listed.
        MalformedAction: A commit does not begin with its provenance, and a line of it is damaged.
    """
    length, unread = _START, len(commits)
    while unread and length:
        batch = commits.part(range(max(unread - _BATCH, 0), unread))
        starts = read_commit_starts(store, batch, length)
        is_complete = (batch.sizes <= length).tolist()
        infos = list(map(_of_first_line, starts, is_complete))
        others = [index for index, info in enumerate(infos) if info is None]
        small = read_small_actions(store, [batch.paths[index] for index in others])
        for index, actions in zip(others, small, strict=True):
            infos[index] = actions.commit_info()
        yield infos[::-1]
        unread -= len(batch)
        if 2 * len(others) > len(batch):
            cut = sum(bool(starts[index]) and b"\n" not in starts[index] for index in others)
            length = 8 * length if 2 * cut > len(others) and length < _MOST else 0
    if unread:
        rest = commits.part(range(unread))
        yield [actions.commit_info() for actions in read_small_actions(store, rest.paths)][::-1]


def _of_first_line(data: bytes, is_complete: bool) -> CommitInfo | None:
    """Return the provenance of the first line, if it is certain; None leaves the file to a full check."""
    end = data.find(b"\n")
    if end < 0 and not is_complete:
        return None
    line = data if end < 0 else data[:end]
    try:
        if not line.isascii():
            # The decoder does not check the bytes that it skips.
            str(line, "utf-8")
        check_json_values(line, "Provenance")
        return _DECODER.decode(line).commitInfo
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LimitExceeded):
        return None


def plain_reason(text: str | None) -> str:
    """Return the reason that the author of a commit gave (``userMetadata``), empty for none."""
    # Some writers store userMetadata as a JSON string of a string.
    if not text:
        return ""
    try:
        decoded = json.loads(text)
    except ValueError:
        return text
    return decoded if isinstance(decoded, str) else text
