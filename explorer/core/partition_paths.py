"""Where the files of a partition lie, as other writers spell it.

Protocol section: Add File and Remove File (``path``). Invariants: the folder is a convention, the log's partition
values decide (PART-005); what Hive escapes in a folder's name is escaped once more in the log's path (PATH-002).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from explorer.core.uris import encode_path

__all__ = ["partition_location"]

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED: Final = frozenset("\"#%'*/:=?\\{[]^\x7f" + "".join(map(chr, range(32))))


def partition_location(values: Mapping[str, str | None], name: str) -> tuple[str, str]:
    """Return a file's location under the table's root, and the same as a path of the log.

    Args:
        values: Partition values as in the log, by the name that the folders show.
        name: The file's own name.
    """
    folders = [f"{_escaped(key)}={NULL_FOLDER if value is None else _escaped(value)}" for key, value in values.items()]
    location = "/".join([*folders, name])
    return location, encode_path(location)


def _escaped(text: str) -> str:
    return "".join(f"%{ord(character):02X}" if character in _ESCAPED else character for character in text)
