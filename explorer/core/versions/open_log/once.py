"""A value that is made at the first need, by one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Once"]

_T = TypeVar("_T")


class Once(Generic[_T]):
    """A value that is made at the first need; threads that need it meanwhile wait for it.

    Args:
        value: The value, if it is known already.
    """

    __slots__ = ("_lock", "_value")

    def __init__(self, value: _T | None = None) -> None:
        self._lock = threading.Lock()
        self._value = value

    @property
    def value(self) -> _T | None:
        """The value; None as long as it was not made."""
        return self._value

    def get(self, make: Callable[[], _T]) -> _T:
        """Return the value; an exception of ``make`` is raised here, and the next call makes it again."""
        value = self._value
        if value is not None:
            return value
        with self._lock:
            if self._value is None:
                self._value = make()
            return self._value

    def get_anew(self, is_outdated: Callable[[_T], bool], make: Callable[[], _T]) -> _T:
        """Return the value, made again if it is missing or outdated."""
        with self._lock:
            if self._value is None or is_outdated(self._value):
                self._value = make()
            return self._value

    def copy(self) -> Once[_T]:
        """Return a copy with the value as far as it was made."""
        return Once(self._value)
