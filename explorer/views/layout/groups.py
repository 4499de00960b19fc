"""The groups by which files are coloured, filtered, and counted: their writer, their age, or their masked share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from explorer.core.protocol.arrow.arrays import Int64s, Mask
from explorer.core.versions.snapshot import Snapshot
from explorer.views.layout.writers import FileWriters, Writer

Colouring = Literal["writer", "age", "masked"]
FILE_COLOURINGS: Final[tuple[Colouring, ...]] = ("writer", "age", "masked")
_SEPARATOR: Final = "\x1f"
_SHOWN: Final = 4
_DAY: Final = 86_400_000
_AGES: Final = ((1, "up to 24 hours old"), (7, "up to 7 days old"), (30, "up to 30 days old"),
                (365, "up to a year old"))  # fmt: skip
_SHARES: Final = ((0.0, "no masked rows"), (0.05, "up to 5 % masked"), (0.30, "5 to 30 % masked"),
                  (float("inf"), "over 30 % masked"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Some of the files.

    Attributes:
        key: Names it in an address.
        label: What its files have in common.
        tone: How it is drawn: ``lead``, ``second`` … for writers, ``age-0`` … and ``share-0`` … in their order, and
            ``others``.
        writer: Who wrote them, for groups of writers.
    """

    key: str
    label: str
    tone: str
    writer: Writer | None = None


@dataclass(frozen=True, slots=True)
class FileGroups:
    """Groups of all live files.

    Attributes:
        groups: In the order in which they are drawn.
        codes: The place of each file's group in ``groups``.
    """

    groups: tuple[FileGroup, ...]
    codes: Int64s

    def of(self, key: str) -> Mask | None:
        """Return a mask of the files of a group; None if no group has the key."""
        places = [place for place, group in enumerate(self.groups) if group.key == key]
        return self.codes == places[0] if places else None


def by_writer(written: FileWriters, lead: Writer | None) -> FileGroups:
    """Return the files by operation and author: the one that stands out first, then those with the most files.

    Args:
        written: Who wrote each file.
        lead: The writer that stands out; None for the one with the most files.
    """
    places = list(range(len(written.writers)))
    if lead in written.writers:
        places.insert(0, places.pop(written.writers.index(lead)))
    shown = places if len(places) <= _SHOWN + 1 else places[:_SHOWN]
    tones = ("lead", "second", "third", "fourth", "others")
    groups = [
        FileGroup(writer_key(writer), writer.words, "others" if not writer.operation else tone, writer)
        for writer, tone in zip((written.writers[place] for place in shown), tones, strict=False)
    ]
    ranks = np.full(len(written.writers), len(shown), np.int64)
    ranks[shown] = np.arange(len(shown))
    if len(places) > len(shown):
        more = len(places) - len(shown)
        groups.append(FileGroup("others", f"{more:,} other writers", "others"))
    return FileGroups(tuple(groups), ranks[written.codes])


def writer_key(writer: Writer) -> str:
    """Return the name of a writer's files in an address."""
    return f"{writer.operation}{_SEPARATOR}{writer.author}" if writer.operation else "unknown"


def writer_of(key: str) -> Writer:
    """Return the writer that an address names."""
    operation, _, author = key.partition(_SEPARATOR)
    return Writer("", "") if key == "unknown" else Writer(operation, author)


def by_age(modified: Int64s, known: Mask, now: int) -> FileGroups:
    """Return the files by the time since they were written.

    Args:
        modified: When each was written, ms since the epoch.
        known: A mask of those whose time the log has.
        now: The time of the version.
    """
    days = (now - modified) / _DAY
    codes = np.searchsorted([limit for limit, _ in _AGES], days, side="left")
    labels = [*(label for _, label in _AGES), "over a year old"]
    groups = [FileGroup(f"age-{place}", label, f"age-{place}") for place, label in enumerate(labels)]
    return _used(groups, np.where(known, codes, len(labels)).astype(np.int64), "age unknown")


def by_masked_share(masked: Int64s, records: Int64s, known: Mask) -> FileGroups:
    """Return the files by the share of their rows that deletion vectors mask."""
    share = masked / np.maximum(records, 1)
    codes = np.searchsorted([limit for limit, _ in _SHARES], share, side="left")
    groups = [FileGroup(f"share-{place}", label, f"share-{place}") for place, (_, label) in enumerate(_SHARES)]
    return _used(groups, np.where(known | (masked == 0), codes, len(groups)).astype(np.int64), "share unknown")


def _used(groups: list[FileGroup], codes: Int64s, unknown: str) -> FileGroups:
    """Return the groups that have a file; those with the last code are unknown."""
    all_groups = [*groups, FileGroup("unknown-" + groups[0].key.partition("-")[0], unknown, "others")]
    used, inverse = np.unique(codes, return_inverse=True)
    return FileGroups(tuple(all_groups[place] for place in used.tolist()), inverse.reshape(-1).astype(np.int64))


def snapshot_time(snapshot: Snapshot) -> int:
    """Return the time of a version, ms since the epoch."""
    return int(snapshot.timestamp.timestamp() * 1000)
