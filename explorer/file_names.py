"""The names of data files for people, links, and case files: their paths, without the credentials that some contain.

Invariants: within a version, each file has its own name, and a name leads back to its file. A path without credentials
is its own name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.credentials import ADDRESS_IN_PATH, safe_path


class FileNames:
    """The names of the live files of a version.

    Args:
        paths: The paths of all live files.
    """

    def __init__(self, paths: pa.ChunkedArray) -> None:
        addresses = paths.filter(pc.match_substring_regex(paths, ADDRESS_IN_PATH)).to_pylist()
        safe = {path: name for path in addresses if (name := safe_path(path)) != path}
        self._names = _distinct(safe)
        self._paths = {name: path for path, name in self._names.items()}

    def name(self, path: str) -> str:
        """Return the name of a file; of a path that no live file has, what is left without credentials."""
        return self._names.get(path) or safe_path(path)

    def path(self, name: str) -> str:
        """Return the path of the file with a name; a name that no file has is returned as it is."""
        return self._paths.get(name, name)

    def named(self, table: pa.Table) -> pa.Table:
        """Return a table whose column ``path`` holds names."""
        if not self._names:
            return table
        paths: list[Any] = table.column("path").to_pylist()
        names = pa.array([self.name(path) for path in paths], table.schema.field("path").type)
        return table.set_column(table.schema.get_field_index("path"), "path", names)


def _distinct(safe: Mapping[str, str]) -> dict[str, str]:
    """Number the names that several paths have, in the order of the paths."""
    sharing: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(safe):
        sharing[safe[path]].append(path)
    return {
        path: name if len(paths) == 1 else f"{name} ({number})"
        for name, paths in sharing.items()
        for number, path in enumerate(paths, 1)
    }
