"""Many paths of columns, to which others are compared at once."""

from __future__ import annotations

from collections.abc import Iterable

_Path = tuple[str, ...]


class PathSet:
    """Paths of columns. What is asked of them costs time in proportion to the depth of a path, not to their number."""

    def __init__(self, paths: Iterable[_Path]) -> None:
        self._paths = frozenset(paths)
        self._begun = frozenset(path[:length] for path in self._paths for length in range(len(path) + 1))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._paths)

    def surrounds(self, path: _Path) -> bool:
        """Return whether a path is one of these, or inside one of them."""
        return any(path[:length] in self._paths for length in range(len(path) + 1))

    def is_inside(self, path: _Path) -> bool:
        """Return whether one of these is a path, or inside it."""
        return path in self._begun

    def touches(self, path: _Path) -> bool:
        """Return whether a path is one of these, inside one of them, or around one of them."""
        return self.is_inside(path) or self.surrounds(path)
