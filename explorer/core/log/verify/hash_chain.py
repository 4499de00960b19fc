"""A hash chain over the commits: two logs have the same head only if every commit has the same actions.

Protocol: none. Definition, so that others can compute it too:

- An action's digest is SHA-256 of its canonical JSON: the line's value with the keys of every object in the order of
  their UTF-8 bytes, no space, integers and fractions by their value, texts with the fewest escapes. A line that is not
  JSON counts byte for byte; an action that is written over several lines counts as one line.
- A link is SHA-256 of the link before (32 zero bytes at the start), the version as 8 bytes, most significant first, and
  the digests of the commit's actions in ascending order. So the order of lines and their spacing do not matter, as
  they do not in the protocol (LOG-020).
- The head is the last link in lowercase hexadecimal. A chain begins at the oldest commit after which the log continues
  without a gap.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Final

import msgspec

from explorer.core.log.action_lines import action_lines
from explorer.core.log.log_path import LogPath
from explorer.core.protocol.limits import check_json_values
from explorer.core.protocol.log_store import LogStore

START: Final = bytes(32)
_BATCH: Final = 500
_DECODER: Final = msgspec.json.Decoder(float_hook=Decimal)
_ENCODER: Final = msgspec.json.Encoder(order="sorted", decimal_format="number")


def link(before: bytes, version: int, lines: Iterable[bytes]) -> bytes:
    """Return the link of one commit.

    Args:
        before: The link of the commit before, or `START`.
        lines: The lines of the commit; blank ones do not count.
    """
    digests = sorted(hashlib.sha256(_canonical(line)).digest() for line in lines if line.strip())
    return hashlib.sha256(before + version.to_bytes(8, "big") + b"".join(digests)).digest()


class CommitSeal(msgspec.Struct, frozen=True, rename="camel"):
    """Proof for later that a commit, and all before it, are still as they were written.

    Attributes:
        file: Key of the commit's file below the table's root.
        file_digest: SHA-256 of that file, in lowercase hexadecimal.
        chain_head: Head of the chain that ends with this commit.
    """

    file: str
    file_digest: str
    chain_head: str


def seal(store: LogStore, commits: Mapping[int, LogPath], version: int) -> CommitSeal:
    """Return the seal of a commit: every commit is read from the oldest on after which none is missing.

    Args:
        commits: The commits of the log by version; `version` is one of them.
    """
    first = version
    while first - 1 in commits:
        first -= 1
    chosen = {number: commits[number] for number in range(first, version + 1)}
    head = list(links(store, chosen))[-1][1]
    data = store.read(commits[version].path)
    return CommitSeal(commits[version].path, hashlib.sha256(data).hexdigest(), head)


def links(store: LogStore, commits: Mapping[int, LogPath]) -> Iterator[tuple[int, str]]:
    """Yield each version and the head of the chain that ends with it; the chain begins anew where a commit is missing.

    Args:
        commits: Commits by version, ascending.
    """
    head, before = START, -1
    numbers = list(commits)
    for start in range(0, len(numbers), _BATCH):
        batch = numbers[start : start + _BATCH]
        for number, data in zip(batch, store.read_many([commits[each].path for each in batch]), strict=True):
            head = link(head if number == before + 1 else START, number, action_lines(data))
            before = number
            yield number, head.hex()


def _canonical(line: bytes) -> bytes:
    check_json_values(line, "A line of a commit")
    try:
        return _ENCODER.encode(_DECODER.decode(line))
    except (msgspec.DecodeError, msgspec.EncodeError, UnicodeError, RecursionError, ArithmeticError, TypeError):
        return line.strip()
