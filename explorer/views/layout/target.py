"""The size that new files should have: the table's property, or the default of OPTIMIZE; and what counts as small."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Int64s, Mask
from explorer.core.protocol.table_properties.registry import TARGET_FILE_SIZE
from explorer.core.transaction.proposals.rows.optimize_files import DEFAULT_TARGET
from explorer.core.versions.snapshot import Snapshot

_SIZE: Final = re.compile(r"\s*(\d{1,18})\s*([kmgt]?)(?:i?b)?\s*\Z", re.ASCII | re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_LEVELS: Final = (1_000_000, 16_000_000, 128_000_000)
_SHARE: Final = 0.2


@dataclass(frozen=True, slots=True)
class TargetSize:
    """The size that new files should have.

    Attributes:
        size: Bytes.
        source: Where it is from, in words.
        is_set: The table has a property for it.
    """

    size: int
    source: str
    is_set: bool = False


def target_size(snapshot: Snapshot) -> TargetSize:
    """Return the target of a table; a property that is not a size is named, and the default taken."""
    text = snapshot.properties.get(TARGET_FILE_SIZE)
    default = f"the default of OPTIMIZE, as {TARGET_FILE_SIZE} is not set"
    if text is None:
        return TargetSize(DEFAULT_TARGET, default)
    match = _SIZE.match(text)
    size = int(match[1]) * _UNITS[match[2].lower()] if match else 0
    if not 0 < size < 1 << 62:
        unread = f"the default of OPTIMIZE, as {TARGET_FILE_SIZE} is {fmt.shorten(fmt.plain(text), 40)!r}, not a size"
        return TargetSize(DEFAULT_TARGET, unread)
    return TargetSize(size, TARGET_FILE_SIZE, is_set=True)


def small_limit(sizes: Int64s, known: Mask, target: int) -> int:
    """Return below how many bytes a file counts as small: the first of some sizes that a fifth of the files is below.

    Args:
        sizes: Bytes of each file.
        known: A mask of those whose size the log has.
        target: The size that files should have.

    Returns:
        Bytes; 0 where fewer files are below the target.
    """
    for level in (*(level for level in _LEVELS if level < target), target):
        below = int((known & (sizes < level)).sum())
        if below > 1 and below >= _SHARE * len(sizes):
            return level
    return 0
