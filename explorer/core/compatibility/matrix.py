"""Clients in the order in which they matter: your clients first, and the worst before the others; losses in words.

Protocol sections: Protocol Evolution, Table Features. Invariants: wrong results are worse than a refusal, and to
refuse worse than what is not known; a client is judged by what it does, a reader not by its writing; a release is named
with the last one that a loss holds for, as a later one may have no loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from explorer.core.compatibility.access import Access, AccessLoss, ClientVerdict, Requirements, loss_of, verdict_of
from explorer.core.compatibility.client_facts import ClientFacts
from explorer.core.compatibility.demands import UNKNOWN_STORAGE
from explorer.core.compatibility.my_clients import MyClient
from explorer.core.compatibility.releases import OWN_ENGINE
from explorer.core.protocol.counted import counted
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.table_features import why_not_readable, why_not_writable

WORST_FIRST: Final[tuple[Access, ...]] = ("wrong", "no", "unknown", "yes")
_UNKNOWN: Final = "no facts are known of this release"


class MatrixRow(msgspec.Struct, frozen=True, rename="camel"):
    """A client at a version, and what it can do; see `ClientVerdict` and `MyClient`.

    Attributes:
        mine: A file of clients names it, or it wrote the table.
        seen: It wrote the table, and no file names it.
        role: What it does with the table; null for a client that is not mine.
    """

    client: str
    version: str
    version_from: str | None
    read: Access
    write: Access
    because: tuple[str, ...]
    source: str
    as_of: str
    mine: bool = False
    seen: bool = False
    role: str | None = None
    owner: str = ""
    note: str = ""

    @property
    def worst(self) -> Access:
        """The worst of what it does."""
        done: dict[str | None, tuple[Access, ...]] = {"reader": (self.read,), "writer": (self.write,)}
        return min(done.get(self.role, (self.read, self.write)), key=WORST_FIRST.index)


class MyLoss(msgspec.Struct, frozen=True, rename="camel"):
    """One of my clients that a change leaves with less, or makes silently wrong."""

    mine: MyClient
    loss: AccessLoss

    def document(self) -> JsonObject:
        """Return the loss as a JSON object without the operation, with ``mine``: version, role, owner, note."""
        mine: JsonObject = {
            "version": self.mine.version,
            "role": self.mine.role,
            "owner": self.mine.owner,
            "note": self.mine.note,
        }
        return {**self.loss.document(), "mine": mine}


def matrix(
    table: Requirements, verdicts: Iterable[ClientVerdict], facts: ClientFacts, mine: Sequence[MyClient] = ()
) -> tuple[MatrixRow, ...]:
    """Order what clients can do with a table.

    Args:
        verdicts: On all clients, as `explorer.core.compatibility.access.compatibility` gives them.

    Returns:
        My clients, the worst first; then the others: wrong, refuses, unknown, reads; each in the order of the facts.
    """
    own = sorted((_mine(each, table, facts) for each in mine), key=lambda row: WORST_FIRST.index(row.worst))
    others = [
        MatrixRow(
            each.client, each.version_from, each.version_from, each.read, each.write, each.because, each.source,
            each.as_of,
        )
        for each in verdicts
    ]  # fmt: skip
    others.sort(key=lambda row: (WORST_FIRST.index(row.read), WORST_FIRST.index(row.write)))
    return (*own, *others)


def my_losses(
    before: Requirements, after: Requirements, facts: ClientFacts, mine: Iterable[MyClient]
) -> tuple[MyLoss, ...]:
    """Find those of my clients that a change takes something from, of what they do; wrong answers first."""
    lost = [
        MyLoss(each, loss)
        for each in mine
        if each.version_from is not None
        for operation in each.operations
        if (loss := loss_of(before, after, facts, (each.client, each.version_from), operation)) is not None
    ]
    return tuple(sorted(lost, key=lambda each: WORST_FIRST.index(each.loss.after)))


def used_clients(
    before: Requirements, after: Requirements, facts: ClientFacts, mine: Iterable[MyClient]
) -> tuple[JsonObject, ...]:
    """Return what each of my clients can do before and after a change, those with less afterwards first."""
    verdicts = []
    for each in mine:
        was, then = _mine(each, before, facts), _mine(each, after, facts)
        document: JsonObject = {
            "client": was.client,
            "version": each.version,
            "role": each.role,
            "owner": each.owner,
            "note": each.note,
            "seen": each.seen,
            "read": was.read,
            "write": was.write,
            "readAfter": then.read,
            "writeAfter": then.write,
        }
        harmed = (was.read, was.write) != (then.read, then.write)
        verdicts.append((not harmed, WORST_FIRST.index(then.worst), document))
    verdicts.sort(key=lambda entry: entry[:2])
    return tuple(document for *_, document in verdicts)


def _own(row: MatrixRow, table: Requirements) -> MatrixRow:
    """Return the row of this program, which knows what it reads and writes."""
    version = row.client.partition("/")[2]
    unread, unwritten = why_not_readable(table.protocol), why_not_writable(table.protocol)
    types = tuple(name for name in sorted(table.demands) if name.startswith("type "))
    unopened = tuple(table.demands.intersection({UNKNOWN_STORAGE}))
    because = tuple(dict.fromkeys((*unread, *unwritten, *types, *unopened)))
    return msgspec.structs.replace(
        row,
        version=row.version or version,
        version_from=version,
        read="no" if unread or unopened else "yes",
        write="no" if unread or unwritten or types or unopened else "yes",
        because=because,
        source="this program",
    )


def _mine(each: MyClient, table: Requirements, facts: ClientFacts) -> MatrixRow:
    row = MatrixRow(each.client, each.version, each.version_from, "unknown", "unknown", (), _UNKNOWN, "", mine=True)
    row = msgspec.structs.replace(row, seen=each.seen, role=each.role, owner=each.owner, note=each.note)
    if each.client.startswith(f"{OWN_ENGINE}/"):
        return _own(row, table)
    if each.version_from is None:
        return row
    known = verdict_of(table, facts, each.client, each.version_from)
    return msgspec.structs.replace(
        row, read=known.read, write=known.write, because=known.because, source=known.source, as_of=known.as_of
    )


_WORDS: Final = {
    "wrong": ("gets wrong results", "get wrong results"),
    "no": ("loses access", "lose access"),
    "unknown": ("is unknown", "are unknown"),
}
"""What becomes of a client, the worst first, of one and of several."""
_KINDS: Final = tuple(_WORDS)


def losses_in_words(losses: Iterable[tuple[str, str, bool]]) -> str:
    """Return how many clients lose what; empty for none.

    Args:
        losses: Client, access afterwards (``wrong``, ``no`` or ``unknown``), and whether this is so of its newest known
            release.
    """
    now: dict[str, str] = {}
    older: dict[str, None] = {}
    for client, after, newest in losses:
        if newest:
            now[client] = min(after, now.get(client, after), key=_KINDS.index)
        else:
            older[client] = None
    counts = Counter(now.values())
    kinds = [(counts[kind], words[counts[kind] > 1]) for kind, words in _WORDS.items() if counts[kind]]
    more = len(older.keys() - now.keys())
    if not kinds:
        return f"older releases of {counted(more, 'client')} are affected" if more else ""
    (first, what), *rest = kinds
    stated = ", ".join([f"{counted(first, 'client')} {what}", *(f"{number:,} {words}" for number, words in rest)])
    their = "its newest release" if len(now) == 1 else "their newest releases"
    also = f"; older releases of {counted(more, 'more client')} are affected" if more else ""
    return f"{stated} in {their}{also}"


def releases_in_words(first: str, last: str, *, newest: bool) -> str:
    """Return ``0.18.0``, ``0.18.0 to 0.25.5``, or the same with a note that it reaches the newest known release."""
    known = first if last in ("", first) else f"{first} to {last}"
    return f"{known} (newest known)" if newest else known
